// The database of a management node within that of the cluster: its slot, its copy, and what its primary sees of it.
import { agentFailover } from '#src/contract/nodes/agent-failover.ts'
import type { DatabaseDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import {
  comparePositions,
  type DatabaseCluster,
  type DatabaseServer,
  type StandbyView,
} from '#src/store/database-cluster.ts'
import { type HaMemberRow, haMembers } from '#src/store/ha-members.ts'
import { findNode } from '#src/store/nodes.ts'
import type { ReplicationSlot } from '#src/store/replication.ts'
import type { ClusterRun } from './ports.ts'

/** Replay that is this far behind counts as caught up. */
export const LAG_BYTES = 16 * 1024 * 1024
export const hasCaughtUp = ({ streaming, behind_bytes }: StandbyView): boolean => streaming && behind_bytes < LAG_BYTES
const RUN_MS = 120_000

/** Replication slot of a management node. */
export function slotOf({ node_id }: { node_id: number }): string {
  return `mgmt_${node_id}`
}

export function serversOf({ deps }: Pick<ClusterRun, 'deps'>): DatabaseCluster {
  const { servers } = deps.cluster
  // Steps that come here apply only where one is.
  if (servers === undefined) throw new Error('no database is replicated')
  return servers
}

export async function serversNow(run: Pick<ClusterRun, 'deps'>): Promise<DatabaseServer[]> {
  const members = await haMembers(run.deps.database.db)
  return serversOf(run).servers(members.map(({ address }) => address))
}

/** Throws unless exactly one member has it. */
export async function primaryOf(run: Pick<ClusterRun, 'deps'>): Promise<DatabaseServer> {
  const [primary, ...others] = (await serversNow(run)).filter(({ is_primary }) => is_primary)
  if (primary !== undefined && others.length === 0) return primary
  const found = primary === undefined ? 'No member' : [primary, ...others].map(({ address }) => address).join(' and ')
  throw new ApiError('NODE_STATE', `${found} answers as the primary database; exactly one member must. See \`groundplane ha member-list\`.`) // biome-ignore format: one sentence
}

export async function standbyDocument(run: Pick<ClusterRun, 'deps' | 'input' | 'job_id'>): Promise<DatabaseDocument> {
  const { version, cluster, username, password, port } = serversOf(run).settings
  const { address, system_identifier } = await primaryOf(run)
  return {
    version,
    cluster,
    primary: { host: address, port, user: username, password },
    slot: slotOf(run.input),
    system_identifier,
    job_id: run.job_id,
  }
}

export async function ownSlot(run: ClusterRun): Promise<ReplicationSlot | undefined> {
  return slotOn(run, await primaryOf(run))
}

async function slotOn(run: ClusterRun, primary: DatabaseServer): Promise<ReplicationSlot | undefined> {
  return (await serversOf(run).slots(primary.address)).find(({ name }) => name === slotOf(run.input))
}

/** As the primary sees it: it streams from its own slot, and is hardly behind. */
export async function isCaughtUp(run: ClusterRun, address: string): Promise<boolean> {
  const primary = await primaryOf(run)
  const standbys = await serversOf(run).standbys(primary.address)
  const is_close = standbys.some((one) => one.address === address && hasCaughtUp(one))
  const slot = await slotOn(run, primary)
  return is_close && slot?.active === true && slot.client_address === address
}

export interface Switchover {
  from: HaMemberRow
  to: HaMemberRow
  /** Members beside these two. */
  others: readonly HaMemberRow[]
}

/** The standby that takes over: the first in the order of failover that has caught up. */
export async function switchoverFrom(run: ClusterRun, from: HaMemberRow): Promise<Switchover> {
  const members = (await haMembers(run.deps.database.db)).filter(({ bmc_ip }) => bmc_ip !== from.bmc_ip)
  const standbys = await serversOf(run).standbys(from.address)
  const to = members.find(({ address }) => standbys.some((one) => one.address === address && hasCaughtUp(one)))
  if (to === undefined)
    throw new ApiError('NODE_STATE', `No standby has caught up with the primary database on ${from.address}; set another management node up first.`) // biome-ignore format: one sentence
  return { from, to, others: members.filter((one) => one !== to) }
}

/**
 * From the stop of the old primary to the promotion of the new one the service may have no database, so nothing is written down
 * in between, and nothing but its own failure ends it. A clean stop ends when the standby has everything; that is checked before
 * it is promoted, or the old one goes on.
 */
export async function switchOver(run: ClusterRun, { from, to, others }: Switchover): Promise<void> {
  const servers = serversOf(run)
  const old = await databaseOf(run, from)
  const { checkpoint } = await old(false)
  try {
    const [standby] = await servers.servers([to.address])
    if (standby === undefined || comparePositions(standby.position, checkpoint) <= 0)
      throw new ApiError('NODE_STATE', `The standby on ${to.address} has not received everything up to ${checkpoint}, so ${from.address} stays the primary.`) // biome-ignore format: one sentence
  } catch (error) {
    await old(true)
    throw error
  }
  await servers.promote(to.address)
  for (const { address, node_id } of others) {
    await servers.ensureSlot(to.address, slotOf({ node_id }), address)
    await servers.follow(address, to.address, slotOf({ node_id }))
  }
}

/** Starts and stops the server of a member. The row of the node is read at once: later there may be nothing to read it from. */
async function databaseOf({ deps, job_id, epoch, step }: ClusterRun, { bmc_ip }: HaMemberRow) {
  const { version, cluster } = serversOf({ deps }).settings
  const row = await findNode(deps.database.db, bmc_ip)
  // It is the node that leaves, and no node is deleted while a job of it runs.
  if (row === undefined) throw new Error(`member ${bmc_ip} is not registered`)
  const client = deps.agents.client(row, agentFailover.routes, { timeout_ms: RUN_MS, job: { job_id, epoch, step } })
  return (running: boolean) => client.agentDatabaseRun({ body: { version, cluster, running } })
}
