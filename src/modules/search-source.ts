// What a module adds to GET /search: one source for each kind of thing that it has.
import type { Area, CallInput, Routes, RouteSpec } from '#src/contract/route.ts'
import type { SearchKind } from '#src/contract/search.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'
import { type SearchedTable, searchTable } from '#src/store/search.ts'

export interface SearchFor {
  /** Lower case. */
  text: string
  /** More than so many are not shown. */
  limit: number
  signal: AbortSignal
}

export interface Found<Show = object> {
  id: string
  name: string
  tenant_id: string | null
  /** What the text may be found in. */
  words: readonly (string | null)[]
  /** What the operation that shows it is called with. */
  show: Show
}

export interface SearchSource {
  kind: SearchKind
  /** Shows one of these things. Who may not call it does not find them. */
  operation: string
  route: RouteSpec
  /** What fits, the best first, as far as the caller may see it. */
  find(asked: SearchFor, ctx: RequestContext): Promise<readonly Found[]>
}

export function searchSource<A extends Routes, Op extends keyof A & string>(
  kind: SearchKind,
  area: Area<A>,
  operation: Op,
  find: (asked: SearchFor, ctx: RequestContext) => Promise<readonly Found<CallInput<A[Op]>>[]>,
): SearchSource {
  const route: RouteSpec | undefined = area.routes[operation]
  if (route === undefined) throw new Error(`${area.name} has no operation ${operation}`)
  return { kind, operation, route, find }
}

/** Things that are rows of a table of ours. */
export function tableSource<A extends Routes, Op extends keyof A & string>(
  { db }: Pick<Database, 'db'>,
  kind: SearchKind & SearchedTable,
  area: Area<A>,
  operation: Op,
  show: (id: string) => CallInput<A[Op]>,
): SearchSource {
  return searchSource(kind, area, operation, async (asked, { caller }) => {
    const rows = await searchTable(db, kind, { ...asked, tenant_id: caller.tenant_id })
    return rows.map((row) => ({ ...row, show: show(row.id) }))
  })
}

interface PlatformList {
  command: string
  key: string
  args?: Args
  /** Field, and parameter that gives what has exactly this name: it may stand anywhere in what is found by a part. */
  name: string
  /** Which words the parameter takes; any when left out. */
  takes?: (text: string) => boolean
  words: readonly string[]
}

/** Things of the platform: the first that it finds by a part of their name, and those of exactly this name or id. */
export function platformSource<A extends Routes, Op extends keyof A & string>(
  cloudstack: CloudStack,
  kind: SearchKind,
  area: Area<A>,
  operation: Op,
  list: PlatformList,
  show: (id: string) => CallInput<A[Op]>,
): SearchSource {
  return searchSource(kind, area, operation, async (asked, ctx) => {
    if (!cloudstack.configured) return []
    const rows = await platformRows(cloudstack, list, asked, ctx)
    return rows.map((row) => {
      const id = textOf(row, 'id') ?? ''
      const words = list.words.map((field) => textOf(row, field))
      return { id, name: textOf(row, list.name) ?? '', tenant_id: textOf(row, 'domainid'), words, show: show(id) }
    })
  })
}

async function platformRows(
  cloudstack: CloudStack,
  { command, key, name, takes = () => true, args = {} }: PlatformList,
  { text, limit, signal }: SearchFor,
  ctx: RequestContext,
): Promise<Raw[]> {
  const scope = { ...args, ...scopeOf(ctx.caller.tenant_id) }
  const options = { signal, traceparent: ctx.traceparent }
  const page = { page: 1, pagesize: limit }
  if (UUID.test(text)) return [await findOne(cloudstack, command, key, { ...scope, id: text }, options)].filter((row) => row !== undefined) // biome-ignore format: one thought
  const [by_name, by_part] = await Promise.all([
    takes(text) ? cloudstack.call(command, { ...scope, [name]: text, ...page }, options) : {},
    cloudstack.call(command, { ...scope, keyword: text, ...page }, options),
  ])
  const rows = [...rowsOf(by_name, key), ...rowsOf(by_part, key)]
  return [...new Map(rows.map((row) => [textOf(row, 'id'), row])).values()]
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
