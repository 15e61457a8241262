// (i) What strangers can do: a hundred hostile requests at once on each route that needs no token, while /healthz is asked.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { areas } from '#src/contract/index.ts'
import { isTokenless } from '#src/contract/route.ts'
import type { Flood } from './abuse-flood.ts'
import { type BenchResult, percentile } from './result.ts'
import { startTestBed } from './test-bed.ts'

const AT_ONCE = 100
const HEALTH_INTERVAL_MS = 10

const HOSTILE: Record<string, string> = {
  '180,000 unknown fields': `{${Array.from({ length: 180_000 }, (_, n) => `"f${n}":1`).join()}}`,
  '900,000 levels': '['.repeat(900_000),
  '600,000 members': `[${'0,'.repeat(600_000)}0]`,
  '2 MB of text': JSON.stringify({ token: 'x'.repeat(2_000_000) }),
  // As much as is let in: what is refused by its size alone shows nothing about parsing and validation.
  '64 KiB of unknown fields': `{${Array.from({ length: 5_000 }, (_, n) => `"f${n}":1`).join()}}`,
}

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(40)
  const targets = areas.flatMap((area) => Object.values(area.routes)).filter(isTokenless)
  const worker = new Worker(new URL('abuse-flood.ts', import.meta.url))
  const health: number[] = []
  let largest = 0
  let idle_bytes = 0
  let highest_bytes = 0
  try {
    await flood(worker, `${bed.url}/auth/login`, 'POST', '{}')
    idle_bytes = bed.control.memory_bytes()
    const probing = new AbortController()
    const probe = probeHealth(`${bed.url}/healthz`, health, probing.signal)
    for (const { method, path } of targets) {
      // Where no body is read, one kind does; and what such a route serves on purpose is no answer to an attack.
      const bodies = Object.values(HOSTILE).slice(method === 'GET' ? -1 : 0)
      for (const body of bodies) {
        const longest = await flood(worker, bed.url + path, method, body)
        if (method !== 'GET') largest = Math.max(largest, longest)
        highest_bytes = Math.max(highest_bytes, bed.control.memory_bytes())
      }
    }
    probing.abort()
    await probe
  } finally {
    await worker.terminate()
    await bed.stop()
  }
  const against = `${AT_ONCE} at once, ${targets.length} routes without a token, ${Object.keys(HOSTILE).join(', ')}`
  return [
    { name: '/healthz under attack, p99', value: percentile(health, 99), unit: 'ms', limit: 250, against },
    { name: 'longest answer', value: largest / 1024, unit: 'KiB', limit: 64, against },
    { name: 'growth of memory', value: (highest_bytes - idle_bytes) / 1e6, unit: 'MB', limit: 150, against },
  ]
}

/** Bytes of the longest answer. */
async function flood(worker: Worker, url: string, method: string, body: string): Promise<number> {
  const order: Flood = { url, method, body, at_once: AT_ONCE }
  worker.postMessage(order)
  const [longest] = (await once(worker, 'message')) as [number]
  return longest
}

async function probeHealth(url: string, latencies: number[], signal: AbortSignal): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  while (!signal.aborted) {
    const began = performance.now()
    await new Promise((resolve, reject) => {
      request(url, { agent }, (answer) => answer.resume().on('end', resolve))
        .on('error', reject)
        .end()
    })
    latencies.push(performance.now() - began)
    await delay(HEALTH_INTERVAL_MS)
  }
  agent.destroy()
}
