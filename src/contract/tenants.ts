// Tenants: the domains right under the platform's root (Part 3, 4.9).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  Id,
  KnownText,
  ListOf,
  Nullable,
  NullableText,
  NullableTime,
  OneOf,
  PageFields,
  SortFields,
} from './common.ts'
import { defineArea } from './route.ts'
import { TenantAdminCredentials, TenantDeletePlan } from './tenants/delete.ts'
import { AuthSourceAnswer, AuthSourceChange } from './tenants/auth-source.ts'
import { TenantLimits, TenantLimitsChange } from './tenants/limits.ts'
import { IPV4, RangeFields, TenantNetwork } from './tenants/network.ts'

export const TENANT_COLUMNS = ['name', 'source', 'is_active', 'created_at'] as const
export const TENANT_FLAGS = ['CREATING', 'CREATE_FAILED', 'REMOVED_ELSEWHERE'] as const
export const ACCOUNT_MODES = ['flat', 'departmental'] as const
export const AUTH_SOURCES = ['local', 'ldap', 'oidc', 'saml'] as const

/** Letters, digits, hyphens, dots and underscores: what a domain, its paths and its account name can carry. */
const TENANT_NAME = '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$'
const NETWORK_DOMAIN =
  '^(?=.{1,190}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$'

export const Tenant = Type.Object(
  {
    id: Type.String({ description: 'UUID of the domain on the compute platform.' }),
    name: Type.String(),
    description: Type.String(),
    dedicated_ip_start: NullableText('First address of the dedicated public range.'),
    dedicated_ip_end: NullableText('Last address of the dedicated public range.'),
    dedicated_vlan_id: NullableText('Id of the dedicated public range.'),
    is_active: Type.Boolean({ description: 'False: its accounts are locked or disabled.' }),
    flag: Nullable(
      OneOf([...TENANT_FLAGS], {
        description:
          'CREATING: not complete yet. CREATE_FAILED: creating it failed and could not be undone in full. REMOVED_ELSEWHERE: its domain is gone from the platform.',
      }),
    ),
    source: OneOf(['service', 'platform'], { description: 'Where it was made: here, or on the platform itself.' }),
    path: NullableText('Path of the domain.'),
    network_domain: NullableText('DNS suffix of its networks.'),
    account_mode: OneOf([...ACCOUNT_MODES]),
    auth_source: OneOf([...AUTH_SOURCES]),
    onboarding: OneOf(['full', 'partial'], {
      description: 'full: a public range is dedicated, limits were set, and the authentication source was chosen.',
    }),
    admin_account: NullableText('Account of the domain admin made with the tenant.'),
    created_at: NullableTime,
    last_seen_at: Nullable(Type.String({ format: 'date-time', description: 'When the platform last listed it.' })),
  },
  { title: 'Tenant' },
)
export type Tenant = Static<typeof Tenant>

export const TenantCreate = Closed(
  {
    name: Type.String({
      pattern: TENANT_NAME,
      minLength: 1,
      maxLength: 63,
      description: 'Name of the domain: letters, digits, hyphens, dots, underscores; unique whatever the case.',
    }),
    domain_uuid: Type.Optional(
      Type.String({ format: 'uuid', description: 'Takes the id of a domain of another region.' }),
    ),
    network_domain: Type.Optional(Type.String({ pattern: NETWORK_DOMAIN, description: 'DNS suffix of its networks.' })),
    description: Type.Optional(
      Type.String({ maxLength: 500, description: 'Free words about the tenant.', 'x-extension': true }),
    ),
    zone_id: Type.Optional(Id),
    start_ip: Type.Optional(IPV4('First address of the dedicated range.')),
    end_ip: Type.Optional(IPV4('Last address of the dedicated range.')),
    gateway: Type.Optional(IPV4('Gateway of the dedicated range.')),
    netmask: Type.Optional(IPV4('Netmask of the dedicated range.')),
  },
  { title: 'TenantCreate' },
)
export type TenantCreate = Static<typeof TenantCreate>

const TenantParams = Closed({ id: Type.String({ minLength: 1, maxLength: 128, description: 'Platform domain UUID.' }) })

