// Lists of the platform: always paged, de-duplicated, and complete in scope (cloudstack.md 3).
import type { Args } from './args.ts'
import { integerOf, type Raw, rowsOf, textOf } from './fields.ts'

/** Sends a listing command and answers the content of its envelope. */
export type ListCall = (command: string, args: Args, options: ListOptions) => Promise<Raw>

export interface ListOptions {
  signal?: AbortSignal | undefined
  timeout_ms?: number | undefined
  traceparent?: string | undefined
}

/** Where the rows of a list are, and how one is read. */
export interface ListItem<T> {
  key: string
  read: (row: Raw) => T
}

export interface Page<T> {
  rows: T[]
  /** What the platform says: the total for most commands, the length of the page for some (cloudstack.md 3). */
  count: number
}

/** Everything of every account, project resources included: what a root admin must ask for to see all. */
export const WHOLE_SCOPE = { listall: true, projectid: '-1' } as const

/** The platform's own limit; more is refused. */
export const PAGE_SIZE = 500

export async function listPage<T>(
  call: ListCall,
  command: string,
  args: Args,
  item: ListItem<T>,
  page: { page: number; page_size: number },
  options: ListOptions = {},
): Promise<Page<T>> {
  return pageOfContent(await call(command, { ...args, page: page.page, pagesize: page.page_size }, options), item)
}

export function pageOfContent<T>(content: Raw, item: ListItem<T>): Page<T> {
  const rows: T[] = []
  for (const row of rowsOf(content, item.key)) rows.push(item.read(row))
  return { rows, count: integerOf(content, 'count') ?? rows.length }
}

/** How many rows the list has, without reading them. */
export async function countOf(call: ListCall, command: string, args: Args, options: ListOptions = {}): Promise<number> {
  return integerOf(await call(command, { ...args, retrieveonlyresourcecount: true }, options), 'count') ?? 0
}

/** So many pages are asked for while one is being used, where the count of the list says that there are more. */
const PAGES_AHEAD = 3

/** Page after page, in their order. Rows that moved are given once. */
export async function* listPages(
  call: ListCall,
  command: string,
  args: Args,
  key: string,
  options: ListOptions = {},
): AsyncGenerator<Raw[]> {
  const seen = new Set<string>()
  const under_way: Promise<Raw>[] = []
  let asked = 0
  const askUpTo = (page: number): void => {
    for (; asked < page; asked += 1) {
      const content = call(command, { ...args, page: asked + 1, pagesize: PAGE_SIZE }, options)
      // The reader may stop early; an error of a page under way is then ignored.
      content.catch(() => {})
      under_way.push(content)
    }
  }
  askUpTo(1)
  for (let page = 1; ; page += 1) {
    const content = await under_way.shift()
    const rows = content === undefined ? [] : rowsOf(content, key)
    if (content === undefined || rows.length < PAGE_SIZE) {
      yield rows.filter((row) => isNew(seen, row))
      return
    }
    // Some commands count the rows of the page instead: then the next page alone is sure to be of use.
    const pages = Math.ceil((integerOf(content, 'count') ?? 0) / PAGE_SIZE)
    askUpTo(Math.max(page + 1, Math.min(page + PAGES_AHEAD, pages)))
    yield rows.filter((row) => isNew(seen, row))
  }
}

export async function* listAll<T>(
  call: ListCall,
  command: string,
  args: Args,
  item: ListItem<T>,
  options: ListOptions = {},
): AsyncGenerator<T> {
  for await (const rows of listPages(call, command, args, item.key, options)) {
    for (const row of rows) yield item.read(row)
  }
}

function isNew(seen: Set<string>, row: Raw): boolean {
  const id = textOf(row, 'id')
  if (id === null) return true
  // An image has one row for each zone that it is in.
  const key = `${id} ${textOf(row, 'zoneid') ?? ''}`
  if (seen.has(key)) return false
  seen.add(key)
  return true
}

/** For lists that are known to be short. */
export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
