// Routes whose answer or body is not JSON: bytes to a file or pipe, files sent up, WebSocket messages, redirects.
import { randomUUID } from 'node:crypto'
import { createWriteStream, openAsBlob } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { requestOf } from '#src/contract/client.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { type Answer, bodyText, type CallOptions, headersOf, answerError, takesKey } from './call.ts'
import { type Connection, connectionError, requestUrl } from './connection.ts'
import { ConnectionError, UsageError } from './failures.ts'
import type { Field } from './fields.ts'
import type { RouteInput } from './input.ts'
import { isRecord, parseJson } from './records.ts'
import { note, oneLine, printLine, type Terminal } from './terminal.ts'

const HEAD_MS = 120_000
const CLOSE_MS = 1_000

/** Writes the answer's bytes to a file or to a pipe; never to a terminal, which would run what is in them. */
export async function download(
  connection: Connection,
  route: RouteSpec,
  input: RouteInput,
  output: string | undefined,
  terminal: Terminal,
): Promise<void> {
  const request = requestOf(route, input, { headers: { ...headersOf(input), accept: '*/*' } })
  const response = await connection.send(request, { timeout_ms: route.timeout_ms ?? HEAD_MS, stream: true })
  if (!(response.status in route.ok) && !response.ok) {
    throw answerError(response.status, await bodyText(response, connection.target.url), route)
  }
  const type = response.headers.get('content-type') ?? ''
  if (output === undefined && /^(text\/|application\/(json|vnd\.apple\.mpegurl))/.test(type)) {
    return printLine(terminal, (await bodyText(response, connection.target.url)).trimEnd())
  }
  if (output === undefined && terminal.stdout.isTTY === true) {
    await response.body?.cancel()
    throw new UsageError(`the answer is ${type === '' ? 'binary' : type}; say where it goes: --output FILE, or a pipe`)
  }
  const source = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
  try {
    if (output === undefined || output === '-') await pipeline(source, terminal.stdout, { end: false })
    else note(terminal, `${await writeFile(source, output)} bytes written to ${output}`)
  } catch (error) {
    throw connectionError(error, connection.target.url)
  }
}

/** The file appears whole or not at all. */
async function writeFile(source: Readable, path: string): Promise<number> {
  const draft = `${path}.${randomUUID().slice(0, 8)}.part`
  const file = createWriteStream(draft, { flags: 'wx' })
  try {
    await pipeline(source, file)
    await rename(draft, path)
    return file.bytesWritten
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Sends a form: members that are files are read from the paths given. */
export async function upload(
  connection: Connection,
  route: RouteSpec,
  input: RouteInput,
  fields: readonly Field[],
  options: CallOptions,
): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(isRecord(input.body) ? input.body : {})) {
    const field = fields.find((one) => one.name === name && one.places.includes('body'))
    if (field === undefined || !isFile(field))
      form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
    else form.append(name, await fileBlob(String(value)), basename(String(value)))
  }
  const { body: _body, ...rest } = input
  const key = takesKey(route) ? { idempotency_key: options.idempotency_key ?? randomUUID() } : {}
  const request = requestOf(route, rest, { headers: headersOf(input), ...key })
  const response = await connection.send(request, { timeout_ms: options.timeout_ms ?? HEAD_MS, form })
  const text = await bodyText(response, connection.target.url)
  if (!(response.status in route.ok)) throw answerError(response.status, text, route)
  return { status: response.status, text, value: parseJson(text) }
}

/** Sending and receiving a file: `--file` of a form takes a path. */
export function isFile(field: Field): boolean {
  return field.shape.file || field.name === 'file'
}

/** Prints where the service points to instead of going there. */
export async function showRedirect(
  connection: Connection,
  route: RouteSpec,
  input: RouteInput,
  terminal: Terminal,
): Promise<void> {
  const response = await connection.send(requestOf(route, input, { headers: headersOf(input) }), {
    timeout_ms: HEAD_MS,
  })
  const text = await bodyText(response, connection.target.url)
  const location = response.headers.get('location')
  if (location === null) throw answerError(response.status, text, route)
  printLine(terminal, oneLine(location))
}

/** Prints text messages as lines and writes binary ones to the output as they come, until either side ends. */
export async function followSocket(
  connection: Connection,
  route: RouteSpec,
  input: RouteInput,
  output: string | undefined,
  terminal: Terminal,
): Promise<void> {
  const { target } = connection
  const url = new URL(requestUrl(target.url, requestOf(route, input).path))
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const headers = {
    ...headersOf(input),
    ...(target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }),
  }
  const socket = new WebSocket(url, { headers })
  socket.binaryType = 'arraybuffer'
  const sink = output === undefined || output === '-' ? terminal.stdout : createWriteStream(output, { flags: 'wx' })
  try {
    await untilClosed(socket, url, terminal, (message) => {
      if (typeof message === 'string') return printLine(terminal, oneLine(message))
      if (sink === terminal.stdout && terminal.stdout.isTTY === true) {
        throw new UsageError('the messages are binary; say where they go: --output FILE, or a pipe')
      }
      sink.write(Buffer.from(message))
    })
  } finally {
    if (sink !== terminal.stdout) sink.end()
  }
}

function untilClosed(
  socket: WebSocket,
  url: URL,
  terminal: Terminal,
  take: (message: string | ArrayBuffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let opened = false
    const stop = (): void => {
      socket.close(1000)
      // A service that does not close its side must not hold the person who wants to leave.
      setTimeout(resolve, CLOSE_MS).unref()
    }
    terminal.interrupted.addEventListener('abort', stop, { once: true })
    socket.addEventListener('open', () => {
      opened = true
    })
    socket.addEventListener('message', (message) => {
      const data: unknown = message.data
      try {
        if (typeof data === 'string' || data instanceof ArrayBuffer) take(data)
      } catch (error) {
        reject(error)
        stop()
      }
    })
    socket.addEventListener('close', ({ code, reason }) => {
      terminal.interrupted.removeEventListener('abort', stop)
      const text = `the connection to ${url.host} was ${opened ? 'lost' : 'refused'} (${code}${reason === '' ? '' : ` ${oneLine(reason)}`})`
      if (terminal.interrupted.aborted || code === 1000 || code === 1001) resolve()
      else reject(new ConnectionError(text, opened ? 'lost' : 'refused', undefined))
    })
  })
}

async function fileBlob(path: string): Promise<Blob> {
  try {
    return await openAsBlob(path)
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
