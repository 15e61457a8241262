// Snapshots of single volumes.
import { vmCan } from '#src/contract/compute/vm-can.ts'
import { type VolumeSnapshot, volumeSnapshotCan, volumeSnapshots } from '#src/contract/compute/volume-snapshots.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input, RouteSpec } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { numberOf, objectOf, type Raw, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { unverified } from '#src/drivers/cloudstack/postcondition.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type JobRowSpec, type PlatformDeps, platformRows, submitDestruction } from '../platform-rows.ts'
import { optionsOf } from './vm-list.ts'
import { readVm, requireState } from './vm-lookup.ts'
import { requireSnapshotState } from './vm-snapshots.ts'
import { readVolume, requireVolumeState } from './volume-lookup.ts'

type Routes = typeof volumeSnapshots.routes
type Spec<Op extends keyof Routes> = Routes[Op] & RouteSpec
type In<Op extends keyof Routes> = Input<Routes[Op]>

const LIST = 'listSnapshots'
const KEY = 'snapshot'

export function volumeSnapshotHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(volumeSnapshots, deps, {
      volumeSnapshotCreate: createRow(cloudstack),
      volumeSnapshotDelete: deleteRow(cloudstack),
    }),
    volumeSnapshotList: snapshotList(cloudstack),
    volumeSnapshotRevert: revertVolume(deps),
  }
}

function snapshotList(cloudstack: CloudStack) {
  return async ({ body }: In<'volumeSnapshotList'>, ctx: RequestContext) => {
    const { id, volume_id, name, zone_id, keyword, ...rest } = body ?? {}
    const page = pageOf(rest)
    const args = { id, volumeid: volume_id, name, zoneid: zone_id, keyword, ...scopeOf(ctx.caller.tenant_id) }
    const list = { key: KEY, read: volumeSnapshotOf }
    const { rows, count } = await cloudstack.listPage(LIST, args, list, page, optionsOf(ctx))
    return { volume_snapshots: rows, count, ...page }
  }
}

/** The snapshot, or SNAPSHOT_NOT_FOUND: one of another tenant is not distinguishable from none. */
export async function readVolumeSnapshot(
  cloudstack: CloudStack,
  id: string,
  ctx: RequestContext,
): Promise<VolumeSnapshot> {
  const row = await findOne(cloudstack, LIST, KEY, { id, ...scopeOfOne(ctx.caller.tenant_id) }, optionsOf(ctx))
  if (row !== undefined) return volumeSnapshotOf(row)
  throw new ApiError('SNAPSHOT_NOT_FOUND', `Snapshot ${id} not found.`)
}

function createRow(cloudstack: CloudStack): JobRowSpec<Spec<'volumeSnapshotCreate'>> {
  return {
    mode: 'create',
    command: 'createSnapshot',
    slow: true,
    about: async ({ body }, ctx) => {
      const volume = await readVolume(cloudstack, body.volume_id, ctx)
      requireVolumeState(volume, 'snapshot')
      return {
        resource_id: null,
        resource_name: body.name ?? volume.name,
        tenant_id: volume.tenant_id,
        related: [volume.id, volume.virtual_machine_id],
        description: `Creating a snapshot of volume ${volume.name}.`,
        done: `Volume ${volume.name} has a new snapshot.`,
      }
    },
    args: ({ body }) => ({ volumeid: body.volume_id, name: body.name, quiescevm: body.quiesce }),
    postcondition: () => ({ thing: 'snapshot', args: { id: '$id' }, expect: { state: 'BackedUp' } }),
    reply: async (result, _input, ctx) => {
      const made = result === undefined ? null : objectOf(result, 'snapshot')
      const id = made === null ? null : textOf(made, 'id')
      return id === null ? undefined : readVolumeSnapshot(cloudstack, id, ctx)
    },
  }
}

function revertVolume(deps: PlatformDeps) {
  const { cloudstack } = deps
  return submitDestruction(deps, async ({ body }: In<'volumeSnapshotRevert'>, ctx: RequestContext) => {
    const snapshot = await readVolumeSnapshot(cloudstack, body.snapshot_id, ctx)
    const volume = await readVolume(cloudstack, snapshot.volume_id ?? '', ctx)
    requireSnapshotState(snapshot, volumeSnapshotCan.revert)
    if (volume.virtual_machine_id !== null)
      requireState(await readVm(cloudstack, volume.virtual_machine_id, ctx), vmCan.restoreVolume)
    return {
      command: 'revertSnapshot',
      args: { id: snapshot.id },
      postcondition: unverified('The platform shows disks, but nothing of what is on them.'),
      slow: true,
      resource_type: 'VOLUME',
      subject: {
        resource_id: volume.id,
        resource_name: volume.name,
        tenant_id: volume.tenant_id,
        related: [snapshot.id, volume.virtual_machine_id],
        description: `Reverting volume ${volume.name} to snapshot ${snapshot.name}.`,
        done: `Volume ${volume.name} is as its snapshot ${snapshot.name} was.`,
        would: () => ({
          message: `Would revert volume ${volume.name} to snapshot ${snapshot.name}; what was written since ${snapshot.created_at ?? 'then'} would be lost.`,
        }),
      },
    }
  })
}

function deleteRow(cloudstack: CloudStack): JobRowSpec<Spec<'volumeSnapshotDelete'>> {
  return {
    mode: 'job',
    command: 'deleteSnapshot',
    slow: true,
    about: async ({ body }, ctx) => {
      const snapshot = await readVolumeSnapshot(cloudstack, body.snapshot_id, ctx)
      requireSnapshotState(snapshot, volumeSnapshotCan.delete)
      const words = `snapshot ${snapshot.name} of volume ${snapshot.volume_name ?? snapshot.volume_id}`
      return {
        resource_id: snapshot.id,
        resource_name: snapshot.name,
        tenant_id: snapshot.tenant_id,
        related: [snapshot.volume_id],
        description: `Deleting ${words}.`,
        done: `Deleted ${words}.`,
        would: () => ({ message: `Would delete ${words}; the volume would stay as it is.` }),
      }
    },
    args: ({ body }) => ({ id: body.snapshot_id }),
    postcondition: ({ body }) => ({ thing: 'snapshot', args: { id: body.snapshot_id }, expect: {}, gone: true }),
  }
}

function volumeSnapshotOf(raw: Raw): VolumeSnapshot {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    state: textOf(raw, 'state') ?? 'Unknown',
    volume_id: textOf(raw, 'volumeid'),
    volume_name: textOf(raw, 'volumename'),
    volume_type: textOf(raw, 'volumetype'),
    size_bytes: numberOf(raw, 'virtualsize'),
    stored_bytes: numberOf(raw, 'physicalsize'),
    zone_id: textOf(raw, 'zoneid'),
    zone_name: textOf(raw, 'zonename'),
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
    created_at: timeOf(raw, 'created'),
  }
}
