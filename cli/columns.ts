// Which members of a record become the columns of a table when nobody named them.
import { isPlain } from './cells.ts'
import { UsageError } from './failures.ts'
import { isRecord, type Json, LIST_FRAME } from './records.ts'
import { type Shape, shapeOf } from './schema-shape.ts'
import { headingOf } from './units.ts'

/** By the title of the record's schema, else by the member that lists them; what the rows lack is left out. */
const BY_TITLE: Readonly<Record<string, readonly string[]>> = {
  SearchResult: ['kind', 'name', 'matched', 'id', 'tenant_name'],
  TimelineEntry: ['at', 'status', 'what', 'text', 'duration_s', 'username'],
  AppEvent: ['created_at', 'status', 'action', 'description', 'username', 'progress'],
  app_events: ['created_at', 'status', 'action', 'description', 'error_message', 'username'],
  PlatformEvent: ['created_at', 'level', 'type', 'state', 'description', 'username'],
  Job: ['id', 'job_type', 'job_status', 'progress', 'resource_name', 'status', 'created_at'],
  VirtualMachine: ['name', 'state', 'tenant_name', 'ip_address', 'service_offering_name', 'host_name', 'zone_name', 'id'],
  PublicIp: ['ip_address', 'state', 'account', 'network_name', 'vm_name', 'source_nat', 'zone_name', 'id'],
  PortForwarding: [
    'public_ip_address', 'protocol', 'public_port_start', 'public_port_end', 'private_port_start', 'virtual_machine_name',
    'state', 'id',
  ],
  FirewallRule: [
    'direction', 'action', 'protocol', 'start_port', 'end_port', 'source_cidrs', 'destination_cidrs', 'public_ip_address', 'state', 'id',
  ],
  LoadBalancer: ['name', 'public_ip_address', 'public_port', 'private_port', 'algorithm', 'protocol', 'state', 'tenant_name', 'id'],
  GpuDevice: [
    'host_name', 'bus_address', 'card_name', 'type', 'profile_name', 'state', 'virtual_machine_name', 'id',
  ],
  NicRecord: ['network_name', 'ip_address', 'mac_address', 'is_default', 'type', 'mtu', 'id'],
  VmSnapshot: ['display_name', 'virtual_machine_name', 'state', 'type', 'is_current', 'created_at', 'name', 'id'],
  Volume: ['name', 'type', 'state', 'tenant_name', 'size_bytes', 'virtual_machine_name', 'storage_name', 'id'],
  GuestNetwork: ['name', 'type', 'state', 'tenant_name', 'cidr', 'vlan', 'network_offering_name', 'id'],
  NetworkOffering: ['name', 'type', 'state', 'for_vpc', 'egress_default', 'rate_mbps', 'services', 'id'],
  BenchmarkResult: ['id', 'type', 'target', 'profile', 'status', 'started_at', 'duration_seconds'],
  NodeRecord: ['fqdn', 'role', 'health', 'status', 'node_ip', 'bmc_ip', 'provision_status', 'zone'],
  NodeHealth: ['fqdn', 'health', 'since', 'node_ip', 'bmc_ip', 'checked_at'],
  NodeNet: ['node_role', 'node_ip', 'links_up', 'links_down', 'highest_mtu', 'total_nic_errors', 'ntp_synced', 'default_gateway'],
  Disk: ['device', 'type', 'size_mb', 'is_healthy', 'allocated_to', 'mount_point', 'model', 'serial'],
  StorageHealth: ['overall_status', 'localpool_health', 'clusterstore_health', 'failed_disks', 'critical_alerts'],
  ClusterStoreStatus: ['has_storage', 'osd_count', 'pool_count', 'device_classes', 'message'],
  NodeNic: ['interfaceName', 'linkStatus', 'ipAddress', 'macAddress', 'speed', 'bondMaster', 'driver'],
  FrrNode: ['name', 'status', 'ip_address', 'as', 'sdn_status', 'error'],
  EligibleNicNode: ['fqdn', 'node_ip', 'nic_count', 'error'],
  NetworkAlert: ['severity', 'category', 'node', 'device', 'message'],
} // biome-ignore format: a table

