// Public ranges of the platform: finding one exactly as given, and whose it is.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'

export interface RangeSpec {
  zone_id: string
  start_ip: string
  end_ip: string
  gateway: string
  netmask: string
}

export interface PublicRange extends RangeSpec {
  id: string
  vlan: string | null
  /** Tenant it is dedicated to. */
  tenant_id: string | null
  for_system_vms: boolean
}

/** Throws when the five fields make no range. */
export function checkRange(range: RangeSpec): void {
  const [start, end, gateway, mask] = [range.start_ip, range.end_ip, range.gateway, range.netmask].map(numberOf)
  if (start === undefined || end === undefined || gateway === undefined || mask === undefined) return
  if (end < start) throw invalidField('body.end_ip', `${range.end_ip} is below start_ip ${range.start_ip}`)
  const host = ~mask >>> 0
  if (mask === 0 || (host & (host + 1)) !== 0) throw invalidField('body.netmask', `${range.netmask} is no netmask`)
  const network = (address: number) => (address & mask) >>> 0
  if (network(end) !== network(start))
    throw invalidField('body.end_ip', `${range.end_ip} is outside the network of start_ip ${range.start_ip}`)
  if (network(gateway) !== network(start))
    throw invalidField('body.gateway', `${range.gateway} is outside the network of start_ip ${range.start_ip}`)
  if (gateway >= start && gateway <= end)
    throw invalidField('body.gateway', `${range.gateway} stands inside the range ${range.start_ip} to ${range.end_ip}`)
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

/** Only zones of this kind have public ranges that can be dedicated (cloudstack.md, G). */
export async function requireAdvancedZone(cloudstack: CloudStack, zone_id: string): Promise<void> {
  const zone = (await cloudstack.lookups.zones()).find((row) => textOf(row, 'id') === zone_id)
  if (zone === undefined) throw new ApiError('RESOURCE_NOT_FOUND', `Zone ${zone_id} not found.`)
  if ((textOf(zone, 'networktype') ?? 'Advanced') !== 'Advanced') {
    throw invalidField('body.zone_id', `${zone_id} is a zone whose networking has no public ranges to dedicate`)
  }
}

/** The range that is exactly this one; and a neighbour of the same network, whose segment a new range shares. */
export async function findRange(
  cloudstack: CloudStack,
  spec: RangeSpec,
  signal: AbortSignal,
): Promise<{ exact: PublicRange | undefined; neighbour: PublicRange | undefined }> {
  let neighbour: PublicRange | undefined
  const args = { zoneid: spec.zone_id, forvirtualnetwork: true }
  for await (const rows of cloudstack.listPages('listVlanIpRanges', args, 'vlaniprange', { signal })) {
    for (const row of rows) {
      const range = rangeOf(row)
      if (isExactly(range, spec)) return { exact: range, neighbour }
      if (range.gateway === spec.gateway && range.netmask === spec.netmask) neighbour ??= range
    }
  }
  return { exact: undefined, neighbour }
}

export async function readRange(
  cloudstack: CloudStack,
  id: string,
  signal: AbortSignal,
): Promise<PublicRange | undefined> {
  try {
    const content = await cloudstack.call('listVlanIpRanges', { id, page: 1, pagesize: 2 }, { signal })
    const row = rowsOf(content, 'vlaniprange').find((one) => textOf(one, 'id') === id)
    return row === undefined ? undefined : rangeOf(row)
  } catch (error) {
    if (error instanceof CloudStackError && error.status === 431) return undefined
    throw error
  }
}

/** The first range that the platform says is this tenant's. */
export async function rangeOfTenant(
  cloudstack: CloudStack,
  domainid: string,
  signal: AbortSignal,
): Promise<PublicRange | undefined> {
  const args = { domainid, forvirtualnetwork: true, page: 1, pagesize: 500 }
  const content = await cloudstack.call('listVlanIpRanges', args, { signal })
  return rowsOf(content, 'vlaniprange')
    .map(rangeOf)
    .find((range) => range.tenant_id === domainid)
}

/** Refuses a range that cannot become this tenant's. One that is already its own passes. */
export function requireDedicable(range: PublicRange, tenant_id: string): void {
  if (range.for_system_vms) {
    throw new ApiError(
      'IP_RANGE_IN_USE',
      `The public range ${range.start_ip} to ${range.end_ip} is kept for the machines of the platform itself; choose another one.`,
    )
  }
  if (range.tenant_id !== null && range.tenant_id !== tenant_id) {
    throw new ApiError(
      'IP_RANGE_IN_USE',
      `The public range ${range.start_ip} to ${range.end_ip} is dedicated to another tenant; release it there first.`,
    )
  }
}

function isExactly(range: PublicRange, spec: RangeSpec): boolean {
  return (['start_ip', 'end_ip', 'gateway', 'netmask'] as const).every((field) => range[field] === spec[field])
}

export function rangeOf(row: Raw): PublicRange {
  return {
    id: textOf(row, 'id') ?? '',
    zone_id: textOf(row, 'zoneid') ?? '',
    start_ip: textOf(row, 'startip') ?? '',
    end_ip: textOf(row, 'endip') ?? '',
    gateway: textOf(row, 'gateway') ?? '',
    netmask: textOf(row, 'netmask') ?? '',
    vlan: textOf(row, 'vlan'),
    tenant_id: textOf(row, 'domainid'),
    for_system_vms: flagOf(row, 'forsystemvms') === true,
  }
}

/** How a dedicated range stands in the tenant's row. */
export function rangeColumns(range: PublicRange) {
  return {
    vlan_range_id: range.id,
    vlan: range.vlan,
    range_zone_id: range.zone_id,
    range_start_ip: range.start_ip,
    range_end_ip: range.end_ip,
    range_gateway: range.gateway,
    range_netmask: range.netmask,
  }
}
