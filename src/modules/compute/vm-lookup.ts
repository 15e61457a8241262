// Finds the virtual machine a request is about, within what the caller may see, and checks its state.
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { vmCan, type VmState } from '#src/contract/compute/vm-can.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf } from '#src/drivers/cloudstack/fields.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Subject } from '../operation.ts'
import { VM_DETAILS, vmOf } from './vm-view.ts'

/** The machine as the platform describes it, or VM_NOT_FOUND: one of another tenant is not distinguishable from none. */
export async function rawVm(
  cloudstack: CloudStack,
  virtual_machine_id: string,
  ctx: Pick<RequestContext, 'caller' | 'signal' | 'traceparent'>,
  details: string = VM_DETAILS,
): Promise<Raw> {
  try {
    const args = { id: virtual_machine_id, details, ...scopeOfOne(ctx.caller.tenant_id), page: 1, pagesize: 2 }
    const content = await cloudstack.call('listVirtualMachines', args, {
      signal: ctx.signal,
      traceparent: ctx.traceparent,
    })
    const row = rowsOf(content, 'virtualmachine')[0]
    if (row !== undefined) return row
  } catch (error) {
    if (!(error instanceof CloudStackError && error.status === 431)) throw error
  }
  throw vmNotFound(virtual_machine_id)
}

export async function readVm(
  cloudstack: CloudStack,
  virtual_machine_id: string,
  ctx: RequestContext,
): Promise<VirtualMachine> {
  return vmOf(await rawVm(cloudstack, virtual_machine_id, ctx))
}

/** Who and what an event or job about the machine names. */
export function vmSubject(
  vm: Pick<VirtualMachine, 'id' | 'name' | 'tenant_id'>,
): Pick<Subject, 'resource_id' | 'resource_name' | 'tenant_id'> {
  return { resource_id: vm.id, resource_name: vm.name, tenant_id: vm.tenant_id }
}

export function vmNotFound(id: string): ApiError {
  return new ApiError('VM_NOT_FOUND', `Virtual machine ${id} not found.`)
}

/** Throws VM_STATE with the states that would do. */
export function requireState(vm: Pick<VirtualMachine, 'name' | 'state'>, states: readonly VmState[]): void {
  if (states.some((state) => state === vm.state)) return
  throw new ApiError('VM_STATE', `Virtual machine ${vm.name} is ${vm.state}; this needs ${states.join(' or ')}.`)
}

type VmInput = { body: { virtual_machine_id: string } }

/** `about` of a forward row: finds the machine, checks its state, and says what is happening to it. */
export function aboutVm(cloudstack: CloudStack, operation: keyof typeof vmCan, words: { doing: string; done: string }) {
  return async ({ body }: VmInput, ctx: RequestContext): Promise<Subject> => {
    const vm = vmOf(await rawVm(cloudstack, body.virtual_machine_id, ctx, 'min'))
    requireState(vm, vmCan[operation])
    return {
      resource_id: vm.id,
      resource_name: vm.name,
      tenant_id: vm.tenant_id,
      description: `${words.doing} virtual machine ${vm.name}.`,
      done: `Virtual machine ${vm.name} is ${words.done}.`,
    }
  }
}
