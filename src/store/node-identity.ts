// Name and address of a node: what is confirmed, and what its agent reports instead (docs/decisions/0006-agent-trust.md).
// Calls, conversions and rollouts find a node by its confirmed values alone, so that one machine cannot pass for another.
import { type Selectable, sql } from 'kysely'
import type { NodeFacts } from '#src/contract/nodes/registry.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Trx } from './database.ts'
import { LOCKS } from './locks.ts'
import type { Tables } from './tables.ts'

type NodeRow = Selectable<Tables['node']>
type Confirmed = Pick<NodeRow, 'node_ip' | 'fqdn' | 'hostname'>
type Reported = Pick<NodeRow, 'reported_node_ip' | 'reported_fqdn' | 'reported_hostname'>

export interface NodeReport {
  name: string | null
  address: string | null
}

/** What the agent reports that is not what is confirmed. A null field: it reports the confirmed value, or none. */
export function reportOf(row: Confirmed & Reported): NodeReport {
  const { fqdn, hostname, node_ip } = differing(row)
  return { name: fqdn ?? hostname ?? null, address: node_ip ?? null }
}

/** The columns that a message of the agent sets. The row must be locked. */
export async function reportedIdentity(trx: Trx, before: NodeRow, facts: NodeFacts) {
  const reported = {
    reported_node_ip: facts.node_ip,
    reported_fqdn: facts.fqdn,
    reported_hostname: facts.hostname,
  }
  const first = await firstReport(trx, before, facts)
  const [old, fresh] = [reportOf(before), reportOf({ ...before, ...reported, ...first })]
  const same = old.name === fresh.name && old.address === fresh.address
  const none = fresh.name === null && fresh.address === null
  return { ...reported, ...first, reported_since: none ? null : (same && before.reported_since) || sql<Date>`now()` }
}

/** Makes confirmed what the agent reports. Throws NODE_REPORT_CONFLICT when another node has it. The row must be locked. */
export async function acceptReport(trx: Trx, row: NodeRow): Promise<NodeRow> {
  const fresh = differing(row)
  await lockIdentities(trx)
  for (const field of ['node_ip', 'fqdn'] as const) {
    const value = fresh[field] ?? null
    const holder = value === null ? undefined : await holderOf(trx, row.node_id, field, value)
    if (holder === undefined) continue
    throw new ApiError(
      'NODE_REPORT_CONFLICT',
      `${value} belongs to node ${holder.bmc_ip}. Accept what that node reports first, or delete it.`,
    )
  }
  return trx
    .updateTable('node')
    .set({ ...fresh, reported_since: null })
    .where('node_id', '=', row.node_id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The reported values that differ. Case does not matter, and of the short name only its first label: some systems show the full one. */
function differing(row: Confirmed & Reported): Partial<Confirmed> {
  const { reported_node_ip: node_ip, reported_fqdn: fqdn, reported_hostname: hostname } = row
  return {
    ...(node_ip === null || node_ip === row.node_ip ? {} : { node_ip }),
    ...(fqdn === null || lower(fqdn) === lower(row.fqdn) ? {} : { fqdn }),
    ...(hostname === null || label(hostname) === label(row.hostname) ? {} : { hostname }),
  }
}

/** What nobody declared is confirmed by the first report, unless another node has it. */
async function firstReport(trx: Trx, before: NodeRow, facts: NodeFacts): Promise<Partial<Confirmed>> {
  const confirmed: Partial<Confirmed> = {}
  for (const field of ['node_ip', 'fqdn', 'hostname'] as const) {
    const value = facts[field]
    if (before[field] !== null || value === null) continue
    await lockIdentities(trx)
    if ((await holderOf(trx, before.node_id, field, value)) === undefined) confirmed[field] = value
  }
  return confirmed
}

/** Two nodes that report one name at once must not both get it. */
async function lockIdentities(trx: Trx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCKS.node_identities})`.execute(trx)
}

/** Another node that has this address, or this name as its full or short one. */
function holderOf(trx: Trx, node_id: number, field: keyof Confirmed, value: string) {
  const others = trx.selectFrom('node').select('bmc_ip').where('node_id', '<>', node_id)
  const held =
    field === 'node_ip'
      ? others.where('node_ip', '=', value)
      : others.where(sql<boolean>`${value.toLowerCase()} in (lower(fqdn), lower(hostname))`)
  return held.limit(1).executeTakeFirst()
}

function lower(text: string | null): string | undefined {
  return text?.toLowerCase()
}

function label(name: string | null): string | undefined {
  return lower(name)?.split('.')[0]
}
