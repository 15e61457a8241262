// Reads disk offerings: the list, and one by id or by name, within what the caller's tenant may use.
import { pageOf } from '#src/contract/common.ts'
import type { DiskOffering, diskOfferings } from '#src/contract/disk-offerings.ts'
import type { Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { offeringOf } from './offering-view.ts'

type In<Op extends keyof typeof diskOfferings.routes> = Input<(typeof diskOfferings.routes)[Op]>

const COMMAND = 'listDiskOfferings'
const ITEM = { key: 'diskoffering', read: offeringOf }
const NAMED_AT_MOST = 20

export function diskOfferingList(cloudstack: CloudStack) {
  return async ({ body }: In<'diskOfferingList'>, ctx: RequestContext) => {
    const filter = body ?? {}
    const page = pageOf(filter)
    const tenant_id = tenantOf(filter.domain_id, ctx)
    const args: Args = {
      id: filter.id,
      name: filter.name,
      zoneid: filter.zone_id,
      storagetype: filter.storage_type,
      state: filter.state,
      virtualmachineid: filter.virtual_machine_id,
      keyword: filter.keyword,
      listall: true,
    }
    const [{ rows, count }] = await Promise.all([
      tenant_id === null
        ? cloudstack.listPage(COMMAND, args, ITEM, page, ctx)
        : onePage(cloudstack.listAll(COMMAND, args, ITEM, ctx), page, (one) => isOpenTo(one, tenant_id)),
      requireVisibleVm(cloudstack, filter.virtual_machine_id, ctx),
    ])
    return { disk_offerings: rows, count, ...page }
  }
}

export function diskOfferingGet(cloudstack: CloudStack) {
  return ({ body }: In<'diskOfferingGet'>, ctx: RequestContext) => readOffering(cloudstack, body.id, ctx)
}

export function diskOfferingGetByName(cloudstack: CloudStack) {
  return ({ body }: In<'diskOfferingGetByName'>, ctx: RequestContext) => offeringNamed(cloudstack, body.name, ctx)
}

export function diskOfferingIdGet(cloudstack: CloudStack) {
  return async ({ body }: In<'diskOfferingIdGet'>, ctx: RequestContext) => {
    const { id, name } = await offeringNamed(cloudstack, body.name, ctx)
    return { id, name }
  }
}

/** Throws DISK_OFFERING_NOT_FOUND; one for other tenants is not distinguishable from none. */
export async function readOffering(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<DiskOffering> {
  const row = await findOne(cloudstack, COMMAND, ITEM.key, { id, state: 'all', listall: true }, ctx)
  const offering = row === undefined ? undefined : offeringOf(row)
  if (offering !== undefined && isOpenTo(offering, ctx.caller.tenant_id)) return offering
  throw new ApiError('DISK_OFFERING_NOT_FOUND', `Disk offering ${id} not found.`)
}

async function offeringNamed(cloudstack: CloudStack, name: string, ctx: RequestContext): Promise<DiskOffering> {
  const hits: DiskOffering[] = []
  const args = { name, state: 'all', listall: true }
  for await (const offering of cloudstack.listAll(COMMAND, args, ITEM, ctx)) {
    // The platform compares without regard to case in some databases.
    if (offering.name === name && isOpenTo(offering, ctx.caller.tenant_id)) hits.push(offering)
    if (hits.length > NAMED_AT_MOST) break
  }
  const [only] = hits
  if (only === undefined) throw new ApiError('DISK_OFFERING_NOT_FOUND', `Disk offering ${name} not found.`)
  if (hits.length === 1) return only
  throw new ApiError(
    'DISK_OFFERING_NAME_AMBIGUOUS',
    `Several disk offerings carry this name: ${hits.map(({ id }) => id).join(', ')}.`,
  )
}

function isOpenTo(offering: DiskOffering, tenant_id: string | null): boolean {
  if (tenant_id === null || offering.domain_ids.length === 0) return true
  return offering.domain_ids.includes(tenant_id)
}

function tenantOf(domain_id: string | undefined, ctx: RequestContext): string | null {
  const { tenant_id } = ctx.caller
  if (tenant_id !== null && domain_id !== undefined && domain_id !== tenant_id) {
    throw new ApiError(
      'TENANT_SCOPE',
      `A caller of tenant ${tenant_id} cannot ask for tenant ${domain_id}; leave \`domain_id\` out.`,
    )
  }
  return tenant_id ?? domain_id ?? null
}

async function requireVisibleVm(cloudstack: CloudStack, id: string | undefined, ctx: RequestContext): Promise<void> {
  if (id === undefined) return
  const args = { id, details: 'min', ...scopeOfOne(ctx.caller.tenant_id) }
  const vm = await findOne(cloudstack, 'listVirtualMachines', 'virtualmachine', args, ctx)
  if (vm === undefined) throw new ApiError('VM_NOT_FOUND', `Virtual machine ${id} not found.`)
}
