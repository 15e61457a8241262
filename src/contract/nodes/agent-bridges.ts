// What the control plane asks the agent of a node about the bridges of guest networks: node-to-node, left out of the
// published document.
import { type Static, Type } from 'typebox'
import { Closed, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'

export const DeviceName = Type.String({
  minLength: 1,
  maxLength: 15,
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$',
  description: 'Name of a network device of the node.',
})

const fields = {
  bridge: DeviceName,
  kind: OneOf(['vlan', 'vxlan']),
  segment_id: Type.Integer({ minimum: 1, maximum: 16_777_215, description: 'VLAN id or VNI.' }),
  nic: Type.Optional(DeviceName),
  mtu: Type.Optional(Type.Integer({ minimum: 1280, maximum: 65_535 })),
}

export const BridgeSpec = Closed(fields, { title: 'BridgeSpec' })
export type BridgeSpec = Static<typeof BridgeSpec>

export const BridgeReport = Type.Object({
  bridge: Type.String(),
  present: Type.Boolean({ description: 'Something of it is on the node.' }),
  /** Empty: everything is as it should be. */
  problems: Type.Array(Type.String()),
  /** Ports that are not of the network itself: guests. */
  members: Type.Array(Type.String()),
})
export type BridgeReport = Static<typeof BridgeReport>

const shared = {
  method: 'POST',
  access: 'cluster',
  hidden: true,
  extension: true,
  runs_on: 'node',
  body: BridgeSpec,
  ok: { 200: BridgeReport },
  errors: [400, 409, 500],
  example: {
    body: { bridge: 'gn100', kind: 'vlan', segment_id: 100, nic: 'bond0' },
    answer: { bridge: 'gn100', present: true, problems: [], members: [] },
  },
} as const

export const agentBridges = defineArea({
  name: 'agent-bridges',
  description: 'Bridges of guest networks on one node.',
  routes: {
    agentBridgeCreate: { ...shared, path: '/internal/node/bridges/create', summary: 'Create bridge of guest network' },
    agentBridgeDelete: { ...shared, path: '/internal/node/bridges/delete', summary: 'Delete bridge of guest network' },
    agentBridgeCheck: {
      ...shared,
      effect: 'read',
      path: '/internal/node/bridges/check',
      summary: 'Check bridge of guest network',
    },
  },
})
