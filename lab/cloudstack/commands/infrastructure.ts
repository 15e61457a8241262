/** What the site is made of: zones, pods, clusters, hosts, storage, servers, and the maintenance of hosts. */
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import { overcommit } from '../capacity.ts'
import type { Host } from '../records.ts'
import type { Json, Row } from '../row.ts'
import { noise } from '../../site.ts'
import { idTest, keywordTest, paged, pagedByLength, same } from '../scope.ts'
import { text } from '../owner-view.ts'
import type { SimulatorState } from '../state.ts'
import { inline, list, object, success, wireDate } from '../wire.ts'

/** Lists a kind that is kept in the shape of its answer, filtered by the named fields. */
export function listRows(
  call: Call,
  rows: Iterable<Row>,
  filters: string[],
  view: (row: Row) => Json = (row) => ({ ...row }),
): Outcome {
  const matches = filters.map((name) => ({ name, test: same(call, name) }))
  const keyword = keywordTest(call)
  const byId = idTest(call)
  const found: Row[] = []
  for (const row of rows) {
    if (!byId(row.id) || !keyword(text(row['name']))) continue
    if (
      matches.every(({ name, test }) => test(row[name] === undefined || row[name] === null ? null : String(row[name])))
    )
      found.push(row)
  }
  return paged(call, found, view)
}

