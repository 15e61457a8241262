// What an RTSP server says of a stream: one DESCRIBE, with the login once when it is asked for. Nothing is played.
import { connect, type Socket } from 'node:net'
import { asksForBasic, digestChallenge, digestHeader, type Login } from '../onvif/http-digest.ts'
import { parseStreamUrl, streamUrlText } from '../onvif/stream-url.ts'
import { UpstreamError } from '#src/kernel/errors.ts'

export interface StreamDescription {
  /** H264, H265, JPEG and so on; null when the stream has no video. */
  video_codec: string | null
  /** MPEG4-GENERIC (AAC), PCMA, PCMU, OPUS and so on; null when the stream has no sound. */
  audio_codec: string | null
}

export interface DescribeOptions {
  login: Login
  signal?: AbortSignal
}

const DEFAULT_PORT = 554
const TIMEOUT_MS = 5000
const MAX_ANSWER_BYTES = 256 * 1024

/** `url` is an rtsp URL; a login inside of it is not used. Throws UpstreamError. */
export async function describeStream(url: string, { login, signal }: DescribeOptions): Promise<StreamDescription> {
  const target = parseStreamUrl(url)
  if (target === undefined || target.scheme !== 'rtsp') throw failed('not an rtsp URL', undefined)
  const within = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])])
  const socket = connect({ host: target.host, port: target.port ?? DEFAULT_PORT })
  const stop = (): void => void socket.destroy(new Error('no answer in time'))
  within.addEventListener('abort', stop)
  try {
    const exchange = createExchange(socket, streamUrlText(target))
    let answer = await exchange.describe(undefined)
    if (answer.status === 401) answer = await exchange.describe(authorization(answer, exchange.uri, login))
    if (answer.status !== 200) throw failed(`status ${answer.status}`, answer.status)
    return descriptionOf(answer.body)
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    throw failed(error instanceof Error ? error.message : 'the connection failed', undefined)
  } finally {
    within.removeEventListener('abort', stop)
    socket.destroy()
  }
}

function failed(detail: string, status: number | undefined): UpstreamError {
  return new UpstreamError({
    upstream: 'NVR',
    operation: 'camera DESCRIBE',
    failure: status === undefined ? 'unavailable' : 'error',
    detail,
    ...(status === undefined ? {} : { status }),
  })
}

interface Answer {
  status: number
  headers: [name: string, value: string][]
  body: string
}

function createExchange(socket: Socket, uri: string) {
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let read = ''
  let sequence = 0
  return {
    uri,
    async describe(credentials: string | undefined): Promise<Answer> {
      sequence += 1
      const lines = [
        `DESCRIBE ${uri} RTSP/1.0`,
        `CSeq: ${sequence}`,
        'Accept: application/sdp',
        'User-Agent: groundplane',
        ...(credentials === undefined ? [] : [`Authorization: ${credentials}`]),
      ]
      // Bytes, as credentials hold bytes of UTF-8.
      socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'))
      for (;;) {
        const answer = answerIn(read)
        if (answer !== undefined) {
          read = read.slice(answer.length)
          return answer.answer
        }
        const next = await chunks.next()
        if (next.done === true) throw new Error('the connection was closed')
        read += next.value.toString('latin1')
        if (read.length > MAX_ANSWER_BYTES) throw new Error('the answer is too long')
      }
    },
  }
}

/** Undefined while it is not complete. */
function answerIn(text: string): { answer: Answer; length: number } | undefined {
  const head = /\r?\n\r?\n/.exec(text)
  if (head === null) return undefined
  const [first = '', ...lines] = text.slice(0, head.index).split(/\r?\n/)
  const [, status] = /^RTSP\/1\.\d (\d{3})/.exec(first) ?? []
  if (status === undefined) throw new Error('not an answer of RTSP')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
  })
  const start = head.index + head[0].length
  const size = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0)
  if (!Number.isSafeInteger(size) || size < 0) throw new Error('not an answer of RTSP')
  if (text.length < start + size) return undefined
  return { answer: { status: Number(status), headers, body: text.slice(start, start + size) }, length: start + size }
}

function authorization({ headers }: Answer, uri: string, login: Login): string {
  const values = headers.filter(([name]) => name === 'www-authenticate').map(([, value]) => value)
  const challenge = digestChallenge(values)
  if (challenge !== undefined) return digestHeader(challenge, login, { method: 'DESCRIBE', uri })
  if (!asksForBasic(values)) throw failed('an unknown way to sign in', 401)
  return `Basic ${Buffer.from(`${login.username}:${login.password}`, 'utf8').toString('base64')}`
}

/** Payload types that need no rtpmap (RFC 3551). */
const STATIC_TYPES: Record<string, string> = { 0: 'PCMU', 8: 'PCMA', 9: 'G722', 26: 'JPEG', 32: 'MPV', 33: 'MP2T' }

export function descriptionOf(sdp: string): StreamDescription {
  const media = sdp.split(/^m=/m).slice(1)
  const codecOf = (kind: string): string | null => {
    const section = media.find((one) => one.startsWith(`${kind} `))
    if (section === undefined) return null
    const [, type = ''] = /^\w+ \d+(?:\/\d+)? \S+ (\d+)/.exec(section) ?? []
    const [, mapped] = new RegExp(`^a=rtpmap:${type} ([^/\\s]+)/`, 'm').exec(section) ?? []
    return mapped?.toUpperCase() ?? STATIC_TYPES[type] ?? null
  }
  return { video_codec: codecOf('video'), audio_codec: codecOf('audio') }
}
