/** Service, disk, network and VPC offerings. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import type { DiskOffering, ServiceOffering } from '../records.ts'
import { servicesOf } from '../network-view.ts'
import { text } from '../owner-view.ts'
import type { Json, Row } from '../row.ts'
import { idTest, keywordTest, paged, same } from '../scope.ts'
import { diskOffering } from '../seed/offerings.ts'
import { object, wireDate } from '../wire.ts'
import { listRows } from './infrastructure.ts'

/** Parameters of rates by the name they have in the answer. */
const RATES: readonly (readonly [param: string, field: string])[] = [
  ['bytesreadrate', 'diskBytesReadRate'],
  ['byteswriterate', 'diskBytesWriteRate'],
  ['iopsreadrate', 'diskIopsReadRate'],
  ['iopswriterate', 'diskIopsWriteRate'],
  ['miniops', 'miniops'],
  ['maxiops', 'maxiops'],
]

export const offerings: Commands = {
  listServiceOfferings: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const name = same(call, 'name')
    const keyword = keywordTest(call)
    const wanted = params.text('state') ?? 'Active'
    const profile = same(call, 'vgpuprofileid')
    const gpu = params.bool('gpuenabled')
    const cpu = params.int('cpunumber')
    const memory = params.int('memory')
    const vm = state.tables.vms.get(params.text('virtualmachineid'))
    if (params.bool('issystem') === true) return paged(call, [], () => null)
    const found = state.tables.serviceofferings.filter(
      (one) =>
        byId(one.id) &&
        name(one.name) &&
        keyword(one.name, one.displaytext) &&
        (wanted.toLowerCase() === 'all' || one.state === wanted) &&
        profile(one.vgpuprofileid) &&
        (gpu === null || (one.vgpuprofileid !== null) === gpu) &&
        (cpu === null || one.iscustomized || (one.cpunumber ?? 0) >= cpu) &&
        (memory === null || one.iscustomized || (one.memory ?? 0) >= memory) &&
        (vm === null || one.id !== vm.serviceofferingid || one.iscustomized),
    )
    return paged(call, found, (one) => serviceView(call, one))
  },
  listDiskOfferings: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const name = same(call, 'name')
    const storage = same(call, 'storagetype')
    const keyword = keywordTest(call)
    const wanted = params.text('state') ?? 'Active'
    if (wanted.toLowerCase() !== 'all') stateOf(wanted)
    const zoneid = params.text('zoneid')
    const domainid = params.text('domainid')
    const vm = params.text('virtualmachineid')
    const encrypt = params.bool('encrypt')
    const found = state.tables.diskofferings.filter(
      (one) =>
        byId(one.id) &&
        name(one.name) &&
        storage(one.storagetype) &&
        keyword(one.name, one.displaytext) &&
        (wanted.toLowerCase() === 'all' || one.state === wanted) &&
        (encrypt === null || one.encrypt === encrypt) &&
        (zoneid === null || one.zoneids.length === 0 || one.zoneids.includes(zoneid)) &&
        (domainid === null || one.domainids.length === 0 || one.domainids.includes(domainid)),
    )
    return paged(call, found, (one) => ({
      ...diskView(call, one),
      ...(vm === null ? {} : { suitableforvirtualmachine: one.storagetype === 'shared' }),
    }))
  },
  createDiskOffering: (call) => {
    const { params, state } = call
    const customized = params.bool('customized') ?? false
    const disksize = params.int('disksize')
    if (!customized && disksize === null) throw invalid('Disksize is required for a non-customized disk offering')
    if (customized && disksize !== null) throw invalid('Disksize is not allowed for a customized disk offering')
    if (disksize !== null && disksize < 1) throw invalid('Please specify a disk size of at least 1 GB.')
    if (disksize !== null && disksize > 1024) throw invalid('The maximum size for a disk is 1024 GB.')
    const storagetype = params.text('storagetype') ?? 'shared'
    if (storagetype !== 'shared' && storagetype !== 'local')
      throw invalid(`Invalid storage type ${storagetype} specified, valid types are: 'local' and 'shared'`)
    const provisioningtype = params.text('provisioningtype') ?? 'thin'
    if (!['thin', 'sparse', 'fat'].includes(provisioningtype)) throw internal('Code is not implemented')
    const cachemode = params.text('cachemode') ?? 'none'
    if (!['none', 'writeback', 'writethrough', 'hypervisor_default'].includes(cachemode))
      throw invalid(
        `Invalid cache mode (${cachemode}). Please specify one of the following valid cache mode parameters: none, writeback, writethrough or hypervisor_default.`,
      )
    const one = state.tables.diskofferings.put(
      diskOffering(randomUUID(), params.need('name'), Date.now(), {
        displaytext: params.text('displaytext') ?? params.need('name'),
        disksize: disksize ?? 0,
        iscustomized: customized,
        storagetype,
        provisioningtype,
        tags: params.text('tags'),
        domainids: params.list('domainid'),
        zoneids: params.list('zoneid'),
        displayoffering: params.bool('displayoffering') ?? true,
        disksizestrictness: params.bool('disksizestrictness') ?? false,
        encrypt: params.bool('encrypt') ?? false,
        cachemode,
        iscustomizediops: params.bool('customizediops') ?? false,
        rates: rates(call, {}),
      }),
    )
    call.event({
      type: 'DISK.OFFERING.CREATE',
      description: `creating disk offering ${one.name}`,
      resourcetype: 'DiskOffering',
      resourceid: one.id,
      resourcename: one.name,
    })
    return object(diskView(call, one))
  },
  updateDiskOffering: (call) => {
    const { params, state } = call
    const one = need(state.tables.diskofferings.get(params.need('id')), 'disk offering')
    const next = state.tables.diskofferings.put({
      ...one,
      name: params.text('name') ?? one.name,
      displaytext: params.text('displaytext') ?? one.displaytext,
      sortkey: params.int('sortkey') ?? one.sortkey,
      displayoffering: params.bool('displayoffering') ?? one.displayoffering,
      tags: params.has('tags') ? params.text('tags') : one.tags,
      state: stateOf(params.text('state')) ?? one.state,
      cachemode: params.text('cachemode') ?? one.cachemode,
      domainids: places(call, 'domainid', 'public') ?? one.domainids,
      zoneids: places(call, 'zoneid', 'all') ?? one.zoneids,
      rates: rates(call, one.rates),
    })
    return object(diskView(call, next))
  },
  listNetworkOfferings: (call) => {
    const networkid = call.params.text('networkid')
    const network = call.state.tables.networks.get(networkid)
    const forvpc = call.params.bool('forvpc')
    const domainid = call.params.text('domainid')
    const rows = call.state.tables.networkofferings.filter(
      (one) =>
        (forvpc === null || one['forvpc'] === forvpc) &&
        (network === null || one['guestiptype'] === network.type) &&
        (domainid === null || (text(one['domainid']) ?? domainid) === domainid),
    )
    const filters = ['name', 'traffictype', 'state', 'guestiptype', 'availability']
    return listRows(call, rows, filters, (one) => ({ ...one, service: offeredServices(one) }))
  },
}

