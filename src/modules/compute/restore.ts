// POST /compute/vms/restore: four sources, four commands of the platform, each with its own precondition.
import type { vmMoves } from '#src/contract/compute/moves.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import { volumeSnapshotCan } from '#src/contract/compute/volume-snapshots.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { flagOf, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { type Verification, given, unverified } from '#src/drivers/cloudstack/postcondition.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, submitCall } from '../platform-rows.ts'
import { IMAGES, isUsableImage } from './ownership.ts'
import { optionsOf } from './vm-list.ts'
import { readVm, requireState, vmSubject } from './vm-lookup.ts'
import { readVmSnapshot, requireRevertible, requireSnapshotState, revertCall } from './vm-snapshots.ts'
import { diskOffering, readVolume, requireNoSnapshots } from './volume-lookup.ts'
import { readVolumeSnapshot } from './volume-snapshots.ts'

type Body = Input<(typeof vmMoves.routes)['vmRestore']>['body']

interface RestorePlan {
  vm: VirtualMachine
  command: string
  args: Args
  postcondition: Verification
}

const FIELDS = {
  template: ['template_id', 'disk_offering_id', 'root_disk_size_gb', 'expunge'],
  backup: ['backup_id'],
  vm_snapshot: ['snapshot_id'],
  volume_snapshot: ['snapshot_id'],
} as const

export function restoreVm(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: { body: Body }, ctx: RequestContext) => {
    requireFields(body)
    const { vm, ...call } = await PLANS[body.source](cloudstack, body, ctx)
    const subject = {
      ...vmSubject(vm),
      description: `Restoring virtual machine ${vm.name}.`,
      done: `Virtual machine ${vm.name} is restored.`,
    }
    return { ...call, resource_type: 'VM', slow: true, subject }
  }
  return submitCall(deps, plan, (_result, _input, ctx, { resource_id }) => readVm(cloudstack, resource_id ?? '', ctx))
}

/** A field of another source would be ignored in silence. */
function requireFields(body: Body): void {
  const allowed: readonly string[] = FIELDS[body.source]
  for (const fields of Object.values(FIELDS)) {
    for (const field of fields) {
      if (body[field] !== undefined && !allowed.includes(field))
        throw invalidField(`body.${field}`, `has no meaning with source ${body.source}`)
    }
  }
}

const PLANS: Record<Body['source'], (cloudstack: CloudStack, body: Body, ctx: RequestContext) => Promise<RestorePlan>> =
  {
    template: fromTemplate,
    backup: fromBackup,
    vm_snapshot: fromVmSnapshot,
    volume_snapshot: fromVolumeSnapshot,
  }

async function fromTemplate(cloudstack: CloudStack, body: Body, ctx: RequestContext): Promise<RestorePlan> {
  if (body.virtual_machine_id === undefined)
    throw invalidField('body.virtual_machine_id', 'is required with source template')
  const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
  requireState(vm, vmCan.restore)
  await requireNoSnapshots(cloudstack, vm.id, ctx)
  if (body.template_id !== undefined) await requireTemplate(cloudstack, body.template_id, vm, ctx)
  if (body.disk_offering_id !== undefined && (await diskOffering(cloudstack, body.disk_offering_id, ctx)) === undefined)
    throw new ApiError('DISK_OFFERING_NOT_FOUND', `Disk offering ${body.disk_offering_id} not found.`)
  return {
    vm,
    command: 'restoreVirtualMachine',
    args: {
      virtualmachineid: vm.id,
      templateid: body.template_id,
      diskofferingid: body.disk_offering_id,
      rootdisksize: body.root_disk_size_gb,
      expunge: body.expunge,
    },
    postcondition: await anotherRoot(cloudstack, vm.id, body, ctx),
  }
}

/** Restoring puts another root volume in the place of the present one. */
async function anotherRoot(
  cloudstack: CloudStack,
  vm_id: string,
  body: Body,
  ctx: RequestContext,
): Promise<Verification> {
  const args = { virtualmachineid: vm_id, type: 'ROOT' }
  const root = await findOne(cloudstack, 'listVolumes', 'volume', { ...args, ...WHOLE_SCOPE }, optionsOf(ctx))
  const id = root === undefined ? null : textOf(root, 'id')
  const size = body.root_disk_size_gb
  return {
    thing: 'volume',
    args,
    expect: given({
      id: id === null ? undefined : { not: id },
      size: size === undefined ? undefined : { at_least: size * GIB },
    }),
  }
}

const GIB = 1024 ** 3

