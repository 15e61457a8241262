// Zones, clusters, hosts, templates and offerings. The platform's answers are kept for a while (cloudstack.md 9), so these
// lists are filtered and paged here.
import type { infrastructure } from '#src/contract/infrastructure.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import {
  flagOf,
  integerOf,
  mapOf,
  numberOf,
  type Raw,
  textOf,
  textsOf,
  timeOf,
} from '#src/drivers/cloudstack/fields.ts'
import { collected, WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

type In<Op extends keyof typeof infrastructure.routes> = Input<(typeof infrastructure.routes)[Op]>

export function zoneList(cloudstack: CloudStack) {
  return async ({ query }: In<'zoneList'>, ctx: RequestContext) => {
    const rows = (await cloudstack.lookups.zones()).filter((row) => matches(row, query.keyword) && isOpenTo(row, ctx))
    const { items, ...page } = paged(rows, query, zoneOf)
    return { zones: items, ...page }
  }
}

export function clusterList(cloudstack: CloudStack) {
  return async ({ query }: In<'clusterList'>) => {
    const rows = (await cloudstack.lookups.clusters()).filter(
      (row) => matches(row, query.keyword) && isIn(row, 'zoneid', query.zone_id),
    )
    const { items, ...page } = paged(rows, query, clusterOf)
    return { clusters: items, ...page }
  }
}

export function hostList(cloudstack: CloudStack) {
  return async ({ query }: In<'hostList'>) => {
    const rows = (await cloudstack.lookups.hosts()).filter(
      (row) =>
        matches(row, query.keyword) && isIn(row, 'zoneid', query.zone_id) && isIn(row, 'clusterid', query.cluster_id),
    )
    const { items, ...page } = paged(rows, query, hostOf)
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
    const all = await collected(
      cloudstack.listAll('listTemplates', args, { key: 'template', read: (row) => row }, { signal: ctx.signal }),
    )
    const { tenant_id } = ctx.caller
    const rows = all.filter(
      (row) => tenant_id === null || flagOf(row, 'ispublic') === true || textOf(row, 'domainid') === tenant_id,
    )
    const { items, ...page } = paged(rows, query, templateOf)
    return { templates: items, ...page }
  }
}

export function serviceOfferingList(cloudstack: CloudStack) {
  return async ({ query }: In<'serviceOfferingList'>, ctx: RequestContext) => {
    const rows = (await cloudstack.lookups.serviceOfferings()).filter(
      (row) =>
        matches(row, query.keyword) &&
        isOpenTo(row, ctx) &&
        (isIn(row, 'zoneid', query.zone_id) || textOf(row, 'zoneid') === null),
    )
    const { items, ...page } = paged(rows, query, offeringOf)
    return { service_offerings: items, ...page }
  }
}

function matches(row: Raw, keyword: string | undefined): boolean {
  return keyword === undefined || (textOf(row, 'name') ?? '').toLowerCase().includes(keyword.toLowerCase())
}

function isIn(row: Raw, field: string, id: string | undefined): boolean {
  return id === undefined || textsOf(row, field).includes(id)
}

/** Dedicated zones and offerings name the tenants they are for. */
function isOpenTo(row: Raw, ctx: RequestContext): boolean {
  const { tenant_id } = ctx.caller
  return tenant_id === null || textOf(row, 'domainid') === null || isIn(row, 'domainid', tenant_id)
}

function paged<T>(rows: readonly Raw[], query: { page?: number; page_size?: number }, read: (row: Raw) => T) {
  const { page, page_size } = pageOf(query)
  const items = rows.slice((page - 1) * page_size, page * page_size).map(read)
  return { items, count: rows.length, page, page_size }
}

function named(row: Raw): { id: string; name: string } {
  return { id: textOf(row, 'id') ?? '', name: textOf(row, 'name') ?? '' }
}

function zoneOf(row: Raw) {
  return {
    ...named(row),
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
    ...named(row),
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
    ...named(row),
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

function templateOf(row: Raw) {
  return {
    ...named(row),
    display_text: textOf(row, 'displaytext'),
    is_ready: flagOf(row, 'isready'),
    is_public: flagOf(row, 'ispublic'),
    is_featured: flagOf(row, 'isfeatured'),
    os_type_name: textOf(row, 'ostypename'),
    hypervisor: textOf(row, 'hypervisor'),
    format: textOf(row, 'format'),
    arch: textOf(row, 'arch'),
    size_bytes: integerOf(row, 'size'),
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    status: textOf(row, 'status'),
    password_enabled: flagOf(row, 'passwordenabled'),
    created_at: timeOf(row, 'created'),
  }
}

export function offeringOf(row: Raw) {
  const limits = mapOf(row, 'serviceofferingdetails')
  return {
    ...named(row),
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
