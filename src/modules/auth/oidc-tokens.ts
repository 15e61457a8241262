// Checks access tokens of the identity provider: signature by its published keys, issuer, audience, times.
import type { errors as joseErrors, JWTPayload, JWTVerifyGetKey } from 'jose'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import { credentialHash, heldCredential, type LiveCredential } from '#src/store/credentials.ts'
import { type OidcConfig, oidcCaller } from './oidc-claims.ts'

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

const Discovery = Type.Object({ issuer: Type.String(), jwks_uri: Type.String() })

export function createOidcTokens(config: OidcConfig, log: Log): OidcTokens {
  let keys: Promise<JWTVerifyGetKey> | undefined
  let failed_at = Number.NEGATIVE_INFINITY

  function published(): Promise<JWTVerifyGetKey> {
    if (keys === undefined && performance.now() - failed_at < RETRY_MS) {
      throw identityError('unavailable', 'discovery failed a moment ago')
    }
    keys ??= publishedKeys(config).catch((error: unknown) => {
      keys = undefined
      failed_at = performance.now()
      log.warn({ err: error }, 'identity provider keys cannot be read')
      throw error
    })
    return keys
  }

  return {
    async verify(token) {
      const { decodeJwt, jwtVerify, errors } = await import('jose')
      let payload: JWTPayload
      try {
        // Somebody else's token must not make us ask the provider.
        if (decodeJwt(token).iss !== config.issuer) {
          throw new ApiError('UNAUTHENTICATED', 'The access token comes from another issuer.')
        }
        const verified = await jwtVerify(token, await published(), {
          issuer: config.issuer,
          audience: config.audience,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_TOLERANCE_S,
          requiredClaims: ['exp', 'sub'],
        })
        payload = verified.payload
      } catch (error) {
        throw refusalOf(error, errors)
      }
      const remaining_ms = ((payload.exp ?? 0) + CLOCK_TOLERANCE_S) * 1000 - Date.now()
      return {
        caller: { kind: 'oidc', ...oidcCaller(payload, config) },
        credential: heldCredential('oidc', credentialHash(token), remaining_ms),
        remaining_ms,
        csrf_hash: undefined,
      }
    },
  }
}

type JoseErrors = typeof joseErrors

function refusalOf(error: unknown, errors: JoseErrors): Error {
  if (error instanceof ApiError || error instanceof UpstreamError) return error
  if (error instanceof errors.JWKSTimeout) return identityError('timeout', 'keys', error)
  if (error instanceof errors.JWTExpired) {
    return new ApiError('UNAUTHENTICATED', 'The access token has expired.', { cause: error })
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
    return new ApiError('UNAUTHENTICATED', 'The access token is not valid.', { cause: error })
  }
  return identityError('unavailable', 'keys', error)
}

async function publishedKeys(config: OidcConfig): Promise<JWTVerifyGetKey> {
  const { createRemoteJWKSet } = await import('jose')
  const address = new URL(`${config.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  requireTls(address, config)
  const found = await discover(address)
  if (found.issuer !== config.issuer) throw identityError('error', 'the discovery document names another issuer')
  const jwks = new URL(found.jwks_uri)
  requireTls(jwks, config)
  return createRemoteJWKSet(jwks, { timeoutDuration: TIMEOUT_MS })
}

async function discover(address: URL): Promise<{ issuer: string; jwks_uri: string }> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' })
    if (!response.ok) throw identityError('error', `discovery answered ${response.status}`)
    return Value.Parse(Discovery, await response.json())
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    const late = error instanceof DOMException && error.name === 'TimeoutError'
    throw identityError(late ? 'timeout' : 'unavailable', 'discovery', error)
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
