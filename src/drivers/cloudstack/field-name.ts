// Names of the platform's parameters as our callers know them.

/** What cannot be split into words, or is called otherwise here. */
const NAMES: Readonly<Record<string, string>> = {
  cpunumber: 'cpu_cores',
  cpuspeed: 'cpu_speed_mhz',
  diskoffering: 'disk_offering_id',
  disksize: 'disk_size_gb',
  domainname: 'name',
  guestvmcidr: 'guest_vm_cidr',
  haenable: 'ha_enabled',
  ipaddressid: 'public_ip_id',
  iptonetworklist: 'networks',
  isdynamicallyscalable: 'dynamically_scalable',
  memory: 'memory_mb',
  privateendport: 'private_port',
  publicendport: 'public_port',
  rootdisksize: 'root_disk_size_gb',
  shrinkok: 'shrink_ok',
  size: 'size_gb',
  sortby: 'sort_by',
}

const WORDS = [
  'address', 'affinity', 'backup', 'boot', 'cache', 'card', 'cluster', 'config', 'data', 'date', 'disk', 'display', 'domain',
  'end', 'extra', 'filter', 'gpu', 'group', 'groups', 'guest', 'host', 'id', 'ids', 'ip', 'iso', 'job', 'key', 'mac', 'machine',
  'mode', 'name', 'network', 'nic', 'nsp', 'offering', 'os', 'page', 'pair', 'pairs', 'parent', 'physical', 'pod', 'port',
  'private', 'profile', 'project', 'protocol', 'provider', 'provisioning', 'public', 'resource', 'security', 'service',
  'size', 'snapshot', 'start', 'storage', 'template', 'text', 'type', 'user', 'vgpu', 'virtual', 'vlan', 'vm', 'volume',
  'vpc', 'webhook', 'zone',
] // biome-ignore format: one list
const SPLIT = new RegExp(WORDS.toSorted((a, b) => b.length - a.length).join('|'), 'g')

/** `serviceofferingid` as callers know it: `service_offering_id`. */
export function fieldName(parameter: string): string {
  const plain = parameter.toLowerCase()
  const known = NAMES[plain]
  if (known !== undefined) return known
  const parts = plain.match(SPLIT) ?? []
  return parts.join('') === plain ? parts.join('_') : plain
}

const NOUNS: Readonly<Record<string, string>> = {
  domain: 'tenant',
  gpu_card: 'GPU card',
  gpu_device: 'GPU device',
  ip_address: 'public IP address',
  ip_from_nic: 'secondary address',
  iso: 'ISO image',
  nic: 'NIC',
  nsp: 'network service provider',
  os_type: 'OS type',
  parent_domain: 'tenant',
  physical_network: 'physical network',
  public_ip: 'public IP address',
  public_ip_address: 'public IP address',
  public_ip_range: 'public IP range',
  start: 'event',
  user_key: 'user',
  vgpu_profile: 'vGPU profile',
  vlan_ip_range: 'public IP range',
  vm_affinity_group: 'virtual machine',
  vm_snapshot: 'virtual machine snapshot',
  vp_cs: 'VPC',
  vpc: 'VPC',
}

/** What a parameter names: `templateid` a template, `id` of `deleteVolume` a volume. */
export function nounOf(parameter: string, command: string): string {
  const own = parameter === 'id' || parameter === 'ids'
  const field = own ? nounOfCommand(command) : fieldName(parameter).replace(/_ids?$/, '')
  return NOUNS[field] ?? field.replaceAll('_', ' ')
}

/** `listVirtualMachinesMetrics` and `StartVMCmd` are about a virtual machine. */
function nounOfCommand(command: string): string {
  if (/VirtualMachine|VMs?Cmd/.test(command)) return 'virtual_machine'
  if (command === 'discoverGpuDevices') return 'host'
  const words = command.replace(/CmdByAdmin|Cmd$/, '').match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  const noun = words.slice(1).join('_').toLowerCase()
  return noun.replace(/(address)es$/, '$1').replace(/(?<=[a-z]{2})(?<!s)s$/, '')
}
