// Reading NetBox. It ignores filters that it does not know and answers the whole list then, so each row is compared with the
// filter that was sent.
import { UpstreamError } from '#src/kernel/errors.ts'
import type { IpamPage, IpamRows } from '../ddi/ipam-store.ts'
import type { NetBoxTransport, Query } from './transport.ts'

export interface Form<T> {
  Check(value: unknown): value is T
}

export interface Listing<T> {
  path: string
  query: Query
  form: Form<T>
  /** Whether a row is what the filter asks for. */
  fits(row: T): boolean
  signal?: AbortSignal | undefined
}

export interface Reads {
  page<T>(listing: Listing<T>, page: IpamPage): Promise<IpamRows<T>>
  /** Every row. */
  all<T>(listing: Listing<T>): Promise<T[]>
  one<T>(path: string, form: Form<T>, signal?: AbortSignal): Promise<T | undefined>
}

/** The server may answer fewer than it was asked for. */
const MOST_ROWS = 1000

export function createReads(transport: NetBoxTransport): Reads {
  const chunk = async <T>(listing: Listing<T>, offset: number, limit: number): Promise<IpamRows<T>> => {
    const { path, query, form, fits, signal } = listing
    const answer = await transport.send({
      method: 'GET',
      path,
      query: { ...query, limit, offset },
      signal,
      expect: [400],
    })
    // What a filter names is not there: of that there is nothing.
    if (answer.status === 400 && speaksOf(answer.body, query)) return { rows: [], count: 0 }
    const found = answer.status === 200 ? rowsIn(answer.body, form) : undefined
    if (found === undefined) throw unexpected(path, 'the list does not have the form that this version knows')
    if (!found.rows.every(fits)) throw unexpected(path, `the filter ${Object.keys(query).join(', ')} was ignored`)
    return found
  }
  const slice = async <T>(listing: Listing<T>, offset: number, wanted: number): Promise<IpamRows<T>> => {
    const rows: T[] = []
    for (;;) {
      const limit = Math.min(wanted - rows.length, MOST_ROWS)
      const found = await chunk(listing, offset + rows.length, limit)
      rows.push(...found.rows)
      const at_end = found.rows.length === 0 || offset + rows.length >= found.count
      if (at_end || rows.length >= wanted) return { rows, count: found.count }
    }
  }
  return {
    page: (listing, { page, page_size }) => slice(listing, (page - 1) * page_size, page_size),
    all: async (listing) => (await slice(listing, 0, Number.MAX_SAFE_INTEGER)).rows,
    async one(path, form, signal) {
      const { status, body } = await transport.send({ method: 'GET', path, signal, expect: [404] })
      if (status === 404) return undefined
      if (form.Check(body)) return body
      throw unexpected(path, 'the answer does not have the form that this version knows')
    },
  }
}

function speaksOf(body: unknown, query: Query): boolean {
  return typeof body === 'object' && body !== null && Object.keys(body).every((name) => query[name] !== undefined)
}

function rowsIn<T>(body: unknown, form: Form<T>): IpamRows<T> | undefined {
  if (typeof body !== 'object' || body === null || !('results' in body) || !('count' in body)) return undefined
  const { results, count } = body
  if (!Array.isArray(results) || typeof count !== 'number') return undefined
  const rows: unknown[] = results
  return rows.every((row) => form.Check(row)) ? { rows, count } : undefined
}

export function unexpected(operation: string, detail: string): UpstreamError {
  return new UpstreamError({ upstream: 'IPAM', operation, failure: 'error', detail })
}
