// One call of Technitium's HTTP API: a form in, an envelope out. The status in the body counts; that of HTTP is 200 also
// for a failure.
import { Agent, type Dispatcher, request } from 'undici'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { UpstreamError } from '#src/kernel/errors.ts'
import { RejectionError } from '../ddi/rejection.ts'
import { connectionReason, parsedJson } from '../transport-text.ts'

export interface TechnitiumConfig {
  /** http://host:5380, without the path of the API. */
  url?: string | undefined
  /** Permanent API token: it never expires, so a rejection is final. */
  token?: string | undefined
  timeout_ms: number
}

export type Form = Readonly<Record<string, string | number | boolean | undefined>>

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Instead of the configured one, for calls that wait for other servers. */
  timeout_ms?: number
}

export interface TechnitiumTransport {
  /** `path` is below /api/. Answers the member `response`; undefined where the server sends none. */
  call(path: string, form?: Form, options?: CallOptions): Promise<unknown>
  /** What the server says no to, or would make something else of. */
  refused(operation: string, detail: string): UpstreamError
  /** An answer that cannot be right. */
  unexpected(operation: string, detail: string): UpstreamError
  close(): Promise<void>
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024
const CALLS_AT_ONCE = 16
const REFUSED = 400
const TOKEN_REFUSED = 401
const READS = /\/(list|get)$/
/** It says every failure alike; these are sentences of its platform and not about what was sent. */
const OWN_TROUBLE =
  /object reference not set|no space left|access to the path|cannot access the file|could not find (a part of the path|file)|read-only file system|access was denied|out of memory/i

const Envelope = Compile(
  Type.Object({
    status: Type.String(),
    response: Type.Optional(Type.Unknown()),
    errorMessage: Type.Optional(Type.String()),
    innerErrorMessage: Type.Optional(Type.String()),
  }),
)

export function createTechnitiumTransport(config: TechnitiumConfig, upstream: 'DHCP' | 'DNS'): TechnitiumTransport {
  const dispatcher = new Agent({ connections: CALLS_AT_ONCE, maxResponseSize: MAX_ANSWER_BYTES })
  const failed: Failed = (operation, detail, status) =>
    new UpstreamError({ upstream, operation, failure: 'error', status, detail })
  return {
    async call(path, form = {}, { signal, timeout_ms = config.timeout_ms } = {}) {
      const { url, token } = config
      if (url === undefined || token === undefined) {
        const detail = 'set technitium.url and technitium.token'
        throw new UpstreamError({ upstream, operation: path, failure: 'not_configured', detail })
      }
      const deadline = AbortSignal.timeout(Math.max(timeout_ms, config.timeout_ms))
      const both = signal === undefined ? deadline : AbortSignal.any([signal, deadline])
      try {
        const answer = await post(url, token, path, form, both, dispatcher)
        return responseOf(path, answer, (detail, status) =>
          status === REFUSED && !READS.test(path) && !OWN_TROUBLE.test(detail)
            ? new RejectionError({ upstream, operation: path, status, detail, sent: form })
            : failed(path, detail, status),
        )
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        if (error instanceof UpstreamError) throw error
        throw new UpstreamError({
          upstream,
          operation: path,
          failure: deadline.aborted ? 'timeout' : 'unavailable',
          detail: connectionReason(error),
          retryable: READS.test(path),
          cause: error,
        })
      }
    },
    refused: (operation, detail) => new RejectionError({ upstream, operation, status: REFUSED, detail, sent: detail }),
    unexpected: (operation, detail) => failed(operation, detail, REFUSED),
    close: () => dispatcher.destroy(),
  }
}

type Failed = (operation: string, detail: string, status: number) => UpstreamError

interface Answer {
  status: number
  text: string
}

/** A form and never a query: queries overflow, and put the token into access logs. */
async function post(
  url: string,
  token: string,
  path: string,
  form: Form,
  signal: AbortSignal,
  dispatcher: Dispatcher,
): Promise<Answer> {
  // Versions before 15 know the token as a field alone.
  const fields = new URLSearchParams({ token })
  for (const [name, value] of Object.entries(form)) if (value !== undefined) fields.set(name, String(value))
  const answer = await request(`${url.replace(/\/+$/, '')}/api/${path}`, {
    method: 'POST',
    dispatcher,
    signal,
    headersTimeout: 0,
    bodyTimeout: 0,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: fields.toString(),
  })
  return { status: answer.statusCode, text: await answer.body.text() }
}

function responseOf(
  path: string,
  { status, text }: Answer,
  failed: (detail: string, status: number) => UpstreamError,
): unknown {
  const envelope = parsedJson(text)
  if (!Envelope.Check(envelope)) {
    const redirected = status >= 300 && status < 400 ? 'it redirects: set technitium.url to its https address; ' : ''
    throw failed(`not an answer of the address server: ${redirected}HTTP ${status} ${text.slice(0, 80)}`, status)
  }
  if (envelope.status === 'ok') return envelope.response
  if (envelope.status === 'invalid-token')
    throw failed('the address server refuses the token (technitium.token)', TOKEN_REFUSED)
  const { errorMessage = envelope.status, innerErrorMessage } = envelope
  throw failed(innerErrorMessage === undefined ? errorMessage : `${errorMessage} ${innerErrorMessage}`, REFUSED)
}
