// The jobs that make, check and delete a guest network on every hypervisor node and on the compute platform: all or nothing.
import pLimit from 'p-limit'
import type { BridgeResult } from '#src/contract/network/guest-network-jobs.ts'
import { agentBridges, type BridgeReport } from '#src/contract/nodes/agent-bridges.ts'
import { defineJob, type Step } from '#src/jobs/define.ts'
import { ApiError, mapUpstreamError, UpstreamError } from '#src/kernel/errors.ts'
import { dropSite, type GuestNetworkSite, nameSite, reserveSite, saveBridgeResult } from '#src/store/guest-networks.ts'
import { allNodes } from '#src/store/nodes.ts'
import {
  createOnPlatform,
  deleteFromPlatform,
  isOnPlatform,
  takeOffPlatform,
  requireUnused,
} from './guest-network-platform.ts'
import {
  type GuestNetworkDeps,
  GuestNetworkInput,
  type GuestNetworkRun,
  GuestNetworkState,
} from './guest-network-run.ts'

type NetworkStep = Step<GuestNetworkDeps, GuestNetworkInput, GuestNetworkState>

const CALL_MS = 30_000
const AT_ONCE = 16

const shared = { input: GuestNetworkInput, state: GuestNetworkState, resource_type: 'GUEST_NETWORK' } as const

const makeOnNodes: NetworkStep = {
  name: 'nodes',
  title: 'Make the bridge on every node',
  weight: 4,
  retries: 0,
  run: (run) => onEveryNode(run, 'create', problemsOf),
  undo: async (run) => {
    await onEveryNode(run, 'delete', () => [], { keep_result: true })
  },
}

export const guestNetworkCreateJob = defineJob<GuestNetworkDeps>()({
  ...shared,
  type: 'network.create',
  steps: [
    {
      name: 'reach',
      title: 'Reach every node',
      retries: 0,
      run: (run) => onEveryNode(run, 'check', () => [], { unreachable: true }),
    },
    makeOnNodes,
    {
      name: 'platform',
      title: 'Make the network on the compute platform',
      weight: 2,
      run: async (run) => {
        const network_id = await createOnPlatform(run)
        await run.fenced((trx) => nameSite(trx, run.input.name, network_id))
        await run.about({ id: network_id, name: run.input.name })
      },
      undo: takeOffPlatform,
      // A call whose answer was lost may still be on its way: making it again at once could make two.
      retries: 0,
    },
  ],
  on_failure: 'undo',
  undo: (run) => run.fenced((trx) => dropSite(trx, run.input.name)),
  done: ({ input }) => `Guest network ${input.name} is there, on ${input.nodes.length} nodes.`,
})

export const guestNetworkDeleteJob = defineJob<GuestNetworkDeps>()({
  ...shared,
  type: 'network.delete',
  steps: [
    {
      name: 'unused',
      title: 'See that nobody uses the network',
      retries: 0,
      run: async (run) => {
        await requireUnused(run.deps.cloudstack, run.input, run.signal)
        await onEveryNode(run, 'check', attached, { unreachable: true })
      },
    },
    {
      name: 'nodes',
      title: 'Delete the bridge from every node',
      weight: 4,
      retries: 0,
      run: (run) => onEveryNode(run, 'delete', () => []),
      undo: async (run) => {
        await onEveryNode(run, 'create', () => [], { keep_result: true })
      },
    },
    {
      name: 'platform',
      title: 'Delete the network from the compute platform',
      weight: 2,
      holds: async (run) => !(await isOnPlatform(run)),
      run: deleteFromPlatform,
      point_of_no_return: true,
    },
    {
      name: 'forget',
      title: 'Forget the network',
      run: (run) => run.fenced((trx) => dropSite(trx, run.input.name)),
      // Bridges that are made again must be known, so that they can be deleted again.
      undo: async (run) => {
        await run.fenced((trx) => reserveSite(trx, siteOf(run.input)))
      },
    },
  ],
  on_failure: 'undo',
  done: ({ input }) => `Guest network ${input.name} is deleted from ${input.nodes.length} nodes.`,
})

