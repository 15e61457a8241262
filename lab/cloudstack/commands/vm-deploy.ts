/** deployVirtualMachine: everything that is checked before the row exists, the row, and the job that starts it. */
import { randomBytes, randomUUID } from 'node:crypto'
import { badParameter, denied, internal, invalid, noCapacity } from '../api-fault.ts'
import { ipNumber, isFree, macOf, nextFreeIp } from '../addressing.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { resolveCompute } from '../compute-size.ts'
import { releaseGpus } from '../capacity.ts'
import { beginStart, endStart, setVm, vmEvent, vmJob, wishOf } from '../machines.ts'
import { isUuid } from '../params.ts'
import { requireQuota } from '../quota.ts'
import type { Network } from '../network-records.ts'
import type { DiskOffering, Nic, ServiceOffering, Template, Vm } from '../records.ts'
import type { Owned } from '../row.ts'
import { ownerFor, requireUsable } from '../scope.ts'
import { setting } from '../settings.ts'
import { networkText } from '../texts.ts'
import { vmView } from '../vm-view.ts'
import { requireKeyPairs } from './key-pairs.ts'

const GIB = 1024 ** 3

export const vmDeploy: Commands = {
  deployVirtualMachine: (call) => {
    const { params, state } = call
    const owner = ownerFor(call)
    const account = state.tables.accounts.get(owner.accountid)
    if (account !== null) requireUsable(account)
    if (state.tables.zones.get(params.need('zoneid'))?.['allocationstate'] !== 'Enabled')
      throw denied('Cannot perform this operation, Zone is currently disabled')
    checkBoot(call)
    checkVmName(call.spec.name, params.text('name'))
    checkUserData(call)
    requireKeyPairs(call)
    const offering = needOffering(call)
    const template = needTemplate(call)
    const chosen = params.merged('details')
    if (offering.iscustomized && chosen['cpuNumber'] === undefined && chosen['memory'] === undefined)
      throw invalid('Need to specify custom parameter values cpu, cpu speed and memory when using custom offering')
    const size = resolveCompute(offering, chosen, null)
    const disks = plannedDisks(call, template)
    requireQuota(state, owner, [
      [0, 1],
      [8, size.cpunumber],
      [9, size.memory],
      [2, disks.length],
      [10, disks.reduce((sum, disk) => sum + disk.size_gb, 0)],
    ])
    const vm = makeVm(call, owner, offering, template, size)
    for (const disk of disks) putDisk(call, vm, disk)
    refuseExtraConfig(call, owner)
    call.event(vmEvent('VM.CREATE', 'creating Vm', vm))
    const start = params.bool('startvm') ?? true
    const wish = wishOf(call)
    return job({
      ...vmJob(vm),
      id: vm.id,
      duration_ms: start ? 3000 : 500,
      event: vmEvent(start ? 'VM.START' : 'VM.CREATE', start ? 'starting Vm' : 'creating Vm', vm),
      // The machine stands in Stopped until its start is prepared.
      begin: () => {
        if (!template.isready) {
          setVm(state, vm.id, { state: 'Error' })
          throw invalid(`Template ${template.name} has not been completely downloaded to zone ${template.zoneid}`)
        }
        if (!start) return
        try {
          beginStart(state, vm.id, wish)
        } catch (error) {
          setVm(state, vm.id, { state: 'Error' })
          throw error
        }
      },
      end: () => {
        const view = vmView(state, start ? endStart(state, vm.id) : setVm(state, vm.id, { state: 'Stopped' }))
        // Told once, here: a list never shows it.
        return start && template.passwordenabled
          ? { ...view, passwordenabled: true, password: randomBytes(9).toString('base64url') }
          : view
      },
      fail: () => {
        releaseGpus(state, vm.id)
        setVm(state, vm.id, { state: 'Error', hostid: null })
      },
    })
  },
}

/** BIOS without a mode is a null pointer upstream; UEFI demands one. */
function checkBoot(call: Call): void {
  const type = call.params.text('boottype')?.toUpperCase() ?? null
  const mode = call.params.text('bootmode')?.toUpperCase() ?? null
  if (type === null) return
  if (type !== 'BIOS' && type !== 'UEFI')
    throw invalid(
      `Invalid bootType ${type}Specified for vm ${call.params.text('name') ?? ''} Valid values are: [UEFI, BIOS]`,
    )
  if (type === 'UEFI' && mode === null)
    throw invalid('bootmode must be specified for the VM with boot type: UEFI. Valid values are: [LEGACY, SECURE]')
  if (type === 'BIOS' && mode === null)
    throw internal(
      'Cannot invoke "org.apache.cloudstack.api.ApiConstants$BootMode.toString()" because the return value of "org.apache.cloudstack.api.command.user.vm.BaseDeployVMCmd.getBootMode()" is null',
    )
  if (mode !== 'LEGACY' && mode !== 'SECURE') throw invalid(`Invalid bootMode ${mode}`)
  if (type === 'BIOS' && mode === 'SECURE') throw invalid(`Invalid boot mode ${mode} Specified for ${type}`)
}

