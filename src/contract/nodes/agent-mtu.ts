// What the control plane asks the agent of a node about the MTU of its role bridges: node-to-node, left out of the
// published document.
import { type Static, Type } from 'typebox'
import { Nullable } from '../common.ts'
import { defineArea } from '../route.ts'

const Bytes = Type.Integer({ minimum: 0 })

export const AgentMtuBridge = Type.Object({
  bridge: Type.String(),
  role: Type.String(),
  /** Null: the node has no such device. */
  mtu: Nullable(Bytes),
  /** Largest value that the cards below the bridge take. */
  limit_mtu: Nullable(Bytes),
  mac: Nullable(Type.String()),
  /** Without prefix length and without link-local IPv6: what peers can probe. */
  addresses: Type.Array(Type.String()),
  /** From the card to the bridge. */
  devices: Type.Array(Type.Object({ name: Type.String(), kind: Type.String(), mtu: Bytes })),
  pending: Nullable(Type.Object({ mtu: Bytes, left_ms: Type.Number() })),
})
export type AgentMtuBridge = Static<typeof AgentMtuBridge>

export const AgentMtu = Type.Object({
  bridges: Type.Array(AgentMtuBridge),
  /** Smallest MTU of the interfaces that the routing daemons speak over; null without a fabric. */
  underlay_mtu: Nullable(Bytes),
})
export type AgentMtu = Static<typeof AgentMtu>

export const agentMtu = defineArea({
  name: 'agent-mtu',
  description: 'MTU of one node, as its agent answers the control plane.',
  routes: {
    agentMtuRead: {
      method: 'GET',
      path: '/internal/node/mtu',
      summary: 'Read MTU of role bridges of this node',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      ok: { 200: AgentMtu },
      errors: [500],
      example: { answer: { bridges: [], underlay_mtu: null } },
    },
  },
})
