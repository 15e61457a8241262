// MAC addresses of a virtual machine's NICs, and the zone of a guest network: what the DHCP filters ask the platform.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

export async function macsOfVm(
  cloudstack: CloudStack,
  vm_id: string,
  { signal }: RequestContext,
): Promise<Set<string>> {
  const args = { id: vm_id, details: 'nics', listall: true, page: 1, pagesize: 2 }
  const content = await cloudstack.call('listVirtualMachines', args, { signal })
  const nics = rowsOf(content, 'virtualmachine').flatMap((vm) => rowsOf(vm, 'nic'))
  return new Set(nics.flatMap((nic) => textOf(nic, 'macaddress')?.toLowerCase() ?? []))
}

/** Ids of the guest networks of a zone. */
export async function networksOfZone(
  cloudstack: CloudStack,
  zone_id: string,
  { signal }: RequestContext,
): Promise<Set<string>> {
  const args = { zoneid: zone_id, listall: true, page: 1, pagesize: 500 }
  const content = await cloudstack.call('listNetworks', args, { signal })
  return new Set(rowsOf(content, 'network').flatMap((network) => textOf(network, 'id') ?? []))
}
