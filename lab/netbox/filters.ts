/** The filters of lists. One with a name that is not known is ignored, and the whole list is answered. */
import { holds, readNetwork } from './addresses.ts'
import { KINDS, type KindName } from './kinds.ts'
import { Problem } from './problem.ts'
import { byId, type NetBoxState, type Row, textOf } from './state.ts'

type Test = (row: Row, value: string) => boolean

/** Links that a list can be filtered by: `role` by slug, `role_id` by number or null. */
const LINKS: Readonly<Record<string, KindName>> = {
  site: 'site', role: 'role', tenant: 'tenant', vlan: 'vlan', vrf: 'vrf', group: 'vlan_group', tag: 'tag',
} // biome-ignore format: a list

export function filtered(state: NetBoxState, kind: KindName, query: URLSearchParams): Row[] {
  const known = [...new Set(query.keys())].filter((name) => !state.ignored.includes(name))
  const tests = known.flatMap((name) => {
    const values = query.getAll(name)
    const test = testOf(state, kind, name, values)
    return test === undefined ? [] : [(row: Row) => values.some((value) => test(row, value))]
  })
  return state.rows[kind].filter((row) => tests.every((test) => test(row)))
}

function testOf(state: NetBoxState, kind: KindName, name: string, values: string[]): Test | undefined {
  return (
    special(state, kind, name, values) ??
    linkTest(state, kind, name, values) ??
    networkTest(kind, name) ??
    fieldTest(kind, name, values)
  )
}

function special(state: NetBoxState, kind: KindName, name: string, values: string[]): Test | undefined {
  if (kind === 'vlan' && name === 'available_at_site') {
    const id = Number(values.at(-1))
    if (byId(state, 'site', id) === undefined) throw notAChoice(name)
    return (row) => row.site === id || (row.site === null && reaches(state, row.group, id))
  }
  // A prefix is of a site by its scope.
  if (kind === 'prefix' && (name === 'site_id' || name === 'site')) {
    const ids = values.map((value) => (value === 'null' ? null : idOf(state, 'site', name, value)))
    return (row, value) => (row.scope_type === 'dcim.site' ? row.scope_id : null) === ids[values.indexOf(value)]
  }
  if (kind === 'prefix' && name === 'vlan_vid')
    return (row, value) => byId(state, 'vlan', row.vlan)?.vid === Number(value)
  return undefined
}

/** VLANs of no group are of every site; groups reach where their scope is. */
function reaches(state: NetBoxState, group: unknown, site: number): boolean {
  const row = byId(state, 'vlan_group', group)
  return row === undefined || row.scope_type === null || (row.scope_type === 'dcim.site' && row.scope_id === site)
}

function linkTest(state: NetBoxState, kind: KindName, name: string, values: string[]): Test | undefined {
  const field = name.replace(/_id$/, '')
  const to = LINKS[field]
  if (to === undefined || (field !== 'tag' && KINDS[kind].fields[field]?.type !== 'link')) return undefined
  const ids = values.map((value) => (value === 'null' ? null : idOf(state, to, name, value)))
  return (row, value) => {
    const wanted = ids[values.indexOf(value)] ?? null
    if (field === 'tag') return Array.isArray(row.tags) && row.tags.includes(wanted)
    return (row[field] ?? null) === wanted
  }
}

function idOf(state: NetBoxState, kind: KindName, name: string, value: string): number {
  const by_id = name.endsWith('_id')
  if (by_id && !/^-?\d+$/.test(value)) throw new Problem(400, { [name]: [`“${value}” is not a valid value.`] })
  const key = kind === 'vrf' ? 'rd' : 'slug'
  const found = state.rows[kind].find((row) => (by_id ? row.id === Number(value) : row[key] === value))
  if (found === undefined) throw notAChoice(name, value)
  return found.id
}

function notAChoice(name: string, value?: string): Problem {
  const rest =
    value === undefined
      ? 'That choice is not one of the available choices.'
      : `${value} is not one of the available choices.`
  return new Problem(400, { [name]: [`Select a valid choice. ${rest}`] })
}

const NETWORK_FIELD: Partial<Record<KindName, string>> = {
  prefix: 'prefix',
  ip_address: 'address',
  ip_range: 'start_address',
}

/** A text that is no network finds nothing and is no error. */
function networkTest(kind: KindName, name: string): Test | undefined {
  const field = NETWORK_FIELD[kind]
  if (field === undefined) return undefined
  const tests: Record<string, (own: NonNullable<ReturnType<typeof readNetwork>>, value: string) => boolean> = {
    // Of an address its mask does not count.
    parent: (own, value) => within(readNetwork(value), { ...own, first: own.host, last: own.host }),
    family: (own, value) => own.family === Number(value),
    mask_length: (own, value) => own.length === Number(value),
    ...(kind === 'ip_address' ? { address: isSame } : {}),
    ...(kind === 'prefix'
      ? {
          prefix: isSame,
          contains: (own, value) => within(own, readNetwork(value)),
          within: (own, value) => within(readNetwork(value), own) && own.length !== readNetwork(value)?.length,
          within_include: (own, value) => within(readNetwork(value), own),
        }
      : {}),
  }
  const test = tests[name]
  if (test === undefined) return undefined
  return (row, value) => {
    const own = readNetwork(textOf(row, field))
    return own !== undefined && test(own, value)
  }
}

type Read = ReturnType<typeof readNetwork>

function within(outer: Read, inner: Read): boolean {
  return outer !== undefined && inner !== undefined && holds(outer, inner)
}

/** Without a mask any will do. */
function isSame(own: NonNullable<Read>, value: string): boolean {
  const wanted = readNetwork(value)
  if (wanted === undefined || wanted.host !== own.host || wanted.family !== own.family) return false
  return !value.includes('/') || wanted.length === own.length
}

const LOOKUPS: Readonly<Record<string, (has: string, wanted: string) => boolean>> = {
  ic: (has, wanted) => has.includes(wanted),
  isw: (has, wanted) => has.startsWith(wanted),
  iew: (has, wanted) => has.endsWith(wanted),
  ie: (has, wanted) => has === wanted,
}

function fieldTest(kind: KindName, name: string, values: string[]): Test | undefined {
  const [field = '', lookup] = name.split('__')
  const spec = field === 'id' ? ({ type: 'integer' } as const) : KINDS[kind].fields[field]
  if (spec === undefined || field === 'comments') return undefined
  if (spec.type === 'integer') {
    const bad = values.find((value) => !/^-?\d+$/.test(value))
    if (bad !== undefined) throw new Problem(400, { [name]: ['Enter a whole number.'] })
    if (lookup === 'gte') return (row, value) => Number(row[field]) >= Number(value)
    return lookup === undefined ? (row, value) => row[field] === Number(value) : undefined
  }
  if (spec.type === 'choice') {
    const bad = values.find((value) => spec.choices?.includes(value) !== true)
    if (bad !== undefined) throw notAChoice(name, bad)
  }
  if (spec.type === 'flag') return (row, value) => row[field] === (value === 'true')
  if (field === 'scope_id') return (row, value) => row[field] === Number(value)
  if (lookup === undefined) return (row, value) => textOf(row, field) === value
  const compare = LOOKUPS[lookup]
  return compare === undefined
    ? undefined
    : (row, value) => compare(textOf(row, field).toLowerCase(), value.trim().toLowerCase())
}
