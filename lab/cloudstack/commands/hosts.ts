/** Hosts that are taken out of service and removed, and machines of the platform's own that move between them. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { fits } from '../capacity.ts'
import { putStopped, setVm } from '../machines.ts'
import type { Host } from '../records.ts'
import type { Row } from '../row.ts'
import type { SimulatorState } from '../state.ts'
import { list, object, success } from '../wire.ts'
import { hostView, listRows, needHost } from './infrastructure.ts'

const NEW_HOST = { cpunumber: 64, cpusockets: 2, cpuspeed: 2400, memory_bytes: 512 * 1024 ** 3 } as const

export const hosts: Commands = {
  /** Signed in to by its address, and there at once. */
  addHost: (call) => {
    const { params, state } = call
    const [zoneid, podid] = [params.need('zoneid'), params.need('podid')]
    const clusterid = params.text('clusterid')
    const cluster = state.tables.clusters.get(clusterid)
    if (cluster === null) throw invalid(`Can not find cluster ${clusterid ?? ''}`)
    if (params.need('hypervisor') !== 'KVM') throw invalid(`Cannot find discoverer for ${params.need('hypervisor')}`)
    const address = URL.parse(params.need('url'))?.hostname
    if (address === undefined || address === '') throw invalid(`${params.need('url')} is not a valid uri`)
    if (params.text('username') === null) throw invalid('Username need to be provided.')
    if (state.tables.hosts.filter((host) => host.ipaddress === address).length > 0)
      throw internal(`Could not add host at [http://${address}] with zone [${zoneid}], pod [${podid}] and cluster [${cluster.id}] due to: [ can't setup agent, due to com.cloud.utils.exception.CloudRuntimeException: Skipping host ${address} because it already in the database].`) // biome-ignore format: one text
    const host = state.tables.hosts.put({
      ...NEW_HOST,
      id: randomUUID(),
      name: `host-${address}`,
      ipaddress: address,
      zoneid,
      podid,
      clusterid: cluster.id,
      state: 'Up',
      resourcestate: params.text('allocationstate') === 'Disabled' ? 'Disabled' : 'Enabled',
      ueficapability: true,
      hosttags: params.text('hosttags') ?? '',
      created: Date.now(),
      annotation: null,
    })
    call.event({
      type: 'HOST.ADD',
      description: `adding host ${address}`,
      resourcetype: 'Host',
      resourceid: host.id,
      resourcename: host.name,
    })
    return list([hostView(state, host, call.sample())], 1)
  },
  prepareHostForMaintenance: (call) => {
    const host = needHost(call, call.params.need('id'))
    return job({
      ...hostJob(host),
      duration_ms: 1500,
      event: hostEvent('MAINT.PREPARE', 'preparing host for maintenance', host),
      begin: () => {
        refuseMaintenance(call.state, needHost(call, host.id))
        setHost(call, host.id, { resourcestate: 'PrepareForMaintenance' })
      },
      end: () => {
        const emptied = emptyHost(call.state, needHost(call, host.id))
        return hostView(
          call.state,
          setHost(call, host.id, { resourcestate: emptied ? 'Maintenance' : 'ErrorInPrepareForMaintenance' }),
          call.sample(),
        )
      },
      fail: () => {
        if (needHost(call, host.id).resourcestate === 'PrepareForMaintenance')
          setHost(call, host.id, { resourcestate: 'ErrorInPrepareForMaintenance' })
      },
    })
  },
  cancelHostMaintenance: (call) => {
    const host = needHost(call, call.params.need('id'))
    return job({
      ...hostJob(host),
      duration_ms: 300,
      event: hostEvent('MAINT.CANCEL', 'canceling maintenance for host', host),
      begin: () => {
        const now = needHost(call, host.id)
        if (now.resourcestate === 'Enabled' || now.resourcestate === 'Disabled')
          throw internal(
            `Cannot perform cancelMaintenance when resource state is ${now.resourcestate}, host ${now.name}`,
          )
      },
      end: () => hostView(call.state, setHost(call, host.id, { resourcestate: 'Enabled' }), call.sample()),
    })
  },
  deleteHost: (call) => {
    const { params, state } = call
    const host = needHost(call, params.need('id'))
    if (params.bool('forced') !== true && host.resourcestate !== 'Maintenance')
      throw internal(
        `Host ${host.id} cannot be deleted as it is not in maintenance mode. Either put the host into maintenance or perform a forced deletion.`,
      )
    for (const vm of state.tables.vms.by('host', host.id)) putStopped(state, vm.id)
    for (const device of state.tables.gpudevices.by('host', host.id)) state.tables.gpudevices.remove(device.id)
    // Left out it counts as true: the host's own storage goes with it.
    if (params.bool('forcedestroylocalstorage') !== false)
      for (const pool of localPools(state, host)) state.tables.storagepools.remove(pool.id)
    state.tables.hosts.remove(host.id)
    call.event(hostEvent('HOST.DELETE', 'deleting host', host))
    return success()
  },
  updateHost: (call) => {
    const { params } = call
    const host = needHost(call, params.need('id'))
    const wanted = params.text('allocationstate')
    if (wanted !== null && wanted !== 'Enable' && wanted !== 'Disable')
      throw invalid(`Invalid resource allocation state: ${wanted}; valid values: Enable, Disable`)
    if (wanted !== null && host.resourcestate !== 'Enabled' && host.resourcestate !== 'Disabled')
      throw internal(`No next resource state found for host in state ${host.resourcestate} with event ${wanted}`)
    const next = setHost(call, host.id, {
      ...(wanted === null ? {} : { resourcestate: wanted === 'Enable' ? 'Enabled' : 'Disabled' }),
      ...(params.has('hosttags') ? { hosttags: params.text('hosttags') ?? '' } : {}),
      ...(params.has('annotation') ? { annotation: params.text('annotation') } : {}),
    })
    return object(hostView(call.state, next, call.sample()))
  },
  migrateSystemVm: (call) => {
    const { params, state } = call
    const id = params.need('virtualmachineid')
    const table = state.tables.systemvms.get(id) === null ? state.tables.routers : state.tables.systemvms
    const machine = table.get(id)
    if (machine === null) throw invalid('Unable to find the VM by id')
    const wanted = params.text('hostid')
    return job({
      instancetype: 'SystemVm',
      instanceid: id,
      queue: `systemvm/${id}`,
      duration_ms: 2000,
      begin: () => {
        const host = state.tables.hosts.get(wanted)
        if (wanted !== null && (host?.state !== 'Up' || host.resourcestate !== 'Enabled'))
          throw invalid('Cannot migrate system VM, destination host is not in correct state')
      },
      end: () => {
        const host = wanted === null ? anyOther(state, machine) : state.tables.hosts.get(wanted)
        if (host === null) throw internal('Unable to find a suitable destination to migrate system VM')
        return table.put({ ...machine, hostid: host.id, hostname: host.name })
      },
    })
  },
  listStoragePools: (call) =>
    listRows(call, call.state.tables.storagepools.values(), [
      'name',
      'zoneid',
      'clusterid',
      'podid',
      'ipaddress',
      'path',
      'scope',
    ]),
}

