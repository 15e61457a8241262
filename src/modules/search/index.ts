// GET /search: asks the source of every kind at once and puts what they find in one order.
import { requestOf } from '#src/contract/client.ts'
import { search, type SearchResult, SEARCH_RANKS } from '#src/contract/search.ts'
import type { Input } from '#src/contract/route.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import { mayCall } from '#src/kernel/http/access.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { type Module, serve } from '../module.ts'
import type { Database } from '#src/store/database.ts'
import { tenantNames } from '#src/store/tenants.ts'
import type { Found, SearchFor, SearchSource } from '../search-source.ts'

type Query = Input<(typeof search.routes)['searchRun']>['query']

const LIMIT = 20
/** A subsystem that takes longer is left out: who searches waits for the answer. */
const TIME_LIMIT_MS = 2000

/** `sources`: of all modules. */
export function searchModule(database: Database, sources: readonly SearchSource[]): Module {
  return { areas: [serve(search, { searchRun: searchRun(database, sources) })] }
}

function searchRun({ db }: Database, sources: readonly SearchSource[]) {
  return async ({ query }: { query: Query }, ctx: RequestContext) => {
    const limit = query.limit ?? LIMIT
    const asked = { text: wordsOf(query.q), limit }
    const wanted = sources
      .filter(({ kind }) => query.kind === undefined || query.kind === kind)
      .filter(({ route }) => mayCall(route, ctx.caller))
    const answers = await Promise.all(wanted.map((source) => answerOf(source, asked, ctx)))
    const all = answers.flatMap(({ results }) => results).toSorted(byRank)
    const shown = all.slice(0, limit)
    const names = await tenantNames(
      db,
      shown.flatMap(({ tenant_id }) => tenant_id ?? []),
    )
    return {
      results: shown.map((one) => ({ ...one, tenant_name: names.get(one.tenant_id ?? '') ?? null })),
      more: all.length > limit || answers.some(({ is_full }) => is_full),
      unavailable: answers.flatMap(({ unavailable }) => unavailable),
    }
  }
}

type Result = Omit<SearchResult, 'tenant_name'>

interface SourceAnswer {
  results: Result[]
  is_full: boolean
  unavailable: { kind: SearchSource['kind']; reason: string }[]
}

async function answerOf(
  source: SearchSource,
  asked: Omit<SearchFor, 'signal'>,
  ctx: RequestContext,
): Promise<SourceAnswer> {
  const late = AbortSignal.timeout(TIME_LIMIT_MS)
  const signal = AbortSignal.any([late, ctx.signal])
  try {
    const found = await Promise.race([source.find({ ...asked, signal }, ctx), aborted(signal)])
    const results = found.flatMap((one) => resultOf(source, one, asked.text))
    return { results, is_full: results.length >= asked.limit, unavailable: [] }
  } catch (error) {
    const is_late = late.aborted && !ctx.signal.aborted
    // Without the database nothing can be said to be missing alone.
    if (!is_late && !(error instanceof UpstreamError && error.upstream !== 'STORE')) throw error
    const reason = is_late
      ? `No answer within ${TIME_LIMIT_MS / 1000} seconds.`
      : asApiError(error, ctx.caller.tenant_id).message
    return { results: [], is_full: false, unavailable: [{ kind: source.kind, reason }] }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

/** Nothing when it was found by what is not shown. */
function resultOf({ kind, operation, route }: SearchSource, found: Found, text: string): Result[] {
  const [best] = found.words
    .filter((word) => word !== null)
    .map((word) => ({ matched: word, rank: rankOf(word.toLowerCase(), text) }))
    .filter(({ rank }) => rank !== undefined)
    .toSorted((a, b) => orderOf(a.rank) - orderOf(b.rank))
  if (best?.rank === undefined) return []
  const { id, name, tenant_id, show } = found
  const { path: href, method, body } = requestOf(route, show)
  const shown = { operation, method: method === 'GET' ? ('GET' as const) : ('POST' as const), href }
  const sent = body === undefined ? null : (JSON.parse(body) as Record<string, unknown>)
  return [{ kind, id, name, tenant_id, matched: best.matched, rank: best.rank, ...shown, body: sent }]
}

function rankOf(word: string, text: string): SearchResult['rank'] | undefined {
  if (word === text) return 'exact'
  if (word.startsWith(text)) return 'prefix'
  return word.includes(text) ? 'inside' : undefined
}

function orderOf(rank: SearchResult['rank'] | undefined): number {
  return rank === undefined ? SEARCH_RANKS.length : SEARCH_RANKS.indexOf(rank)
}

function byRank(a: Result, b: Result): number {
  return orderOf(a.rank) - orderOf(b.rank) || a.name.localeCompare(b.name) || a.id.localeCompare(b.id)
}

/** A MAC may be given with hyphens. */
function wordsOf(q: string): string {
  const text = q.trim().toLowerCase()
  return /^[0-9a-f]{2}(-[0-9a-f]{2}){2,5}$/.test(text) ? text.replaceAll('-', ':') : text
}
