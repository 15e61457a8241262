// Disks and ISO images of machines: what is one call of the platform, after its preconditions.
import { vmCan } from '#src/contract/compute/vm-can.ts'
import { vmDisks } from '#src/contract/compute/disks.ts'
import type { Volume } from '#src/contract/compute/volume.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input, RouteSpec } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { flagOf, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { createLongList } from '#src/drivers/cloudstack/long-list.ts'
import { given, type Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { ownerScope, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Subject } from '../operation.ts'
import { type PlatformDeps, platformRows, submitCall, type JobRowSpec, type SyncRow } from '../platform-rows.ts'
import { vmDiskCreate } from './disk-create.ts'
import { isUsableImage } from './ownership.ts'
import { optionsOf } from './vm-list.ts'
import { readVm, requireState, vmSubject } from './vm-lookup.ts'
import { diskOffering, readVolume, requireNoSnapshots, requireVolumeState } from './volume-lookup.ts'
import { volumeOf } from './volume-view.ts'

type Routes = typeof vmDisks.routes
type Spec<Op extends keyof Routes> = Routes[Op] & RouteSpec
type In<Op extends keyof Routes> = Input<Routes[Op]>

export function vmDiskHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(vmDisks, deps, {
      vmDiskAttach: attachRow(cloudstack),
      volumeDelete: deleteRow(cloudstack),
      ...isoRows(cloudstack),
    }),
    vmDiskDetach: detachDisk(deps),
    vmDiskCreate: vmDiskCreate(deps),
    vmDiskResize: resizeDisk(deps),
    volumeList: volumeList(cloudstack),
  }
}

function attachRow(cloudstack: CloudStack): JobRowSpec<Spec<'vmDiskAttach'>> {
  return {
    mode: 'job',
    command: 'attachVolume',
    about: async ({ body }, ctx) => {
      if (body.device_id === 3) throw invalidField('body.device_id', 'is the slot of the CD drive')
      const volume = await readVolume(cloudstack, body.volume_id, ctx)
      const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
      requireState(vm, vmCan.attachDisk)
      requireDetached(volume)
      requireVolumeState(volume, 'attach')
      if (volume.zone_id !== vm.zone_id)
        throw new ApiError(
          'VOLUME_ZONE',
          `Volume ${volume.name} is in zone ${volume.zone_name}, virtual machine ${vm.name} in ${vm.zone_name}.`,
        )
      await requireNoSnapshots(cloudstack, vm.id, ctx)
      const words = `volume ${volume.name} to virtual machine ${vm.name}`
      return { ...subjectOf(volume), description: `Attaching ${words}.`, done: `Attached ${words}.` }
    },
    args: ({ body }) => ({ id: body.volume_id, virtualmachineid: body.virtual_machine_id, deviceid: body.device_id }),
    // Not the slot: some hypervisors choose their own.
    postcondition: ({ body }) => ({
      thing: 'volume',
      args: { id: body.volume_id },
      expect: { virtualmachineid: body.virtual_machine_id },
    }),
    reply: (_result, { body }, ctx) => readVolume(cloudstack, body.volume_id, ctx),
  }
}

function deleteRow(cloudstack: CloudStack): SyncRow<Spec<'volumeDelete'>> {
  return {
    mode: 'sync',
    command: 'deleteVolume',
    about: async ({ body }, ctx) => {
      const volume = await readVolume(cloudstack, body.volume_id, ctx)
      requireDetached(volume)
      requireVolumeState(volume, 'delete')
      return {
        ...subjectOf(volume),
        description: `Deleting volume ${volume.name}.`,
        done: `Deleted volume ${volume.name}.`,
        would: () => ({
          message: `Would delete volume ${volume.name} of ${sizeOf(volume)}; what is on it would be lost, its snapshots would stay.`,
        }),
      }
    },
    args: ({ body }) => ({ id: body.volume_id }),
    postcondition: ({ body }) => ({
      thing: 'volume',
      args: { id: body.volume_id },
      expect: { state: ['Destroy', 'Destroying', 'Expunging', 'Expunged'] },
      gone: true,
    }),
    reply: (_answer, { body }) => ({ message: `Deleted volume ${body.volume_id}.` }),
  }
}

