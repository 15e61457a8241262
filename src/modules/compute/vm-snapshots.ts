// Snapshots of whole machines.
import { type VmSnapshot, vmSnapshots } from '#src/contract/compute/moves.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input, RouteSpec } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { flagOf, objectOf, type Raw, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import type { Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows, submitDestruction, type JobRowSpec } from '../platform-rows.ts'
import { optionsOf } from './vm-list.ts'
import { readVm, requireState, vmSubject } from './vm-lookup.ts'

type Routes = typeof vmSnapshots.routes
type Spec<Op extends keyof Routes> = Routes[Op] & RouteSpec
type In<Op extends keyof Routes> = Input<Routes[Op]>

const LIST = 'listVMSnapshot'
const KEY = 'vmSnapshot'

export function vmSnapshotHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(vmSnapshots, deps, {
      vmSnapshotCreate: createRow(cloudstack),
      vmSnapshotDelete: deleteRow(cloudstack),
    }),
    vmSnapshotList: snapshotList(cloudstack),
    vmSnapshotRevert: revertVm(deps),
  }
}

function snapshotList(cloudstack: CloudStack) {
  return async ({ body }: In<'vmSnapshotList'>, ctx: RequestContext) => {
    const filter = body ?? {}
    const page = pageOf(filter)
    const args = {
      vmsnapshotid: filter.id,
      virtualmachineid: filter.virtual_machine_id,
      name: filter.name,
      state: filter.state,
      keyword: filter.keyword,
      ...scopeOf(ctx.caller.tenant_id),
    }
    const { rows, count } = await cloudstack.listPage(
      LIST,
      args,
      { key: KEY, read: vmSnapshotOf },
      page,
      optionsOf(ctx),
    )
    return { vm_snapshots: rows, count, ...page }
  }
}

/** Throws VM_SNAPSHOT_NOT_FOUND; the platform shows a snapshot by id whoever owns it, so the tenant is compared here. */
export async function readVmSnapshot(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<VmSnapshot> {
  const args = { vmsnapshotid: id, ...scopeOfOne(ctx.caller.tenant_id) }
  const row = await findOne(cloudstack, LIST, KEY, args, optionsOf(ctx))
  const snapshot = row === undefined ? undefined : vmSnapshotOf(row)
  if (snapshot !== undefined) {
    // Machines of other tenants are not found, and their snapshots neither.
    if (ctx.caller.tenant_id === null || (await isOwn(cloudstack, snapshot, ctx))) return snapshot
  }
  throw new ApiError('VM_SNAPSHOT_NOT_FOUND', `Snapshot ${id} of a virtual machine not found.`)
}

async function isOwn(cloudstack: CloudStack, snapshot: VmSnapshot, ctx: RequestContext): Promise<boolean> {
  const args = { id: snapshot.virtual_machine_id ?? '', details: 'min', ...scopeOfOne(ctx.caller.tenant_id) }
  return (await findOne(cloudstack, 'listVirtualMachines', 'virtualmachine', args, optionsOf(ctx))) !== undefined
}

/** A running machine goes back to memory and disks, a stopped one to disks alone (cloudstack.md A.1, restore). */
export function requireRevertible(snapshot: VmSnapshot, vm: VirtualMachine): void {
  requireState(vm, snapshot.type === 'DiskAndMemory' ? vmCan.snapshotRevertMemory : vmCan.snapshotRevertDisk)
  requireSnapshotState(snapshot, ['Ready'])
}

/** Of a machine, or of one volume. */
export function requireSnapshotState(
  { name, state }: Pick<VmSnapshot, 'name' | 'state'>,
  states: readonly string[],
): void {
  if (states.includes(state)) return
  throw new ApiError('SNAPSHOT_STATE', `Snapshot ${name} is ${state}; this needs ${states.join(' or ')}.`)
}

function createRow(cloudstack: CloudStack): JobRowSpec<Spec<'vmSnapshotCreate'>> {
  return {
    mode: 'create',
    command: 'createVMSnapshot',
    slow: true,
    about: async ({ body }, ctx) => {
      const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
      requireState(vm, body.memory === true ? vmCan.snapshotMemory : vmCan.snapshotCreate)
      return {
        resource_id: null,
        resource_name: body.name ?? vm.name,
        tenant_id: vm.tenant_id,
        description: `Creating a snapshot of virtual machine ${vm.name}.`,
        done: `Virtual machine ${vm.name} has a new snapshot.`,
      }
    },
    args: ({ body }) => ({
      virtualmachineid: body.virtual_machine_id,
      name: body.name,
      description: body.description,
      snapshotmemory: body.memory,
      quiescevm: body.quiesce,
    }),
    postcondition: () => ({ thing: 'vm_snapshot', args: { vmsnapshotid: '$id' }, expect: { state: 'Ready' } }),
    reply: async (result, _input, ctx) => {
      const made = result === undefined ? null : objectOf(result, 'vmsnapshot')
      const id = made === null ? null : textOf(made, 'id')
      return id === null ? undefined : readVmSnapshot(cloudstack, id, ctx)
    },
  }
}

function revertVm(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'vmSnapshotRevert'>, ctx: RequestContext) => {
    const snapshot = await readVmSnapshot(cloudstack, body.snapshot_id, ctx)
    const vm = await readVm(cloudstack, snapshot.virtual_machine_id ?? '', ctx)
    requireRevertible(snapshot, vm)
    const subject = {
      ...vmSubject(vm),
      description: `Reverting virtual machine ${vm.name} to a snapshot.`,
      done: `Virtual machine ${vm.name} is as its snapshot was.`,
      would: () => ({
        message: `Would revert virtual machine ${vm.name} to snapshot ${snapshot.display_name ?? snapshot.name}; what was written since ${snapshot.created_at ?? 'then'} would be lost.`,
      }),
    }
    const call = { ...revertCall(snapshot.id), resource_type: 'VM', slow: true }
    return { ...call, subject }
  }
  return submitDestruction(deps, plan, (_result, _input, ctx, { resource_id }) =>
    readVm(cloudstack, resource_id ?? '', ctx),
  )
}

