// One page of a list, also in an order that the platform does not know: then its rows are read, as many as that is sensible for.
import { invalidField } from '#src/kernel/errors.ts'
import { type ListOrder, type SortKey, sorted } from '#src/kernel/sorted.ts'
import type { Args } from './args.ts'
import type { CloudStack } from './client.ts'
import { collected, type ListItem, type ListOptions, type Page } from './lists.ts'
import { onePage } from './page.ts'

/** Ten pages of the platform, which take it some seconds. */
const MOST_SORTED = 5000

export interface PlatformList<T, Column extends string> {
  command: string
  args: Args
  item: ListItem<T>
  columns: Readonly<Record<Column, (row: T) => SortKey>>
  /** Where the request names the column. */
  asked_in: 'body.sort_by' | 'query.sort_by'
  /** What the platform cannot filter. */
  fits?: ((row: T) => boolean) | undefined
}

/** Throws where a list that is to be ordered is too long to be read for one page. */
export async function pageInOrder<T, Column extends string>(
  cloudstack: CloudStack,
  { command, args, item, columns, asked_in, fits }: PlatformList<T, Column>,
  order: ListOrder<Column> & { page: number; page_size: number },
  options: ListOptions,
): Promise<Page<T>> {
  if (order.sort_by === undefined && fits === undefined) return cloudstack.listPage(command, args, item, order, options)
  const all = cloudstack.listAll(command, args, item, options)
  if (order.sort_by === undefined) return onePage(all, order, fits)
  await requireSortable(cloudstack, { command, args, item, asked_in }, MOST_SORTED, options)
  return onePage(sorted(await collected(all), order, columns), order, fits)
}

export async function requireSortable<T>(
  cloudstack: CloudStack,
  { command, args, item, asked_in }: Pick<PlatformList<T, string>, 'command' | 'args' | 'item' | 'asked_in'>,
  most: number,
  options: ListOptions,
): Promise<void> {
  const { count } = await cloudstack.listPage(command, args, item, { page: 1, page_size: 1 }, options)
  if (count > most)
    throw invalidField(asked_in, `cannot order ${count} rows, ${most} at most; narrow the list by other filters`)
}