function sizeOf({ size_bytes }: Volume): string {
  return size_bytes === null ? 'unknown size' : `${Math.ceil(size_bytes / GIB)} GiB`
}

function requireDetached({ name, virtual_machine_id, virtual_machine_name }: Volume): void {
  if (virtual_machine_id === null) return
  const where = virtual_machine_name ?? virtual_machine_id
  throw new ApiError('VOLUME_ATTACHED', `Volume ${name} is attached to virtual machine ${where}; detach it first.`)
}

function detachDisk(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'vmDiskDetach'>, ctx: RequestContext) => {
    const volume = await volumeToDetach(cloudstack, body, ctx)
    if (volume.virtual_machine_id === null)
      throw new ApiError('VOLUME_NOT_ATTACHED', `Volume ${volume.name} is attached to no virtual machine.`)
    const vm = await readVm(cloudstack, volume.virtual_machine_id, ctx)
    requireState(vm, volume.type === 'ROOT' ? vmCan.detachRootDisk : vmCan.detachDisk)
    await requireNoSnapshots(cloudstack, vm.id, ctx)
    const words = `volume ${volume.name} from virtual machine ${vm.name}`
    const subject = { ...subjectOf(volume), description: `Detaching ${words}.`, done: `Detached ${words}.` }
    const args = { id: volume.id }
    const postcondition: Postcondition = { thing: 'volume', args, expect: { virtualmachineid: null } }
    const call = { command: 'detachVolume', args, postcondition, resource_type: 'VOLUME' }
    return { ...call, subject }
  }
  return submitCall(deps, plan, (_result, _input, ctx, { resource_id }) =>
    readVolume(cloudstack, resource_id ?? '', ctx),
  )
}

async function volumeToDetach(
  cloudstack: CloudStack,
  body: In<'vmDiskDetach'>['body'],
  ctx: RequestContext,
): Promise<Volume> {
  const { volume_id, virtual_machine_id, device_id } = body
  if (volume_id !== undefined) {
    if (device_id !== undefined) throw invalidField('body.device_id', 'excludes volume_id')
    const volume = await readVolume(cloudstack, volume_id, ctx)
    if (virtual_machine_id !== undefined && volume.virtual_machine_id !== virtual_machine_id)
      throw new ApiError(
        'VOLUME_NOT_ATTACHED',
        `Volume ${volume.name} is not attached to virtual machine ${virtual_machine_id}.`,
      )
    return volume
  }
  if (virtual_machine_id === undefined || device_id === undefined)
    throw invalidField('body.volume_id', 'give volume_id, or virtual_machine_id and device_id')
  const vm = await readVm(cloudstack, virtual_machine_id, ctx)
  const args = { virtualmachineid: vm.id, ...scopeOfOne(ctx.caller.tenant_id) }
  for await (const volume of cloudstack.listAll(
    'listVolumes',
    args,
    { key: 'volume', read: volumeOf },
    optionsOf(ctx),
  )) {
    if (volume.device_id === device_id) return volume
  }
  throw new ApiError('VOLUME_NOT_FOUND', `Virtual machine ${vm.name} has no volume in slot ${device_id}.`)
}

