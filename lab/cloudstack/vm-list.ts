/** Finds machines for the list commands: by index where a parameter names one, by one pass otherwise. */
import { invalid } from './api-fault.ts'
import type { Call } from './call.ts'
import type { Vm } from './records.ts'
import type { Json } from './row.ts'
import { idTest, keywordTest, paged, same, visible } from './scope.ts'
import type { SimulatorState } from './state.ts'
import { hypervisorOf, isVmDetail } from './vm-view.ts'
import type { VmDetail } from './vm-view.ts'
import { list } from './wire.ts'
import type { Reply } from './wire.ts'

export function listMachines(call: Call, view: (vm: Vm, details: ReadonlySet<VmDetail>) => Json): Reply {
  const details = detailsOf(call)
  const found = findMachines(call)
  if (call.params.bool('retrieveonlyresourcecount') === true) return list([], found.length)
  return paged(call, found, (vm) => view(vm, details))
}

function detailsOf(call: Call): Set<VmDetail> {
  const wanted = new Set<VmDetail>()
  for (const name of call.params.list('details')) {
    if (!isVmDetail(name))
      throw invalid(
        `The details parameter contains a non permitted value. The allowed values are [all, group, nics, stats, secgrp, tmpl, servoff, diskoff, backoff, iso, volume, min, affgrp]`,
      )
    wanted.add(name)
  }
  return wanted.size === 0 ? new Set(['all']) : wanted
}

function findMachines(call: Call): Vm[] {
  const { params, state } = call
  const tests: ((vm: Vm) => boolean)[] = [visible(call)]
  addPlain(call, tests)
  addPlaces(call, tests)
  const tags = params.maps('tags').filter((tag) => tag['key'] !== undefined)
  if (tags.length > 0) tests.push((vm) => tags.some((tag) => vm.tags[tag['key'] ?? ''] === tag['value']))
  const keyword = keywordTest(call)
  if (params.text('keyword') !== null)
    tests.push((vm) => keyword(vm.name, vm.displayname, `i-2-${vm.number}-VM`, vm.state))
  const found: Vm[] = []
  for (const vm of candidates(call, state)) if (tests.every((test) => test(vm))) found.push(vm)
  return found
}

/** The smallest set that an index gives; all machines when no parameter helps. */
function candidates(call: Call, state: SimulatorState): Iterable<Vm> {
  const { params } = call
  const { vms } = state.tables
  const id = params.text('id')
  const ids = id === null ? params.list('ids') : [id]
  if (ids.length > 0) return [...new Set(ids)].map((one) => vms.get(one)).filter((vm) => vm !== null)
  const name = params.text('name')
  if (name !== null) return ordered(vms.by('name', name))
  const hostid = params.text('hostid')
  return hostid === null ? vms.values() : ordered(vms.by('host', hostid))
}

function ordered(vms: Vm[]): Vm[] {
  return vms.sort((a, b) => a.number - b.number)
}

function addPlain(call: Call, tests: ((vm: Vm) => boolean)[]): void {
  const { params } = call
  const byId = idTest(call)
  if (params.text('id') !== null || params.list('ids').length > 0) tests.push((vm) => byId(vm.id))
  const state = params.text('state')
  if (state !== null) {
    tests.push(
      state === 'Present' ? (vm) => vm.state !== 'Destroyed' && vm.state !== 'Expunging' : (vm) => vm.state === state,
    )
  }
  for (const name of [
    'zoneid',
    'templateid',
    'isoid',
    'serviceofferingid',
    'backupofferingid',
    'userdataid',
  ] as const) {
    const test = same(call, name)
    if (params.text(name) !== null) tests.push((vm) => test(vm[name]))
  }
  const ha = params.bool('haenable')
  if (ha !== null) tests.push((vm) => vm.haenable === ha)
  const hypervisor = params.text('hypervisor')
  if (hypervisor !== null) tests.push((vm) => hypervisor === hypervisorOf(call.state, vm))
  const keypair = params.text('keypair')
  if (keypair !== null) tests.push((vm) => vm.keypairs.includes(keypair))
  const leased = params.bool('leased')
  if (leased !== null) tests.push((vm) => (vm.leaseduration !== null) === leased)
}

function addPlaces(call: Call, tests: ((vm: Vm) => boolean)[]): void {
  const { params, state } = call
  const { tables } = state
  const hostid = params.text('hostid')
  if (hostid !== null) tests.push((vm) => vm.hostid === hostid)
  const clusterid = params.text('clusterid')
  if (clusterid !== null) tests.push((vm) => tables.hosts.get(vm.hostid)?.clusterid === clusterid)
  const podid = params.text('podid')
  if (podid !== null) tests.push((vm) => tables.hosts.get(vm.hostid)?.podid === podid)
  const networkid = params.text('networkid')
  if (networkid !== null) tests.push((vm) => vm.nics.some((nic) => nic.networkid === networkid))
  const vpcid = params.text('vpcid')
  if (vpcid !== null) tests.push((vm) => vm.nics.some((nic) => tables.networks.get(nic.networkid)?.vpcid === vpcid))
  const group = params.text('affinitygroupid')
  if (group !== null) tests.push((vm) => vm.affinitygroupids.includes(group))
  const storageid = params.text('storageid')
  if (storageid !== null)
    tests.push((vm) => tables.volumes.by('vm', vm.id).some((volume) => volume.storageid === storageid))
  const gpu = params.bool('gpuenabled')
  if (gpu !== null)
    tests.push((vm) => ((tables.serviceofferings.get(vm.serviceofferingid)?.vgpuprofileid ?? null) !== null) === gpu)
}
