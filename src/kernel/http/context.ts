// What a handler knows about the request beside its input: who calls, how long it may wait, where to log.
import { randomUUIDv7 } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Log } from '../log.ts'

export type Role = 'viewer' | 'operator' | 'admin' | 'cluster'

/** Who sent the request. `tenant_id` is set when the caller is tenant-scoped. */
export interface Caller {
  kind: 'token' | 'session' | 'oidc' | 'cluster' | 'callback' | 'anonymous' | 'system'
  /** Id of the token, session's user or OIDC subject: what limits and idempotency keys are counted by. */
  id: string
  role: Role | null
  tenant_id: string | null
  user_id: number | null
  username: string
}

export const ANONYMOUS: Caller = {
  kind: 'anonymous', id: 'anonymous', role: null, tenant_id: null, user_id: null, username: 'anonymous',
} // biome-ignore format: one line

export const SYSTEM: Caller = {
  kind: 'system', id: 'system', role: 'admin', tenant_id: null, user_id: null, username: 'system',
} // biome-ignore format: one line

/** What names an operation: its event, its job, and the key that a repeat of it carries. */
export type Operation = Pick<RequestContext, 'operation' | 'operation_id' | 'caller' | 'idempotency_key' | 'named_ids'>

export interface RequestContext {
  readonly request_id: string
  /** Operation name of the contract: handler, event action, CLI and log use the same word. */
  readonly operation: string
  /** UUIDv7 of this operation: correlation id of its event and id of its job. */
  readonly operation_id: string
  /** The Idempotency-Key it came with, on routes that take one; null without. */
  readonly idempotency_key: string | null
  /** An earlier request with the same key has admitted the job of this operation, so nothing is left but to answer. */
  readonly resumed: boolean
  readonly caller: Caller
  /** Ids that the request names, whatever for: its event is found under each of them. */
  readonly named_ids: readonly string[]
  readonly log: Log
  /** Aborted when the client is gone or the service stops. */
  readonly signal: AbortSignal
  /** Seconds of `Prefer: wait=N`, 0 to 60. */
  readonly wait_seconds: number
  /** `Prefer: respond-async`. */
  readonly prefer_async: boolean
  readonly dry_run: boolean
  /** W3C trace context to pass on to subsystems. */
  readonly traceparent: string | undefined
  readonly remote_address: string
  readonly headers: IncomingHttpHeaders
  /** Answers a success with this status instead of the first one of the route. */
  setStatus(status: number): void
  /** Sets a header of the answer. */
  setHeader(name: string, value: string | string[]): void
}

/** A context of our own for what the service does without a request. */
export function systemContext(operation: string, log: Log, signal: AbortSignal): RequestContext {
  const id = randomUUIDv7()
  return {
    request_id: id, operation, operation_id: id, idempotency_key: null, resumed: false, caller: SYSTEM, named_ids: [], log, signal, wait_seconds: 0, prefer_async: false,
    dry_run: false, traceparent: undefined, remote_address: '', headers: {}, setStatus: () => {}, setHeader: () => {},
  } // biome-ignore format: a record of defaults
}