/** Only a new offering is another command than a new size. */
function resizeDisk(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'vmDiskResize'>, ctx: RequestContext) => {
    const { volume_id, size_gb, disk_offering_id, min_iops, max_iops } = body
    if ([size_gb, disk_offering_id, min_iops, max_iops].every((value) => value === undefined))
      throw invalidField('body', 'names nothing to change: give size_gb or disk_offering_id')
    if (min_iops !== undefined && max_iops !== undefined && min_iops > max_iops)
      throw invalidField('body.min_iops', 'is greater than max_iops')
    const volume = await readVolume(cloudstack, volume_id, ctx)
    requireVolumeState(volume, 'resize')
    if (volume.virtual_machine_id !== null)
      requireState(await readVm(cloudstack, volume.virtual_machine_id, ctx), vmCan.resizeDisk)
    await requireFittingSize(cloudstack, volume, body, ctx)
    const args = {
      id: volume.id,
      size: size_gb,
      diskofferingid: disk_offering_id,
      shrinkok: body.shrink_ok,
      miniops: min_iops,
      maxiops: max_iops,
      automigrate: body.auto_migrate,
    }
    const only_offering = disk_offering_id !== undefined && size_gb === undefined
    const command = only_offering ? 'changeOfferingForVolume' : 'resizeVolume'
    const doing = only_offering ? 'Changing the offering of' : 'Resizing'
    const subject = {
      ...subjectOf(volume),
      description: `${doing} volume ${volume.name}.`,
      done: `Volume ${volume.name} is ${only_offering ? 'changed' : 'resized'}.`,
    }
    const call = { command, args, postcondition: resizedTo(volume, body), resource_type: 'VOLUME', slow: true }
    return { ...call, subject }
  }
  return submitCall(deps, plan, (_result, _input, ctx, { resource_id }) =>
    readVolume(cloudstack, resource_id ?? '', ctx),
  )
}

const GIB = 1024 ** 3

/** Some storage rounds a size up, so one that shrinks must only be less than it was. */
function resizedTo({ id, size_bytes }: Volume, body: In<'vmDiskResize'>['body']): Postcondition {
  const at_least = body.size_gb === undefined ? undefined : body.size_gb * GIB
  const shrinks = at_least !== undefined && size_bytes !== null && at_least < size_bytes
  return {
    thing: 'volume',
    args: { id },
    expect: given({
      size: at_least === undefined ? undefined : { at_least, ...(shrinks ? { below: size_bytes } : {}) },
      diskofferingid: body.disk_offering_id,
      miniops: body.min_iops,
      maxiops: body.max_iops,
    }),
  }
}

async function requireFittingSize(
  cloudstack: CloudStack,
  volume: Volume,
  body: In<'vmDiskResize'>['body'],
  ctx: RequestContext,
): Promise<void> {
  const { size_gb, disk_offering_id } = body
  const offering_id = disk_offering_id ?? volume.disk_offering_id
  const offering = offering_id === null ? undefined : await diskOffering(cloudstack, offering_id, ctx)
  if (disk_offering_id !== undefined && offering === undefined)
    throw new ApiError('DISK_OFFERING_NOT_FOUND', `Disk offering ${disk_offering_id} not found.`)
  const custom = offering === undefined ? null : flagOf(offering, 'iscustomized')
  if (size_gb !== undefined && custom === false) throw invalidField('body.size_gb', 'the disk offering fixes the size')
  const shrinks = size_gb !== undefined && volume.size_bytes !== null && size_gb * GIB < volume.size_bytes
  if (shrinks && body.shrink_ok !== true)
    throw invalidField('body.size_gb', 'is smaller than the volume is; agree with shrink_ok to lose what lies beyond')
}

function isoRows(cloudstack: CloudStack) {
  const present = (_result: unknown, { body }: { body: { virtual_machine_id: string } }, ctx: RequestContext) =>
    readVm(cloudstack, body.virtual_machine_id, ctx)
  const vmIsoAttach: JobRowSpec<Spec<'vmIsoAttach'>> = {
    mode: 'job',
    command: 'attachIso',
    about: async ({ body }, ctx) => {
      const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
      requireState(vm, vmCan.attachIso)
      const name = await usableIso(cloudstack, body.iso_id, vm.zone_id, ctx)
      const words = `ISO image ${name} to virtual machine ${vm.name}`
      return { ...vmSubject(vm), description: `Attaching ${words}.`, done: `Attached ${words}.` }
    },
    args: ({ body }) => ({ id: body.iso_id, virtualmachineid: body.virtual_machine_id, forced: body.forced }),
    postcondition: ({ body }) => ({
      thing: 'vm',
      args: { id: body.virtual_machine_id },
      expect: { isoid: body.iso_id },
    }),
    reply: present,
  }
  const vmIsoDetach: JobRowSpec<Spec<'vmIsoDetach'>> = {
    mode: 'job',
    command: 'detachIso',
    about: async ({ body }, ctx) => {
      const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
      requireState(vm, vmCan.detachIso)
      if (vm.iso_id === null) throw new ApiError('ISO_NOT_ATTACHED', `Virtual machine ${vm.name} has no ISO image.`)
      const words = `the ISO image from virtual machine ${vm.name}`
      return { ...vmSubject(vm), description: `Detaching ${words}.`, done: `Detached ${words}.` }
    },
    args: ({ body }) => ({ virtualmachineid: body.virtual_machine_id, forced: body.forced }),
    postcondition: ({ body }) => ({ thing: 'vm', args: { id: body.virtual_machine_id }, expect: { isoid: null } }),
    reply: present,
  }
  return { vmIsoAttach, vmIsoDetach }
}

