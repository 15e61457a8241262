// From a node of the registry to its agent: address, pinned certificates, and what to say when there is none.
import type { CallOptions, Client } from '#src/contract/client.ts'
import type { Routes } from '#src/contract/route.ts'
import type { AgentAddress, AgentIdentity, Agents } from '#src/kernel/agents.ts'
import { fingerprintOf, halfLifeOf, issueControlCertificate } from '#src/kernel/certificates.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CaStore } from '#src/store/ca.ts'
import { isOnline, type NodeRow } from '#src/store/nodes.ts'

/** What agents see of this replica: a certificate of its own, kept in memory and made anew at half of its life. */
export function createControlIdentity(ca: CaStore): () => Promise<AgentIdentity> {
  let mine: Promise<AgentIdentity> | undefined
  let renew_at = Number.POSITIVE_INFINITY
  const make = async (): Promise<AgentIdentity> => {
    const issuer = await ca.get()
    const { key, certificate } = await issueControlCertificate(issuer)
    renew_at = halfLifeOf(certificate)
    return { key, certificate, ca: issuer.certificate }
  }
  // Whoever comes while it is made waits for that one: a look at all nodes asks a thousand times at once.
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

/** Throws AGENT_UNAVAILABLE when no agent has enrolled or the last heartbeat is too old. */
export function agentAddressOf(row: NodeRow, offline_after_ms: number): AgentAddress {
  const { agent_address, agent_port, certificate, previous_certificate } = row
  const silent = (detail: string): UpstreamError =>
    new UpstreamError({ upstream: 'AGENT', operation: row.bmc_ip, failure: 'unavailable', detail })
  if (certificate === null || agent_address === null || agent_port === null) throw silent('no agent has enrolled')
  if (!isOnline(row, offline_after_ms)) throw silent('the node is offline')
  const fingerprints = [certificate, previous_certificate].filter((one) => one !== null).map(fingerprintOf)
  return { name: row.bmc_ip, address: agent_address, port: agent_port, fingerprints }
}

export interface AgentAccess {
  agents: Agents
  offline_after_ms: number
}

/** A typed client of one node's agent for the length of a request. */
export function agentClient<A extends Routes>(
  { agents, offline_after_ms }: AgentAccess,
  row: NodeRow,
  routes: A,
  ctx: Pick<RequestContext, 'signal' | 'traceparent'>,
  timeout_ms: number,
): Client<A> {
  const { signal, traceparent } = ctx
  return agents.clientFor(agentAddressOf(row, offline_after_ms), routes, { timeout_ms, signal, traceparent })
}

/** Lets the agent's log lines carry the id of the caller's request. */
export function sameRequest(ctx: RequestContext): CallOptions {
  return { headers: { 'x-request-id': ctx.request_id } }
}
