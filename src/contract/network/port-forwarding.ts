// Port forwarding: ports of a public address that lead to a virtual machine (Part 3, 4.8).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  DestructionPlan,
  Id,
  KnownText,
  ListOf,
  Nullable,
  OneOf,
  PageFields,
} from '../common.ts'
import { defineArea } from '../route.ts'

const Port = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description }))
const NullablePort = Nullable(Type.Integer())
const NullableText = Nullable(Type.String())

/** In which states of a rule it may be changed or removed; removing a rule that is being revoked repeats what failed. */
export const portForwardingCan = {
  update: ['Active', 'Staged'],
  delete: ['Active', 'Add', 'Staged', 'Revoke'],
} as const

/** Machines in these states can be the target of a new rule: the address of any other is not sure. */
export const FORWARDING_TARGET_STATES = ['Running', 'Stopped', 'Starting', 'Stopping', 'Migrating'] as const

export const PortForwarding = Type.Object(
  {
    id: Type.String(),
    protocol: KnownText(['tcp', 'udp'], 'Protocol of the ports.'),
    public_port_start: NullablePort,
    public_port_end: NullablePort,
    private_port_start: NullablePort,
    private_port_end: NullablePort,
    public_ip_id: NullableText,
    public_ip_address: NullableText,
    virtual_machine_id: NullableText,
    virtual_machine_name: NullableText,
    virtual_machine_ip_address: NullableText,
    network_id: NullableText,
    cidrlist: Type.Array(Type.String(), {
      description: 'Sources that are let in; empty is what the firewall lets in.',
    }),
    state: KnownText(['Add', 'Active', 'Revoke', 'Staged'], 'Whether the router does it.'),
  },
  { title: 'PortForwarding' },
)
export type PortForwarding = Static<typeof PortForwarding>

export const PortForwardingCreate = Closed(
  {
    protocol: OneOf(['tcp', 'udp']),
    public_ip_id: Id,
    virtual_machine_id: Id,
    cidrlist: Type.Optional(
      Type.Array(Type.String({ minLength: 3, maxLength: 49, description: 'CIDR' }), {
        maxItems: 64,
        description: 'Sources to let in.',
      }),
    ),
    network_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Network of the machine; required while the address belongs to none, ignored once it does.',
      }),
    ),
    open_firewall: Type.Optional(
      Type.Boolean({
        description:
          'Open the ports in the firewall too, for `cidrlist` or for everybody. False when left out; refused inside a VPC.',
      }),
    ),
    public_port: Port('Single-port mode.'),
    private_port: Port('Single-port mode.'),
    public_port_start: Port('Range mode.'),
    public_port_end: Port('Range mode.'),
    private_port_start: Port('Range mode.'),
    private_port_end: Port('Range mode.'),
  },
  { title: 'PortForwardingCreate' },
)
export type PortForwardingCreate = Static<typeof PortForwardingCreate>

const RuleOrAccepted = Type.Union([ActionAccepted, PortForwarding])

const example: PortForwarding = {
  id: '6c7c3f6e-2b8d-4f84-8b7b-3f0c1a2d4e50',
  protocol: 'tcp',
  public_port_start: 8443,
  public_port_end: 8443,
  private_port_start: 443,
  private_port_end: 443,
  public_ip_id: '9a1b2c3d-4e5f-4a6b-8c7d-0e1f2a3b4c5d',
  public_ip_address: '203.0.113.20',
  virtual_machine_id: '7d1c3e7e-7a1c-4f0d-8f4a-6c1b0b7a2f01',
  virtual_machine_name: 'web-01',
  virtual_machine_ip_address: '10.10.0.11',
  network_id: '1e4b6d2a-90f3-4a36-b2c1-5d7e8f9a0b12',
  cidrlist: [],
  state: 'Active',
}
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: example.id, message: 'Forwarding tcp port 8443 of 203.0.113.20 to web-01.',
} // biome-ignore format: one record

const change = {
  access: 'operator',
  tenant: 'own',
  event: { resource_type: 'PORT_FORWARDING' },
  errors: [400, 500],
} as const
const base = '/network/port-forwarding'

export const portForwarding = defineArea({
  name: 'port-forwarding',
  description: 'Ports of a public address that lead to a virtual machine.',
  routes: {
    portForwardingCreate: {
      ...change,
      method: 'POST',
      path: base,
      summary: 'Create port-forwarding rule',
      description:
        'Give either `public_port` and `private_port`, or all four of the range, whose widths must be equal. The address must be allocated, without static NAT, and its ports free; the machine must have a NIC in the network. With `Prefer: wait=N` the rule is the answer.',
      body: PortForwardingCreate,
      ok: { 201: RuleOrAccepted },
      example: {
        body: {
          protocol: 'tcp',
          public_ip_id: example.public_ip_id,
          virtual_machine_id: example.virtual_machine_id,
          public_port: 8443,
          private_port: 443,
        },
        answer: accepted,
      },
    },
    portForwardingUpdate: {
      ...change,
      method: 'PUT',
      path: base,
      summary: 'Update port-forwarding rule',
      description:
        'Changes the private ports only: `private_port` for a rule of one port, `private_port_start` and `private_port_end` for a range of the same width as the public one. The rule is taken out and put back, so traffic stops for a moment.',
      body: Closed(
        {
          id: Id,
          private_port: Port('Single-port mode.'),
          private_port_start: Port('Range mode.'),
          private_port_end: Port('Range mode.'),
        },
        { title: 'PortForwardingUpdate' },
      ),
      ok: { 200: RuleOrAccepted },
      example: {
        body: { id: example.id, private_port: 8080 },
        answer: { ...accepted, message: 'Changing the rule of tcp port 8443 of 203.0.113.20.' },
      },
    },
    portForwardingList: {
      method: 'POST',
      path: `${base}/list`,
      summary: 'List port-forwarding rules',
      description: 'Of one public address.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: Closed({ public_ip_id: Id, ...PageFields }),
      ok: { 200: ListOf('port_forwarding_rules', PortForwarding, 'PortForwardingPage') },
      errors: [400, 500],
      example: {
        body: { public_ip_id: example.public_ip_id },
        answer: { port_forwarding_rules: [example], count: 1, page: 1, page_size: 50 },
      },
    },
    portForwardingDelete: {
      ...change,
      method: 'DELETE',
      path: `${base}/{id}`,
      summary: 'Delete port-forwarding rule',
      description: 'Ports that the rule opened in the firewall are closed with it.',
      extension: true,
      params: Closed({ id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        params: { id: example.id },
        answer: { ...accepted, message: 'Removing the rule of tcp port 8443 of 203.0.113.20.' },
      },
    },
  },
})
