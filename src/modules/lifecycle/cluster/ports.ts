// What jobs of management nodes work with: the members' databases, their failover, and calls between members.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, configOfMember, type MemberConfig } from '#src/kernel/config.ts'
import type { Run } from '#src/jobs/define.ts'
import { createDatabaseCluster, type DatabaseCluster } from '#src/store/database-cluster.ts'
import type { Database } from '#src/store/database.ts'
import { type HaMemberRow, haMembers } from '#src/store/ha-members.ts'
import { createMemberIdentity, createPeerCalls, type PeerCalls } from '../../ha/peer-calls.ts'
import type { Parts } from '../../module.ts'
import type { NodeAgents } from '../../node-agents.ts'

export interface ClusterPorts {
  /** Of the replica that runs the job; undefined: it is no member of a cluster. */
  own_address: string | undefined
  virtual_addresses: readonly string[]
  virtual_router_id: number
  /** Host of the URL of the database. */
  database_host: string | undefined
  /** Undefined: no database is replicated between the members. */
  servers: DatabaseCluster | undefined
  peers: Pick<PeerCalls, 'call'>
  /** Of every member. */
  version: string
  data_dir: string
  /** Where the API of a member answers that member itself. */
  checkUrl(address: string): string
  configOf(address: string): MemberConfig
  /** Text of the key file. */
  keys(): Promise<string>
  /** So long a new standby must keep up. */
  settle_ms: number
  /** How often something is asked that takes a while. */
  poll_ms: number
}

export interface ClusterDeps {
  database: Database
  agents: NodeAgents
  cluster: ClusterPorts
}

/** What is needed of a job. */
export type ClusterRun = Pick<
  Run<ClusterDeps, { bmc_ip: string; node_id: number }>,
  'deps' | 'input' | 'job_id' | 'epoch' | 'step' | 'signal' | 'note' | 'fenced' | 'repeatAfter'
>

/** Nodes join and leave one at a time. */
export const MANAGEMENT_CHANGES = 'changes of management nodes'

const SETTLE_MS = 30_000
const POLL_MS = 2000
export const KEY_FILE = 'keys'

export function createClusterPorts({ config, ca, log, version }: Parts): ClusterPorts {
  const { database, ha, data_dir, listen } = config
  const { address: own_address } = ha
  return {
    own_address,
    virtual_addresses: ha.virtual_addresses,
    virtual_router_id: ha.virtual_router_id,
    database_host: database.url === undefined ? undefined : new URL(database.url).hostname,
    servers: database.replication === undefined ? undefined : createDatabaseCluster(database.replication, log),
    peers: createPeerCalls(createMemberIdentity(ca, own_address ?? ''), ha.port),
    version,
    data_dir,
    checkUrl: (address) => checkUrl(listen, own_address, address),
    configOf: (address) => configOfMember(config, address),
    keys: () => readFile(join(data_dir, KEY_FILE), 'utf8'),
    settle_ms: SETTLE_MS,
    poll_ms: POLL_MS,
  }
}

function checkUrl({ host, port }: Config['listen'], own: string | undefined, address: string): string {
  const at = host === own ? address : '127.0.0.1'
  return `http://${at.includes(':') ? `[${at}]` : at}:${port}/readyz`
}

export function memberOf({ deps, input }: Pick<ClusterRun, 'deps' | 'input'>): Promise<HaMemberRow | undefined> {
  return haMembers(deps.database.db).then((members) => members.find(({ bmc_ip }) => bmc_ip === input.bmc_ip))
}

export async function otherMembers({ deps, input }: Pick<ClusterRun, 'deps' | 'input'>): Promise<HaMemberRow[]> {
  return (await haMembers(deps.database.db)).filter(({ bmc_ip }) => bmc_ip !== input.bmc_ip)
}
