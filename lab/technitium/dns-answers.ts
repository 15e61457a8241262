/** What the simulated name server answers to a question, from the zones it serves. */
import { type Answer, CODES, type Question, TYPES } from './dns-wire.ts'
import type { AddressState, DnsRecord, ZoneRecord } from './state.ts'
import { nearestZone, soaOf } from './zone-calls.ts'

const MAX_ALIASES = 16
const QUERY = 0

export function answerTo(state: AddressState, question: Question): Answer {
  const nothing = { authoritative: false, answers: [], authority: [] }
  if (question.opcode !== QUERY) return { ...nothing, code: CODES.unsupported }
  const zone = served(state, question.name)
  if (zone === undefined) return { ...nothing, code: CODES.refused }
  state.hits[question.name] = (state.hits[question.name] ?? 0) + 1
  const answers: DnsRecord[] = []
  let name = question.name
  let within: ZoneRecord | undefined = zone
  for (let alias = 0; alias < MAX_ALIASES && within !== undefined; alias += 1) {
    const here = rowsOf(within, name)
    const wanted = here.filter(
      (row) => question.type === TYPES.ANY || TYPES[row.type as keyof typeof TYPES] === question.type,
    )
    answers.push(...wanted)
    const [next] = wanted.length > 0 ? [] : here.filter((row) => row.type === 'CNAME')
    if (next === undefined) return end(within, name, answers, here.length > 0)
    answers.push(next)
    name = String(next.data.cname)
    // A target elsewhere is for the client to ask for.
    within = served(state, name)
  }
  return { code: CODES.ok, authoritative: true, answers, authority: [] }
}

/** Without an answer the start of authority says how long that holds. */
function end(zone: ZoneRecord, name: string, answers: DnsRecord[], exists: boolean): Answer {
  const last = answers.at(-1)
  if (last !== undefined && last.name === name) return { code: CODES.ok, authoritative: true, answers, authority: [] }
  const soa = soaOf(zone)
  const inside = exists || zone.records.some((row) => !row.disabled && row.name.endsWith(`.${name}`))
  return {
    code: inside ? CODES.ok : CODES.nxdomain,
    authoritative: true,
    answers,
    authority: soa === undefined ? [] : [soa],
  }
}

/** A zone that is off, and a kind whose records are elsewhere, is answered for by nobody. */
function served(state: AddressState, name: string): ZoneRecord | undefined {
  const zone = nearestZone(state, name)
  return zone === undefined || zone.disabled || zone.kind !== 'Primary' ? undefined : zone
}

function rowsOf(zone: ZoneRecord, name: string): DnsRecord[] {
  const rows = zone.records.filter((row) => !row.disabled)
  const exact = rows.filter((row) => row.name === name)
  if (exact.length > 0 || rows.some((row) => row.name.endsWith(`.${name}`))) return exact
  // The nearest wildcard above takes a name that is not there.
  const labels = name.slice(0, -(zone.name.length + 1)).split('.')
  for (let from = 1; from <= labels.length; from += 1) {
    const above = [...labels.slice(from), zone.name].join('.')
    const wild = rows.filter((row) => row.name === `*.${above}`)
    if (wild.length > 0) return wild.map((row) => ({ ...row, name }))
    if (rows.some((row) => row.name === above)) return []
  }
  return []
}
