// What the registry and the database tell of the management cluster.
import { sql } from 'kysely'
import type { Db } from '#src/store/database.ts'
import { allNodes, isOnline, type NodeRow } from '#src/store/nodes.ts'
import type { ClusterReading } from './readings.ts'

/** Replay that is this far behind counts as caught up. */
const LAG_BYTES = 16 * 1024 * 1024

/** Replication slot of a management node. */
export function slotOf({ node_id }: Pick<NodeRow, 'node_id'>): string {
  return `mgmt_${node_id}`
}

export async function readCluster(db: Db, node: NodeRow, offline_after_ms: number): Promise<ClusterReading> {
  const others = (await allNodes(db)).filter((one) => one.role === 'management' && one.node_id !== node.node_id)
  const own = [...(node.node_ip === null ? [] : [node.node_ip]), ...(node.addresses ?? [])]
  const [server, standbys, slots] = await Promise.all([
    sql<{ address: string | null }>`select host(inet_server_addr()) as address`.execute(db),
    sql<{ address: string | null; behind: number | null }>`
      select host(client_addr) as address, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 as behind
        from pg_stat_replication where state = 'streaming' and not pg_is_in_recovery()`.execute(db),
    sql<{ name: string; address: string | null }>`
      select slot_name as name, host(client_addr) as address
        from pg_replication_slots left join pg_stat_replication on pid = active_pid where slot_name = ${slotOf(node)}`.execute(
      db,
    ),
  ])
  const isOwn = (address: string | null): boolean => address !== null && own.includes(address)
  const at = server.rows[0]?.address ?? null
  const [slot] = slots.rows
  return {
    others_healthy: others.filter((one) => isOnline(one, offline_after_ms)).length,
    database: isOwn(at) ? 'primary' : standbys.rows.some(({ address }) => isOwn(address)) ? 'standby' : 'unknown',
    has_caught_up_standby: standbys.rows.some(
      ({ address, behind }) => !isOwn(address) && (behind ?? Infinity) < LAG_BYTES,
    ),
    slot: slot === undefined ? null : { name: slot.name, active_for: isOwn(slot.address) ? null : slot.address },
  }
}
