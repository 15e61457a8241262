// Sends one form and reads one bounded answer: time-outs, a breaker that answers at once while nothing answers, and a
// limit on calls under way, so that a slow platform cannot pile up requests here.
import {
  BrokenCircuitError,
  BulkheadRejectedError,
  bulkhead,
  CircuitState,
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhen,
} from 'cockatiel'
import { Agent, type Dispatcher, request, errors } from 'undici'
import { CloudStackError } from './platform-error.ts'
import { connectionReason } from '../transport-text.ts'

export interface RawAnswer {
  status: number
  text: string
}

export interface SendOptions {
  command: string
  /** Reads and changes wait in line separately: a change may take minutes. */
  lane: 'read' | 'change'
  timeout_ms: number
  signal?: AbortSignal | undefined
  traceparent?: string | undefined
}

export interface Transport {
  send(form: string, options: SendOptions): Promise<RawAnswer>
  /** `open` while calls are refused here because the platform does not answer. */
  state(): 'closed' | 'open'
  close(): Promise<void>
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 5000
const FAILURES_TO_OPEN = 8
const HALF_OPEN_AFTER_MS = 2000
const READS_AT_ONCE = 32
const CHANGES_AT_ONCE = 32
const WAITING = 256

export function createTransport(url: string, agent?: Dispatcher): Transport {
  const dispatcher =
    agent ??
    new Agent({
      connections: READS_AT_ONCE + CHANGES_AT_ONCE,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      maxResponseSize: MAX_ANSWER_BYTES,
    })
  const breaker = circuitBreaker(handleWhen(isOutage), {
    halfOpenAfter: HALF_OPEN_AFTER_MS,
    breaker: new ConsecutiveBreaker(FAILURES_TO_OPEN),
  })
  const lanes = { read: bulkhead(READS_AT_ONCE, WAITING), change: bulkhead(CHANGES_AT_ONCE, WAITING) }
  return {
    async send(form, options) {
      options.signal?.throwIfAborted()
      try {
        return await lanes[options.lane].execute(() => breaker.execute(() => post(url, form, options, dispatcher)))
      } catch (error) {
        if (error instanceof BrokenCircuitError) throw notSent(options.command, 'the last calls got no answer', error)
        if (error instanceof BulkheadRejectedError) throw notSent(options.command, 'too many calls are waiting', error)
        throw error
      }
    },
    state: () => (breaker.state === CircuitState.Open ? 'open' : 'closed'),
    // A dispatcher that was handed in belongs to whoever made it.
    close: async () => {
      if (agent === undefined) await dispatcher.destroy()
    },
  }
}

/** Only silence counts: a rejection is an answer. */
function isOutage(error: unknown): boolean {
  return error instanceof CloudStackError && error.failure !== 'error' && error.status === undefined
}

function notSent(command: string, detail: string, cause: Error): CloudStackError {
  return new CloudStackError({ operation: command, failure: 'unavailable', detail, retryable: true, cause })
}

async function post(url: string, form: string, options: SendOptions, dispatcher: Dispatcher): Promise<RawAnswer> {
  const deadline = AbortSignal.timeout(options.timeout_ms)
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline])
  try {
    const answer = await request(url, {
      method: 'POST',
      dispatcher,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        ...(options.traceparent === undefined ? {} : { traceparent: options.traceparent }),
      },
      body: form,
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  } catch (error) {
    if (options.signal?.aborted === true) throw options.signal.reason
    if (error instanceof CloudStackError) throw error
    if (error instanceof errors.ResponseExceededMaxSizeError) {
      const detail = `the answer exceeds ${MAX_ANSWER_BYTES} bytes`
      throw new CloudStackError({ operation: options.command, failure: 'error', detail, cause: error })
    }
    const late = deadline.aborted
    throw new CloudStackError({
      operation: options.command,
      failure: late ? 'timeout' : 'unavailable',
      detail: late ? `no answer within ${options.timeout_ms} ms` : connectionReason(error),
      retryable: true,
      cause: error,
    })
  }
}