function needOffering(call: Call): ServiceOffering {
  const id = call.params.need('serviceofferingid')
  const offering = call.state.tables.serviceofferings.get(id)
  if (offering === null || offering.state !== 'Active') throw invalid(`Unable to find service offering: ${id}`)
  return offering
}

function needTemplate(call: Call): Template {
  const { params, state } = call
  const sources = [params.text('templateid'), params.text('volumeid'), params.text('snapshotid')].filter(
    (id) => id !== null,
  )
  if (sources.length !== 1)
    throw internal('Please provide only one of the following parameters - template ID, volume ID or snapshot ID')
  const volume = state.tables.volumes.get(
    params.text('volumeid') ?? state.tables.snapshots.get(params.text('snapshotid'))?.volumeid ?? null,
  )
  const id = params.text('templateid') ?? volume?.templateid ?? null
  const template = state.tables.templates.get(id)
  if (template === null) throw invalid(`Unable to use template ${id ?? ''}`)
  if (template.templatetype === 'SYSTEM')
    throw invalid(`Unable to use system template ${templateText(template)} to deploy a user vm`)
  const hypervisor = params.text('hypervisor')
  if (hypervisor !== null && !template.iso && hypervisor.toLowerCase() !== template.hypervisor.toLowerCase())
    throw invalid('Hypervisor passed to the deployVm call, is different from the hypervisor type of the template')
  if (template.iso && params.text('hypervisor') === null)
    throw invalid('Hypervisor parameter is needed to deploy VM or the hypervisor parameter value passed is invalid')
  if (template.iso && params.text('diskofferingid') === null)
    throw invalid('Installing from ISO requires a disk offering to be specified for the root disk.')
  return template
}

/** A root admin may choose the id of what is made; one that is taken is refused before anything is made. */
export function chosenId(call: Call, isTaken: (id: string) => boolean): string {
  const id = call.params.text('customid')
  if (id === null) return randomUUID()
  if (!isUuid(id)) throw invalid(`UUID: ${id} doesn't follow the UUID format`)
  if (isTaken(id)) throw invalid(`UUID: ${id} already exists so can't create/update with custom id`)
  return id
}

export function sizeError(size_gb: number): string {
  return `Volume size: ${size_gb} GB is out of allowed range. Min: 1. Max: 1024`
}

interface PlannedDisk {
  type: 'ROOT' | 'DATADISK'
  size_gb: number
  offering: DiskOffering | null
}

function plannedDisks(call: Call, template: Template): PlannedDisk[] {
  const { params } = call
  const extra = params.text('diskofferingid')
  const disks: PlannedDisk[] = []
  const given = extra === null ? null : diskSize(call, extra, params.int('size'))
  if (template.iso && given !== null) disks.push({ ...given, type: 'ROOT' })
  else {
    const root = params.int('rootdisksize')
    if (root !== null && root <= 0) throw invalid('Root disk size should be a positive number.')
    if (root !== null && root * GIB < template.size_bytes)
      throw invalid(
        `Unsupported: rootdisksize override (${root} GB) is smaller than template size (${(template.size_bytes / GIB).toFixed(2)} GB) ${template.size_bytes}`,
      )
    disks.push({ type: 'ROOT', size_gb: root ?? Math.ceil(template.size_bytes / GIB), offering: null })
    if (given !== null) disks.push({ ...given, type: 'DATADISK' })
  }
  for (const one of params.maps('datadisksdetails')) {
    const id = one['diskofferingid']
    if (id !== undefined)
      disks.push({ ...diskSize(call, id, one['size'] === undefined ? null : Number(one['size'])), type: 'DATADISK' })
  }
  return disks
}

export function diskSize(
  call: Call,
  offeringid: string,
  size_gb: number | null,
): { size_gb: number; offering: DiskOffering } {
  const offering = call.state.tables.diskofferings.get(offeringid)
  if (offering === null || offering.state !== 'Active') throw invalid(`Unable to find disk offering ${offeringid}`)
  if (!offering.iscustomized) {
    if (size_gb !== null) throw invalid('This disk offering does not allow custom size')
    return { size_gb: offering.disksize, offering }
  }
  if (size_gb === null) throw invalid('This disk offering requires a custom size specified')
  if (size_gb <= 0) throw invalid('Disk size must be larger than 0')
  if (size_gb > 1024) throw invalid(sizeError(size_gb))
  return { size_gb, offering }
}

