// The routers of the fabric as their nodes report them.
import { agent } from '#src/contract/agent.ts'
import type { Db } from '#src/store/database.ts'
import { allNodes, type NodeRow } from '#src/store/nodes.ts'
import type { NodeAgents } from '../../node-agents.ts'
import { type FabricRole, fabricRole, type Router } from './fabric-role.ts'
import type { Share } from './shared-reading.ts'

export interface FabricReading {
  role: FabricRole
  /** Nodes whose routers did not answer. */
  silent: readonly string[]
}

interface FabricSource {
  database: { db: Db }
  agents: Pick<NodeAgents, 'client'>
  share: Share
}

/** Throws when no node of the fabric answers. */
export async function readFabric(
  { database, agents, share }: FabricSource,
  node: NodeRow,
  timeout_ms: number,
): Promise<FabricReading> {
  const asked = await share('routers', ({ signal }) => readRouters(database.db, agents, signal, timeout_ms))
  const answers = asked.flatMap(({ row, router }) => (router === undefined ? [] : [{ row, router }]))
  if (asked.length > 0 && answers.length === 0) throw new Error('no node tells of its router')
  const own = answers.find(({ row }) => row.node_id === node.node_id)?.router
  const self: Router = own ?? { name: nameOf(node), addresses: addressesOf(node), peers: [] }
  const others = answers.filter(({ row }) => row.node_id !== node.node_id).map(({ router }) => router)
  const silent = asked.filter(({ router }) => router === undefined).map(({ row }) => nameOf(row))
  return { role: fabricRole(self, others), silent }
}

async function readRouters(
  db: Db,
  agents: Pick<NodeAgents, 'client'>,
  signal: AbortSignal,
  timeout_ms: number,
): Promise<{ row: NodeRow; router: Router | undefined }[]> {
  const enrolled = (await allNodes(db)).filter(({ certificate }) => certificate !== null)
  return Promise.all(enrolled.map(async (row) => ({ row, router: await readRouter(agents, row, signal, timeout_ms) })))
}

async function readRouter(
  agents: Pick<NodeAgents, 'client'>,
  row: NodeRow,
  signal: AbortSignal,
  timeout_ms: number,
): Promise<Router | undefined> {
  try {
    const { bgp } = await agents.client(row, agent.routes, { timeout_ms, signal }).agentFrr()
    const sessions = (bgp?.sessions ?? []).filter(({ state }) => state === 'Established')
    const router_id = bgp?.router_id ?? null
    const addresses = new Set([...addressesOf(row), ...(router_id === null ? [] : [router_id])])
    return { name: nameOf(row), addresses, peers: sessions.flatMap(({ peer, hostname }) => [peer, hostname ?? peer]) }
  } catch {
    return undefined
  }
}

function nameOf({ hostname, fqdn, bmc_ip }: NodeRow): string {
  return hostname ?? fqdn ?? bmc_ip
}

function addressesOf({ node_ip, addresses }: NodeRow): Set<string> {
  return new Set([...(node_ip === null ? [] : [node_ip]), ...(addresses ?? [])])
}
