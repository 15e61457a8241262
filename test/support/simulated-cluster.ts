// A management cluster as jobs meet it in a walk: members with agents, a database server on each, and an address that moves.
import assert from 'node:assert/strict'
import { checkConfig } from '#src/kernel/config.ts'
import type { ClusterPorts } from '#src/modules/lifecycle/cluster/ports.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import type { DatabaseCluster, DatabaseServer } from '#src/store/database-cluster.ts'
import type { Database } from '#src/store/database.ts'
import { send } from './job-harness.ts'
import { agentsOf, type SimulatedNode } from './setup-node.ts'

export interface SimulatedCluster {
  /** By the address of their BMC. */
  nodes: Map<string, SimulatedNode>
  /** Address of the server that was made as the primary, or promoted last. */
  primary: string
  /** Servers that were stopped. */
  stopped: Set<string>
  /** Slots of each server: name and the address that it is of. */
  slots: Map<string, Map<string, string>>
  /** Who streams from whom. */
  followed: Map<string, string>
  promotions: string[]
  /** Nodes that had the virtual address, in their order. */
  vip: string[]
  /** Control planes that nobody set up by a job. */
  by_hand: Set<string>
}

export function simulatedCluster(primary: string): SimulatedCluster {
  return {
    nodes: new Map(), primary, stopped: new Set(), slots: new Map(), followed: new Map(), promotions: [], vip: [], by_hand: new Set(),
  } // biome-ignore format: one record
}

/** Without any: for walks of nodes that are no members. */
export const NO_CLUSTER: ClusterPorts = {
  own_address: undefined,
  virtual_addresses: [],
  virtual_router_id: 51,
  database_host: undefined,
  servers: undefined,
  peers: { call: () => Promise.reject(new Error('there are no peers')) },
  version: '1',
  data_dir: '/var/lib/groundplane/control',
  checkUrl: () => 'http://127.0.0.1:8080/readyz',
  configOf: () => ({ control_config: '{}\n', environment: {} }),
  keys: async () => 'keys\n',
  settle_ms: 0,
  poll_ms: 1,
}

export function portsOf(cluster: SimulatedCluster, database: Database, own_address: string): ClusterPorts {
  return {
    ...NO_CLUSTER,
    own_address,
    virtual_addresses: ['10.60.0.100/24'],
    servers: serversOf(cluster),
    peers: {
      async call(address, method) {
        if (!answers(cluster, address)) throw new Error('connect ECONNREFUSED')
        if (method === 'POST')
          await send('keys', () =>
            database.db.updateTable('ha_member').set({ filesync_key: 'ssh-ed25519 AAAA' }).execute(),
          )
        return {}
      },
    },
  }
}

function answers({ nodes, by_hand }: SimulatedCluster, address: string): boolean {
  return (
    by_hand.has(address) || [...nodes.values()].some((node) => node.node_ip === address && node.areas.has('services'))
  )
}

export function agentsOfCluster(cluster: SimulatedCluster): NodeAgents {
  const more = (node: SimulatedNode) => ({
    agentFailoverRead: async () => ({
      held: holderNow(cluster) === node.node_ip ? ['10.60.0.100'] : [],
      answered_by_others: [],
      daemon_running: node.areas.has('failover'),
    }),
    agentDatabaseRun: ({ body: { running } }: { body: { running: boolean } }) =>
      send(running ? 'database-start' : 'database-stop', () => {
        if (running) cluster.stopped.delete(node.node_ip)
        else cluster.stopped.add(node.node_ip)
        return { checkpoint: '0/10' }
      }),
    haScriptsReconcile: () =>
      send('scripts', () => ({ checked: 3, ok: [], restored: [], failed: [], unknown: [], reloaded: false })),
  })
  return agentsOf((row) => cluster.nodes.get(row.bmc_ip) ?? assert.fail(`no agent of ${row.bmc_ip}`), more)
}

/** The one who has it keeps it; else the one of the greatest priority takes it. */
function holderNow({ nodes, vip }: SimulatedCluster): string | undefined {
  const daemons = [...nodes.values()].flatMap(({ node_ip, areas }) => {
    const area = areas.get('failover')
    return area === undefined ? [] : [{ node_ip, priority: (area.document as { priority: number }).priority }]
  })
  const now = vip.at(-1)
  if (daemons.some(({ node_ip }) => node_ip === now)) return now
  const [next] = daemons.toSorted((one, other) => other.priority - one.priority)
  if (next !== undefined) vip.push(next.node_ip)
  return next?.node_ip
}

function serverAt(cluster: SimulatedCluster, address: string): DatabaseServer | undefined {
  if (cluster.stopped.has(address)) return undefined
  const is_primary = cluster.primary === address
  const source = sourceOf(cluster, address)
  if (!is_primary && source === undefined) return undefined
  const receives_from = is_primary ? null : (source ?? null)
  return { address, is_primary, system_identifier: '7000000000000000001', position: '0/20', receives_from }
}

/** Where a standby streams from. */
function sourceOf({ nodes, followed }: SimulatedCluster, address: string): string | undefined {
  const node = [...nodes.values()].find(({ node_ip }) => node_ip === address)
  const document = node?.areas.get('database')?.document as { primary: { host: string } } | undefined
  return document === undefined ? undefined : (followed.get(address) ?? document.primary.host)
}

export function standbysOf(cluster: SimulatedCluster, primary: string): string[] {
  const addresses = [...cluster.nodes.values()].map(({ node_ip }) => node_ip)
  return addresses.filter((one) => one !== primary && serverAt(cluster, one)?.receives_from === primary)
}

function serversOf(cluster: SimulatedCluster): DatabaseCluster {
  const slotsAt = (address: string): Map<string, string> => {
    const slots = cluster.slots.get(address) ?? new Map<string, string>()
    cluster.slots.set(address, slots)
    return slots
  }
  const { replication } = checkConfig({
    database: { replication: { username: 'copier', password: 'secret' } },
  }).database
  return {
    settings: replication ?? assert.fail(),
    servers: async (addresses) =>
      addresses.map((address) => serverAt(cluster, address)).filter((one) => one !== undefined),
    standbys: async (primary) =>
      standbysOf(cluster, primary).map((address) => ({ address, streaming: true, behind_bytes: 0 })),
    slots: async (primary) =>
      [...slotsAt(primary)].map(([name, address]) => {
        const active = standbysOf(cluster, primary).includes(address)
        return { name, active, client_address: active ? address : null, wal_status: 'reserved', retained_bytes: 0 }
      }),
    ensureSlot: (primary, name, address) => send('slot', () => void slotsAt(primary).set(name, address)),
    dropSlot: (primary, name, address) =>
      send('drop-slot', () => {
        assert.equal(slotsAt(primary).get(name) ?? address, address, 'a slot of another node is never dropped')
        slotsAt(primary).delete(name)
      }),
    promote: (address) =>
      send('promote', () => {
        if (cluster.primary === address) return
        assert.ok(cluster.stopped.has(cluster.primary), 'two servers never take writes at once')
        cluster.primary = address
        cluster.promotions.push(address)
      }),
    follow: (address, primary) => send('follow', () => void cluster.followed.set(address, primary)),
  }
}
