// Names where ids are: replaces every name that stands for an id by that id, wherever in the input it is.
import type { Area, RouteSpec } from '#src/contract/route.ts'
import { EXIT, NameError } from './failures.ts'
import type { Field } from './fields.ts'
import type { RouteInput } from './input.ts'
import { type NameRow, rowOf } from './name-rows.ts'
import { isOffered, listedNames, namesLike } from './name-list.ts'
import { type NameSource, searchName } from './name-search.ts'
import { isRecord, type Json } from './records.ts'
import type { Shape } from './schema-shape.ts'
import { oneLine } from './terminal.ts'

export type RouteTable = ReadonlyMap<string, RouteSpec>

export function routeTable(areas: readonly Area[]): RouteTable {
  return new Map(areas.flatMap((area) => Object.entries(area.routes)))
}

/** Replaces names by ids in place. What looks like an id, or is written `id:…`, is taken as it is. */
export async function resolveNames(input: RouteInput, fields: readonly Field[], source: NameSource): Promise<void> {
  /** Ids that are settled already; they narrow the search for the others. */
  const settled: Json = {}
  for (const field of [...fields].sort((a, b) => dependence(a) - dependence(b))) {
    for (const place of field.places) {
      const holder: unknown = input[place]
      if (!isRecord(holder) || holder[field.name] === undefined) continue
      const value = await resolved(holder[field.name], field, field.shape, source, settled)
      holder[field.name] = value
      settled[field.name] = value
      if (isRecord(input.body)) for (const name of field.also) input.body[name] = value
    }
  }
}

/** The id that one text stands for in a field. */
export async function idOfField(
  field: { name: string; operation: string },
  text: string,
  source: NameSource,
): Promise<string> {
  const row = rowOf(field)
  return row === undefined ? text : idOf(text, row, source, {})
}

/** What another field narrows comes after that field. */
function dependence(field: Field): number {
  const row = rowOf(field)
  return row?.narrow === undefined && row?.of === undefined ? 0 : 1
}

async function resolved(
  value: unknown,
  field: { name: string; operation: string },
  shape: Shape | undefined,
  source: NameSource,
  settled: Readonly<Json>,
): Promise<unknown> {
  if (Array.isArray(value)) {
    return Promise.all(value.map((item) => resolved(item, field, shape?.items, source, settled)))
  }
  if (isRecord(value)) {
    const members = await Promise.all(
      Object.entries(value).map(async ([name, member]) => {
        const known = shape?.members.get(name)
        // The members of a free record are the caller's own words, and a bare `id` in a record is of that record.
        if (known === undefined || name === 'id') return [name, member] as const
        return [name, await resolved(member, { ...field, name }, known, source, settled)] as const
      }),
    )
    return Object.fromEntries(members)
  }
  const row = typeof value === 'string' ? rowOf(field) : undefined
  if (row === undefined || typeof value !== 'string') return value
  return idOf(value, row, source, settled)
}

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

async function idOf(text: string, row: NameRow, source: NameSource, settled: Readonly<Json>): Promise<string> {
  if (text.startsWith('id:')) return text.slice('id:'.length)
  if (text === '' || UUID.test(text)) return text
  if (!source.routes.has(row.list) && !source.routes.has(row.lookup ?? '')) return text
  const candidates = await searchName(text, row, source, settled)
  const [only] = candidates
  if (only === undefined) {
    if (row.id_form?.test(text) === true) return text
    const where = row.seen_on === undefined ? 'there is no' : `no ${row.seen_on} shows a`
    const help = row.seen_on === undefined ? await otherNames(text, row, source) : '; give its id'
    throw new NameError(`${where} ${row.what} named "${text}"${help}`, EXIT.not_found)
  }
  if (candidates.length === 1) return only.id
  const lines = candidates.map(({ id, about }) => `${id}  ${about}`)
  throw new NameError(
    [`several things of the kind ${row.what} are named "${text}"; give one id:`, ...lines].join('\n'),
    EXIT.conflict,
  )
}

/** The way out of an unknown name; without an answer the error stands alone. */
async function otherNames(text: string, row: NameRow, { connection, routes }: NameSource): Promise<string> {
  const route = routes.get(row.list)
  if (route === undefined || !isOffered(row)) return ''
  const names = await listedNames(connection, route, row).catch(() => [])
  const like = namesLike(text, names)
  return like.length === 0 ? '' : `; there is ${like.map((name) => `"${oneLine(name)}"`).join(', ')}`
}
