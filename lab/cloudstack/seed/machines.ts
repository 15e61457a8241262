/** The virtual machines with their disks, in mixed states, spread over hosts, tenants and networks. */
import { noise, seededId, tenantName, vmName, wellKnown } from '../../site.ts'
import type { SiteSize } from '../../site.ts'
import { macOf, nextFreeIp } from '../addressing.ts'
import type { Network } from '../network-records.ts'
import type { Host, Nic, ServiceOffering, Vm, VmState } from '../records.ts'
import type { SimulatorState } from '../state.ts'
import { OS_TYPES } from './images.ts'

const GIB = 1024 ** 3
/** What sets single machines apart from the rest; everything else is running. */
const STATES: Readonly<Record<string, VmState>> = {
  'old-test': 'Destroyed',
  'legacy-crm': 'Stopped',
  'build-win': 'Stopped',
  'runner-02': 'Stopped',
  'kafka-03': 'Stopped',
  'elastic-02': 'Error',
}

export function seedMachines(state: SimulatorState, size: SiteSize): void {
  const hosts = [...state.tables.hosts.values()]
  const offerings = [...state.tables.serviceofferings.values()]
  for (let index = 0; index < size.vms; index += 1) machine(state, size, index, hosts, offerings)
  const gpu = state.tables.vms.get(wellKnown.vms['render-gpu'])
  const device = state.tables.gpudevices.find((one) => one.vgpuprofileid === wellKnown.vgpu_profiles['A2 passthrough'])
  if (gpu !== null && device !== null)
    state.tables.gpudevices.put({ ...device, virtualmachineid: gpu.id, state: 'Allocated' })
  seedAddressUse(state)
}

function machine(
  state: SimulatorState,
  size: SiteSize,
  index: number,
  hosts: Host[],
  offerings: ServiceOffering[],
): void {
  const name = vmName(index)
  const id = seededId('vm', name)
  const number = state.nextNumber('vm')
  const power = index < 40 ? (STATES[name] ?? 'Running') : noise(index, 3) < 0.12 ? 'Stopped' : 'Running'
  const gpu = name === 'render-gpu'
  const host = gpu ? hosts[0] : hosts[index % hosts.length]
  const custom = name === 'gitlab' || name === 'erp-db'
  const offering = gpu
    ? find(offerings, 'gpu-a2')
    : custom
      ? find(offerings, 'custom')
      : (offerings[Math.floor(noise(index, 5) * 3)] ?? find(offerings, 'small'))
  const windows = name.includes('win') || name.startsWith('ad-')
  // Every fifth machine belongs to the operator itself, the rest to the tenants in turn; one stands in the project.
  const project = name === 'shop-api'
  const tenant = tenantName(project ? 0 : index % Math.max(1, size.tenants))
  const accountid = index % 5 === 4 && !project ? wellKnown.accounts.admin : seededId('account', tenant)
  const template = windows
    ? wellKnown.templates['Windows Server 2022']
    : wellKnown.templates[index % 2 === 0 ? 'Debian 12' : 'Ubuntu 24.04']
  const running = power === 'Running'
  const created = state.seeded_at - (1 + (index % 40)) * 86_400_000
  const vm: Vm = {
    id,
    number,
    name,
    displayname: name,
    state: power,
    accountid,
    projectid: project ? wellKnown.project : null,
    zoneid: wellKnown.zone,
    hostid: running ? (host?.id ?? null) : null,
    lasthostid: host?.id ?? null,
    templateid: template,
    isoid: null,
    serviceofferingid: offering.id,
    diskofferingid: null,
    cpunumber: offering.cpunumber ?? 4,
    cpuspeed: offering.cpuspeed ?? 1000,
    memory: offering.memory ?? 8192,
    created,
    lastupdated: created,
    haenable: offering.offerha,
    details: custom ? { cpuNumber: '4', memory: '8192' } : {},
    extraconfig: {},
    nics: nics(state, size, index, id),
    affinitygroupids: name.startsWith('kafka') ? [seededId('affinitygroup', 'kafka-apart')] : [],
    isdynamicallyscalable: custom,
    deleteprotection: name === 'erp-db',
    group: null,
    ostypeid: windows ? OS_TYPES.windows : index % 2 === 0 ? OS_TYPES.debian : OS_TYPES.ubuntu,
    userdata: null,
    userdataid: null,
    keypairs: [],
    backupofferingid: name === 'db-01' ? seededId('backupoffering', 'daily') : null,
    leaseduration: null,
    leaseexpiryaction: null,
    leaseexpirydate: null,
    boottype: null,
    bootmode: null,
    tags: {},
  }
  state.tables.vms.put(vm)
  disk(state, vm, 'ROOT', 0, windows ? 40 : 20)
  if (name.includes('db') || name === 'nextcloud') disk(state, vm, 'DATADISK', 1, 100)
}

