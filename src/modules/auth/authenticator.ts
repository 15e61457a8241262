// Resolves the credential of every request: API token, access token of the identity provider, cluster secret or
// certificate, ticket, console session (api-conventions.md, Callers and rights).
import { timingSafeEqual } from 'node:crypto'
import { ApiError } from '#src/kernel/errors.ts'
import type { Authenticator, AuthRequest, HeldCredential, Identity } from '#src/kernel/http/access.ts'
import { ANONYMOUS } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import { TOKEN_FORM } from '#src/store/api-tokens.ts'
import { credentialHash, credentialKey, type LiveCredential } from '#src/store/credentials.ts'
import type { Db } from '#src/store/database.ts'
import { type TicketUse, useTicket } from '#src/store/tickets.ts'
import { bearerOf, clusterCaller, clusterSecretCheck } from './cluster-credential.ts'
import { cookieOf } from './cookies.ts'
import type { CredentialCache } from './credential-cache.ts'
import { lookUp } from './credential-lookup.ts'
import type { OidcTokens } from './oidc-tokens.ts'
import type { OpenCredentials } from './open-credentials.ts'
import { requireSameOrigin } from './same-origin.ts'

export interface AuthenticatorDeps {
  db: Db
  cache: CredentialCache
  open: OpenCredentials
  log: Log
  cluster_secret: string | undefined
  oidc: OidcTokens | undefined
  public_url: string | undefined
}

const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const isClusterSecret = clusterSecretCheck(deps.cluster_secret)
  return {
    authenticate(request) {
      const { authorization } = request.headers
      if (authorization !== undefined) return bearerCaller(deps, bearerOf(authorization), isClusterSecret)
      if (request.ticket !== undefined) return ticketCaller(deps, request.ticket, request)
      if (request.certificate_name !== undefined) return { caller: clusterCaller(request.certificate_name) }
      const session = cookieOf(request, 'session')
      return session === undefined ? { caller: ANONYMOUS } : sessionCaller(deps, session, request)
    },
    follow: deps.open.follow,
  }
}

function bearerCaller(
  deps: AuthenticatorDeps,
  token: string,
  isClusterSecret: (key: string) => boolean,
): Identity | Promise<Identity> {
  const key = credentialKey(token)
  const known = deps.cache.get(key)
  if (known !== undefined) return known
  if (isClusterSecret(key)) return { caller: clusterCaller(null) }
  if (TOKEN_FORM.test(token)) return deps.cache.fetch(key, () => lookUp(deps, 'token', key))
  const { oidc } = deps
  if (oidc !== undefined && JWT_FORM.test(token)) return deps.cache.fetch(key, () => oidc.verify(token))
  throw new ApiError(
    'UNAUTHENTICATED',
    `Invalid bearer token: API tokens begin with gp_${deps.oidc === undefined ? '' : ', access tokens of the identity provider are JWTs'}.`,
  )
}

/** A stored ticket carries the rights that its credential has now: revoked or signed out, it is worth nothing. */
async function ticketCaller(deps: AuthenticatorDeps, ticket: string, request: AuthRequest): Promise<Identity> {
  const use = await useTicket(deps.db, ticket, request)
  if (use === undefined) {
    throw new ApiError(
      'UNAUTHENTICATED',
      'Invalid ticket: it is used, expired, unknown, or not for this path. Make a new one with POST /auth/tickets.',
    )
  }
  const identity = await sourceIdentity(deps, ticket, use)
  return use.path === null ? identity : asViewer(identity)
}

async function sourceIdentity(
  deps: AuthenticatorDeps,
  ticket: string,
  { caller, source, expires_at_ms }: TicketUse,
): Promise<Identity & { credential: HeldCredential }> {
  if (source === null) return { caller, credential: { kind: 'oidc', key: credentialKey(ticket), expires_at_ms } }
  return lookUp(deps, caller.kind === 'session' ? 'session' : 'token', source.toString('hex'))
}

/** An address that lives for an hour gets around more easily than one for a minute: it shows what everybody may see. */
function asViewer({ caller, credential }: Identity & { credential: HeldCredential }): Identity {
  return { caller: { ...caller, role: 'viewer' }, credential: { ...credential, role: 'viewer' } }
}

function sessionCaller(deps: AuthenticatorDeps, secret: string, request: AuthRequest): Identity | Promise<Identity> {
  const key = credentialKey(secret)
  const known = deps.cache.get(key)
  if (known !== undefined) return checkedSession(known, request, deps.public_url)
  return deps.cache
    .fetch(key, () => lookUp(deps, 'session', key))
    .then((found) => checkedSession(found, request, deps.public_url))
}

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** A browser sends the cookie along whoever made the page; what changes things must prove that the page is ours. */
function checkedSession(found: LiveCredential, request: AuthRequest, public_url: string | undefined): Identity {
  const { method, headers } = request
  // A WebSocket begins as a GET from any page, and no rule of the browser keeps its answers from that page.
  if (headers.upgrade !== undefined) requireSameOrigin(headers, public_url)
  if (SAFE_METHODS.includes(method)) return found
  requireSameOrigin(headers, public_url)
  const sent = headers['x-csrf-token']
  const hash = found.csrf_hash
  if (typeof sent !== 'string' || hash === undefined || !timingSafeEqual(credentialHash(sent), hash)) {
    throw new ApiError('CSRF_REJECTED', 'Send the csrf_token of the session (GET /auth/me) as X-CSRF-Token.')
  }
  return found
}
