// Keeps the table of tenants in step with the platform's domains: one replica at a time reads them all now and then.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import type { Background } from '#src/kernel/background.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Database } from '#src/store/database.ts'
import { createLeader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import {
  databaseClock,
  forgetTenant,
  presentTenantIds,
  recordDomain,
  recordMissing,
  type SeenDomain,
} from '#src/store/tenants.ts'
import { readDomain } from './lookup.ts'

export interface ReconcilerOptions {
  cloudstack: CloudStack
  database: Database
  poll_ms: number
  log: Log
  background: Background
}

export function createTenantReconciler(options: ReconcilerOptions) {
  const { cloudstack, database, log, background, poll_ms } = options
  const leader = createLeader({ database, lock: LOCKS.tenant_watcher, name: 'tenants', log, background }, (held) =>
    background.repeat('tenants', poll_ms, held, () => reconcileTenants(options, held)),
  )
  return {
    start(): void {
      if (cloudstack.configured) leader.start()
    },
    stop: () => leader.stop(),
  }
}

/** One poll: domains right under the root, and whether any of their accounts is enabled. */
async function reconcileTenants({ cloudstack, database, log }: ReconcilerOptions, signal: AbortSignal): Promise<void> {
  const { db } = database
  const read_at = await databaseClock(db)
  const active = await activity(cloudstack, signal)
  const seen: SeenDomain[] = []
  const args = { level: 1, listall: true, details: 'min' }
  for await (const rows of cloudstack.listPages('listDomains', args, 'domain', { signal })) {
    seen.push(...rows.filter((row) => textOf(row, 'state') !== 'Inactive').map((row) => seenOf(row, active)))
  }
  // Those that are gone free their names before new owners are written.
  await markMissing({ cloudstack, database, log }, new Set(seen.map((domain) => domain.id)), read_at, signal)
  for (const domain of seen) {
    const result = await recordDomain(db, domain, read_at)
    if (result !== 'made') continue
    // The list is older than the row: a tenant that was deleted meanwhile must not come back.
    if ((await readDomain(cloudstack, domain.id, signal)) === undefined) await forgetTenant(db, domain.id)
    else log.info({ tenant_id: domain.id, name: domain.name }, 'tenant found on the platform')
  }
}

/** A row may move between pages while they are read: only what is not found by its own id either is gone. */
async function markMissing(
  { cloudstack, database, log }: Pick<ReconcilerOptions, 'cloudstack' | 'database' | 'log'>,
  seen: ReadonlySet<string>,
  read_at: Date,
  signal: AbortSignal,
): Promise<void> {
  const gone: string[] = []
  for (const id of await presentTenantIds(database.db, read_at)) {
    if (!seen.has(id) && (await readDomain(cloudstack, id, signal)) === undefined) gone.push(id)
  }
  if (gone.length === 0) return
  const marked = await recordMissing(database.db, read_at, gone)
  if (marked.length > 0) log.warn({ tenants: marked }, 'tenants are gone from the platform')
}

/** Domain to whether one of its accounts is enabled; domains without accounts are left out. */
async function activity(cloudstack: CloudStack, signal: AbortSignal): Promise<ReadonlyMap<string, boolean>> {
  const active = new Map<string, boolean>()
  for await (const rows of cloudstack.listPages('listAccounts', { listall: true, details: 'min' }, 'account', {
    signal,
  })) {
    for (const row of rows) {
      const domain = textOf(row, 'domainid') ?? ''
      active.set(domain, active.get(domain) === true || textOf(row, 'state') === 'enabled')
    }
  }
  return active
}

function seenOf(row: Raw, active: ReadonlyMap<string, boolean>): SeenDomain {
  const id = textOf(row, 'id') ?? ''
  return {
    id,
    name: textOf(row, 'name') ?? '',
    path: textOf(row, 'path'),
    network_domain: textOf(row, 'networkdomain'),
    created_at: timeOf(row, 'created'),
    is_active: active.get(id) ?? null,
  }
}
