/** One HTTP request from its parameters to its answer: faults, signature, catalogue, command, envelope. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type CallLog, type Faults, readText, sendGarbage } from '../control.ts'
import { ApiFault, unverified } from './api-fault.ts'
import type { Call } from './call.ts'
import { COMMANDS } from './commands/table.ts'
import type { EventLog } from './event-log.ts'
import type { Jobs } from './jobs.ts'
import type { Journal } from './journal.ts'
import type { Latencies } from './latencies.ts'
import { readParams } from './params.ts'
import type { CommandSpec } from './params.ts'
import type { Json } from './row.ts'
import { requireOwner, requireRight } from './rights.ts'
import { requireStrictForm, verifySignature } from './verification.ts'
import type { SignatureAlgorithm } from './sign.ts'
import type { SimulatorState } from './state.ts'
import { asFault, envelope, errorEnvelope, send, success } from './wire.ts'
import type { Reply } from './wire.ts'

interface RequestDeps {
  state: SimulatorState
  catalogue: ReadonlyMap<string, CommandSpec>
  jobs: Jobs
  events: EventLog
  faults: Faults
  calls: CallLog
  journal: Journal
  signature: SignatureAlgorithm
  latencies: Latencies
  sample(): number
  unknown(command: string, parameter: string): void
  log(line: string): void
}

type Body = { [field: string]: Json | undefined }

export function createRequestHandler(
  deps: RequestDeps,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    try {
      await answer(request, response)
    } catch (error) {
      // A caller that goes away in the middle of its body, or sends too much of it, gets no answer.
      deps.log(error instanceof Error ? error.message : 'a request broke off')
      response.destroy()
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://platform')
    if (url.pathname.replace(/\/$/, '') !== '/client/api' || (request.method !== 'GET' && request.method !== 'POST')) {
      response.writeHead(request.method === 'GET' || request.method === 'POST' ? 404 : 405).end()
      return
    }
    const raw = await readRaw(request, url)
    const command = raw.get('command') ?? ''
    const { traceparent } = request.headers
    deps.calls.record(command, raw, typeof traceparent === 'string' ? traceparent : null)
    if (!(await passes(deps.faults, command, response))) return
    const wrapper = deps.catalogue.get(command)?.wrapperKey ?? 'errorresponse'
    try {
      requireStrictForm(deps.state, raw, request.method)
      const body = await execute(deps, command, raw)
      await deps.journal.commit()
      if (deps.faults.take('lose-answer', command) !== null) {
        response.destroy()
        return
      }
      send(response, 200, body)
    } catch (error) {
      const fault = asFault(error)
      if (!(error instanceof ApiFault))
        deps.log(`${command}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      await deps.journal.commit()
      send(response, fault.code, errorEnvelope(wrapper, fault), fault.message)
    }
  }
}

async function execute(deps: RequestDeps, command: string, raw: ReadonlyMap<string, string>): Promise<Body> {
  const caller = verifySignature(deps.state, raw, deps.signature)
  const spec = deps.catalogue.get(command)
  const handler = spec === undefined ? undefined : COMMANDS[spec.name]
  if (caller === null || spec === undefined || handler === undefined) throw unverified()
  requireRight(spec, caller)
  const injected = deps.faults.take('fail', spec.name, (fault) => fault.at === 'submit')
  if (injected !== null) throw new ApiFault(injected.code, injected.text)
  if (!spec.isasync && deps.faults.take('pretend', spec.name) !== null) return envelope(spec, success())
  const params = readParams(
    spec,
    raw,
    (id) => deps.state.known(id),
    (name) => {
      deps.unknown(spec.name, name)
    },
  )
  requireOwner(spec, params, deps.state, caller)
  const call: Call = {
    spec,
    params,
    state: deps.state,
    caller,
    catalogue: deps.catalogue,
    sample: deps.sample,
    event: (subject) => {
      deps.events.write(caller, subject, 'Completed', null)
    },
  }
  const outcome = await handler(call)
  await deps.latencies.wait(spec.name, outcome.kind === 'job' ? null : outcome)
  if (outcome.kind !== 'job') return envelope(spec, withPendingJobs(deps.jobs, outcome))
  const job = deps.jobs.submit(spec, caller, outcome.plan, raw.get('customjobid') ?? null)
  return { [spec.wrapperKey]: { ...(outcome.plan.id === undefined ? {} : { id: outcome.plan.id }), jobid: job.id } }
}

/** Objects with a pending job carry its id in synchronous answers. */
function withPendingJobs(jobs: Jobs, reply: Reply): Reply {
  if (reply.kind === 'list') return { ...reply, rows: reply.rows.map((row) => withPendingJob(jobs, row)) }
  return reply.kind === 'object' ? { ...reply, value: withPendingJob(jobs, reply.value) } : reply
}

function withPendingJob(jobs: Jobs, row: Json): Json {
  if (typeof row !== 'object' || row === null || Array.isArray(row) || typeof row['id'] !== 'string') return row
  const job = jobs.pendingOf(row['id'])
  if (job === null) return row
  row['jobid'] = job.id
  row['jobstatus'] = job.jobstatus
  return row
}

/** Query and body are merged and the query wins; of a repeated name the first value counts. */
async function readRaw(request: IncomingMessage, url: URL): Promise<Map<string, string>> {
  const raw = new Map<string, string>()
  for (const [name, value] of url.searchParams) if (!raw.has(name)) raw.set(name, value)
  if (request.method !== 'POST') return raw
  for (const [name, value] of new URLSearchParams(await readText(request))) if (!raw.has(name)) raw.set(name, value)
  return raw
}

/** False when a fault took the answer over. */
async function passes(faults: Faults, command: string, response: ServerResponse): Promise<boolean> {
  if (faults.take('silent', command) !== null) return false
  const slow = faults.take('slow', command)
  if (slow !== null) await pause(slow.delay_ms, undefined, { ref: false })
  const garbage = faults.take('garbage', command)
  if (garbage === null) return true
  sendGarbage(response, garbage.garbage, 'Please sign in to the proxy')
  return false
}
