// A node as the jobs of its life meet it in a walk: its agent's answers kept in memory.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { agent } from '#src/contract/agent.ts'
import { agentDesired, type DesiredState, type DesiredTask } from '#src/contract/nodes/agent-desired.ts'
import type { FabricDocument } from '#src/contract/nodes/desired-documents.ts'
import { agentGpu } from '#src/contract/nodes/agent-gpu.ts'
import { agentMtu } from '#src/contract/nodes/agent-mtu.ts'
import { agentNetwork } from '#src/contract/nodes/agent-network.ts'
import type { NodeNic } from '#src/contract/nodes/nics.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { hostStorage } from '#src/contract/storage/host.ts'
import { claimOf } from '#src/kernel/job-claim.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { send } from './job-harness.ts'

export interface SimulatedNode {
  node_ip: string
  fqdn: string
  nics: NodeNic[]
  /** Document and hash of each area that is applied. */
  areas: Map<string, { hash: string; document: unknown }>
  /** Hash of a network that waits for its confirmation. */
  pending: string | null
  /** Claims under which the node was told to change something. */
  claims: Set<string>
  /** The area that the agent cannot bring about. */
  broken_area?: string
  /** The area at which the agent works until it is let go. */
  busy_area?: string
}

export function simulatedNode(node_ip: string, fqdn: string): SimulatedNode {
  const own = node_ip
    .split('.')
    .slice(2)
    .map((octet) => Number(octet).toString(16).padStart(2, '0'))
    .join(':')
  const nics = ['eth0', 'eth1', 'eth2', 'eth3'].map((name, index) =>
    nicOf(name, { macAddress: `52:54:00:${own}:0${index}`, isManagementNIC: index === 0 }),
  )
  return { node_ip, fqdn, nics, areas: new Map(), pending: null, claims: new Set() }
}

export function nicOf(interfaceName: string, more: Partial<NodeNic> = {}): NodeNic {
  return {
    interfaceName,
    macAddress: `52:54:00:00:00:${interfaceName.charCodeAt(interfaceName.length - 1).toString(16)}`,
    ipAddress: null,
    linkStatus: 'up',
    driver: 'e1000e',
    pciAddress: null,
    speed: '10000 Mb/s',
    isPhysical: true,
    isBondMaster: false,
    isBondSlave: false,
    bondMaster: null,
    isManagementNIC: false,
    unavailable: [],
    ...more,
  }
}

/** Every change has a point of the walk between its effect and its answer. `more`: what this kind of node answers as well. */
export function agentsOf(
  nodes: SimulatedNode | ((row: NodeRow) => SimulatedNode),
  more: (node: SimulatedNode) => object = () => ({}),
): NodeAgents {
  const client: unknown = (row: NodeRow, _routes: unknown, { job }: Parameters<NodeAgents['client']>[2]) => {
    const node = typeof nodes === 'function' ? nodes(row) : nodes
    const change = <T>(name: string, area: string, work: () => T): Promise<T> =>
      send(`${name}:${area}`, () => {
        assert.ok(job !== undefined, 'a change names its job')
        node.claims.add(`${job.step} ${job.epoch}`)
        return work()
      })
    return {
      agentHealth: async () => ({ status: 'ok', version: '1', started_at: '' }),
      agentFacts: async () => ({
        hostname: 'n',
        fqdn: node.fqdn,
        node_ip: node.node_ip,
        addresses: null,
        boot_id: 'b1',
        agent_version: '1',
      }),
      agentNicsList: async () => ({ nics: node.nics }),
      agentBondList: async () => ({
        bonds: [{ name: 'bond0', mode: '802.3ad', miimon: '100', hash: 'layer3+4', rate: 'fast' }],
      }),
      hostDiskList: async () => ({ disks: [{ device: '/dev/sda', serial: 'S1', size_mb: 1000 }] }),
      agentMtuRead: async () => ({ bridges: [], underlay_mtu: null }),
      agentGpuList: async () => ({ gpus: [] }),
      agentFrr: async () => ({ bgp: { router_id: node.node_ip, sessions: sessionsOf(node) } }),
      agentDesiredGet: async ({ params: { area } }: AreaCall) => stateOf(node, area),
      agentDesiredSet: ({ params: { area }, body: { document, hash } }: SetCall) =>
        change('set', area, () => {
          if (node.broken_area === area) return taskOf(area, hash, 'failed')
          if (node.busy_area === area) return taskOf(area, hash, 'running')
          node.areas.set(area, { hash, document })
          if (area === 'network') node.pending = hash
          return taskOf(area, hash, 'completed')
        }),
      agentDesiredRemove: ({ params: { area } }: AreaCall) =>
        change('remove', area, () => {
          node.areas.delete(area)
          return taskOf(area, null, 'completed')
        }),
      agentDesiredConfirm: ({ params: { area } }: AreaCall) =>
        change('confirm', area, () => {
          node.pending = null
          return stateOf(node, area)
        }),
      ...more(node),
    }
  }
  return { client } as NodeAgents
}

/** With every reflector that it was told of. */
function sessionsOf({ areas }: SimulatedNode) {
  const { route_reflectors = [] } = (areas.get('fabric')?.document ?? {}) as Partial<FabricDocument>
  return route_reflectors.map((peer) => ({ peer, hostname: null, state: 'Established' }))
}

interface AreaCall {
  params: { area: string }
}

interface SetCall extends AreaCall {
  body: { document: unknown; hash: string }
}

function stateOf({ areas, pending }: SimulatedNode, area: string): DesiredState {
  const applied = areas.get(area)
  return {
    area: area as DesiredState['area'],
    hash: applied?.hash ?? null,
    applied_at: null,
    verdict: applied === undefined ? 'empty' : 'in_sync',
    differences: [],
    pending: area === 'network' && pending !== null ? { hash: pending, left_ms: 100_000 } : null,
    task: null,
  }
}

/** The agent over HTTP: what it answers to one request, by the routes of the contract. */
export function answerOf(node: SimulatedNode): RequestListener {
  const routes = [agent, agentNetwork, agentMtu, agentGpu, agentDesired, hostStorage].flatMap(({ routes: all }) =>
    Object.entries<RouteSpec>(all),
  )
  return (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://agent')
      const found = routes.find(([, route]) => route.method === request.method && patternOf(route).test(url.pathname))
      const client = agentsOf(node).client({} as never, {}, { timeout_ms: 0, job: claimOf(request.headers) })
      const handler = (client as Record<string, (input: unknown) => Promise<unknown>>)[found?.[0] ?? '']
      const text = Buffer.concat(chunks).toString()
      const input = {
        params: found === undefined ? {} : { ...patternOf(found[1]).exec(url.pathname)?.groups },
        query: Object.fromEntries(url.searchParams),
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      }
      const send_answer = (status: number, body: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      }
      if (handler === undefined) return send_answer(404, { code: 'ROUTE_NOT_FOUND', detail: url.pathname })
      handler(input).then(
        (body) => send_answer(200, body),
        (error: unknown) => send_answer(500, { code: 'INTERNAL_ERROR', detail: String(error) }),
      )
    })
  }
}

function patternOf({ path }: RouteSpec): RegExp {
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

function taskOf(area: string, hash: string | null, status: DesiredTask['status']): DesiredTask {
  const message = status === 'failed' ? 'planted failure' : 'applied'
  return {
    id: '',
    area: area as DesiredTask['area'],
    action: 'apply',
    hash,
    status,
    code: null,
    message,
    started_at: '',
    ended_at: null,
  }
}