function find(offerings: ServiceOffering[], name: string): ServiceOffering {
  const found = offerings.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no offering ${name}`)
  return found
}

function nics(state: SimulatorState, size: SiteSize, index: number, vmid: string): Nic[] {
  const acme = state.tables.networks.get(wellKnown.networks['acme-net'])
  const shared = state.tables.networks.get(wellKnown.networks['office-shared']) ?? acme
  const l2 = state.tables.networks.get(wellKnown.networks['storage-l2'])
  const first = index % Math.max(2, size.tenants) === 0 ? acme : shared
  const found: Nic[] = []
  if (first !== null) found.push(nic(state, vmid, first, 0))
  if (l2 !== null && index % 10 === 3) found.push(nic(state, vmid, l2, 1))
  return found
}

function nic(state: SimulatorState, vmid: string, network: Network, deviceid: number): Nic {
  const id = seededId('nic', `${vmid}/${deviceid}`)
  return {
    id,
    networkid: network.id,
    ipaddress: nextFreeIp(state, network),
    macaddress: macOf(id),
    isdefault: deviceid === 0,
    deviceid,
    secondaryips: [],
  }
}

function disk(state: SimulatorState, vm: Vm, type: 'ROOT' | 'DATADISK', deviceid: number, size_gb: number): void {
  const name = type === 'ROOT' ? `ROOT-${vm.number}` : `DATA-${vm.number}`
  state.tables.volumes.put({
    id: seededId('volume', `${vm.id}/${type}`),
    name,
    type,
    state: 'Ready',
    size_bytes: size_gb * GIB,
    zoneid: vm.zoneid,
    storageid: wellKnown.storage_pools['ceph-rbd'],
    virtualmachineid: vm.id,
    deviceid,
    diskofferingid: type === 'ROOT' ? null : wellKnown.disk_offerings['ssd-100'],
    serviceofferingid: type === 'ROOT' ? vm.serviceofferingid : null,
    templateid: type === 'ROOT' ? vm.templateid : null,
    snapshotid: null,
    miniops: null,
    maxiops: null,
    created: vm.created,
    attached: vm.created,
    deleteprotection: false,
    accountid: vm.accountid,
    projectid: vm.projectid,
  })
}

/** A source NAT, a static NAT to the bastion's place and two forwarded ports, all on the tenant's own network. */
function seedAddressUse(state: SimulatorState): void {
  const addresses = [...state.tables.addresses.values()]
  const network = state.tables.networks.get(wellKnown.networks['acme-net'])
  const [source, nat, forward, spare] = addresses
  if (network === null || source === undefined || nat === undefined || forward === undefined || spare === undefined)
    return
  const taken = {
    state: 'Allocated',
    allocated: state.seeded_at - 40 * 86_400_000,
    associatednetworkid: network.id,
    accountid: network.accountid,
  } as const
  state.tables.addresses.put({ ...source, ...taken, issourcenat: true })
  state.tables.addresses.put({ ...spare, ...taken })
  state.tables.addresses.put({ ...forward, ...taken })
  const inside = state.tables.vms.filter(
    (vm) => vm.state === 'Running' && vm.nics.some((one) => one.networkid === network.id),
  )
  const [web, other] = inside
  state.tables.addresses.put({
    ...nat,
    ...taken,
    isstaticnat: web !== undefined,
    virtualmachineid: web?.id ?? null,
    vmipaddress: web?.nics[0]?.ipaddress ?? null,
  })
  if (other === undefined) return
  for (const [publicport, privateport] of [
    [80, 8080],
    [443, 8443],
  ] as const) {
    state.tables.rules.put({
      id: seededId('rule', String(publicport)),
      protocol: 'tcp',
      publicport,
      publicendport: publicport,
      privateport,
      privateendport: privateport,
      ipaddressid: forward.id,
      virtualmachineid: other.id,
      networkid: network.id,
      vmguestip: other.nics[0]?.ipaddress ?? null,
      cidrlist: [],
      state: 'Active',
      fordisplay: true,
      accountid: network.accountid,
      projectid: null,
    })
  }
}
