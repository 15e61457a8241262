/** Logins of the NVR: users, signed tokens in a cookie or a header, and their refresh. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Answer, type Call, type Caller, json, jsonBody, Rejection, textField } from './http-call.ts'
import { isObject, parseJson } from './json.ts'
import type { NvrState } from './state.ts'

const COOKIE = 'frigate_token'
const SESSION_S = 86_400
/** With less than this left a request with the cookie gets a new one. */
const REFRESH_S = 1800
const MIN_PASSWORD_LENGTH = 12

interface Claims {
  sub: string
  role: string
  exp: number
  iat: number
}

export interface Authenticated {
  caller: Caller
  /** A fresh cookie, when the old one is about to expire. */
  set_cookie: string | null
}

export async function login(call: Call): Promise<Answer> {
  const body = await jsonBody(call)
  const [name, password] = [textField(body, 'user'), textField(body, 'password')]
  const user = call.nvr.users.get(name)
  if (user === undefined || user.password !== password) throw new Rejection(401, { message: 'Login failed' })
  return { status: 200, headers: { 'set-cookie': cookie(call.nvr, user.name, user.role, SESSION_S) } }
}

/** Null when the request is not logged in. A header wins over the cookie, also when it is wrong. */
export function authenticate(nvr: NvrState, headers: IncomingHttpHeaders): Authenticated | null {
  const bearer = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1]
  const from_cookie = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]+)`).exec(headers.cookie ?? '')?.[1]
  const claims = verify(nvr, bearer ?? from_cookie ?? '')
  const now_s = Date.now() / 1000
  if (claims === null || claims.exp <= now_s) return null
  const caller = { name: claims.sub, role: claims.role }
  if (bearer !== undefined || claims.exp - now_s > REFRESH_S) return { caller, set_cookie: null }
  // Only here does the program look the user up again.
  const user = nvr.users.get(claims.sub)
  if (user === undefined) return null
  if (nvr.release === '0.17' && claims.iat < user.password_changed_s) return null
  return { caller, set_cookie: cookie(nvr, user.name, user.role, SESSION_S) }
}

/** A token of one's own making, for tests: expired, about to expire, of a user that is gone. */
export function signToken(nvr: NvrState, name: string, role: string, lifetime_s: number): string {
  const now_s = Math.floor(Date.now() / 1000)
  const head = encode({ alg: 'HS256' })
  const claims = encode({ sub: name, role, exp: now_s + lifetime_s, iat: now_s })
  return `${head}.${claims}.${signature(nvr, `${head}.${claims}`)}`
}

export async function changePassword(call: Call): Promise<Answer> {
  const { nvr, caller, params } = call
  const body = await jsonBody(call)
  const password = textField(body, 'password')
  const name = params['user'] ?? ''
  if (caller.role === 'viewer' && caller.name !== name) {
    throw new Rejection(403, { detail: 'Viewers can only update their own password' })
  }
  const user = nvr.users.get(name)
  if (nvr.release === '0.17') {
    if (user === undefined) throw new Rejection(404, { message: 'User not found' })
    if (caller.role !== 'admin') {
      const old = isObject(body) ? body['old_password'] : undefined
      if (old === undefined || old === null) throw new Rejection(400, { message: 'Current password is required' })
      if (old !== user.password) throw new Rejection(401, { message: 'Current password is incorrect' })
    }
    if (password === '') throw new Rejection(400, { message: 'Password cannot be empty' })
    if (Array.from(password).length < MIN_PASSWORD_LENGTH) {
      throw new Rejection(400, { message: 'Password must be at least 12 characters long' })
    }
  }
  if (user === undefined) return json({ success: true })
  user.password = password
  user.password_changed_s = Date.now() / 1000
  nvr.onStored()
  const own = nvr.release === '0.17' && caller.name === user.name
  return {
    ...json({ success: true }),
    ...(own ? { headers: { 'set-cookie': cookie(nvr, user.name, user.role, SESSION_S) } } : {}),
  }
}

export function profile({ nvr, caller }: Call): Answer {
  const own = { username: caller.name, role: caller.role }
  if (nvr.release === '0.16') return json(own)
  return json({ ...own, allowed_cameras: [...nvr.cameras.keys()] })
}

/** The real program takes the moment of expiry for a number of seconds from now: the date is decades ahead. */
function cookie(nvr: NvrState, name: string, role: string, lifetime_s: number): string {
  const token = signToken(nvr, name, role, lifetime_s)
  const expires = new Date(Date.now() + (Math.floor(Date.now() / 1000) + lifetime_s) * 1000).toUTCString()
  return `${COOKIE}=${token}; expires=${expires}; HttpOnly; Path=/; SameSite=lax`
}

function verify(nvr: NvrState, token: string): Claims | null {
  const [head, body, signed] = token.split('.')
  if (head === undefined || body === undefined || signed === undefined) return null
  const [given, expected] = [Buffer.from(signed), Buffer.from(signature(nvr, `${head}.${body}`))]
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  const claims = parseJson(Buffer.from(body, 'base64url').toString('utf8'))?.value
  if (!isObject(claims)) return null
  const { sub, role, exp, iat } = claims
  if (typeof sub !== 'string' || typeof role !== 'string' || typeof exp !== 'number') return null
  return { sub, role, exp, iat: typeof iat === 'number' ? iat : 0 }
}

function signature(nvr: NvrState, text: string): string {
  return createHmac('sha256', nvr.jwt_secret).update(text).digest('base64url')
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
