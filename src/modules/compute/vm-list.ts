// Reads virtual machines and the images they may be given.
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { vms } from '#src/contract/compute/vms.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Input, Result } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Raw } from '#src/drivers/cloudstack/fields.ts'
import { createAnswerCache } from '#src/drivers/cloudstack/answer-cache.ts'
import { pageOfContent } from '#src/drivers/cloudstack/lists.ts'
import { createLongList } from '#src/drivers/cloudstack/long-list.ts'
import { ownerScope } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { written } from '#src/kernel/http/answers.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { numberOf } from '#src/kernel/ipv4.ts'
import { readVm } from './vm-lookup.ts'
import { VM_DETAILS, vmOf } from './vm-view.ts'

type In<Op extends keyof typeof vms.routes> = Input<(typeof vms.routes)[Op]>

const COMMAND = 'listVirtualMachines'
const ITEM = { key: 'virtualmachine', read: vmOf }

export function vmList(cloudstack: CloudStack) {
  const cache = createAnswerCache<Result<typeof vms.routes.vmList>>()
  const ordered = createLongList(cloudstack, {
    command: COMMAND,
    item: ITEM,
    columns: COLUMNS,
    asked_in: 'body.sort_by',
    short: { details: 'min,nics,servoff' },
  })
  return async ({ body }: In<'vmList'>, ctx: RequestContext) => {
    const page = pageOf(body)
    const all = { ...filterOf(body ?? {}), ...ownerScope(body ?? {}, ctx.caller.tenant_id), details: VM_DETAILS }
    if (body?.sort_by !== undefined) {
      const { sort_by, sort_order = 'asc' } = body
      const { rows, count } = await ordered(all, { sort_by, sort_order, ...page }, optionsOf(ctx))
      return { virtual_machines: rows, count, ...page }
    }
    const args = { ...all, page: page.page, pagesize: page.page_size }
    const read = (content: Raw) => {
      const { rows, count } = pageOfContent(content, ITEM)
      return written({ virtual_machines: rows, count, ...page })
    }
    return cloudstack.callCached(COMMAND, args, { cache, read }, ctx)
  }
}

const COLUMNS = {
  name: (vm: VirtualMachine) => vm.name,
  state: (vm: VirtualMachine) => vm.state,
  tenant_name: (vm: VirtualMachine) => vm.tenant_name,
  host_name: (vm: VirtualMachine) => vm.host_name,
  ip_address: (vm: VirtualMachine) => (vm.ip_address === null ? null : numberOf(vm.ip_address)),
  cpu_cores: (vm: VirtualMachine) => vm.cpu_cores,
  memory_mb: (vm: VirtualMachine) => vm.memory_mb,
  created_at: (vm: VirtualMachine) => vm.created_at,
}

export function vmGet(cloudstack: CloudStack) {
  return ({ body }: In<'vmGet'>, ctx: RequestContext): Promise<VirtualMachine> =>
    readVm(cloudstack, body.virtual_machine_id, ctx)
}

export function vmGetByName(cloudstack: CloudStack) {
  return ({ body }: In<'vmGetByName'>, ctx: RequestContext): Promise<VirtualMachine> =>
    onlyOne(cloudstack, body, ctx, VM_DETAILS)
}

export function vmIdGet(cloudstack: CloudStack) {
  return async ({ body }: In<'vmIdGet'>, ctx: RequestContext) => {
    const { id, name } = await onlyOne(cloudstack, body, ctx, 'min')
    return { id, name }
  }
}

type VmFilter = NonNullable<In<'vmList'>['body']>

function filterOf(body: VmFilter): Args {
  return {
    id: body.id,
    ids: body.ids,
    name: body.name,
    state: body.state,
    zoneid: body.zone_id,
    podid: body.pod_id,
    clusterid: body.cluster_id,
    hostid: body.host_id,
    networkid: body.network_id,
    vpcid: body.vpc_id,
    templateid: body.template_id,
    serviceofferingid: body.service_offering_id,
    hypervisor: body.hypervisor,
    haenable: body.ha_enabled,
    gpuenabled: body.gpu_enabled,
    affinitygroupid: body.affinity_group_id,
    tags: tagsOf(body.tags),
    keyword: body.keyword,
  }
}

/** An empty map parameter would be a malformed one. */
function tagsOf(tags: Record<string, string> | undefined): { key: string; value: string }[] | undefined {
  const list = Object.entries(tags ?? {}).map(([key, value]) => ({ key, value }))
  return list.length === 0 ? undefined : list
}

/** More than one machine may carry the name, because names are unique in a network domain only. */
async function onlyOne(
  cloudstack: CloudStack,
  body: { name: string; zone_id?: string; domain_id?: string },
  ctx: RequestContext,
  details: string,
): Promise<VirtualMachine> {
  const args = { name: body.name, zoneid: body.zone_id, ...ownerScope(body, ctx.caller.tenant_id), details }
  const { rows } = await cloudstack.listPage(COMMAND, args, ITEM, { page: 1, page_size: 20 }, ctx)
  // The parameter is documented as a substring and behaves as the whole name; only the whole name counts here.
  const [vm, ...others] = rows.filter((row) => row.name.toLowerCase() === body.name.toLowerCase())
  if (vm === undefined) throw vmNotFoundByName(body.name)
  if (others.length === 0) return vm
  const ids = [vm, ...others].map((row) => row.id).join(', ')
  throw new ApiError(
    'VM_NAME_AMBIGUOUS',
    `Several virtual machines are called ${body.name}: ${ids}. Narrow by zone_id or domain_id, or use the id.`,
  )
}

function vmNotFoundByName(name: string): ApiError {
  return new ApiError('VM_NOT_FOUND', `Virtual machine ${name} not found.`)
}

export function optionsOf(ctx: RequestContext): { signal: AbortSignal; traceparent: string | undefined } {
  return { signal: ctx.signal, traceparent: ctx.traceparent }
}
