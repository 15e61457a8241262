/** Everything the simulated platform knows: its tables, and the sums that follow from them so that no answer has to add up all VMs. */
import { randomBytes } from 'node:crypto'
import { createConsoleProxy } from './console/console-proxy.ts'
import type { GpuHardware } from './gpu-hardware.ts'
import type { Host, Kind, Nic, Records, Vm, Volume } from './records.ts'
import { FLEETING } from './journal.ts'
import { Table } from './table.ts'

type Tables = { readonly [K in Kind]: Table<Records[K]> }

interface HostUse {
  cpu_mhz: number
  cpu_cores: number
  memory_bytes: number
  vms: number
}

/** Kinds whose removed ids are unknown at once; of the others the platform keeps the row and says so in its own way. */
const FORGOTTEN: ReadonlySet<string> = new Set([...FLEETING, 'rules', 'firewallrules', 'loadbalancers', 'gpudevices'])

export class SimulatorState {
  readonly tables: Tables = createTables()
  /** Called for every change; the journal hangs here. */
  onChange: (kind: Kind, id: string, record: unknown) => void = () => {}
  seeded_at = 0
  /** Whether webhooks may lead to this machine. */
  loopback_webhooks = false
  /** Where screens of machines are opened; the platform alone knows until a server serves them. */
  readonly consoles = createConsoleProxy(() => randomBytes(32).toString('base64url'))
  /** Of the server that serves them. */
  console_address: { host: string; port: number } | undefined
  /** Steps taken since the start; in step mode metrics follow them. */
  steps = 0
  /** What the scripts of a host find when GPUs are discovered, by host; nothing new where none is given. */
  readonly gpu_hardware = new Map<string, readonly GpuHardware[]>()
  readonly #kinds = kinds(this.tables)
  readonly #removed = new Set<string>()
  readonly #hostUse = new Map<string, HostUse>()
  readonly #poolUse = new Map<string, number>()
  readonly #nicOwner = new Map<string, string>()
  readonly #secondaryOwner = new Map<string, { vmid: string; nicid: string }>()
  readonly #networkIps = new Map<string, Map<string, string>>()
  readonly #numbers = { vm: 0, event: 0 }

  constructor() {
    const { tables } = this
    for (const kind of kinds(tables)) this.#watch(kind)
    tables.vms.watch((_id, after, before) => {
      this.#followVm(after, before)
      if (before?.state === 'Running' && after?.state !== 'Running') this.consoles.stopped(before.id)
    })
    tables.volumes.watch((_id, after, before) => {
      this.#followVolume(after, before)
    })
    tables.events.watch((_id, after) => {
      if (after !== null) this.#numbers.event = Math.max(this.#numbers.event, after.number)
    })
  }

