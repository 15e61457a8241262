// (a) What a request costs that is authenticated, validated, serialised by schema, measured and logged, against the bare
// server of Node and a bare Fastify route in the same run.
import { join } from 'node:path'
import { runLoad } from './load.ts'
import { type Program, startProgram } from './processes.ts'
import type { BenchResult } from './result.ts'
import { median } from './result.ts'
import { startTestBed } from './test-bed.ts'

const REQUESTS = 20_000
const CONNECTIONS = 32
const ROUNDS = 3

export async function run(): Promise<BenchResult[]> {
  const hello = join(import.meta.dirname, 'hello-process.ts')
  const [bare, fastify, bed] = [
    await startProgram(hello, ['node']),
    await startProgram(hello, ['fastify']),
    await startTestBed(40),
  ]
  const cost = { bare: [] as number[], fastify: [] as number[], ours: [] as number[] }
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      const measured = {
        bare: await cpuPerRequest(bare, bare.ready.url ?? '', {}),
        fastify: await cpuPerRequest(fastify, fastify.ready.url ?? '', {}),
        ours: await cpuPerRequest(bed.control, `${bed.url}/version`, bed.headers),
      }
      // The first round warms up.
      if (round > 0) for (const name of ['bare', 'fastify', 'ours'] as const) cost[name].push(measured[name])
    }
  } finally {
    await Promise.all([bare.stop(), fastify.stop(), bed.stop()])
  }
  const [bare_us, fastify_us, ours_us] = [median(cost.bare), median(cost.fastify), median(cost.ours)]
  return [
    {
      name: 'CPU of an authenticated, validated, logged request',
      value: ours_us / bare_us,
      unit: '× bare node:http',
      limit: 3.5,
      against: `node:http ${bare_us.toFixed(1)} µs, Fastify ${fastify_us.toFixed(1)} µs, ours ${ours_us.toFixed(1)} µs a request`,
    },
  ]
}

async function cpuPerRequest(program: Program, url: string, headers: Record<string, string>): Promise<number> {
  const before = program.cpu_us()
  await runLoad({ url, headers, requests: REQUESTS, connections: CONNECTIONS })
  return (program.cpu_us() - before) / REQUESTS
}