function makeVm(
  call: Call,
  owner: Owned,
  offering: ServiceOffering,
  template: Template,
  size: { cpunumber: number; cpuspeed: number; memory: number },
): Vm {
  const { params, state } = call
  const id = chosenId(call, (taken) => state.tables.vms.has(taken))
  const number = state.nextNumber('vm')
  const name = params.text('name') ?? `VM-${id}`
  const cards = plannedNics(call, owner)
  for (const { network } of cards) refuseSameName(call, name, network.id)
  checkGroups(call, owner)
  const details = { ...params.merged('details') }
  const bootmode = params.text('bootmode')?.toUpperCase() ?? null
  const boottype = params.text('boottype')?.toUpperCase() ?? null
  if (boottype === 'UEFI' && bootmode !== null) details['UEFI'] = bootmode
  if (offering.iscustomized) Object.assign(details, { cpuNumber: String(size.cpunumber), memory: String(size.memory) })
  const days = params.int('leaseduration')
  const vm = state.tables.vms.put({
    id,
    number,
    name,
    displayname: params.text('displayname') ?? name,
    state: 'Stopped',
    ...owner,
    zoneid: params.need('zoneid'),
    hostid: null,
    lasthostid: null,
    templateid: template.id,
    isoid: template.iso ? template.id : null,
    serviceofferingid: offering.id,
    diskofferingid: params.text('diskofferingid'),
    ...size,
    created: Date.now(),
    lastupdated: Date.now(),
    haenable: offering.offerha,
    details,
    extraconfig: extraConfig(params.text('extraconfig')),
    nics: [],
    affinitygroupids: params.list('affinitygroupids'),
    isdynamicallyscalable: template.isdynamicallyscalable && offering.dynamicscalingenabled,
    deleteprotection: false,
    group: params.text('group'),
    ostypeid: template.ostypeid,
    userdata: params.text('userdata'),
    userdataid: params.text('userdataid'),
    keypairs: params.list('keypairs'),
    backupofferingid: null,
    leaseduration: days,
    leaseexpiryaction: params.text('leaseexpiryaction'),
    leaseexpirydate: days === null ? null : Date.now() + days * 86_400_000,
    boottype,
    bootmode,
    tags: {},
  })
  // The row is there before its cards are: an address that cannot be had refuses the call and leaves the machine behind.
  const nics = cards.map(({ network, ip, mac }, deviceid) => makeNic(call, network, deviceid, ip, mac))
  return state.tables.vms.put({ ...vm, nics })
}

interface PlannedNic {
  network: Network
  ip: string | null
  mac: string | null
}

function plannedNics(call: Call, owner: Owned): PlannedNic[] {
  const { params, state } = call
  const wanted: { networkid: string; ip: string | null; mac: string | null }[] = params
    .list('networkids')
    .map((networkid) => ({ networkid, ip: null, mac: null }))
  const mapped = params.maps('iptonetworklist')
  if (wanted.length > 0 && mapped.length > 0)
    throw invalid("ipToNetworkMap can't be specified along with networkIds or ipAddress")
  for (const one of mapped)
    wanted.push({ networkid: one['networkid'] ?? '', ip: one['ip'] ?? null, mac: one['mac'] ?? null })
  if (wanted.length === 0) {
    const only = state.tables.networks.filter(
      (network) =>
        network.type === 'Isolated' && network.accountid === owner.accountid && network.projectid === owner.projectid,
    )
    if (only.length > 1)
      throw invalid(
        'Unable to select a network: more than 1 default Isolated networks are found for account; please specify networkIds',
      )
    wanted.push({ networkid: only[0]?.id ?? '', ip: null, mac: null })
  }
  const first = wanted[0]
  if (first !== undefined && first.ip === null) first.ip = params.text('ipaddress')
  if (first !== undefined && first.mac === null) first.mac = params.text('macaddress')
  return wanted.map(({ networkid, ip, mac }) => {
    const network = needNetwork(call, networkid)
    requireNetworkRight(owner, network)
    if (ip !== null && ipNumber(ip) === null) throw invalid(`Invalid specified IPv4 address ${ip}`)
    return { network, ip, mac }
  })
}

/** An isolated network serves its own account (or project) alone, whoever the caller is. */
export function requireNetworkRight(owner: Owned, network: Network, error = denied): void {
  if (network.type !== 'Isolated' || (network.accountid === owner.accountid && network.projectid === owner.projectid))
    return
  throw error(`Unable to use network with id= ${network.id}, permission denied`)
}

export function needNetwork(call: Call, id: string): Network {
  const network = call.state.tables.networks.get(id)
  if (network === null) throw invalid(`Unable to find network by id ${id}: entity does not exist`)
  return network
}

