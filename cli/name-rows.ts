// Which fields hold the id of what, where its names are found, and which of its members are names.
import { isOf } from './command-names.ts'
import { type Json, textOf } from './records.ts'

export interface NameRow {
  /** What a person calls it. */
  what: string
  /** Fields that hold its id (or ids), in any place of any route. */
  fields: readonly string[]
  /** The fields mean this only in operations of these nouns; everywhere when left out. */
  only?: readonly string[]
  /** Operations of these nouns mean it by a bare `id` or `ids`. */
  nouns?: readonly string[]
  /** Operation that answers the id of one name; the list stands in where there is none. */
  lookup?: string
  /** Operation that lists them. */
  list: string
  /** Member of a listed record that holds them, where the list is of something larger. */
  inside?: string
  /** Member that is the id; `id` when left out. */
  id?: string
  /** Members of a record that are names, the deciding one first; or what puts a name together. */
  names: readonly (string | ((record: Json) => string | undefined))[]
  /** Fields of the same command that narrow the list, with the list's field for each. */
  narrow?: Readonly<Record<string, string>>
  /** Another thing whose id the list demands. */
  of?: { field: string; what: string; holds: (owner: Json, name: string) => boolean }
  /** There is no list of them, but records of this kind name the one they have. */
  seen_on?: string
  /** What is an id when no record has it as a name. */
  id_form?: RegExp
  /** Field of the list that takes any of their names; nothing else is asked for. */
  filter?: string
  /** Operation that reads one by id, and the resource type its jobs carry: how `--wait` shows the result. */
  read?: { operation: string; resource_type: string }
}

const IP_ADDRESS = /^(\d{1,3}\.){3}\d{1,3}$|^[0-9a-f]*:[0-9a-f:.]+$/i
const volume = { what: 'volume', list: 'volumeList', names: ['name'] }
const node = {
  what: 'node', list: 'nodeList', id_form: IP_ADDRESS, names: ['hostname', 'fqdn', 'bmc_ip', 'node_ip'],
} // biome-ignore format: a row

