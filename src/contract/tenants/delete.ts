// What deleting a tenant would delete, and the credentials of its admin.
import { type Static, Type } from 'typebox'
import { OneOf } from '../common.ts'

export const TENANT_THINGS = [
  'virtual_machine', 'volume', 'volume_snapshot', 'network', 'public_ip', 'template', 'iso', 'affinity_group', 'ssh_key', 'user_data',
  'project', 'account', 'account_user', 'user', 'token', 'dns_zone', 'dns_name', 'dhcp_scope', 'dhcp_reservation', 'ipam_address',
] as const // biome-ignore format: one list

export const TenantDeletePlan = Type.Object(
  {
    dry_run: Type.Literal(true),
    message: Type.String(),
    things: Type.Array(
      Type.Object({
        kind: OneOf([...TENANT_THINGS], {
          description:
            'account_user: a user of the platform. user and token: of this service, limited to the tenant. From dns_zone on: what stands on address servers for it and what is in it, and must be deleted first.',
        }),
        count: Type.Integer({ minimum: 1 }),
        names: Type.Array(Type.String(), { description: 'The first 100, in order.' }),
      }),
      { description: 'Everything that would be deleted, what its projects and the tenants below it have included.' },
    ),
  },
  { title: 'TenantDeletePlan' },
)
export type TenantDeletePlan = Static<typeof TenantDeletePlan>

export const TenantAdminCredentials = Type.Object(
  {
    tenant_id: Type.String(),
    username: Type.String(),
    password: Type.String({ 'x-secret': true, description: 'Shown this once and stored nowhere.' }),
    message: Type.String({ description: 'What of the old credentials was revoked.' }),
  },
  { title: 'TenantAdminCredentials' },
)
