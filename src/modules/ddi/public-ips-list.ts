// GET /ddi/public-ips: pages of the platform where it can filter, ours where it cannot.
import { pageOf } from '#src/contract/common.ts'
import type { PublicIp, publicIps } from '#src/contract/ddi/public-ips.ts'
import type { Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type AddressDns, NO_DNS } from './address-dns.ts'
import { publicIpOf } from './public-ips-view.ts'

type In = Input<(typeof publicIps.routes)['publicIpList']>
type Query = In['query']

export interface DnsReadDeps {
  dns: AddressDns | undefined
}

export function publicIpList({ cloudstack, dns }: DnsReadDeps & { cloudstack: CloudStack }) {
  return async ({ query }: In, ctx: RequestContext) => {
    const page = pageOf(query)
    const args = argsOf(query, ctx)
    const keep = await filterOf(cloudstack, query, ctx)
    const found =
      keep === undefined
        ? await platformPage(cloudstack, args, page, ctx)
        : await filteredPage(cloudstack, args, keep, page, ctx)
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

function argsOf(query: Query, ctx: RequestContext): Args {
  const released = query.state === 'Released'
  return {
    ...scopeOf(ctx.caller.tenant_id),
    zoneid: query.zone_id,
    associatednetworkid: query.network_id,
    vpcid: query.vpc_id,
    ipaddress: query.ip_address,
    forvirtualnetwork: true,
    ...(released ? { state: 'Free', allocatedonly: false } : query.state === undefined ? {} : { state: 'Allocated' }),
  }
}

type Keep = (row: Raw) => boolean

/** What the platform cannot filter: the machine, the documents' states, and free addresses of a tenant's own ranges. */
async function filterOf(cloudstack: CloudStack, query: Query, ctx: RequestContext): Promise<Keep | undefined> {
  const { vm_id, state } = query
  const { tenant_id } = ctx.caller
  const tests: Keep[] = []
  if (vm_id !== undefined) tests.push((row) => textOf(row, 'virtualmachineid') === vm_id)
  if (state === 'Allocated' || state === 'Associated') tests.push((row) => publicIpOf(row).state === state)
  if (state === 'Released' && tenant_id !== null) {
    const own = await dedicatedRanges(cloudstack, tenant_id, ctx.signal)
    tests.push((row) => own.has(textOf(row, 'vlanid') ?? ''))
  }
  return tests.length === 0 ? undefined : (row) => tests.every((test) => test(row))
}

async function dedicatedRanges(cloudstack: CloudStack, domainid: string, signal: AbortSignal): Promise<Set<string>> {
  const own = new Set<string>()
  const item = { key: 'vlaniprange', read: (row: Raw) => row }
  for await (const range of cloudstack.listAll('listVlanIpRanges', { domainid }, item, { signal })) {
    if (textOf(range, 'domainid') === domainid) own.add(textOf(range, 'id') ?? '')
  }
  return own
}

interface Found {
  rows: PublicIp[]
  count: number
}
type PageNumbers = ReturnType<typeof pageOf>

function platformPage(cloudstack: CloudStack, args: Args, page: PageNumbers, ctx: RequestContext): Promise<Found> {
  const item = { key: 'publicipaddress', read: publicIpOf }
  const options = { signal: ctx.signal, traceparent: ctx.traceparent }
  return cloudstack.listPage('listPublicIpAddresses', args, item, page, options)
}

/** Walks over everything and holds one page of it. */
async function filteredPage(
  cloudstack: CloudStack,
  args: Args,
  keep: Keep,
  { page, page_size }: PageNumbers,
  ctx: RequestContext,
): Promise<Found> {
  const first = (page - 1) * page_size
  const rows: PublicIp[] = []
  let count = 0
  const options = { signal: ctx.signal, traceparent: ctx.traceparent }
  for await (const some of cloudstack.listPages('listPublicIpAddresses', args, 'publicipaddress', options)) {
    for (const row of some.filter(keep)) {
      if (count >= first && rows.length < page_size) rows.push(publicIpOf(row))
      count += 1
    }
  }
  return { rows, count }
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
