// (f) How soon the control plane is ready on a running database, first time and again, and what it holds when idle.
import { setTimeout as delay } from 'node:timers/promises'
import type { BenchResult } from './result.ts'
import { median } from './result.ts'
import { startTestBed } from './test-bed.ts'

const STARTS = 5
const IDLE_MS = 15_000

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(40)
  const cold_ms = Number(bed.control.ready.ready_ms)
  const warm: number[] = []
  let idle_bytes = 0
  try {
    await bed.control.stop()
    for (let start = 0; start < STARTS; start += 1) {
      const control = await bed.startControl()
      warm.push(Number(control.ready.ready_ms))
      if (start === STARTS - 1) {
        await delay(IDLE_MS)
        idle_bytes = control.memory_bytes()
      }
      await control.stop()
    }
  } finally {
    await bed.stop()
  }
  const from = 'from the start of the process to the first request it would accept, on a running database'
  return [
    { name: 'cold start (empty database, schema to make)', value: cold_ms / 1000, unit: 's', limit: 3, against: from },
    { name: 'warm start, median', value: median(warm) / 1000, unit: 's', limit: 1.5, against: from },
    {
      name: 'idle memory',
      value: idle_bytes / 1e6,
      unit: 'MB',
      limit: 160,
      against: `resident after ${IDLE_MS / 1000} s without a request`,
    },
  ]
}
