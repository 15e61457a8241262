// Where users of a tenant sign in: directory and SAML are set up on the platform, OIDC is this service's own
// (cloudstack.md 8.4).
import type { AuthSourceChange, LdapSettings } from '#src/contract/tenants/auth-source.ts'
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { changeAndVerify } from '#src/drivers/cloudstack/lost-call.ts'
import { type Postcondition, verify } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { recordChange } from '#src/store/app-events.ts'
import { ASSOCIATED_DATA } from '#src/store/encrypted-places.ts'
import { changeTenant, type TenantRow } from '#src/store/tenants.ts'
import type { TenantDeps } from './deps.ts'
import { requireLiveTenant } from './lookup.ts'

type In = Input<(typeof tenants.routes)['tenantAuthSourceSet']>

export function tenantAuthSourceSet(deps: TenantDeps) {
  const { cloudstack, database, keyring } = deps
  return async ({ params, body }: In, ctx: RequestContext) => {
    const tenant = await requireLiveTenant(database, params.id, ctx.caller)
    await checkSource(deps, body)
    const about = {
      resource_type: 'TENANT',
      resource_uuid: tenant.id,
      tenant_id: tenant.id,
      description: `Switching tenant ${tenant.name} from ${tenant.auth_source} to ${body.auth_source}.`,
    }
    return recordChange(deps, ctx, about, async () => {
      const settings = await apply(cloudstack, tenant, body)
      const password = body.ldap?.bind_password
      await changeTenant(database.db, tenant.id, {
        auth_source: body.auth_source,
        auth_source_set_at: new Date(),
        auth_settings: settings === null ? null : JSON.stringify(settings),
        auth_secret: password === undefined ? null : keyring.encrypt(password, ASSOCIATED_DATA.tenant(tenant.id)),
      })
      return { tenant_id: tenant.id, auth_source: body.auth_source, message: SENTENCES[body.auth_source], settings }
    })
  }
}

const SENTENCES: Readonly<Record<AuthSourceChange['auth_source'], string>> = {
  local: 'Users sign in with their passwords on the platform.',
  ldap: 'Members of the directory sign in; accounts are made at first sign-in.',
  saml: 'Users sign in at the identity provider; the generated admin keeps its password.',
  oidc: 'Users sign in at this service, limited to the tenant by the tenant claim; accounts of the platform keep their passwords.',
}

async function checkSource({ cloudstack, oidc_ready }: TenantDeps, body: AuthSourceChange): Promise<void> {
  const { auth_source, ldap, saml } = body
  if (auth_source === 'ldap' && ldap === undefined) throw invalidField('body.ldap', 'is needed with auth_source ldap')
  if (auth_source !== 'ldap' && ldap !== undefined) throw invalidField('body.ldap', 'goes with auth_source ldap')
  if (auth_source !== 'saml' && saml !== undefined) throw invalidField('body.saml', 'goes with auth_source saml')
  if (ldap !== undefined && (ldap.bind_dn === undefined) !== (ldap.bind_password === undefined)) {
    throw invalidField('body.ldap.bind_password', 'goes together with bind_dn')
  }
  if (auth_source === 'oidc' && !oidc_ready) {
    throw new ApiError(
      'IDENTITY_NOT_CONFIGURED',
      'OIDC sign-in needs auth.oidc and auth.oidc.tenant_claim to be configured.',
    )
  }
  if (auth_source === 'saml' && !(await samlEnabled(cloudstack))) {
    throw new ApiError(
      'IDENTITY_NOT_CONFIGURED',
      'SAML sign-in is switched off on the compute platform (saml2.enabled).',
    )
  }
}

async function samlEnabled(cloudstack: CloudStack): Promise<boolean> {
  const content = await cloudstack.call('listConfigurations', { name: 'saml2.enabled', page: 1, pagesize: 50 })
  const row = rowsOf(content, 'configuration').find((one) => textOf(one, 'name') === 'saml2.enabled')
  return row !== undefined && textOf(row, 'value') === 'true'
}

type Settings = NonNullable<Awaited<ReturnType<typeof useLdap>> | Awaited<ReturnType<typeof useSaml>>>

/**
 * Sets the new source up before the old one is taken down, so that a failure leaves the old one in force. What is taken
 * down is what the platform shows: a change that was interrupted has left there what the tenant's record does not say.
 */
async function apply(cloudstack: CloudStack, tenant: TenantRow, body: AuthSourceChange): Promise<Settings | null> {
  const settings = await setUp(cloudstack, tenant, body)
  if (body.auth_source !== 'ldap') await dropDirectories(cloudstack, tenant.id)
  if (body.auth_source !== 'saml') await leaveSaml(cloudstack, tenant)
  return settings
}

async function setUp(
  cloudstack: CloudStack,
  tenant: TenantRow,
  { auth_source, ldap, saml }: AuthSourceChange,
): Promise<Settings | null> {
  if (auth_source === 'ldap' && ldap !== undefined) return useLdap(cloudstack, tenant.id, ldap)
  if (auth_source === 'saml') return useSaml(cloudstack, tenant, saml?.identity_provider_id)
  return null
}

const ACCOUNT_TYPES = { user: 0, domain_admin: 2 } as const
const LDAP_PORT = 389
/** The caller waits. */
const QUICKLY = { patience_ms: 10_000 }

