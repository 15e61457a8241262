// Columns of a list: what a cell shows, and which columns there are where nobody chose them.
import type { ReactNode } from 'react'
import { inWords } from '../api/contract.ts'
import type { Schema } from '../api/contract-types.ts'
import { typeOf } from '../form/values.ts'
import { State, Value, whyNull } from './value.tsx'

export type Row = Record<string, unknown>

export interface Column {
  name: string
  title: string
  cell(row: Row): ReactNode
}

/** What names a thing to people comes first, then how it is. */
const FIRST = [
  'name', 'display_name', 'hostname', 'fqdn', 'address', 'ip_address', 'ip', 'cidr', 'title', 'action', 'bus_address',
  'operation', 'type', 'username', 'mac', 'value', 'state', 'status', 'health', 'job_status', 'level', 'role',
] // biome-ignore format: one list
const MOST = 7

const AMOUNTS = /^(used|allocated|total)$/

/** Without the unit, which stands beside each value. */
export function titleOf(name: string): string {
  return inWords(name.replace(/_(mb|bytes)$/, ''))
}

export function columnOf(name: string, title = titleOf(name)): Column {
  const is_state = /^(state|status|health|job_status|level|severity|linkStatus)$/.test(name)
  return {
    name,
    title,
    cell(row) {
      const why = whyNull(row, name)
      // Amounts of rows that say their unit read as those that have it in their name.
      const named = row.unit === 'bytes' && AMOUNTS.test(name) ? `${name}_bytes` : name
      return is_state ? <State text={row[name]} why={why} /> : <Value name={named} value={row[name]} why={why} />
    },
  }
}

/** Of these the first few are shown where nobody chose. */
export function defaultNames(columns: readonly Column[]): string[] {
  return columns.slice(0, MOST).map(({ name }) => name)
}

/** Out of the schema of a row: plain values alone, ids of other things last. */
export function columnsOf(schema: Schema): Column[] {
  const names = Object.entries(schema.properties ?? {})
    .filter(([, one]) => !['object', 'array'].includes(typeOf(one)))
    .map(([name]) => name)
  const rank = (name: string): number => {
    const at = FIRST.indexOf(name)
    if (at !== -1) return at
    return FIRST.length + (name === 'id' || name.endsWith('_id') ? 1 : 0)
  }
  return names.toSorted((one, other) => rank(one) - rank(other)).map((name) => columnOf(name))
}

/** By what a row is named, for its link and for readers of the screen. */
export function nameOf(row: Row): string {
  const name = [...FIRST.slice(0, FIRST.indexOf('mac')), 'id', 'node_id', 'bmc_ip']
    .map((field) => row[field])
    .find((value) => value)
  return typeof name === 'string' || typeof name === 'number' ? String(name) : 'without a name'
}