const JOB = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const id = '0f2f9d3e-6b1a-4c3e-8f57-3d1f2b6a9c01'
const example: Tenant = {
  id,
  name: 'initech',
  description: '',
  dedicated_ip_start: '203.0.113.16',
  dedicated_ip_end: '203.0.113.31',
  dedicated_vlan_id: '7f9f2b7e-1f0e-4c7e-9d5e-0a52b1c0ffee',
  is_active: true,
  flag: null,
  source: 'service',
  path: 'ROOT/initech',
  network_domain: 'initech.example',
  account_mode: 'flat',
  auth_source: 'local',
  onboarding: 'partial',
  admin_account: 'initech',
  created_at: '2026-10-01T08:00:00.000Z',
  last_seen_at: '2026-11-20T03:12:45.120Z',
}
const range = { start_ip: '203.0.113.16', end_ip: '203.0.113.31', gateway: '203.0.113.1', netmask: '255.255.255.0' }
const zone_id = 'a8f1c5de-30fb-4f0e-92f5-3c4b8f1d2e07'
const network: TenantNetwork = {
  ...range, zone_id, dedicated_at: '2026-10-01T08:00:01.000Z', status: 'DEDICATED', tenant_id: id, tenant_name: 'initech',
  vlan_range_id: '7f9f2b7e-1f0e-4c7e-9d5e-0a52b1c0ffee',
} // biome-ignore format: one record
const limits: TenantLimits = {
  cpus: 80, instances: 40, ips: 16, memory: 262_144, networks: 20, primary_storage: 4000, projects: 5,
  secondary_storage: 1000, snapshots: 100, templates: 40, volumes: 80, vpcs: 4,
} // biome-ignore format: one record

const errors = [400, 404, 409, 500] as const
const read = { method: 'GET', access: 'viewer', errors } as const
const change = { access: 'admin', errors, event: { resource_type: 'TENANT' } } as const

