// How each node is, all sources together (extensions).
import { type Static, Type } from 'typebox'
import { Closed, IpAddress, ListOf, Nullable, NullableTime, OneOf, PageFields, Time } from '../common.ts'
import { defineArea } from '../route.ts'

export const HEALTHS = ['healthy', 'degraded', 'critical', 'unknown'] as const
export const HEALTH_AREAS = [
  'agent',
  'time',
  'network',
  'mtu',
  'routing',
  'storage',
  'disks',
  'gpus',
  'platform',
] as const

export const HealthArea = Type.Object(
  {
    area: OneOf([...HEALTH_AREAS], {
      description:
        'agent: whether it answers. time: its clock. network: links and errors. mtu: declared against actual. routing: fabric and tunnels. storage, disks: of the host. gpus: those that the platform may give to machines. platform: the state of the host there.',
    }),
    health: OneOf([...HEALTHS]),
    since: Time,
    reasons: Type.Array(Type.String(), { description: 'What is wrong, one sentence each; empty when healthy.' }),
  },
  { title: 'HealthArea' },
)
export type HealthArea = Static<typeof HealthArea>

export const NodeHealth = Type.Object(
  {
    bmc_ip: Type.String({ description: 'Address of the BMC: names the node in paths.' }),
    node_ip: Nullable(Type.String()),
    fqdn: Nullable(Type.String()),
    health: OneOf([...HEALTHS], { description: 'The worst of its areas; unknown while nothing is known.' }),
    since: NullableTime,
    checked_at: Nullable(Type.String({ format: 'date-time', description: 'Null: it was not checked yet.' })),
    areas: Type.Array(HealthArea, { description: 'Areas that the node has; one whose source is silent is unknown and says so.' }),
  },
  { title: 'NodeHealth' },
) // biome-ignore format: a table
export type NodeHealth = Static<typeof NodeHealth>

const example: NodeHealth = {
  bmc_ip: '10.1.0.12',
  node_ip: '10.0.0.12',
  fqdn: 'kvm-02.example.internal',
  health: 'critical',
  since: '2026-11-20T03:12:45.120Z',
  checked_at: '2026-11-20T04:00:00.000Z',
  areas: [
    { area: 'agent', health: 'healthy', since: '2026-11-19T22:00:00.000Z', reasons: [] },
    {
      area: 'network',
      health: 'critical',
      since: '2026-11-20T03:12:45.120Z',
      reasons: ['eth3 is switched on but has no carrier; it carries the storage network.'],
    },
  ],
}

export const nodeHealth = defineArea({
  name: 'health',
  description: 'How the nodes are: one verdict each, with reasons.',
  routes: {
    fleetHealthRead: {
      method: 'GET',
      path: '/fleet/health',
      summary: 'Read health of all nodes',
      description:
        'Checked every `nodes.health_poll_ms`; worst first. A change of a verdict is an event (nodeHealthChange) and counts in the metric groundplane_nodes.',
      access: 'viewer',
      extension: true,
      query: Closed({ health: Type.Optional(OneOf([...HEALTHS])), ...PageFields }),
      ok: {
        200: Type.Object({
          ...ListOf('nodes', NodeHealth, 'NodeHealthPage').properties,
          health: OneOf([...HEALTHS], { description: 'The worst of all nodes.' }),
          healthy: Type.Integer({ minimum: 0 }),
          degraded: Type.Integer({ minimum: 0 }),
          critical: Type.Integer({ minimum: 0 }),
          unknown: Type.Integer({ minimum: 0 }),
        }),
      },
      errors: [400, 500],
      example: {
        query: { health: 'critical' },
        answer: {
          nodes: [example], count: 1, page: 1, page_size: 50, health: 'critical', healthy: 11, degraded: 0, critical: 1, unknown: 0,
        }, // biome-ignore format: one answer
      },
    },
    nodeHealthRead: {
      method: 'GET',
      path: '/configure/nodes/{bmcIP}/health',
      summary: 'Read health of node',
      description: 'Every area with its reasons and since when.',
      access: 'viewer',
      extension: true,
      params: Type.Object({ bmcIP: IpAddress }),
      ok: { 200: NodeHealth },
      errors: [400, 404, 500],
      example: { params: { bmcIP: example.bmc_ip }, answer: example },
    },
  },
})
