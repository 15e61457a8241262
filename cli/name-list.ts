// The names that a list shows on its first, large page: what completion offers, and what is said where a name is unknown.
import type { RouteSpec } from '#src/contract/route.ts'
import { call, type CallOptions } from './call.ts'
import type { Connection } from './connection.ts'
import type { NameRow } from './name-rows.ts'
import { isRecord, listOf, textOf } from './records.ts'

const NAMES_MOST = 500

/** The first of a thing's names, where there is one that any list shows. */
export function isOffered(row: NameRow): boolean {
  return (
    typeof row.names[0] === 'string' && row.inside === undefined && row.of === undefined && row.filter === undefined
  )
}

export async function listedNames(
  connection: Connection,
  route: RouteSpec,
  row: NameRow,
  options: CallOptions = {},
): Promise<string[]> {
  const page = { page_size: NAMES_MOST }
  const input = route.query?.properties.page_size === undefined ? { body: page } : { query: page }
  const { value } = await call(connection, route, input, options)
  const records = (listOf(value)?.rows ?? []).filter(isRecord)
  const field = String(row.names[0])
  return [...new Set(records.flatMap((record) => textOf(record[field]) ?? []))].sort()
}

const SHOWN = 6

/** Those that are alike, else all where there are few. */
export function namesLike(text: string, names: readonly string[]): string[] {
  const wanted = text.toLowerCase()
  const alike = names.filter((name) => {
    const one = name.toLowerCase()
    return one.includes(wanted) || wanted.includes(one)
  })
  if (alike.length > 0) return alike.slice(0, SHOWN)
  return names.length <= SHOWN ? [...names] : []
}
