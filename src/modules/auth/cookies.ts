// The console's cookies. Browsers keep `__Host-` cookies only over TLS; plain HTTP to a loopback name of this machine gets
// a plain name instead, and nothing else does.
import type { IncomingHttpHeaders } from 'node:http'

export interface CookieRequest {
  headers: IncomingHttpHeaders
  remote_address: string
}

/** `session`: the console session. `oidc`: ties a sign-in at the identity provider to the browser that began it. */
export type CookieName = 'session' | 'oidc'

const SAME_SITE = {
  session: 'Strict',
  // The identity provider sends the browser back from another site, and the cookie must come along.
  oidc: 'Lax',
} as const

export function cookieOf(request: CookieRequest, name: CookieName): string | undefined {
  const wanted = nameFor(request, name)
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = part.split('=', 2)
    if (key?.trim() === wanted && value !== undefined && value.trim() !== '') return value.trim()
  }
  return undefined
}

export function setCookie(request: CookieRequest, name: CookieName, value: string, life_s: number): string {
  const secure = plainLoopback(request) ? '' : '; Secure'
  const age = Math.max(0, Math.floor(life_s))
  return `${nameFor(request, name)}=${value}; Path=/; Max-Age=${age}; HttpOnly${secure}; SameSite=${SAME_SITE[name]}`
}

export function removeCookie(request: CookieRequest, name: CookieName): string {
  return setCookie(request, name, '', 0)
}

function nameFor(request: CookieRequest, name: CookieName): string {
  return plainLoopback(request) ? `gp_${name}` : `__Host-gp_${name}`
}

/** A proxy on this machine connects from loopback too, but it forwards another name or says so in its headers. */
function plainLoopback({ headers, remote_address }: CookieRequest): boolean {
  const proxied = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'via'].some(
    (name) => headers[name] !== undefined,
  )
  const peer = /^(?:::ffff:)?127\.|^::1$/.test(remote_address)
  return !proxied && peer && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(headers.host ?? '')
}
