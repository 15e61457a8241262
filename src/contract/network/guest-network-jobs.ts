// Guest networks on the nodes: made, checked and deleted as jobs that leave every node alike, and the results of those jobs
// (Part 3, 4.6).
import { type Static, Type } from 'typebox'
import { ActionAccepted, DestructionPlan, Closed, Id, IpAddress, KnownText, Nullable, OneOf } from '../common.ts'
import { DeviceName } from '../nodes/agent-bridges.ts'
import { defineArea } from '../route.ts'

const FailedNode = Type.Object(
  {
    error: Type.String({ description: 'What went wrong there.' }),
    fqdn: Type.String(),
    node_ip: Type.String(),
    reachable: Type.Boolean({ description: 'False: it could not be reached before anything was done.' }),
  },
  { title: 'FailedBridgeNode' },
)

export const BridgeResult = Type.Object(
  {
    bridge_name: Type.String(),
    failed: Type.Integer({ minimum: 0, description: 'Nodes where it failed.' }),
    succeeded: Type.Integer({ minimum: 0, description: 'Nodes where it went well.' }),
    total: Type.Integer({ minimum: 0, description: 'Nodes in all.' }),
    nodes: Type.Array(Type.String(), { description: 'Nodes where it went well.' }),
    failed_nodes: Type.Array(FailedNode),
  },
  { title: 'BridgeResult' },
)
export type BridgeResult = Static<typeof BridgeResult>

export const NetworkJobResult = Type.Object(
  {
    job_id: Type.String(),
    network: Type.String({ description: 'Name of the guest network.' }),
    operation: OneOf(['create', 'delete', 'check'], { 'x-extension': true }),
    state: KnownText(['running', 'completed', 'failed'], 'Whether the job runs, and how it ended.'),
    status: Type.String({ description: 'One sentence about now.' }),
    error: Type.String({ description: 'Why it failed, else empty.' }),
    progress: Type.Integer({ minimum: 0, maximum: 100 }),
    total_nodes: Type.Integer({ minimum: 0 }),
    bridge_result: Nullable(BridgeResult),
  },
  { title: 'NetworkJobResult' },
)
export type NetworkJobResult = Static<typeof NetworkJobResult>

const GuestNetworkOnNodes = Closed(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Name; no other guest network of the nodes has it.',
    }),
    display_text: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'One line for people.' })),
    zone_id: Id,
    network_offering_id: Id,
    kind: OneOf(['vlan', 'vxlan'], { description: 'How nodes tell its frames apart.' }),
    segment_id: Type.Integer({ minimum: 1, maximum: 16_777_215, description: 'VLAN id, 4094 at most, or VNI.' }),
    nic: Type.Optional(
      Type.String({
        ...DeviceName,
        description: 'NIC or bond it runs on; a VLAN needs one. The same name on every node.',
      }),
    ),
    bridge: Type.Optional(
      Type.String({ ...DeviceName, description: 'Name of the bridge; `gn` and the segment when left out.' }),
    ),
    mtu: Type.Optional(Type.Integer({ minimum: 1280, maximum: 65_535, description: 'MTU of the bridge in bytes.' })),
    gateway: Type.Optional(IpAddress),
    netmask: Type.Optional(IpAddress),
    start_ip: Type.Optional(IpAddress),
    end_ip: Type.Optional(IpAddress),
  },
  { title: 'GuestNetworkOnNodes' },
)

const id = '1e4b6d2a-90f3-4a36-b2c1-5d7e8f9a0b12'
const change = {
  access: 'operator',
  event: { resource_type: 'GUEST_NETWORK' },
  ok: { 200: ActionAccepted },
  errors: [400, 404, 409, 500],
  extension: true,
} as const
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: null, message: 'Creating guest network office-100 on 2 nodes.',
} // biome-ignore format: one record
const result = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', network: 'office-100', operation: 'create', state: 'failed',
  status: 'Make the bridge on every node', error: 'kvm-02.example.internal: The node has no device bond0.', progress: 100,
  total_nodes: 1,
  bridge_result: {
    bridge_name: 'gn100', failed: 1, succeeded: 0, total: 1, nodes: [],
    failed_nodes: [
      { error: 'the node has no device bond0', fqdn: 'kvm-02.example.internal', node_ip: '10.0.0.12', reachable: true },
    ],
  },
} // biome-ignore format: one record

export const guestNetworkJobs = defineArea({
  name: 'guest-network-jobs',
  description: 'Guest networks on the nodes, and the jobs that make, check and delete them.',
  routes: {
    guestNetworkCreate: {
      ...change,
      method: 'POST',
      path: '/network/guest-networks',
      summary: 'Create guest network on all nodes',
      description:
        'Makes the bridge and its VLAN or VXLAN on every hypervisor node, then the network of the compute platform. What was ' +
        'done is undone when a node or the platform does not follow.',
      body: GuestNetworkOnNodes,
      example: {
        body: { name: 'office-100', zone_id: id, network_offering_id: id, kind: 'vlan', segment_id: 100, nic: 'bond0' },
        answer: accepted,
      },
    },
    guestNetworkDelete: {
      ...change,
      method: 'DELETE',
      path: '/network/guest-networks/{id}',
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      summary: 'Delete guest network from all nodes',
      description: 'Refused while a machine uses it. Only networks that were made here have bridges to delete.',
      params: Closed({ id: Id }),
      example: {
        params: { id },
        answer: { ...accepted, resource_id: id, message: 'Deleting guest network office-100.' },
      },
    },
    guestNetworkCheck: {
      ...change,
      method: 'POST',
      path: '/network/guest-networks/{id}/check',
      summary: 'Check guest network on all nodes',
      description: 'Changes nothing on nodes. The job fails when a node differs, and names it.',
      params: Closed({ id: Id }),
      example: {
        params: { id },
        answer: { ...accepted, resource_id: id, message: 'Checking guest network office-100.' },
      },
    },
    guestNetworkJobsLast: {
      method: 'GET',
      path: '/network/guest-networks/jobs/last',
      summary: 'List last job of every guest network',
      description: 'One entry a network name: its most recent create, delete or check.',
      access: 'viewer',
      ok: { 200: Type.Array(NetworkJobResult) },
      errors: [500],
      example: { answer: [result] },
    },
    guestNetworkJobLatest: {
      method: 'GET',
      path: '/network/guest-networks/jobs/latest',
      summary: 'Read latest create or delete job of guest network',
      description: 'Of all networks when none is named.',
      access: 'viewer',
      query: Closed({
        network: Type.Optional(
          Type.String({ minLength: 1, maxLength: 128, description: 'Name of the guest network.' }),
        ),
      }),
      ok: { 200: NetworkJobResult },
      errors: [404, 500],
      example: { query: { network: 'office-100' }, answer: result },
    },
  },
})
