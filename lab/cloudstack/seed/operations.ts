/** What has happened so far and how the site is set: settings, alerts, events, copies, groups, management servers. */
import { seededId, wellKnown } from '../../site.ts'
import { CONFIGURATIONS } from '../settings.ts'
import type { SimulatorState } from '../state.ts'
import { wireDate } from '../wire.ts'

const GIB = 1024 ** 3

export function seedOperations(state: SimulatorState): void {
  const { tables } = state
  const at = state.seeded_at
  tables.managementservers.put({
    id: seededId('managementserver', 'mgmt-01'),
    name: 'mgmt-01',
    state: 'Up',
    version: '4.22.0.0',
    ipaddress: '10.0.0.5',
    serviceip: '10.0.0.5',
    lastserverstart: wireDate(at),
    kernelversion: '6.12.0',
    osdistribution: 'Debian 12',
    javadistribution: 'OpenJDK 17',
  })
  for (const [name, category, value, scope, description] of CONFIGURATIONS) {
    tables.configurations.put({
      id: `configuration/${name}`,
      name,
      category,
      value,
      defaultvalue: value,
      scope,
      description,
      overrides: {},
    })
  }
  tables.backupofferings.put({
    id: seededId('backupoffering', 'daily'),
    name: 'daily',
    description: 'Daily copies to the second site',
    provider: 'nas',
    externalid: 'daily',
    zoneid: wellKnown.zone,
    allowuserdrivenbackups: true,
    created: wireDate(at - 40 * 86_400_000),
  })
  tables.affinitygroups.put({
    id: seededId('affinitygroup', 'kafka-apart'),
    name: 'kafka-apart',
    description: 'One broker on each host',
    type: 'host anti-affinity',
    accountid: wellKnown.accounts.acme,
    projectid: null,
  })
  tables.unmanaged.put({
    id: seededId('unmanaged', 'old-monitor'),
    name: 'old-monitor',
    clusterid: wellKnown.clusters['cluster-a'],
    hostid: wellKnown.hosts['kvm-01'],
    hostname: 'kvm-01',
    powerstate: 'PowerOn',
    cpunumber: 2,
    cpucorepersocket: 1,
    cpuspeed: 1000,
    memory: 2048,
    osdisplayname: 'Debian GNU/Linux',
    bootmode: 'LEGACY',
    boottype: 'BIOS',
    disk: [{ id: 'sda', label: 'sda', capacity: 20 * GIB, controller: 'virtio' }],
    nic: [{ id: 'net0', macaddress: '52:54:00:aa:bb:01', adaptertype: 'virtio' }],
  })
  seedCopies(state)
  seedAlerts(state)
  seedEvents(state)
}

function seedCopies(state: SimulatorState): void {
  const vm = state.tables.vms.get(wellKnown.vms['db-01'])
  const volume = state.tables.volumes.by('vm', vm?.id ?? null)[0]
  if (vm === null || volume === undefined) return
  const owner = { accountid: vm.accountid, projectid: vm.projectid }
  const created = state.seeded_at - 2 * 86_400_000
  state.tables.snapshots.put({
    id: seededId('snapshot', 'db-01'),
    name: 'db-01_ROOT',
    volumeid: volume.id,
    state: 'BackedUp',
    size_bytes: volume.size_bytes,
    zoneid: vm.zoneid,
    created,
    ...owner,
  })
  state.tables.backups.put({
    id: seededId('backup', 'db-01'),
    name: 'db-01 daily',
    description: null,
    virtualmachineid: vm.id,
    backupofferingid: seededId('backupoffering', 'daily'),
    status: 'BackedUp',
    size_bytes: volume.size_bytes,
    zoneid: vm.zoneid,
    created,
    ...owner,
  })
  const web = state.tables.vms.get(wellKnown.vms['web-02'])
  if (web === null) return
  state.tables.vmsnapshots.put({
    id: seededId('vmsnapshot', 'web-02'),
    name: `i-2-${web.number}-VM_VS_20260101`,
    displayname: 'before upgrade',
    description: null,
    state: 'Ready',
    type: 'DiskAndMemory',
    virtualmachineid: web.id,
    parentid: null,
    current: true,
    created,
    accountid: web.accountid,
    projectid: web.projectid,
  })
}

function seedAlerts(state: SimulatorState): void {
  const rows: [number, string, string][] = [
    [7, 'ALERT.COMPUTE.HOST', 'Host kvm-05 lost its connection for 42 seconds'],
    [0, 'ALERT.MEMORY', 'System Alert: Low Available Memory in cluster cluster-a of availability zone Frankfurt-1'],
    [14, 'ALERT.MANAGEMENT', 'Management server node 10.0.0.5 is up'],
    [12, 'ALERT.SERVICE.DOMAINROUTER', 'Command: router health check failed on r-11-VM'],
    [
      4,
      'ALERT.NETWORK.PUBLICIP',
      'System Alert: Number of unallocated virtual network public IPs is low in availability zone Frankfurt-1',
    ],
  ]
  rows.forEach(([type, name, description], index) => {
    state.tables.alerts.put({
      id: seededId('alert', String(index)),
      type,
      name,
      description,
      sent: state.seeded_at - (index + 1) * 3_600_000,
      archived: false,
    })
  })
}

function seedEvents(state: SimulatorState): void {
  let minutes = 600
  for (const vm of [...state.tables.vms.values()].slice(0, 30)) {
    minutes -= 17
    state.tables.events.put({
      id: seededId('event', vm.id),
      number: state.nextNumber('event'),
      type: minutes % 2 === 0 ? 'VM.START' : 'VM.CREATE',
      level: 'INFO',
      state: 'Completed',
      description: `Successfully completed starting VM. VM Id: ${vm.id}`,
      userid: seededId('user', 'admin'),
      accountid: vm.accountid,
      projectid: vm.projectid,
      resourceid: vm.id,
      resourcetype: 'VirtualMachine',
      resourcename: vm.name,
      created: state.seeded_at - minutes * 60_000,
      parentid: null,
      archived: false,
    })
  }
}
