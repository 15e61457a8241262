// Zones, clusters, hosts, templates and offerings. The platform pages them; where it does not filter as we do, its list is
// read through and one page of it is held.
import type { vms } from '#src/contract/compute/vms.ts'
import type { infrastructure } from '#src/contract/infrastructure.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, mapOf, numberOf, type Raw, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { imageOf, templateOf } from './image-view.ts'

type In<Op extends keyof typeof infrastructure.routes> = Input<(typeof infrastructure.routes)[Op]>

export function zoneList(cloudstack: CloudStack) {
  return async ({ query }: In<'zoneList'>, ctx: RequestContext) => {
    const list = { command: 'listZones', args: { available: true, keyword: query.keyword }, key: 'zone', read: zoneOf }
    const { items, ...page } = await paged(cloudstack, list, query, [named(query), openTo(ctx)], ctx)
    return { zones: items, ...page }
  }
}

export function clusterList(cloudstack: CloudStack) {
  return async ({ query }: In<'clusterList'>, ctx: RequestContext) => {
    const args = { zoneid: query.zone_id, keyword: query.keyword }
    const list = { command: 'listClusters', args, key: 'cluster', read: clusterOf }
    const { items, ...page } = await paged(cloudstack, list, query, [named(query)], ctx)
    return { clusters: items, ...page }
  }
}

export function hostList(cloudstack: CloudStack) {
  return async ({ query }: In<'hostList'>, ctx: RequestContext) => {
    const args = {
      type: 'Routing',
      details: 'min,capacity',
      zoneid: query.zone_id,
      clusterid: query.cluster_id,
      keyword: query.keyword,
    }
    const list = { command: 'listHosts', args, key: 'host', read: hostOf }
    const { items, ...page } = await paged(cloudstack, list, query, [named(query)], ctx)
    return { hosts: items, ...page }
  }
}

export function templateList(cloudstack: CloudStack) {
  return async ({ query }: In<'templateList'>, ctx: RequestContext) => {
    const args = {
      templatefilter: 'all',
      details: 'min',
      zoneid: query.zone_id,
      keyword: query.keyword,
      ...WHOLE_SCOPE,
    }
    const list = { command: 'listTemplates', args, key: 'template', read: templateOf }
    const { items, ...page } = await paged(cloudstack, list, query, [usableBy(ctx)], ctx)
    return { templates: items, ...page }
  }
}

/** The root admin sees every image with `all`. */
export function isoList(cloudstack: CloudStack) {
  return async ({ query }: Input<(typeof vms.routes)['isoList']>, ctx: RequestContext) => {
    const args = {
      isofilter: 'all',
      isready: query.is_ready,
      zoneid: query.zone_id,
      keyword: query.keyword,
      bootable: query.bootable,
      ...WHOLE_SCOPE,
    }
    const list = { command: 'listIsos', args, key: 'iso', read: imageOf }
    const { items, ...page } = await paged(cloudstack, list, query, [usableBy(ctx)], ctx)
    return { isos: items, ...page }
  }
}

export function osTypeList(cloudstack: CloudStack) {
  return async ({ query }: In<'osTypeList'>, ctx: RequestContext) => {
    const list = { command: 'listOsTypes', args: { keyword: query.keyword }, key: 'ostype', read: osTypeOf }
    const { items, ...page } = await paged(cloudstack, list, query, [], ctx)
    return { os_types: items, ...page }
  }
}

export function serviceOfferingList(cloudstack: CloudStack) {
  return async ({ query }: In<'serviceOfferingList'>, ctx: RequestContext) => {
    const args = { listall: true, keyword: query.keyword }
    const list = { command: 'listServiceOfferings', args, key: 'serviceoffering', read: offeringOf }
    const { items, ...page } = await paged(cloudstack, list, query, [named(query), openTo(ctx), inZone(query)], ctx)
    return { service_offerings: items, ...page }
  }
}

/** Undefined: nothing is asked of the row. */
type Test = ((row: Raw) => boolean) | undefined

/** The platform's keyword means other fields, too; names alone count here. */
function named({ keyword }: { keyword?: string }): Test {
  const part = keyword?.toLowerCase()
  return part === undefined ? undefined : (row) => (textOf(row, 'name') ?? '').toLowerCase().includes(part)
}

/** Dedicated zones and offerings name the tenants they are for. */
function openTo({ caller: { tenant_id } }: RequestContext): Test {
  if (tenant_id === null) return undefined
  return (row) => textOf(row, 'domainid') === null || textsOf(row, 'domainid').includes(tenant_id)
}

function usableBy({ caller: { tenant_id } }: RequestContext): Test {
  if (tenant_id === null) return undefined
  return (row) => flagOf(row, 'ispublic') === true || textOf(row, 'domainid') === tenant_id
}