async function useLdap(cloudstack: CloudStack, domainid: string, ldap: LdapSettings) {
  const { hostname, port = LDAP_PORT, group_type = 'GROUP', account_type = 'user' } = ldap
  const before = await directories(cloudstack, domainid)
  const same = before.some((row) => isServer(row, hostname, port))
  const where = { hostname, port: String(port), domainid }
  const added: Postcondition = { thing: 'directory', args: { domainid }, where, expect: {} }
  if (!same)
    await changeAndVerify(cloudstack, added, QUICKLY, () =>
      cloudstack.call('addLdapConfiguration', { hostname, port, domainid }),
    )
  try {
    const values: [string, string | undefined][] = [
      ['ldap.basedn', ldap.base_dn],
      ['ldap.bind.principal', ldap.bind_dn],
      ['ldap.bind.password', ldap.bind_password],
      ['ldap.search.group.principle', group_type === 'GROUP' ? ldap.group : undefined],
      ['ldap.provider', ldap.provider],
    ]
    for (const [name, value] of values) {
      if (value !== undefined) await set(cloudstack, 'updateConfiguration', { name, value, domainid })
    }
    await set(cloudstack, 'linkDomainToLdap', {
      domainid,
      type: group_type,
      ldapdomain: ldap.group,
      accounttype: ACCOUNT_TYPES[account_type],
      admin: ldap.admin,
    })
  } catch (error) {
    // Settings without a server sign nobody in; the servers that were there stay in force.
    if (!same) await dropDirectory(cloudstack, { hostname, port }, domainid).catch(() => {})
    throw error
  }
  for (const row of before.filter((one) => !isServer(one, hostname, port)))
    await dropDirectory(cloudstack, row, domainid)
  const { bind_password, ...shown } = ldap
  return { ...shown, port, group_type, account_type, has_bind_password: bind_password !== undefined }
}

/** Servers of this tenant alone: the list shows those for everybody, too. */
async function directories(cloudstack: CloudStack, domainid: string): Promise<Raw[]> {
  const content = await cloudstack.call('listLdapConfigurations', { domainid, page: 1, pagesize: 500 })
  return rowsOf(content, 'LdapConfiguration').filter((row) => textOf(row, 'domainid') === domainid)
}

function isServer(row: Raw, hostname: string, port: number): boolean {
  return textOf(row, 'hostname') === hostname && integerOf(row, 'port') === port
}

async function dropDirectories(cloudstack: CloudStack, domainid: string): Promise<void> {
  for (const row of await directories(cloudstack, domainid)) await dropDirectory(cloudstack, row, domainid)
}

async function dropDirectory(cloudstack: CloudStack, row: Raw, domainid: string): Promise<void> {
  const port = integerOf(row, 'port')
  const args = { hostname: textOf(row, 'hostname') ?? '', ...(port === null ? {} : { port }), domainid }
  const where = { hostname: args.hostname, domainid, ...(port === null ? {} : { port: String(port) }) }
  const gone: Postcondition = { thing: 'directory', args: { domainid }, where, expect: {}, gone: true }
  await changeAndVerify(cloudstack, gone, QUICKLY, () => cloudstack.call('deleteLdapConfiguration', args))
}

/** What twice does no more than once is sent again when its answer is lost. */
async function set(cloudstack: CloudStack, command: string, args: Args): Promise<void> {
  await untilAnswered(undefined, () => cloudstack.call(command, args), { for_ms: QUICKLY.patience_ms })
}

/** Switches every user but the generated admin, who keeps a way in when the provider fails. */
async function useSaml(cloudstack: CloudStack, tenant: TenantRow, entityid: string | undefined) {
  let users = 0
  for await (const userid of usersOf(cloudstack, tenant, () => true)) {
    await set(cloudstack, 'authorizeSamlSso', { userid, enable: true, entityid })
    await verify(cloudstack, samlUser(userid, true), QUICKLY)
    users += 1
  }
  return { ...(entityid === undefined ? {} : { identity_provider_id: entityid }), users }
}

async function leaveSaml(cloudstack: CloudStack, tenant: TenantRow): Promise<void> {
  const signsInWithSaml = (row: Raw) => textOf(row, 'usersource')?.toLowerCase() === 'saml2'
  for await (const userid of usersOf(cloudstack, tenant, signsInWithSaml)) {
    await set(cloudstack, 'authorizeSamlSso', { userid, enable: false })
    await verify(cloudstack, samlUser(userid, false), QUICKLY)
  }
}

function samlUser(userid: string, status: boolean): Postcondition {
  return { thing: 'saml_user', args: { userid }, where: { userid }, expect: { status } }
}

async function* usersOf(
  cloudstack: CloudStack,
  tenant: TenantRow,
  isMeant: (row: Raw) => boolean,
): AsyncGenerator<string> {
  const args = { domainid: tenant.id, isrecursive: true, listall: true }
  for await (const rows of cloudstack.listPages('listUsers', args, 'user')) {
    for (const row of rows.filter((one) => textOf(one, 'username') !== tenant.admin_username && isMeant(one)))
      yield textOf(row, 'id') ?? ''
  }
}
