// Public addresses as we show them, and finding one within what the caller may see.
import type { PublicIp } from '#src/contract/ddi/public-ips.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { publicIpState } from '#src/drivers/cloudstack/public-ip-state.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'

export function publicIpOf(row: Raw): PublicIp {
  const associated = flagOf(row, 'isstaticnat') === true
  return {
    account: textOf(row, 'account'),
    allocated_at: timeOf(row, 'allocated'),
    dns_name: null,
    domain_id: textOf(row, 'domainid'),
    id: textOf(row, 'id') ?? '',
    ip_address: textOf(row, 'ipaddress') ?? '',
    network_id: textOf(row, 'associatednetworkid'),
    network_name: textOf(row, 'associatednetworkname'),
    vm_display_name: textOf(row, 'virtualmachinedisplayname'),
    vm_id: textOf(row, 'virtualmachineid'),
    vm_name: textOf(row, 'virtualmachinename'),
    vpc_id: textOf(row, 'vpcid'),
    vpc_name: textOf(row, 'vpcname'),
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    associated,
    dns_created: null,
    state: publicIpState(row),
    source_nat: flagOf(row, 'issourcenat'),
    has_rules: flagOf(row, 'hasrules'),
    vm_guest_ip: textOf(row, 'vmipaddress'),
    project_id: textOf(row, 'projectid'),
  }
}

/** The address, free or owned; a free one belongs to no tenant, so a tenant-scoped caller does not find it. */
export async function requirePublicIp(
  cloudstack: CloudStack,
  id: string,
  { caller, signal }: { caller: Pick<Caller, 'tenant_id'>; signal: AbortSignal },
): Promise<PublicIp> {
  const args = { id, allocatedonly: false, ...scopeOfOne(caller.tenant_id) }
  const row = await findOne(cloudstack, 'listPublicIpAddresses', 'publicipaddress', args, { signal })
  const address = row === undefined ? undefined : publicIpOf(row)
  if (address === undefined || (caller.tenant_id !== null && address.state === 'Released')) {
    throw new ApiError('PUBLIC_IP_NOT_FOUND', `Public IP ${id} not found.`)
  }
  return address
}

/** Throws for an address that nobody owns. */
export function requireOwned(address: PublicIp): void {
  if (address.state === 'Released') {
    throw new ApiError(
      'PUBLIC_IP_STATE',
      `Public IP ${address.ip_address} is Released; this needs Allocated or Associated.`,
    )
  }
}
