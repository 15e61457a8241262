// Lists of tens of thousands of rows in an order that the platform does not know. All rows are read in their shortest form, of
// which only ids stay here; those of one page are then read whole.
import { LRUCache } from 'lru-cache'
import { type SortKey, sorted } from '#src/kernel/sorted.ts'
import type { Args } from './args.ts'
import type { CloudStack } from './client.ts'
import type { ListItem, ListOptions, Page } from './lists.ts'
import { requireSortable } from './sorted-page.ts'

/** A hundred pages of the platform, of which it answers some each second. */
const MOST_SORTED = 50_000
/** The pages after the first follow the order that the first one found, for as long as somebody may leaf through them. */
const ORDER_MS = 60_000
/** Of 20,000 rows one takes a megabyte. */
const ORDERS = 16

export interface LongList<T extends { id: string }, Column extends string> {
  /** It takes `ids`. */
  command: string
  item: ListItem<T>
  columns: Readonly<Record<Column, (row: T) => SortKey>>
  /** Where the request names the column. */
  asked_in: 'body.sort_by' | 'query.sort_by'
  /** With which the platform answers rows that have the columns and little else. */
  short: Args
}

interface PageOfOrder<Column> {
  sort_by: Column
  sort_order: 'asc' | 'desc'
  page: number
  page_size: number
}

/**
 * The first page reads the order again. A row that is gone when its page is read is missing there; one that is new since then is
 * on no page.
 */
export function createLongList<T extends { id: string }, Column extends string>(
  cloudstack: CloudStack,
  { command, item, columns, asked_in, short }: LongList<T, Column>,
) {
  const orders = new LRUCache<string, readonly string[]>({ max: ORDERS, ttl: ORDER_MS })

  async function readOrder(
    args: Args,
    { sort_by, sort_order }: PageOfOrder<Column>,
    options: ListOptions,
  ): Promise<readonly string[]> {
    await requireSortable(cloudstack, { command, args, item, asked_in }, MOST_SORTED, options)
    const keyOf = columns[sort_by]
    const rows: { id: string; key: SortKey }[] = []
    for await (const row of cloudstack.listAll(command, { ...args, ...short }, item, options))
      rows.push({ id: row.id, key: keyOf(row) })
    return sorted(rows, { sort_by: 'key', sort_order }, { key: ({ key }) => key }).map(({ id }) => id)
  }

  return async (args: Args, order: PageOfOrder<Column>, options: ListOptions): Promise<Page<T>> => {
    const { sort_by, sort_order, page, page_size } = order
    const name = JSON.stringify([args, sort_by, sort_order])
    const known = page === 1 ? undefined : orders.get(name)
    const ids = known ?? (await readOrder(args, order, options))
    if (known === undefined) orders.set(name, ids)
    const wanted = ids.slice((page - 1) * page_size, page * page_size)
    if (wanted.length === 0) return { rows: [], count: ids.length }
    const of_page = { ...args, id: undefined, ids: wanted }
    const { rows } = await cloudstack.listPage(command, of_page, item, { page: 1, page_size: wanted.length }, options)
    const by_id = new Map(rows.map((row) => [row.id, row]))
    return { rows: wanted.flatMap((id) => by_id.get(id) ?? []), count: ids.length }
  }
}
