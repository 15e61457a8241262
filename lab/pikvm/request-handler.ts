/** Answers one request to a simulated KVM: who asks, which fault is due, which call is meant. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallLog } from '../control.ts'
import { authenticate } from './accounts.ts'
import { invalid, ok, Refused, type Reply, textOf } from './answer.ts'
import { click, power, readAtx } from './atx.ts'
import { applyFault, type KvmFaults } from './faults.ts'
import { read, readMsd, remove, setConnected, setParams, write } from './msd.ts'
import type { Simulation } from './simulation.ts'

export interface HandlerParts {
  sim: Simulation
  faults: KvmFaults
  calls: CallLog
}

export function createKvmHandler(parts: HandlerParts) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { sim, faults, calls } = parts
    const url = new URL(request.url ?? '/', 'https://kvm')
    const asked = `${request.method ?? 'GET'} ${url.pathname.replace(/^\/api/, '')}`
    const by = 'x-kvmd-user' in request.headers ? 'headers' : 'authorization' in request.headers ? 'basic' : 'nobody'
    calls.record(`${sim.state.name} ${asked}`, [...url.searchParams, ['by', by]], null)
    const act = (): Promise<Reply> => answer(parts, asked, url.searchParams, request)
    const fault = faults.take(asked)
    if (fault !== undefined && (await applyFault(fault, act, response))) return
    send(response, await act())
    // What was not read of a refused upload would hold the connection.
    if (!request.complete) request.resume()
  }
}

async function answer(
  { sim }: HandlerParts,
  asked: string,
  query: URLSearchParams,
  request: IncomingMessage,
): Promise<Reply> {
  try {
    authenticate(sim.state, request.headers)
    return await route(sim, asked, query, request)
  } catch (error) {
    if (error instanceof Refused)
      return { status: error.status, result: { error: error.error, error_msg: error.message } }
    throw error
  }
}

async function route(sim: Simulation, asked: string, query: URLSearchParams, request: IncomingMessage): Promise<Reply> {
  switch (asked) {
    case 'GET /auth/check':
      return ok()
    case 'GET /atx':
      return readAtx(sim)
    case 'POST /atx/power':
      return power(sim, query)
    case 'POST /atx/click':
      return click(sim, query)
    case 'GET /msd':
      return readMsd(sim)
    case 'GET /msd/read':
      return read(sim, query)
    case 'POST /msd/write':
      return write(sim, query, request)
    case 'POST /msd/set_params':
      return setParams(sim, query)
    case 'POST /msd/set_connected':
      return setConnected(sim, query)
    case 'POST /msd/remove':
      return remove(sim, query)
    case 'POST /hid/events/send_key':
      if (!/^[A-Z][A-Za-z0-9]+$/.test(textOf(query, 'key')))
        throw invalid('The argument key is not a valid keyboard key')
      if (query.get('state') === '1') sim.state.keys.push(textOf(query, 'key'))
      return ok()
    default:
      throw new Refused(404, 'NotFoundError', 'Not found')
  }
}

function send(response: ServerResponse, { status, result, bytes }: Reply): void {
  if (response.destroyed) return
  if (bytes !== undefined) {
    response
      .writeHead(status, { 'content-type': 'application/octet-stream', 'content-length': bytes.length })
      .end(bytes)
    return
  }
  const text = JSON.stringify({ ok: status === 200, result })
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text)
}