/** A tenant-scoped caller may use public images and those of its own tenant. */
async function requireTemplate(
  cloudstack: CloudStack,
  id: string,
  vm: VirtualMachine,
  ctx: RequestContext,
): Promise<void> {
  for (const [command, filter, key] of IMAGES) {
    const args = { id, [filter]: 'all', listall: true }
    if ((await findOne(cloudstack, command, key, args, optionsOf(ctx))) === undefined) continue
    const content = await cloudstack.call(command, { ...args, page: 1, pagesize: 500 }, optionsOf(ctx))
    const open = rowsOf(content, key).filter((row) => isUsableImage(row, ctx.caller.tenant_id))
    if (open.length === 0) break
    const here = open.filter((row) => textOf(row, 'zoneid') === vm.zone_id || textOf(row, 'zoneid') === null)
    if (here.some((row) => flagOf(row, 'isready') === true)) return
    throw new ApiError(
      'COMPUTE_REJECTED',
      `Template ${textOf(open[0] ?? {}, 'name')} is not ready in zone ${vm.zone_name}: ${textOf(here[0] ?? {}, 'status') ?? 'it is not there'}; wait until its download has ended, or choose another one.`,
    )
  }
  throw new ApiError('RESOURCE_NOT_FOUND', `Template ${id} not found.`)
}

async function fromBackup(cloudstack: CloudStack, body: Body, ctx: RequestContext): Promise<RestorePlan> {
  if (body.backup_id === undefined) throw invalidField('body.backup_id', 'is required with source backup')
  const args = { id: body.backup_id, ...scopeOfOne(ctx.caller.tenant_id) }
  const backup = await findOne(cloudstack, 'listBackups', 'backup', args, optionsOf(ctx))
  if (backup === undefined) throw new ApiError('BACKUP_NOT_FOUND', `Backup ${body.backup_id} not found.`)
  const vm = await machineOf(cloudstack, textOf(backup, 'virtualmachineid'), body, ctx)
  const status = textOf(backup, 'status')
  if (status !== 'BackedUp')
    throw new ApiError('BACKUP_STATE', `Backup ${body.backup_id} is ${status}; this needs BackedUp.`)
  requireState(vm, vmCan.restoreBackup)
  const postcondition = unverified('The platform shows disks, but nothing of what is on them.')
  return { vm, command: 'restoreBackup', args: { id: body.backup_id }, postcondition }
}

async function fromVmSnapshot(cloudstack: CloudStack, body: Body, ctx: RequestContext): Promise<RestorePlan> {
  if (body.snapshot_id === undefined) throw invalidField('body.snapshot_id', 'is required with source vm_snapshot')
  const snapshot = await readVmSnapshot(cloudstack, body.snapshot_id, ctx)
  const vm = await machineOf(cloudstack, snapshot.virtual_machine_id, body, ctx)
  requireRevertible(snapshot, vm)
  return { vm, ...revertCall(snapshot.id) }
}

async function fromVolumeSnapshot(cloudstack: CloudStack, body: Body, ctx: RequestContext): Promise<RestorePlan> {
  if (body.snapshot_id === undefined) throw invalidField('body.snapshot_id', 'is required with source volume_snapshot')
  const snapshot = await readVolumeSnapshot(cloudstack, body.snapshot_id, ctx)
  const volume = await readVolume(cloudstack, snapshot.volume_id ?? '', ctx)
  if (volume.virtual_machine_id === null)
    throw new ApiError(
      'VOLUME_NOT_ATTACHED',
      `Volume ${volume.name} of snapshot ${body.snapshot_id} is attached to no virtual machine; attach it first.`,
    )
  const vm = await machineOf(cloudstack, volume.virtual_machine_id, body, ctx)
  requireSnapshotState(snapshot, volumeSnapshotCan.revert)
  requireState(vm, vmCan.restoreVolume)
  const postcondition = unverified('The platform shows disks, but nothing of what is on them.')
  return { vm, command: 'revertSnapshot', args: { id: body.snapshot_id }, postcondition }
}

/** The machine that a copy is of; the one of the request must be the same. */
async function machineOf(
  cloudstack: CloudStack,
  id: string | null,
  body: Body,
  ctx: RequestContext,
): Promise<VirtualMachine> {
  if (body.virtual_machine_id !== undefined && body.virtual_machine_id !== id)
    throw invalidField('body.virtual_machine_id', 'is not the virtual machine that the copy is of')
  return readVm(cloudstack, id ?? '', ctx)
}
