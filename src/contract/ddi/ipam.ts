// IPAM: sites, roles, VLANs, prefixes and addresses. Built in, or NetBox behind the same routes (extensions).
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { Closed, Flag, Nullable, NullableInteger, OneOf } from '../common.ts'
import { defineArea, type RouteSpec } from '../route.ts'
import { Comment, DnsName, Enveloped, PageData, PageQuery, PlainEnvelope, Text, Timestamp } from './envelope.ts'

export const ADDRESS_STATUSES = ['active', 'reserved', 'deprecated', 'dhcp'] as const
const MAX_ID = 2_147_483_647

const IntegerId = (description: string) => Type.Integer({ minimum: 1, maximum: MAX_ID, description })
const Slug = Type.String({
  pattern: '^[a-z0-9]([a-z0-9_-]{0,98}[a-z0-9])?$',
  description: 'Short name of small letters, digits, hyphens.',
})
const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: 'For people.',
})
const Cidr = (description: string) =>
  Type.String({ minLength: 4, maxLength: 49, pattern: '^[0-9A-Fa-f.:]+/[0-9]{1,3}$', description })
const Address = (description: string) =>
  Type.String({ minLength: 2, maxLength: 45, pattern: '^[0-9A-Fa-f.:]+$', description })

export const IpamSite = Type.Object(
  {
    id: Type.Integer(),
    slug: Type.String(),
    name: Type.String(),
    is_default: Type.Boolean({ description: 'Used where no site is named.' }),
  },
  { title: 'IpamSite' },
)
export type IpamSite = Static<typeof IpamSite>

export const IpamRole = Type.Object(
  {
    id: Type.Integer(),
    slug: Type.String({ description: 'management, storage, guest, public, or your own.' }),
    name: Type.String(),
  },
  { title: 'IpamRole' },
)
export type IpamRole = Static<typeof IpamRole>

export const IpamVlan = Type.Object(
  {
    id: Type.Integer(),
    vid: Type.Integer({ description: 'VLAN id, 1 to 4094.' }),
    name: Type.String(),
    site_id: NullableInteger('Null: every site.'),
    role_id: NullableInteger('Network role.'),
  },
  { title: 'IpamVlan' },
)
export type IpamVlan = Static<typeof IpamVlan>

export const IpamPrefix = Type.Object(
  {
    id: Type.Integer(),
    cidr: Type.String(),
    site_id: NullableInteger('Site it is used in.'),
    vlan_id: NullableInteger('VLAN that carries it.'),
    role_id: NullableInteger('Network role.'),
    gateway: Text('Never allocated.'),
    dns_servers: Type.Array(Type.String()),
    is_pool: Type.Boolean({ description: 'Network and broadcast address may be allocated, too.' }),
    excluded_ranges: Type.Array(Type.String(), { description: 'Never allocated: first-last.' }),
    description: Type.String(),
    total: Nullable(Type.Number({ description: 'Addresses that can be allocated.' })),
    used: NullableInteger('Addresses allocated.'),
  },
  { title: 'IpamPrefix' },
)
export type IpamPrefix = Static<typeof IpamPrefix>

export const IpamAddress = Type.Object(
  {
    id: Type.Integer(),
    address: Type.String({ description: 'Without prefix length.' }),
    prefix_id: NullableInteger('Prefix it was taken from.'),
    prefix_length: Type.Integer(),
    status: OneOf([...ADDRESS_STATUSES]),
    dns_name: Text(),
    owner_kind: Text('What holds it: node, reservation, public-ip, or your own word.'),
    owner_id: Text('Which one.'),
    description: Type.String(),
    created_at: Timestamp('When it was allocated.'),
  },
  { title: 'IpamAddress' },
)
export type IpamAddress = Static<typeof IpamAddress>

