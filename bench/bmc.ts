// 500 BMCs whose power is watched, each twice: one poller each, and what that costs the service.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { PRODUCTION_FLAGS } from './processes.ts'
import type { BenchResult } from './result.ts'

const BMCS = 500
const SETTLE_MS = 15_000
const MEASURE_MS = 30_000
const WATCH_S = 10

type Figures = Record<'cpu_ms' | 'memory_bytes' | 'known' | 'polled' | 'reads' | 'port', number>

async function ask(child: ChildProcess, message: string): Promise<Figures> {
  child.send(message)
  const [answer] = (await once(child, 'message')) as [Figures]
  return answer
}

export async function run(): Promise<BenchResult[]> {
  const file = (name: string): string => new URL(name, import.meta.url).pathname
  const fleet = fork(file('bmc-fleet.ts'))
  const [{ port }] = (await once(fleet, 'message')) as [Figures]
  const watcher = fork(file('bmc-watch.ts'), [String(port), String(BMCS)], { execArgv: PRODUCTION_FLAGS })
  try {
    const empty = await ask(watcher, 'memory')
    watcher.send('start')
    const deadline = Date.now() + 60_000
    while ((await ask(watcher, 'figures')).known < BMCS && Date.now() < deadline) await delay(500)
    await delay(SETTLE_MS)
    const [before, reads_before] = [await ask(watcher, 'figures'), await ask(fleet, 'reads')]
    await delay(MEASURE_MS)
    const [after, reads_after] = [await ask(watcher, 'figures'), await ask(fleet, 'reads')]
    const full = await ask(watcher, 'memory')
    const rate = ((reads_after.reads - reads_before.reads) / MEASURE_MS) * 1000
    const against = `${BMCS} BMCs, two watchers each, polled every ${WATCH_S} s over TLS`
    return [
      { name: 'BMCs not heard of', value: BMCS - after.known, unit: `of ${BMCS}`, limit: 0, against },
      {
        name: 'polls a second above one poller each',
        value: Math.max(0, rate - BMCS / WATCH_S),
        unit: 'a second',
        limit: BMCS / WATCH_S / 5,
        against: `${rate.toFixed(1)} a second in all`,
      },
      {
        name: 'processor time',
        value: ((after.cpu_ms - before.cpu_ms) / MEASURE_MS) * 100,
        unit: '% of a core',
        limit: 10,
        against,
      },
      {
        name: 'memory',
        value: (full.memory_bytes - empty.memory_bytes) / 1e6,
        unit: 'MB',
        limit: 60,
        against: 'resident memory less that before the first watcher, each after a full collection',
      },
    ]
  } finally {
    watcher.kill()
    fleet.kill()
  }
}
