/** A virtual machine as it is answered, with as much as the caller's `details` asks for. */
import { seededId } from '../site.ts'
import type { Nic, Vm } from './records.ts'
import type { Json } from './row.ts'
import { ownerFields, text, zoneFields } from './owner-view.ts'
import { metricTexts, sampleFields, sampleOf } from './sampler.ts'
import type { SimulatorState } from './state.ts'
import { wireDate, wireDateOrNull } from './wire.ts'

export type VmDetail =
  | 'all'
  | 'group'
  | 'nics'
  | 'stats'
  | 'secgrp'
  | 'tmpl'
  | 'servoff'
  | 'diskoff'
  | 'backoff'
  | 'iso'
  | 'volume'
  | 'min'
  | 'affgrp'

const DETAILS: readonly string[] = [
  'all',
  'group',
  'nics',
  'stats',
  'secgrp',
  'tmpl',
  'servoff',
  'diskoff',
  'backoff',
  'iso',
  'volume',
  'min',
  'affgrp',
]

export function isVmDetail(name: string): name is VmDetail {
  return DETAILS.includes(name)
}

export type Fields = Record<string, Json>

export function vmView(
  state: SimulatorState,
  vm: Vm,
  details: ReadonlySet<VmDetail> = new Set(['all']),
  sample = 0,
): Fields {
  const wants = (detail: VmDetail): boolean => details.has('all') || details.has(detail)
  const view = baseFields(state, vm)
  if (wants('group') && vm.group !== null)
    Object.assign(view, { group: vm.group, groupid: seededId('group', vm.group) })
  if (wants('nics')) nicFields(state, vm, view)
  if (wants('tmpl')) templateFields(state, vm, view)
  if (wants('servoff')) offeringFields(state, vm, view)
  if (wants('diskoff') && vm.diskofferingid !== null) {
    view['diskofferingid'] = vm.diskofferingid
    view['diskofferingname'] = state.tables.diskofferings.get(vm.diskofferingid)?.name ?? null
  }
  if (wants('backoff') && vm.backupofferingid !== null) {
    view['backupofferingid'] = vm.backupofferingid
    view['backupofferingname'] = text(state.tables.backupofferings.get(vm.backupofferingid)?.['name'])
  }
  if (wants('iso') && vm.isoid !== null) {
    const iso = state.tables.templates.get(vm.isoid)
    Object.assign(view, { isoid: vm.isoid, isoname: iso?.name ?? null, isodisplaytext: iso?.displaytext ?? null })
  }
  if (wants('volume')) volumeFields(state, vm, view)
  if (wants('affgrp'))
    view['affinitygroup'] = vm.affinitygroupids.map((id) => ({
      id,
      name: state.tables.affinitygroups.get(id)?.name ?? null,
      description: state.tables.affinitygroups.get(id)?.description ?? null,
      account: view['account'] ?? null,
    }))
  if (wants('stats') && vm.state === 'Running') Object.assign(view, sampleFields(sampleOf(vm, sample)))
  return view
}

export function vmMetricsView(state: SimulatorState, vm: Vm, details: ReadonlySet<VmDetail>, sample: number): Fields {
  return Object.assign(
    vmView(state, vm, details, sample),
    metricTexts(vm, vm.state === 'Running' ? sampleOf(vm, sample) : null),
  )
}

export function nicView(state: SimulatorState, vm: Vm, nic: Nic): Fields {
  const network = state.tables.networks.get(nic.networkid)
  const vlan = network?.vlan ?? null
  return {
    id: nic.id,
    networkid: nic.networkid,
    networkname: network?.name ?? null,
    netmask: network?.netmask ?? null,
    gateway: network?.gateway ?? null,
    ipaddress: nic.ipaddress,
    isolationuri: vlan === null ? null : `vlan://${vlan}`,
    broadcasturi: vlan === null ? null : `vlan://${vlan}`,
    traffictype: 'Guest',
    type: network?.type ?? null,
    isdefault: nic.isdefault,
    macaddress: nic.macaddress,
    deviceid: String(nic.deviceid),
    vpcid: network?.vpcid ?? null,
    secondaryip: nic.secondaryips.map((one) => ({ id: one.id, ipaddress: one.ipaddress })),
    extradhcpoption: [],
  }
}

export function instanceName(vm: Vm): string {
  return `i-2-${vm.number}-VM`
}

