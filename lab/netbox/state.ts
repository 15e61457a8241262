/** What the simulated NetBox knows: rows of each kind in plain values, links by their ids. */
import type { KindName } from './kinds.ts'

export interface Row {
  id: number
  created: string
  last_updated: string
  [field: string]: unknown
}

export interface NetBoxState {
  rows: Record<KindName, Row[]>
  /** Given next, by kind. */
  next: Partial<Record<KindName, number>>
  /** Filters that this version does not know. */
  ignored: string[]
  /** Names that operators added. */
  custom_fields: string[]
}

export type Fields = Readonly<Record<string, unknown>>

export function emptyState(): NetBoxState {
  const rows = {
    site: [], tenant: [], tag: [], role: [], vrf: [], vlan_group: [], vlan: [], prefix: [], ip_range: [], ip_address: [],
  } // biome-ignore format: a list
  return { rows, next: {}, ignored: [], custom_fields: [] }
}

export function insert(state: NetBoxState, kind: KindName, fields: Fields): Row {
  const id = state.next[kind] ?? 1
  state.next[kind] = id + 1
  const now = new Date().toISOString()
  const row = { ...fields, id, created: now, last_updated: now }
  state.rows[kind].push(row)
  return row
}

export function byId(state: NetBoxState, kind: KindName, id: unknown): Row | undefined {
  return state.rows[kind].find((row) => row.id === id)
}

export function textOf(row: Row, field: string): string {
  const value = row[field]
  return typeof value === 'string' ? value : ''
}