/** Going back to a snapshot makes it the current one of its machine. */
export function revertCall(vmsnapshotid: string): { command: string; args: Args; postcondition: Postcondition } {
  const postcondition: Postcondition = {
    thing: 'vm_snapshot',
    args: { vmsnapshotid },
    expect: { state: 'Ready', current: true },
  }
  return { command: 'revertToVMSnapshot', args: { vmsnapshotid }, postcondition }
}

function deleteRow(cloudstack: CloudStack): JobRowSpec<Spec<'vmSnapshotDelete'>> {
  return {
    mode: 'job',
    command: 'deleteVMSnapshot',
    slow: true,
    about: async ({ body }, ctx) => {
      const snapshot = await readVmSnapshot(cloudstack, body.snapshot_id, ctx)
      requireSnapshotState(snapshot, ['Ready', 'Error'])
      const name = snapshot.display_name ?? snapshot.name
      return {
        resource_id: snapshot.id,
        resource_name: name,
        tenant_id: snapshot.tenant_id,
        related: [snapshot.virtual_machine_id],
        description: `Deleting snapshot ${name}.`,
        done: `Snapshot ${name} is deleted.`,
        would: () => ({
          message: `Would delete snapshot ${name} of virtual machine ${snapshot.virtual_machine_name ?? snapshot.virtual_machine_id}; the machine would stay as it is.`,
        }),
      }
    },
    args: ({ body }) => ({ vmsnapshotid: body.snapshot_id }),
    postcondition: ({ body }) => ({
      thing: 'vm_snapshot',
      args: { vmsnapshotid: body.snapshot_id },
      expect: {},
      gone: true,
    }),
  }
}

function vmSnapshotOf(raw: Raw): VmSnapshot {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    display_name: textOf(raw, 'displayname'),
    description: textOf(raw, 'description'),
    state: textOf(raw, 'state') ?? 'Unknown',
    type: textOf(raw, 'type') ?? 'Disk',
    virtual_machine_id: textOf(raw, 'virtualmachineid'),
    virtual_machine_name: textOf(raw, 'virtualmachinename'),
    parent_id: textOf(raw, 'parent'),
    is_current: flagOf(raw, 'current'),
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
    created_at: timeOf(raw, 'created'),
  }
}