export const infrastructure: Commands = {
  listZones: (call) => {
    const outcome = call.state.tables.zones.filter((zone) => {
      const available = call.params.bool('available')
      return (
        idTest(call)(zone.id) &&
        same(call, 'name')(text(zone['name'])) &&
        same(call, 'networktype')(text(zone['networktype'])) &&
        keywordTest(call)(text(zone['name'])) &&
        (available !== true || zone['allocationstate'] === 'Enabled')
      )
    })
    return paged(call, outcome, (zone) => ({ ...zone, ...gpuTotals(call.state) }))
  },
  listPods: (call) => listRows(call, call.state.tables.pods.values(), ['name', 'zoneid', 'allocationstate']),
  listClusters: (call) => {
    const { params } = call
    const hypervisor = params.text('hypervisor')
    const rows = call.state.tables.clusters.filter(
      (cluster) => hypervisor === null || text(cluster['hypervisortype']) === hypervisor,
    )
    return listRows(call, rows, ['name', 'podid', 'zoneid', 'clustertype', 'allocationstate', 'managedstate', 'arch'])
  },
  listHosts: (call) => {
    const { params, state } = call
    const keyword = keywordTest(call)
    const tests = (['clusterid', 'name', 'podid', 'state', 'zoneid', 'resourcestate'] as const).map((name) => ({
      name,
      test: same(call, name),
    }))
    const type = params.text('type')
    const byId = idTest(call)
    const hypervisor = params.text('hypervisor')
    if (
      (type !== null && type !== 'Routing') ||
      (hypervisor !== null && hypervisor !== 'KVM') ||
      params.bool('hahost') === true
    )
      return paged(call, [], () => null)
    const found = state.tables.hosts.filter(
      (host) =>
        byId(host.id) && keyword(host.name, host.ipaddress) && tests.every(({ name, test }) => test(host[name])),
    )
    const sample = call.sample()
    return paged(call, found, (host) => hostView(state, host, sample))
  },
  listStoragePools: (call) => {
    const rows = [...call.state.tables.storagepools.values()].map((pool) => poolView(call.state, pool))
    return listRows(call, rows, ['name', 'zoneid', 'scope', 'path', 'ipaddress'])
  },
  listImageStores: (call) => listRows(call, call.state.tables.imagestores.values(), ['name', 'protocol', 'zoneid']),
  listManagementServers: (call) =>
    listRows(
      call,
      [...call.state.tables.managementservers.values()].map((server) => ({
        ...server,
        pendingjobscount: 0,
        agentscount: call.state.tables.hosts.size,
      })),
      ['name'],
    ),
  listPhysicalNetworks: (call) => listRows(call, call.state.tables.physicalnetworks.values(), ['zoneid', 'name']),
  listTrafficTypes: (call) => listRows(call, call.state.tables.traffictypes.values(), ['physicalnetworkid']),
  listHypervisors: (call) => pagedByLength(call, ['KVM', 'VMware', 'XenServer'], (name) => ({ name })),
  listRoles: (call) => listRows(call, call.state.tables.roles.values(), ['name', 'type', 'state']),
  /** The zone is an advanced one without security groups. */
  listSecurityGroups: () => list([], 0),
  listCapabilities: () => object(CAPABILITIES),
  listApis: (call) => {
    const name = call.params.text('name')?.toLowerCase() ?? null
    const found = [...call.catalogue.values()].filter((spec) => name === null || spec.name.toLowerCase() === name)
    if (name !== null && found.length === 0)
      throw invalid(`The API name ${name} does not exist or is not available for user`)
    return {
      kind: 'list',
      count: found.length,
      rows: found.map((spec) => ({
        name: spec.name,
        description: '',
        since: '',
        isasync: spec.isasync,
        related: '',
        response: [],
        params: spec.params.map((param) => ({
          name: param.name,
          description: '',
          type: param.type,
          length: param.length ?? 255,
          required: param.required,
        })),
      })),
    }
  },
  listUsageTypes: (call) => pagedByLength(call, USAGE_TYPES, ([id, name, description]) => ({ id, name, description })),
  getCloudIdentifier: (call) =>
    inline({ cloudidentifier: { userid: call.caller.user.id, cloudidentifier: 'groundplane-lab', signature: '' } }),
  prepareHostForMaintenance: (call) => {
    const host = needHost(call, call.params.need('id'))
    return job({
      instancetype: 'Host',
      instanceid: host.id,
      duration_ms: 3000,
      event: subject('MAINT.PREPARE', 'preparing host for maintenance', host),
      begin: () => {
        const now = needHost(call, host.id)
        if (now.resourcestate !== 'Enabled')
          throw internal(`Unable to prepare for maintenance: host is in resource state ${now.resourcestate}`)
        if (now.state !== 'Up')
          throw invalid(`Unable to prepare host for maintenance: it is not in Up state (${now.state})`)
        call.state.tables.hosts.put({ ...now, resourcestate: 'PrepareForMaintenance' })
      },
      end: () => {
        evacuate(call.state, host.id)
        const left = call.state.hostUse(host.id).vms > 0
        return hostView(
          call.state,
          call.state.tables.hosts.put({
            ...needHost(call, host.id),
            resourcestate: left ? 'ErrorInMaintenance' : 'Maintenance',
          }),
          call.sample(),
        )
      },
      fail: () => call.state.tables.hosts.put({ ...needHost(call, host.id), resourcestate: 'Enabled' }),
    })
  },
  cancelHostMaintenance: (call) => {
    const host = needHost(call, call.params.need('id'))
    return job({
      instancetype: 'Host',
      instanceid: host.id,
      duration_ms: 1000,
      event: subject('MAINT.CANCEL', 'cancelling maintenance of host', host),
      begin: () => {
        const { resourcestate } = needHost(call, host.id)
        if (resourcestate === 'Enabled' || resourcestate === 'Disabled')
          throw invalid(`Unable to cancel host maintenance: the host is in resource state ${resourcestate}`)
      },
      end: () =>
        hostView(
          call.state,
          call.state.tables.hosts.put({ ...needHost(call, host.id), resourcestate: 'Enabled' }),
          call.sample(),
        ),
    })
  },
  deleteHost: (call) => {
    const host = needHost(call, call.params.need('id'))
    if (host.resourcestate !== 'Maintenance' && call.params.bool('forced') !== true)
      throw internal(
        `Host ${host.name} cannot be deleted as it is not in maintenance mode. Either put the host into maintenance or perform a forced deletion.`,
      )
    for (const vm of call.state.tables.vms.by('host', host.id))
      call.state.tables.vms.put({ ...vm, state: 'Stopped', hostid: null })
    for (const device of call.state.tables.gpudevices.by('host', host.id))
      call.state.tables.gpudevices.remove(device.id)
    call.state.tables.hosts.remove(host.id)
    call.event(subject('HOST.DELETE', 'deleting host', host))
    return success()
  },
  updateHost: (call) => {
    const host = needHost(call, call.params.need('id'))
    const wanted = call.params.text('allocationstate')
    if (wanted !== null && wanted !== 'Enable' && wanted !== 'Disable')
      throw invalid(`Unable to resolve ${wanted} to a supported resource state event`)
    const resourcestate = wanted === null ? host.resourcestate : wanted === 'Enable' ? 'Enabled' : 'Disabled'
    const next = call.state.tables.hosts.put({
      ...host,
      resourcestate,
      name: call.params.text('name') ?? host.name,
      annotation: call.params.text('annotation') ?? host.annotation,
      hosttags: call.params.has('hosttags') ? call.params.list('hosttags').join(',') : host.hosttags,
    })
    return object(hostView(call.state, next, call.sample()))
  },
  reconnectHost: (call) => {
    const host = needHost(call, call.params.need('id'))
    return job({
      instancetype: 'Host',
      instanceid: host.id,
      duration_ms: 1000,
      event: subject('HOST.RECONNECT', 'reconnecting host', host),
      end: () =>
        hostView(call.state, call.state.tables.hosts.put({ ...needHost(call, host.id), state: 'Up' }), call.sample()),
    })
  },
}

