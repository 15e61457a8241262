// The verdict over each node, kept in its row.
import { sql } from 'kysely'
import { HEALTHS, type HealthArea, type NodeHealth } from '#src/contract/nodes/health.ts'
import type { Db, Trx } from './database.ts'
import type { NodeRow } from './nodes.ts'

export type Health = NodeHealth['health']

export function nodeHealthOf(row: NodeRow): NodeHealth {
  return {
    bmc_ip: row.bmc_ip,
    node_ip: row.node_ip,
    fqdn: row.fqdn,
    health: row.health ?? 'unknown',
    since: row.health_since?.toISOString() ?? null,
    checked_at: row.health_checked_at?.toISOString() ?? null,
    areas: row.health_areas as HealthArea[],
  }
}

export async function saveHealth(
  trx: Trx,
  node_id: number,
  health: Health,
  areas: readonly HealthArea[],
): Promise<void> {
  await trx
    .updateTable('node')
    .set({
      health,
      health_areas: JSON.stringify(areas),
      health_checked_at: sql<Date>`now()`,
      health_since: sql<Date>`case when health = ${health} then health_since else now() end`,
    })
    .where('node_id', '=', node_id)
    .execute()
}

/** That nothing about these nodes has changed. */
export async function confirmHealth(db: Db, node_ids: readonly number[]): Promise<void> {
  if (node_ids.length === 0) return
  await db
    .updateTable('node')
    .set({ health_checked_at: sql<Date>`now()` })
    .where(sql<boolean>`node_id = any(${[...node_ids]}::int[])`)
    .execute()
}

export type HealthCounts = Record<Health, number>

export async function countHealths(db: Db): Promise<HealthCounts> {
  const rows = await db
    .selectFrom('node')
    .select((eb) => [sql<Health>`coalesce(health, 'unknown')`.as('health'), eb.fn.countAll<number>().as('count')])
    .groupBy(sql`coalesce(health, 'unknown')`)
    .execute()
  const counts: HealthCounts = { healthy: 0, degraded: 0, critical: 0, unknown: 0 }
  for (const { health, count } of rows) counts[health] = Number(count)
  return counts
}

/** Worst first. */
export async function listHealths(
  db: Db,
  health: Health | undefined,
  { page, page_size }: { page: number; page_size: number },
): Promise<NodeHealth[]> {
  const rank = sql`array_position(${[...WORST_FIRST]}::text[], coalesce(health, 'unknown'))`
  let query = db.selectFrom('node').selectAll()
  if (health !== undefined) query = query.where(sql<boolean>`coalesce(health, 'unknown') = ${health}`)
  const rows = await query
    .orderBy(rank)
    .orderBy('node_id')
    .limit(page_size)
    .offset((page - 1) * page_size)
    .execute()
  return rows.map(nodeHealthOf)
}

const WORST_FIRST: readonly Health[] = ['critical', 'degraded', 'unknown', 'healthy']

/** Healthy where nothing is worse; of what nobody knows nothing is said while something is wrong. */
export function worstOf(healths: Iterable<Health>): Health {
  const all = new Set(healths)
  return WORST_FIRST.find((health) => all.has(health)) ?? HEALTHS[0]
}
