// Handlers of the IPAM area over the address store that the configuration names.
import ipaddr from 'ipaddr.js'
import { pageOf } from '#src/contract/common.ts'
import type { ipam } from '#src/contract/ddi/ipam.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { IpamPage, IpamRows, IpamStore, Made, Missing, NewPrefix } from '#src/drivers/ddi/ipam-store.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'
import type { ServerLock } from '../server-lock.ts'

type In<Op extends keyof typeof ipam.routes> = Input<(typeof ipam.routes)[Op]>

export interface IpamDeps extends ChangeDeps {
  store: IpamStore
  /** Held by whoever makes or deletes what others must not overlap; addresses are atomic without it. */
  lock: ServerLock
}

export function ipamHandlers(deps: IpamDeps): Handlers<typeof ipam.routes, RequestContext> {
  const { store } = deps
  return {
    ipamSiteList: async ({ query }, { signal }) =>
      listed('sites', 'site', await store.sites(pageOf(query), signal), pageOf(query)),
    ipamRoleList: async ({ query }, { signal }) =>
      listed('roles', 'network role', await store.roles(pageOf(query), signal), pageOf(query)),
    ipamVlanList: async ({ query }, { signal }) =>
      listed('vlans', 'VLAN', await store.vlans(query, pageOf(query), signal), pageOf(query)),
    ipamPrefixList: async ({ query }, { signal }) => {
      if (query.contains !== undefined) checkAddress(query.contains, 'query.contains')
      return listed('prefixes', 'prefix', await store.prefixes(query, pageOf(query), signal), pageOf(query))
    },
    ipamAddressList: async ({ query }, { signal }) => {
      if (query.address !== undefined) checkAddress(query.address, 'query.address')
      return listed('addresses', 'address', await store.addresses(query, pageOf(query), signal), pageOf(query))
    },
    ipamPrefixGet: async ({ params }, { signal }) => {
      const data = await store.prefix(params.id, signal)
      if (data === undefined) throw new ApiError('IPAM_NOT_FOUND', `Prefix ${params.id} not found.`)
      return { success: true, message: `Prefix ${data.cidr}.`, data }
    },
    ipamSiteCreate: ({ body }, ctx) => {
      if (body.is_default === true && !store.limits.default_site)
        throw new ApiError('DDI_UNSUPPORTED', 'The address store in use has no default site; leave `is_default` out.')
      return made(deps, ctx, `site ${body.slug}`, () => store.createSite({ is_default: false, ...body }))
    },
    ipamRoleCreate: ({ body }, ctx) => made(deps, ctx, `network role ${body.slug}`, () => store.createRole(body)),
    ipamVlanCreate: ({ body }, ctx) =>
      made(deps, ctx, `VLAN ${body.vid}`, () => store.createVlan({ site_id: null, role_id: null, ...body })),
    ipamPrefixCreate: ({ body }, ctx) => {
      const prefix = newPrefix(body)
      return made(deps, ctx, `prefix ${prefix.cidr}`, () => store.createPrefix(prefix))
    },
    ipamSiteDelete: ({ params }, ctx) => deleted(deps, ctx, 'site', 'site', params.id),
    ipamRoleDelete: ({ params }, ctx) => deleted(deps, ctx, 'role', 'network role', params.id),
    ipamVlanDelete: ({ params }, ctx) => deleted(deps, ctx, 'vlan', 'VLAN', params.id),
    ipamPrefixDelete: ({ params }, ctx) => deleted(deps, ctx, 'prefix', 'prefix', params.id),
    ipamAddressAllocate: ({ params, body }, ctx) => allocateAddress(deps, params.id, body, ctx),
    ipamAddressRelease: ({ params }, ctx) =>
      changing(deps, ctx, `address ${params.id}`, async () => {
        const address = await store.release(params.id)
        if (address === undefined) throw new ApiError('IPAM_NOT_FOUND', `Address ${params.id} not found.`)
        return { success: true, message: `${address} is released.` }
      }),
  }
}

function listed<Name extends string, T>(name: Name, one: string, { rows, count }: IpamRows<T>, page: IpamPage) {
  const list = { [name]: rows } as { [K in Name]: T[] }
  return {
    success: true,
    message: `${count} ${count === 1 ? one : name}.`,
    data: { ...list, total_count: count, ...page },
  }
}

function made<T>(deps: IpamDeps, ctx: RequestContext, what: string, make: () => Promise<Made<T>>) {
  return changing(deps, ctx, what, async () => {
    const data = await deps.lock(make)
    if (data === 'exists') throw new ApiError('IPAM_EXISTS', `There is another ${what}, or one that overlaps it.`)
    if (isMissing(data)) throw invalidField(`body.${data.missing}`, 'names nothing that exists')
    return { success: true, message: `Made ${what}.`, data }
  })
}

