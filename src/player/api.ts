// How the player calls the service: with the session that the browser has, or with a ticket for /cam in the address.

export interface Api {
  /** Address of a path of this service, with the ticket if there is one. */
  url(path: string, query?: Readonly<Record<string, string | number>>): string
  get<T>(path: string, query?: Readonly<Record<string, string | number>>, signal?: AbortSignal): Promise<T>
  socket(path: string): WebSocket
}

/** A call that was answered, but not with what was asked for. */
export class RefusedError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** `ticket` is asked for again with each call: it is renewed before it ends. */
export function createApi(ticket: () => string | undefined = () => undefined): Api {
  const url: Api['url'] = (path, query = {}) => {
    const address = new URL(path, location.origin)
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, String(value))
    const current = ticket()
    if (current !== undefined) address.searchParams.set('ticket', current)
    return address.href
  }
  return {
    url,
    async get<T>(path: string, query?: Readonly<Record<string, string | number>>, signal?: AbortSignal) {
      const answer = await fetch(url(path, query), signal === undefined ? {} : { signal })
      if (!answer.ok) throw new RefusedError(answer.status, await problemOf(answer))
      return (await answer.json()) as T
    },
    socket(path) {
      const socket = new WebSocket(url(path).replace(/^http/, 'ws'))
      socket.binaryType = 'arraybuffer'
      return socket
    },
  }
}

export async function problemOf(answer: Response): Promise<string> {
  const body = (await answer.json().catch(() => ({}))) as { detail?: unknown }
  return typeof body.detail === 'string' ? body.detail : `The service answered ${answer.status}.`
}
