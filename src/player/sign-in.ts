// Whom the page plays for: the session that the browser has, a ticket in the address, or who signs in now.
import { type Api, createApi, problemOf } from './api.ts'

const RENEW_MS = 30 * 60_000

export async function signedIn(form: HTMLFormElement): Promise<Api> {
  const given = new URLSearchParams(location.search).get('ticket')
  if (given !== null) {
    // Out of the address, which is copied and kept more easily than what the page holds.
    history.replaceState(null, '', location.pathname)
    return createApi(() => given)
  }
  const answer = await fetch('/auth/me')
  if (answer.ok) return createApi()
  form.hidden = false
  form.querySelector('input')?.focus()
  return new Promise((resolve) => {
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      signIn(new FormData(form)).then(
        (api) => {
          form.hidden = true
          resolve(api)
        },
        (error: unknown) => showFault(form, error),
      )
    })
  })
}

function showFault(form: HTMLFormElement, error: unknown): void {
  const place = form.querySelector('output')
  if (place !== null) place.textContent = error instanceof Error ? error.message : String(error)
}

async function signIn(fields: FormData): Promise<Api> {
  const [username, password] = ['username', 'password'].map((name) => String(fields.get(name)))
  if (username === '') return withToken(password ?? '')
  const answer = await fetch('/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  if (!answer.ok) throw new Error(await problemOf(answer))
  return createApi()
}

/** An API token stays in the memory of the page; addresses carry tickets, which are made again before they end. */
async function withToken(token: string): Promise<Api> {
  let ticket = await makeTicket(token)
  setInterval(() => {
    makeTicket(token).then(
      (made) => (ticket = made),
      () => {},
    )
  }, RENEW_MS)
  return createApi(() => ticket)
}

async function makeTicket(token: string): Promise<string> {
  const answer = await fetch('/auth/tickets', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ path: '/cam' }),
  })
  if (!answer.ok) throw new Error(await problemOf(answer))
  return ((await answer.json()) as { ticket: string }).ticket
}
