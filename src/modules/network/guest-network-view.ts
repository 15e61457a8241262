// Turns the platform's network into ours.
import type { GuestNetwork } from '#src/contract/network/guest-networks.ts'
import { flagOf, numberOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'

export function networkOf(row: Raw): GuestNetwork {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    display_text: textOf(row, 'displaytext'),
    type: textOf(row, 'type') ?? '',
    state: textOf(row, 'state') ?? '',
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    cidr: textOf(row, 'cidr'),
    gateway: textOf(row, 'gateway'),
    netmask: textOf(row, 'netmask'),
    vlan: textOf(row, 'vlan'),
    network_offering_id: textOf(row, 'networkofferingid'),
    network_offering_name: textOf(row, 'networkofferingname'),
    restart_required: flagOf(row, 'restartrequired'),
    vpc_id: textOf(row, 'vpcid'),
    tenant_id: textOf(row, 'domainid'),
    tenant_name: textOf(row, 'domain'),
    account: textOf(row, 'account'),
    project_id: textOf(row, 'projectid'),
    services: rowsOf(row, 'service').map((service) => textOf(service, 'name') ?? ''),
    egress_default: egressDefault(flagOf(row, 'egressdefaultpolicy')),
    public_mtu: numberOf(row, 'publicmtu'),
    private_mtu: numberOf(row, 'privatemtu'),
    dns1: textOf(row, 'dns1'),
    dns2: textOf(row, 'dns2'),
    network_domain: textOf(row, 'networkdomain'),
    received_bytes: numberOf(row, 'receivedbytes'),
    sent_bytes: numberOf(row, 'sentbytes'),
    created_at: timeOf(row, 'created'),
  }
}

/** The platform says whether it allows. */
export function egressDefault(allows: boolean | null): 'allow' | 'deny' | null {
  if (allows === null) return null
  return allows ? 'allow' : 'deny'
}
