// Checks access tokens of the identity provider: signature by its published keys, issuer, audience, times.
import type { errors as joseErrors, JWTPayload, JWTVerifyGetKey } from 'jose'
import { LRUCache } from 'lru-cache'
import { type Static, type TSchema, Type } from 'typebox'
import Value from 'typebox/value'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import { credentialHash, credentialKey, heldCredential, type LiveCredential } from '#src/store/credentials.ts'
import type { Db } from '#src/store/database.ts'
import { type Claims, type OidcConfig, oidcCaller } from './oidc-claims.ts'

export interface OidcTokens {
  /** Throws UNAUTHENTICATED, FORBIDDEN, or UpstreamError when the provider's keys cannot be had. */
  verify(token: string): Promise<LiveCredential>
}

const TIMEOUT_MS = 5000
/** After a failure the provider is asked again no sooner: every request with such a token would wait for it. */
const RETRY_MS = 2000
const CLOCK_TOLERANCE_S = 10
/** Signatures by key pairs alone: a shared secret cannot be published. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** User info of one token: groups and tenant of a person change rarely, and each question is a request to the provider. */
const USER_INFO_TTL_MS = 60_000
const MAX_USER_INFOS = 10_000

const Discovery = Type.Object({
  issuer: Type.String(),
  jwks_uri: Type.String(),
  userinfo_endpoint: Type.Optional(Type.String()),
})
const UserInfo = Type.Record(Type.String(), Type.Unknown())

export function createOidcTokens(config: OidcConfig, db: Db, log: Log): OidcTokens {
  let provider: Promise<Provider> | undefined
  const user_infos = new LRUCache<string, Promise<Claims>>({ max: MAX_USER_INFOS, ttl: USER_INFO_TTL_MS })
  let failed_at = Number.NEGATIVE_INFINITY

  function known(): Promise<Provider> {
    if (provider === undefined && performance.now() - failed_at < RETRY_MS) {
      throw identityError('unavailable', 'discovery failed a moment ago')
    }
    provider ??= openProvider(config).catch((error: unknown) => {
      provider = undefined
      failed_at = performance.now()
      log.warn({ err: error }, 'identity provider keys cannot be read')
      throw error
    })
    return provider
  }

  function userInfo(endpoint: string, token: string, sub: unknown): Promise<Claims> {
    const key = credentialKey(token)
    const asked = user_infos.get(key) ?? readUserInfo(endpoint, token, sub)
    user_infos.set(key, asked, { noUpdateTTL: true })
    asked.catch(() => user_infos.delete(key))
    return asked
  }

  return {
    async verify(token) {
      const { decodeJwt, jwtVerify, errors } = await import('jose')
      let payload: JWTPayload
      try {
        // Somebody else's token must not make us ask the provider.
        if (decodeJwt(token).iss !== config.issuer) {
          throw new ApiError(
            'UNAUTHENTICATED',
            `The access token does not come from ${config.issuer}, the issuer that is configured here.`,
          )
        }
        const { keys } = await known()
        const verified = await jwtVerify(token, keys, {
          issuer: config.issuer,
          audience: config.audience,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_TOLERANCE_S,
          requiredClaims: ['exp', 'sub'],
        })
        payload = verified.payload
      } catch (error) {
        throw rejectionOf(error, errors)
      }
      const remaining_ms = ((payload.exp ?? 0) + CLOCK_TOLERANCE_S) * 1000 - Date.now()
      const { userinfo_endpoint } = await known()
      const caller = await oidcCaller({ config, db }, payload, async () =>
        userinfo_endpoint === undefined ? {} : userInfo(userinfo_endpoint, token, payload.sub),
      )
      return {
        caller: { kind: 'oidc', ...caller },
        credential: heldCredential('oidc', credentialHash(token), remaining_ms),
        remaining_ms,
        csrf_hash: undefined,
      }
    },
  }
}

