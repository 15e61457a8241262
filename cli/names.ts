// Names where ids are: which fields hold the id of what, and how a name is turned into it.
import { ClientError } from '#src/contract/client.ts'
import type { Area, RouteSpec } from '#src/contract/route.ts'
import { call, callAllPages, type PartialInput } from './call.ts'
import type { Connection } from './connection.ts'
import { EXIT, NameError } from './failures.ts'
import type { Field } from './fields.ts'
import type { RouteInput } from './input.ts'
import { isRecord, type Json, listOf, textOf } from './records.ts'
import { shapeOf } from './schema-shape.ts'
import { oneLine } from './terminal.ts'

export interface NameRow {
  /** What a person calls it. */
  what: string
  /** Fields that hold its id (or ids), in any place of any route. */
  fields: readonly string[]
  /** Groups in which a bare `id` is its id. */
  groups: readonly string[]
  /** Operation that answers the id of one name; the list stands in where there is none. */
  lookup?: string
  /** Operation that lists them. */
  list: string
  /** Members of a record that are names. */
  names: readonly string[]
  /** Operation that reads one by id, and the resource type its jobs carry: how `--wait` shows the result. */
  read?: { operation: string; resource_type: string }
}

/** A new area adds a row. */
export const NAME_ROWS: readonly NameRow[] = [
  {
    what: 'virtual machine', fields: ['virtual_machine_id', 'vm_id', 'virtual_machine_ids', 'vm_ids'], groups: ['vm', 'vm-settings'],
    lookup: 'vmIdGet', list: 'vmList', names: ['name', 'display_name'],
    read: { operation: 'vmGet', resource_type: 'VM' },
  },
  { what: 'zone', fields: ['zone_id', 'zone_ids'], groups: ['zone'], list: 'zoneList', names: ['name'] },
  { what: 'host', fields: ['host_id'], groups: ['host'], list: 'hostList', names: ['name'] },
  { what: 'cluster', fields: ['cluster_id'], groups: ['cluster'], list: 'clusterList', names: ['name'] },
  { what: 'template', fields: ['template_id'], groups: ['template'], list: 'templateList', names: ['name', 'display_text'] },
  {
    what: 'service offering', fields: ['service_offering_id'], groups: ['service-offering'],
    list: 'serviceOfferingList', names: ['name'],
  },
  {
    what: 'disk offering', fields: ['disk_offering_id'], groups: ['disk-offering'], list: 'diskOfferingList',
    names: ['name'],
  },
  {
    what: 'network', fields: ['network_id', 'network_ids'], groups: ['guest-network', 'network'],
    list: 'guestNetworkList', names: ['name', 'display_text'],
  },
  {
    what: 'tenant', fields: ['tenant_id', 'domain_id', 'domain_ids'], groups: ['tenant'], list: 'tenantList',
    names: ['name', 'path'],
  },
  { what: 'public IP', fields: ['ip_id', 'public_ip_id'], groups: [], list: 'publicIpList', names: ['ip_address'] },
  {
    what: 'volume', fields: ['volume_id', 'volume_ids'], groups: ['volume'], list: 'volumeList', names: ['name'],
  },
  {
    what: 'snapshot of a virtual machine', fields: ['snapshot_id'], groups: ['vm-snapshot'], list: 'vmSnapshotList',
    names: ['display_name', 'name'],
  },
  { what: 'ISO', fields: ['iso_id'], groups: [], list: 'isoList', names: ['name', 'display_text'] },
  {
    what: 'vGPU profile', fields: ['vgpu_profile_id', 'profile_id'], groups: ['vgpu-profile'], list: 'vgpuProfileList',
    names: ['name'],
  },
  { what: 'GPU card', fields: ['card_id'], groups: ['gpu-card'], list: 'gpuCardList', names: ['name'] },
  {
    what: 'network service provider', fields: ['nsp_id'], groups: [], list: 'serviceProviderList', names: ['name'],
  },
] // biome-ignore format: a table

export type RouteTable = ReadonlyMap<string, RouteSpec>

export function routeTable(areas: readonly Area[]): RouteTable {
  return new Map(areas.flatMap((area) => Object.entries(area.routes)))
}

export function rowOf(field: Pick<Field, 'name' | 'noun'>): NameRow | undefined {
  return NAME_ROWS.find(
    ({ fields, groups }) => fields.includes(field.name) || (field.name === 'id' && groups.includes(field.noun)),
  )
}

/** Replaces names by ids in place. What looks like an id, or is written `id:…`, is taken as it is. */
export async function resolveNames(
  input: RouteInput,
  fields: readonly Field[],
  connection: Connection,
  routes: RouteTable,
): Promise<void> {
  for (const field of fields) {
    const row = rowOf(field)
    if (row === undefined || !(routes.has(row.list) || (row.lookup !== undefined && routes.has(row.lookup)))) continue
    const resolve = async (value: unknown): Promise<unknown> =>
      typeof value === 'string' ? idOf(value, row, connection, routes) : value
    for (const place of field.places) {
      const holder: unknown = input[place]
      if (!isRecord(holder) || holder[field.name] === undefined) continue
      const value = holder[field.name]
      const id = Array.isArray(value) ? await Promise.all(value.map(resolve)) : await resolve(value)
      holder[field.name] = id
      if (isRecord(input.body)) for (const name of field.also) input.body[name] = id
    }
  }
}

async function idOf(text: string, row: NameRow, connection: Connection, routes: RouteTable): Promise<string> {
  if (text.startsWith('id:')) return text.slice('id:'.length)
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text
  const lookup = row.lookup === undefined ? undefined : routes.get(row.lookup)
  if (lookup !== undefined) {
    const found = await lookedUp(lookup, text, connection)
    if (found !== undefined) return found
  }
  const list = routes.get(row.list)
  const candidates = list === undefined ? [] : await named(list, text, row, connection)
  const [only] = candidates
  if (only === undefined) throw new NameError(`there is no ${row.what} named "${text}"`, EXIT.not_found)
  if (candidates.length === 1) return only.id
  const lines = candidates.map(({ id, about }) => `${id}  ${about}`)
  throw new NameError(
    [`several things of the kind ${row.what} are named "${text}"; give one id:`, ...lines].join('\n'),
    EXIT.conflict,
  )
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

interface Candidate {
  id: string
  about: string
}

async function named(route: RouteSpec, name: string, row: NameRow, connection: Connection): Promise<Candidate[]> {
  // A filter spares the walk where the route has one; exactness is decided here.
  const filter = ['name', ...row.names, 'keyword'].find((field) => takes(route, field))
  const input = filter === undefined ? {} : givenIn(route, filter, name)
  const { value } = await callAllPages(connection, route, input)
  const rows = (listOf(value)?.rows ?? []).filter(isRecord)
  const exact = rows.filter((record) => row.names.some((field) => record[field] === name))
  // The first kind of name decides: a display name counts only where no name fits.
  const first = exact.filter((record) => record[row.names[0] ?? 'name'] === name)
  const found = (first.length > 0 ? first : exact).flatMap(candidate)
  // Some lists have a row for each zone that the same thing is in.
  return [...new Map(found.map((one) => [one.id, one])).values()]
}

function candidate(record: Json): Candidate[] {
  const id = textOf(record.id) ?? textOf(record.virtual_machine_id)
  if (id === undefined) return []
  const about = ['name', 'display_name', 'state', 'status', 'zone_name', 'tenant_name', 'account', 'created_at']
    .map((field) => textOf(record[field]))
    .filter((text) => text !== undefined)
  return [{ id, about: oneLine(about.join('  ')) }]
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
