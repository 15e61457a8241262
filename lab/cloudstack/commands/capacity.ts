/** listCapacity, whose numbers follow the machines, and the settings that say when a cluster is full. */
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import { clusterRoom } from '../capacity.ts'
import { text } from '../owner-view.ts'
import type { Configuration } from '../records.ts'
import type { Json } from '../row.ts'
import { keywordTest, paged, same } from '../scope.ts'
import type { SimulatorState } from '../state.ts'
import { list, object } from '../wire.ts'

const NAMES: Readonly<Record<number, string>> = {
  0: 'MEMORY',
  1: 'CPU',
  2: 'STORAGE',
  3: 'STORAGE_ALLOCATED',
  4: 'VIRTUAL_NETWORK_PUBLIC_IP',
  5: 'PRIVATE_IP',
  6: 'SECONDARY_STORAGE',
  7: 'VLAN',
  19: 'GPU',
  90: 'CPU_CORE',
}

interface Amount {
  type: number
  used: number
  total: number
}

export const capacity: Commands = {
  /** Paging is ignored upstream, and the count is the number of rows. */
  listCapacity: (call) => {
    const { params, state } = call
    const clusterid = params.text('clusterid')
    const type = params.int('type')
    const sort = params.text('sortby')
    if (sort !== null && sort !== 'usage') throw invalid('Only value supported for sortBy parameter is : usage')
    if (sort !== null && params.text('zoneid') !== null)
      throw internal(
        'Cannot invoke "com.cloud.dc.HostPodVO.getUuid()" because the return value of "com.cloud.api.ApiDBUtils.findPodById(java.lang.Long)" is null',
      )
    const amounts = clusterid === null ? zoneAmounts(state) : clusterAmounts(state, [clusterid])
    const zone = state.tables.zones.values().next().value
    const place: Record<string, Json> = { zoneid: zone?.id ?? null, zonename: text(zone?.['name']) }
    if (clusterid !== null || params.text('podid') !== null) {
      const pod = state.tables.pods.values().next().value
      Object.assign(place, { podid: pod?.id ?? null, podname: text(pod?.['name']) })
    }
    if (clusterid !== null)
      Object.assign(place, { clusterid, clustername: text(state.tables.clusters.get(clusterid)?.['name']) })
    const wanted = amounts.filter((one) => type === null || one.type === type)
    if (sort !== null) wanted.sort((a, b) => share(b) - share(a))
    return list(
      wanted.map((one) => ({
        type: one.type,
        name: NAMES[one.type] ?? null,
        ...place,
        capacityallocated: 0,
        capacityused: one.used,
        capacitytotal: one.total,
        percentused: (share(one) * 100).toFixed(2),
      })),
      wanted.length,
    )
  },
  listConfigurations: (call) => {
    const { params, state } = call
    const name = params.text('name')
    const keyword = keywordTest(call)
    const category = same(call, 'category')
    const scope =
      ['clusterid', 'zoneid', 'storageid', 'accountid', 'domainid']
        .map((one) => params.text(one))
        .find((id) => id !== null) ?? null
    const found = state.tables.configurations.filter(
      (one) =>
        (name === null || one.name === name) &&
        category(one.category) &&
        keyword(one.name) &&
        (params.text('clusterid') === null || one.scope === 'Cluster'),
    )
    return paged(call, found, (one) => configurationView(one, scope))
  },
  updateConfiguration: (call) => {
    const { params, state } = call
    const one = state.tables.configurations.by('name', params.need('name'))[0]
    if (one === undefined) throw invalid(`Config parameter with name ${params.need('name')} doesn't exist`)
    const scope = scopeOf(call)
    const value = params.text('value') ?? ''
    if (/^\d+$/.test(one.defaultvalue) && !/^-?\d*$/.test(value))
      throw invalid(`Value [${value}] is not a valid [class java.lang.Integer].`)
    const next = scope === null ? { ...one, value } : { ...one, overrides: { ...one.overrides, [scope]: value } }
    state.tables.configurations.put(next)
    call.event({
      type: 'CONFIGURATION.VALUE.EDIT',
      description: `updating configuration ${one.name}`,
      resourcetype: 'Configuration',
      resourceid: null,
      resourcename: one.name,
    })
    return object(configurationView(next, scope))
  },
}

function scopeOf(call: Call): string | null {
  return (
    ['clusterid', 'zoneid', 'storageid', 'accountid', 'domainid']
      .map((one) => call.params.text(one))
      .find((id) => id !== null) ?? null
  )
}

function configurationView(one: Configuration, scope: string | null): Record<string, Json> {
  return {
    name: one.name,
    category: one.category,
    value: (scope === null ? undefined : one.overrides[scope]) ?? one.value,
    defaultvalue: one.defaultvalue,
    scope: one.scope,
    description: one.description,
    isdynamic: true,
    component: 'management-server',
    displaytext: one.name,
    type: /^\d+$/.test(one.defaultvalue) ? 'Number' : 'String',
    group: 'Miscellaneous',
    subgroup: 'Others',
  }
}

function share(one: Amount): number {
  return one.total === 0 ? 0 : one.used / one.total
}

function clusterAmounts(state: SimulatorState, clusterids: Iterable<string>): Amount[] {
  const sum = {
    memory: { type: 0, used: 0, total: 0 },
    cpu: { type: 1, used: 0, total: 0 },
    cores: { type: 90, used: 0, total: 0 },
  }
  for (const id of clusterids) {
    const room = clusterRoom(state, id)
    sum.memory.used += room.memory_used_bytes
    sum.memory.total += room.memory_total_bytes
    sum.cpu.used += room.cpu_used_mhz
    sum.cpu.total += room.cpu_total_mhz
    sum.cores.used += room.cores_used
    sum.cores.total += room.cores_total
  }
  return [sum.memory, sum.cpu, sum.cores]
}

function zoneAmounts(state: SimulatorState): Amount[] {
  const { tables } = state
  const storage = { used: 0, allocated: 0, total: 0, overcommitted: 0 }
  for (const pool of tables.storagepools.values()) {
    const total = Number(pool['disksizetotal'] ?? 0)
    const allocated = state.poolUse(pool.id)
    storage.total += total
    storage.overcommitted += total * Number(pool['overprovisionfactor'] ?? 1)
    storage.allocated += allocated
    storage.used += Math.round(allocated * 0.6)
  }
  const images = [...tables.imagestores.values()]
  const addresses = [...tables.addresses.values()].filter((address) => !address.issystem)
  const devices = tables.gpudevices.filter(
    (device) => device.gpudevicetype !== 'VGPUOnly' && device.managedstate === 'Managed',
  )
  const networks = [...tables.networks.values()].filter((network) => network.vlan !== null)
  return [
    ...clusterAmounts(
      state,
      [...tables.clusters.values()].map((cluster) => cluster.id),
    ),
    { type: 2, used: storage.used, total: storage.total },
    { type: 3, used: storage.allocated, total: storage.overcommitted },
    { type: 4, used: addresses.filter((address) => address.state !== 'Free').length, total: addresses.length },
    { type: 5, used: tables.systemvms.size + tables.routers.size, total: 241 },
    {
      type: 6,
      used: images.reduce((sum, one) => sum + Number(one['disksizeused'] ?? 0), 0),
      total: images.reduce((sum, one) => sum + Number(one['disksizetotal'] ?? 0), 0),
    },
    { type: 7, used: networks.length, total: 1000 },
    { type: 19, used: devices.filter((device) => device.state === 'Allocated').length, total: devices.length },
  ]
}
