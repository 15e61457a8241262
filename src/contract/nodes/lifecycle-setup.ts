// Setup of a node (Part 2, 4.4): from a machine with an agent to a hypervisor or a management node.
import { type Static, Type } from 'typebox'
import { Closed, Flag, IpAddress, MAX_INT32, Nullable, OneOf, Unavailable } from '../common.ts'
import { defineArea } from '../route.ts'
import { exampleNodeJob, NodeJobFields } from './lifecycle-views.ts'
import { InterfaceName } from './nics.ts'
import { NODE_ROLES } from './registry.ts'

/** Roles whose addresses, bridges and MTU a setup knows. */
export const NETWORK_ROLES = ['management', 'storage', 'guest', 'public', 'tunnel', 'benchmark'] as const
export type NetworkRole = (typeof NETWORK_ROLES)[number]

const RoleName = OneOf([...NETWORK_ROLES])
const VlanId = Type.Integer({ minimum: 1, maximum: 4094 })

export const Assignment = Closed(
  {
    untagged: Type.Optional(OneOf([...NETWORK_ROLES, ''], { description: 'Role of untagged frames; empty: none.' })),
    tagged: Type.Optional(
      Type.Array(
        Closed({
          network: RoleName,
          vlans: Type.Optional(
            Type.Array(VlanId, {
              maxItems: 100,
              description: 'Left out or empty: those of the role in the address store.',
            }),
          ),
        }),
        { maxItems: NETWORK_ROLES.length },
      ),
    ),
  },
  { title: 'NicAssignment' },
)
export type Assignment = Static<typeof Assignment>

export const NodeSetupRequest = Closed(
  {
    bmc_ip: IpAddress,
    assignments: Type.Record(Type.String({ maxLength: 64 }), Assignment, {
      maxProperties: 64,
      description: 'Interface of the node to the network roles it carries.',
    }),
    role: Type.Optional(
      OneOf([...NODE_ROLES], {
        default: 'compute',
        'x-documented-default': true,
        description: 'compute: hypervisor. management: member of the control cluster, without hypervisor.',
      }),
    ),
    siteId: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_INT32,
        description: 'Site whose VLANs and prefixes are used; the default site when left out.',
      }),
    ),
    bondSlaveOverride: Type.Optional(
      Type.Array(InterfaceName, { maxItems: 32, description: 'NICs of the bond that an assignment names.' }),
    ),
    guest_bridges: Type.Optional(
      Type.Array(Closed({ bridge: Type.String({ minLength: 1, maxLength: 255 }), nic: InterfaceName }), {
        maxItems: 100,
        description: 'Guest networks by name, and the NIC of the node that carries each.',
      }),
    ),
    benchmark_enabled: Flag('Offer the node to benchmarks.'),
    hold_on_failure: Type.Optional(
      Type.Boolean({
        'x-extension': true,
        description: 'Leave a failed setup as it stands instead of rolling it back.',
      }),
    ),
  },
  { title: 'NodeSetupRequest' },
)
export type NodeSetupRequest = Static<typeof NodeSetupRequest>

export const NodeSetupResponse = Type.Object(
  {
    ...NodeJobFields,
    job_id: Type.String(),
    message: Type.String(),
    steps: Type.Array(Type.String(), { description: 'What is planned, in order.' }),
    warnings: Type.Array(Type.String(), {
      'x-extension': true,
      description: 'What was accepted but may not be meant.',
    }),
  },
  { title: 'NodeSetupResponse' },
)
export type NodeSetupResponse = Static<typeof NodeSetupResponse>

const Mtu = (description: string) => Type.Integer({ minimum: 0, description })
const Inherited = (role: string) => Mtu(`Declared for ${role}; 0 inherits defaultMTU.`)

