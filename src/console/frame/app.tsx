// What is shown to whom: the sign-in page, or the frame with the page of the address.
import { useEffect } from 'react'
import { Router } from 'wouter'
import { callAny } from '../api/call.ts'
import { findSession, leave } from '../session/sign-in.ts'
import { setSession, useSession } from '../session/session.ts'
import { SignInAgain, SignInPage } from '../session/sign-in-form.tsx'
import { clearActivity } from '../stream/activity.ts'
import { startStream, useStream, useStreamAnswered } from '../stream/client.ts'
import { Problem } from '../form/problem.tsx'
import { Boundary } from './boundary.tsx'
import { Frame } from './frame.tsx'

export function App() {
  const session = useSession()
  const stream = useStream()
  const username = session.phase === 'in' ? session.me.username : undefined
  useEffect(() => {
    if (username === undefined) return
    startStream(username, () => {
      clearActivity()
      leave('You signed out in another tab.')
    })
  }, [username])
  // The stream learns first that a session was ended elsewhere; asking for oneself says why.
  useEffect(() => {
    if (stream.state === 'ended') void checkSession()
  }, [stream.state])

  if (session.phase === 'starting') return <p className="waiting">Loading …</p>
  if (session.phase === 'unreachable') return <Unreachable />
  if (session.phase === 'out') return <SignInPage message={session.message} />
  return (
    <Router base="/console">
      <Boundary>
        <FollowedFrame />
      </Boundary>
      {session.phase === 'ended' && <SignInAgain username={session.me.username} message={session.message} />}
    </Router>
  )
}

/** Loads once the stream follows: nothing changes unseen between the two, and nothing is asked for twice. */
function FollowedFrame() {
  return useStreamAnswered() ? <Frame /> : <p className="waiting">Loading …</p>
}

async function checkSession(): Promise<void> {
  await callAny('callerGet', {}).catch(() => {})
}

function Unreachable() {
  const retry = (): void => {
    setSession({ phase: 'starting' })
    findSession().catch(() => setSession({ phase: 'unreachable' }))
  }
  return (
    <main className="sign-in">
      <Problem error={new Error('The service cannot be reached, or is starting.')} retry={retry} />
    </main>
  )
}
