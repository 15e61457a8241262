// The order of a list in memory by a column that the caller names.

export interface ListOrder<Column extends string> {
  sort_by?: Column
  sort_order?: 'asc' | 'desc'
}

export type SortKey = string | number | null

/** By the named column, whatever the case, with what is not known at the end; as they are where none is named. */
export function sorted<T, Column extends string>(
  rows: readonly T[],
  { sort_by, sort_order }: ListOrder<Column>,
  columns: Readonly<Record<Column, (row: T) => SortKey>>,
): readonly T[] {
  if (sort_by === undefined) return rows
  const sign = sort_order === 'desc' ? -1 : 1
  return rows
    .map((row) => ({ row, key: folded(columns[sort_by](row)) }))
    .sort((a, b) => {
      if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null)
      if (a.key === b.key) return 0
      return a.key < b.key ? -sign : sign
    })
    .map(({ row }) => row)
}

function folded(key: SortKey): SortKey {
  return typeof key === 'string' ? key.toLowerCase() : key
}