export const NodePreflight = Type.Object(
  {
    node_ip: Type.String({ description: 'BMC address that names the node.' }),
    bondParams: Nullable(
      Type.Object(
        {
          mode: Nullable(Type.String()),
          miimon: Nullable(Type.String()),
          hash: Nullable(Type.String()),
          rate: Nullable(Type.String()),
        },
        { readOnly: true, description: 'Of the first bond of the control node; null without one.' },
      ),
    ),
    controlNodeHasBond: Type.Boolean(),
    defaultMTU: Mtu('Of devices for which nothing is declared.'),
    guestMTU: Inherited('guest networks'),
    managementMTU: Inherited('management'),
    publicMTU: Inherited('public'),
    storageMTU: Inherited('storage'),
    mtu_warnings: Type.Array(Type.String()),
    bootstrap_nics: Type.Array(
      Type.Object({
        slot: Type.Integer({ minimum: 1 }),
        untagged: Type.String({ description: 'Role, or empty.' }),
        tagged: Type.Array(Type.Object({ network: Type.String(), vlans: Type.Array(Type.Integer()) })),
      }),
    ),
    guest_bridges: Type.Array(
      Type.Object({
        bridge: Type.String(),
        networks: Type.Array(
          Type.Object({
            name: Type.String(),
            tagged: Type.Boolean(),
            type: OneOf(['Isolated', 'Shared']),
            vlan: Type.String({ description: 'VLAN id as text, or untagged.' }),
          }),
        ),
      }),
    ),
    unavailable: Type.Array(Unavailable, { 'x-extension': true, description: 'What could not be read, and why.' }),
  },
  { title: 'NodePreflight' },
)
export type NodePreflight = Static<typeof NodePreflight>

const exampleRequest: NodeSetupRequest = {
  bmc_ip: '10.1.0.21',
  assignments: { eth1: { untagged: '', tagged: [{ network: 'storage', vlans: [30] }] } },
  role: 'compute',
}

const exampleAnswer: NodeSetupResponse = {
  ...exampleNodeJob,
  job_id: exampleNodeJob.id,
  message: 'Setting node 10.1.0.21 up as compute',
  steps: ['Check the BMC', 'Reach the agent'],
  warnings: [],
}

const answers = { 200: NodeSetupResponse, 202: NodeSetupResponse }

export const nodeSetup = defineArea({
  name: 'node-lifecycle',
  description: 'Setup of nodes, and what it would use.',
  routes: {
    nodeSetupStart: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/setup',
      summary: 'Set up node',
      description:
        'Runs the complete setup as a job: 202. The same request again while that job runs answers it: 200. A setup that fails rolls the node back, unless hold_on_failure is set.',
      access: 'admin',
      params: Type.Object({ nodeIP: IpAddress }),
      body: NodeSetupRequest,
      ok: answers,
      errors: [400, 404, 500],
      event: { resource_type: 'NODE' },
      example: { params: { nodeIP: '10.1.0.21' }, body: exampleRequest, answer: exampleAnswer },
    },
    nodeSetupStatus: {
      method: 'POST',
      path: '/configure/setup/status',
      summary: 'Show latest setup of node',
      description: 'Takes the body of the setup and reads bmc_ip alone. 202 while the job runs, 200 when it has ended.',
      access: 'viewer',
      effect: 'read',
      body: NodeSetupRequest,
      ok: answers,
      errors: [400, 404, 500],
      example: { body: exampleRequest, answer: exampleAnswer },
    },
    nodePreflight: {
      method: 'POST',
      path: '/configure/nodes/{bmcIP}/preflight',
      summary: 'Show what setup of node would use',
      description:
        'Bond, MTU and layout of the machine that answers, and the guest networks of the platform. Reads, and changes nothing.',
      access: 'viewer',
      effect: 'read',
      params: Type.Object({ bmcIP: IpAddress }),
      body: Closed({}),
      body_optional: true,
      ok: { 200: NodePreflight },
      errors: [400, 404, 500],
      example: { params: { bmcIP: '10.1.0.21' } },
    },
  },
})