function isMissing<T>(data: Made<T>): data is Extract<Made<T>, Missing> {
  return typeof data === 'object' && data !== null && 'missing' in data
}

async function deleted(
  deps: IpamDeps,
  ctx: RequestContext,
  kind: Parameters<IpamStore['remove']>[0],
  what: string,
  id: number,
) {
  return changing(deps, ctx, `${what} ${id}`, async () => {
    const result = await deps.lock(() => deps.store.remove(kind, id))
    if (result === 'not_found') throw new ApiError('IPAM_NOT_FOUND', `There is no ${what} ${id}.`)
    if (result === 'in_use')
      throw new ApiError('IPAM_IN_USE', `Other records still name ${what} ${id}; delete them first.`)
    return { success: true, message: `Deleted ${what} ${id}.` }
  })
}

async function allocateAddress(
  deps: IpamDeps,
  prefix_id: number,
  body: In<'ipamAddressAllocate'>['body'],
  ctx: RequestContext,
) {
  if (body.address !== undefined) checkAddress(body.address, 'body.address')
  if ((body.owner_kind === undefined) !== (body.owner_id === undefined))
    throw invalidField('body.owner_id', 'owner_kind and owner_id go together')
  return changing(deps, ctx, `address of prefix ${prefix_id}`, async () => {
    const wish = {
      address: body.address ?? null,
      status: body.status ?? ('active' as const),
      dns_name: body.dns_name ?? null,
      owner_kind: body.owner_kind ?? null,
      owner_id: body.owner_id ?? null,
      description: body.description ?? '',
      key: ctx.operation_id,
    }
    const data = await deps.store.allocate(prefix_id, wish)
    if (data === 'no_prefix') throw new ApiError('IPAM_NOT_FOUND', `Prefix ${prefix_id} not found.`)
    if (data === 'full') throw new ApiError('IPAM_PREFIX_FULL', `Prefix ${prefix_id} has no free address left.`)
    if (data === 'taken')
      throw new ApiError(
        'IPAM_ADDRESS_TAKEN',
        `${body.address ?? ''} is allocated, excluded, or outside of prefix ${prefix_id}.`,
      )
    return { success: true, message: `${data.address} is allocated.`, data }
  })
}

function newPrefix(body: In<'ipamPrefixCreate'>['body']): NewPrefix {
  const parsed = ipaddr.isValidCIDR(body.cidr) ? ipaddr.parseCIDR(body.cidr) : undefined
  const network = parsed?.[0].kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  if (parsed === undefined || network.networkAddressFromCIDR(body.cidr).toString() !== parsed[0].toString())
    throw invalidField('body.cidr', `${body.cidr} is no network whose host bits are zero`)
  const inside = (address: string, path: string): string => {
    checkAddress(address, path)
    const at = ipaddr.parse(address)
    if (at.kind() === parsed[0].kind() && at.match(parsed)) return address
    throw invalidField(path, `${address} is not in ${body.cidr}`)
  }
  const excluded = (body.excluded_ranges ?? []).map((text, index) => {
    const path = `body.excluded_ranges/${index}`
    const [first = '', last = first] = text.split('-')
    return { first: inside(first, path), last: inside(last, path) }
  })
  const wrong = excluded.findIndex(({ first, last }) => compare(first, last) > 0)
  if (wrong >= 0) throw invalidField(`body.excluded_ranges/${wrong}`, 'the last address comes before the first')
  body.dns_servers?.forEach((server, index) => checkAddress(server, `body.dns_servers/${index}`))
  return {
    cidr: body.cidr,
    site_id: body.site_id ?? null,
    vlan_id: body.vlan_id ?? null,
    role_id: body.role_id ?? null,
    gateway: body.gateway === undefined ? null : inside(body.gateway, 'body.gateway'),
    dns_servers: body.dns_servers ?? [],
    is_pool: body.is_pool ?? false,
    description: body.description ?? '',
    excluded,
  }
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(ipaddr.parse(a).toByteArray()), Buffer.from(ipaddr.parse(b).toByteArray()))
}

function checkAddress(text: string, path: string): void {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text))
    throw invalidField(path, `${text} is no IP address`)
}

function changing<T extends { message: string }>(
  deps: ChangeDeps,
  ctx: RequestContext,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const about = { resource_type: 'IPAM', resource_uuid: what, tenant_id: null, description: `Changing ${what}.` }
  return recordChange(deps, ctx, about, async (note) => {
    const answer = await work()
    note.description = answer.message
    return answer
  })
}
