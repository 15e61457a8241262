/** Lists: filters, order, and one page by offset or by cursor. */
import { numberOf } from './addresses.ts'
import { filtered } from './filters.ts'
import { KINDS, type KindName } from './kinds.ts'
import { Problem } from './problem.ts'
import { chosen, type Shown } from './render.ts'
import { byId, type NetBoxState, type Row, textOf } from './state.ts'

const PAGE_SIZE = 50
const LARGEST_PAGE = 1000

interface Page {
  count: number | null
  next: string | null
  previous: string | null
  results: Shown[]
}

export function listOf(state: NetBoxState, kind: KindName, url: URL, host: string): Page {
  const query = url.searchParams
  const rows = filtered(state, kind, query)
  const limit = limitOf(query.get('limit'))
  const start = query.get('start')
  const address = (changes: Record<string, number>): string => {
    const next = new URLSearchParams([...query].sort(([a], [b]) => (a < b ? -1 : 1)))
    for (const [name, value] of Object.entries(changes)) next.set(name, String(value))
    return `http://${host}${url.pathname}?${next.toString()}`
  }
  const shown = (page: Row[]): Shown[] => page.map((row) => chosen(state, kind, row, host, query))
  if (start !== null) {
    checkCursor(query, start)
    const after = rows.filter((row) => row.id >= Number(start)).sort((a, b) => a.id - b.id)
    const [page, beyond] = [after.slice(0, limit), after[limit]]
    return {
      count: null,
      next: beyond === undefined ? null : address({ start: beyond.id }),
      previous: null,
      results: shown(page),
    }
  }
  const offset = wholeOf(query.get('offset')) ?? 0
  const ordered = rows.sort(orderOf(state, kind, query.get('ordering')))
  const count = rows.length
  return {
    count,
    next: offset + limit < count ? address({ limit, offset: offset + limit }) : null,
    previous: offset > 0 ? address({ limit, offset: Math.max(0, offset - limit) }) : null,
    results: shown(ordered.slice(offset, offset + limit)),
  }
}

/** 0 means the largest page; a wrong one counts as none. */
function limitOf(text: string | null): number {
  const limit = wholeOf(text)
  if (limit === undefined) return PAGE_SIZE
  return limit === 0 ? LARGEST_PAGE : Math.min(limit, LARGEST_PAGE)
}

function wholeOf(text: string | null): number | undefined {
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined
}

function checkCursor(query: URLSearchParams, start: string): void {
  if (query.has('offset')) throw new Problem(400, ["'start' and 'offset' are mutually exclusive."])
  if (query.has('ordering'))
    throw new Problem(400, ['Ordering cannot be specified in conjunction with cursor-based pagination.'])
  if (!/^\d+$/.test(start)) throw new Problem(400, ["Invalid 'start' parameter: must be a non-negative integer."])
}

type Order = (a: Row, b: Row) => number

/** Names that it does not know are ignored; rows without a value come last. */
function orderOf(state: NetBoxState, kind: KindName, text: string | null): Order {
  const names = (text ?? '').split(',').filter((name) => name.replace('-', '') in { id: 1, ...KINDS[kind].fields })
  const orders = (names.length > 0 ? names : [defaultOrder(kind)]).map((name): Order => {
    const field = name.replace('-', '')
    return (a, b) =>
      (name.startsWith('-') ? -1 : 1) * compare(valueOf(state, kind, a, field), valueOf(state, kind, b, field))
  })
  return (a, b) => orders.map((order) => order(a, b)).find((difference) => difference !== 0) ?? a.id - b.id
}

function defaultOrder(kind: KindName): string {
  return { prefix: 'prefix', ip_address: 'address', ip_range: 'start_address', vlan: 'site' }[kind as string] ?? 'name'
}

function valueOf(state: NetBoxState, kind: KindName, row: Row, field: string): bigint | string | null {
  const { type, to } = KINDS[kind].fields[field] ?? { type: 'integer' }
  const value = row[field]
  if (value === null || value === undefined) return null
  if (type === 'link') return to === undefined ? null : textOf(byId(state, to, value) ?? row, 'name')
  if (typeof value === 'number') return BigInt(value)
  if (['prefix', 'address', 'start_address'].includes(field)) return numberOf(String(value).split('/')[0] ?? '')
  return String(value)
}

function compare(a: bigint | string | null, b: bigint | string | null): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return a < b ? -1 : 1
}