/** A new area adds a row. */
export const NAME_ROWS: readonly NameRow[] = [
  {
    what: 'virtual machine', fields: ['virtual_machine_id', 'vm_id', 'virtual_machine_ids', 'vm_ids'], nouns: ['vm'],
    lookup: 'vmIdGet', list: 'vmList', names: ['name', 'display_name'],
    read: { operation: 'vmGet', resource_type: 'VM' },
  },
  { what: 'zone', fields: ['zone_id', 'zone_ids'], nouns: ['zone'], list: 'zoneList', names: ['name'] },
  { what: 'host', fields: ['host_id'], nouns: ['host'], list: 'hostList', names: ['name'] },
  { what: 'cluster', fields: ['cluster_id'], nouns: ['cluster'], list: 'clusterList', names: ['name'] },
  { what: 'pod', fields: ['pod_id'], list: 'clusterList', id: 'pod_id', names: ['pod_name'], seen_on: 'cluster' },
  {
    what: 'template', fields: ['template_id'], nouns: ['template'], list: 'templateList', names: ['name', 'display_text'],
  },
  {
    what: 'service offering', fields: ['service_offering_id'], nouns: ['serviceOffering'], list: 'serviceOfferingList',
    names: ['name'],
  },
  {
    what: 'disk offering', fields: ['disk_offering_id'], nouns: ['diskOffering'], list: 'diskOfferingList',
    names: ['name'],
  },
  {
    what: 'network', fields: ['network_id', 'network_ids'], nouns: ['guestNetwork', 'network'],
    list: 'guestNetworkList', names: ['name', 'display_text'],
    read: { operation: 'guestNetworkList', resource_type: 'GUEST_NETWORK' },
  },
  {
    what: 'network offering', fields: ['network_offering_id'], nouns: ['networkOffering'], list: 'networkOfferingList',
    names: ['name'],
  },
  {
    what: 'VPC', fields: ['vpc_id'], list: 'publicIpList', id: 'vpc_id', names: ['vpc_name'], seen_on: 'public IP',
  },
  {
    what: 'tenant', fields: ['tenant_id', 'domain_id', 'domain_ids'], nouns: ['tenant'], list: 'tenantList',
    names: ['name', 'path'], read: { operation: 'tenantGet', resource_type: 'TENANT' },
  },
  {
    what: 'public IP', fields: ['ip_id', 'public_ip_id'], list: 'publicIpList', names: ['ip_address'],
    read: { operation: 'publicIpGet', resource_type: 'PUBLIC_IP' },
  },
  {
    what: 'forwarding rule', fields: [], nouns: ['portForwarding'], list: 'portForwardingList',
    names: [(rule) => ruleName(rule, true), (rule) => ruleName(rule, false)],
    of: { field: 'public_ip_id', what: 'public IP', holds: isOfAddress },
    read: { operation: 'portForwardingList', resource_type: 'PORT_FORWARDING' },
  },
  {
    what: 'firewall rule', fields: [], nouns: ['firewallRule'], list: 'firewallRuleList', names: [firewallRuleName],
    of: { field: 'public_ip_id', what: 'public IP', holds: isOfAddress },
    read: { operation: 'firewallRuleList', resource_type: 'FIREWALL_RULE' },
  },
  {
    what: 'load-balancer rule', fields: [], nouns: ['loadBalancer'], list: 'loadBalancerList', names: ['name'],
    read: { operation: 'loadBalancerGet', resource_type: 'LOAD_BALANCER' },
  },
  {
    ...volume, fields: ['volume_id', 'volume_ids'], only: ['vmDiskDetach', 'vmDestroy'],
    narrow: { virtual_machine_id: 'virtual_machine_id' },
  },
  {
    ...volume, fields: ['volume_id', 'volume_ids'], nouns: ['volume'],
    read: { operation: 'volumeList', resource_type: 'VOLUME' },
  },
  {
    what: 'storage pool', fields: ['storage_id'], list: 'volumeList', id: 'storage_id', names: ['storage_name'],
    seen_on: 'volume',
  },
  {
    what: 'snapshot of a virtual machine', fields: ['snapshot_id'], only: ['vmSnapshot', 'vmRestore'],
    nouns: ['vmSnapshot'], list: 'vmSnapshotList', names: ['display_name', 'name'],
    narrow: { virtual_machine_id: 'virtual_machine_id' },
    read: { operation: 'vmSnapshotList', resource_type: 'SNAPSHOT' },
  },
  {
    what: 'snapshot of a volume', fields: ['snapshot_id'], only: ['volumeSnapshot', 'vmDiskCreate'],
    nouns: ['volumeSnapshot'], list: 'volumeSnapshotList', names: ['name'], narrow: { volume_id: 'volume_id' },
    read: { operation: 'volumeSnapshotList', resource_type: 'SNAPSHOT' },
  },
  {
    what: 'affinity group', fields: ['affinity_group_id', 'affinity_group_ids'], nouns: ['affinityGroup'],
    list: 'affinityGroupList', names: ['name'],
    read: { operation: 'affinityGroupList', resource_type: 'AFFINITY_GROUP' },
  },
  { what: 'user data', fields: ['user_data_id'], nouns: ['userData'], list: 'userDataList', names: ['name'] },
  { what: 'project', fields: ['project_id'], nouns: ['project'], list: 'projectList', names: ['name'] },
  {
    what: 'backup', fields: ['backup_id'], nouns: ['backup'], list: 'backupList', names: ['name'],
    narrow: { virtual_machine_id: 'virtual_machine_id' },
  },
  { what: 'SSH key', fields: ['ssh_key_id'], nouns: ['sshKey'], list: 'sshKeyList', names: ['name'] },
  {
    what: 'NIC', fields: ['nic_id'], list: 'vmList', inside: 'nics', names: ['ip_address', 'mac_address', 'network_name'],
    narrow: { virtual_machine_id: 'id' },
  },
  {
    what: 'secondary address', fields: ['secondary_ip_id'], list: 'vmNicList', inside: 'secondary_ips',
    names: ['ip_address'],
    of: { field: 'virtual_machine_id', what: 'virtual machine', holds: hasSecondaryAddress },
  },
  { what: 'ISO', fields: ['iso_id'], nouns: ['iso'], list: 'isoList', names: ['name', 'display_text'] },
  {
    what: 'thing', fields: ['resource_id'], only: ['timeline'], list: 'searchRun', names: ['name', 'matched'], filter: 'q',
    id_form: /[.:]|^\d+$/,
  },
  { what: 'OS type', fields: ['os_type_id'], nouns: ['osType'], list: 'osTypeList', names: ['name'] },
  {
    what: 'vGPU profile', fields: ['vgpu_profile_id', 'profile_id'], only: ['gpu', 'vgpuProfile', 'nvr'],
    nouns: ['vgpuProfile'], list: 'vgpuProfileList', names: ['name'],
  },
  { what: 'GPU card', fields: ['card_id'], nouns: ['gpuCard'], list: 'gpuCardList', names: ['name', 'device_name'] },
  {
    what: 'GPU device', fields: [], nouns: ['gpuDevice'], list: 'gpuDeviceList',
    names: ['bus_address', ({ host_name, bus_address }) => joined([host_name, bus_address], '/')],
    narrow: { host_id: 'host_id' },
  },
  {
    what: 'network service provider', fields: ['nsp_id'], nouns: ['serviceProvider'], list: 'serviceProviderList',
    names: ['name'], narrow: { physical_network_id: 'physical_network_id' },
  },
  { what: 'alert', fields: [], nouns: ['alert'], list: 'alertList', names: ['name'] },
  { what: 'user', fields: ['user_id'], nouns: ['user'], list: 'userList', names: ['username'] },
  { what: 'token', fields: [], nouns: ['token'], list: 'tokenList', names: ['name', 'prefix'] },
  {
    ...node, fields: ['bmcIP', 'bmc_ip'], id: 'bmc_ip',
    only: [
      'nodeGet', 'nodeHealth', 'nodeDelete', 'nodeNicsList', 'nodeEnrolmentTokenCreate', 'nodeReportAccept', 'nodePreflight',
      'nodeSetup', 'bmc', 'haMember', 'kvm',
    ],
  },
  { ...node, fields: ['nodeIP'], id: 'bmc_ip', only: ['decommission', 'rollback', 'nodeSetupStart'] },
  {
    ...node, fields: ['X-Target-Node', 'nodeIP'], id: 'node_ip',
    read: { operation: 'nodeGet', resource_type: 'NODE' },
  },
  { ...node, fields: ['node_ip'], only: ['job'], id: 'bmc_ip' },
] // biome-ignore format: a table

