/** Sign-in with a password: cookies plus the sessionkey parameter, for clients without keys. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiFault, denied } from './api-fault.ts'
import type { Caller } from './call.ts'
import type { Json } from './row.ts'
import type { SimulatorState } from './state.ts'

interface Sessions {
  /** The answer to login and logout; null for every other command. */
  answer(
    command: string,
    raw: ReadonlyMap<string, string>,
    request: IncomingMessage,
    response: ServerResponse,
  ): { [field: string]: Json | undefined } | null
  caller(raw: ReadonlyMap<string, string>, request: IncomingMessage): Caller | null
}

const TIMEOUT_S = 1800

export function createSessions(state: SimulatorState): Sessions {
  const open = new Map<string, { key: string; userid: string; until: number }>()
  return {
    answer: (command, raw, request, response) => {
      if (command === 'logout') {
        open.delete(cookie(request, 'JSESSIONID') ?? '')
        return { logoutresponse: { description: 'success' } }
      }
      if (command !== 'login') return null
      if (request.method !== 'POST')
        throw new ApiFault(405, 'Please use HTTP POST to authenticate using this API', null)
      const user = state.tables.users.find(
        (one) => one.username === raw.get('username') && inDomain(state, one.accountid, raw.get('domain') ?? ''),
      )
      if (user === null || user.password !== raw.get('password'))
        throw denied('Failed to authenticate user; please provide valid credentials')
      const account = state.tables.accounts.get(user.accountid)
      const id = randomBytes(16).toString('hex')
      const key = randomBytes(20).toString('base64url')
      open.set(id, { key, userid: user.id, until: Date.now() + TIMEOUT_S * 1000 })
      response.setHeader('Set-Cookie', [
        `JSESSIONID=${id}; Path=/client; HttpOnly`,
        `sessionkey=${key}; Path=/client/api; HttpOnly`,
      ])
      return {
        loginresponse: {
          username: user.username,
          userid: user.id,
          domainid: account?.domainid,
          timeout: TIMEOUT_S,
          account: account?.name,
          firstname: user.firstname,
          lastname: user.lastname,
          type: String(account?.accounttype ?? 0),
          registered: 'false',
          sessionkey: key,
          is2faenabled: 'false',
          is2faverified: 'true',
        },
      }
    },
    caller: (raw, request) => {
      const session = open.get(cookie(request, 'JSESSIONID') ?? '')
      if (
        session === undefined ||
        raw.get('sessionkey') !== session.key ||
        cookie(request, 'sessionkey') !== session.key
      )
        return null
      if (session.until < Date.now())
        throw new ApiFault(401, 'unable to verify user credentials and/or request signature', null)
      session.until = Date.now() + TIMEOUT_S * 1000
      const user = state.tables.users.get(session.userid)
      const account = state.tables.accounts.get(user?.accountid)
      return user === null || account === null ? null : { user, account }
    },
  }
}

/** The domain is given as a path: "/" is the root, "/acme" the first tenant. */
function inDomain(state: SimulatorState, accountid: string, path: string): boolean {
  const domain = state.tables.domains.get(state.tables.accounts.get(accountid)?.domainid)
  const wanted = path.split('/').filter((part) => part !== '' && part !== 'ROOT')
  return domain?.path === ['ROOT', ...wanted].join('/')
}

function cookie(request: IncomingMessage, name: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=')
    if (key === name) return value ?? null
  }
  return null
}
