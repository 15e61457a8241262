// GET /ddi/public-ips: pages of the platform where it can filter, ours where it cannot.
import { pageOf } from '#src/contract/common.ts'
import type { PublicIp, publicIps } from '#src/contract/ddi/public-ips.ts'
import type { Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { collected, countOf, type Page, WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { pageInOrder } from '#src/drivers/cloudstack/sorted-page.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { numberOf } from '#src/kernel/ipv4.ts'
import { type AddressDns, NO_DNS } from './address-dns.ts'
import { publicIpOf } from './public-ips-view.ts'

type In = Input<(typeof publicIps.routes)['publicIpList']>
type Query = In['query']

interface DnsReadDeps {
  dns: AddressDns | undefined
}

const COMMAND = 'listPublicIpAddresses'
const ITEM = { key: 'publicipaddress', read: publicIpOf }

export function publicIpList({ cloudstack, dns }: DnsReadDeps & { cloudstack: CloudStack }) {
  return async ({ query }: In, ctx: RequestContext) => {
    const page = pageOf(query)
    const found = await pageFor(cloudstack, query, page, ctx)
    const { data, note } = await withNames(dns, found.rows, query)
    const words = `${found.count} public IP${found.count === 1 ? '' : 's'}.`
    return {
      count: found.count,
      data,
      message: note === undefined ? words : `${words} ${note}`,
      success: true,
      ...page,
    }
  }
}

const COLUMNS = {
  ip_address: (one: PublicIp) => numberOf(one.ip_address),
  account: (one: PublicIp) => one.account,
  network_name: (one: PublicIp) => one.network_name,
  vm_name: (one: PublicIp) => one.vm_name,
  allocated_at: (one: PublicIp) => one.allocated_at,
}

type PageNumbers = ReturnType<typeof pageOf>

function pageFor(
  cloudstack: CloudStack,
  query: Query,
  page: PageNumbers,
  ctx: RequestContext,
): Promise<Page<PublicIp>> {
  const { vm_id, state } = query
  const { tenant_id } = ctx.caller
  const args = {
    zoneid: query.zone_id,
    associatednetworkid: query.network_id,
    vpcid: query.vpc_id,
    ipaddress: query.ip_address,
    forvirtualnetwork: true,
  }
  if (state === 'Released') {
    if (query.sort_by !== undefined)
      throw invalidField(
        'query.sort_by',
        'does not go with state Released: free addresses come in the order of their ranges',
      )
    const free = { ...args, ...WHOLE_SCOPE, state: 'Free', allocatedonly: false }
    if (vm_id !== undefined) return Promise.resolve({ rows: [], count: 0 })
    if (tenant_id === null) return cloudstack.listPage(COMMAND, free, ITEM, page, ctx)
    return freeOfTenant(cloudstack, tenant_id, free, page, ctx)
  }
  const owned = { ...args, ...scopeOf(tenant_id), ...(state === undefined ? {} : { state: 'Allocated' }) }
  // The platform filters neither by machine, to which static NAT alone leads, nor by the documents' states.
  const filters = { ...owned, isstaticnat: vm_id === undefined ? undefined : true }
  const fits =
    vm_id === undefined && state === undefined
      ? undefined
      : (one: PublicIp) => (vm_id === undefined || one.vm_id === vm_id) && (state === undefined || one.state === state)
  const list = {
    command: COMMAND,
    args: filters,
    item: ITEM,
    columns: COLUMNS,
    asked_in: 'query.sort_by' as const,
    fits,
  }
  return pageInOrder(cloudstack, list, { ...query, ...page }, ctx)
}

/**
 * Free addresses in the tenant's own ranges, range after range. All free addresses of a platform are thousands, each of
 * which costs it some milliseconds, so each range is counted and the rows of the page alone are read.
 */
async function freeOfTenant(
  cloudstack: CloudStack,
  tenant_id: string,
  args: Args,
  { page, page_size }: PageNumbers,
  ctx: RequestContext,
): Promise<Page<PublicIp>> {
  const ranges = await dedicatedRanges(cloudstack, tenant_id, ctx)
  const counts = await Promise.all(ranges.map((vlanid) => countOf(cloudstack.call, COMMAND, { ...args, vlanid }, ctx)))
  const parts: Promise<PublicIp[]>[] = []
  let skip = (page - 1) * page_size
  let wanted = page_size
  for (const [index, vlanid] of ranges.entries()) {
    const count = counts[index] ?? 0
    const length = Math.min(wanted, count - skip)
    if (length > 0) parts.push(someOf(cloudstack, { ...args, vlanid }, { skip, length, page_size }, ctx))
    wanted -= Math.max(0, length)
    skip = Math.max(0, skip - count)
  }
  const rows = (await Promise.all(parts)).flat()
  return { rows, count: counts.reduce((sum, count) => sum + count, 0) }
}

/** The platform's pages begin at multiples of their size, so that the rows may stand on two of them. */
async function someOf(
  cloudstack: CloudStack,
  args: Args,
  { skip, length, page_size }: { skip: number; length: number; page_size: number },
  ctx: RequestContext,
): Promise<PublicIp[]> {
  const page = Math.floor(skip / page_size) + 1
  const offset = skip % page_size
  const pages = offset + length > page_size ? [page, page + 1] : [page]
  const found = await Promise.all(
    pages.map((number) => cloudstack.listPage(COMMAND, args, ITEM, { page: number, page_size }, ctx)),
  )
  return found.flatMap(({ rows }) => rows).slice(offset, offset + length)
}

async function dedicatedRanges(cloudstack: CloudStack, domainid: string, ctx: RequestContext): Promise<string[]> {
  const item = { key: 'vlaniprange', read: (row: Raw) => row }
  const ranges = await collected(
    cloudstack.listAll('listVlanIpRanges', { domainid, forvirtualnetwork: true }, item, ctx),
  )
  return ranges.filter((row) => textOf(row, 'domainid') === domainid).map((row) => textOf(row, 'id') ?? '')
}

/** Fills names in when they are asked for; a sentence says why they are not known. */
export async function withNames(
  dns: AddressDns | undefined,
  rows: readonly PublicIp[],
  query: { include_dns?: boolean; dns_zone?: string },
): Promise<{ data: PublicIp[]; note: string | undefined }> {
  if (query.include_dns !== true) return { data: [...rows], note: undefined }
  if (dns === undefined) return { data: [...rows], note: NO_DNS }
  const names = await dns.lookup(
    rows.map((row) => row.ip_address),
    query.dns_zone,
  )
  const data = rows.map((row) => {
    const name = names.get(row.ip_address)
    return { ...row, dns_name: name?.fqdn ?? null, dns_created: name !== undefined }
  })
  return { data, note: undefined }
}
