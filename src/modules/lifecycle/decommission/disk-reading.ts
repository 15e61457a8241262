// The disks of a node: those that are recorded, and those that are there.
import { hostStorage } from '#src/contract/storage/host.ts'
import { lastInventory } from '#src/store/bmcs.ts'
import type { Database } from '#src/store/database.ts'
import { disksOfOthers } from '#src/store/decommissions.ts'
import { knownDisks } from '#src/store/node-lifecycle.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import type { NodeAgents } from '../../node-agents.ts'
import type { DiskReading } from './readings.ts'

interface DiskDeps {
  database: Database
  agents: Pick<NodeAgents, 'client'>
  budget_ms: number
}

export async function readDisks(
  { database: { db }, agents, budget_ms }: DiskDeps,
  node: NodeRow,
  signal: AbortSignal,
): Promise<DiskReading> {
  const [recorded, inventory] = await Promise.all([knownDisks(db, node.node_id), lastInventory(db, node.bmc_ip)])
  const serials = [...recorded.map(({ serial }) => serial), ...(inventory?.drives ?? []).map(({ serial }) => serial)]
  const known = [...new Set(serials.filter((serial) => serial !== null))]
  // What is recorded is all that there is to go by where no agent was ever there.
  const present = node.certificate === null ? [] : await presentDisks(agents, node, budget_ms, signal)
  const data = present
    .filter(({ allocated_to }) => allocated_to === 'clusterstore')
    .flatMap(({ serial }) => serial ?? [])
  const unknown = present.filter(({ serial }) => serial === null || !known.includes(serial))
  const all = [...new Set([...known, ...present.flatMap(({ serial }) => serial ?? [])])]
  const shared = await disksOfOthers(db, node.bmc_ip, all)
  return {
    known: known.toSorted(),
    data: data.filter((serial) => known.includes(serial)).toSorted(),
    unknown: unknown.map(({ serial, device }) => serial ?? device).toSorted(),
    shared,
  }
}

async function presentDisks(agents: DiskDeps['agents'], node: NodeRow, timeout_ms: number, signal: AbortSignal) {
  const client = agents.client(node, hostStorage.routes, { timeout_ms, signal })
  const { disks } = await client.hostDiskList({ query: { page_size: 500 } })
  if (disks === null) throw new Error('the node does not tell its disks')
  return disks
}
