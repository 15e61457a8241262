// Who is signed in. The CSRF token stays in memory; the session itself is a cookie that no script can read.
import { useSyncExternalStore } from 'react'

export interface Me {
  username: string
  role: 'viewer' | 'operator' | 'admin'
  tenant_id: string | null
  expires_at: string | null
}

/** `out`: nobody. `ended`: somebody was, and what was on the screen is still there. */
export type Session =
  | { phase: 'starting' }
  | { phase: 'unreachable' }
  | { phase: 'out'; message: string }
  | { phase: 'in'; me: Me; csrf_token: string }
  | { phase: 'ended'; me: Me; message: string }

let session: Session = { phase: 'starting' }
const listeners = new Set<() => void>()

export function setSession(next: Session): void {
  session = next
  for (const listener of listeners) listener()
}

export const currentSession = (): Session => session

export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useSession = (): Session => useSyncExternalStore(onSession, currentSession)

/** Of whoever is signed in, or was until now. */
export function useMe(): Me {
  const now = useSession()
  if (now.phase !== 'in' && now.phase !== 'ended') throw new Error('nobody is signed in')
  return now.me
}

export const csrfToken = (): string => (session.phase === 'in' ? session.csrf_token : '')

export function sessionEnded(message: string): void {
  if (session.phase === 'in') setSession({ phase: 'ended', me: session.me, message })
}
