// A small identity provider for tests: discovery, keys, authorization code with PKCE, user info, and access tokens made to
// order. It signs in whoever comes, as the person of the moment.
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export type Claims = Record<string, unknown>

export interface OidcProvider {
  issuer: string
  /** Claims of the person who signs in next: in the ID token, and (beside `sub`) in user info. */
  person: { sub: string; id_token: Claims; userinfo: Claims }
  /** An access token; `audience` and `expires_in_s` may be wrong on purpose. */
  accessToken(claims: Claims, options?: { audience?: string; expires_in_s?: number; issuer?: string }): Promise<string>
  /** A token with our header and claims, signed by a key that is not published. */
  forgedToken(claims: Claims): Promise<string>
  /** While true every request ends with its connection. */
  down: boolean
  /** What the user info answers with; only 200 carries claims. */
  userinfo_status: number
  /** Changes the nonce of the next ID token, as a replayed answer would. */
  wrong_nonce: boolean
  requests: string[]
  close(): Promise<void>
}

interface Grant {
  nonce: string
  challenge: string
  redirect_uri: string
}

const CLIENT = { id: 'console', secret: 'provider-client-secret-9d1f' }
export const oidcClient = { client_id: CLIENT.id, client_secret: CLIENT.secret, audience: 'groundplane-api' }

export async function startOidcProvider(): Promise<OidcProvider> {
  const [signing, unknown_key] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')]
  const jwk = { ...(await exportJWK(signing.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }
  const grants = new Map<string, Grant>()

  const sign = (key: typeof signing.privateKey, claims: Claims, issuer: string, audience: string, life_s: number) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1000) + life_s)
      .sign(key)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', provider.issuer)
    provider.requests.push(url.pathname)
    if (provider.down) {
      request.socket.destroy()
      return
    }
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return json(response, 200, discovery(provider.issuer))
      case '/jwks':
        return json(response, 200, { keys: [jwk] })
      case '/authorize':
        return authorize(url, response)
      case '/token':
        return token(request, response)
      case '/userinfo':
        return json(response, provider.userinfo_status, { sub: provider.person.sub, ...provider.person.userinfo })
      default:
        return json(response, 404, {})
    }
  }

  function authorize(url: URL, response: ServerResponse): void {
    const query = url.searchParams
    const redirect_uri = query.get('redirect_uri') ?? ''
    const code = randomBytes(16).toString('hex')
    grants.set(code, { nonce: query.get('nonce') ?? '', challenge: query.get('code_challenge') ?? '', redirect_uri })
    const back = new URL(redirect_uri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', query.get('state') ?? '')
    // Some providers add members that no document names.
    back.searchParams.set('authuser', '0')
    response.writeHead(302, { location: back.href }).end()
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request))
    if (basicCredentials(request) !== `${CLIENT.id}:${CLIENT.secret}`) {
      return json(response, 401, { error: 'invalid_client' })
    }
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (grant === undefined || verifier !== grant.challenge || form.get('redirect_uri') !== grant.redirect_uri) {
      return json(response, 400, { error: 'invalid_grant' })
    }
    const { sub, id_token } = provider.person
    const nonce = provider.wrong_nonce ? 'another' : grant.nonce
    json(response, 200, {
      token_type: 'Bearer',
      access_token: await sign(signing.privateKey, { sub }, provider.issuer, 'somebody-else', 300),
      id_token: await sign(signing.privateKey, { sub, ...id_token, nonce }, provider.issuer, CLIENT.id, 300),
    })
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the provider has no port')
  const provider: OidcProvider = {
    issuer: `http://127.0.0.1:${address.port}`,
    person: { sub: 'p-1', id_token: {}, userinfo: {} },
    accessToken: (claims, options = {}) =>
      sign(
        signing.privateKey,
        claims,
        options.issuer ?? provider.issuer,
        options.audience ?? oidcClient.audience,
        options.expires_in_s ?? 300,
      ),
    forgedToken: (claims) => sign(unknown_key.privateKey, claims, provider.issuer, oidcClient.audience, 300),
    down: false,
    userinfo_status: 200,
    wrong_nonce: false,
    requests: [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return provider
}

/** RFC 6749, 2.3.1: both parts are form-encoded before they are joined. */
function basicCredentials(request: IncomingMessage): string {
  const encoded = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
  return decodeURIComponent(Buffer.from(encoded, 'base64').toString('utf8'))
}

function discovery(issuer: string): Claims {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'profile', 'email', 'groups'],
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function text(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(Buffer.from(part as Uint8Array))
  return Buffer.concat(parts).toString('utf8')
}
