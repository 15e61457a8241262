// One order of a storm, as a careful caller places it: it repeats what was not answered, and where the service cannot say
// what became of a request it looks for its event, and reads the resource.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { areas } from '#src/contract/index.ts'
import { type RouteSpec, takesIdempotencyKey } from '#src/contract/route.ts'
import type { Caller, Reply } from './http.ts'
import type { PlatformProxy } from './platform-proxy.ts'
import { type Ended, type EventRow, eventsOf, openEntry, type Order } from './storm-books.ts'
import { until } from './until.ts'

export interface OrderDeps {
  platform: CloudStackLab
  proxy: PlatformProxy
  /** Of a control plane that lives; one that is killed is another one afterwards. */
  caller: () => Caller
}

const DEADLINE_MS = 120_000
const ROUTES: ReadonlyMap<string, RouteSpec> = new Map(areas.flatMap(({ routes }) => Object.entries(routes)))

/** What was sent, and what is known of its events. */
interface Request {
  kind: string
  method: string
  path: string
  body: unknown
  /** Null where the operation takes none: then a repeat is another request. */
  key: string | null
  /** Correlation ids of the events that this kind had before. */
  earlier: ReadonlySet<string>
}

/** Sends until somebody answers, and waits for the end of what was admitted. */
export async function sendOnce(deps: OrderDeps, kind: string, { body, ...order }: Order): Promise<Ended> {
  const route = ROUTES.get(kind)
  assert.ok(route !== undefined, `${kind} is in the contract`)
  const { params = {}, confirm, ...effect } = order
  const query = confirm === undefined ? '' : `?confirm=${confirm}`
  const place = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const close = openEntry(deps.platform, effect)
  const request: Request = {
    kind,
    method: route.method,
    path: `${place}${query}`,
    body,
    key: takesIdempotencyKey(route) ? randomUUID() : null,
    earlier: new Set((await read(deps, { action: kind })).map((one) => one.correlation_id)),
  }
  const { id, said } = await admittedOf(deps, request)
  const event = await until(`${kind} ${id} ends (${said})`, () => endOf(deps, id), DEADLINE_MS)
  const interrupted = /was interrupted; read the resource/.test(event.error_message ?? '')
  if (interrupted) await quiet(deps)
  return close({
    kind,
    id,
    outcome: interrupted ? 'interrupted' : event.status === 'SUCCESS' ? 'done' : 'failed',
    resource_id: event.resource_uuid,
    reason: `${event.error_message ?? ''} ${said}`,
    effect,
  })
}

/** The operation that the request has begun, and what was answered. */
async function admittedOf(deps: OrderDeps, request: Request): Promise<{ id: string; said: string }> {
  const { kind, key } = request
  for (let unanswered = false; ; ) {
    const reply = await answerOf(deps, request)
    const said = reply?.text.slice(0, 200) ?? 'not answered'
    const id = reply?.headers.get('x-correlation-id') ?? ''
    if (reply !== undefined && (reply.status < 400 || (await read(deps, { correlation_id: id })).length > 0))
      return { id, said }
    // Without a key a repeat is refused for what the first one has done; with one the service says that it cannot tell.
    if ((key === null && (unanswered || reply === undefined)) || (reply !== undefined && wasInterrupted(reply))) {
      const first = await begunBy(deps, request)
      if (first !== undefined) return { id: first.correlation_id, said }
    }
    unanswered ||= reply === undefined
    assert.ok(reply === undefined || mayComeAgain(reply), `${kind}: ${said}`)
    await pause(200)
  }
}

/** Undefined: the control plane was killed before it answered. */
function answerOf({ caller }: OrderDeps, { method, path, body, key }: Request): Promise<Reply | undefined> {
  const headers = key === null ? {} : { 'idempotency-key': key }
  return caller()(method, path, body, { headers }).catch(() => undefined)
}

/** Still being worked on, or nothing was admitted because the platform did not answer. */
function mayComeAgain({ status, text }: Reply): boolean {
  return status >= 500 || (status === 409 && /IDEMPOTENCY_KEY_IN_USE/.test(text))
}

/** Its process was killed after it had begun: nobody knows what became of it, and the service says so. */
function wasInterrupted({ status, text }: Reply): boolean {
  return status === 409 && /IDEMPOTENCY_KEY_IN_USE/.test(text) && /was interrupted; read the resource/.test(text)
}

/** Kinds whose requests can be lost are ordered by one line each, so what is new is this order's. */
async function begunBy(deps: OrderDeps, { kind, earlier }: Request): Promise<EventRow | undefined> {
  const [begun, ...others] = (await read(deps, { action: kind })).filter((one) => !earlier.has(one.correlation_id))
  assert.equal(others.length, 0, `${kind} was ordered once and has several events`)
  return begun
}

/** A call that is on its way may arrive after its process has died. */
async function quiet({ proxy }: OrderDeps): Promise<void> {
  await until('no call is on its way', () => proxy.underway() === 0)
}

/** Who is asked may be killed meanwhile. */
function read({ caller }: OrderDeps, filter: object): Promise<EventRow[]> {
  return until('events are listed', () => eventsOf(caller(), filter), DEADLINE_MS)
}

async function endOf(deps: OrderDeps, correlation_id: string): Promise<EventRow | undefined> {
  return (await read(deps, { correlation_id })).find((one) => one.status !== 'IN_PROGRESS')
}