function hostJob({ id }: Host) {
  return { instancetype: 'Host', instanceid: id, queue: `host/${id}` }
}

function hostEvent(type: string, description: string, host: Host) {
  return {
    type,
    description: `${description}: ${host.name}`,
    resourcetype: 'Host',
    resourceid: host.id,
    resourcename: host.name,
  }
}

function setHost(call: Call, id: string, set: Partial<Host>): Host {
  return call.state.tables.hosts.put({ ...needHost(call, id), ...set })
}

function refuseMaintenance(state: SimulatorState, host: Host): void {
  const { resourcestate, name } = host
  if (resourcestate === 'PrepareForMaintenance' || resourcestate === 'Maintenance')
    throw internal(`Host ${name} is already in state ${resourcestate}. Cannot recall for maintenance until resolved.`)
  const others = state.hostsOf(host.clusterid).filter((one) => one.id !== host.id)
  if (others.some((one) => one.resourcestate.endsWith('PrepareForMaintenance')))
    throw internal(
      'There are other servers attempting migrations for maintenance. Found hosts in PrepareForMaintenance OR ErrorInPrepareForMaintenance STATUS in cluster',
    )
  const vms = state.tables.vms.by('host', host.id)
  const uses_local = localPools(state, host).some((pool) =>
    vms.some((vm) => state.tables.volumes.by('vm', vm.id).some(({ storageid }) => storageid === pool.id)),
  )
  if (uses_local)
    throw internal(
      "There are active VMs using the host's local storage pool. Please stop all VMs on this host that use local storage.",
    )
  const inStates = (...states: string[]): boolean => vms.some((vm) => states.includes(vm.state))
  if (inStates('Migrating'))
    throw internal(
      'Host contains incoming VMs migrating. Please wait for them to complete before putting to maintenance.',
    )
  if (inStates('Starting', 'Stopping'))
    throw internal(
      'Host contains VMs in starting/stopping state. Please wait for them to complete before putting to maintenance.',
    )
  if (inStates('Error', 'Unknown', 'Shutdown'))
    throw internal('Host contains VMs in error/unknown/shutdown state. Please fix errors to proceed.')
}

function localPools(state: SimulatorState, host: Host): Row[] {
  return state.tables.storagepools.filter((pool) => pool['scope'] === 'HOST' && pool['ipaddress'] === host.ipaddress)
}

/** Moves what can move; the last host of a cluster stops what it has. False: something stays. */
function emptyHost(state: SimulatorState, host: Host): boolean {
  const others = state
    .hostsOf(host.clusterid)
    .filter((one) => one.id !== host.id && one.state === 'Up' && one.resourcestate === 'Enabled')
  let emptied = true
  for (const vm of state.tables.vms.by('host', host.id)) {
    const target = others.find((one) => fits(state, one, vm))
    const has_gpu = state.tables.gpudevices.by('vm', vm.id).length > 0
    if (others.length === 0) putStopped(state, vm.id)
    else if (target === undefined || has_gpu) emptied = false
    else setVm(state, vm.id, { hostid: target.id, lasthostid: host.id })
  }
  for (const table of [state.tables.routers, state.tables.systemvms]) {
    for (const machine of table.filter((one) => one['hostid'] === host.id)) {
      const [target] = others
      table.put({
        ...machine,
        ...(target === undefined
          ? { hostid: null, hostname: null, state: 'Stopped' }
          : { hostid: target.id, hostname: target.name }),
      })
    }
  }
  return emptied
}

function anyOther(state: SimulatorState, machine: Row): Host | null {
  return state.tables.hosts.find(
    (host) => host.id !== machine['hostid'] && host.state === 'Up' && host.resourcestate === 'Enabled',
  )
}
