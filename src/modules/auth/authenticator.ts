// Resolves the credential of every request: API token, access token of the identity provider, cluster secret or
// certificate, ticket, console session (api-conventions.md, Callers and rights).
import { timingSafeEqual } from 'node:crypto'
import { ApiError } from '#src/kernel/errors.ts'
import type { Authenticator, AuthRequest } from '#src/kernel/http/access.ts'
import { ANONYMOUS, type Caller } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import { findLiveToken, TOKEN_FORM, touchToken } from '#src/store/api-tokens.ts'
import { credentialHash, credentialKey, type LiveCredential, type Refusal } from '#src/store/credentials.ts'
import type { Db } from '#src/store/database.ts'
import { findLiveSession } from '#src/store/sessions.ts'
import { TICKET_FORM, useTicket } from '#src/store/tickets.ts'
import { bearerOf, clusterCaller, clusterSecretCheck } from './cluster-credential.ts'
import { cookieOf } from './cookies.ts'
import type { CredentialCache } from './credential-cache.ts'
import type { OidcTokens } from './oidc-tokens.ts'
import { requireSameOrigin } from './same-origin.ts'

export interface AuthenticatorDeps {
  db: Db
  cache: CredentialCache
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
      if (request.ticket !== undefined) return ticketCaller(deps, request.ticket)
      if (request.certificate_name !== undefined) return clusterCaller(request.certificate_name)
      const session = cookieOf(request, 'session')
      return session === undefined ? ANONYMOUS : sessionCaller(deps, session, request)
    },
  }
}

function bearerCaller(
  deps: AuthenticatorDeps,
  token: string,
  isClusterSecret: (key: string) => boolean,
): Caller | Promise<Caller> {
  const key = credentialKey(token)
  const known = deps.cache.get(key)
  if (known !== undefined) return known.caller
  if (isClusterSecret(key)) return clusterCaller(null)
  if (TOKEN_FORM.test(token))
    return deps.cache.fetch(key, () => lookUpToken(deps, Buffer.from(key, 'hex'))).then(callerOf)
  const { oidc } = deps
  if (oidc !== undefined && JWT_FORM.test(token)) return deps.cache.fetch(key, () => oidc.verify(token)).then(callerOf)
  throw new ApiError('UNAUTHENTICATED', 'The bearer token has no form that this service knows.')
}

function callerOf(found: LiveCredential): Caller {
  return found.caller
}

async function lookUpToken({ db, log }: AuthenticatorDeps, hash: Buffer): Promise<LiveCredential> {
  const found = await findLiveToken(db, hash)
  if (typeof found === 'string') throw refused('API token', found)
  if (found.unused) {
    // The answer does not wait for it, and a use that is not recorded harms nobody.
    touchToken(db, found.caller.id).catch((err: unknown) => log.warn({ err }, 'last use of a token not recorded'))
  }
  return found
}

/** A stored ticket carries the rights that its credential has now: revoked or signed out, it is worth nothing. */
async function ticketCaller(deps: AuthenticatorDeps, ticket: string): Promise<Caller> {
  const use = TICKET_FORM.test(ticket) ? await useTicket(deps.db, credentialHash(ticket)) : undefined
  if (use === undefined) throw new ApiError('UNAUTHENTICATED', 'The ticket is used, expired or not known.')
  if (use.source === null) return use.caller
  const found =
    use.caller.kind === 'session'
      ? await findLiveSession(deps.db, use.source)
      : await findLiveToken(deps.db, use.source)
  if (typeof found === 'string') throw refused('credential behind the ticket', found)
  return found.caller
}

function sessionCaller(deps: AuthenticatorDeps, secret: string, request: AuthRequest): Caller | Promise<Caller> {
  const key = credentialKey(secret)
  const known = deps.cache.get(key)
  if (known !== undefined) return checkedSession(known, request, deps.public_url)
  return deps.cache
    .fetch(key, async () => {
      const found = await findLiveSession(deps.db, Buffer.from(key, 'hex'))
      if (typeof found === 'string') throw refused('session', found)
      return found
    })
    .then((found) => checkedSession(found, request, deps.public_url))
}

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** A browser sends the cookie along whoever made the page; what changes things must prove that the page is ours. */
function checkedSession(found: LiveCredential, request: AuthRequest, public_url: string | undefined): Caller {
  const { method, headers } = request
  // A WebSocket begins as a GET from any page, and no rule of the browser keeps its answers from that page.
  if (headers.upgrade !== undefined) requireSameOrigin(headers, public_url)
  if (SAFE_METHODS.includes(method)) return found.caller
  requireSameOrigin(headers, public_url)
  const sent = headers['x-csrf-token']
  const hash = found.csrf_hash
  if (typeof sent !== 'string' || hash === undefined || !timingSafeEqual(credentialHash(sent), hash)) {
    throw new ApiError('CSRF_REJECTED', 'Send the csrf_token of the session (GET /auth/me) as X-CSRF-Token.')
  }
  return found.caller
}

const REASON: Record<Refusal, string> = {
  unknown: 'is not known',
  revoked: 'has ended',
  expired: 'has expired',
  disabled: 'belongs to a user who may no longer use it',
}

function refused(what: string, refusal: Refusal): ApiError {
  return new ApiError('UNAUTHENTICATED', `The ${what} ${REASON[refusal]}.`)
}
