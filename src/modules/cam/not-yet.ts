// Handlers of routes that are mounted before they are built.
import type { Handlers, Routes } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { UpstreamError } from '#src/kernel/errors.ts'

export function notYet<A extends Routes>(routes: A): Handlers<A, RequestContext> {
  const fail = (): never => {
    throw new UpstreamError({ upstream: 'NVR', operation: 'route', failure: 'not_configured' })
  }
  return Object.fromEntries(Object.keys(routes).map((name) => [name, fail])) as unknown as Handlers<A, RequestContext>
}
