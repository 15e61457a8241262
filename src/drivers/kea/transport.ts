// Sends one command to Kea: by its unix socket when it is local, by its control agent over HTTP when it is not.
import { connect } from 'node:net'
import { type Dispatcher, request } from 'undici'
import { UpstreamError } from '#src/kernel/errors.ts'
import { connectionReason } from '../transport-text.ts'

export interface KeaConfig {
  /** Unix socket of kea-dhcp4. */
  socket?: string | undefined
  /** Control agent instead, with basic authentication. */
  url?: string | undefined
  username?: string | undefined
  password?: string | undefined
  timeout_ms: number
}

/** `result`: 0 done, 1 refused with `text`, 2 unknown command, 3 nothing found (the arguments may hold an empty list). */
export interface KeaAnswer {
  result: number
  text: string
  arguments: unknown
}

export interface KeaTransport {
  send(command: string, args?: unknown, signal?: AbortSignal): Promise<KeaAnswer>
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024
/** With a large configuration they take seconds, and nobody knows what became of one that was given up. */
const CHANGES: ReadonlySet<string> = new Set(['config-test', 'config-set', 'config-write'])
const CHANGE_MS = 60_000

export function createKeaTransport(config: KeaConfig, dispatcher?: Dispatcher): KeaTransport {
  return {
    async send(command, args, signal) {
      const deadline = AbortSignal.timeout(Math.max(config.timeout_ms, CHANGES.has(command) ? CHANGE_MS : 0))
      const both = signal === undefined ? deadline : AbortSignal.any([signal, deadline])
      try {
        return answerOf(command, await ask(config, command, args, both, dispatcher))
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        if (error instanceof UpstreamError) throw error
        throw new UpstreamError({
          upstream: 'DHCP',
          operation: command,
          failure: deadline.aborted ? 'timeout' : 'unavailable',
          detail: connectionReason(error),
          // A change of Kea is read again before it is made again, so only reads are repeated by themselves.
          retryable: command.includes('-get'),
          cause: error,
        })
      }
    },
  }
}

/** Only for commands that change nothing. A server that answers with an error is there, so its answer counts. */
export function firstThatAnswers(servers: readonly KeaTransport[]): KeaTransport {
  return {
    async send(command, args, signal) {
      const errors: unknown[] = []
      for (const server of servers) {
        try {
          return await server.send(command, args, signal)
        } catch (error) {
          const is_away = error instanceof UpstreamError && ['unavailable', 'timeout'].includes(error.failure)
          if (!is_away) throw error
          errors.push(error)
        }
      }
      throw errors[0]
    },
  }
}

function ask(
  config: KeaConfig,
  command: string,
  args: unknown,
  signal: AbortSignal,
  dispatcher: Dispatcher | undefined,
): Promise<string> {
  const message = args === undefined ? { command } : { command, arguments: args }
  if (config.socket !== undefined) return askSocket(config.socket, JSON.stringify(message), signal)
  if (config.url === undefined) {
    throw new UpstreamError({
      upstream: 'DHCP',
      operation: command,
      failure: 'not_configured',
      detail: 'set dhcp.kea.socket or dhcp.kea.url',
    })
  }
  return askAgent(config, config.url, { ...message, service: ['dhcp4'] }, signal, dispatcher)
}

/** One command a connection: write, half-close, read to the end. */
function askSocket(path: string, message: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let size = 0
    const socket = connect({ path, allowHalfOpen: true })
    const abort = (): void => void socket.destroy(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    socket.on('connect', () => socket.end(message))
    socket.on('data', (part: Buffer) => {
      size += part.length
      if (size > MAX_ANSWER_BYTES) socket.destroy(new Error(`the answer exceeds ${MAX_ANSWER_BYTES} bytes`))
      parts.push(part)
    })
    // One that is killed meanwhile ends the connection like one that has said all.
    socket.on('end', () => (size === 0 ? socket.destroy() : resolve(Buffer.concat(parts).toString('utf8'))))
    socket.on('error', reject)
    socket.on('close', () => {
      signal.removeEventListener('abort', abort)
      reject(new Error('the connection was closed without an answer'))
    })
  })
}

async function askAgent(
  config: KeaConfig,
  url: string,
  message: unknown,
  signal: AbortSignal,
  dispatcher: Dispatcher | undefined,
): Promise<string> {
  const { username, password } = config
  const basic = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')
  const answer = await request(url, {
    method: 'POST',
    signal,
    headersTimeout: 0,
    bodyTimeout: 0,
    headers: {
      'content-type': 'application/json',
      ...(username === undefined ? {} : { authorization: `Basic ${basic}` }),
    },
    body: JSON.stringify(message),
    ...(dispatcher === undefined ? {} : { dispatcher }),
  })
  const text = await answer.body.text()
  if (answer.statusCode === 200) return text
  throw new UpstreamError({
    upstream: 'DHCP',
    operation: 'control agent',
    failure: 'error',
    status: answer.statusCode,
    detail: answer.statusCode === 401 ? 'the control agent refuses our user name or password' : text.slice(0, 200),
  })
}

/** The socket answers one object, the agent an array with one object for each service. */
function answerOf(command: string, text: string): KeaAnswer {
  const answer = firstOf(parsed(command, text))
  if (typeof answer === 'object' && answer !== null && 'result' in answer && typeof answer.result === 'number') {
    const said: unknown = 'text' in answer ? answer.text : ''
    return {
      result: answer.result,
      text: typeof said === 'string' ? said : '',
      arguments: 'arguments' in answer ? answer.arguments : undefined,
    }
  }
  throw garbage(command, text)
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value
}

function parsed(command: string, text: string): unknown {
  try {
    return JSON.parse(inUnicode(text)) as unknown
  } catch {
    throw garbage(command, text)
  }
}

/** Kea writes each byte of a character beyond ASCII as `\u00xx`; read as characters they would grow with every change. */
function inUnicode(text: string): string {
  if (!text.includes(String.raw`\u00`)) return text
  // Escape by escape, so that the end of one (`\\`) is never taken for the beginning of the next.
  return text.replace(/(?:\\u00[89a-f][0-9a-f])+|\\./gis, (escapes) => {
    if (!/^\\u00[89a-f]/i.test(escapes)) return escapes
    return Buffer.from(escapes.replace(/\\u00/gi, ''), 'hex').toString('utf8')
  })
}

function garbage(command: string, text: string): UpstreamError {
  const detail = `not an answer of Kea: ${text.slice(0, 80)}`
  return new UpstreamError({ upstream: 'DHCP', operation: command, failure: 'error', detail })
}
