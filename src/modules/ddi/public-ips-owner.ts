// Whose a new public address is, and where it goes: checked within what the caller may see, before any effect.
import type { PublicIpAcquire } from '#src/contract/ddi/public-ips.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { checkOwner, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

export interface Place {
  /** Owner and network parameters of the platform. */
  args: Args
  network_id: string | undefined
  vpc_id: string | undefined
  /** Tenant of the owner, as far as it is known. */
  tenant_id: string | null
}

/** Rules that a schema cannot say. */
export function checkAcquire(body: PublicIpAcquire): void {
  checkOwner(body)
  if (body.associate_to_vm === true && body.vm_id === undefined)
    throw invalidField('body.vm_id', 'is needed with associate_to_vm')
  if (body.associate_to_vm !== true && body.vm_id !== undefined)
    throw invalidField('body.vm_id', 'goes with associate_to_vm true')
  if (body.create_dns === true && body.hostname === undefined)
    throw invalidField('body.hostname', 'is needed with create_dns')
  if (body.create_dns !== true && body.create_ptr === true)
    throw invalidField('body.create_ptr', 'goes with create_dns true')
}

export async function placeOf(cloudstack: CloudStack, body: PublicIpAcquire, ctx: RequestContext): Promise<Place> {
  const { tenant_id } = ctx.caller
  if (tenant_id !== null && body.domain_id !== undefined && body.domain_id !== tenant_id) {
    throw new ApiError('TENANT_SCOPE', `A caller of tenant ${tenant_id} cannot acquire an address for another one.`)
  }
  const [zones, project, vpc, network] = await Promise.all([
    cloudstack.lookups.zones(),
    one(cloudstack, ctx, 'listProjects', 'project', body.project_id, 'project_id'),
    one(cloudstack, ctx, 'listVPCs', 'vpc', body.vpc_id, 'vpc_id'),
    one(cloudstack, ctx, 'listNetworks', 'network', body.network_id, 'network_id'),
  ])
  if (!zones.some((zone) => textOf(zone, 'id') === body.zone_id)) throw missing('zone_id', body.zone_id)
  if (vpc !== undefined && network !== undefined && textOf(network, 'vpcid') !== textOf(vpc, 'id'))
    throw invalidField('body.network_id', 'is no tier of the VPC')
  if (network !== undefined) requireOwner('Network', network, body)
  if (vpc !== undefined) requireOwner('VPC', vpc, body)
  const owner = await ownerOf(cloudstack, body, ctx, network ?? vpc)
  // A tier is named by its VPC: the address belongs to the VPC until static NAT ties it to the tier.
  const place = textOf(network ?? {}, 'vpcid') ?? textOf(vpc ?? {}, 'id')
  const network_id =
    place === null ? (textOf(network ?? {}, 'id') ?? (await onlyNetwork(cloudstack, body, owner, ctx))) : undefined
  return {
    args: { ...owner, ...(place === null ? { networkid: network_id } : { vpcid: place }) },
    network_id: network_id ?? body.network_id,
    vpc_id: place ?? undefined,
    tenant_id: textOf(project ?? network ?? vpc ?? {}, 'domainid') ?? textOf(owner, 'domainid'),
  }
}

/** An isolated network, or a VPC, serves its own account or project alone; the error of the platform would not say whose it is. */
function requireOwner(kind: string, at: Raw, { project_id, domain_id, account }: PublicIpAcquire): void {
  const shared = kind === 'Network' && textOf(at, 'type') !== 'Isolated'
  if (shared || (project_id ?? domain_id) === undefined) return
  const project = textOf(at, 'projectid')
  const [tenant_id, owner] = [textOf(at, 'domainid'), textOf(at, 'account')]
  const fits =
    project === null
      ? project_id === undefined && tenant_id === domain_id && (account ?? owner) === owner
      : project === project_id
  if (fits) return
  const whose =
    project === null
      ? `tenant ${textOf(at, 'domain')}${owner === textOf(at, 'domain') ? '' : ` (account ${owner})`}`
      : `project ${textOf(at, 'project') ?? project}`
  const way = project === null ? '`domain_id` and `account`' : '`project_id`'
  throw new ApiError(
    'COMPUTE_REJECTED',
    `${kind} ${textOf(at, 'name')} belongs to ${whose}: acquire the address with ${way} of that owner, or leave them out.`,
  )
}

/** Left out where the network or VPC says whose the address is; a tenant alone stands for its first account. */
async function ownerOf(
  cloudstack: CloudStack,
  body: PublicIpAcquire,
  ctx: RequestContext,
  at: Raw | undefined,
): Promise<Record<string, string>> {
  if (body.project_id !== undefined) return { projectid: body.project_id }
  const domainid = body.domain_id ?? ctx.caller.tenant_id
  if (domainid === null || (body.account === undefined && at !== undefined)) return {}
  return { domainid, account: body.account ?? (await firstAccount(cloudstack, domainid, ctx.signal)) }
}

async function firstAccount(cloudstack: CloudStack, domainid: string, signal: AbortSignal): Promise<string> {
  const args = { domainid, listall: true, details: 'min', page: 1, pagesize: 500 }
  const content = await cloudstack.call('listAccounts', args, { signal })
  const [name] = rowsOf(content, 'account')
    .filter((row) => textOf(row, 'domainid') === domainid && textOf(row, 'state') === 'enabled')
    .map((row) => textOf(row, 'name') ?? '')
    .toSorted()
  if (name === undefined)
    throw new ApiError(
      'RESOURCE_NOT_FOUND',
      `Tenant ${domainid} has no enabled account that could own the address; activate it or give \`account\`.`,
    )
  return name
}

const NAMED = 5

/** The platform guesses when the owner has one isolated network alone, so we do, and name the candidates else. */
async function onlyNetwork(
  cloudstack: CloudStack,
  body: PublicIpAcquire,
  owner: Record<string, string>,
  ctx: RequestContext,
): Promise<string> {
  if (Object.keys(owner).length === 0)
    throw invalidField('body.network_id', 'or vpc_id, account or project_id is needed')
  const args = {
    zoneid: body.zone_id,
    type: 'Isolated',
    forvpc: false,
    listall: true,
    ...owner,
    page: 1,
    pagesize: 500,
  }
  const rows = rowsOf(await cloudstack.call('listNetworks', args, { signal: ctx.signal }), 'network').filter(
    (row) => textOf(row, 'vpcid') === null,
  )
  const [only] = rows
  if (only === undefined)
    throw invalidField('body.network_id', 'is needed: the owner has no isolated network in the zone')
  if (rows.length > 1) {
    const names = rows.slice(0, NAMED).map((row) => `${textOf(row, 'name')} (${textOf(row, 'id')})`)
    throw invalidField(
      'body.network_id',
      `is needed: the owner has ${rows.length} isolated networks: ${names.join(', ')}`,
    )
  }
  return textOf(only, 'id') ?? ''
}

async function one(
  cloudstack: CloudStack,
  ctx: RequestContext,
  command: string,
  key: string,
  id: string | undefined,
  field: string,
): Promise<Raw | undefined> {
  if (id === undefined) return undefined
  const args = { id, ...scopeOfOne(ctx.caller.tenant_id) }
  const row = await findOne(cloudstack, command, key, args, { signal: ctx.signal })
  if (row === undefined) throw missing(field, id)
  return row
}

function missing(field: string, id: string): ApiError {
  return new ApiError('RESOURCE_NOT_FOUND', `\`${field}\` ${id} not found.`)
}
