// Who is signed in, with which rights and until when; theme; signing out.
import { useState } from 'react'
import { Link } from 'wouter'
import { Problem } from '../form/problem.tsx'
import { chooseTheme, chosenTheme, THEMES } from '../frame/theme.ts'
import { Time } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { signOut } from '../session/sign-in.ts'
import { clearActivity } from '../stream/activity.ts'
import { announceSignOut } from '../stream/client.ts'

export function Account() {
  const { username, role, tenant_id, expires_at } = useMe()
  const [theme, setTheme] = useState(chosenTheme)
  const [problem, setProblem] = useState<unknown>()
  const leave = (): void => {
    signOut().then(() => {
      clearActivity()
      announceSignOut()
    }, setProblem)
  }
  return (
    <>
      <h1>{username}</h1>
      <dl className="facts">
        <div>
          <dt>role</dt>
          <dd>{role}</dd>
        </div>
        <div>
          <dt>scope</dt>
          <dd>{tenant_id === null ? 'the whole installation' : `tenant ${tenant_id}`}</dd>
        </div>
        <div>
          <dt>session ends</dt>
          <dd>{expires_at === null ? '–' : <Time at={expires_at} />}</dd>
        </div>
      </dl>
      <fieldset>
        <legend>Theme</legend>
        {THEMES.map((one) => (
          <label key={one} className="inline">
            <input
              type="radio"
              name="theme"
              checked={theme === one}
              onChange={() => {
                chooseTheme(one)
                setTheme(one)
              }}
            />
            {one}
          </label>
        ))}
      </fieldset>
      {problem !== undefined && <Problem error={problem} />}
      <div className="buttons">
        <button type="button" className="primary" onClick={leave}>
          Sign out
        </button>
        <Link href="/operations/passwordChange">Change password</Link>
        <Link href="/me/health">Health of this tab</Link>
      </div>
    </>
  )
}
