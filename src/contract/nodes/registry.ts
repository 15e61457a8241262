// The registry of nodes (extensions): which machines there are, whether their agents answer, and how an agent enrols.
import { type Static, Type } from 'typebox'
import {
  Closed,
  Done,
  Id,
  IpAddress,
  KnownText,
  ListOf,
  Nullable,
  NullableTime,
  OneOf,
  PageFields,
  SortFields,
  Time,
} from '../common.ts'
import { defineArea } from '../route.ts'
import { HEALTHS } from './health.ts'

export const NODE_COLUMNS = [
  'fqdn',
  'bmc_ip',
  'node_ip',
  'role',
  'zone',
  'provision_status',
  'health',
  'created_at',
] as const
export const NODE_ROLES = ['compute', 'management'] as const
/** The words of network monitoring (Part 3, 4.7). */
export const NODE_STATUSES = ['online', 'offline', 'unconfigured-noIP', 'unconfigured-noFQDN'] as const

/** What a node is in its life; what is done to it stands in its jobs (docs/guides/node-setup.md). */
export const NODE_STATES = [
  'discovered', 'provisioning', 'provision_failed', 'configuring', 'configured', 'rolling_back', 'configure_failed', 'decommissioning',
] as const // biome-ignore format: one list
export type NodeState = (typeof NODE_STATES)[number]

const HostName = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$',
  description: 'Name of letters, digits, hyphens and dots.',
})

export const NodeAgentState = Type.Object(
  {
    enrolled_at: Nullable(Type.String({ format: 'date-time', description: 'Null: no agent has enrolled.' })),
    seen_at: Nullable(Type.String({ format: 'date-time', description: 'Last heartbeat.' })),
    address: Nullable(Type.String({ description: 'Where the control plane reaches the agent.' })),
    port: Nullable(Type.Integer({ minimum: 1, maximum: 65535 })),
    version: Nullable(Type.String()),
    boot_id: Nullable(Type.String({ description: 'Changes with every boot of the machine.' })),
    certificate_expires_at: NullableTime,
  },
  { title: 'NodeAgentState' },
)

export const NodeRecord = Type.Object(
  {
    node_id: Type.Integer({ minimum: 1, description: 'Number of the node; keyset pages run by it.' }),
    id: Id,
    bmc_ip: Type.String({ description: 'Address of the BMC: names the node in paths.' }),
    node_ip: Nullable(
      Type.String({ description: 'Management address: as declared, else as its agent first reported.' }),
    ),
    addresses: Nullable(Type.Array(Type.String(), { description: 'Addresses of the operating system, as reported.' })),
    fqdn: Nullable(Type.String({ description: 'Full name: as declared, else as its agent first reported.' })),
    hostname: Nullable(Type.String()),
    reported_name: Nullable(
      Type.String({ description: 'Another name that its agent reports; it counts once an admin accepts it.' }),
    ),
    reported_address: Nullable(
      Type.String({
        description: 'Another management address that its agent reports; it counts once an admin accepts it.',
      }),
    ),
    reported_since: Nullable(
      Type.String({ format: 'date-time', description: 'Since when the report differs from what is confirmed.' }),
    ),
    role: Nullable(OneOf([...NODE_ROLES])),
    zone: Nullable(Type.String()),
    provision_status: KnownText(NODE_STATES, 'What the node is in its life.'),
    status: OneOf([...NODE_STATUSES], {
      description:
        'online: its agent sent a heartbeat within the limit. unconfigured-…: address or full name is missing.',
    }),
    health: Nullable(
      OneOf([...HEALTHS], {
        description:
          'All sources together; null until it was checked. GET /configure/nodes/{bmcIP}/health explains it.',
      }),
    ),
    agent: NodeAgentState,
    registered_by: Type.String({ description: 'Name of the caller who registered it.' }),
    created_at: Time,
  },
  { title: 'NodeRecord' },
)
export type NodeRecord = Static<typeof NodeRecord>

export const RegisterNode = Closed(
  {
    bmc_ip: IpAddress,
    node_ip: Type.Optional(IpAddress),
    fqdn: Type.Optional(HostName),
    hostname: Type.Optional(HostName),
    role: Type.Optional(OneOf([...NODE_ROLES])),
    zone: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Name of the zone.' })),
  },
  { title: 'RegisterNode' },
)

export const EnrolmentToken = Type.Object(
  {
    token: Type.String({
      'x-secret': true,
      description: 'Good for one enrolment of this node. It is shown this once; it also names the CA to trust.',
    }),
    bmc_ip: Type.String(),
    expires_at: Time,
    authority_fingerprint: Type.String({ description: 'SHA-256 of the CA’s certificate.' }),
  },
  { title: 'EnrolmentToken' },
)

const MaybeAddress = Nullable(IpAddress)