function need<T>(one: T | null, kind: string): T {
  if (one === null) throw invalid(`Unable to find ${kind}: entity does not exist`)
  return one
}

function stateOf(state: string | null): 'Active' | 'Inactive' | null {
  if (state === null) return null
  if (/^active$/i.test(state)) return 'Active'
  if (/^inactive$/i.test(state)) return 'Inactive'
  throw invalid(`Invalid state value: ${state}`)
}

/** In the update these two are one text: ids with commas, or a word for everything. */
function places(call: Call, name: 'domainid' | 'zoneid', everywhere: string): string[] | null {
  const value = call.params.text(name)
  if (value === null) return null
  if (value === everywhere) return []
  const ids = value.split(',').map((one) => one.trim())
  const table = name === 'domainid' ? call.state.tables.domains : call.state.tables.zones
  for (const id of ids)
    if (!table.has(id))
      throw invalid(
        `Failed to create disk offering because invalid ${name === 'domainid' ? 'domain' : 'zone'} has been specified.`,
      )
  return ids
}

function rates(call: Call, before: Record<string, number>): Record<string, number> {
  const next = { ...before }
  for (const [param, field] of RATES) {
    const value = call.params.int(param)
    if (value !== null) next[field] = value
  }
  return next
}

function serviceView(call: Call, one: ServiceOffering): Record<string, Json> {
  const { tables } = call.state
  const profile = tables.vgpuprofiles.get(one.vgpuprofileid)
  const details: Record<string, Json> = {}
  for (const name of ['mincpunumber', 'maxcpunumber', 'minmemory', 'maxmemory'] as const)
    if (one[name] !== null) details[name] = String(one[name])
  return {
    id: one.id,
    name: one.name,
    displaytext: one.displaytext,
    state: one.state,
    cpunumber: one.cpunumber,
    cpuspeed: one.cpuspeed,
    memory: one.memory,
    created: wireDate(one.created),
    storagetype: one.storagetype,
    provisioningtype: one.provisioningtype,
    offerha: one.offerha,
    limitcpuuse: false,
    isvolatile: false,
    storagetags: one.storagetags,
    hosttags: one.hosttags,
    issystem: false,
    defaultuse: false,
    iscustomized: one.iscustomized,
    dynamicscalingenabled: one.dynamicscalingenabled,
    rootdisksize: one.rootdisksize,
    serviceofferingdetails: Object.keys(details).length === 0 ? null : details,
    ...(one.domainids.length === 0 ? {} : { domainid: one.domainids.join(',') }),
    ...(one.zoneids.length === 0 ? {} : { zoneid: one.zoneids.join(',') }),
    ...(profile === null
      ? {}
      : {
          vgpuprofileid: profile.id,
          vgpuprofilename: profile.name,
          gpucardid: profile.gpucardid,
          gpucardname: tables.gpucards.get(profile.gpucardid)?.name ?? null,
          gpucount: one.gpucount,
          gpudisplay: false,
        }),
    encryptroot: false,
    diskofferingstrictness: false,
    hasannotations: false,
  }
}

function diskView(call: Call, one: DiskOffering): Record<string, Json> {
  return {
    id: one.id,
    name: one.name,
    displaytext: one.displaytext,
    disksize: one.disksize,
    iscustomized: one.iscustomized,
    iscustomizediops: one.iscustomizediops ? true : null,
    storagetype: one.storagetype,
    provisioningtype: one.provisioningtype,
    tags: one.tags,
    state: one.state,
    created: wireDate(one.created),
    displayoffering: one.displayoffering,
    disksizestrictness: one.disksizestrictness,
    encrypt: one.encrypt,
    cacheMode: one.cachemode,
    ...one.rates,
    ...(one.domainids.length === 0
      ? {}
      : {
          domainid: one.domainids.join(','),
          domain: one.domainids.map((id) => call.state.tables.domains.get(id)?.name ?? '').join(','),
        }),
    ...(one.zoneids.length === 0 ? {} : { zoneid: one.zoneids.join(',') }),
    hasannotations: false,
  }
}

function offeredServices(offering: Row): Json[] {
  const vpcid = offering['forvpc'] === true ? 'any' : null
  return servicesOf({ type: text(offering['guestiptype']) ?? 'Isolated', vpcid }).map((name) => ({
    name,
    provider: [{ name: vpcid === null ? 'VirtualRouter' : 'VpcVirtualRouter' }],
  }))
}
