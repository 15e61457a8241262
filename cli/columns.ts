// Which members of a record become the columns of a table when nobody named them.
import { isPlain } from './cells.ts'
import { isRecord, type Json } from './records.ts'

/** By the title of the record's schema; what the rows lack is left out. */
const BY_TITLE: Readonly<Record<string, readonly string[]>> = {
  TimelineEntry: ['at', 'status', 'what', 'text', 'duration_s', 'username'],
  AppEvent: ['created_at', 'status', 'action', 'description', 'username', 'progress'],
  PlatformEvent: ['created_at', 'level', 'type', 'state', 'description', 'username'],
  Job: ['id', 'job_type', 'job_status', 'progress', 'resource_name', 'status', 'created_at'],
  VirtualMachine: ['name', 'state', 'ip_address', 'service_offering_name', 'host_name', 'zone_name', 'id'],
  PublicIp: ['ip_address', 'state', 'network_name', 'vm_name', 'source_nat', 'zone_name', 'account', 'id'],
  PortForwarding: [
    'public_ip_address', 'protocol', 'public_port_start', 'public_port_end', 'private_port_start', 'virtual_machine_name',
    'state', 'id',
  ],
  GpuDevice: [
    'host_name', 'bus_address', 'card_name', 'type', 'profile_name', 'state', 'virtual_machine_name', 'id',
  ],
  NicRecord: ['network_name', 'ip_address', 'mac_address', 'is_default', 'type', 'mtu', 'id'],
  VmSnapshot: ['display_name', 'virtual_machine_name', 'state', 'type', 'is_current', 'created_at', 'name', 'id'],
  Volume: ['name', 'type', 'state', 'size_bytes', 'virtual_machine_name', 'storage_name', 'tenant_name', 'id'],
  GuestNetwork: ['name', 'type', 'state', 'cidr', 'vlan', 'network_offering_name', 'account', 'id'],
  BenchmarkResult: ['id', 'type', 'target', 'profile', 'status', 'started_at', 'duration_seconds'],
  NodeRecord: ['fqdn', 'role', 'health', 'status', 'node_ip', 'bmc_ip', 'provision_status', 'zone'],
  NodeHealth: ['fqdn', 'health', 'since', 'node_ip', 'bmc_ip', 'checked_at'],
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
  return isRecord(list) && isRecord(list.items) ? titleOf(list.items) : undefined
}

function titleOf(schema: Json): string | undefined {
  return typeof schema.title === 'string' ? schema.title : undefined
}

function rankOf(name: string): number {
  const rank = RANKS.findIndex((pattern) => pattern.test(name))
  // Between the telling words and the names of neighbours: everything that no rank knows.
  return rank === -1 ? 5.5 : rank
}

function isBlank(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
