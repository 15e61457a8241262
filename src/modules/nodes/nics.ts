// NICs of a node during its configuration (Part 2, 4.4): asked of the agent on that node, or of this machine where the node is
// the one that this replica runs on and no agent has enrolled from it.
import { agentNetwork } from '#src/contract/nodes/agent-network.ts'
import type { nodeNics } from '#src/contract/nodes/nics.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'
import { findNode, type NodeRow } from '#src/store/nodes.ts'
import { type NodeAgents, type OwnNode, sameRequest } from '../node-agents.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { found } from './registry.ts'

export interface NodeNicDeps extends ChangeDeps {
  agents: Pick<NodeAgents, 'client'>
  own_node: Pick<OwnNode, 'is' | 'handlers'>
}

const TIMEOUT_MS = 15_000

export function nodeNicHandlers(deps: NodeNicDeps): Handlers<typeof nodeNics.routes, RequestContext> {
  const nodeAt = async (path: string, text: string) =>
    found(await findNode(deps.database.db, addressOf(path, text)), text)
  const clientOf = (node: NodeRow, { signal, traceparent }: RequestContext) =>
    deps.agents.client(node, agentNetwork.routes, { timeout_ms: TIMEOUT_MS, signal, traceparent })
  const isHere = (node: NodeRow): boolean => node.certificate === null && deps.own_node.is(node)
  return {
    async nodeNicsList({ params, query }, ctx) {
      const node = await nodeAt('params.bmcIP', params.bmcIP)
      const called_on = managementAddress(node)
      const status = query.status?.toLowerCase()
      const asked = { ...(called_on === null ? {} : { called_on }), ...(status === undefined ? {} : { status }) }
      if (!isHere(node)) return clientOf(node, ctx).agentNicsList({ query: asked }, sameRequest(ctx))
      const { agentNicsList } = await deps.own_node.handlers()
      return agentNicsList({ params: undefined, query: asked, body: undefined }, ctx)
    },
    async nodeNicBlink({ params, body }, ctx) {
      const node = await nodeAt('params.nodeIP', params.nodeIP)
      const about = {
        resource_type: 'NODE',
        resource_uuid: node.id,
        description: `Blink LED of ${body.interfaceName} on node ${node.bmc_ip}`,
      }
      return recordChange(deps, ctx, about, async () => {
        if (!isHere(node)) return clientOf(node, ctx).agentNicBlink({ body }, sameRequest(ctx))
        const { agentNicBlink } = await deps.own_node.handlers()
        return agentNicBlink({ params: undefined, query: undefined, body }, ctx)
      })
    },
  }
}

/** Where the agent is called, as long as that is an address of the machine itself and not of something in front of it. */
function managementAddress(node: NodeRow): string | null {
  const { agent_address, addresses } = node
  return agent_address !== null && addresses?.includes(agent_address) === true ? agent_address : node.node_ip
}
