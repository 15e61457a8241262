// The long storm: every kind of change at two replicas that are killed again and again, while the line to the platform
// loses answers. Each order is done once or not at all, and has one end. Without kills: test/api/platform-storm.test.ts.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { type ControlProcess, type Production, startProduction } from '../support/control-process.ts'
import { type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { randomOf } from '../support/seeded-random.ts'
import { storm } from '../support/storm-every-kind.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'

const SEEDS = [11, 2026]
const READY_WITHIN_MS = 120_000
const KILL_AFTER_MS = { least: 2000, spread: 5000 }

let platform: CloudStackLab
let proxy: PlatformProxy
let database: TestDatabase
let production: Production
const living: ControlProcess[] = []

before(async () => {
  platform = await startCloudStack({ time: 'step' })
  proxy = await startPlatformProxy(platform.url)
  database = await createTestDatabase()
  const { host, port, user, database: name } = database.connection
  production = await startProduction({
    database_url: `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`,
    platform,
    config: { compute: { url: proxy.url, timeout_ms: 1000, read_timeout_ms: 10_000 } },
  })
  living.push(await production.startReplica(), await production.startReplica())
})
after(async () => {
  await production?.close()
  await proxy?.close()
  await platform?.close()
  await database?.drop()
})

/** Kills one of the two, starts another in its place, and so on until told to stop. */
async function killOn(random: () => number, stop: AbortSignal): Promise<number> {
  let kills = 0
  while (!stop.aborted) {
    await pause(KILL_AFTER_MS.least + random() * KILL_AFTER_MS.spread, undefined, { signal: stop }).catch(() => {})
    if (stop.aborted) break
    const victim = living.splice(random() < 0.5 ? 0 : 1, 1)[0]
    await victim?.end('SIGKILL')
    kills += 1
    living.push(await production.startReplica({ ready_within_ms: READY_WITHIN_MS }))
  }
  return kills
}

for (const seed of SEEDS) {
  test(`seed ${seed}: orders at replicas that are killed are done once or not at all, and have one end`, {
    timeout: 400_000,
  }, async (t) => {
    const random = randomOf(seed)
    const stop = new AbortController()
    const killing = killOn(random, stop.signal)
    // Heard below, when it is awaited.
    killing.catch(() => {})
    const caller = () => {
      const replica = living[Math.floor(random() * living.length)]
      assert.ok(replica !== undefined)
      return replica.call
    }
    const before_balance = async () => {
      stop.abort()
      await killing
    }
    try {
      const { orders, done, kinds } = await storm({ platform, proxy, caller, seed, before_balance })
      t.diagnostic(`${done} of ${orders} orders of ${kinds.size} kinds succeeded, ${await killing} kills`)
    } finally {
      await before_balance()
    }
  })
}

test('no process has met an error that nobody caught', () => {
  assert.doesNotMatch(production.logs(), /nobody caught|UnhandledPromise/)
})
