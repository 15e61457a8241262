// Signing in and out. It speaks to the service by itself, because a call needs the session that is made here.
import { queries } from '../api/queries.ts'
import { dropDrafts } from '../form/draft.ts'
import { currentSession, type Me, setSession } from './session.ts'

type Credentials = { username: string; password: string } | { token: string } | { code: string }

interface Answer extends Me {
  csrf_token: string | null
}

/** The session of the cookie, or a new one by a sign-in link (`#code=…`). */
export async function findSession(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code !== null) {
    history.replaceState(null, '', location.pathname + location.search)
    const failure = await signIn({ code })
    if (failure === undefined) return
    // A link is opened again when the page is: the session that it made goes on.
    if (await takeCookie()) return
    setSession({ phase: 'out', message: failure })
    return
  }
  if (!(await takeCookie())) setSession({ phase: 'out', message: '' })
}

/** Throws where the service is out of reach. */
async function takeCookie(): Promise<boolean> {
  const response = await fetch('/auth/me')
  if (response.status === 401) return false
  if (!response.ok) throw new Error(`The service answered ${response.status}.`)
  return take((await response.json()) as Answer)
}

/** Answers why not; undefined once somebody is signed in. */
export async function signIn(credentials: Credentials): Promise<string | undefined> {
  const path = 'password' in credentials ? '/auth/login' : '/auth/sessions'
  const headers = { 'content-type': 'application/json' }
  try {
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(credentials) })
    const answer = (await response.json()) as Answer & { detail?: string }
    if (!response.ok) return answer.detail ?? `The service answered ${response.status}.`
    if (!take(answer)) return 'This browser did not store the session: open the console over HTTPS.'
    return undefined
  } catch {
    return 'The service cannot be reached from this browser right now.'
  }
}

function take({ username, role, tenant_id, expires_at, csrf_token }: Answer): boolean {
  if (csrf_token === null) return false
  const before = currentSession()
  // Nothing of somebody else stays in memory or on the screen.
  if (before.phase === 'ended' && before.me.username !== username) {
    dropDrafts()
    location.reload()
  }
  setSession({ phase: 'in', me: { username, role, tenant_id, expires_at }, csrf_token })
  return true
}

export async function signOut(): Promise<void> {
  const now = currentSession()
  const headers = { 'x-csrf-token': now.phase === 'in' ? now.csrf_token : '' }
  const response = await fetch('/auth/logout', { method: 'POST', headers })
  if (!response.ok && response.status !== 401) throw new Error(`The service answered ${response.status}.`)
  leave('You are signed out.')
}

/** Also called in the other tabs of whoever signed out in one. */
export function leave(message: string): void {
  queries.clear()
  dropDrafts()
  setSession({ phase: 'out', message })
}
