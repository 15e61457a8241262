// Takes in the leases of the DHCP server again and again: history, first sight and peaks come from here, because servers
// forget a lease when it ends.
import { setTimeout as pause } from 'node:timers/promises'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Database } from '#src/store/database.ts'
import { noteLeases } from '#src/store/dhcp-leases.ts'
import { notePeak } from '#src/store/dhcp-orders.ts'
import { createLeader, type Leader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import { countsOf } from './views.ts'

export interface CollectorOptions {
  server: DhcpServer
  database: Database
  poll_ms: number
  log: Log
}

export function createLeaseCollector(options: CollectorOptions): Leader {
  const { database, log, poll_ms } = options
  return createLeader({ database, lock: LOCKS.address_watcher, name: 'lease collector', log }, async (held) => {
    while (!held.aborted) {
      await collectLeases(options, held)
      await pause(poll_ms, undefined, { signal: held })
    }
  })
}

export async function collectLeases(
  { server, database }: Pick<CollectorOptions, 'server' | 'database'>,
  signal?: AbortSignal,
): Promise<void> {
  const [scopes, leases, reservations] = await Promise.all([
    server.scopes(signal),
    server.leases({}, signal),
    server.reservations(undefined, signal),
  ])
  const names = scopes.map((scope) => scope.name)
  await database.transact((trx) => noteLeases(trx, leases, names))
  for (const scope of scopes) {
    const own = { leases: leases.filter((row) => row.scope === scope.name), reservations: reservations.filter((row) => row.scope === scope.name) } // biome-ignore format: one thought
    await notePeak(database.db, scope.name, countsOf(scope, own).utilization)
  }
}
