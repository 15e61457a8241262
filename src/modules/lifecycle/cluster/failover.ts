// The failover daemons of the members: one document each, made of the same list, and who holds the virtual addresses.
import { join } from 'node:path'
import { agentFailover } from '#src/contract/nodes/agent-failover.ts'
import type { FailoverDocument } from '#src/contract/nodes/failover-document.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { HaMemberRow } from '#src/store/ha-members.ts'
import { findNode, type NodeRow } from '#src/store/nodes.ts'
import { applyDesired, desiredHolds, type DesiredTarget, readDesired } from '../desired.ts'
import type { ClusterPorts, ClusterRun } from './ports.ts'

const CALL_MS = 15_000
/** Of the unit of the control plane. */
const SCRIPT_USER = 'groundplane'

export type Member = Pick<HaMemberRow, 'bmc_ip' | 'address' | 'interface' | 'priority'>

export function failoverDocument(ports: ClusterPorts, member: Member, members: readonly Member[]): FailoverDocument {
  return {
    address: member.address,
    interface: member.interface,
    priority: member.priority,
    peers: members.map(({ address }) => address).filter((address) => address !== member.address),
    virtual_addresses: [...ports.virtual_addresses],
    virtual_router_id: ports.virtual_router_id,
    check_url: ports.checkUrl(member.address),
    ha_dir: join(ports.data_dir, 'ha'),
    script_user: SCRIPT_USER,
  }
}

export function targetOf({ deps }: Pick<ClusterRun, 'deps'>, bmc_ip: string): DesiredTarget {
  return { agents: deps.agents, node: () => rowOf(deps, bmc_ip) }
}

async function rowOf({ database }: ClusterRun['deps'], bmc_ip: string): Promise<NodeRow> {
  const node = await findNode(database.db, bmc_ip)
  if (node === undefined) throw new ApiError('NODE_NOT_FOUND', `Member ${bmc_ip} is not registered any more.`)
  return node
}

/** Whether each of them is configured for exactly this list. */
export async function areRolledOut(run: ClusterRun, members: readonly Member[]): Promise<boolean> {
  for (const member of members) {
    const document = failoverDocument(run.deps.cluster, member, members)
    if (!(await desiredHolds(targetOf(run, member.bmc_ip), run, 'failover', document))) return false
  }
  return true
}

/** Those whose daemon is configured by us; that of others is left to whoever did it. */
export async function configuredOf(run: ClusterRun, members: readonly Member[]): Promise<Member[]> {
  const found: Member[] = []
  for (const member of members) {
    const { verdict } = await readDesired(targetOf(run, member.bmc_ip), run, 'failover')
    if (verdict !== 'empty') found.push(member)
  }
  return found
}

/**
 * One after the other, who has the addresses last but for a new one: that would take them as well while nobody sends it what
 * tells it to wait.
 */
export async function rollOut(
  run: ClusterRun,
  members: readonly Member[],
  { joining, targets = members }: { joining?: string; targets?: readonly Member[] } = {},
): Promise<void> {
  const holding = await holders(run, targets)
  const turn = ({ bmc_ip }: Member): number => (bmc_ip === joining ? 2 : holding.includes(bmc_ip) ? 1 : 0)
  for (const member of targets.toSorted((one, other) => turn(one) - turn(other))) {
    const document = failoverDocument(run.deps.cluster, member, members)
    await applyDesired(targetOf(run, member.bmc_ip), run, 'failover', document)
    await run.note('INFO', `The failover daemon of ${member.address} knows ${members.length} members.`)
  }
}

/** Members that have a virtual address, by what their kernels say. Throws when one cannot be asked. */
export async function holders(run: ClusterRun, members: readonly Member[]): Promise<string[]> {
  const held = await Promise.all(members.map(({ bmc_ip }) => holdsAddress(run, bmc_ip)))
  return members.filter((_member, at) => held[at] === true).map(({ bmc_ip }) => bmc_ip)
}

export async function holdsAddress(run: ClusterRun, bmc_ip: string): Promise<boolean> {
  const { agents, cluster } = run.deps
  const addresses = cluster.virtual_addresses.map((one) => one.split('/')[0] ?? one).join(',')
  const client = agents.client(await rowOf(run.deps, bmc_ip), agentFailover.routes, {
    timeout_ms: CALL_MS,
    signal: run.signal,
  })
  return (await client.agentFailoverRead({ query: { addresses } })).held.length > 0
}
