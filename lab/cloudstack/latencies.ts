/** How long the real platform takes: medians of the recorded calls, and what a row of public addresses costs. Off unless ordered. */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Reply } from './wire.ts'

/** A list of 1,017 addresses took 3.6 s; counting them, or the few allocated ones, took 0.13 s. */
const ADDRESS_ROW_MS = 3.5

export interface Latencies {
  on: boolean
  wait(command: string, reply: Reply | null): Promise<void>
}

export function createLatencies(on: boolean): Latencies {
  const medians = JSON.parse(readFileSync(new URL('./latencies.json', import.meta.url), 'utf8')) as Record<
    string,
    number
  > // our own file
  const latencies: Latencies = {
    on,
    wait: async (command, reply) => {
      if (!latencies.on) return
      const rows = command === 'listPublicIpAddresses' && reply?.kind === 'list' ? reply.rows.length : 0
      await pause((medians[command] ?? 20) + rows * ADDRESS_ROW_MS)
    },
  }
  return latencies
}