type JoseErrors = typeof joseErrors

function rejectionOf(error: unknown, errors: JoseErrors): Error {
  if (error instanceof ApiError || error instanceof UpstreamError) return error
  if (error instanceof errors.JWKSTimeout) return identityError('timeout', 'keys', error)
  if (error instanceof errors.JWTExpired) {
    return new ApiError('UNAUTHENTICATED', 'The access token has expired; sign in again.', { cause: error })
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new ApiError('UNAUTHENTICATED', `The access token is not meant for this service: ${error.claim}.`, {
      cause: error,
    })
  }
  const ours = [
    errors.JWTInvalid, errors.JWSInvalid, errors.JWSSignatureVerificationFailed, errors.JWKSNoMatchingKey,
    errors.JWKSMultipleMatchingKeys, errors.JOSEAlgNotAllowed, errors.JOSENotSupported,
  ] // biome-ignore format: a list
  if (ours.some((kind) => error instanceof kind)) {
    return new ApiError(
      'UNAUTHENTICATED',
      'The access token is not valid: its signature or form is wrong. Sign in again.',
      { cause: error },
    )
  }
  return identityError('unavailable', 'keys', error)
}

interface Provider {
  keys: JWTVerifyGetKey
  userinfo_endpoint: string | undefined
}

async function openProvider(config: OidcConfig): Promise<Provider> {
  const { createRemoteJWKSet } = await import('jose')
  const address = new URL(`${config.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  requireTls(address, config)
  const found = await discover(address)
  if (found.issuer !== config.issuer) throw identityError('error', 'the discovery document names another issuer')
  const { jwks_uri, userinfo_endpoint } = found
  for (const uri of [jwks_uri, userinfo_endpoint]) if (uri !== undefined) requireTls(new URL(uri), config)
  return { keys: createRemoteJWKSet(new URL(jwks_uri), { timeoutDuration: TIMEOUT_MS }), userinfo_endpoint }
}

async function discover(address: URL): Promise<Static<typeof Discovery>> {
  const response = await asked('discovery', address)
  if (!response.ok) throw identityError('error', `discovery answered ${response.status}`)
  return parsed(Discovery, 'discovery', response)
}

/** OpenID Connect Core 5.3. A token that the provider takes only elsewhere, as those of programs, has no user info. */
async function readUserInfo(endpoint: string, token: string, sub: unknown): Promise<Claims> {
  const response = await asked('user info', endpoint, { authorization: `Bearer ${token}` })
  if ([400, 401, 403].includes(response.status)) return {}
  if (!response.ok) throw identityError('unavailable', `user info answered ${response.status}`)
  const claims = await parsed(UserInfo, 'user info', response)
  if (claims.sub !== sub) {
    throw new ApiError('UNAUTHENTICATED', 'The user info of the identity provider is about another subject.')
  }
  return claims
}

async function asked(what: string, address: URL | string, headers: Record<string, string> = {}): Promise<Response> {
  try {
    return await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' })
  } catch (error) {
    const late = error instanceof DOMException && error.name === 'TimeoutError'
    throw identityError(late ? 'timeout' : 'unavailable', what, error)
  }
}

async function parsed<T extends TSchema>(schema: T, what: string, response: Response): Promise<Static<T>> {
  try {
    return Value.Parse(schema, await response.json())
  } catch (error) {
    throw identityError('unavailable', what, error)
  }
}

export function requireTls(address: URL, config: OidcConfig): void {
  if (address.protocol === 'https:' || (address.protocol === 'http:' && config.allow_http)) return
  throw identityError('error', 'the identity provider must be reached by https')
}

export function identityError(
  failure: 'unavailable' | 'timeout' | 'error' | 'not_configured',
  detail: string,
  cause?: unknown,
): UpstreamError {
  return new UpstreamError({ upstream: 'IDENTITY', operation: 'oidc', failure, detail, retryable: true, cause })
}