export function makeNic(call: Call, network: Network, deviceid: number, ip: string | null, mac: string | null): Nic {
  const { state } = call
  if (ip !== null && !isFree(state, network, ip))
    throw internal(`Unable to acquire Guest IP address for network ${networkText(network)}`)
  const ipaddress = ip ?? nextFreeIp(state, network)
  if (ipaddress === null && network.cidr !== null)
    throw noCapacity(`Insufficient address capacity: unable to allocate a guest IP in network ${network.name}`)
  const id = randomUUID()
  return {
    id,
    networkid: network.id,
    ipaddress,
    macaddress: mac ?? macOf(id),
    isdefault: deviceid === 0,
    deviceid,
    secondaryips: [],
  }
}

/** Names are unique in a network domain only. */
export function refuseSameName(call: Call, name: string, networkid: string): void {
  const same = call.state.tables.vms
    .by('name', name)
    .some((vm) => vm.state !== 'Destroyed' && vm.nics.some((nic) => nic.networkid === networkid))
  if (same)
    throw invalid(
      `The vm with hostName ${name} already exists in the network domain: ${call.state.tables.networks.get(networkid)?.networkdomain ?? ''}; network=${call.state.tables.networks.get(networkid)?.name ?? ''}`,
    )
}

export function checkGroups(call: Call, owner: Owned, error = denied): void {
  const ids = call.params.list('affinitygroupids')
  if (ids.length > 0 && call.params.list('affinitygroupnames').length > 0)
    throw invalid('affinitygroupids parameter is mutually exclusive with affinitygroupnames parameter')
  for (const id of ids) {
    const group = call.state.tables.affinitygroups.get(id)
    if (group === null) throw invalid(`Unable to find affinity group by id ${id}`)
    if (group.accountid !== owner.accountid)
      throw error(
        `Entity AffinityGroup ${group.name} and entity Account ${owner.accountid} belong to different accounts`,
      )
  }
}

/** The server decodes the value a second time; snippets are separated by an empty line, a first line `name:` names the key. */
export function extraConfig(value: string | null): Record<string, string> {
  if (value === null) return {}
  const entries: Record<string, string> = {}
  let number = 1
  for (const snippet of safeDecode(value).split(/\n\s*\n/)) {
    const named = /^([\w-]+):\s*\n([\s\S]*)$/.exec(snippet.trim())
    if (named?.[1] !== undefined) entries[`extraconfig-${named[1]}`] = named[2] ?? ''
    else if (snippet.trim() !== '') {
      entries[`extraconfig-${number}`] = snippet.trim()
      number += 1
    }
  }
  return entries
}

function safeDecode(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    throw internal(`Failed to decode extra configuration`)
  }
}

function putDisk(call: Call, vm: Vm, disk: PlannedDisk): void {
  const { state } = call
  const deviceid = state.tables.volumes.by('vm', vm.id).length
  const root = disk.type === 'ROOT'
  state.tables.volumes.put({
    id: randomUUID(),
    name: `${root ? 'ROOT' : 'DATA'}-${vm.number}`,
    type: disk.type,
    state: 'Allocated',
    size_bytes: disk.size_gb * GIB,
    zoneid: vm.zoneid,
    storageid: null,
    virtualmachineid: vm.id,
    deviceid,
    diskofferingid: disk.offering?.id ?? null,
    serviceofferingid: root ? vm.serviceofferingid : null,
    templateid: root ? vm.templateid : null,
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

function templateText(template: Template): string {
  return `Template ${JSON.stringify({ format: template.format, name: template.name, uuid: template.id })}`
}

export function checkVmName(command: string, name: string | null): void {
  if (name !== null && !/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(name))
    throw badParameter(
      `Unable to execute API command ${command.toLowerCase()} due to invalid value. Invalid value provided for API arg: name - it can contain ASCII letters 'a' through 'z', the digits '0' through '9', and the hyphen ('-'), must be between 1 and 63 characters long, and can't start or end with "-" and can't start with digit`,
    )
}

export function checkUserData(call: Call): void {
  const userdata = call.params.text('userdata')
  if (userdata === null) return
  if (userdata.includes('%'))
    throw invalid('URLDecoder: Illegal hex characters in escape (%) pattern - Error at index 0 in: "%%"')
  if (!/^[A-Za-z0-9+/\s]*={0,2}$/.test(userdata)) throw invalid('User data is not base64 encoded')
  const longest = Number(setting(call.state, 'vm.userdata.max.length'))
  if (userdata.length > longest) throw invalid(`User data has exceeded configurable max length: ${longest}`)
}

/** Looked at only when machine, cards and disks are made: the rejection leaves them behind. */
function refuseExtraConfig(call: Call, owner: Owned): void {
  const off = setting(call.state, 'enable.additional.vm.configuration', owner.accountid) !== 'true'
  if (off && call.params.text('extraconfig') !== null)
    throw invalid('attempted setting extraconfig but enable.additional.vm.configuration is disabled')
}