export const SiteCreate = Closed(
  { slug: Slug, name: Name, is_default: Flag('Used where no site is named.') },
  { title: 'IpamSiteCreate' },
)
export type SiteCreate = Static<typeof SiteCreate>
export const RoleCreate = Closed({ slug: Slug, name: Name }, { title: 'IpamRoleCreate' })
export type RoleCreate = Static<typeof RoleCreate>
export const VlanCreate = Closed(
  {
    vid: Type.Integer({ minimum: 1, maximum: 4094, description: 'VLAN id.' }),
    name: Name,
    site_id: Type.Optional(IntegerId('Left out: every site.')),
    role_id: Type.Optional(IntegerId('Network role.')),
  },
  { title: 'IpamVlanCreate' },
)
export type VlanCreate = Static<typeof VlanCreate>
export const PrefixCreate = Closed(
  {
    cidr: Cidr('Network with its length; host bits must be zero.'),
    site_id: Type.Optional(IntegerId('Site.')),
    vlan_id: Type.Optional(IntegerId('VLAN that carries it.')),
    role_id: Type.Optional(IntegerId('Network role.')),
    gateway: Type.Optional(Address('Router; never allocated.')),
    dns_servers: Type.Optional(Type.Array(Address('Name server.'), { maxItems: 8 })),
    is_pool: Flag('Network and broadcast address may be allocated, too.'),
    excluded_ranges: Type.Optional(
      Type.Array(
        Type.String({
          maxLength: 91,
          pattern: '^[0-9A-Fa-f.:]+(-[0-9A-Fa-f.:]+)?$',
          description: 'One address, or first-last.',
        }),
        { maxItems: 200 },
      ),
    ),
    description: Type.Optional(Comment('For people.')),
  },
  { title: 'IpamPrefixCreate' },
)
export type PrefixCreate = Static<typeof PrefixCreate>
export const AddressAllocate = Closed(
  {
    address: Type.Optional(Address('This very address; the lowest free one when left out.')),
    status: Type.Optional(OneOf([...ADDRESS_STATUSES])),
    dns_name: Type.Optional(DnsName('Name of it.')),
    owner_kind: Type.Optional(
      Type.String({ minLength: 1, maxLength: 40, pattern: '^[a-z][a-z0-9-]*$', description: 'What holds it.' }),
    ),
    owner_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Which one.' })),
    description: Type.Optional(Comment('For people.')),
  },
  { title: 'IpamAddressAllocate' },
)
export type AddressAllocate = Static<typeof AddressAllocate>

const site: IpamSite = { id: 1, slug: 'fra1', name: 'Frankfurt 1', is_default: true }
const role: IpamRole = { id: 1, slug: 'management', name: 'Management' }
const vlan: IpamVlan = { id: 1, vid: 20, name: 'mgmt', site_id: 1, role_id: 1 }
const prefix: IpamPrefix = {
  id: 1, cidr: '10.20.0.0/24', site_id: 1, vlan_id: 1, role_id: 1, gateway: '10.20.0.1', dns_servers: ['10.20.0.2'], is_pool: false,
  excluded_ranges: ['10.20.0.200-10.20.0.254'], description: '', total: 198, used: 3,
} // biome-ignore format: one record
const address: IpamAddress = {
  id: 7, address: '10.20.0.2', prefix_id: 1, prefix_length: 24, status: 'active', dns_name: 'kvm-07.lab.example', owner_kind: 'node', owner_id: '10.99.0.7',
  description: '', created_at: '2026-11-18T08:00:00.000Z',
} // biome-ignore format: one record

const base = '/ddi/ipam'
const idPath = Closed({ id: IntegerId('Id.') })
const total_count = Type.Integer({ minimum: 0, description: 'Rows that match, over all pages.' })

function listed<T extends TSchema>(name: string, item: T, title: string) {
  return Enveloped(Type.Object({ [name]: Type.Array(item), total_count, ...PageData }), title)
}

/** List, create and delete of one kind of record read alike. */
function routesOf<Q extends TProperties, B extends TObject, T extends TSchema>(kind: {
  plural: string
  one: string
  several: string
  item: T
  example: unknown
  filter: Q
  create: B
  body: unknown
  deleting: string
}) {
  const { plural, one, several, item, example } = kind
  const list = {
    method: 'GET',
    access: 'viewer',
    path: `${base}/${plural}`,
    summary: `List ${several}`,
    extension: true,
    query: Type.Object({ ...kind.filter, ...PageQuery }),
    ok: { 200: listed(plural, item, `Ipam${plural}Page`) },
    errors: [400, 500],
    example: {
      answer: {
        success: true,
        message: `1 ${one}.`,
        data: { [plural]: [example], total_count: 1, page: 1, page_size: 50 },
      },
    },
  } as const satisfies RouteSpec
  const create = {
    method: 'POST',
    access: 'operator',
    path: `${base}/${plural}`,
    summary: `Create ${one}`,
    extension: true,
    event: { resource_type: 'IPAM' },
    body: kind.create,
    ok: { 201: Enveloped(item, `Ipam${plural}Made`) },
    errors: [400, 409, 500],
    example: { body: kind.body, answer: { success: true, message: `${one} made.`, data: example } },
  } as const satisfies RouteSpec
  const remove = {
    method: 'DELETE',
    access: 'operator',
    path: `${base}/${plural}/{id}`,
    summary: `Delete ${one}`,
    description: kind.deleting,
    extension: true,
    event: { resource_type: 'IPAM' },
    params: idPath,
    ok: { 200: PlainEnvelope },
    errors: [400, 404, 409, 500],
    example: { params: { id: 1 }, answer: { success: true, message: `${one} deleted.` } },
  } as const satisfies RouteSpec
  return { list, create, remove }
}

