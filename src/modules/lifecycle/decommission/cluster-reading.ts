// What the registry, the list of members and their databases tell of the management cluster.
import { sql } from 'kysely'
import type { Config } from '#src/kernel/config.ts'
import type { Db } from '#src/store/database.ts'
import { type HaMemberRow, haMembers } from '#src/store/ha-members.ts'
import { allNodes, isOnline, type NodeRow } from '#src/store/nodes.ts'
import { hasCaughtUp, LAG_BYTES, slotOf } from '../cluster/database.ts'
import type { ClusterPorts } from '../cluster/ports.ts'
import type { ClusterReading } from './readings.ts'

export interface ClusterSource {
  database: { db: Db }
  cluster: ClusterPorts
  config: Pick<Config, 'dns' | 'dhcp' | 'technitium' | 'nodes'>
}

type DatabaseReading = Pick<ClusterReading, 'database' | 'has_caught_up_standby' | 'slot'>

export async function readCluster(
  { database, cluster, config }: ClusterSource,
  node: NodeRow,
): Promise<ClusterReading> {
  const { db } = database
  const members = await haMembers(db)
  const own = members.find(({ bmc_ip }) => bmc_ip === node.bmc_ip)
  const nodes = await allNodes(db)
  const others = nodes.filter((one) => one.role === 'management' && one.node_id !== node.node_id)
  const online = others.filter((one) => isOnline(one, config.nodes.offline_after_ms))
  const addresses = [own?.address, node.node_ip, ...(node.addresses ?? [])].filter((one) => one != null)
  return {
    others_healthy: online.length,
    ...(cluster.servers === undefined || own === undefined
      ? await readOwnConnection(db, node, addresses)
      : await readServers(cluster.servers, own, members)),
    vip: cluster.virtual_addresses.length === 0 ? 'none' : vipOf(own, members),
    can_take_vip: online.some((one) => members.some(({ bmc_ip }) => bmc_ip === one.bmc_ip)),
    served_here: serversOn(addresses, own?.address === cluster.own_address, config),
  }
}

async function readServers(
  servers: NonNullable<ClusterPorts['servers']>,
  own: HaMemberRow,
  members: readonly HaMemberRow[],
): Promise<DatabaseReading> {
  const found = await servers.servers(members.map(({ address }) => address))
  const [primary, ...more] = found.filter(({ is_primary }) => is_primary)
  if (primary === undefined || more.length > 0) return { database: 'unknown', has_caught_up_standby: false, slot: null }
  const [standbys, slots] = await Promise.all([servers.standbys(primary.address), servers.slots(primary.address)])
  const slot = slots.find(({ name }) => name === slotOf(own))
  return {
    database: primary.address === own.address ? 'primary' : 'standby',
    has_caught_up_standby: standbys.some((one) => one.address !== own.address && hasCaughtUp(one)),
    slot:
      slot === undefined
        ? null
        : { name: slot.name, active_for: slot.client_address === own.address ? null : slot.client_address },
  }
}

/** Without the members' own servers: what the connection of the service tells. */
async function readOwnConnection(db: Db, node: NodeRow, own: readonly string[]): Promise<DatabaseReading> {
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
  const is_standby = standbys.rows.some(({ address }) => isOwn(address))
  return {
    database: isOwn(at) ? 'primary' : is_standby ? 'standby' : 'unknown',
    has_caught_up_standby: standbys.rows.some(
      ({ address, behind }) => !isOwn(address) && (behind ?? Infinity) < LAG_BYTES,
    ),
    slot: slot === undefined ? null : { name: slot.name, active_for: isOwn(slot.address) ? null : slot.address },
  }
}

function vipOf(own: HaMemberRow | undefined, members: readonly HaMemberRow[]): ClusterReading['vip'] {
  if (own === undefined) return 'none'
  if (own.holds_vip === true) return 'this'
  return own.holds_vip === false && members.some(({ holds_vip }) => holds_vip === true) ? 'other' : 'unknown'
}

/** Servers for names and DHCP that the configuration looks for on this node. */
function serversOn(
  own: readonly string[],
  is_here: boolean,
  { dns, dhcp, technitium }: ClusterSource['config'],
): string[] {
  const urls = [dns.powerdns.url, dhcp.kea.url, technitium.url].filter((url) => url !== undefined && URL.canParse(url))
  const found = urls.filter((url) => own.includes(new URL(url ?? '').hostname.replaceAll(/[[\]]/g, '')))
  return [...found, ...(is_here && dhcp.kea.socket !== undefined ? [dhcp.kea.socket] : [])].filter(
    (one) => one !== undefined,
  )
}
