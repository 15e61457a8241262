// Affinity groups of virtual machines.
import { type AffinityGroup, affinityGroups } from '#src/contract/compute/affinity-groups.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input, RouteSpec } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, type Raw, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type JobRowSpec, type PlatformDeps, platformRows, submitCall } from '../platform-rows.ts'
import { optionsOf } from './vm-list.ts'
import { ownerOf } from './vm-owner.ts'

type Routes = typeof affinityGroups.routes
type Spec<Op extends keyof Routes> = Routes[Op] & RouteSpec
type In<Op extends keyof Routes> = Input<Routes[Op]>

const LIST = 'listAffinityGroups'
const KEY = 'affinitygroup'

export function affinityGroupHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(affinityGroups, deps, { affinityGroupDelete: deleteRow(cloudstack) }),
    affinityGroupList: groupList(cloudstack),
    affinityGroupCreate: createGroup(deps),
  }
}

function groupList(cloudstack: CloudStack) {
  return async ({ body }: In<'affinityGroupList'>, ctx: RequestContext) => {
    const { id, name, type, virtual_machine_id, keyword, ...rest } = body ?? {}
    const page = pageOf(rest)
    const args = { id, name, type, virtualmachineid: virtual_machine_id, keyword, ...scopeOf(ctx.caller.tenant_id) }
    const list = { key: KEY, read: affinityGroupOf }
    const { rows, count } = await cloudstack.listPage(LIST, args, list, page, optionsOf(ctx))
    return { affinity_groups: rows, count, ...page }
  }
}

async function readGroup(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<AffinityGroup> {
  const row = await findOne(cloudstack, LIST, KEY, { id, ...scopeOfOne(ctx.caller.tenant_id) }, optionsOf(ctx))
  if (row !== undefined) return affinityGroupOf(row)
  throw new ApiError('RESOURCE_NOT_FOUND', `Affinity group ${id} not found.`)
}

function createGroup(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'affinityGroupCreate'>, ctx: RequestContext) => {
    const { name, type, description } = body
    const owner = await ownerOf(cloudstack, body, ctx)
    return {
      command: 'createAffinityGroup',
      args: { name, type, description, ...owner },
      creates: true,
      postcondition: { thing: 'affinity_group' as const, args: { id: '$id' }, expect: { name, type } },
      resource_type: 'AFFINITY_GROUP',
      subject: {
        resource_id: null,
        resource_name: name,
        tenant_id: textOf(owner, 'domainid') ?? ctx.caller.tenant_id,
        description: `Creating affinity group ${name}.`,
        done: `Affinity group ${name} is created.`,
      },
    }
  }
  return submitCall(deps, plan, async (result, _input, ctx) => {
    const made = result === undefined ? null : objectOf(result, KEY)
    const id = made === null ? null : textOf(made, 'id')
    return id === null ? undefined : readGroup(cloudstack, id, ctx)
  })
}

/** The platform would take the machines out of it in silence. */
function deleteRow(cloudstack: CloudStack): JobRowSpec<Spec<'affinityGroupDelete'>> {
  return {
    mode: 'job',
    command: 'deleteAffinityGroup',
    about: async ({ body }, ctx) => {
      const {
        id,
        name,
        tenant_id,
        virtual_machine_ids: machines,
      } = await readGroup(cloudstack, body.affinity_group_id, ctx)
      if (machines.length > 0) {
        const some = machines.slice(0, 3).join(', ')
        const message = `Affinity group ${name} has ${machines.length} virtual machines (${some}${machines.length > 3 ? ', …' : ''}); take them out of it first.`
        throw new ApiError('AFFINITY_GROUP_IN_USE', message)
      }
      return {
        resource_id: id,
        resource_name: name,
        tenant_id,
        description: `Deleting affinity group ${name}.`,
        done: `Affinity group ${name} is deleted.`,
        would: () => ({ message: `Would delete affinity group ${name}, which no virtual machine is in.` }),
      }
    },
    args: ({ body }) => ({ id: body.affinity_group_id }),
    postcondition: ({ body }) => ({
      thing: 'affinity_group',
      args: { id: body.affinity_group_id },
      expect: {},
      gone: true,
    }),
  }
}

function affinityGroupOf(raw: Raw): AffinityGroup {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    description: textOf(raw, 'description'),
    type: textOf(raw, 'type') ?? 'Unknown',
    virtual_machine_ids: textsOf(raw, 'virtualmachineIds'),
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
  }
}
