// X-Target-Node: a call of a node-local route that names another node goes to that node's agent, and its answer back
// (api-conventions.md, header table).
import { requestOf } from '#src/contract/client.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { ForwardedCall } from '#src/kernel/http/mount.ts'
import type { StoredAnswer } from '#src/kernel/http/idempotency.ts'
import type { Db } from '#src/store/database.ts'
import { nodesCalled, type NodeRow } from '#src/store/nodes.ts'
import type { NodeAgents, OwnNode } from '../node-agents.ts'

export interface TargetDeps {
  db: Db
  agents: Pick<NodeAgents, 'send'>
  own_node: Pick<OwnNode, 'names' | 'is'>
}

const DEFAULT_TIMEOUT_MS = 120_000
/** Passed on: they change what the agent does. Credentials never are. */
const PASSED_HEADERS = ['prefer'] as const

/** Answers undefined when this machine is meant. */
export function createForward(deps: TargetDeps): (call: ForwardedCall) => Promise<StoredAnswer | undefined> {
  return async (call) => {
    const target = call.target.trim()
    // A node may be registered under the names of this very machine: then no detour over the network is needed.
    if (deps.own_node.names().has(target.toLowerCase())) return undefined
    const rows = target === '' || target.length > 253 ? [] : await nodesCalled(deps.db, target)
    const [row, second] = rows
    if (row === undefined) throw new ApiError('NODE_NOT_FOUND', `X-Target-Node: no node is called ${shown(target)}.`)
    // Names may be reported by agents; the BMC address is a person's word and unique.
    if (second !== undefined && row.bmc_ip !== target) {
      throw new ApiError(
        'INVALID_REQUEST',
        `X-Target-Node: several nodes are called ${shown(target)}; use the BMC address.`,
      )
    }
    if (row.certificate === null && deps.own_node.is(row)) return undefined
    return send(deps, row, call)
  }
}

/** Whether the node has one of these names or addresses, in lower case. */
export function isCalled(row: NodeRow, names: ReadonlySet<string>): boolean {
  return [row.fqdn, row.hostname, row.node_ip].some((name) => name !== null && names.has(name.toLowerCase()))
}

async function send({ agents }: TargetDeps, row: NodeRow, call: ForwardedCall): Promise<StoredAnswer> {
  const { ctx, route } = call
  const request = requestOf(route, call.input, { headers: passedHeaders(call) })
  const answer = await agents.send(row, route, request, {
    timeout_ms: route.timeout_ms ?? DEFAULT_TIMEOUT_MS,
    signal: ctx.signal,
    traceparent: ctx.traceparent,
  })
  return { ...answer, headers: {} }
}

function passedHeaders({ ctx }: ForwardedCall): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': ctx.request_id }
  for (const name of PASSED_HEADERS) {
    const value = ctx.headers[name]
    if (typeof value === 'string') headers[name] = value
  }
  return headers
}

function shown(target: string): string {
  return JSON.stringify(target.slice(0, 100))
}
