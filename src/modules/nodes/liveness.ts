// Tells when a node falls silent: one application event each time, whichever replica sees it first.
import type { Background } from '#src/kernel/background.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import { type ChangeDeps, recordEvent } from '#src/store/app-events.ts'
import { takeSilentNodes } from '#src/store/nodes.ts'

export interface LivenessDeps extends ChangeDeps {
  offline_after_ms: number
  log: Log
  background: Background
}

export interface Liveness {
  start(): void
  stop(): Promise<void>
}

export function createLiveness(deps: LivenessDeps): Liveness {
  const { database, log, background, offline_after_ms } = deps
  const check = async (): Promise<void> => {
    const silent = await database.transact(async (trx, publish) => {
      const rows = await takeSilentNodes(trx, offline_after_ms)
      for (const row of rows) {
        const about = {
          action: 'nodeOffline', resource_type: 'NODE', resource_uuid: row.id,
          description: `Node ${row.bmc_ip} is offline`, caller: SYSTEM, replica_id: deps.replica_id,
        } // biome-ignore format: one event
        const error_message = `No heartbeat since ${row.seen_at?.toISOString() ?? 'ever'}.`
        await recordEvent(trx, publish, about, { status: 'FAILED', error_message })
      }
      return rows
    })
    for (const row of silent) log.warn({ bmc_ip: row.bmc_ip }, 'node is offline')
  }
  const poll_ms = Math.max(250, Math.min(5000, offline_after_ms / 4))
  const ending = new AbortController()
  let running: Promise<void> | undefined
  return {
    start() {
      running ??= background.repeat('silent-nodes', poll_ms, ending.signal, check)
    },
    async stop() {
      ending.abort()
      await running
    },
  }
}