  /** True for every id that is or was in the platform: removed things are unknown to lists, not to the parameter check. */
  known(id: string): boolean {
    if (this.#removed.has(id) || this.#nicOwner.has(id) || this.#secondaryOwner.has(id)) return true
    return this.#kinds.some((kind) => this.tables[kind].has(id))
  }

  nextNumber(of: 'vm' | 'event'): number {
    this.#numbers[of] += 1
    return this.#numbers[of]
  }

  nic(id: string): { vm: Vm; nic: Nic } | null {
    const vm = this.tables.vms.get(this.#nicOwner.get(id))
    const nic = vm?.nics.find((one) => one.id === id)
    return vm !== null && nic !== undefined ? { vm, nic } : null
  }

  secondaryIp(id: string): { vm: Vm; nic: Nic; ipaddress: string } | null {
    const owner = this.#secondaryOwner.get(id)
    const found = owner === undefined ? null : this.nic(owner.nicid)
    const ip = found?.nic.secondaryips.find((one) => one.id === id)
    return found !== null && ip !== undefined ? { ...found, ipaddress: ip.ipaddress } : null
  }

  /** Which NIC holds an address of a network, or null when it is free. */
  holderOf(networkid: string, ip: string): string | null {
    return this.#networkIps.get(networkid)?.get(ip) ?? null
  }

  usedIps(networkid: string): number {
    return this.#networkIps.get(networkid)?.size ?? 0
  }

  hostUse(hostid: string): HostUse {
    return this.#hostUse.get(hostid) ?? { cpu_mhz: 0, cpu_cores: 0, memory_bytes: 0, vms: 0 }
  }

  poolUse(storageid: string): number {
    return this.#poolUse.get(storageid) ?? 0
  }

  hostsOf(clusterid: string): Host[] {
    return this.tables.hosts.by('cluster', clusterid)
  }

  clear(): void {
    for (const kind of kinds(this.tables)) this.tables[kind].clear()
    this.gpu_hardware.clear()
    this.#removed.clear()
    this.#numbers.vm = 0
    this.#numbers.event = 0
    this.steps = 0
  }

  /** Puts back a record that this simulator wrote to its own state file. */
  restore<K extends Kind>(kind: K, record: unknown): void {
    if (isRecordOf<Records[K]>(record)) this.tables[kind].put(record)
  }

  drop(kind: Kind, id: string): void {
    this.tables[kind].remove(id)
    if (!FORGOTTEN.has(kind)) this.#removed.add(id)
  }

  #watch<K extends Kind>(kind: K): void {
    const table: Table<Records[K]> = this.tables[kind]
    table.watch((id, after, before) => {
      if (after === null && before !== null && !FORGOTTEN.has(kind)) this.#removed.add(id)
      this.onChange(kind, id, after)
    })
  }

  #followVm(after: Vm | null, before: Vm | null): void {
    if (before !== null) this.#countVm(before, -1)
    if (after !== null) {
      this.#countVm(after, 1)
      this.#numbers.vm = Math.max(this.#numbers.vm, after.number)
    }
    if (before?.nics === after?.nics) return
    for (const nic of before?.nics ?? []) this.#forgetNic(nic)
    if (after !== null) for (const nic of after.nics) this.#learnNic(after.id, nic)
  }

  #countVm(vm: Vm, sign: 1 | -1): void {
    if (vm.hostid === null) return
    const use = this.#hostUse.get(vm.hostid) ?? { cpu_mhz: 0, cpu_cores: 0, memory_bytes: 0, vms: 0 }
    use.cpu_mhz += sign * vm.cpunumber * vm.cpuspeed
    use.cpu_cores += sign * vm.cpunumber
    use.memory_bytes += sign * vm.memory * 1024 * 1024
    use.vms += sign
    this.#hostUse.set(vm.hostid, use)
  }

  #learnNic(vmid: string, nic: Nic): void {
    this.#nicOwner.set(nic.id, vmid)
    const ips = this.#networkIps.get(nic.networkid) ?? new Map<string, string>()
    if (nic.ipaddress !== null) ips.set(nic.ipaddress, nic.id)
    for (const one of nic.secondaryips) {
      ips.set(one.ipaddress, nic.id)
      this.#secondaryOwner.set(one.id, { vmid, nicid: nic.id })
    }
    this.#networkIps.set(nic.networkid, ips)
  }

  #forgetNic(nic: Nic): void {
    this.#nicOwner.delete(nic.id)
    this.#removed.add(nic.id)
    const ips = this.#networkIps.get(nic.networkid)
    if (nic.ipaddress !== null) ips?.delete(nic.ipaddress)
    for (const one of nic.secondaryips) {
      ips?.delete(one.ipaddress)
      this.#secondaryOwner.delete(one.id)
    }
  }

  #followVolume(after: Volume | null, before: Volume | null): void {
    for (const [volume, sign] of [
      [before, -1],
      [after, 1],
    ] as const) {
      if (volume === null || volume.storageid === null || volume.state === 'Expunged') continue
      this.#poolUse.set(volume.storageid, (this.#poolUse.get(volume.storageid) ?? 0) + sign * volume.size_bytes)
    }
  }
}

