// (c) Aggregate metrics over 10,000 virtual machines against fetching the same pages alone: memory and wall time.
import { setTimeout as delay } from 'node:timers/promises'
import { platformUrl } from './platform-call.ts'
import type { BenchResult } from './result.ts'
import { median } from './result.ts'
import { startTestBed } from './test-bed.ts'

const VMS = 10_000
const PAGE = 500
const ROUNDS = 3
const SAMPLE_MS = 20

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(VMS)
  const fetched: number[] = []
  const computed: number[] = []
  let growth_bytes = 0
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      const alone = await seconds(() =>
        fetchPages((page) => platformUrl(bed.platform, { ...CALL, page: String(page) })),
      )
      const before = bed.control.memory_bytes()
      let peak = before
      const sampling = new AbortController()
      const sampler = sample(sampling.signal, () => {
        peak = Math.max(peak, bed.control.memory_bytes())
      })
      const ours = await seconds(async () => {
        const answer = await fetch(`${bed.url}/compute/vms/metrics/aggregate`, { headers: bed.headers })
        const body = (await answer.json()) as { virtual_machine_count: number }
        if (body.virtual_machine_count < VMS * 0.9)
          throw new Error(`unexpected answer: ${JSON.stringify(body).slice(0, 300)}`)
      })
      sampling.abort()
      await sampler
      growth_bytes = Math.max(growth_bytes, peak - before)
      if (round === 0) continue
      fetched.push(alone)
      computed.push(ours)
    }
  } finally {
    await bed.stop()
  }
  const [alone_s, ours_s] = [median(fetched), median(computed)]
  return [
    {
      name: 'aggregate over 10,000 virtual machines, wall time',
      value: ours_s / alone_s,
      unit: '× fetching the pages alone',
      limit: 1.3,
      against: `pages alone ${alone_s.toFixed(2)} s, ours ${ours_s.toFixed(2)} s`,
    },
    {
      name: 'aggregate over 10,000 virtual machines, growth of memory',
      value: growth_bytes / 1e6,
      unit: 'MB',
      limit: 100,
      against: 'peak resident memory during the call less that before it, highest of four',
    },
  ]
}

const CALL = {
  command: 'listVirtualMachinesMetrics',
  listall: 'true',
  projectid: '-1',
  details: 'min,servoff,stats',
  accumulate: 'false',
  pagesize: String(PAGE),
}

/** One page after the other, each read and parsed. */
async function fetchPages(url: (page: number) => string): Promise<void> {
  for (let page = 1; page <= VMS / PAGE; page += 1) {
    const answer = await fetch(url(page))
    await answer.json()
  }
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}

async function sample(signal: AbortSignal, take: () => void): Promise<void> {
  while (!signal.aborted) {
    take()
    await delay(SAMPLE_MS)
  }
}
