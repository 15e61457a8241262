// What the control plane asks the agent of a node about its network: node-to-node calls, left out of the published
// document. The answers become parts of the public answers of guest-network-nics, node-nics and network-monitoring.
import { type Static, Type } from 'typebox'
import { IpAddress, KnownText, NullableText } from '../common.ts'
import { Nic } from '../network/eligible-nics.ts'
import { NetworkAlert } from '../network/monitoring.ts'
import { defineArea } from '../route.ts'
import { BlinkRequest, BlinkStarted, NodeNicList } from './nics.ts'

export const NodeBond = Type.Object({
  name: Type.String(),
  mode: NullableText('802.3ad, active-backup, …'),
  miimon: NullableText('Milliseconds between checks of the links.'),
  hash: NullableText('Transmit hash policy.'),
  rate: NullableText('LACP rate.'),
})
export type NodeBond = Static<typeof NodeBond>

export const agentNetwork = defineArea({
  name: 'agent-network',
  description: 'Network of one node, as its agent answers other nodes.',
  routes: {
    agentNicsEligible: {
      method: 'GET',
      path: '/internal/node/eligible-nics',
      summary: 'List NICs of this node for guest networks',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      query: Type.Object({ include_all: Type.Optional(Type.Boolean({ default: false })) }),
      ok: { 200: Type.Object({ interfaces: Type.Array(Nic) }) },
      errors: [400, 500],
      example: { query: { include_all: true }, answer: { interfaces: [] } },
    },
    agentNetworkAlerts: {
      method: 'GET',
      path: '/internal/node/network-alerts',
      summary: 'List network alerts of this node',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      ok: { 200: Type.Object({ alerts: Type.Array(NetworkAlert) }) },
      errors: [500],
      example: { answer: { alerts: [] } },
    },
    agentNicsList: {
      method: 'GET',
      path: '/internal/node/nics',
      summary: 'List NICs of this node for its configuration',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      query: Type.Object({
        called_on: Type.Optional(IpAddress),
        status: Type.Optional(KnownText(['up', 'down'], 'Only NICs whose link has this status.')),
      }),
      ok: { 200: NodeNicList },
      errors: [400, 500],
      example: { query: { called_on: '10.0.0.11', status: 'up' }, answer: { nics: [] } },
    },
    agentBondList: {
      method: 'GET',
      path: '/internal/node/bonds',
      summary: 'List bonds of this node',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      ok: { 200: Type.Object({ bonds: Type.Array(NodeBond) }) },
      errors: [500],
      example: { answer: { bonds: [] } },
    },
    agentNicBlink: {
      method: 'POST',
      path: '/internal/node/nics/blink',
      summary: 'Blink LED of NIC of this node',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      body: BlinkRequest,
      ok: { 200: BlinkStarted },
      errors: [400, 500],
      example: {
        body: { interfaceName: 'eth2', duration: 10 },
        answer: { message: 'The LED of eth2 blinks for 10 seconds.', interfaceName: 'eth2', duration: 10 },
      },
    },
  },
})
