// Reads leases again and again for their history, releases addresses whose answer was lost, and compares servers with what was
// ordered: one replica does it for all.
import { setTimeout as pause } from 'node:timers/promises'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import type { Background } from '#src/kernel/background.ts'
import type { Log } from '#src/kernel/log.ts'
import { createLeader, type Leader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import { collectLeases } from './dhcp/collector.ts'
import type { DriftDeps } from './drift/compare.ts'
import { checkDrift } from './drift/index.ts'
import { releaseLost } from './ipam/lost-addresses.ts'

export interface AddressWatcherOptions extends DriftDeps {
  dhcp_server: DhcpServer | undefined
  /** Undefined: our own tables, which lose no answers. */
  ipam_store: IpamStore | undefined
  poll_ms: number
  compare_ms: number
  log: Log
  background: Background
}

export function createAddressWatcher(options: AddressWatcherOptions): Leader {
  const { database, dhcp_server, ipam_store, poll_ms, compare_ms, log, background } = options
  return createLeader({ database, lock: LOCKS.address_watcher, name: 'addresses', log, background }, async (held) => {
    let compared_ms = -compare_ms
    while (!held.aborted) {
      if (dhcp_server !== undefined) await collectLeases({ server: dhcp_server, database }, held)
      if (ipam_store !== undefined) await releaseLost({ store: ipam_store, database, log })
      if (performance.now() - compared_ms >= compare_ms) {
        await checkDrift(options)
        compared_ms = performance.now()
      }
      await pause(poll_ms, undefined, { signal: held })
    }
  })
}
