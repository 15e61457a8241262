// The control plane as its own process, as in production, on the database and platform given by the environment; prints one
// line of JSON when it is ready.
import { pino } from 'pino'
import { loadConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { startControlPlane } from '../bin/control-plane.ts'
import { releaseStartUpMemory } from '../bin/memory.ts'

const started = performance.now()
const connection = process.env.BENCH_CONNECTION
const control = await startControlPlane(loadConfig(undefined, process.env), {
  admin_token: 'always',
  log: createLog({
    level: 'info',
    destination: pino.destination({ dest: process.env.BENCH_LOG ?? '/dev/null', sync: false }),
  }),
  ...(connection === undefined
    ? {}
    : { connection: JSON.parse(connection) as { host: string; port: number; user: string; database: string } }),
})
const ready_ms = String(
  Math.round(
    performance.now() -
      started +
      performance.timeOrigin -
      Number(process.env.BENCH_SPAWNED_AT ?? performance.timeOrigin),
  ),
)
releaseStartUpMemory()
console.log(JSON.stringify({ ready: 'yes', url: control.url, token: control.admin_token, ready_ms }))
process.once('SIGTERM', () => {
  void control.close().finally(() => process.exit(0))
})
// Nothing is left running when the benchmark itself is killed.
process.stdin.resume().once('end', () => process.exit(1))
