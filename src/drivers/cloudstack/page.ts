// One page of a list that the platform cannot filter or count as we do: all rows are read, one page is kept in memory.
import type { Page } from './lists.ts'

export async function onePage<T>(
  items: AsyncIterable<T> | Iterable<T>,
  { page, page_size }: { page: number; page_size: number },
  fits: (item: T) => boolean = () => true,
): Promise<Page<T>> {
  const first = (page - 1) * page_size
  const rows: T[] = []
  let count = 0
  for await (const item of items) {
    if (!fits(item)) continue
    if (count >= first && rows.length < page_size) rows.push(item)
    count += 1
  }
  return { rows, count }
}