/** What an agent says about its machine. */
export const NodeFacts = Closed(
  {
    hostname: Nullable(Type.String({ maxLength: 253 })),
    fqdn: Nullable(HostName),
    node_ip: MaybeAddress,
    addresses: Nullable(Type.Array(IpAddress, { maxItems: 256 })),
    boot_id: Nullable(Type.String({ maxLength: 64 })),
    agent_version: Type.String({ maxLength: 64 }),
  },
  { title: 'NodeFacts' },
)
export type NodeFacts = Static<typeof NodeFacts>

const CertificateRequest = Type.String({ maxLength: 4096, description: 'PKCS #10 in PEM, of an EC P-256 key.' })

export const IssuedNode = Type.Object(
  {
    node_id: Type.String({ description: 'UUID of the node: what its messages are signed as.' }),
    bmc_ip: Type.String(),
    certificate: Type.String({ description: 'Certificate of the agent, PEM.' }),
    authority: Type.String({
      description: 'Certificate of the CA that callers of the agent must come from, PEM.',
    }),
    control_name: Type.String({ description: 'Common name of the only caller an agent answers.' }),
    expires_at: Time,
  },
  { title: 'IssuedNode' },
)
export type IssuedNode = Static<typeof IssuedNode>

const exampleNode: NodeRecord = {
  node_id: 1,
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11',
  bmc_ip: '10.1.0.11',
  node_ip: '10.0.0.11',
  addresses: ['10.0.0.11'],
  fqdn: 'kvm-01.example.internal',
  hostname: 'kvm-01',
  reported_name: null,
  reported_address: null,
  reported_since: null,
  role: 'compute',
  zone: null,
  provision_status: 'discovered',
  status: 'online',
  health: 'healthy',
  agent: {
    enrolled_at: '2026-11-20T03:12:45.120Z',
    seen_at: '2026-11-20T04:00:00.000Z',
    address: '10.0.0.11',
    port: 8443,
    version: '0.1.0',
    boot_id: '7b1f0a3e-3a34-4d0c-9a52-6f9f6d110001',
    certificate_expires_at: '2026-12-20T03:12:45.120Z',
  },
  registered_by: 'admin',
  created_at: '2026-11-20T03:10:00.000Z',
}

const exampleFacts: NodeFacts = {
  hostname: 'kvm-01',
  fqdn: 'kvm-01.example.internal',
  node_ip: '10.0.0.11',
  addresses: ['10.0.0.11'],
  boot_id: '7b1f0a3e-3a34-4d0c-9a52-6f9f6d110001',
  agent_version: '0.1.0',
}

const exampleIssued: IssuedNode = {
  node_id: exampleNode.id,
  bmc_ip: exampleNode.bmc_ip,
  certificate: '-----BEGIN CERTIFICATE-----…',
  authority: '-----BEGIN CERTIFICATE-----…',
  control_name: 'control',
  expires_at: '2026-12-20T03:12:45.120Z',
}

const NodePath = Type.Object({ bmcIP: IpAddress })

