// POST /compute/vms/create-and-attach-disk: checks everything that can be checked, then admits the job.
import { randomUUID } from 'node:crypto'
import type { DiskCreate, vmDisks } from '#src/contract/compute/disks.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { Input } from '#src/contract/route.ts'
import { encodeArgs } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf } from '#src/drivers/cloudstack/fields.ts'
import { acceptedJob } from '#src/jobs/answer.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { PlatformDeps } from '../platform-rows.ts'
import { vmDiskCreateJob } from './disk-create.job.ts'
import { readVm, requireState } from './vm-lookup.ts'
import { diskOffering, readVolume, requireNoSnapshots } from './volume-lookup.ts'
import { readVolumeSnapshot } from './volume-snapshots.ts'

type In = Input<(typeof vmDisks.routes)['vmDiskCreate']>

export function vmDiskCreate(deps: PlatformDeps) {
  const { cloudstack, jobs } = deps
  const admit = async ({ body }: In, ctx: RequestContext) => {
    const vm = await requireReady(cloudstack, body, ctx)
    const name = body.name ?? `${vm.name}-disk-${ctx.operation_id.slice(-6)}`
    // The id is chosen here, so that however often the call is sent there is one volume.
    const volume_id = randomUUID()
    const create = encodeArgs({
      name,
      zoneid: vm.zone_id ?? undefined,
      diskofferingid: body.disk_offering_id,
      size: body.size_gb,
      snapshotid: body.snapshot_id,
      ...ownerOf(vm),
    })
    await jobs.admit(vmDiskCreateJob, {
      operation: ctx,
      input: {
        name,
        volume_id,
        virtual_machine_id: vm.id,
        virtual_machine_name: vm.name,
        device_id: body.device_id ?? null,
        create,
      },
      description: `Creating volume ${name} for virtual machine ${vm.name}.`,
      resource_id: volume_id,
      resource_name: name,
      tenant_id: vm.tenant_id ?? ctx.caller.tenant_id,
      metadata: { name, virtual_machine_id: vm.id, size_gb: body.size_gb ?? null },
    })
  }
  return acceptedJob(jobs, {
    admit,
    answers: 'submitted',
    completed: ({ resource_id }, _input: In, ctx) => readVolume(cloudstack, resource_id ?? '', ctx),
  })
}

async function requireReady(cloudstack: CloudStack, body: DiskCreate, ctx: RequestContext): Promise<VirtualMachine> {
  if (body.device_id === 3) throw invalidField('body.device_id', 'is the slot of the CD drive')
  if (body.disk_offering_id === undefined && body.snapshot_id === undefined)
    throw invalidField('body.disk_offering_id', 'is required unless snapshot_id is given')
  const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
  requireState(vm, vmCan.attachDisk)
  if (body.zone_id !== undefined && body.zone_id !== vm.zone_id)
    throw invalidField('body.zone_id', `the virtual machine is in zone ${vm.zone_id}`)
  await requireOffering(cloudstack, body, ctx)
  if (body.snapshot_id !== undefined) await readVolumeSnapshot(cloudstack, body.snapshot_id, ctx)
  await requireNoSnapshots(cloudstack, vm.id, ctx)
  return vm
}

async function requireOffering(cloudstack: CloudStack, body: DiskCreate, ctx: RequestContext): Promise<void> {
  if (body.disk_offering_id === undefined) return
  const offering = await diskOffering(cloudstack, body.disk_offering_id, ctx)
  if (offering === undefined)
    throw new ApiError('DISK_OFFERING_NOT_FOUND', `Disk offering ${body.disk_offering_id} not found.`)
  const custom = flagOf(offering, 'iscustomized')
  if (custom === true && body.size_gb === undefined && body.snapshot_id === undefined)
    throw invalidField('body.size_gb', 'is required by this disk offering')
  if (custom === false && body.size_gb !== undefined)
    throw invalidField('body.size_gb', 'the disk offering fixes the size')
}

/** A volume can be attached to machines of its own owner only. */
function ownerOf(vm: VirtualMachine): Record<string, string> {
  if (vm.project_id !== null) return { projectid: vm.project_id }
  if (vm.account === null || vm.tenant_id === null) return {}
  return { account: vm.account, domainid: vm.tenant_id }
}
