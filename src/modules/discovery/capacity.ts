// What the platform is able to do as a whole, and how full it is (cloudstack.md 5).
import { pageOf } from '#src/contract/common.ts'
import type { Capabilities, CapacityRow, discovery } from '#src/contract/discovery.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, integerOf, numberOf, objectOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

type In<Op extends keyof typeof discovery.routes> = Input<(typeof discovery.routes)[Op]>

const RECOUNT_TIMEOUT_MS = 280_000

export function discoveryCapabilityGet(cloudstack: CloudStack) {
  return async (_input: unknown, ctx: RequestContext): Promise<Capabilities> => {
    const content = await cloudstack.call('listCapabilities', {}, { signal: ctx.signal, traceparent: ctx.traceparent })
    const row = objectOf(content, 'capability') ?? {}
    return {
      version: textOf(row, 'cloudstackversion'),
      security_groups_enabled: flagOf(row, 'securitygroupsenabled'),
      dynamic_scaling_enabled: flagOf(row, 'dynamicscalingenabled'),
      additional_config_enabled: flagOf(row, 'additionalconfigenabled'),
      instance_lease_enabled: flagOf(row, 'instanceleaseenabled'),
      dynamic_roles_enabled: flagOf(row, 'dynamicrolesenabled'),
      project_invite_required: flagOf(row, 'projectinviterequired'),
      users_can_create_projects: flagOf(row, 'allowusercreateprojects'),
      users_can_see_all_accounts: flagOf(row, 'allowuserviewalldomainaccounts'),
      kvm_snapshot_enabled: flagOf(row, 'kvmsnapshotenabled'),
      elastic_load_balancer_supported: textOf(row, 'supportELB'),
      custom_disk_offering_min_size_gb: numberOf(row, 'customdiskofferingminsize'),
      custom_disk_offering_max_size_gb: numberOf(row, 'customdiskofferingmaxsize'),
      default_page_size: numberOf(row, 'defaultuipagesize'),
      statistics_retention_minutes: numberOf(row, 'instancesstatsretentiontime'),
      api_limit_max: numberOf(row, 'apilimitmax'),
      api_limit_interval_seconds: numberOf(row, 'apilimitinterval'),
    }
  }
}

export function discoveryCapacityList(cloudstack: CloudStack) {
  return async ({ query }: In<'discoveryCapacityList'>, ctx: RequestContext) => {
    if (query.fetch_latest === true && ctx.caller.role === 'viewer') {
      throw new ApiError(
        'FORBIDDEN',
        '`fetch_latest` makes the platform recount, which needs the role operator; leave it out as viewer.',
      )
    }
    const args = {
      zoneid: query.zone_id,
      podid: query.pod_id,
      clusterid: query.cluster_id,
      type: query.type,
      fetchlatest: query.fetch_latest === true ? true : undefined,
      tag: query.tag,
    }
    const timeout_ms = query.fetch_latest === true ? RECOUNT_TIMEOUT_MS : undefined
    const content = await cloudstack.call('listCapacity', args, {
      signal: ctx.signal,
      traceparent: ctx.traceparent,
      timeout_ms,
    })
    // The platform ignores paging here, and fails when it is to sort the rows of a zone.
    const all = rowsOf(content, 'capacity').map(capacityOf)
    if (query.sort_by === 'usage') all.sort((a, b) => shareOf(b) - shareOf(a))
    const page = pageOf(query)
    const { rows, count } = await onePage(all, page)
    return { capacities: rows, count, ...page }
  }
}

/** What has no total is not full. */
function shareOf({ used, total }: CapacityRow): number {
  return used === null || total === null || total === 0 ? 0 : used / total
}

const BYTES = new Set([0, 2, 3, 6, 9, 20, 21])
const COUNTED = new Set([4, 5, 7, 8, 10, 19, 90])
const CPU_MHZ = 1

function unitOf(type: number): CapacityRow['unit'] {
  if (BYTES.has(type)) return 'bytes'
  if (COUNTED.has(type)) return 'count'
  return type === CPU_MHZ ? 'MHz' : null
}

function capacityOf(row: Raw): CapacityRow {
  const type = integerOf(row, 'type') ?? -1
  return {
    type,
    name: textOf(row, 'name'),
    unit: unitOf(type),
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    pod_id: textOf(row, 'podid'),
    pod_name: textOf(row, 'podname'),
    cluster_id: textOf(row, 'clusterid'),
    cluster_name: textOf(row, 'clustername'),
    used: numberOf(row, 'capacityused'),
    allocated: numberOf(row, 'capacityallocated'),
    total: numberOf(row, 'capacitytotal'),
    used_percent: numberOf(row, 'percentused'),
    tag: textOf(row, 'tag'),
  }
}
