// A route of a kind that the server cannot serve is noticed when it is mounted, not when it is called.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { defineArea } from '#src/contract/route.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { ANONYMOUS } from '#src/kernel/http/context.ts'
import { mountArea } from '#src/kernel/http/mount.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import { createServer } from '#src/kernel/http/serve.ts'

for (const kind of ['ws', 'proxy', 'multipart'] as const) {
  test(`a route of kind ${kind} fails at start`, () => {
    const limiter = createRateLimiter(10, 10)
    const server = createServer({ log: createLog({ level: 'error' }), metrics: createMetrics() })
    const toy = defineArea({
      name: 'toy',
      description: 'For this test.',
      routes: {
        toyGet: {
          method: 'GET', path: '/toy', summary: 'Get toy', access: 'viewer', kind, ok: { 200: Type.Unknown() }, errors: [], example: {},
        },
      },
    }) // biome-ignore format: a toy
    const services = { authenticator: { authenticate: () => ({ caller: ANONYMOUS }) }, limiter, login_limiter: limiter }
    assert.throws(
      () => mountArea(server, toy, { toyGet: () => null }, services),
      new RegExp(`the route toyGet is of kind ${kind}, which this server cannot serve`),
    )
  })
}
