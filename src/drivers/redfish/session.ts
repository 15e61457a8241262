// Who we are to a BMC: one session, made once for all who need it and renewed once; Basic only where there are no sessions. A
// secret that was refused is not tried again for a while, because BMCs lock accounts.
import { createHash } from 'node:crypto'
import { type Document, isDocument, linkAt, localPath } from './document.ts'
import { errorOfAnswer, RedfishError } from './redfish-error.ts'
import type { Answer } from './transport.ts'

export interface Credentials {
  username: string
  password: string
}

/** Refused pairs of address and credentials, shared by all connections of the process. */
export interface RejectedSecrets {
  /** Throws when this pair was refused not long ago. */
  check(address: string, credentials: Credentials): void
  add(address: string, credentials: Credentials): void
  forget(address: string): void
}

const REJECTED_FOR_MS = 5 * 60_000
const REMEMBERED_MOST = 10_000

export function createRejectedSecrets(now: () => number = Date.now): RejectedSecrets {
  const until = new Map<string, number>()
  const key = (address: string, { username, password }: Credentials): string =>
    `${address} ${createHash('sha256').update(`${username}\0${password}`).digest('hex')}`
  return {
    check(address, credentials) {
      if ((until.get(key(address, credentials)) ?? 0) > now()) throw rejected('remembered')
    },
    add(address, credentials) {
      if (until.size >= REMEMBERED_MOST) until.clear()
      until.set(key(address, credentials), now() + REJECTED_FOR_MS)
    },
    forget(address) {
      for (const one of until.keys()) if (one.startsWith(`${address} `)) until.delete(one)
    },
  }
}

export interface SessionParts {
  address: string
  credentials: Credentials
  rejected: RejectedSecrets
  /** One exchange without authentication headers of its own. */
  send(method: string, path: string, headers: Record<string, string>, body?: Document): Promise<Answer>
}

export interface Session {
  /** Headers that authenticate; logs in when that has not happened. */
  headers(root: Document): Promise<Record<string, string>>
  /** The BMC does not know these headers (any more). True: others will come, so the request may be repeated. */
  refused(used: Record<string, string>): boolean
  kind(): 'session' | 'basic' | undefined
  end(): Promise<void>
}

export function createSession(parts: SessionParts): Session {
  const { address, credentials, rejected: memory } = parts
  let login: Promise<LoggedIn> | undefined
  let current: LoggedIn | undefined
  let is_closed = false
  /** Where sessions once worked, their failure is told and never circumvented. */
  let had_session = false
  const logIn = async (root: Document): Promise<LoggedIn> => {
    memory.check(address, credentials)
    const made = await openSession(parts, root, had_session)
    if (made.kind === 'session') had_session = true
    return made
  }
  return {
    async headers(root) {
      if (is_closed) throw new RedfishError({ operation: 'login', failure: 'unavailable', detail: 'connection closed' })
      // Whoever comes while a login is under way waits for that one.
      const mine = (login ??= logIn(root))
      try {
        const made = await mine
        if (login === mine) current = made
        return made.headers
      } catch (error) {
        if (login === mine) login = undefined
        throw error
      }
    },
    refused(used) {
      const by_session = 'x-auth-token' in used
      if (current?.headers === used) {
        login = undefined
        current = undefined
        if (!by_session) memory.add(address, credentials)
      }
      // Somebody else may have noticed first: then a new session is there, or on its way.
      return by_session
    },
    kind: () => current?.kind,
    async end() {
      // One that is still being made is there a moment later, and would stay: BMCs have room for a handful.
      is_closed = true
      const ending = login
      current = undefined
      login = undefined
      const ended = await ending?.catch(() => undefined)
      if (ended?.uri === undefined || ended.uri === null) return
      await parts.send('DELETE', ended.uri, ended.headers).catch(() => {})
    },
  }
}

interface LoggedIn {
  kind: 'session' | 'basic'
  headers: Record<string, string>
  uri?: string | null
}

async function openSession(parts: SessionParts, root: Document, had_session: boolean): Promise<LoggedIn> {
  const { credentials, address, rejected: memory } = parts
  const collection = await sessionCollection(parts, root)
  const basic: LoggedIn = { kind: 'basic', headers: { authorization: basicAuth(credentials) } }
  if (collection === null) return basic
  const { username, password } = credentials
  const answer = await parts.send('POST', collection, {}, { UserName: username, Password: password })
  const { status, headers, body } = answer
  const token = headers['x-auth-token']
  if (status >= 200 && status < 300 && token !== undefined) {
    const uri = pathOf(headers.location) ?? (isDocument(body) ? linkAt(body) : null)
    return { kind: 'session', headers: { 'x-auth-token': token }, uri }
  }
  if (status === 401 || status === 403 || (status === 400 && !had_session && saysCredentials(body))) {
    memory.add(address, credentials)
    throw rejected(`POST ${collection}`, status)
  }
  const absent = [404, 405, 501].includes(status) || (status >= 200 && status < 300)
  if (absent && !had_session) return basic
  throw errorOfAnswer(`POST ${collection}`, status, body)
}

/** `Links.Sessions` can be read without a login; not every service has it. */
async function sessionCollection(parts: SessionParts, root: Document): Promise<string | null> {
  const direct = linkAt(root, 'Links', 'Sessions')
  if (direct !== null) return direct
  const service = linkAt(root, 'SessionService')
  if (service === null) return null
  const { status, body } = await parts.send('GET', service, {})
  return status === 200 && isDocument(body) ? linkAt(body, 'Sessions') : null
}

function saysCredentials(body: unknown): boolean {
  return /invalid (user|cred|login)|unauthor|password/i.test(JSON.stringify(body ?? ''))
}

function basicAuth({ username, password }: Credentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

export function rejected(operation: string, status = 401): RedfishError {
  return new RedfishError({ operation, failure: 'error', problem: 'credentials', status })
}

/** A Location may be a whole address; only its path is used, on the BMC that we speak to. */
export function pathOf(location: string | undefined): string | null {
  if (location === undefined) return null
  if (!URL.canParse(location)) return localPath(location)
  const { pathname, search } = new URL(location)
  return localPath(`${pathname}${search}`)
}
