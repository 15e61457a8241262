// Finds NICs and secondary addresses. The platform lists NICs by their machine only, so without its name the caller's
// machines are walked page by page until the NIC is found.
import type { NicRecord } from '#src/contract/compute/nics.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, integerOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { rawVm } from './vm-lookup.ts'

const DETAILS = 'min,nics'

export interface FoundNic {
  vm: Raw
  nic: NicRecord
}

export interface FoundAddress extends FoundNic {
  ip_address: string
}

/** Throws NIC_NOT_FOUND; a NIC of another tenant is not distinguishable from none. */
export async function findNic(
  cloudstack: CloudStack,
  named: { nic_id: string; virtual_machine_id?: string },
  ctx: RequestContext,
): Promise<FoundNic> {
  const found = await search(cloudstack, named.virtual_machine_id, ctx, (nic) => nic.id === named.nic_id)
  if (found !== undefined) return found
  throw new ApiError('NIC_NOT_FOUND', `NIC ${named.nic_id} not found.`)
}

export async function findSecondaryIp(
  cloudstack: CloudStack,
  named: { secondary_ip_id: string; virtual_machine_id?: string },
  ctx: RequestContext,
): Promise<FoundAddress> {
  const id = named.secondary_ip_id
  const found = await search(cloudstack, named.virtual_machine_id, ctx, (nic) =>
    nic.secondary_ips.some((one) => one.id === id),
  )
  const address = found?.nic.secondary_ips.find((one) => one.id === id)
  if (found !== undefined && address !== undefined) return { ...found, ip_address: address.ip_address }
  throw new ApiError('SECONDARY_IP_NOT_FOUND', `Secondary address ${id} not found.`)
}

async function search(
  cloudstack: CloudStack,
  virtual_machine_id: string | undefined,
  ctx: RequestContext,
  fits: (nic: NicRecord) => boolean,
): Promise<FoundNic | undefined> {
  if (virtual_machine_id !== undefined) return within(await rawVm(cloudstack, virtual_machine_id, ctx, DETAILS), fits)
  const args = { details: DETAILS, ...scopeOf(ctx.caller.tenant_id) }
  for await (const rows of cloudstack.listPages('listVirtualMachines', args, 'virtualmachine', ctx)) {
    for (const vm of rows) {
      const found = within(vm, fits)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function within(vm: Raw, fits: (nic: NicRecord) => boolean): FoundNic | undefined {
  for (const row of rowsOf(vm, 'nic')) {
    const nic = nicRecordOf(row, textOf(vm, 'id') ?? '')
    if (fits(nic)) return { vm, nic }
  }
  return undefined
}

export function nicRecordOf(raw: Raw, virtual_machine_id: string): NicRecord {
  return {
    id: textOf(raw, 'id') ?? '',
    virtual_machine_id,
    network_id: textOf(raw, 'networkid'),
    network_name: textOf(raw, 'networkname'),
    ip_address: textOf(raw, 'ipaddress'),
    ipv6_address: textOf(raw, 'ip6address'),
    gateway: textOf(raw, 'gateway'),
    netmask: textOf(raw, 'netmask'),
    mac_address: textOf(raw, 'macaddress'),
    is_default: flagOf(raw, 'isdefault'),
    device_id: integerOf(raw, 'deviceid'),
    type: textOf(raw, 'type'),
    traffic_type: textOf(raw, 'traffictype'),
    mtu: integerOf(raw, 'mtu'),
    vpc_id: textOf(raw, 'vpcid'),
    secondary_ips: rowsOf(raw, 'secondaryip').map((one) => ({
      id: textOf(one, 'id') ?? '',
      ip_address: textOf(one, 'ipaddress') ?? '',
    })),
  }
}
