/** One HTTP request of the simulated address server from its form to its envelope, with the faults that were ordered. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type CallLog, type Faults, readText, sendGarbage } from '../control.ts'
import { type Handler, Rejection } from './call.ts'
import { DHCP_CALLS } from './dhcp-calls.ts'
import { RECORD_CALLS } from './record-calls.ts'
import { SERVER_NAME } from './seed.ts'
import type { StoredState } from './state.ts'
import { ZONE_CALLS } from './zone-calls.ts'

interface RequestDeps {
  state: StoredState
  token: string
  faults: Faults
  calls: CallLog
  log(line: string): void
}

const CALLS: Readonly<Record<string, Handler>> = { ...DHCP_CALLS, ...ZONE_CALLS, ...RECORD_CALLS }

export function createRequestHandler(
  deps: RequestDeps,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    try {
      await serve(deps, request, response)
    } catch (error) {
      // A caller that goes away in the middle of its form gets no answer.
      deps.log(error instanceof Error ? error.message : 'a request broke off')
      response.destroy()
    }
  }
}

async function serve(deps: RequestDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://address-server')
  const command = url.pathname.replace(/^\/api\//, '')
  const handler = CALLS[command]
  if (handler === undefined || !url.pathname.startsWith('/api/')) {
    response.writeHead(404).end()
    return
  }
  const params = await paramsOf(request, url)
  const { traceparent, authorization } = request.headers
  deps.calls.record(command, params, typeof traceparent === 'string' ? traceparent : null)
  if (deps.faults.take('silent', command) !== null) return
  const slow = deps.faults.take('slow', command)
  if (slow !== null) await pause(slow.delay_ms, undefined, { ref: false })
  const garbage = deps.faults.take('garbage', command)
  if (garbage !== null) {
    sendGarbage(response, garbage.garbage)
    return
  }
  const token = /^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? params.get('token')
  const answer =
    token === deps.token
      ? answerOf(deps, command, handler, params)
      : { status: 'invalid-token', errorMessage: 'Invalid token or session expired.' }
  if (deps.faults.take('lose-answer', command) !== null) {
    response.destroy()
    return
  }
  send(response, answer)
}

function answerOf(deps: RequestDeps, command: string, handler: Handler, params: ReadonlyMap<string, string>): unknown {
  const { state, faults } = deps
  const failure = faults.take('fail', command)
  if (failure !== null) return { server: SERVER_NAME, status: 'error', errorMessage: failure.text }
  if (faults.take('pretend', command) !== null) return { response: {}, server: SERVER_NAME, status: 'ok' }
  try {
    return { response: handler({ params, state, now_ms: Date.now() }) ?? {}, server: SERVER_NAME, status: 'ok' }
  } catch (error) {
    if (!(error instanceof Rejection)) deps.log(`${command}: ${error instanceof Error ? error.stack : String(error)}`)
    const errorMessage = error instanceof Error ? error.message : 'Unknown error.'
    return { server: SERVER_NAME, status: 'error', errorMessage }
  } finally {
    if (!/\/(list|get|getTop)$/.test(command)) state.changed()
  }
}

/** The query wins over the form. */
async function paramsOf(request: IncomingMessage, url: URL): Promise<Map<string, string>> {
  const form = request.method === 'POST' ? new URLSearchParams(await readText(request)) : []
  return new Map([...form, ...url.searchParams])
}

function send(response: ServerResponse, value: unknown): void {
  const payload = JSON.stringify(value)
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(payload),
  })
  response.end(payload)
}
