// POST /admin/tenants/{id}/admin-credentials: a new password for the admin of a tenant.
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import { integerOf, objectOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { recordChange } from '#src/store/app-events.ts'
import { changeTenant, type TenantRow } from '#src/store/tenants.ts'
import type { TenantDeps } from './deps.ts'
import { requireLiveTenant } from './lookup.ts'
import { generatedPassword } from './password.ts'

/** The caller waits. */
const PATIENCE_MS = 10_000

type In = Input<(typeof tenants.routes)['tenantAdminCredentialsReset']>

export function tenantAdminCredentialsReset(deps: TenantDeps) {
  const { cloudstack, database } = deps
  return async ({ params }: In, ctx: RequestContext) => {
    const tenant = await requireLiveTenant(database, params.id, ctx.caller)
    const user = await adminOf(deps, tenant, ctx)
    const [id, username] = [textOf(user, 'id') ?? '', textOf(user, 'username') ?? '']
    const about = {
      resource_type: 'TENANT',
      resource_uuid: tenant.id,
      tenant_id: tenant.id,
      description: `Resetting the credentials of ${username}, the admin of tenant ${tenant.name}.`,
    }
    return recordChange(deps, ctx, about, async (note) => {
      const password = generatedPassword()
      const { traceparent } = ctx
      // Both may be sent any number of times: what counts is the password that the caller is answered.
      const patience = { for_ms: PATIENCE_MS }
      const answer = await untilAnswered(
        undefined,
        () => cloudstack.call('updateUser', { id, password }, { traceparent }),
        patience,
      )
      // After the password, or whoever knows the old one could make new keys. Those made now are told to nobody.
      const had_keys = textOf(objectOf(answer, 'user') ?? user, 'apikey') !== null
      if (had_keys)
        await untilAnswered(undefined, () => cloudstack.call('registerUserKeys', { id }, { traceparent }), patience)
      await changeTenant(database.db, tenant.id, { admin_password: null })
      const message = `The old password of ${username}${had_keys ? ' and its API keys no longer work' : ' no longer works'}.`
      note.description = `Credentials of ${username}, the admin of tenant ${tenant.name}, are reset.`
      return { tenant_id: tenant.id, username, password, message }
    })
  }
}

/** Of a tenant that was made on the platform itself, its one domain admin. */
async function adminOf({ cloudstack }: TenantDeps, tenant: TenantRow, ctx: RequestContext): Promise<Raw> {
  const { admin_username: known } = tenant
  const args = { username: known ?? undefined, domainid: tenant.id, listall: true, page: 1, pagesize: 500 }
  const content = await cloudstack.call('listUsers', args, { signal: ctx.signal })
  const admins = rowsOf(content, 'user').filter(
    (row) =>
      textOf(row, 'domainid') === tenant.id &&
      (known === null ? integerOf(row, 'accounttype') === DOMAIN_ADMIN : textOf(row, 'username') === known),
  )
  const [admin, ...others] = admins
  if (admin !== undefined && others.length === 0) return admin
  const why =
    known !== null
      ? `has no user ${known} on the compute platform any more`
      : admin === undefined
        ? 'has no domain admin'
        : `has ${admins.length} domain admins, and was not made by this service: ${admins.map((row) => textOf(row, 'username')).join(', ')}`
  throw new ApiError('TENANT_STATE', `Tenant ${tenant.name} ${why}; set a password on the compute platform itself.`)
}

const DOMAIN_ADMIN = 2