export function needHost(call: Call, id: string): Host {
  const host = call.state.tables.hosts.get(id)
  if (host === null) throw invalid(`Unable to find host with ID ${id}: entity does not exist`)
  return host
}

function subject(
  type: string,
  description: string,
  host: Host,
): { type: string; description: string; resourcetype: string; resourceid: string; resourcename: string } {
  return {
    type,
    description: `${description}. Host Id: ${host.id}`,
    resourcetype: 'Host',
    resourceid: host.id,
    resourcename: host.name,
  }
}

/** Moves running machines to the emptiest other host of the same cluster; what finds no place stays. */
function evacuate(state: SimulatorState, hostid: string): void {
  const host = state.tables.hosts.get(hostid)
  if (host === null) return
  for (const vm of state.tables.vms.by('host', hostid)) {
    const [target] = state
      .hostsOf(host.clusterid)
      .filter((one) => one.id !== hostid && one.state === 'Up' && one.resourcestate === 'Enabled')
      .sort((a, b) => state.hostUse(a.id).memory_bytes - state.hostUse(b.id).memory_bytes)
    const pinned = state.tables.gpudevices.by('vm', vm.id).length > 0
    if (target !== undefined && !pinned) state.tables.vms.put({ ...vm, hostid: target.id, lasthostid: hostid })
  }
}

