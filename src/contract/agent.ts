// What the agent of a node answers the control plane about itself: node-to-node calls, left out of the published document.
import { Type } from 'typebox'
import { FrrNode } from './network/frr.ts'
import { NodeFacts } from './nodes/registry.ts'
import { defineArea } from './route.ts'

const shared = {
  method: 'GET',
  access: 'cluster',
  hidden: true,
  extension: true,
  runs_on: 'node',
  errors: [500],
} as const

export const agent = defineArea({
  name: 'agent',
  description: 'The agent of one node, as it answers the control plane.',
  routes: {
    agentHealth: {
      ...shared,
      path: '/v1/health',
      summary: 'Report health of agent',
      ok: {
        200: Type.Object({
          status: Type.Literal('ok'),
          version: Type.String(),
          started_at: Type.String({ format: 'date-time' }),
        }),
      },
      example: { answer: { status: 'ok', version: '0.1.0', started_at: '2026-11-20T03:12:45.120Z' } },
    },
    agentFacts: {
      ...shared,
      path: '/v1/facts',
      summary: 'Report facts of node',
      ok: { 200: NodeFacts },
      example: {
        answer: {
          hostname: 'kvm-01',
          fqdn: 'kvm-01.example.internal',
          node_ip: '10.0.0.11',
          addresses: ['10.0.0.11'],
          boot_id: '7b1f0a3e-3a34-4d0c-9a52-6f9f6d110001',
          agent_version: '0.1.0',
        },
      },
    },
    agentFrr: {
      ...shared,
      path: '/v1/frr',
      summary: 'Report router of node',
      ok: { 200: FrrNode },
      example: {},
    },
  },
})
