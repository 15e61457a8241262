// The public range that belongs to one tenant (Part 3, 4.9).
import { type Static, Type } from 'typebox'
import { Id, KnownText, Nullable, NullableTime } from '../common.ts'

export const IPV4 = (description: string) => Type.String({ format: 'ipv4', description })

export const RangeFields = {
  zone_id: Id,
  start_ip: IPV4('First address.'),
  end_ip: IPV4('Last address.'),
  gateway: IPV4('Gateway.'),
  netmask: IPV4('Netmask.'),
}

export const TenantNetwork = Type.Object(
  {
    dedicated_at: NullableTime,
    end_ip: Nullable(Type.String()),
    gateway: Nullable(Type.String()),
    netmask: Nullable(Type.String()),
    start_ip: Nullable(Type.String()),
    status: KnownText(
      ['DEDICATED', 'RELEASED_ELSEWHERE'],
      'DEDICATED: so on the platform. RELEASED_ELSEWHERE: recorded here, but no longer so there.',
    ),
    tenant_id: Type.String(),
    tenant_name: Type.String(),
    vlan_range_id: Type.String({ description: 'Id of the range.' }),
    zone_id: Nullable(Type.String()),
  },
  { title: 'TenantNetwork' },
)
export type TenantNetwork = Static<typeof TenantNetwork>
