// The order of a list by a column that the caller names.
import { type RawBuilder, sql } from 'kysely'
import type { ListOrder } from '#src/kernel/sorted.ts'

/**
 * By the named column, with what is not known at the end, or as the list is ordered otherwise. `id` comes last, so that pages
 * hold together.
 */
export function listOrder<Column extends string>(
  { sort_by, sort_order = 'asc' }: ListOrder<Column>,
  columns: Readonly<Record<Column, RawBuilder<unknown>>>,
  otherwise: RawBuilder<unknown>,
  id: RawBuilder<unknown>,
): RawBuilder<unknown> {
  if (sort_by === undefined) return otherwise
  return sql`${columns[sort_by]} ${sql.raw(sort_order)} nulls last, ${id}`
}
