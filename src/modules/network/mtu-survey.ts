// What a rollout would do: which bridge of which node changes, who can verify it, and what stands against it.
import { MTU_ROLES, type MtuRole } from '#src/contract/network/mtu.ts'
import type { AgentMtu, AgentMtuBridge } from '#src/contract/nodes/agent-mtu.ts'
import type { NodeOutcome } from '#src/kernel/agents.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { nodeName } from './node-page.ts'

export interface WantedMtu {
  role: MtuRole
  mtu: number
}

export interface BridgeChange {
  bridge: string
  role: MtuRole
  old_mtu: number
  mtu: number
  addresses: string[]
  mac: string | null
}

export interface NodeChange {
  node_id: string
  name: string
  bridges: BridgeChange[]
}

/** `from` sends to `to` at the full size; the way back is a probe of its own. */
export interface MtuProbe {
  from: string
  to: string
  bridge: string
  peer_bridge: string
  target: string
  mtu: number
}

export interface MtuSurvey {
  nodes: NodeChange[]
  probes: MtuProbe[]
  /** Sentences; each names a role and, where it is about one, a node. */
  unverifiable: string[]
  unreachable: string[]
  above_limit: string[]
}

/** In a large fleet every node verifies the way to this many others: all pairs would be a flood. */
const PEERS = 7

export function surveyMtu(
  outcomes: readonly NodeOutcome<NodeRow, AgentMtu>[],
  wanted: readonly WantedMtu[],
): MtuSurvey {
  const answered = outcomes.flatMap((outcome) =>
    'value' in outcome ? [{ row: outcome.node, state: outcome.value }] : [],
  )
  const nodes = answered
    .map(({ row, state }) => ({ node_id: row.id, name: nodeName(row), bridges: changesOf(state, wanted) }))
    .filter(({ bridges }) => bridges.length > 0)
  const probes = wanted.flatMap((want) => probesOf(nodes, want))
  return {
    nodes,
    probes,
    unverifiable: wanted.flatMap((want) => unverifiable(nodes, probes, want)),
    unreachable: outcomes.flatMap((one) => ('error' in one ? [`${nodeName(one.node)}: ${one.error}`] : [])),
    above_limit: answered.flatMap(({ row, state }) => aboveLimit(nodeName(row), state, wanted)),
  }
}

function changesOf(state: AgentMtu, wanted: readonly WantedMtu[]): BridgeChange[] {
  return wanted.flatMap(({ role, mtu }) =>
    state.bridges.flatMap((one): BridgeChange[] => {
      if (one.role !== role || one.mtu === null) return []
      const { bridge, addresses, mac } = one
      return [{ bridge, role, old_mtu: one.mtu, mtu, addresses, mac }]
    }),
  )
}

function aboveLimit(name: string, state: AgentMtu, wanted: readonly WantedMtu[]): string[] {
  const { underlay_mtu } = state
  return wanted.flatMap(({ role, mtu }) => {
    const own = state.bridges.filter((one: AgentMtuBridge) => one.role === role && one.mtu !== null)
    const cards = own.flatMap(({ bridge, limit_mtu }) =>
      limit_mtu !== null && mtu > limit_mtu ? [`${name}: ${bridge} (${role}) can run at ${limit_mtu} at most`] : [],
    )
    const fabric =
      underlay_mtu !== null && mtu > underlay_mtu
        ? [`${name}: the underlay carries ${underlay_mtu} at most, ${role} asks for ${mtu}`]
        : []
    return [...fabric, ...cards]
  })
}

function probesOf(nodes: readonly NodeChange[], { role }: WantedMtu): MtuProbe[] {
  const ends = nodes.flatMap(({ node_id, bridges }) =>
    bridges.flatMap((one) => {
      const [address] = one.addresses
      return one.role === role && address !== undefined ? [{ node_id, bridge: one.bridge, mtu: one.mtu, address }] : []
    }),
  )
  return ends.flatMap((from, at) => {
    const others = [...ends.slice(at + 1), ...ends.slice(0, at)].filter((to) => to.node_id !== from.node_id)
    return others.slice(0, PEERS).map(
      (to): MtuProbe => ({
        from: from.node_id, to: to.node_id, bridge: from.bridge, peer_bridge: to.bridge, target: to.address, mtu: from.mtu,
      }), // biome-ignore format: one record
    )
  })
}

function unverifiable(nodes: readonly NodeChange[], probes: readonly MtuProbe[], { role }: WantedMtu): string[] {
  const carrying = nodes.filter(({ bridges }) => bridges.some((one) => one.role === role))
  if (carrying.length === 0) return [`${role}: no node that answers carries it`]
  return carrying.flatMap(({ node_id, name, bridges }) =>
    bridges
      .filter((one) => one.role === role)
      .filter((one) => !probes.some(({ from, bridge }) => from === node_id && bridge === one.bridge))
      .map((one) => `${role}: ${one.bridge} of ${name} has no probe target`),
  )
}

export function bridgesOf(nodes: readonly NodeChange[], role: MtuRole): string[] {
  const names = nodes.flatMap(({ bridges }) => bridges.filter((one) => one.role === role).map((one) => one.bridge))
  return [...new Set(names)].sort()
}

export function wantedOf(body: Partial<Record<MtuRole, number>>): WantedMtu[] {
  return MTU_ROLES.flatMap((role) => {
    const mtu = body[role]
    return mtu === undefined ? [] : [{ role, mtu }]
  })
}
