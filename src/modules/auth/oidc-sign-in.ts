// Console sign-in at the identity provider: authorization code with PKCE, state and nonce, tied to the browser that began.
import { timingSafeEqual } from 'node:crypto'
import type { Configuration } from 'openid-client'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import { credentialHash, credentialKey, newCredential } from '#src/store/credentials.ts'
import type { Database } from '#src/store/database.ts'
import { insertOidcLogin, takeOidcLogin } from '#src/store/oidc-logins.ts'
import { ASSOCIATED_DATA } from '#src/store/encrypted-places.ts'
import { type OidcConfig, oidcCaller } from './oidc-claims.ts'
import { identityError, requireTls } from './oidc-tokens.ts'

export interface OidcSignInDeps {
  config: OidcConfig
  /** Base URL as browsers see it; the provider sends them back to it. */
  public_url: string | undefined
  database: Database
  keyring: Keyring
}

export interface OidcSignIn {
  /** Where the browser must go, and what it must keep in a cookie until it is back. */
  start(return_to: string): Promise<{ location: string; browser_secret: string }>
  finish(
    answer: Record<string, string>,
    browser_secret: string | undefined,
  ): Promise<{ caller: Caller; return_to: string }>
}

const TIMEOUT_S = 5
const LOGIN_DATA = ASSOCIATED_DATA.oidc_login

const Pending = Type.Object({
  code_verifier: Type.String(),
  nonce: Type.String(),
  return_to: Type.String(),
  browser_key: Type.String(),
})

export function createOidcSignIn(deps: OidcSignInDeps): OidcSignIn {
  let discovered: Promise<Configuration> | undefined

  function provider(): Promise<Configuration> {
    discovered ??= discover(deps.config).catch((error: unknown) => {
      discovered = undefined
      throw error
    })
    return discovered
  }

  return {
    async start(return_to) {
      const redirect_uri = callbackAddress(deps.public_url)
      const client = await import('openid-client')
      const configuration = await provider()
      const code_verifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const browser_secret = newCredential('')
      const pending = { code_verifier, nonce, return_to, browser_key: credentialKey(browser_secret) }
      const encrypted = deps.keyring.encrypt(JSON.stringify(pending), LOGIN_DATA)
      await deps.database.transact((trx) => insertOidcLogin(trx, state, encrypted))
      const location = client.buildAuthorizationUrl(configuration, {
        redirect_uri,
        scope: scopesOf(configuration, deps.config),
        code_challenge: await client.calculatePKCECodeChallenge(code_verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      return { location: location.href, browser_secret }
    },
    async finish(answer, browser_secret) {
      const redirect_uri = callbackAddress(deps.public_url)
      const pending = await takePending(deps, answer.state, browser_secret)
      const address = new URL(redirect_uri)
      address.search = new URLSearchParams(answer).toString()
      const caller = await personFor(deps, await provider(), address, pending, answer.state)
      return { caller: { kind: 'session', ...caller }, return_to: pending.return_to }
    },
  }
}

/** Only the browser that began may finish: otherwise somebody could sign another person in under his own name. */
async function takePending(deps: OidcSignInDeps, state: string | undefined, browser_secret: string | undefined) {
  const encrypted = state === undefined ? undefined : await takeOidcLogin(deps.database.db, state)
  if (encrypted === undefined) {
    throw new ApiError('OIDC_REJECTED', 'This sign-in was not begun here, was finished before, or took too long.')
  }
  const pending = Value.Parse(Pending, JSON.parse(deps.keyring.decrypt(encrypted, LOGIN_DATA)))
  const expected = Buffer.from(pending.browser_key, 'hex')
  if (browser_secret === undefined || !timingSafeEqual(credentialHash(browser_secret), expected)) {
    throw new ApiError('OIDC_REJECTED', 'The sign-in was begun in another browser.')
  }
  return pending
}

async function personFor(
  { config, database: { db } }: OidcSignInDeps,
  configuration: Configuration,
  address: URL,
  pending: { code_verifier: string; nonce: string },
  state: string | undefined,
) {
  const client = await import('openid-client')
  try {
    const tokens = await client.authorizationCodeGrant(configuration, address, {
      pkceCodeVerifier: pending.code_verifier,
      expectedNonce: pending.nonce,
      expectedState: state ?? '',
      idTokenExpected: true,
    })
    const claims = { ...tokens.claims() }
    return await oidcCaller({ config, db }, claims, async () => {
      // Some providers keep groups out of the ID token.
      if (configuration.serverMetadata().userinfo_endpoint === undefined) return {}
      return { ...(await client.fetchUserInfo(configuration, tokens.access_token, String(claims.sub))) }
    })
  } catch (error) {
    throw rejectionOf(error)
  }
}

async function discover(config: OidcConfig): Promise<Configuration> {
  const client = await import('openid-client')
  const issuer = new URL(config.issuer)
  requireTls(issuer, config)
  const secret = config.client_secret
  try {
    return await client.discovery(
      issuer,
      config.client_id,
      undefined,
      secret === undefined ? client.None() : client.ClientSecretBasic(secret),
      { timeout: TIMEOUT_S, ...(config.allow_http ? { execute: [client.allowInsecureRequests] } : {}) },
    )
  } catch (error) {
    throw isTimeout(error)
      ? identityError('timeout', 'discovery', error)
      : identityError('unavailable', 'discovery', error)
  }
}

/** `groups` and the like are scopes at some providers and errors at others; the provider says which it knows. */
function scopesOf(configuration: Configuration, config: OidcConfig): string {
  const known = configuration.serverMetadata().scopes_supported ?? []
  const wanted = ['openid', 'profile', 'email', config.role_claim]
  return wanted.filter((scope, place) => place < 3 || known.includes(scope)).join(' ')
}

function callbackAddress(public_url: string | undefined): string {
  if (public_url === undefined) throw identityError('not_configured', 'set public_url')
  return `${public_url.replace(/\/$/, '')}/auth/oidc/callback`
}

/** What the provider or the answer says is a rejection; a provider that cannot be asked is an outage. */
function rejectionOf(error: unknown): Error {
  if (error instanceof ApiError || error instanceof UpstreamError) return error
  if (isTimeout(error)) return identityError('timeout', 'code exchange', error)
  if (isFetchFailure(error)) return identityError('unavailable', 'code exchange', error)
  return new ApiError('OIDC_REJECTED', 'The answer of the identity provider does not hold; sign in again.', {
    cause: error,
  })
}

function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'TimeoutError' || ('code' in error && error.code === 'OAUTH_TIMEOUT') || isTimeout(error.cause)
}

function isFetchFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof TypeError && error.message === 'fetch failed') return true
  const server_side = error.cause instanceof Response && error.cause.status >= 500
  return server_side || isFetchFailure(error.cause)
}
