// The agents of registered nodes: address, pinned certificates, and what to say when there is none.
import type { CallOptions, Client, TransportRequest } from '#src/contract/client.ts'
import type { NodeOperations } from '#src/contract/node-areas.ts'
import type { Handlers, RouteSpec, Routes } from '#src/contract/route.ts'
import type { AgentAddress, AgentCallOptions } from '#src/kernel/agent-exchange.ts'
import { agentError, type AgentIdentity, createAgents, parsedAnswer } from '#src/kernel/agents.ts'
import { fingerprintOf, halfLifeOf, issueControlCertificate } from '#src/kernel/certificates.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CaStore } from '#src/store/ca.ts'
import { isOnline, type NodeRow } from '#src/store/nodes.ts'

/** Every call throws UpstreamError at once when the node has no agent or is offline, and an agent's own error as ApiError. */
export interface NodeAgents {
  /** A typed client of the node's agent. */
  client<A extends Routes>(row: NodeRow, routes: A, options: AgentCallOptions): Client<A>
  /** The bytes of a success, unparsed. */
  read(row: NodeRow, route: RouteSpec, query: Record<string, unknown>, options: AgentCallOptions): Promise<Buffer>
  /** Status and body of a success of the route. */
  send(
    row: NodeRow,
    route: RouteSpec,
    request: TransportRequest,
    options: AgentCallOptions,
  ): Promise<{ status: number; body: unknown }>
  close(): Promise<void>
}

/** The machine that this replica runs on, where it answers for it (`node.enabled`). */
export interface OwnNode {
  /** Its names and addresses, in lower case. */
  names(): ReadonlySet<string>
  /** Whether a registered node is this machine. */
  is(row: NodeRow): boolean
  /** Throws AGENT_NOT_CONFIGURED where this replica answers for no machine. */
  handlers(): Promise<Handlers<NodeOperations, RequestContext>>
}

export interface NodeAgentsOptions {
  ca: CaStore
  /** Silence after which a node counts as offline. */
  offline_after_ms: number
  observe: (operation: string, seconds: number, outcome: string, traceparent: string | undefined) => void
}

export function createNodeAgents({ ca, offline_after_ms, observe }: NodeAgentsOptions): NodeAgents {
  const agents = createAgents({ identity: createControlIdentity(ca), observe })
  const addressOf = (row: NodeRow): AgentAddress => agentAddressOf(row, offline_after_ms)
  return {
    client: (row, routes, options) => agents.clientFor(addressOf(row), routes, options),
    read: async (row, route, query, options) => agents.read(addressOf(row), route, { query }, options),
    async send(row, route, request, options) {
      const node = addressOf(row)
      const { status, text } = await agents.send(node, request, options)
      const body = parsedAnswer(node, text)
      if (Object.hasOwn(route.ok, status)) return { status, body }
      throw agentError(node, status, typeof body === 'object' && body !== null ? body : {})
    },
    close: () => agents.close(),
  }
}

/** Lets the agent's log lines carry the id of the caller's request. */
export function sameRequest(ctx: RequestContext): CallOptions {
  return { headers: { 'x-request-id': ctx.request_id } }
}

/** What agents see of this replica: a certificate of its own, held in memory and replaced at half of its life. */
function createControlIdentity(ca: CaStore): () => Promise<AgentIdentity> {
  let mine: Promise<AgentIdentity> | undefined
  let renew_at = Number.POSITIVE_INFINITY
  const make = async (): Promise<AgentIdentity> => {
    const issuer = await ca.get()
    const { key, certificate } = await issueControlCertificate(issuer)
    renew_at = halfLifeOf(certificate)
    return { key, certificate, ca: issuer.certificate }
  }
  // One certificate for all who ask while it is made: a poll of all nodes asks a thousand times at once.
  return () => {
    if (mine === undefined || Date.now() > renew_at) {
      renew_at = Number.POSITIVE_INFINITY
      mine = make().catch((error: unknown) => {
        mine = undefined
        throw error
      })
    }
    return mine
  }
}

function agentAddressOf(row: NodeRow, offline_after_ms: number): AgentAddress {
  const { agent_address, agent_port, certificate, previous_certificate } = row
  const silent = (detail: string): UpstreamError =>
    new UpstreamError({ upstream: 'AGENT', operation: row.bmc_ip, failure: 'unavailable', detail })
  if (certificate === null || agent_address === null || agent_port === null) throw silent('no agent has enrolled')
  if (!isOnline(row, offline_after_ms)) throw silent('the node is offline')
  const fingerprints = [certificate, previous_certificate].filter((one) => one !== null).map(fingerprintOf)
  return { name: row.bmc_ip, address: agent_address, port: agent_port, fingerprints }
}