export const nodeRegistry = defineArea({
  name: 'nodes',
  description: 'Nodes of the cloud and the agents on them.',
  routes: {
    nodeList: {
      method: 'GET',
      path: '/configure/nodes',
      summary: 'List nodes',
      description: 'In the order they were registered.',
      access: 'viewer',
      query: Closed({
        role: Type.Optional(OneOf([...NODE_ROLES])),
        status: Type.Optional(OneOf([...NODE_STATUSES])),
        provision_status: Type.Optional(KnownText(NODE_STATES, 'Only nodes in this state.')),
        zone: Type.Optional(Type.String({ maxLength: 128 })),
        keyword: Type.Optional(Type.String({ maxLength: 128, description: 'Text within a name or an address.' })),
        ...SortFields([...NODE_COLUMNS], 'in the order they were registered'),
        ...PageFields,
      }),
      ok: { 200: ListOf('nodes', NodeRecord, 'NodePage') },
      errors: [400, 500],
      extension: true,
      example: { query: { status: 'online' }, answer: { nodes: [exampleNode], count: 1, page: 1, page_size: 50 } },
    },
    nodeGet: {
      method: 'GET',
      path: '/configure/nodes/{bmcIP}',
      summary: 'Show node',
      access: 'viewer',
      params: NodePath,
      ok: { 200: NodeRecord },
      errors: [400, 404, 500],
      extension: true,
      example: { params: { bmcIP: '10.1.0.11' }, answer: exampleNode },
    },
    nodeRegister: {
      method: 'POST',
      path: '/configure/nodes',
      summary: 'Register node',
      description: 'Makes the machine known by the address of its BMC. Nothing on it changes.',
      access: 'admin',
      body: RegisterNode,
      ok: { 201: NodeRecord },
      errors: [400, 409, 500],
      event: { resource_type: 'NODE' },
      extension: true,
      example: {
        body: { bmc_ip: '10.1.0.11', node_ip: '10.0.0.11', fqdn: 'kvm-01.example.internal', role: 'compute' },
        answer: exampleNode,
      },
    },
    nodeDelete: {
      method: 'DELETE',
      path: '/configure/nodes/{bmcIP}',
      summary: 'Delete node from registry',
      description:
        'Forgets the node and refuses its agent from then on. Nothing on the machine changes. Refused while a job of the node runs.',
      access: 'admin',
      params: NodePath,
      ok: { 200: Done },
      errors: [400, 404, 409, 500],
      event: { resource_type: 'NODE' },
      extension: true,
      example: { params: { bmcIP: '10.1.0.11' }, answer: { message: 'Node 10.1.0.11 is deleted.' } },
    },
    nodeReportAccept: {
      method: 'POST',
      path: '/configure/nodes/{bmcIP}/accept-report',
      summary: 'Accept reported name and address of node',
      description:
        'Makes confirmed what the agent reports (`reported_name`, `reported_address`). 409 while another node has that name or address. Without a report nothing changes.',
      access: 'admin',
      params: NodePath,
      body: Closed(
        {
          reported_since: Type.Optional(
            Type.String({
              format: 'date-time',
              description: 'As `reported_since` was shown: 409 when the agent has reported something else since.',
            }),
          ),
        },
        { title: 'AcceptNodeReport' },
      ),
      body_optional: true,
      ok: { 200: NodeRecord },
      errors: [400, 404, 409, 500],
      event: { resource_type: 'NODE' },
      extension: true,
      example: { params: { bmcIP: '10.1.0.11' }, answer: exampleNode },
    },
    nodeEnrolmentTokenCreate: {
      method: 'POST',
      path: '/configure/nodes/enrolment-tokens',
      summary: 'Create enrolment token',
      description:
        'Good for one enrolment of the node named, 24 hours at most. A new token voids the unused ones of the node.',
      access: 'admin',
      body: Closed(
        {
          bmc_ip: IpAddress,
          expires_in_minutes: Type.Optional(
            Type.Integer({ minimum: 1, maximum: 1440, default: 60, description: 'Life in minutes.' }),
          ),
        },
        { title: 'EnrolmentTokenRequest' },
      ),
      ok: { 201: EnrolmentToken },
      errors: [400, 404, 500],
      event: { resource_type: 'NODE' },
      extension: true,
      example: {
        body: { bmc_ip: '10.1.0.11' },
        answer: {
          token: 'gpe_…',
          bmc_ip: '10.1.0.11',
          expires_at: '2026-11-20T04:12:45.120Z',
          authority_fingerprint: 'AB:CD:…',
        },
      },
    },
    nodeEnrol: {
      method: 'POST',
      path: '/configure/nodes/enrol',
      summary: 'Enrol agent',
      description: 'Exchanges an enrolment token for a certificate. The token ends with this call.',
      access: 'callback',
      hidden: true,
      body: Closed(
        {
          token: Type.String({ minLength: 8, maxLength: 200, 'x-secret': true }),
          certificate_request: CertificateRequest,
          facts: NodeFacts,
        },
        { title: 'NodeEnrolment' },
      ),
      ok: { 200: IssuedNode },
      errors: [400, 500],
      event: { resource_type: 'NODE' },
      extension: true,
      example: {
        body: {
          token: 'gpe_Zm9vYmFy.3fd1…',
          certificate_request: '-----BEGIN CERTIFICATE REQUEST-----…',
          facts: exampleFacts,
        },
        answer: exampleIssued,
      },
    },
    nodeCertificateRenew: {
      method: 'POST',
      path: '/configure/nodes/renew',
      summary: 'Renew certificate of agent',
      description: 'Signed by the key of the certificate in force (X-Node-Id, X-Node-Signature).',
      access: 'callback',
      signed: true,
      hidden: true,
      body: Closed({ certificate_request: CertificateRequest }, { title: 'NodeRenewal' }),
      ok: { 200: IssuedNode },
      errors: [400, 500],
      event: { resource_type: 'NODE' },
      extension: true,
      example: { body: { certificate_request: '-----BEGIN CERTIFICATE REQUEST-----…' }, answer: exampleIssued },
    },
    nodeHeartbeat: {
      method: 'POST',
      path: '/configure/nodes/heartbeat',
      summary: 'Report node alive',
      description: 'Signed by the key of the certificate in force (X-Node-Id, X-Node-Signature).',
      access: 'callback',
      signed: true,
      // A heartbeat every few seconds from every node is no change that an audit should list.
      effect: 'read',
      hidden: true,
      body: Closed(
        {
          facts: NodeFacts,
          agent: Closed({
            address: Nullable(IpAddress),
            port: Type.Integer({ minimum: 1, maximum: 65535 }),
          }),
        },
        { title: 'NodeHeartbeat' },
      ),
      ok: {
        200: Type.Object(
          {
            interval_ms: Type.Integer({ minimum: 100, description: 'When to report again.' }),
            renew: Type.Boolean({ description: 'Half of the certificate’s life is over.' }),
          },
          { title: 'NodeHeartbeatTaken' },
        ),
      },
      errors: [400, 500],
      extension: true,
      example: {
        body: { facts: exampleFacts, agent: { address: null, port: 8443 } },
        answer: { interval_ms: 10_000, renew: false },
      },
    },
  },
})
