/** Starting, stopping, rebooting, destroying, bringing back and moving machines. */
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import { fits, placeFor, releaseGpus } from '../capacity.ts'
import { requireQuota } from '../quota.ts'
import {
  beginStart,
  endStart,
  expunge,
  needVm,
  putStopped,
  refuseStart,
  requireState,
  setVm,
  vmEvent,
  vmJob,
  wishOf,
} from '../machines.ts'
import type { Host } from '../records.ts'
import type { SimulatorState } from '../state.ts'
import { keywordTest, paged } from '../scope.ts'
import { accountText, numberOf, vmText } from '../texts.ts'
import { object } from '../wire.ts'
import { vmView } from '../vm-view.ts'
import { hostView } from './infrastructure.ts'

export const vmPower: Commands = {
  startVirtualMachine: (call) => {
    const { state, params } = call
    const vm = needVm(state, params.need('id'))
    const wish = wishOf(call)
    return job({
      ...vmJob(vm),
      duration_ms: 1200,
      event: vmEvent('VM.START', 'starting Vm', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        if (now.state === 'Running')
          throw invalid(`The virtual machine ${now.id} (${now.displayname}) is already running`)
        const owner = state.tables.accounts.get(now.accountid)
        if (owner?.state === 'disabled')
          throw internal(`The owner of ${vmText(now)} is disabled: ${accountText(owner)}`)
        // The state is not looked at: a Destroyed or Error machine fails for want of a place, or of a way.
        if (now.state === 'Destroyed' || now.state === 'Error') {
          placeFor(state, { ...now, lasthostid: null }, wish)
          refuseStart(now)
        }
        beginStart(state, vm.id, wish)
      },
      end: () => vmView(state, endStart(state, vm.id)),
      fail: () => putStopped(state, vm.id),
    })
  },
  stopVirtualMachine: (call) => {
    const { state, params } = call
    const vm = needVm(state, params.need('id'))
    return job({
      ...vmJob(vm),
      duration_ms: params.bool('forced') === true ? 400 : 1200,
      event: vmEvent('VM.STOP', 'stopping user Vm', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        if (now.state === 'Stopped' || now.state === 'Destroyed') return
        const host = state.tables.hosts.get(now.hostid)
        if (now.state !== 'Running' && params.bool('forced') !== true)
          throw invalid(`Unable to stop virtual machine ${now.name}: it is in state ${now.state}`)
        if (host !== null && host.state !== 'Up' && params.bool('forced') !== true)
          throw internal(`Unable to contact the agent to stop the virtual machine ${now.name}`)
        setVm(state, vm.id, { state: 'Stopping' })
      },
      end: () => vmView(state, vm.state === 'Destroyed' ? needVm(state, vm.id) : putStopped(state, vm.id)),
      fail: () => {
        if (needVm(state, vm.id).state === 'Stopping') setVm(state, vm.id, { state: 'Running' })
      },
    })
  },
  rebootVirtualMachine: (call) => {
    const { state, params } = call
    const vm = needVm(state, params.need('id'))
    return job({
      ...vmJob(vm),
      duration_ms: 1500,
      event: vmEvent('VM.REBOOT', 'rebooting Vm', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        requireState(now, ['Running'], `The VM ${vm.id} (${now.displayname}) is not running, unable to reboot it`)
        const host = state.tables.hosts.get(now.hostid)
        if (params.bool('forced') === true && (host?.state !== 'Up' || host.resourcestate !== 'Enabled'))
          throw internal(`Unable to force reboot the VM: host ${host?.name ?? ''} is not in the right state`)
      },
      end: () => vmView(state, setVm(state, vm.id, {})),
    })
  },
  destroyVirtualMachine: (call) => {
    const { state, params } = call
    const vm = needVm(state, params.need('id'))
    for (const id of params.list('volumeids'))
      if (state.tables.volumes.get(id)?.virtualmachineid !== vm.id)
        throw invalid(`Unable to find volume with ID ${id} attached to the VM`)
    return job({
      ...vmJob(vm),
      duration_ms: 1000,
      event: vmEvent('VM.DESTROY', 'destroying Vm', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        if (now.deleteprotection)
          throw invalid(
            `Instance [id = ${vm.id}, name = i-2-${vm.number}-VM] has delete protection enabled and cannot be deleted.`,
          )
        if (now.state === 'Running') setVm(state, vm.id, { state: 'Stopping' })
      },
      end: () => {
        for (const id of params.list('volumeids')) state.tables.volumes.remove(id)
        releaseGpus(state, vm.id)
        const gone = setVm(state, vm.id, { state: 'Destroyed', hostid: null })
        if (params.bool('expunge') !== true) return vmView(state, gone)
        const last = vmView(state, { ...gone, state: 'Expunging' })
        expunge(state, vm.id)
        return last
      },
      fail: () => {
        if (vm.state === 'Running') setVm(state, vm.id, { state: 'Running' })
      },
    })
  },
  expungeVirtualMachine: (call) => {
    const { state, params } = call
    const vm = needVm(state, params.need('id'))
    return job({
      ...vmJob(vm),
      duration_ms: 1000,
      event: vmEvent('VM.EXPUNGE', 'expunging Vm', vm),
      begin: () => {
        if (!['Destroyed', 'Error', 'Expunging'].includes(needVm(state, vm.id).state))
          throw internal('Please destroy vm with specified vmId before expunge')
        setVm(state, vm.id, { state: 'Expunging' })
      },
      end: () => {
        expunge(state, vm.id)
        return null
      },
    })
  },
  recoverVirtualMachine: (call) => {
    const { state, params } = call
    const vm = state.tables.vms.get(params.need('id'))
    if (vm === null) throw invalid(`unable to find a virtual machine with id ${numberOf(params.need('id'))}`)
    requireState(vm, ['Destroyed'], `Vm with id ${vm.id} is not in the right state`)
    requireQuota(state, vm, [
      [0, 1],
      [8, vm.cpunumber],
      [9, vm.memory],
    ])
    const next = setVm(state, vm.id, { state: 'Stopped' })
    call.event(vmEvent('VM.RECOVER', 'recovering Vm', vm))
    return object(vmView(state, next))
  },
  migrateVirtualMachineWithVolume: (call) => migrate(call),
  migrateVirtualMachine: (call) => migrate(call),
  findHostsForMigration: (call) => {
    const { state, params } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    requireState(vm, ['Running'], 'VM is not Running, cannot migrate the vm with specified id')
    if (state.tables.gpudevices.by('vm', vm.id).length > 0)
      throw invalid('Unsupported operation, VM uses host passthrough, cannot migrate')
    const keyword = keywordTest(call)
    const found = state.tables.hosts.filter(
      (host) => host.id !== vm.hostid && host.state === 'Up' && keyword(host.name),
    )
    return paged(call, found, (host) => {
      const suits = fits(state, host, vm) && host.resourcestate === 'Enabled'
      return {
        ...hostView(state, host, call.sample()),
        requiresStorageMotion: !reachesDisks(state, host, vm.id),
        hasenoughcapacity: suits,
        suitableformigration: suits,
      }
    })
  },
}

