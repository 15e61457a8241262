// A real server with the routes of a test, for callers who are let in whoever they are.
import type { TestContext } from 'node:test'
import type { Area, Handlers, Routes } from '#src/contract/route.ts'
import type { Authenticator } from '#src/kernel/http/access.ts'
import { type RequestContext, SYSTEM } from '#src/kernel/http/context.ts'
import { mountArea } from '#src/kernel/http/mount.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import { createServer, type Server, type ServerOptions } from '#src/kernel/http/serve.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'

export interface ToyServer {
  url: string
  server: Server
  /** Ends what every open stream and socket is followed with. */
  endCredentials(reason: string): void
}

export function mountToys<A extends Routes>(
  area: Area<A>,
  handlers: Handlers<A, RequestContext>,
  options: Partial<ServerOptions> = {},
): Omit<ToyServer, 'url'> {
  const limiter = createRateLimiter(10_000, 10_000)
  const followers = new Set<(reason: string) => void>()
  const authenticator: Authenticator = {
    authenticate: () => ({ caller: SYSTEM }),
    follow(_identity, ended) {
      followers.add(ended)
      return () => followers.delete(ended)
    },
  }
  const log = createLog({ level: 'error', destination: { write: () => {} } })
  const server = createServer({ log, metrics: createMetrics(), ...options })
  mountArea(server, area, handlers, { authenticator, limiter, login_limiter: limiter })
  return {
    server,
    endCredentials(reason) {
      for (const ended of followers) ended(reason)
    },
  }
}

export async function startToys<A extends Routes>(
  t: TestContext,
  area: Area<A>,
  handlers: Handlers<A, RequestContext>,
  options: Partial<ServerOptions> = {},
): Promise<ToyServer> {
  const toys = mountToys(area, handlers, options)
  t.after(() => toys.server.close())
  return { ...toys, url: await toys.server.listen('127.0.0.1', 0) }
}
