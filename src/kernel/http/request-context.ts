// Makes the context of one request. What few handlers need is computed when it is first asked for.
import { randomUUIDv7 } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../log.ts'
import { childTrace } from '../trace-context.ts'
import type { Caller, RequestContext } from './context.ts'
import { namedIds } from './named-ids.ts'
import type { Server } from './serve.ts'

const MAX_WAIT_SECONDS = 60

export function createRequestContext(
  mounted: { server: Server; operation: string },
  request: FastifyRequest,
  reply: FastifyReply,
  idempotency_key: string | null,
): ResumableContext {
  return new LazyContext(mounted.server, mounted.operation, request, reply, idempotency_key)
}

export interface ResumableContext extends RequestContext {
  /** From here on the request answers for this earlier operation, whose job is admitted. */
  resume(operation_id: string): void
  /** Undefined: the first success status of the route. */
  readonly status: number | undefined
}

class LazyContext implements ResumableContext {
  readonly operation: string
  readonly idempotency_key: string | null
  resumed = false
  status: number | undefined
  readonly #server: Server
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  #operation_id: string | undefined
  #log: Log | undefined
  #signal: AbortSignal | undefined
  #traceparent: string | undefined

  constructor(
    server: Server,
    operation: string,
    request: FastifyRequest,
    reply: FastifyReply,
    idempotency_key: string | null,
  ) {
    this.operation = operation
    this.idempotency_key = idempotency_key
    this.#server = server
    this.#request = request
    this.#reply = reply
  }

  get request_id(): string {
    return this.#request.id
  }

  get operation_id(): string {
    this.#operation_id ??= randomUUIDv7()
    return this.#operation_id
  }

  resume(operation_id: string): void {
    this.#operation_id = operation_id
    this.resumed = true
  }

  get caller(): Caller {
    return this.#request.state.caller
  }

  get named_ids(): readonly string[] {
    const { params, query, body } = this.#request
    return namedIds({ params, query, body })
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers
  }

  get remote_address(): string {
    return this.#request.ip
  }

  get log(): Log {
    this.#log ??= this.#server.log.child({ request_id: this.#request.id, operation: this.operation })
    return this.#log
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const gone = new AbortController()
      this.#reply.raw.once('close', () => {
        if (!this.#reply.raw.writableFinished) gone.abort(new Error('the client is gone'))
      })
      this.#signal = AbortSignal.any([gone.signal, this.#server.stopping])
    }
    return this.#signal
  }

  get wait_seconds(): number {
    const wait = /(?:^|[,;\s])wait=(\d{1,5})/.exec(preferences(this.headers))
    return Math.min(MAX_WAIT_SECONDS, Number(wait?.[1] ?? 0))
  }

  get prefer_async(): boolean {
    return /(?:^|[,;\s])respond-async/.test(preferences(this.headers))
  }

  get dry_run(): boolean {
    return (this.#request.query as { dry_run?: unknown }).dry_run === true
  }

  get traceparent(): string | undefined {
    this.#traceparent ??= this.#request.state.traceparent ?? childTrace(this.headers.traceparent)
    return this.#traceparent
  }

  setStatus(status: number): void {
    this.status = status
  }

  setHeader(name: string, value: string | string[]): void {
    this.#reply.header(name, value)
  }
}

function preferences(headers: IncomingHttpHeaders): string {
  const { prefer } = headers
  return Array.isArray(prefer) ? prefer.join(',') : (prefer ?? '')
}