export function kinds(tables: Tables): Kind[] {
  const names: Kind[] = []
  for (const name of Object.keys(tables)) if (isKind(tables, name)) names.push(name)
  return names
}

export function isKind(tables: Tables, name: string): name is Kind {
  return Object.hasOwn(tables, name)
}

/** The file is our own and its lines are written from typed records; an id is what a table cannot do without. */
function isRecordOf<T extends { id: string }>(value: unknown): value is T {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
}

function createTables(): Tables {
  return {
    zones: new Table('zones'),
    pods: new Table('pods'),
    clusters: new Table('clusters'),
    hosts: new Table('hosts', { cluster: (host) => host.clusterid }),
    storagepools: new Table('storagepools'),
    imagestores: new Table('imagestores'),
    managementservers: new Table('managementservers'),
    physicalnetworks: new Table('physicalnetworks'),
    providers: new Table('providers'),
    elements: new Table('elements'),
    domains: new Table('domains'),
    accounts: new Table('accounts', { domain: (account) => account.domainid }),
    users: new Table('users', { apikey: (user) => user.apikey, account: (user) => user.accountid }),
    roles: new Table('roles'),
    projects: new Table('projects'),
    limits: new Table('limits', { owner: (limit) => limit.ownerid }),
    templates: new Table('templates'),
    ostypes: new Table('ostypes'),
    serviceofferings: new Table('serviceofferings'),
    diskofferings: new Table('diskofferings'),
    networkofferings: new Table('networkofferings'),
    vpcofferings: new Table('vpcofferings'),
    vpcs: new Table('vpcs'),
    networks: new Table('networks'),
    vlans: new Table('vlans'),
    addresses: new Table('addresses', {
      network: (address) => address.associatednetworkid,
      vm: (address) => address.virtualmachineid,
    }),
    rules: new Table('rules', { address: (rule) => rule.ipaddressid, vm: (rule) => rule.virtualmachineid }),
    firewallrules: new Table('firewallrules', {
      address: (rule) => rule.ipaddressid,
      network: (rule) => rule.networkid,
    }),
    loadbalancers: new Table('loadbalancers', {
      address: (rule) => rule.ipaddressid,
      network: (rule) => rule.networkid,
    }),
    routers: new Table('routers'),
    systemvms: new Table('systemvms'),
    unmanaged: new Table('unmanaged'),
    gpucards: new Table('gpucards'),
    vgpuprofiles: new Table('vgpuprofiles'),
    gpudevices: new Table('gpudevices', { host: (device) => device.hostid, vm: (device) => device.virtualmachineid }),
    vms: new Table('vms', {
      name: (vm) => vm.name,
      host: (vm) => vm.hostid,
      account: (vm) => vm.accountid,
      project: (vm) => vm.projectid,
    }),
    volumes: new Table('volumes', { vm: (volume) => volume.virtualmachineid, account: (volume) => volume.accountid }),
    vmsnapshots: new Table('vmsnapshots', { vm: (snapshot) => snapshot.virtualmachineid }),
    snapshots: new Table('snapshots', { volume: (snapshot) => snapshot.volumeid }),
    backups: new Table('backups', { vm: (backup) => backup.virtualmachineid }),
    backupofferings: new Table('backupofferings'),
    affinitygroups: new Table('affinitygroups'),
    sshkeypairs: new Table('sshkeypairs'),
    userdata: new Table('userdata'),
    ldap: new Table('ldap'),
    ldaplinks: new Table('ldaplinks'),
    samlauthorizations: new Table('samlauthorizations'),
    configurations: new Table('configurations', { name: (configuration) => configuration.name }),
    events: new Table('events'),
    alerts: new Table('alerts'),
    webhooks: new Table('webhooks'),
    jobs: new Table('jobs'),
  }
}