function baseFields(state: SimulatorState, vm: Vm): Fields {
  const host = state.tables.hosts.get(vm.hostid)
  const user = state.tables.users.by('account', vm.accountid)[0]
  return {
    id: vm.id,
    name: vm.name,
    displayname: vm.displayname,
    ...ownerFields(state, vm),
    userid: user?.id ?? null,
    username: user?.username ?? null,
    created: wireDate(vm.created),
    lastupdated: wireDate(vm.lastupdated),
    state: vm.state,
    haenable: vm.haenable,
    ...zoneFields(state, vm.zoneid),
    hostid: host?.id ?? null,
    hostname: host?.name ?? null,
    hostcontrolstate: host === null ? null : 'Enabled',
    cpunumber: vm.cpunumber,
    cpuspeed: vm.cpuspeed,
    memory: vm.memory,
    hypervisor: hypervisorOf(state, vm),
    instancename: instanceName(vm),
    passwordenabled: false,
    rootdeviceid: 0,
    rootdevicetype: 'ROOT',
    details: { ...vm.details, ...vm.extraconfig },
    displayvm: true,
    isdynamicallyscalable: vm.isdynamicallyscalable,
    deleteprotection: vm.deleteprotection,
    ostypeid: vm.ostypeid,
    osdisplayname: text(state.tables.ostypes.get(vm.ostypeid)?.['description']),
    guestosid: vm.ostypeid,
    pooltype: 'RBD',
    arch: 'x86_64',
    ...bootFields(vm),
    userdataid: vm.userdataid,
    keypairs: vm.keypairs.length === 0 ? null : vm.keypairs.join(','),
    leaseduration: vm.leaseduration,
    leaseexpiryaction: vm.leaseexpiryaction,
    leaseexpirydate: wireDateOrNull(vm.leaseexpirydate),
    // These lists are there whatever details are asked for.
    nic: [],
    affinitygroup: [],
    securitygroup: [],
    tags: Object.entries(vm.tags).map(([key, value]) => ({ key, value, resourcetype: 'UserVm', resourceid: vm.id })),
    hasannotations: false,
    receivedbytes: 0,
    sentbytes: 0,
  }
}

/** Derived upstream: from the UEFI detail, or BIOS only when the map is completely empty; otherwise both are absent. */
function bootFields(vm: Vm): Fields {
  const uefi = vm.details['UEFI']
  if (uefi !== undefined) return { boottype: 'Uefi', bootmode: uefi.toLowerCase() }
  if (Object.keys(vm.details).length === 0 && Object.keys(vm.extraconfig).length === 0)
    return { boottype: 'Bios', bootmode: 'legacy' }
  return {}
}

function nicFields(state: SimulatorState, vm: Vm, view: Fields): void {
  view['nic'] = vm.nics.map((nic) => nicView(state, vm, nic))
  view['ipaddress'] = vm.nics.find((nic) => nic.isdefault)?.ipaddress ?? null
  const nat = state.tables.addresses.by('vm', vm.id).find((address) => address.isstaticnat)
  if (nat !== undefined) Object.assign(view, { publicipid: nat.id, publicip: nat.ipaddress })
}

function templateFields(state: SimulatorState, vm: Vm, view: Fields): void {
  const template = state.tables.templates.get(vm.templateid)
  Object.assign(view, {
    templateid: vm.templateid,
    templatename: template?.name ?? null,
    templatedisplaytext: template?.displaytext ?? null,
    templatetype: template?.templatetype ?? null,
    templateformat: template?.format ?? null,
  })
}

function offeringFields(state: SimulatorState, vm: Vm, view: Fields): void {
  const offering = state.tables.serviceofferings.get(vm.serviceofferingid)
  Object.assign(view, { serviceofferingid: vm.serviceofferingid, serviceofferingname: offering?.name ?? null })
  const profile = state.tables.vgpuprofiles.get(offering?.vgpuprofileid)
  if (profile === null) return
  Object.assign(view, {
    vgpuprofileid: profile.id,
    vgpuprofilename: profile.name,
    gpucardid: profile.gpucardid,
    gpucardname: state.tables.gpucards.get(profile.gpucardid)?.name ?? null,
    gpucount: offering?.gpucount ?? 0,
  })
}

function volumeFields(state: SimulatorState, vm: Vm, view: Fields): void {
  const root = state.tables.volumes.by('vm', vm.id).find((volume) => volume.type === 'ROOT')
  if (root !== undefined) Object.assign(view, { rootdeviceid: root.deviceid ?? 0, pooltype: 'RBD' })
}

/** As upstream: that of the template; an image that fits every hypervisor says nothing. */
export function hypervisorOf(state: SimulatorState, vm: Vm): string {
  const of_template = state.tables.templates.get(vm.templateid)?.hypervisor ?? 'None'
  return of_template === 'None' ? 'KVM' : of_template
}