const sites = routesOf({
  plural: 'sites', one: 'site', several: 'sites', item: IpamSite, example: site, filter: {}, create: SiteCreate,
  body: { slug: 'fra1', name: 'Frankfurt 1' }, deleting: 'Refused while VLANs or prefixes name it.',
}) // biome-ignore format: one record
const roles = routesOf({
  plural: 'roles', one: 'network role', several: 'network roles', item: IpamRole, example: role, filter: {}, create: RoleCreate,
  body: { slug: 'management', name: 'Management' }, deleting: 'Refused while VLANs or prefixes name it.',
}) // biome-ignore format: one record
const vlans = routesOf({
  plural: 'vlans', one: 'VLAN', several: 'VLANs', item: IpamVlan, example: vlan,
  filter: { site_id: Type.Optional(IntegerId('Site; those of every site are included.')), role: Type.Optional(Slug), vid: Type.Optional(IntegerId('VLAN id.')) },
  create: VlanCreate, body: { vid: 20, name: 'mgmt', site_id: 1, role_id: 1 }, deleting: 'Refused while prefixes name it.',
}) // biome-ignore format: one record
const prefixes = routesOf({
  plural: 'prefixes', one: 'prefix', several: 'prefixes', item: IpamPrefix, example: prefix,
  filter: {
    site_id: Type.Optional(IntegerId('Site.')), role: Type.Optional(Slug), vlan_id: Type.Optional(IntegerId('VLAN record.')),
    contains: Type.Optional(Address('Only prefixes that hold this address.')),
  },
  create: PrefixCreate, body: { cidr: '10.20.0.0/24', site_id: 1, vlan_id: 1, role_id: 1, gateway: '10.20.0.1' },
  deleting: 'Refused while addresses of it are allocated.',
}) // biome-ignore format: one record

export const ipam = defineArea({
  name: 'ipam',
  description:
    'Sites, network roles, VLANs, prefixes and addresses: what setup, provisioning and reservations allocate from.',
  errors: 'envelope',
  routes: {
    ipamSiteList: sites.list,
    ipamSiteCreate: sites.create,
    ipamSiteDelete: sites.remove,
    ipamRoleList: roles.list,
    ipamRoleCreate: roles.create,
    ipamRoleDelete: roles.remove,
    ipamVlanList: vlans.list,
    ipamVlanCreate: vlans.create,
    ipamVlanDelete: vlans.remove,
    ipamPrefixList: prefixes.list,
    ipamPrefixCreate: prefixes.create,
    ipamPrefixDelete: prefixes.remove,
    ipamPrefixGet: {
      method: 'GET',
      access: 'viewer',
      path: `${base}/prefixes/{id}`,
      summary: 'Get prefix',
      extension: true,
      params: idPath,
      ok: { 200: Enveloped(IpamPrefix, 'IpamPrefixAnswer') },
      errors: [400, 404, 500],
      example: { params: { id: 1 }, answer: { success: true, message: 'Prefix 10.20.0.0/24.', data: prefix } },
    },
    ipamAddressAllocate: {
      method: 'POST',
      access: 'operator',
      path: `${base}/prefixes/{id}/addresses`,
      summary: 'Allocate address of prefix',
      description: 'Two callers never get the same address. 409 IPAM_PREFIX_FULL when none is free.',
      extension: true,
      event: { resource_type: 'IPAM' },
      params: idPath,
      body: AddressAllocate,
      ok: { 201: Enveloped(IpamAddress, 'IpamAddressMade') },
      errors: [400, 404, 409, 500],
      example: {
        params: { id: 1 },
        body: { dns_name: 'kvm-07.lab.example', owner_kind: 'node', owner_id: '10.99.0.7' },
        answer: { success: true, message: '10.20.0.2 is allocated.', data: address },
      },
    },
    ipamAddressList: {
      method: 'GET',
      access: 'viewer',
      path: `${base}/addresses`,
      summary: 'List addresses',
      extension: true,
      query: Type.Object({
        prefix_id: Type.Optional(IntegerId('Only of this prefix.')),
        address: Type.Optional(Address('Exact address.')),
        owner_kind: Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: 'What holds it.' })),
        owner_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Which one.' })),
        ...PageQuery,
      }),
      ok: { 200: listed('addresses', IpamAddress, 'IpamAddressPage') },
      errors: [400, 500],
      example: {
        answer: {
          success: true,
          message: '1 address.',
          data: { addresses: [address], total_count: 1, page: 1, page_size: 50 },
        },
      },
    },
    ipamAddressRelease: {
      method: 'DELETE',
      access: 'operator',
      path: `${base}/addresses/{id}`,
      summary: 'Release address',
      extension: true,
      event: { resource_type: 'IPAM' },
      params: idPath,
      ok: { 200: PlainEnvelope },
      errors: [400, 404, 500],
      example: { params: { id: 7 }, answer: { success: true, message: '10.20.0.2 is released.' } },
    },
  },
})
