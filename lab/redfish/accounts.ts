/** Who may speak to a simulated BMC: Basic or a session, few sessions at once, and an account that locks after wrong secrets. */
import { randomBytes } from 'node:crypto'
import { type Document, Refused, type Reply } from './answer.ts'
import type { Simulation } from './simulation.ts'

const SESSIONS_MOST = 6
const WRONG_MOST = 3

export function authenticate(sim: Simulation, headers: NodeJS.Dict<string | string[]>): void {
  const { state } = sim
  const token = headers['x-auth-token']
  if (typeof token === 'string') {
    if ([...state.sessions.values()].some((session) => session.token === token)) return
    throw unauthorized('The session is not valid.')
  }
  const basic = /^Basic (.+)$/.exec(typeof headers.authorization === 'string' ? headers.authorization : '')?.[1]
  if (basic === undefined) throw unauthorized('Credentials are required.')
  const text = Buffer.from(basic, 'base64').toString()
  const at = text.indexOf(':')
  check(sim, text.slice(0, at), text.slice(at + 1))
}

export function openSession(sim: Simulation, body: Document, collection: string): Reply {
  const { UserName: username, Password: password } = body
  check(sim, String(username), String(password))
  if (sim.state.sessions.size >= SESSIONS_MOST) {
    throw new Refused(
      503,
      'Base.1.12.SessionLimitExceeded',
      'The session establishment failed due to the number of simultaneous sessions.',
    )
  }
  const id = randomBytes(4).toString('hex')
  const token = randomBytes(16).toString('hex')
  sim.state.sessions.set(id, { id, token })
  const path = `${collection}/${id}`
  return {
    status: 201,
    headers: { location: path, 'x-auth-token': token },
    body: { '@odata.id': path, Id: id, UserName: username },
  }
}

function check({ state }: Simulation, username: string, password: string): void {
  if (state.locked) throw unauthorized('The account is locked.')
  if (username === state.username && password === state.password) {
    state.failed_logins = 0
    return
  }
  state.failed_logins += 1
  state.locked = state.failed_logins >= WRONG_MOST
  throw unauthorized('The user name or password is wrong.')
}

function unauthorized(text: string): Refused {
  return new Refused(401, 'Base.1.12.NoValidSession', text)
}
