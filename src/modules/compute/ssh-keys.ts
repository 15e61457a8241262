// SSH keys for virtual machines. New pairs are made here: their private keys never reach the platform.
import { pageOf } from '#src/contract/common.ts'
import type { SshKey, sshKeys } from '#src/contract/compute/ssh-keys.ts'
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
import { createSshKeyPair } from '#src/kernel/ssh-key.ts'
import { planOf, recordOperation } from '../operation.ts'
import type { PlatformDeps } from '../platform-rows.ts'
import { optionsOf } from './vm-list.ts'
import { ownerOf } from './vm-owner.ts'

type Routes = typeof sshKeys.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

const LIST = 'listSSHKeyPairs'
const KEY = 'sshkeypair'
/** The caller waits. */
const PATIENCE = { patience_ms: 10_000 }

export function sshKeyHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    sshKeyList: keyList(cloudstack),
    sshKeyCreate: createKey(deps),
    sshKeyDelete: deleteKey(deps),
  }
}

function keyList(cloudstack: CloudStack) {
  return async ({ body }: In<'sshKeyList'>, ctx: RequestContext) => {
    const { id, name, fingerprint, keyword, ...rest } = body ?? {}
    const page = pageOf(rest)
    const args = { id, name, fingerprint, keyword, ...scopeOf(ctx.caller.tenant_id) }
    const { rows, count } = await cloudstack.listPage(LIST, args, { key: KEY, read: sshKeyOf }, page, optionsOf(ctx))
    return { ssh_keys: rows, count, ...page }
  }
}

async function readKey(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<SshKey> {
  const row = await findOne(cloudstack, LIST, KEY, { id, ...scopeOfOne(ctx.caller.tenant_id) }, optionsOf(ctx))
  if (row !== undefined) return sshKeyOf(row)
  throw new ApiError('RESOURCE_NOT_FOUND', `SSH key ${id} not found.`)
}

function createKey(deps: PlatformDeps) {
  const { cloudstack } = deps
  return async ({ body }: In<'sshKeyCreate'>, ctx: RequestContext) => {
    const { name } = body
    const owner = await ownerOf(cloudstack, body, ctx)
    const made = body.public_key === undefined ? createSshKeyPair(name) : undefined
    const public_key = body.public_key ?? made?.public_key ?? ''
    const subject = {
      resource_id: null,
      resource_name: name,
      tenant_id: textOf(owner, 'domainid') ?? ctx.caller.tenant_id,
      description: `Creating SSH key ${name}.`,
      done: `Created SSH key ${name}.`,
    }
    return recordOperation(deps, ctx, 'SSH_KEY', subject, async () => {
      // The caller leaving does not stop a change half-way.
      const { traceparent } = ctx
      const args = { name, publickey: public_key, ...owner }
      const listing = { command: LIST, key: KEY, args: { name, ...WHOLE_SCOPE } }
      const created: Postcondition = { thing: 'ssh_key', args: { id: '$id' }, expect: { name } }
      const id = await makeAndVerify(
        cloudstack,
        listing,
        created,
        PATIENCE,
        async () =>
          objectOf(await cloudstack.call('registerSSHKeyPair', args, { traceparent }), 'keypair') ?? undefined,
      )
      return { ...(await readKey(cloudstack, id, ctx)), public_key, private_key: made?.private_key ?? null }
    })
  }
}

/** The platform deletes by name and owner. */
function deleteKey(deps: PlatformDeps) {
  const { cloudstack } = deps
  return async ({ body }: In<'sshKeyDelete'>, ctx: RequestContext) => {
    const { id, name, tenant_id, account, project_id } = await readKey(cloudstack, body.ssh_key_id, ctx)
    const owner =
      project_id === null ? { domainid: tenant_id ?? '', account: account ?? '' } : { projectid: project_id }
    const done = `Deleted SSH key ${name}.`
    const subject = {
      resource_id: id,
      resource_name: name,
      tenant_id,
      description: `Deleting SSH key ${name}.`,
      done,
      would: () => ({ message: `Would delete SSH key ${name}; machines that were made with it would keep it.` }),
    }
    if (ctx.dry_run) return planOf(subject)
    return recordOperation(deps, ctx, 'SSH_KEY', subject, async () => {
      const { traceparent } = ctx
      const gone: Postcondition = { thing: 'ssh_key', args: { id }, expect: {}, gone: true }
      await changeAndVerify(cloudstack, gone, PATIENCE, () =>
        cloudstack.call('deleteSSHKeyPair', { name, ...owner }, { traceparent }),
      )
      return { message: done }
    })
  }
}

function sshKeyOf(raw: Raw): SshKey {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    fingerprint: textOf(raw, 'fingerprint'),
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
  }
}