/** An offering that names no zone is one for all of them. */
function inZone({ zone_id }: { zone_id?: string }): Test {
  if (zone_id === undefined) return undefined
  return (row) => textOf(row, 'zoneid') === null || textsOf(row, 'zoneid').includes(zone_id)
}

interface ListOfPlatform<T> {
  command: string
  args: Args
  key: string
  read: (row: Raw) => T
}

async function paged<T>(
  cloudstack: CloudStack,
  { command, args, key, read }: ListOfPlatform<T>,
  query: { page?: number; page_size?: number },
  tests: readonly Test[],
  ctx: RequestContext,
) {
  const page = pageOf(query)
  const raw = { key, read: (row: Raw) => row }
  const asked = tests.filter((test) => test !== undefined)
  const { rows, count } =
    asked.length === 0
      ? await cloudstack.listPage(command, args, raw, page, ctx)
      : await onePage(cloudstack.listAll(command, args, raw, ctx), page, (row) => asked.every((test) => test(row)))
  return { items: rows.map(read), count, ...page }
}

function identityOf(row: Raw): { id: string; name: string } {
  return { id: textOf(row, 'id') ?? '', name: textOf(row, 'name') ?? '' }
}

function zoneOf(row: Raw) {
  return {
    ...identityOf(row),
    network_type: textOf(row, 'networktype'),
    allocation_state: textOf(row, 'allocationstate'),
    security_groups_enabled: flagOf(row, 'securitygroupsenabled'),
    local_storage_enabled: flagOf(row, 'localstorageenabled'),
    type: textOf(row, 'type'),
    gpus_total: numberOf(row, 'gputotal'),
    gpus_used: numberOf(row, 'gpuused'),
  }
}

function clusterOf(row: Raw) {
  return {
    ...identityOf(row),
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    pod_id: textOf(row, 'podid'),
    pod_name: textOf(row, 'podname'),
    hypervisor: textOf(row, 'hypervisortype'),
    allocation_state: textOf(row, 'allocationstate'),
    managed_state: textOf(row, 'managedstate'),
    cpu_overcommit_ratio: numberOf(row, 'cpuovercommitratio'),
    memory_overcommit_ratio: numberOf(row, 'memoryovercommitratio'),
  }
}

export function hostOf(row: Raw) {
  return {
    ...identityOf(row),
    ip_address: textOf(row, 'ipaddress'),
    state: textOf(row, 'state') ?? 'Unknown',
    resource_state: textOf(row, 'resourcestate'),
    zone_id: textOf(row, 'zoneid'),
    pod_id: textOf(row, 'podid'),
    cluster_id: textOf(row, 'clusterid'),
    cluster_name: textOf(row, 'clustername'),
    hypervisor: textOf(row, 'hypervisor'),
    cpu_cores: numberOf(row, 'cpunumber'),
    cpu_speed_mhz: numberOf(row, 'cpuspeed'),
    memory_total_bytes: numberOf(row, 'memorytotal'),
    memory_allocated_bytes: numberOf(row, 'memoryallocatedbytes') ?? numberOf(row, 'memoryallocated'),
    gpus_total: numberOf(row, 'gputotal'),
    gpus_used: numberOf(row, 'gpuused'),
    uefi_capable: flagOf(row, 'ueficapability'),
    tags: textsOf(row, 'hosttags'),
  }
}

function osTypeOf(row: Raw) {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'description') ?? '',
    category: textOf(row, 'oscategoryname'),
  }
}

export function offeringOf(row: Raw) {
  const limits = mapOf(row, 'serviceofferingdetails')
  return {
    ...identityOf(row),
    display_text: textOf(row, 'displaytext'),
    state: textOf(row, 'state'),
    cpu_cores: numberOf(row, 'cpunumber'),
    cpu_speed_mhz: numberOf(row, 'cpuspeed'),
    memory_mb: numberOf(row, 'memory'),
    is_custom: flagOf(row, 'iscustomized'),
    min_cpu_cores: numberOf(limits, 'mincpunumber'),
    max_cpu_cores: numberOf(limits, 'maxcpunumber'),
    min_memory_mb: numberOf(limits, 'minmemory'),
    max_memory_mb: numberOf(limits, 'maxmemory'),
    ha_offered: flagOf(row, 'offerha'),
    dynamic_scaling_enabled: flagOf(row, 'dynamicscalingenabled'),
    gpu_count: numberOf(row, 'gpucount'),
    gpu_card_name: textOf(row, 'gpucardname'),
    vgpu_profile_name: textOf(row, 'vgpuprofilename'),
    host_tags: textsOf(row, 'hosttags'),
    zone_id: textOf(row, 'zoneid'),
  }
}
