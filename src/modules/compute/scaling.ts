// Decides whether a machine can take a new compute size now (cloudstack.md 6.4). The platform would refuse with one text
// for many reasons; here each has its own sentence, before anything is sent.
import type { ComputeSize } from '#src/contract/compute/moves.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, integerOf, numberOf, type Raw, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { requireRanges, SIZE_FIELDS } from './offering-size.ts'
import { optionsOf } from './vm-list.ts'
import { readVm, requireState } from './vm-lookup.ts'

export interface ScalePlan {
  vm: VirtualMachine
  args: Args
}

/** `live_on`: hypervisors on which this route grows running machines. */
export async function planScale(
  cloudstack: CloudStack,
  body: ComputeSize,
  ctx: RequestContext,
  live_on: readonly string[],
): Promise<ScalePlan> {
  const { service_offering_id, cpu_cores, memory_mb, cpu_speed_mhz } = body
  if ([service_offering_id, cpu_cores, memory_mb, cpu_speed_mhz].every((value) => value === undefined))
    throw invalidField('body', 'names no new size')
  const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
  requireState(vm, vmCan.scale)
  const present = await serviceOffering(cloudstack, vm.service_offering_id ?? '', ctx, false)
  const next =
    service_offering_id === undefined ? present : await serviceOffering(cloudstack, service_offering_id, ctx, true)
  requireFitting(body, vm, next)
  if (vm.state === 'Running') requireLive(vm, present, next, sizeAfter(body, vm, next), live_on)
  return {
    vm,
    args: {
      id: vm.id,
      serviceofferingid: textOf(next, 'id') ?? '',
      details: { cpuNumber: cpu_cores, memory: memory_mb, cpuSpeed: cpu_speed_mhz },
      automigrate: body.auto_migrate,
      shrinkok: body.shrink_ok,
    },
  }
}

/** Offerings made for other tenants are none to a tenant-scoped caller. `wanted`: one that the request names. */
export async function serviceOffering(
  cloudstack: CloudStack,
  id: string,
  ctx: RequestContext,
  wanted: boolean,
): Promise<Raw> {
  const row = await findOne(
    cloudstack,
    'listServiceOfferings',
    'serviceoffering',
    { id, listall: true },
    optionsOf(ctx),
  )
  const { tenant_id } = ctx.caller
  const domains = row === undefined ? [] : textsOf(row, 'domainid')
  const open = !wanted || tenant_id === null || domains.length === 0 || domains.includes(tenant_id)
  if (row !== undefined && open) return row
  if (wanted) throw new ApiError('SERVICE_OFFERING_NOT_FOUND', `Service offering ${id} not found.`)
  throw new ApiError(
    'SCALE_REFUSED',
    `Service offering ${id} of the virtual machine is gone; give \`service_offering_id\`.`,
  )
}

function requireFitting(body: ComputeSize, vm: VirtualMachine, next: Raw): void {
  const custom = flagOf(next, 'iscustomized') === true
  const same = textOf(next, 'id') === vm.service_offering_id
  for (const field of SIZE_FIELDS) {
    if (!custom && body[field] !== undefined) throw invalidField(`body.${field}`, 'the service offering fixes the size')
  }
  if (same && !custom)
    throw new ApiError(
      'SCALE_REFUSED',
      `Virtual machine ${vm.name} has service offering ${textOf(next, 'name')} already; choose another one.`,
    )
  if (!custom) return
  if (body.cpu_speed_mhz !== undefined && numberOf(next, 'cpuspeed') !== null)
    throw invalidField('body.cpu_speed_mhz', 'the service offering fixes the speed')
  requireRanges(next, { cpu_cores: body.cpu_cores ?? vm.cpu_cores, memory_mb: body.memory_mb ?? vm.memory_mb })
}

interface Size {
  cpu_cores: number | null
  memory_mb: number | null
  cpu_speed_mhz: number | null
}

function sizeAfter(body: ComputeSize, vm: VirtualMachine, next: Raw): Size {
  return {
    cpu_cores: body.cpu_cores ?? integerOf(next, 'cpunumber') ?? vm.cpu_cores,
    memory_mb: body.memory_mb ?? integerOf(next, 'memory') ?? vm.memory_mb,
    cpu_speed_mhz: body.cpu_speed_mhz ?? integerOf(next, 'cpuspeed') ?? vm.cpu_speed_mhz,
  }
}

function requireLive(vm: VirtualMachine, present: Raw, next: Raw, size: Size, live_on: readonly string[]): void {
  const obstacles = liveObstacles(vm, present, live_on)
  if (flagOf(present, 'dynamicscalingenabled') !== flagOf(next, 'dynamicscalingenabled'))
    obstacles.push('The offerings differ in whether running machines may grow.')
  const step = SIZE_FIELDS.map((field) => (size[field] ?? 0) - (vm[field] ?? 0))
  if (step.some((one) => one < 0) || !step.some((one) => one > 0))
    obstacles.push('A running machine grows only: no value may fall and one must rise.')
  if (obstacles.length === 0) return
  throw new ApiError('VM_STATE', `Virtual machine ${vm.name} is Running; this needs Stopped. ${obstacles.join(' ')}`)
}

const WITH_FIXED_OFFERINGS = ['VMware', 'XenServer', 'Simulator']

/** Why the machine cannot grow while it runs, whatever the new size. */
export function liveObstacles(vm: VirtualMachine, present: Raw, live_on: readonly string[]): string[] {
  const obstacles: string[] = []
  const hypervisor = vm.hypervisor ?? 'unknown'
  if (vm.state !== 'Running') obstacles.push('The virtual machine does not run.')
  if (!live_on.includes(hypervisor)) obstacles.push(`Machines on ${hypervisor} cannot grow while they run.`)
  if (!WITH_FIXED_OFFERINGS.includes(hypervisor) && flagOf(present, 'iscustomized') !== true)
    obstacles.push('Its service offering is of a fixed size.')
  if (vm.dynamically_scalable !== true) obstacles.push('It is not dynamically scalable.')
  return obstacles
}
