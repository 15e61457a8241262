// Handlers of the IPAM area over the built-in address store.
import ipaddr from 'ipaddr.js'
import pLimit, { type LimitFunction } from 'p-limit'
import type { ipam } from '#src/contract/ddi/ipam.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'
import * as store from '#src/store/ipam.ts'

type In<Op extends keyof typeof ipam.routes> = Input<(typeof ipam.routes)[Op]>

export function ipamHandlers(deps: ChangeDeps): Handlers<typeof ipam.routes, RequestContext> {
  const { database } = deps
  const { db } = database
  // Those of this process wait here, so that they do not take every connection of the database.
  const turn = pLimit(1)
  return {
    ipamSiteList: async ({ query }) => listed('sites', 'site', await store.listSites(db, pageOf(query)), pageOf(query)),
    ipamRoleList: async ({ query }) =>
      listed('roles', 'network role', await store.listRoles(db, pageOf(query)), pageOf(query)),
    ipamVlanList: async ({ query }) =>
      listed('vlans', 'VLAN', await store.listVlans(db, query, pageOf(query)), pageOf(query)),
    ipamPrefixList: async ({ query }) => {
      if (query.contains !== undefined) checkAddress(query.contains, 'query.contains')
      return listed('prefixes', 'prefix', await store.listPrefixes(db, query, pageOf(query)), pageOf(query))
    },
    ipamAddressList: async ({ query }) => {
      if (query.address !== undefined) checkAddress(query.address, 'query.address')
      return listed('addresses', 'address', await store.listAddresses(db, query, pageOf(query)), pageOf(query))
    },
    ipamPrefixGet: async ({ params }) => {
      const prefix = await requirePrefix(deps, params.id)
      return { success: true, message: `Prefix ${prefix.cidr}.`, data: prefix }
    },
    ipamSiteCreate: ({ body }, ctx) =>
      made(deps, ctx, `site ${body.slug}`, () => store.insertSite(database, { is_default: false, ...body })),
    ipamRoleCreate: ({ body }, ctx) => made(deps, ctx, `network role ${body.slug}`, () => store.insertRole(db, body)),
    ipamVlanCreate: ({ body }, ctx) =>
      made(deps, ctx, `VLAN ${body.vid}`, () =>
        known('body', () => store.insertVlan(db, { site_id: null, role_id: null, ...body })),
      ),
    ipamPrefixCreate: ({ body }, ctx) => {
      const prefix = newPrefix(body)
      return made(deps, ctx, `prefix ${prefix.cidr}`, async () => {
        const id = await known('body', () => store.insertPrefix(database, prefix))
        return id === undefined ? undefined : requirePrefix(deps, id)
      })
    },
    ipamSiteDelete: ({ params }, ctx) => deleted(deps, ctx, 'ipam_site', 'site', params.id),
    ipamRoleDelete: ({ params }, ctx) => deleted(deps, ctx, 'ipam_role', 'network role', params.id),
    ipamVlanDelete: ({ params }, ctx) => deleted(deps, ctx, 'ipam_vlan', 'VLAN', params.id),
    ipamPrefixDelete: ({ params }, ctx) => deleted(deps, ctx, 'ipam_prefix', 'prefix', params.id),
    ipamAddressAllocate: ({ params, body }, ctx) => allocateAddress(deps, turn, params.id, body, ctx),
    ipamAddressRelease: ({ params }, ctx) =>
      changing(deps, ctx, `address ${params.id}`, async () => {
        const address = await store.releaseAddress(db, params.id)
        if (address === undefined) throw new ApiError('IPAM_NOT_FOUND', `Address ${params.id} not found.`)
        return { success: true, message: `${address} is released.` }
      }),
  }
}

function pageOf({ page = 1, page_size = 50 }: { page?: number; page_size?: number }): store.Page {
  return { page, page_size }
}

function listed<Name extends string, T>(
  name: Name,
  one: string,
  { rows, count }: { rows: T[]; count: number },
  page: store.Page,
) {
  const list = { [name]: rows } as { [K in Name]: T[] }
  return {
    success: true,
    message: `${count} ${count === 1 ? one : name}.`,
    data: { ...list, total_count: count, ...page },
  }
}

async function requirePrefix({ database }: ChangeDeps, id: number) {
  const { rows } = await store.listPrefixes(database.db, { id }, { page: 1, page_size: 1 })
  if (rows[0] === undefined) throw new ApiError('IPAM_NOT_FOUND', `Prefix ${id} not found.`)
  return rows[0]
}

function made<T>(deps: ChangeDeps, ctx: RequestContext, what: string, insert: () => Promise<T | undefined>) {
  return changing(deps, ctx, what, async () => {
    const data = await insert()
    if (data === undefined) throw new ApiError('IPAM_EXISTS', `There is another ${what}, or one that overlaps it.`)
    return { success: true, message: `Made ${what}.`, data }
  })
}

const FOREIGN_KEY = '23503'

/** A site, role or VLAN that a request names must be there. */
async function known<T>(path: string, insert: () => Promise<T>): Promise<T> {
  try {
    return await insert()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === FOREIGN_KEY)) throw error
    const field = 'constraint' in error ? /(site_id|vlan_id|role_id)/.exec(String(error.constraint))?.[1] : undefined
    throw invalidField(`${path}.${field ?? 'site_id'}`, 'names nothing that exists')
  }
}

async function deleted(
  deps: ChangeDeps,
  ctx: RequestContext,
  table: Parameters<typeof store.deleteRow>[1],
  what: string,
  id: number,
) {
  return changing(deps, ctx, `${what} ${id}`, async () => {
    const result = await store.deleteRow(deps.database.db, table, id)
    if (result === 'not_found') throw new ApiError('IPAM_NOT_FOUND', `There is no ${what} ${id}.`)
    if (result === 'in_use')
      throw new ApiError('IPAM_IN_USE', `Other records still name ${what} ${id}; delete them first.`)
    return { success: true, message: `Deleted ${what} ${id}.` }
  })
}

async function allocateAddress(
  deps: ChangeDeps,
  turn: LimitFunction,
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
    const data = await turn(() => store.allocate(deps.database, prefix_id, wish))
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

function newPrefix(body: In<'ipamPrefixCreate'>['body']): store.NewPrefix {
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
