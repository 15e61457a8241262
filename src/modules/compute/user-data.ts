// User data under a name, for any number of machines.
import { pageOf } from '#src/contract/common.ts'
import type { UserData, userData } from '#src/contract/compute/user-data.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { changeAndVerify, makeAndVerify } from '#src/drivers/cloudstack/lost-call.ts'
import type { Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { planOf, recordOperation } from '../operation.ts'
import type { PlatformDeps } from '../platform-rows.ts'
import { machinesWith } from './in-use.ts'
import { optionsOf } from './vm-list.ts'
import { ownerOf } from './vm-owner.ts'

type Routes = typeof userData.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

const LIST = 'listUserData'
const KEY = 'userdata'
/** The caller waits. */
const PATIENCE = { patience_ms: 10_000 }

export function userDataHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  return {
    userDataList: dataList(deps.cloudstack),
    userDataCreate: createData(deps),
    userDataDelete: deleteData(deps),
  }
}

function dataList(cloudstack: CloudStack) {
  return async ({ body }: In<'userDataList'>, ctx: RequestContext) => {
    const { id, name, keyword, ...rest } = body ?? {}
    const page = pageOf(rest)
    const args = { id, name, keyword, ...scopeOf(ctx.caller.tenant_id) }
    const { rows, count } = await cloudstack.listPage(LIST, args, { key: KEY, read: userDataOf }, page, optionsOf(ctx))
    return { user_data: rows, count, ...page }
  }
}

async function readData(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<UserData> {
  const row = await findOne(cloudstack, LIST, KEY, { id, ...scopeOfOne(ctx.caller.tenant_id) }, optionsOf(ctx))
  if (row !== undefined) return userDataOf(row)
  throw new ApiError('RESOURCE_NOT_FOUND', `User data ${id} not found.`)
}

function createData(deps: PlatformDeps) {
  const { cloudstack } = deps
  return async ({ body }: In<'userDataCreate'>, ctx: RequestContext) => {
    const { name, user_data } = body
    const owner = await ownerOf(cloudstack, body, ctx)
    const subject = {
      resource_id: null,
      resource_name: name,
      tenant_id: textOf(owner, 'domainid') ?? ctx.caller.tenant_id,
      description: `Creating user data ${name}.`,
      done: `Created user data ${name}.`,
    }
    return recordOperation(deps, ctx, 'USER_DATA', subject, async () => {
      const { traceparent } = ctx
      const args = { name, userdata: user_data, ...owner }
      const listing = { command: LIST, key: KEY, args: { name, ...WHOLE_SCOPE } }
      const created: Postcondition = { thing: 'user_data', args: { id: '$id' }, expect: { name } }
      const id = await makeAndVerify(
        cloudstack,
        listing,
        created,
        PATIENCE,
        async () => objectOf(await cloudstack.call('registerUserData', args, { traceparent }), KEY) ?? undefined,
      )
      return readData(cloudstack, id, ctx)
    })
  }
}

function deleteData(deps: PlatformDeps) {
  const { cloudstack } = deps
  return async ({ body }: In<'userDataDelete'>, ctx: RequestContext) => {
    const { id, name, tenant_id } = await readData(cloudstack, body.user_data_id, ctx)
    await requireUnused(cloudstack, id, name, ctx)
    const done = `Deleted user data ${name}.`
    const subject = {
      resource_id: id,
      resource_name: name,
      tenant_id,
      description: `Deleting user data ${name}.`,
      done,
      would: () => ({ message: `Would delete user data ${name}, which no virtual machine uses.` }),
    }
    if (ctx.dry_run) return planOf(subject)
    return recordOperation(deps, ctx, 'USER_DATA', subject, async () => {
      const gone: Postcondition = { thing: 'user_data', args: { id }, expect: {}, gone: true }
      const { traceparent } = ctx
      await changeAndVerify(cloudstack, gone, PATIENCE, () =>
        cloudstack.call('deleteUserData', { id }, { traceparent }),
      )
      return { message: done }
    })
  }
}

/** The platform would delete it in silence, and the machines would start without it from then on. */
async function requireUnused(cloudstack: CloudStack, id: string, name: string, ctx: RequestContext): Promise<void> {
  const users = await machinesWith(cloudstack, { userdataid: id }, ctx)
  if (users !== undefined)
    throw new ApiError('USER_DATA_IN_USE', `User data ${name} is used by ${users}; reset theirs first.`)
}

function userDataOf(raw: Raw): UserData {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
  }
}