function migrate(call: Call): Outcome {
  const { state, params } = call
  const vm = needVm(state, params.need('virtualmachineid'))
  const hostid = params.text('hostid')
  const storageid = params.text('storageid')
  if (hostid !== null && storageid !== null) throw invalid('Only one of hostId and storageId can be specified')
  return job({
    ...vmJob(vm),
    duration_ms: 4000,
    event: vmEvent('VM.MIGRATE', 'Attempting to migrate VM', vm),
    begin: () => {
      const now = needVm(state, vm.id)
      if (storageid !== null) {
        requireState(now, ['Stopped'], 'VM is not Stopped, unable to migrate the vm having the specified id')
        return
      }
      requireState(now, ['Running'], 'VM is not Running, unable to migrate the vm with specified id')
      if (state.tables.gpudevices.by('vm', vm.id).length > 0)
        throw invalid('Live Migration of GPU enabled VM is not supported')
      if (hostid === now.hostid)
        throw invalid(
          call.spec.name === 'migrateVirtualMachineWithVolume'
            ? `Cannot migrate VM as it is already present on host ${state.tables.hosts.get(hostid)?.name ?? ''} (ID: ${hostid ?? ''}), please specify valid destination host to migrate the VM`
            : 'Cannot migrate VM, VM is already present on this host, please specify valid destination host to migrate the VM',
        )
      const host = hostid === null ? emptiest(call, vm.id) : state.tables.hosts.get(hostid)
      if (host === null || host.state !== 'Up' || host.resourcestate !== 'Enabled')
        throw invalid('Cannot migrate VM, destination host is not in correct state')
      if (call.spec.name !== 'migrateVirtualMachineWithVolume' && !reachesDisks(state, host, vm.id))
        throw internal(
          `Source and destination host are not in same cluster and all volumes are not on zone wide primary store, unable to migrate to host: ${host.name}`,
        )
      if (!fits(state, host, now)) throw internal('Host does not have enough capacity: insufficient resources')
      // The machine is accounted on its destination from the start of the move.
      setVm(state, vm.id, { state: 'Migrating', hostid: host.id, lasthostid: now.hostid })
    },
    end: () => {
      if (storageid === null) return vmView(state, setVm(state, vm.id, { state: 'Running' }))
      for (const volume of state.tables.volumes.by('vm', vm.id)) state.tables.volumes.put({ ...volume, storageid })
      return vmView(state, needVm(state, vm.id))
    },
    fail: () => {
      const now = needVm(state, vm.id)
      if (now.state === 'Migrating') setVm(state, vm.id, { state: 'Running', hostid: now.lasthostid })
    },
  })
}

/** Storage of one cluster is out of reach from another. */
function reachesDisks(state: SimulatorState, host: Host, vmid: string): boolean {
  return state.tables.volumes.by('vm', vmid).every(({ storageid }) => {
    const pool = storageid === null ? null : state.tables.storagepools.get(storageid)
    return pool === null || pool['scope'] !== 'CLUSTER' || pool['clusterid'] === host.clusterid
  })
}

function emptiest(call: Call, vmid: string): Host | null {
  const vm = needVm(call.state, vmid)
  const here = call.state.tables.hosts.get(vm.hostid)
  const others = call.state
    .hostsOf(here?.clusterid ?? '')
    .filter(
      (host) =>
        host.id !== vm.hostid && host.state === 'Up' && host.resourcestate === 'Enabled' && fits(call.state, host, vm),
    )
  return others.sort((a, b) => call.state.hostUse(a.id).memory_bytes - call.state.hostUse(b.id).memory_bytes)[0] ?? null
}