export const tenants = defineArea({
  name: 'tenants',
  description: 'Tenants: domains of the compute platform with their limits, dedicated addresses and sign-in.',
  routes: {
    tenantList: {
      ...read,
      path: '/admin/tenants',
      summary: 'List tenants',
      description:
        'From the database of this service, which is kept in step with the platform: what was made there appears with source platform, what was removed there stays with a flag.',
      tenant: 'own',
      query: Type.Object({
        name: Type.Optional(Type.String({ maxLength: 63, description: 'Exact name.', 'x-extension': true })),
        keyword: Type.Optional(Type.String({ maxLength: 63, description: 'Part of a name.', 'x-extension': true })),
        is_active: Type.Optional(
          Type.Boolean({ description: 'Only active ones, or only others.', 'x-extension': true }),
        ),
        source: Type.Optional(OneOf(['service', 'platform'], { description: 'Where made.', 'x-extension': true })),
        flag: Type.Optional(
          OneOf([...TENANT_FLAGS, 'NONE'], {
            description: 'Only with this flag, or without any.',
            'x-extension': true,
          }),
        ),
        ...SortFields([...TENANT_COLUMNS], 'by name'),
        ...PageFields,
      }),
      ok: { 200: ListOf('tenants', Tenant, 'TenantPage') },
      example: { query: { page: 1 }, answer: { tenants: [example], count: 1, page: 1, page_size: 50 } },
    },
    tenantCreate: {
      ...change,
      method: 'POST',
      path: '/admin/tenants',
      summary: 'Create tenant',
      description:
        'Makes the domain, a domain-admin account, and dedicates a public range when its five fields are given: an existing range that is exactly this one, else a new one. All or nothing: what was done before a failure is undone. The password of the account is kept encrypted and never shown. Answers when everything is done.',
      body: TenantCreate,
      ok: { 200: Tenant },
      example: { body: { name: 'initech', network_domain: 'initech.example', zone_id, ...range }, answer: example },
    },
    tenantIsMulti: {
      ...read,
      path: '/admin/tenants/is-multi-tenant',
      summary: 'Tell whether tenants exist',
      description: 'True when at least one tenant exists on the platform.',
      ok: { 200: Type.Boolean({ description: 'True when at least one tenant exists.' }) },
      example: { answer: true },
    },
    tenantStats: {
      ...read,
      path: '/admin/tenants/stats',
      summary: 'Count tenants',
      description:
        'Tenants that are complete and on the platform. fully_onboarded: a public range is dedicated, limits were set through this service, and the authentication source was chosen; partially_onboarded: all others. billable: active and fully onboarded.',
      ok: {
        200: Type.Object(
          {
            active: Type.Integer({ minimum: 0 }),
            billable: Type.Integer({ minimum: 0 }),
            fully_onboarded: Type.Integer({ minimum: 0 }),
            inactive: Type.Integer({ minimum: 0 }),
            partially_onboarded: Type.Integer({ minimum: 0 }),
            total: Type.Integer({ minimum: 0 }),
          },
          { title: 'TenantStats' },
        ),
      },
      example: {
        answer: { active: 2, billable: 1, fully_onboarded: 1, inactive: 0, partially_onboarded: 1, total: 2 },
      },
    },
    tenantGet: {
      ...read,
      path: '/admin/tenants/{id}',
      summary: 'Get tenant',
      tenant: 'own',
      params: TenantParams,
      ok: { 200: Tenant },
      example: { params: { id }, answer: example },
    },
    tenantDelete: {
      ...change,
      method: 'DELETE',
      path: '/admin/tenants/{id}',
      summary: 'Delete tenant',
      description:
        'With everything in it, what its projects and the tenants below it have included; its users and tokens of this service end, too. With dry_run nothing is deleted, and the answer names all of it. `confirm` must repeat the name of the tenant. Refused while DNS, DHCP or IPAM have zones, scopes, names, reservations or addresses of it or of anything in it; the answer lists them. A tenant whose domain is gone from the platform is forgotten.',
      extension: true,
      dry_run: true,
      params: TenantParams,
      query: Closed({
        confirm: Type.Optional(
          Type.String({ maxLength: 255, description: 'Name of the tenant once more; not needed with dry_run.' }),
        ),
      }),
      ok: { 200: Type.Union([ActionAccepted, TenantDeletePlan]) },
      example: {
        params: { id },
        query: { confirm: 'initech' },
        answer: {
          job_id: JOB, correlation_id: JOB, status: 'IN_PROGRESS', resource_id: id, message: 'Deleting tenant initech and everything in it.',
        }, // biome-ignore format: one record
      },
    },
    tenantAdminCredentialsReset: {
      ...change,
      method: 'POST',
      path: '/admin/tenants/{id}/admin-credentials',
      summary: 'Reset credentials of tenant admin',
      description:
        'A new password for the domain admin that was made with the tenant, or for the only one that a tenant of the platform has, shown in this answer alone. The old password and the API keys of this user no longer work; a session that is open on the platform ends there by itself.',
      extension: true,
      errors: [404, 409, 500],
      params: TenantParams,
      ok: { 200: TenantAdminCredentials },
      example: {
        params: { id },
        answer: {
          tenant_id: id, username: 'initech-admin', password: 'Gp1!Zk3v0uQm1nYp7sWc2dTeXa9B', message: 'The old password of initech-admin no longer works.',
        }, // biome-ignore format: one record
      },
    },
    tenantLimitsGet: {
      ...read,
      path: '/admin/tenants/{id}/limits',
      summary: 'Get limits of tenant',
      description:
        'Read from the platform. memory in MiB, storage in GiB, -1 is unlimited; null: the platform has none.',
      tenant: 'own',
      params: TenantParams,
      ok: { 200: TenantLimits },
      example: { params: { id }, answer: limits },
    },
    tenantLimitsSet: {
      ...change,
      method: 'PUT',
      path: '/admin/tenants/{id}/limits',
      summary: 'Set limits of tenant',
      description:
        'Fields left out stay. Each changed field is one call to the platform: when one is refused the answer says which were set before it. Less than is used now is accepted and only keeps new things from being made. Answers what the platform holds afterwards.',
      params: TenantParams,
      body: TenantLimitsChange,
      ok: { 200: TenantLimits },
      example: { params: { id }, body: { cpus: 80, memory: 262_144 }, answer: limits },
    },
    tenantNetworkGet: {
      ...read,
      path: '/admin/tenants/{id}/network',
      summary: 'Get dedicated public range of tenant',
      tenant: 'own',
      params: TenantParams,
      ok: { 200: TenantNetwork },
      example: { params: { id }, answer: network },
    },
    tenantNetworkDedicate: {
      ...change,
      method: 'POST',
      path: '/admin/tenants/{id}/network',
      summary: 'Dedicate public range to tenant',
      description:
        'The range must exist, exactly as given; its addresses may be in use by this tenant only. The same range again changes nothing; another one is 409 TENANT_NETWORK_EXISTS.',
      params: TenantParams,
      body: Closed(RangeFields, { title: 'TenantNetworkRequest' }),
      ok: { 200: TenantNetwork },
      example: { params: { id }, body: { ...range, zone_id }, answer: network },
    },
    tenantStatusSet: {
      ...change,
      method: 'PUT',
      path: '/admin/tenants/{id}/status',
      summary: 'Activate or deactivate tenant',
      description:
        'Deactivating locks the accounts on the platform: nobody signs in there and nothing new is made, machines keep running. Meanwhile tokens and users that are limited to the tenant may only read here: every change is 403 TENANT_INACTIVE. With `stop_instances` the accounts are disabled, which stops their machines. Activating enables the accounts that deactivating locked; it starts no machine, and names those that were stopped.',
      params: TenantParams,
      body: Closed({
        is_active: Type.Boolean(),
        stop_instances: Type.Optional(
          Type.Boolean({ description: 'Deactivating also stops the machines.', 'x-extension': true }),
        ),
      }),
      ok: {
        200: Type.Object(
          {
            is_active: Type.Boolean(),
            message: Type.String({ description: 'What was done.' }),
            tenant_id: Type.String(),
            stopped_virtual_machine_ids: Type.Array(Type.String(), {
              description: 'Machines that ran before deactivating stopped them.',
            }),
          },
          { title: 'TenantStatus' },
        ),
      },
      example: {
        params: { id },
        body: { is_active: false },
        answer: {
          is_active: false, message: '1 account locked; its machines keep running.', tenant_id: id, stopped_virtual_machine_ids: [],
        }, // biome-ignore format: one record
      },
    },
    tenantAccountModeSet: {
      ...change,
      method: 'POST',
      path: '/tenants/{id}/account-mode',
      summary: 'Set account mode of tenant',
      description:
        'flat: all users in one account. departmental: an account for each department. Accounts that exist stay.',
      tenant: 'own',
      params: TenantParams,
      body: Closed({ account_mode: OneOf([...ACCOUNT_MODES]) }),
      ok: {
        200: Type.Object(
          { tenant_id: Type.String(), account_mode: KnownText(ACCOUNT_MODES, 'Now in force.'), message: Type.String() },
          { title: 'TenantAccountMode' },
        ),
      },
      example: {
        params: { id },
        body: { account_mode: 'flat' },
        answer: { tenant_id: id, account_mode: 'flat', message: 'All users stand in one account.' },
      },
    },
    tenantAuthSourceSet: {
      ...change,
      method: 'POST',
      path: '/tenants/{id}/auth-source',
      summary: 'Set authentication source of tenant',
      description:
        'local: passwords of the platform. ldap: needs `ldap`; accounts are made at first sign-in. saml: every user of the tenant but its generated admin signs in at the identity provider. oidc: sign-in at this service, which must have an OIDC issuer and a tenant claim configured. Secrets are encrypted and never shown.',
      tenant: 'own',
      params: TenantParams,
      body: AuthSourceChange,
      ok: { 200: AuthSourceAnswer },
      example: {
        params: { id },
        body: { auth_source: 'local' },
        answer: { tenant_id: id, auth_source: 'local', message: 'Users sign in with their passwords.', settings: null },
      },
    },
  },
})
