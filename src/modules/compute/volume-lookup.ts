// Finds volumes, and what they may not meet: foreign tenants, wrong states, machines with snapshots.
import { volumeCan, type VolumeState } from '#src/contract/compute/vm-can.ts'
import type { Volume } from '#src/contract/compute/volume.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { optionsOf } from './vm-list.ts'
import { volumeOf } from './volume-view.ts'

/** The volume, or VOLUME_NOT_FOUND: one of another tenant is not distinguishable from none. */
export async function readVolume(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<Volume> {
  const args = { id, ...scopeOfOne(ctx.caller.tenant_id) }
  const row = await findOne(cloudstack, 'listVolumes', 'volume', args, optionsOf(ctx))
  if (row !== undefined) return volumeOf(row)
  throw new ApiError('VOLUME_NOT_FOUND', `Volume ${id} not found.`)
}

export function requireVolumeState(volume: Volume, operation: keyof typeof volumeCan): void {
  const states: readonly VolumeState[] = volumeCan[operation]
  if (states.some((state) => state === volume.state)) return
  throw new ApiError('VOLUME_STATE', `Volume ${volume.name} is ${volume.state}; this needs ${states.join(' or ')}.`)
}

/** Disks and NICs of a machine with snapshots cannot change: the snapshots would not fit any more. */
export async function requireNoSnapshots(
  cloudstack: CloudStack,
  virtual_machine_id: string,
  ctx: RequestContext,
): Promise<void> {
  const args = { virtualmachineid: virtual_machine_id, ...scopeOfOne(ctx.caller.tenant_id), page: 1, pagesize: 1 }
  const content = await cloudstack.call('listVMSnapshot', args, optionsOf(ctx))
  if (rowsOf(content, 'vmSnapshot').length === 0) return
  throw new ApiError(
    'VM_HAS_SNAPSHOTS',
    `Virtual machine ${virtual_machine_id} has snapshots, so its disks and NICs cannot change; delete them first.`,
  )
}

/** Offerings made for other tenants are none to a tenant-scoped caller. */
export async function diskOffering(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<Raw | undefined> {
  const row = await findOne(cloudstack, 'listDiskOfferings', 'diskoffering', { id, listall: true }, optionsOf(ctx))
  const { tenant_id } = ctx.caller
  const domains = row === undefined ? null : textOf(row, 'domainid')
  return tenant_id !== null && domains !== null && !domains.split(',').includes(tenant_id) ? undefined : row
}

export async function requireDiskOffering(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<Raw> {
  const row = await diskOffering(cloudstack, id, ctx)
  if (row === undefined) throw new ApiError('DISK_OFFERING_NOT_FOUND', `Disk offering ${id} not found.`)
  return row
}
