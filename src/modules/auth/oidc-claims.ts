// What the claims of an identity provider say about a person: name, role by group, tenant.
import { ROLES } from '#src/contract/auth/rights.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Rights } from '#src/store/credentials.ts'

export type OidcConfig = NonNullable<Config['auth']['oidc']>
export type Claims = Readonly<Record<string, unknown>>

const MAX_NAME_LENGTH = 200
const MAX_ID_LENGTH = 255
const CONTROL = /\p{Cc}/gu

/** Throws FORBIDDEN when the claims give no right here. */
export function oidcCaller(claims: Claims, config: OidcConfig): Omit<Caller, 'kind'> & Rights {
  const { sub } = claims
  if (typeof sub !== 'string' || !isLine(sub))
    throw new ApiError('UNAUTHENTICATED', 'The access token names no subject.')
  return { id: `oidc:${sub}`, user_id: null, username: nameOf(claims, sub), ...rightsOf(claims, config) }
}

function rightsOf(claims: Claims, config: OidcConfig): Rights {
  const claim = claimAt(claims, config.role_claim)
  const groups = Array.isArray(claim) ? claim : [claim]
  const granted = groups.flatMap((group) =>
    typeof group === 'string' && Object.hasOwn(config.roles, group) ? [config.roles[group]] : [],
  )
  const role = ROLES.findLast((name) => granted.includes(name))
  if (role === undefined) {
    throw new ApiError('FORBIDDEN', 'None of the groups that the identity provider names has a role here.')
  }
  return { role, tenant_id: tenantOf(claims, config) }
}

/** No claim: not narrowed. One that cannot be read must not widen anything. */
function tenantOf(claims: Claims, config: OidcConfig): string | null {
  if (config.tenant_claim === undefined) return null
  const tenant = claimAt(claims, config.tenant_claim)
  if (tenant === undefined || tenant === null) return null
  if (typeof tenant !== 'string' || !isLine(tenant)) {
    throw new ApiError('FORBIDDEN', 'The tenant that the identity provider names cannot be read.')
  }
  return tenant
}

/** A claim by its name; names with dots also lead into objects (`realm_access.roles`). */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}

function nameOf(claims: Claims, sub: string): string {
  const names = [claims.preferred_username, claims.email, sub]
  const named = names.find((name): name is string => typeof name === 'string' && name !== '')
  return (named ?? sub).replaceAll(CONTROL, ' ').slice(0, MAX_NAME_LENGTH)
}

/** What becomes an id of ours: the database takes no NUL, and an id of a megabyte is none. */
function isLine(text: string): boolean {
  return text !== '' && text.length <= MAX_ID_LENGTH && !/\p{Cc}/u.test(text)
}
