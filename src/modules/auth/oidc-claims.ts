// What the claims of an identity provider say about a person: name, role by group, tenant.
import { ROLES } from '#src/contract/auth/rights.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Rights } from '#src/store/credentials.ts'
import type { Db } from '#src/store/database.ts'
import { findTenant } from '#src/store/tenants.ts'

export type OidcConfig = NonNullable<Config['auth']['oidc']>
export type Claims = Readonly<Record<string, unknown>>

const MAX_NAME_LENGTH = 200
const MAX_ID_LENGTH = 255
const CONTROL = /\p{Cc}/gu

/**
 * Throws FORBIDDEN when the claims give no right here. `userinfo` is asked for only when the token leaves a claim out that
 * decides on rights; what the token itself says wins.
 */
export async function oidcCaller(
  { config, db }: { config: OidcConfig; db: Db },
  token: Claims,
  userinfo: () => Promise<Claims>,
): Promise<Omit<Caller, 'kind'> & Rights> {
  const { sub } = token
  if (typeof sub !== 'string' || !isLine(sub))
    throw new ApiError('UNAUTHENTICATED', 'The access token has no `sub`, which names the user.')
  const deciding = [config.role_claim, ...(config.tenant_claim === undefined ? [] : [config.tenant_claim])]
  const whole = deciding.every((name) => claimAt(token, name) !== undefined)
  const sources = whole ? [token] : [token, await userinfo()]
  const role = roleOf(claimIn(sources, config.role_claim), config)
  const tenant_id = await tenantOf(sources, role, config, db)
  return { id: `oidc:${sub}`, user_id: null, username: nameOf(sources, sub), role, tenant_id }
}

function roleOf(claim: unknown, config: OidcConfig): Rights['role'] {
  const groups = Array.isArray(claim) ? claim : [claim]
  const granted = groups.flatMap((group) =>
    typeof group === 'string' && Object.hasOwn(config.roles, group) ? [config.roles[group]] : [],
  )
  const role = ROLES.findLast((name) => granted.includes(name))
  if (role === undefined) {
    throw new ApiError(
      'FORBIDDEN',
      `No value of the claim ${config.role_claim} has a role here; an administrator must add one of your groups to oidc.roles.`,
    )
  }
  return role
}

/** Null means all tenants, so a claim that is missing or cannot be read must never become null by itself. */
async function tenantOf(
  sources: readonly Claims[],
  role: Rights['role'],
  config: OidcConfig,
  db: Db,
): Promise<string | null> {
  const name = config.tenant_claim
  if (name === undefined) return null
  const tenant = claimIn(sources, name)
  if (tenant === undefined) {
    if (config.roles_without_tenant.includes(role)) return null
    throw new ApiError(
      'FORBIDDEN',
      `The identity provider names no tenant: the claim ${name} is missing. Set it there, or add ${role} to auth.oidc.roles_without_tenant.`,
    )
  }
  if (typeof tenant !== 'string' || !isLine(tenant)) {
    throw new ApiError('FORBIDDEN', `The claim ${name} must be the id of one tenant as text; it is ${kindOf(tenant)}.`)
  }
  if ((await findTenant(db, tenant)) === undefined) {
    throw new ApiError('FORBIDDEN', `No tenant has the id ${tenant}, which the claim ${name} names.`)
  }
  return tenant
}

function kindOf(value: unknown): string {
  if (value === '') return 'an empty text'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'string' ? 'a text that cannot be an id' : `of type ${typeof value}`
}

function claimIn(sources: readonly Claims[], name: string): unknown {
  for (const claims of sources) {
    const value = claimAt(claims, name)
    if (value !== undefined) return value
  }
  return undefined
}

/** A claim by its name; names with dots also lead into objects (`realm_access.roles`). Null counts as left out. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name] ?? undefined
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value ?? undefined
}

function nameOf(sources: readonly Claims[], sub: string): string {
  const names = ['preferred_username', 'email'].map((name) => claimIn(sources, name))
  const named = names.find((name): name is string => typeof name === 'string' && name !== '')
  return (named ?? sub).replaceAll(CONTROL, ' ').slice(0, MAX_NAME_LENGTH)
}

/** What becomes an id of ours: the database takes no NUL, and an id of a megabyte is none. */
function isLine(text: string): boolean {
  return text !== '' && text.length <= MAX_ID_LENGTH && !/\p{Cc}/u.test(text)
}
