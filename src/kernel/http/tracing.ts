// A span around each request, where the service is told to trace.
import type { FastifyInstance } from 'fastify'

export interface RequestEnd {
  /** Undefined where no route was found. */
  operation: string | undefined
  /** The path as the contract writes it: real paths and queries name machines and tenants. */
  route: string | undefined
  status: number
  code: string | null
  /** False when the client left before the end. */
  complete: boolean
}

export interface RequestSpan {
  /** What calls to subsystems carry, so that they show below this request. */
  traceparent: string
  end(end: RequestEnd): void
}

export interface RequestTracing {
  begin(method: string, traceparent: string | undefined): RequestSpan
}

/** After the hook that makes `request.state`. */
export function traceRequests(app: FastifyInstance, tracing: RequestTracing): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { traceparent } = request.headers
    const span = tracing.begin(request.method, typeof traceparent === 'string' ? traceparent : undefined)
    request.state.traceparent = span.traceparent
    // Streams and clients that leave early have no other end in common.
    reply.raw.once('close', () => {
      const { operation, route } = request.routeOptions.config
      const { statusCode: status, writableFinished: complete } = reply.raw
      span.end({ operation, route: route?.path, status, code: request.state.code, complete })
    })
    done()
  })
}