/** What tells things apart comes first, what is the same in every row last. */
const RANKS: readonly RegExp[] = [
  /^(name|hostname|fqdn|username|title)$/,
  /^(display_name|interface_?name|device|node|resource_name|zone|label)$/i,
  /^(state|status|health|severity|job_status|provision_status|link_?status|role|type|kind)$/i,
  /^(ip_address|ip|node_ip|mac_address|mac|bmc_ip|address)$/i,
  /^id$/,
  /^(value|cidr|size_\w+|capacity\w*|speed|mtu|cores|cpu_\w+|memory_\w+|progress|message|description)$/i,
  /_name$/,
  /(_at|time)$/,
  // The id of a neighbour is wide and says little; its name stands before it.
  /_id$/,
]

const COLUMNS_AT_MOST = 8

export function chooseColumns(rows: readonly Json[], title: string | undefined): string[] {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const named = (title === undefined ? [] : (BY_TITLE[title] ?? [])).filter((name) => all.includes(name))
  if (named.length > 0) return named
  const telling = all.filter((name) => rows.some((row) => !isBlank(row[name])))
  const plain = telling.filter((name) => rows.every((row) => isPlain(row[name])))
  const usable = plain.length > 0 ? plain : telling
  return usable
    .map((name, at) => ({ name, at, rank: rankOf(name) }))
    .sort((a, b) => a.rank - b.rank || a.at - b.at)
    .slice(0, COLUMNS_AT_MOST)
    .map(({ name }) => name)
}

/** Title of the records of a list answer, from the schema of the answer. */
export function recordTitle(schema: unknown, member: string | undefined): string | undefined {
  if (!isRecord(schema)) return undefined
  if (member === undefined) return isRecord(schema.items) ? titleOf(schema.items) : undefined
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const list = properties[member]
  return isRecord(list) && isRecord(list.items) ? (titleOf(list.items) ?? member) : undefined
}

/** The columns under the names that records have them by; a name that no record can have is refused. */
export function knownColumns(
  columns: readonly string[] | undefined,
  schema: unknown,
  lead: string | undefined,
): string[] | undefined {
  const shape = rowShape(shapeOf(schema))
  if (columns === undefined || shape.members.size === 0) return columns === undefined ? undefined : [...columns]
  return columns.map((column) => {
    if (column === lead) return column
    const [first = '', ...inner] = column.split('.')
    const name = [...shape.members.keys()].find((known) =>
      [known, headingOf(known)].some((word) => word.toLowerCase() === first.toLowerCase()),
    )
    if (name !== undefined && inner.reduce<Shape | undefined>(innerShape, shape.members.get(name)) !== undefined)
      return [name, ...inner].join('.')
    throw new UsageError(`there is no column "${column}"; there are: ${[...shape.members.keys()].join(', ')}`)
  })
}

/** Undefined: a record that lists its members has none of this name. */
function innerShape(shape: Shape | undefined, name: string): Shape | undefined {
  const open = shape?.members.size === 0 && (shape.kind === 'any' || shape.kind === 'object')
  return open ? shape : shape?.members.get(name)
}

/** The shape of a row of a list, or of the record itself (see listOf). */
function rowShape(shape: Shape): Shape {
  if (shape.kind === 'list') return shape.items ?? shape
  const members = [...shape.members].filter(([name]) => !LIST_FRAME.has(name))
  const [name, only] = members.length === 1 ? (members[0] ?? []) : []
  if (only?.kind === 'list') return only.items ?? shape
  return name === 'data' && only !== undefined ? rowShape(only) : shape
}

export function titleOf(schema: unknown): string | undefined {
  return isRecord(schema) && typeof schema.title === 'string' ? schema.title : undefined
}

function rankOf(name: string): number {
  const rank = RANKS.findIndex((pattern) => pattern.test(name))
  // Between the telling words and the names of neighbours: everything that no rank knows.
  return rank === -1 ? 5.5 : rank
}

function isBlank(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
