// The sign-in form: a page of its own, or over the page when a session has ended.
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { metaContent } from '../api/contract.ts'
import { signIn } from './sign-in.ts'

/** Where the identity provider is asked; empty where there is none. */
const OIDC = metaContent('console-oidc')

export function SignInPage({ message }: { message: string }) {
  return (
    <main className="sign-in">
      <h1>Groundplane</h1>
      {message !== '' && <p role="status">{message}</p>}
      <SignInForm />
    </main>
  )
}

export function SignInAgain({ username, message }: { username: string; message: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const title = useId()
  useEffect(() => {
    dialog.current?.showModal()
    dialog.current?.querySelector<HTMLElement>('[name="password"]')?.focus()
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={title} onCancel={(event) => event.preventDefault()}>
      <h2 id={title}>Sign in again</h2>
      <p>{message} What is on the page stays as it is.</p>
      <SignInForm username={username} />
    </dialog>
  )
}

function SignInForm({ username = '' }: { username?: string }) {
  const [by, setBy] = useState<'password' | 'token'>('password')
  const [failure, setFailure] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    const text = (name: string): string => String(given.get(name) ?? '')
    setBusy(true)
    const failed = await signIn(
      by === 'token' ? { token: text('token').trim() } : { username: text('username'), password: text('password') },
    )
    setBusy(false)
    setFailure(failed ?? '')
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      {by === 'password' ? (
        <>
          <label>
            User name
            <input
              name="username"
              autoComplete="username"
              defaultValue={username}
              required
              autoFocus={username === ''}
            />
          </label>
          <label>
            Password
            <input
              name="password"
              type="password"
              autoComplete="current-password"
              required
              autoFocus={username !== ''}
            />
          </label>
        </>
      ) : (
        <label>
          API token
          <input name="token" type="password" autoComplete="off" required autoFocus />
        </label>
      )}
      {failure !== '' && <p role="alert">{failure}</p>}
      <div className="buttons">
        <button type="submit" className="primary" aria-disabled={busy}>
          Sign in
        </button>
        <button type="button" className="link" onClick={() => setBy(by === 'token' ? 'password' : 'token')}>
          {by === 'token' ? 'Use user name and password' : 'Use API token'}
        </button>
        {OIDC !== '' && (
          <a
            className="button"
            href={`${OIDC}?${new URLSearchParams({ return_to: location.pathname + location.search })}`}
          >
            Sign in at identity provider
          </a>
        )}
      </div>
    </form>
  )
}