export function hostView(state: SimulatorState, host: Host, sample: number): Record<string, Json> {
  const use = state.hostUse(host.id)
  const cluster = state.tables.clusters.get(host.clusterid)
  const factor = overcommit(state, host.clusterid)
  const cpu_mhz = host.cpunumber * host.cpuspeed
  const load =
    use.cpu_mhz === 0
      ? 2
      : Math.min(
          95,
          (use.cpu_mhz / (cpu_mhz * factor.cpu)) * 100 * (0.3 + 0.5 * noise(sample, host.cpunumber + host.name.length)),
        )
  const gpus = state.tables.gpudevices.by('host', host.id).filter((device) => device.gpudevicetype !== 'VGPUOnly')
  return {
    id: host.id,
    name: host.name,
    state: host.state,
    type: 'Routing',
    ipaddress: host.ipaddress,
    zoneid: host.zoneid,
    zonename: text(state.tables.zones.get(host.zoneid)?.['name']),
    podid: host.podid,
    podname: text(state.tables.pods.get(host.podid)?.['name']),
    clusterid: host.clusterid,
    clustername: text(cluster?.['name']),
    clustertype: 'CloudManaged',
    version: '4.22.0.0',
    hypervisor: 'KVM',
    cpusockets: host.cpusockets,
    cpunumber: host.cpunumber,
    cpuspeed: host.cpuspeed,
    cpuused: `${load.toFixed(2)}%`,
    cpuloadaverage: Math.round(load * host.cpunumber) / 100,
    cpuallocatedvalue: use.cpu_mhz,
    cpuallocated: percent(use.cpu_mhz, cpu_mhz),
    cpuallocatedpercentage: percent(use.cpu_mhz, cpu_mhz),
    cpuallocatedwithoverprovisioning: percent(use.cpu_mhz, cpu_mhz * factor.cpu),
    cpuwithoverprovisioning: String(cpu_mhz * factor.cpu),
    memorytotal: host.memory_bytes,
    memorywithoverprovisioning: String(host.memory_bytes * factor.memory),
    memoryallocated: use.memory_bytes,
    memoryallocatedbytes: use.memory_bytes,
    memoryallocatedpercentage: percent(use.memory_bytes, host.memory_bytes),
    memoryused: Math.round((use.memory_bytes / 1024) * 0.8),
    networkkbsread: Math.round(noise(sample, 1) * 1e6),
    networkkbswrite: Math.round(noise(sample, 2) * 1e6),
    gputotal: gpus.length,
    gpuused: gpus.filter((device) => device.state === 'Allocated').length,
    lastpinged: wireDate(Date.now() - 30_000),
    created: wireDate(host.created),
    events: 'ShutdownRequested; AgentDisconnected; Ping; HostDown; ManagementServerDown',
    resourcestate: host.resourcestate,
    hypervisorversion: '10.0.0',
    hahost: false,
    capabilities: 'hvm,snapshot',
    hosttags: host.hosttags === '' ? null : host.hosttags,
    explicithosttags: host.hosttags === '' ? null : host.hosttags,
    ueficapability: host.ueficapability,
    encryptionsupported: true,
    instanceconversionsupported: true,
    islocalstorageactive: false,
    arch: 'x86_64',
    annotation: host.annotation,
    managementserverid: state.tables.managementservers.values().next().value?.id ?? null,
    managementservername: 'mgmt-01',
    hasannotations: host.annotation !== null,
  }
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? '0.00' : ((part / whole) * 100).toFixed(2)}%`
}

function gpuTotals(state: SimulatorState): Record<string, number> {
  const devices = state.tables.gpudevices.filter((device) => device.gpudevicetype !== 'VGPUOnly')
  return { gputotal: devices.length, gpuused: devices.filter((device) => device.state === 'Allocated').length }
}

function poolView(state: SimulatorState, pool: Row): Row {
  const allocated = state.poolUse(pool.id)
  return {
    ...pool,
    disksizeallocated: allocated,
    disksizeused: Math.round(allocated * 0.6),
    capacitybytes: pool['disksizetotal'] ?? 0,
  }
}

const CAPABILITIES: Record<string, Json> = {
  cloudstackversion: '4.22.0.0',
  securitygroupsenabled: false,
  dynamicrolesenabled: true,
  userpublictemplateenabled: true,
  supportELB: 'false',
  projectinviterequired: false,
  allowusercreateprojects: true,
  customdiskofferingminsize: 1,
  customdiskofferingmaxsize: 1024,
  regionsecondaryenabled: false,
  kvmsnapshotenabled: true,
  allowuserviewdestroyedvm: false,
  allowuserexpungerecovervm: false,
  allowuserexpungerecovervolume: false,
  allowuserviewalldomainaccounts: false,
  allowuserforcestopvm: true,
  kubernetesserviceenabled: false,
  kubernetesclusterexperimentalfeaturesenabled: false,
  customhypervisordisplayname: 'Custom',
  defaultuipagesize: 20,
  instancesstatsretentiontime: 720,
  instancesstatsuseronly: false,
  instancesdisksstatsretentionenabled: false,
  instancesdisksstatsretentiontime: 720,
  instanceleaseenabled: true,
  extensionspath: '/usr/share/cloudstack-management/extensions',
  dynamicscalingenabled: true,
  additionalconfigenabled: true,
}

const USAGE_TYPES: [number, string, string][] = [
  [1, 'RUNNING_VM', 'Running Vm Usage'],
  [2, 'ALLOCATED_VM', 'Allocated Vm Usage'],
  [3, 'IP_ADDRESS', 'IP Address Usage'],
  [4, 'NETWORK_BYTES_SENT', 'Network Usage (Bytes Sent)'],
  [5, 'NETWORK_BYTES_RECEIVED', 'Network Usage (Bytes Received)'],
  [6, 'VOLUME', 'Volume Usage'],
  [7, 'TEMPLATE', 'Template Usage'],
  [8, 'ISO', 'ISO Usage'],
  [9, 'SNAPSHOT', 'Snapshot Usage'],
  [11, 'LOAD_BALANCER_POLICY', 'Load Balancer Usage'],
  [12, 'PORT_FORWARDING_RULE', 'Port Forwarding Usage'],
  [13, 'NETWORK_OFFERING', 'Network Offering Usage'],
  [14, 'VPN_USERS', 'VPN users usage'],
  [25, 'VM_SNAPSHOT', 'VM Snapshot storage usage'],
  [28, 'BACKUP', 'Backup storage usage'],
]
