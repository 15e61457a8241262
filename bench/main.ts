// `npm run bench [name …]`: runs the benchmarks one after the other, prints each figure beside its limit, and writes them as
// JSON. The exit code is 1 when a limit is missed.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import type { Bench, BenchResult } from './result.ts'

const BENCHES: Record<string, () => Promise<{ run: Bench }>> = {
  route: () => import('./http-route.ts'),
  list: () => import('./vm-list.ts'),
  aggregate: () => import('./aggregate.ts'),
  streams: () => import('./streams.ts'),
  events: () => import('./event-log.ts'),
  start: () => import('./start-up.ts'),
  fleet: () => import('./fleet.ts'),
  agent: () => import('./agent.ts'),
  abuse: () => import('./abuse.ts'),
  bmc: () => import('./bmc.ts'),
  cameras: () => import('./cameras.ts'),
  addresses: () => import('./addresses.ts'),
  search: () => import('./search.ts'),
  platform: () => import('./platform-routes.ts'),
  preflights: () => import('./preflights.ts'),
  console: () => import('./console.ts'),
}

const asked = process.argv.slice(2)
const unknown = asked.find((name) => !(name in BENCHES))
if (unknown !== undefined) {
  console.error(`there is no benchmark ${unknown}; known are ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}

const results: (BenchResult & { bench: string; ok: boolean })[] = []
for (const name of asked.length === 0 ? Object.keys(BENCHES) : asked) {
  const bench = await BENCHES[name]?.()
  for (const result of (await bench?.run()) ?? []) {
    const ok = result.value <= result.limit
    results.push({ bench: name, ok, ...result })
    const figure = `${result.value.toPrecision(3)} ${result.unit}`
    console.log(
      `${ok ? 'ok  ' : 'MISS'} ${name.padEnd(10)} ${result.name}: ${figure} (limit ${result.limit}) · ${result.against}`,
    )
  }
}

const folder = new URL('results/', import.meta.url)
mkdirSync(folder, { recursive: true })
const file = new URL(`${new Date().toISOString().replaceAll(':', '-')}.json`, folder)
const machine = { cores: cpus().length, cpu: cpus()[0]?.model, memory_bytes: totalmem(), node: process.version }
writeFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), machine, results }, null, 2)}\n`)
console.log(`written to bench/results/${file.pathname.split('/').at(-1)}`)
process.exitCode = results.every((result) => result.ok) ? 0 : 1
