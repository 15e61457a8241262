/** What the site is made of: zones, pods, clusters, hosts, storage, servers, and the maintenance of hosts. */
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import { overcommit } from '../capacity.ts'
import type { Host } from '../records.ts'
import type { Json, Row } from '../row.ts'
import { noise } from '../../site.ts'
import { requireDetails, idTest, keywordTest, paged, same } from '../scope.ts'
import { text } from '../owner-view.ts'
import { mayCall } from '../rights.ts'
import type { SimulatorState } from '../state.ts'
import { list, object, wireDate } from '../wire.ts'

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
    requireDetails(call, ['all', 'capacity', 'events', 'stats', 'min'])
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
  listPhysicalNetworks: (call) => listRows(call, call.state.tables.physicalnetworks.values(), ['zoneid', 'name']),
  /** The zone has no security groups; every account has its default one all the same. */
  listSecurityGroups: (call) => {
    const { id, name } = call.caller.account
    const group = {
      id,
      name: 'default',
      description: 'Default Security Group',
      account: name,
      ingressrule: [],
      egressrule: [],
    }
    return list([{ ...group, tags: [], virtualmachinecount: 0, virtualmachineids: [] }], 1)
  },
  listCapabilities: () => object(CAPABILITIES),
  listApis: (call) => {
    const name = call.params.text('name')?.toLowerCase() ?? null
    const found = [...call.catalogue.values()].filter(
      (spec) => (name === null || spec.name.toLowerCase() === name) && mayCall(spec, call.caller),
    )
    if (name !== null && found.length === 0)
      throw internal('Api Discovery plugin was unable to find an api by that name or process any apis')
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
}

export function needHost(call: Call, id: string): Host {
  const host = call.state.tables.hosts.get(id)
  if (host === null) throw invalid(`Unable to find host with ID ${id}: entity does not exist`)
  return host
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
