// How somebody looks at a list: filter, columns and order. The address holds all of it, defaults left out.
import { operationRow } from '../api/contract.ts'
import type { Column } from './columns.tsx'
import { useFilter } from './filter.ts'

export interface View {
  filter: Readonly<Record<string, string>>
  set(name: string, value: string): void
  columns: readonly Column[]
  /** Of all that the list has: those that are shown, in their order. */
  choose(names: readonly string[]): void
  sort: Sort | undefined
  /** Only where the operation can: the service sorts, because it alone has all rows. */
  sortBy(column: string): void
  /** What the service is asked for, without the page. */
  asked: Readonly<Record<string, string>>
}

export interface Sort {
  column: string
  descending: boolean
}

/** Names in the address that are no filter. */
const COLUMNS = 'columns'
const SORT = 'sort'
export const ROW = 'row'

export function useView(operation: string, all: readonly Column[], defaults: readonly string[]): View {
  const [given, set] = useFilter()
  const { [COLUMNS]: chosen = '', [SORT]: order = '', [ROW]: _row, ...filter } = given
  const names = chosen === '' ? defaults : chosen.split(',')
  const columns = names.flatMap((name) => all.find((column) => column.name === name) ?? [])
  const sort = order === '' ? undefined : { column: order.replace(/^-/, ''), descending: order.startsWith('-') }
  return {
    filter,
    set,
    // An address of an older version may name columns that are no more.
    columns: columns.length > 0 ? columns : all.filter(({ name }) => defaults.includes(name)),
    choose: (next) => set(COLUMNS, next.join(',') === defaults.join(',') ? '' : next.join(',')),
    sort,
    sortBy(column) {
      if (!operationRow(operation).sorts.includes(column)) return
      set(SORT, sort?.column !== column ? column : sort.descending ? '' : `-${column}`)
    },
    asked: {
      ...filter,
      ...(sort !== undefined && { sort_by: sort.column, sort_order: sort.descending ? 'desc' : 'asc' }),
    },
  }
}