export const guestNetworkCheckJob = defineJob<GuestNetworkDeps>()({
  ...shared,
  type: 'network.check',
  steps: [
    {
      name: 'platform',
      title: 'Look at the compute platform',
      retries: 0,
      run: async (run) => {
        if (await isOnPlatform(run)) return
        throw new ApiError('NETWORK_NOT_FOUND', `The compute platform has no network ${run.input.name} any more.`)
      },
    },
    {
      name: 'nodes',
      title: 'Look at every node',
      weight: 4,
      retries: 0,
      run: (run) => onEveryNode(run, 'check', problemsOf),
    },
  ],
  on_failure: 'stop',
  done: ({ input }) => `Guest network ${input.name} is as it should be on ${input.nodes.length} nodes.`,
})

function siteOf({ name, network_id, bridge }: GuestNetworkInput): GuestNetworkSite {
  return { name, network_id, ...bridge, nic: bridge.nic ?? null, mtu: bridge.mtu ?? null }
}

function problemsOf({ problems }: BridgeReport): string[] {
  return problems
}

function attached({ members, bridge }: BridgeReport): string[] {
  return members.length === 0 ? [] : [`${members.join(', ')} at ${bridge}`]
}

interface NodeOutcome {
  node: GuestNetworkInput['nodes'][number]
  error: string | null
  reachable: boolean
}

/** Asks all nodes, keeps what each said, and throws when one of them failed; every failure is named. */
async function onEveryNode(
  run: GuestNetworkRun,
  operation: 'create' | 'delete' | 'check',
  judge: (report: BridgeReport) => string[],
  { unreachable = false, keep_result = false } = {},
): Promise<void> {
  const { database } = run.deps
  const rows = new Map((await allNodes(database.db)).map((row) => [row.id, row]))
  const limit = pLimit(AT_ONCE)
  let done = 0
  const ask = async (node: NodeOutcome['node']): Promise<NodeOutcome> => {
    try {
      const row = rows.get(node.node_id)
      if (row === undefined) throw new ApiError('NODE_NOT_FOUND', `Node ${node.node_id} is not registered any more.`)
      const client = run.deps.agents.client(row, agentBridges.routes, { timeout_ms: CALL_MS, job: run })
      const body = run.input.bridge
      const report = await {
        create: client.agentBridgeCreate,
        delete: client.agentBridgeDelete,
        check: client.agentBridgeCheck,
      }[operation]({ body })
      const problems = judge(report)
      return { node, error: problems.length === 0 ? null : problems.join('; '), reachable: true }
    } catch (error) {
      return { node, error: sentenceOf(error), reachable: !(unreachable && error instanceof UpstreamError) }
    } finally {
      done += 1
      run.progress((100 * done) / run.input.nodes.length)
    }
  }
  const outcomes = await Promise.all(run.input.nodes.map((node) => limit(() => ask(node))))
  if (!keep_result) {
    const result = resultOf(run.input.bridge.bridge, outcomes)
    await run.fenced((trx) => saveBridgeResult(trx, run.job_id, result))
  }
  const failed = outcomes.filter(({ error }) => error !== null)
  if (failed.length === 0) return
  throw new ApiError('NETWORK_NODES_FAILED', failed.map(({ node, error }) => `${node.name}: ${error ?? ''}`).join(' '))
}

function resultOf(bridge_name: string, outcomes: readonly NodeOutcome[]): BridgeResult {
  const failed_nodes = outcomes.flatMap(({ node, error, reachable }) =>
    error === null ? [] : [{ error, fqdn: node.fqdn, node_ip: node.node_ip, reachable }],
  )
  const nodes = outcomes.filter(({ error }) => error === null).map(({ node }) => node.name)
  return {
    bridge_name,
    failed: failed_nodes.length,
    succeeded: nodes.length,
    total: outcomes.length,
    nodes,
    failed_nodes,
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof UpstreamError) return mapUpstreamError(error, null).message
  return error instanceof ApiError ? error.message : 'The node gave no usable answer.'
}
