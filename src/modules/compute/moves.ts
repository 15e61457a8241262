// Moving, resizing and recovering machines.
import { type ComputeSize, vmMoves } from '#src/contract/compute/moves.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input, RouteSpec } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { flagOf, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { given, type Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows, submitCall, type SyncRow } from '../platform-rows.ts'
import { hostOf } from './infrastructure.ts'
import { restoreVm } from './restore.ts'
import { planScale } from './scaling.ts'
import { optionsOf } from './vm-list.ts'
import { aboutVm, readVm, requireState, vmSubject } from './vm-lookup.ts'

type Routes = typeof vmMoves.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

/** Hypervisors that can grow a running machine at all (cloudstack.md 6.4). */
const LIVE_HYPERVISORS = ['KVM', 'VMware', 'XenServer', 'Simulator']

export function vmMoveHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(vmMoves, deps, { vmRecover: recoverRow(cloudstack) }),
    vmMigrate: migrateVm(deps),
    vmMigrateCandidates: migrationHosts(cloudstack),
    vmScale: scaleVm(deps, LIVE_HYPERVISORS),
    vmRestore: restoreVm(deps),
  }
}

/** Also behind the settings' own compute call, which knows fewer hypervisors. */
export function scaleVm(deps: PlatformDeps, live_on: readonly string[]) {
  const plan = async ({ body }: { body: ComputeSize }, ctx: RequestContext) => {
    const { vm, args } = await planScale(deps.cloudstack, body, ctx, live_on)
    const subject = {
      ...vmSubject(vm),
      description: `Scaling virtual machine ${vm.name}.`,
      done: `Virtual machine ${vm.name} is scaled.`,
    }
    const postcondition: Postcondition = {
      thing: 'vm',
      args: { id: vm.id },
      expect: given({
        serviceofferingid: String(args.serviceofferingid),
        cpunumber: body.cpu_cores,
        memory: body.memory_mb,
        cpuspeed: body.cpu_speed_mhz,
      }),
    }
    // A custom size is kept in the details of the machine, which are also settings.
    const call = { command: 'scaleVirtualMachine', args, postcondition, resource_type: 'VM', settings_of: vm.id }
    return { ...call, subject }
  }
  return submitCall(deps, plan, (_result, _input, ctx, { resource_id }) =>
    readVm(deps.cloudstack, resource_id ?? '', ctx),
  )
}

function recoverRow(cloudstack: CloudStack): SyncRow<Routes['vmRecover'] & RouteSpec> {
  return {
    mode: 'sync',
    command: 'recoverVirtualMachine',
    timeout_ms: 120_000,
    about: aboutVm(cloudstack, 'recover', { doing: 'Recovering', done: 'recovered' }),
    args: ({ body }) => ({ id: body.virtual_machine_id }),
    postcondition: ({ body }) => ({ thing: 'vm', args: { id: body.virtual_machine_id }, expect: { state: 'Stopped' } }),
    reply: (_answer, { body }, ctx) => readVm(cloudstack, body.virtual_machine_id, ctx),
  }
}

function migrateVm(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'vmMigrate'>, ctx: RequestContext) => {
    const { host_id, storage_id, auto_select } = body
    const chosen = [host_id !== undefined, storage_id !== undefined, auto_select === true].filter(Boolean)
    if (chosen.length !== 1)
      throw invalidField('body.host_id', 'give exactly one of host_id, storage_id and auto_select')
    const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
    requireState(vm, storage_id === undefined ? vmCan.migrate : vmCan.migrateStorage)
    if (storage_id === undefined && (vm.gpu_count ?? 0) > 0)
      throw new ApiError(
        'VM_HAS_GPU',
        `Virtual machine ${vm.name} has ${vm.gpu_count} GPUs and does not move while it runs; stop it first.`,
      )
    const with_disks = host_id === undefined ? false : await needsDisksMoved(cloudstack, vm, host_id, ctx)
    const subject = {
      ...vmSubject(vm),
      description: `Migrating virtual machine ${vm.name}.`,
      done: `Virtual machine ${vm.name} is migrated.`,
    }
    const args = {
      virtualmachineid: vm.id,
      hostid: host_id,
      ...(with_disks ? {} : { storageid: storage_id, autoselect: auto_select === true ? true : undefined }),
    }
    const command = with_disks ? 'migrateVirtualMachineWithVolume' : 'migrateVirtualMachine'
    const call = { command, args, postcondition: movedTo(vm, host_id, storage_id), resource_type: 'VM', slow: true }
    return { ...call, subject }
  }
  return submitCall(deps, plan, (_result, _input, ctx, { resource_id }) => readVm(cloudstack, resource_id ?? '', ctx))
}

/** The host alone: the state may change again at once, and which disks a move takes along the platform decides. */
function movedTo(vm: VirtualMachine, hostid: string | undefined, storageid: string | undefined): Postcondition {
  if (storageid !== undefined)
    return { thing: 'volume', args: { virtualmachineid: vm.id }, where: { type: 'ROOT' }, expect: { storageid } }
  return { thing: 'vm', args: { id: vm.id }, expect: { hostid: hostid ?? { not: vm.host_id ?? '' } } }
}

/** Checks the destination, and whether it cannot reach the machine's present storage. */
async function needsDisksMoved(
  cloudstack: CloudStack,
  vm: VirtualMachine,
  host_id: string,
  ctx: RequestContext,
): Promise<boolean> {
  if (vm.host_id === host_id)
    throw new ApiError(
      'COMPUTE_CONFLICT',
      `Virtual machine ${vm.name} runs on host ${vm.host_name ?? host_id} already; choose another one.`,
    )
  const host = await findOne(cloudstack, 'listHosts', 'host', { id: host_id, details: 'min' }, optionsOf(ctx))
  if (host === undefined) throw new ApiError('HOST_NOT_FOUND', `Host ${host_id} not found.`)
  const states = [textOf(host, 'state'), textOf(host, 'resourcestate')]
  if (states[0] !== 'Up' || states[1] !== 'Enabled')
    throw new ApiError('HOST_STATE', `Host ${textOf(host, 'name')} is ${states.join(', ')}; this needs Up, Enabled.`)
  const args = { virtualmachineid: vm.id, keyword: textOf(host, 'name') ?? undefined }
  for await (const row of cloudstack.listAll(
    'findHostsForMigration',
    args,
    { key: 'host', read: (raw) => raw },
    optionsOf(ctx),
  )) {
    if (textOf(row, 'id') === host_id) return flagOf(row, 'requiresStorageMotion') === true
  }
  return false
}

function migrationHosts(cloudstack: CloudStack) {
  return async ({ body }: In<'vmMigrateCandidates'>, ctx: RequestContext) => {
    const page = pageOf(body)
    const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
    requireState(vm, vmCan.migrate)
    const args = { virtualmachineid: vm.id, keyword: body.keyword }
    const { rows, count } = await cloudstack.listPage(
      'findHostsForMigration',
      args,
      { key: 'host', read: migrationHostOf },
      page,
      { ...optionsOf(ctx), timeout_ms: 60_000 },
    )
    return { hosts: rows, count, ...page }
  }
}

function migrationHostOf(row: Raw) {
  return {
    ...hostOf(row),
    suitable: flagOf(row, 'suitableformigration'),
    has_enough_capacity: flagOf(row, 'hasenoughcapacity'),
    requires_storage_motion: flagOf(row, 'requiresStorageMotion'),
  }
}
