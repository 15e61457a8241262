// Looks a name up: the operation that knows it, else the list of such things, with everything that carries the name.
import { ClientError } from '#src/contract/client.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { call, callAllPages, type PartialInput } from './call.ts'
import type { Connection } from './connection.ts'
import { NAME_ROWS, type NameRow } from './name-rows.ts'
import { isRecord, type Json, listOf, textOf } from './records.ts'
import { shapeOf } from './schema-shape.ts'
import { oneLine } from './terminal.ts'

export interface NameSource {
  connection: Connection
  routes: ReadonlyMap<string, RouteSpec>
}

export interface Candidate {
  id: string
  /** What tells it from the others of its name. */
  about: string
}

/** `beside`: ids that the same command gives, by their fields. */
export async function searchName(
  name: string,
  row: NameRow,
  source: NameSource,
  beside: Readonly<Json>,
): Promise<Candidate[]> {
  const lookup = row.lookup === undefined ? undefined : source.routes.get(row.lookup)
  const found = lookup === undefined ? undefined : await lookedUp(lookup, name, source.connection)
  if (found !== undefined) return [{ id: found, about: name }]
  if (row.of !== undefined) return searchAmongOwners(name, row, row.of, source, beside)
  const given = Object.entries(row.narrow ?? {}).flatMap(([field, filter]) => {
    const value = textOf(beside[field])
    return value === undefined ? [] : [[filter, value] as const]
  })
  return searchList(name, row, source, Object.fromEntries(given))
}

/** Undefined when the name is unknown or ambiguous: the list then tells which, and shows the candidates. */
async function lookedUp(route: RouteSpec, name: string, connection: Connection): Promise<string | undefined> {
  try {
    const { value } = await call(connection, route, givenIn(route, 'name', name))
    if (!isRecord(value)) return undefined
    return textOf(value.id) ?? textOf(value.virtual_machine_id)
  } catch (error) {
    if (error instanceof ClientError && (error.status === 400 || error.status === 404)) return undefined
    throw error
  }
}

async function searchAmongOwners(
  name: string,
  row: NameRow,
  of: NonNullable<NameRow['of']>,
  source: NameSource,
  beside: Readonly<Json>,
): Promise<Candidate[]> {
  const given = textOf(beside[of.field])
  if (given !== undefined) return searchList(name, row, source, { [of.field]: given })
  const owner_row = NAME_ROWS.find(({ what }) => what === of.what)
  const list = owner_row === undefined ? undefined : source.routes.get(owner_row.list)
  if (list === undefined) return []
  const owners = (await listed(list, source.connection, {})).filter((owner) => of.holds(owner, name))
  const found = await Promise.all(
    owners.map((owner) => searchList(name, row, source, { [of.field]: textOf(owner.id) })),
  )
  return found.flat()
}

async function searchList(name: string, row: NameRow, source: NameSource, filters: Json): Promise<Candidate[]> {
  const route = source.routes.get(row.list)
  if (route === undefined) return []
  // A filter spares the walk where the route has one; exactness is decided here.
  const whole = row.inside === undefined && row.seen_on === undefined
  const words = ['name', ...row.names.filter((field) => typeof field === 'string')]
  const filter = row.filter ?? (whole ? words.find((field) => takes(route, field)) : undefined)
  if (filter !== undefined) {
    const some = matching(name, row, await filtered(route, source.connection, { ...filters, [filter]: name }))
    // The filter may know one of the names alone.
    if (some.length > 0 || row.names.length === 1 || row.filter !== undefined) return some
  }
  return matching(name, row, await listed(route, source.connection, filters))
}

/** A filter that refuses the text as no name of its kind says that nothing has it. */
async function filtered(route: RouteSpec, connection: Connection, fields: Json): Promise<Json[]> {
  try {
    return await listed(route, connection, fields)
  } catch (error) {
    if (error instanceof ClientError && error.code === 'INVALID_REQUEST') return []
    throw error
  }
}

async function listed(route: RouteSpec, connection: Connection, fields: Json): Promise<Json[]> {
  const input: { query: Json; body?: Json } = { query: {}, ...(route.body === undefined ? {} : { body: {} }) }
  for (const [field, value] of Object.entries(fields)) {
    const place = route.query?.properties[field] === undefined ? input.body : input.query
    if (place !== undefined) place[field] = value
  }
  const { value } = await callAllPages(connection, route, input)
  return (listOf(value)?.rows ?? []).filter(isRecord)
}

function matching(name: string, row: NameRow, records: readonly Json[]): Candidate[] {
  const all = records.flatMap((record) => (row.inside === undefined ? [record] : innerOf(record, row.inside)))
  for (const field of row.names) {
    const exact = all.filter((record) => (typeof field === 'string' ? record[field] : field(record)) === name)
    // The first kind of name decides: a display name counts only where no name fits.
    if (exact.length === 0) continue
    // Some lists have a row for each zone that the same thing is in.
    return [...new Map(exact.flatMap((record) => candidate(record, row)).map((one) => [one.id, one])).values()]
  }
  return []
}

function innerOf(record: Json, member: string): Json[] {
  const inner: unknown = record[member]
  const rows = Array.isArray(inner) ? inner.filter(isRecord) : []
  return rows.map((one) => ({ ...one, owner: textOf(record.name) ?? textOf(record.ip_address) }))
}

/** What is shown of a candidate, as far as its record has it. */
const TELLING = [
  'kind', 'name', 'display_name', 'username', 'hostname', 'ip_address', 'public_ip_address', 'protocol', 'public_port_start',
  'bus_address', 'host_name', 'virtual_machine_name', 'owner', 'network_name', 'type', 'state', 'status', 'zone_name',
  'path', 'tenant_name', 'account', 'card_name', 'description', 'sent_at', 'created_at',
] // biome-ignore format: a list of words

function candidate(record: Json, row: NameRow): Candidate[] {
  const id = textOf(record[row.id ?? 'id']) ?? (row.id === undefined ? textOf(record.virtual_machine_id) : undefined)
  if (id === undefined) return []
  const own = row.seen_on === undefined ? TELLING : row.names.filter((field) => typeof field === 'string')
  const about = own.flatMap((field) => {
    const value = record[field]
    return typeof value === 'number' ? [String(value)] : (textOf(value) ?? [])
  })
  return [{ id, about: oneLine([...new Set(about)].join('  ')) }]
}

/** Puts a value where the route takes the field. */
export function givenIn(route: RouteSpec, field: string, value: unknown): PartialInput {
  if (route.params?.properties[field] !== undefined) return { params: { [field]: value } }
  if (route.query?.properties[field] !== undefined) return { query: { [field]: value } }
  return { body: { [field]: value } }
}

function takes(route: RouteSpec, field: string): boolean {
  return route.query?.properties[field] !== undefined || shapeOf(route.body).members.has(field)
}
