// POST /compute/vms/provision: checks everything that can be checked, then admits the job that makes the machine.
import { randomUUID } from 'node:crypto'
import type { vms } from '#src/contract/compute/vms.ts'
import type { VmProvision } from '#src/contract/compute/vm-provision.ts'
import type { Input } from '#src/contract/route.ts'
import { type Args, encodeArgs } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { checkOwner } from '#src/drivers/cloudstack/tenant-scope.ts'
import { acceptedJob } from '#src/jobs/answer.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { PlatformDeps } from '../platform-rows.ts'
import { requireCapacity } from './capacity.ts'
import { requireOwn, requireUsableImage } from './ownership.ts'
import { vmProvisionJob } from './provision.job.ts'
import { requireDiskSize, requireSize } from './offering-size.ts'
import { serviceOffering } from './scaling.ts'
import { rawVm } from './vm-lookup.ts'
import { placement } from './vm-rows.ts'
import { ownerOf } from './vm-owner.ts'
import { vmOf } from './vm-view.ts'
import { requireDiskOffering } from './volume-lookup.ts'

type In = Input<(typeof vms.routes)['vmProvision']>

export function vmProvision(deps: PlatformDeps) {
  const admit = async ({ body }: In, ctx: RequestContext) => {
    checkBody(body)
    requireAdminFields(body, ctx)
    const [owner] = await Promise.all([ownerOf(deps.cloudstack, body, ctx), requireNamed(deps.cloudstack, body, ctx)])
    await requireCapacity(deps.cloudstack, body, ctx.caller)
    const name = body.name ?? `vm-${ctx.operation_id.slice(-12)}`
    await deps.jobs.admit(vmProvisionJob, {
      operation: ctx,
      input: {
        name,
        // Chosen here, so that however often the call is sent there is one machine.
        vm_id: randomUUID(),
        args: encodeArgs({ ...deployArgs(body, name), ...placement(body, ctx), ...owner }),
        starts: body.start ?? true,
      },
      description: `Creating virtual machine ${name}.`,
      resource_name: name,
      tenant_id: textOf(owner, 'domainid') ?? ctx.caller.tenant_id,
      metadata: { name, zone_id: body.zone_id, service_offering_id: body.service_offering_id },
    })
  }
  return acceptedJob(deps.jobs, {
    admit,
    answers: 'submitted',
    async completed(job, _input: In, ctx) {
      const made = deps.jobs.result(vmProvisionJob, job)
      if (made === undefined) return undefined
      const vm = vmOf(await rawVm(deps.cloudstack, made.vm_id, ctx))
      return { ...vm, initial_password: made.initial_password }
    },
  })
}

/** Rules that a schema cannot say. */
function checkBody(body: VmProvision): void {
  const sources = [body.template_id, body.volume_id, body.snapshot_id].filter((id) => id !== undefined)
  if (sources.length !== 1)
    throw invalidField('body.template_id', 'give exactly one of template_id, volume_id and snapshot_id')
  if (body.network_ids !== undefined && body.networks !== undefined)
    throw invalidField('body.networks', 'excludes network_ids')
  checkOwner(body)
  if (body.boot_type === 'UEFI' && body.boot_mode === undefined)
    throw invalidField('body.boot_mode', 'is needed with boot_type UEFI')
  if (body.boot_type !== 'UEFI' && body.boot_mode === 'SECURE')
    throw invalidField('body.boot_mode', 'SECURE needs boot_type UEFI')
  if (body.user_data !== undefined && body.user_data_id !== undefined)
    throw invalidField('body.user_data', 'excludes user_data_id')
}

/** Raw hypervisor settings are the admin's at creation too, as they are afterwards (api-conventions.md, Callers and rights). */
function requireAdminFields(body: VmProvision, ctx: RequestContext): void {
  if (ctx.caller.role === 'admin' || (body.extra_config === undefined && body.details === undefined)) return
  throw new ApiError(
    'FORBIDDEN',
    `\`extra_config\` and \`details\` need the role admin, and you are ${ctx.caller.role}; leave them out.`,
  )
}

/** The platform checks the rights of our own account, or those of the owner only after it has accepted. */
async function requireNamed(cloudstack: CloudStack, body: VmProvision, ctx: RequestContext): Promise<void> {
  const { tenant_id } = ctx.caller
  const requireDisk = async (id: string | undefined, field: string, size_gb: number | undefined) => {
    if (id !== undefined) requireDiskSize(field, size_gb, await requireDiskOffering(cloudstack, id, ctx))
  }
  await Promise.all([
    requireUsableImage(cloudstack, tenant_id, body.template_id, body.zone_id),
    serviceOffering(cloudstack, body.service_offering_id, ctx, true).then((row) => requireSize(body, row)),
    requireDisk(body.disk_offering_id, 'disk_size_gb', body.disk_size_gb),
    ...(body.data_disks ?? []).map((disk, at) =>
      requireDisk(disk.disk_offering_id, `data_disks.${at}.size_gb`, disk.size_gb),
    ),
    requireOwn(cloudstack, tenant_id, 'volume', body.volume_id),
    requireOwn(cloudstack, tenant_id, 'snapshot', body.snapshot_id),
    requireOwn(cloudstack, tenant_id, 'user_data', body.user_data_id),
    ...(body.affinity_group_ids ?? []).map((id) => requireOwn(cloudstack, tenant_id, 'affinity_group', id)),
  ])
}

function deployArgs(body: VmProvision, name: string): Args {
  return {
    name,
    displayname: body.display_name,
    group: body.group,
    zoneid: body.zone_id,
    templateid: body.template_id,
    volumeid: body.volume_id,
    snapshotid: body.snapshot_id,
    serviceofferingid: body.service_offering_id,
    diskofferingid: body.disk_offering_id,
    size: body.disk_size_gb,
    rootdisksize: body.root_disk_size_gb,
    networkids: body.network_ids,
    iptonetworklist: body.networks?.map((nic) => ({
      networkid: nic.network_id,
      ip: nic.ip_address,
      mac: nic.mac_address,
    })),
    hypervisor: body.hypervisor,
    boottype: body.boot_type,
    // BIOS without a mode makes the platform fail inside (cloudstack.md 10, 5).
    bootmode: body.boot_type === undefined ? undefined : (body.boot_mode ?? 'LEGACY'),
    userdata: body.user_data,
    userdataid: body.user_data_id,
    keypairs: body.key_pairs,
    affinitygroupids: body.affinity_group_ids,
    startvm: body.start,
    datadisksdetails: body.data_disks?.map((disk) => ({ diskofferingid: disk.disk_offering_id, size: disk.size_gb })),
    // Decoded once more by the server, so encoded once more here (cloudstack.md 6.3).
    extraconfig: body.extra_config === undefined ? undefined : encodeURIComponent(body.extra_config),
    details: { ...body.details, cpuNumber: body.cpu_cores, memory: body.memory_mb, cpuSpeed: body.cpu_speed_mhz },
  }
}
