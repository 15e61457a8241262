/** A client of the simulated NVR for its tests: logged in over TLS, with a feed of messages for each socket. */
import { once } from 'node:events'
import { Agent, fetch, type RequestInit, type Response } from 'undici'
import { WebSocket } from 'ws'
import { type NvrLab, startNvr, type StartNvrOptions } from '../../lab/nvr/server.ts'
import { until } from '../support/until.ts'

export interface NvrClient {
  lab: NvrLab
  cookie: string
  call(path: string, init?: RequestInit): Promise<Response>
  /** Logs in as somebody else. */
  as(user: string, password: string): Promise<Pick<NvrClient, 'call' | 'socket' | 'cookie'>>
  socket(path: string): Promise<Feed>
  control(path: string, body?: Record<string, unknown>): Promise<unknown>
  close(): Promise<void>
}

export interface Feed {
  texts: { type?: string; topic?: string; value?: unknown; payload?: unknown }[]
  media: Buffer[]
  /** The code of the close; null while open. */
  closed(): number | null
  send(message: unknown): void
  socket: WebSocket
}

export async function startNvrClient(options: StartNvrOptions = {}): Promise<NvrClient> {
  const lab = await startNvr({ restart: 'manual', ...options })
  const dispatcher = new Agent({ connect: { ca: lab.ca } })
  const as = async (user: string, password: string) => {
    const answer = await fetch(`${lab.url}/api/login`, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user, password }),
    })
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    const call: NvrClient['call'] = async (path, init = {}) =>
      fetch(`${lab.url}${path}`, {
        dispatcher,
        ...init,
        headers: { cookie, ...(init.headers as Record<string, string>) },
      })
    return { cookie, call, socket: async (path: string) => openFeed(lab, path, { cookie }) }
  }
  return {
    lab,
    ...(await as('admin', lab.admin_password)),
    as,
    control: async (path, body = {}) => {
      const answer = await fetch(`${lab.control_url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
      return answer.json()
    },
    close: async () => {
      await dispatcher.destroy()
      await lab.close()
    },
  }
}

export async function openFeed(lab: NvrLab, path: string, headers: Record<string, string>): Promise<Feed> {
  const socket = new WebSocket(`${lab.url.replace('https', 'wss')}${path}`, { ca: lab.ca, headers })
  const feed: Omit<Feed, 'closed' | 'send' | 'socket'> = { texts: [], media: [] }
  let code: number | null = null
  socket.on('message', (data: Buffer, binary) => {
    if (binary) feed.media.push(data)
    else feed.texts.push(JSON.parse(data.toString('utf8')) as Feed['texts'][number]) // the tests look at it
  })
  socket.on('close', (closed_with) => (code = closed_with))
  await once(socket, 'open')
  return {
    ...feed,
    socket,
    closed: () => code,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  }
}

/** Waits until the feed has a message of this topic or type. */
export async function message(feed: Feed, name: string): Promise<Feed['texts'][number]> {
  await until(`there is a message ${name}`, () => feed.texts.some(({ topic, type }) => (topic ?? type) === name))
  const found = feed.texts.find(({ topic, type }) => (topic ?? type) === name)
  if (found === undefined) throw new Error('until found it')
  return found
}
