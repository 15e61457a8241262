/** Machines that run beside the platform: finding them on its own hosts or on remote ones, and taking them in. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import { resolveCompute } from '../compute-size.ts'
import { defaultPool, setVm, vmEvent, vmJob } from '../machines.ts'
import { text } from '../owner-view.ts'
import { requireQuota } from '../quota.ts'
import type { ServiceOffering, Vm } from '../records.ts'
import type { Json, Row } from '../row.ts'
import { keywordTest, ownerFor, paged } from '../scope.ts'
import { vmView } from '../vm-view.ts'
import { listRows } from './infrastructure.ts'
import { makeNic, needNetwork, requireNetworkRight } from './vm-deploy.ts'

const GIB = 1024 ** 3
const REMOTE = 'remote-app'

export const imports: Commands = {
  listUnmanagedInstances: (call) => {
    const { clusters, unmanaged } = call.state.tables
    const named = (one: Row): Row => ({ ...one, clustername: text(clusters.get(text(one['clusterid']))?.['name']) })
    return listRows(call, [...unmanaged.values()].map(named), ['clusterid', 'name'], ({ id: _id, ...shown }) => shown)
  },
  listVmsForImport: (call) => {
    requireKvm(call)
    if (call.state.tables.hosts.find((host) => host.state === 'Up') === null) {
      throw internal('No hosts available to perform this operation')
    }
    const keyword = keywordTest(call)
    const remote: Json[] = [
      {
        name: REMOTE,
        powerstate: 'PowerOff',
        cpunumber: 2,
        memory: 4096,
        osdisplayname: 'Debian GNU/Linux',
        bootmode: 'LEGACY',
        boottype: 'BIOS',
        disk: [{ id: 'vda', capacity: 20 * GIB }],
        nic: [{ id: 'net0', macaddress: '52:54:00:cc:dd:01' }],
      },
    ]
    return paged(
      call,
      remote.filter(() => keyword(REMOTE)),
      (one) => one,
    )
  },
  importUnmanagedInstance: (call) => {
    const name = call.params.need('name')
    const { unmanaged } = call.state.tables
    const found = unmanaged.find((one) => one['name'] === name && one['clusterid'] === call.params.need('clusterid'))
    if (found === null) throw invalid(`Unable to find the unmanaged instance ${name} in the cluster`)
    return takeIn(call, { hostid: text(found['hostid']), running: found['powerstate'] === 'PowerOn' }, () => {
      unmanaged.remove(found.id)
    })
  },
  importVm: (call) => {
    requireKvm(call)
    if (call.params.need('name') !== REMOTE)
      throw invalid(`VM with name ${call.params.need('name')} not found on the remote host`)
    return takeIn(call, { hostid: null, running: false }, () => {})
  },
}

function requireKvm(call: Call): void {
  const hypervisor = call.params.need('hypervisor')
  if (hypervisor.toUpperCase() !== 'KVM')
    throw invalid(`Importing VMs is supported from KVM hosts only, not from ${hypervisor}`)
}

function takeIn(call: Call, from: { hostid: string | null; running: boolean }, done: () => void): Outcome {
  const { params, state } = call
  const owner = ownerFor(call)
  const offering = state.tables.serviceofferings.get(params.need('serviceofferingid'))
  if (offering === null) throw invalid('Unable to find service offering: entity does not exist')
  const size = resolveCompute(offering, params.merged('details'), null)
  requireQuota(state, owner, [
    [0, 1],
    [8, size.cpunumber],
    [9, size.memory],
    [2, 1],
  ])
  const vm = newVm(call, offering, size)
  return job({
    ...vmJob(vm),
    duration_ms: 3000,
    event: vmEvent('VM.IMPORT', 'importing VM', vm),
    end: () => {
      state.tables.vms.put(vm)
      putRootDisk(call, vm)
      done()
      const { hostid, running } = from
      return vmView(state, setVm(state, vm.id, running ? { state: 'Running', hostid, lasthostid: hostid } : {}))
    },
  })
}

/** Nothing is written before the job ends: a failed import leaves no machine behind. */
function newVm(
  call: Call,
  offering: ServiceOffering,
  size: { cpunumber: number; cpuspeed: number; memory: number },
): Vm {
  const { params, state } = call
  const id = randomUUID()
  const owner = ownerFor(call)
  const template =
    state.tables.templates.get(params.text('templateid')) ?? state.tables.templates.find((one) => !one.iso)
  const nics = params.maps('nicnetworklist').map((one, deviceid) => {
    const network = needNetwork(call, one['network'] ?? '')
    requireNetworkRight(owner, network)
    const ip = params.maps('nicipaddresslist').find((each) => each['nic'] === one['nic'])?.['ip4Address'] ?? null
    return makeNic(call, id, network, deviceid, ip === 'auto' ? null : ip, null)
  })
  return {
    id,
    number: state.nextNumber('vm'),
    name: params.text('hostname') ?? params.need('name'),
    displayname: params.text('displayname') ?? params.need('name'),
    state: 'Stopped',
    ...owner,
    zoneid: state.tables.zones.values().next().value?.id ?? '',
    hostid: null,
    lasthostid: null,
    templateid: template?.id ?? '',
    isoid: null,
    serviceofferingid: offering.id,
    diskofferingid: null,
    ...size,
    created: Date.now(),
    lastupdated: Date.now(),
    haenable: offering.offerha,
    details: offering.iscustomized ? { cpuNumber: String(size.cpunumber), memory: String(size.memory) } : {},
    extraconfig: {},
    nics,
    affinitygroupids: [],
    isdynamicallyscalable: false,
    deleteprotection: false,
    group: null,
    ostypeid: template?.ostypeid ?? '',
    userdata: null,
    userdataid: null,
    keypairs: [],
    backupofferingid: null,
    leaseduration: null,
    leaseexpiryaction: null,
    leaseexpirydate: null,
    boottype: null,
    bootmode: null,
    tags: {},
  }
}

function putRootDisk(call: Call, vm: Vm): void {
  const { state } = call
  state.tables.volumes.put({
    id: randomUUID(),
    name: `ROOT-${vm.number}`,
    type: 'ROOT',
    state: 'Ready',
    size_bytes: 20 * GIB,
    zoneid: vm.zoneid,
    storageid: defaultPool(state),
    virtualmachineid: vm.id,
    deviceid: 0,
    diskofferingid: null,
    serviceofferingid: vm.serviceofferingid,
    templateid: vm.templateid,
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