/** One row a zone: the image must be ready in the machine's. */
async function usableIso(
  cloudstack: CloudStack,
  id: string,
  zone_id: string | null,
  ctx: RequestContext,
): Promise<string> {
  const { tenant_id } = ctx.caller
  const filter = { id, isofilter: tenant_id === null ? 'all' : 'executable', ...scopeOfOne(tenant_id) }
  const known = await findOne(cloudstack, 'listIsos', 'iso', filter, optionsOf(ctx))
  if (known === undefined || !isUsableImage(known, tenant_id))
    throw new ApiError('ISO_NOT_FOUND', `ISO image ${id} not found.`)
  const content = await cloudstack.call('listIsos', { ...filter, page: 1, pagesize: 500 }, optionsOf(ctx))
  const here = rowsOf(content, 'iso').filter(
    (row) => textOf(row, 'zoneid') === zone_id || textOf(row, 'zoneid') === null,
  )
  if (!here.some((row) => flagOf(row, 'isready') === true))
    throw new ApiError(
      'ISO_NOT_READY',
      here[0] === undefined
        ? `ISO image ${textOf(known, 'name')} is not in zone ${zone_id}; copy it there or choose another one.`
        : `ISO image ${textOf(known, 'name')} is not ready in zone ${textOf(here[0], 'zonename')}: ${textOf(here[0], 'status') ?? 'nothing is downloaded yet'}.`,
    )
  return textOf(known, 'name') ?? id
}

const COLUMNS = {
  name: (volume: Volume) => volume.name,
  size_bytes: (volume: Volume) => volume.size_bytes,
  state: (volume: Volume) => volume.state,
  type: (volume: Volume) => volume.type,
  tenant_name: (volume: Volume) => volume.tenant_name,
  virtual_machine_name: (volume: Volume) => volume.virtual_machine_name,
  created_at: (volume: Volume) => volume.created_at,
}

const COMMAND = 'listVolumes'
const ITEM = { key: 'volume', read: volumeOf }

function volumeList(cloudstack: CloudStack) {
  const ordered = createLongList(cloudstack, {
    command: COMMAND,
    item: ITEM,
    columns: COLUMNS,
    asked_in: 'body.sort_by',
    short: {},
  })
  return async ({ body }: In<'volumeList'>, ctx: RequestContext) => {
    const filter = body ?? {}
    const page = pageOf(filter)
    const args = {
      id: filter.id,
      ids: filter.ids,
      name: filter.name,
      virtualmachineid: filter.virtual_machine_id,
      zoneid: filter.zone_id,
      type: filter.type,
      state: filter.state,
      diskofferingid: filter.disk_offering_id,
      keyword: filter.keyword,
      ...ownerScope(filter, ctx.caller.tenant_id),
    }
    const { rows, count } =
      filter.sort_by === undefined
        ? await cloudstack.listPage(COMMAND, args, ITEM, page, optionsOf(ctx))
        : await ordered(
            args,
            { sort_by: filter.sort_by, sort_order: filter.sort_order ?? 'asc', ...page },
            optionsOf(ctx),
          )
    return { volumes: rows, count, ...page }
  }
}

function subjectOf(volume: Volume): Pick<Subject, 'resource_id' | 'resource_name' | 'tenant_id' | 'related'> {
  const { id, name, tenant_id, virtual_machine_id } = volume
  return { resource_id: id, resource_name: name, tenant_id, related: [virtual_machine_id] }
}