/** Operations of these nouns mean something without a name by a bare `id`, though a shorter noun above fits them. */
const NAMELESS = ['serviceProviderElement']

const NOUNS = [...NAMELESS, ...NAME_ROWS.flatMap(({ nouns = [] }) => nouns)]

/** `operation`: of which the field is an input. */
export function rowOf(field: { name: string; operation: string }): NameRow | undefined {
  const { name, operation } = field
  if (name === 'id' || name === 'ids') {
    const noun = NOUNS.filter((one) => isOf(operation, one)).sort((a, b) => b.length - a.length)[0]
    return noun === undefined ? undefined : NAME_ROWS.find(({ nouns }) => nouns?.includes(noun))
  }
  return NAME_ROWS.find(
    ({ fields, only }) => fields.includes(name) && (only === undefined || only.some((noun) => isOf(operation, noun))),
  )
}

/** `203.0.113.20:8000-8010/tcp`; without the protocol it may be two rules. */
function ruleName(rule: Json, whole: boolean): string | undefined {
  const ports = [...new Set([rule.public_port_start, rule.public_port_end])].filter((port) => typeof port === 'number')
  const address = textOf(rule.public_ip_address)
  if (address === undefined || ports.length === 0) return undefined
  const name = `${address}:${ports.join('-')}`
  return whole ? joined([name, rule.protocol], '/') : name
}

/** `203.0.113.20:443/tcp`, `203.0.113.20:all/icmp`. Egress rules are of a network, and have no name. */
function firewallRuleName(rule: Json): string | undefined {
  const ports = [...new Set([rule.start_port, rule.end_port])].filter((port) => typeof port === 'number')
  return joined([joined([rule.public_ip_address, ports.join('-') || 'all'], ':'), rule.protocol], '/')
}

function isOfAddress(address: Json, name: string): boolean {
  return name.startsWith(`${textOf(address.ip_address) ?? ''}:`)
}

function joined(parts: readonly unknown[], by: string): string | undefined {
  const texts = parts.map(textOf)
  return texts.includes(undefined) ? undefined : texts.join(by)
}

function hasSecondaryAddress(machine_record: Json, address: string): boolean {
  const nics: unknown[] = Array.isArray(machine_record.nics) ? machine_record.nics : []
  // Each NIC names its further addresses; the text is looked for there alone.
  return nics.some((nic) => JSON.stringify(nic).includes(`"${address}"`))
}
