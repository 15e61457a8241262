// The login that all calls share. It never leaves this service; a browser only ever has a credential of ours.
import type { Dispatcher } from 'undici'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { NvrSettings } from './settings.ts'

export const NVR_USER = 'admin'

export interface Session {
  /** Of the shared login, which is made when it is first needed. */
  token(signal?: AbortSignal): Promise<string>
  /** A new one, unless somebody else has renewed the rejected one meanwhile. */
  renew(rejected: string, signal?: AbortSignal): Promise<string>
  /** Whether the NVR takes this password; touches no login that is in use. */
  tryPassword(password: string, signal?: AbortSignal): Promise<boolean>
}

const LOGIN_TIMEOUT_MS = 10_000
/** For so long a rejected password is not tried again: whoever counts failures would lock us out. */
const REJECTED_MS = 5_000

export function createSession({ origin, password }: NvrSettings, agent: Dispatcher): Session {
  let current: { token: Promise<string>; value?: string } | undefined
  let rejected_until = 0
  const login = async (): Promise<string> => {
    if (performance.now() < rejected_until) throw passwordRejected()
    const token = await logIn(origin, agent, password)
    if (token !== undefined) return token
    rejected_until = performance.now() + REJECTED_MS
    throw passwordRejected()
  }
  const start = (): { token: Promise<string>; value?: string } => {
    const begun: { token: Promise<string>; value?: string } = { token: login() }
    current = begun
    begun.token.then(
      (value) => {
        begun.value = value
      },
      () => {
        if (current === begun) current = undefined
      },
    )
    return begun
  }
  const token: Session['token'] = (signal) => abortable((current ?? start()).token, signal)
  return {
    token,
    renew(rejected, signal) {
      if (current?.value === rejected) current = undefined
      return token(signal)
    },
    async tryPassword(tried, signal) {
      return (await abortable(logIn(origin, agent, tried), signal)) !== undefined
    },
  }
}

/** Undefined: the NVR rejects the password. The login goes on for others when one of those who wait for it leaves. */
async function logIn(origin: string, agent: Dispatcher, password: string): Promise<string | undefined> {
  const operation = 'login'
  const signal = AbortSignal.timeout(LOGIN_TIMEOUT_MS)
  try {
    const {
      statusCode: status,
      headers,
      body,
    } = await agent.request({
      origin,
      path: '/api/login',
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', 'x-csrf-token': '1' },
      body: JSON.stringify({ user: NVR_USER, password }),
    })
    await body.dump()
    if (status === 401) return undefined
    if (status !== 200) throw new UpstreamError({ upstream: 'NVR', operation, failure: 'error', status })
    const found = tokenOf(headers['set-cookie'])
    if (found !== undefined) return found
    throw new UpstreamError({
      upstream: 'NVR',
      operation,
      failure: 'error',
      detail: 'the answer to the login carries no token',
    })
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause
    const failure = signal.aborted ? 'timeout' : 'unavailable'
    throw new UpstreamError({ upstream: 'NVR', operation, failure, cause })
  }
}

/** The name of the cookie can be configured; the token has the form of a JWT. */
function tokenOf(cookies: string | string[] | undefined): string | undefined {
  for (const cookie of [cookies ?? []].flat()) {
    const [, token] = /^[a-z_]+=([\w-]+\.[\w-]+\.[\w-]+)(?:;|$)/.exec(cookie) ?? []
    if (token !== undefined) return token
  }
  return undefined
}

export const PASSWORD_REJECTED_STATUS = 401

function passwordRejected(): UpstreamError {
  const detail =
    'the NVR rejects the stored password of its admin: POST /cam/current/admin-password/verify stores the right one'
  return new UpstreamError({
    upstream: 'NVR',
    operation: 'login',
    failure: 'error',
    status: PASSWORD_REJECTED_STATUS,
    detail,
  })
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  signal.throwIfAborted()
  const gone = Promise.withResolvers<never>()
  const leave = (): void => gone.reject(signal.reason)
  signal.addEventListener('abort', leave)
  try {
    return await Promise.race([work, gone.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
