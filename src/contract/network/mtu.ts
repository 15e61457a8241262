// MTU of the role bridges: declared values, rollout, and the node-local apply and probe (Part 3, 4.6).
import { type Static, Type } from 'typebox'
import { ActionAccepted, Closed, KnownText, Nullable, OneOf, Unavailable } from '../common.ts'
import { defineArea } from '../route.ts'

/** IPv6 needs 1280; the largest value an Ethernet device of Linux can state is 65535. */
export const MTU_MIN = 1280
export const MTU_MAX = 65_535
/** The kernel's own least MTU: what a raw frame may carry. */
export const PAYLOAD_MIN = 46

export const MTU_ROLES = ['management', 'public', 'storage'] as const
export type MtuRole = (typeof MTU_ROLES)[number]

const Value = Type.Integer({ minimum: MTU_MIN, maximum: MTU_MAX })
const Declared = Type.Integer({ minimum: 0, description: '0 when nothing is declared.' })
const Actual = Nullable(Type.Integer({ description: 'Live MTU; null when the node could not be read.' }))
const Kind = KnownText(['bridge', 'physical', 'bond', 'vlan', 'veth'], 'Kind of device as the kernel names it.')
const DeviceName = Type.String({
  minLength: 1,
  maxLength: 15,
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$',
  description: 'Name of a network device of the node.',
})

export const MtuDevice = Type.Object(
  {
    actual: Actual,
    declared: Declared,
    divergent: Type.Boolean({ description: 'The live value is known and differs from the declared one.' }),
    kind: Kind,
    name: Type.String(),
    role: Type.String(),
  },
  { title: 'MtuDevice' },
)
export type MtuDevice = Static<typeof MtuDevice>

export const MtuDeviation = Type.Object(
  {
    actual: Actual,
    declared: Declared,
    detail: Type.String({ description: 'One sentence with the numbers.' }),
    device: Type.String(),
    kind: Kind,
    node: Type.String({ description: 'Address of the node.' }),
    role: Type.String(),
    state: KnownText(
      ['divergent', 'awaiting', 'unreachable'],
      '`awaiting` while a rollout still has to reach the node.',
    ),
  },
  { title: 'MtuDeviation' },
)
export type MtuDeviation = Static<typeof MtuDeviation>

export const MtuNode = Type.Object(
  {
    devices: Type.Array(MtuDevice),
    error: Type.String({ description: 'Why the node could not be read, else empty.' }),
    fqdn: Type.String(),
    node_ip: Type.String(),
    node_role: Type.String(),
    status: Type.String(),
    zone: Type.String({ description: 'For filtering only; the declaration is fleet-wide.' }),
  },
  { title: 'MtuNode' },
)

export const MtuReport = Type.Object(
  {
    declared: Type.Object({
      management: Declared,
      public: Declared,
      storage: Declared,
      underlay: Nullable(
        Type.Integer({
          description: 'Reported only, edited on the fabric page; the ceiling of rejections. Null: no fabric.',
        }),
      ),
    }),
    awaiting: Type.Array(MtuDeviation),
    divergences: Type.Array(MtuDeviation),
    nodes: Type.Array(MtuNode),
    rollout_status: KnownText(['none', 'running', 'succeeded', 'failed'], 'State of the last rollout.'),
    status: KnownText(['consistent', 'divergent', 'awaiting', 'unknown'], 'One word for the fleet.'),
    unreachable_nodes: Type.Integer({ minimum: 0 }),
    unavailable: Type.Optional(Type.Array(Unavailable)),
  },
  { title: 'MtuReport' },
)
export type MtuReport = Static<typeof MtuReport>

/** Answer of a dry run of the rollout. */
export const MtuRolloutPlan = Type.Object(
  {
    dry_run: Type.Literal(true),
    message: Type.String(),
    changes: Type.Array(
      Type.Object({
        node: Type.String(),
        bridge: Type.String(),
        role: Type.String(),
        actual: Type.Integer({ minimum: 0, description: 'Live MTU.' }),
        mtu: Type.Integer({ minimum: 0, description: 'MTU it would get.' }),
      }),
    ),
    unverifiable: Type.Array(Type.String({ description: 'What no probe can verify.' })),
    unreachable: Type.Array(Type.String({ description: 'Nodes that would be left out.' })),
  },
  { title: 'MtuRolloutPlan' },
)
export type MtuRolloutPlan = Static<typeof MtuRolloutPlan>

export const MtuDeclaration = Closed(
  { management: Type.Optional(Value), public: Type.Optional(Value), storage: Type.Optional(Value) },
  { minProperties: 1, title: 'MtuDeclaration' },
)

export const MtuL2ProbeRequest = Closed(
  {
    device: DeviceName,
    mode: OneOf(['listen', 'send'], {
      description: 'listen counts the frames received within its window; send emits a burst to the MAC of the peer.',
    }),
    mtu: Type.Integer({
      minimum: PAYLOAD_MIN,
      maximum: MTU_MAX,
      description: 'Payload size under test; the frame on the wire is mtu plus the 14-byte Ethernet header.',
    }),
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 200, default: 20, description: 'Frames to send or await.' }),
    ),
    peer: Type.Optional(
      Type.String({
        maxLength: 45,
        description: 'Target IP of the send side; its MAC is resolved unless peer_mac is given.',
      }),
    ),
    peer_mac: Type.Optional(Type.String({ pattern: '^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$' })),
    token: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 4_294_967_295, default: 0, description: 'Marks the frames of one run.' }),
    ),
    window_ms: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 30_000, default: 3000, description: 'How long listen waits at most.' }),
    ),
  },
  { title: 'MtuL2ProbeRequest' },
)
export type MtuL2ProbeRequest = Static<typeof MtuL2ProbeRequest>

export const MtuL2ProbeResult = Type.Object(
  {
    detail: Type.String(),
    device: Type.String(),
    mode: Type.String(),
    peer_mac: Type.String({ description: 'MAC sent to, or the first sender heard; empty when there is none.' }),
    mtu: Type.Integer(),
    received: Type.Integer({ minimum: 0 }),
    sent: Type.Integer({ minimum: 0 }),
  },
  { title: 'MtuL2ProbeResult' },
)
export type MtuL2ProbeResult = Static<typeof MtuL2ProbeResult>

export const MTU_PHASES = ['', 'raise', 'prepare', 'use', 'probe', 'commit', 'revert'] as const

export const MtuNodeApplyRequest = Closed(
  {
    bridge: DeviceName,
    mtu: Value,
    advisory_targets: Type.Optional(
      Type.Array(Type.String({ maxLength: 45 }), {
        maxItems: 32,
        description: 'Addresses probed as well; their failures are reported and decide nothing.',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'Verify the value and revert unconditionally; nothing is persisted.' }),
    ),
    phase: Type.Optional(
      OneOf([...MTU_PHASES], {
        description:
          'Empty: raise, probe, then commit or revert in one call. A cluster-wide run raises every node, probes ' +
          'every node, and commits last; each phase works on the pending change of the bridge. `prepare` and `use` are ' +
          '`raise` in two halves: what carries frames grows first and shrinks last, so that no peer ever sends more ' +
          'than the others take.',
      }),
    ),
    probe_target: Type.Optional(
      Type.String({ maxLength: 45, description: 'Address that must answer at the full size.' }),
    ),
    self_revert_secs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 900,
        description: 'Watchdog window; 0 takes the default of the node (120), values below 10 count as 10.',
      }),
    ),
  },
  { title: 'MtuNodeApplyRequest' },
)
export type MtuNodeApplyRequest = Static<typeof MtuNodeApplyRequest>

export const MtuNodeApplyResult = Type.Object(
  {
    advisory_failures: Type.Array(Type.String()),
    devices: Type.Array(Type.String({ description: 'Devices changed, in the order of the change.' })),
    applied: Type.Boolean({ description: 'The value was set live and read back.' }),
    persisted: Type.Boolean({ description: 'The value was written to the configuration.' }),
    probed: Type.Boolean(),
    probe_ok: Type.Boolean(),
    reverted: Type.Boolean({ description: 'Everything done was undone: live values and files are the old ones.' }),
    bridge: Type.String(),
    detail: Type.String(),
    peer_mac: Type.Optional(
      Type.String({ description: 'Only when the verdict is inconclusive and the neighbour answers.' }),
    ),
    probe_verdict: OneOf(['pass', 'fail', 'inconclusive', '']),
    limit_mtu: Type.Integer({ description: 'Largest value the devices below the bridge and the underlay allow.' }),
    mtu: Type.Integer(),
  },
  { title: 'MtuNodeApplyResult' },
)
export type MtuNodeApplyResult = Static<typeof MtuNodeApplyResult>

export const mtu = defineArea({
  name: 'mtu',
  description: 'Bridge MTU: declared versus actual, rollout, verification on the wire.',
  routes: {
    mtuReport: {
      method: 'GET',
      path: '/network/mtu',
      summary: 'Compare declared with actual MTU',
      description: 'Reads every configured node; a node that does not answer is counted and listed with its error.',
      access: 'viewer',
      ok: { 200: MtuReport },
      errors: [400, 500],
      example: {
        answer: {
          declared: { management: 1500, public: 0, storage: 9000, underlay: null },
          awaiting: [],
          divergences: [],
          nodes: [],
          rollout_status: 'none',
          status: 'consistent',
          unreachable_nodes: 0,
        },
      },
    },
    mtuDeclare: {
      method: 'PUT',
      path: '/network/mtu',
      summary: 'Declare bridge MTU of each role',
      description:
        'Stores the declared values and rolls them out: raise on every node, probe, then commit, or revert everywhere. ' +
        'Works with or without a fabric configuration. Roles left out keep their declaration.',
      access: 'admin',
      query: Closed({
        acknowledge_unverifiable: Type.Optional(
          Type.Boolean({ description: 'Go on when a role has no probe target.' }),
        ),
      }),
      body: MtuDeclaration,
      ok: { 200: Type.Union([ActionAccepted, MtuRolloutPlan]) },
      errors: [400, 404, 409, 500],
      event: { resource_type: 'MTU' },
      dry_run: true,
      example: { body: { storage: 9000 } },
    },
    mtuL2Probe: {
      method: 'POST',
      path: '/network/mtu/l2probe',
      summary: 'Probe MTU with raw frames',
      description: 'Used when ICMP is filtered: one node listens, the other sends, both with the same token.',
      access: 'admin',
      effect: 'read',
      body: MtuL2ProbeRequest,
      ok: { 200: MtuL2ProbeResult },
      errors: [400, 404, 409, 500],
      runs_on: 'node',
      timeout_ms: 45_000,
      example: {
        body: { device: 'mgmt0', mode: 'listen', mtu: 9000, count: 20, token: 7, window_ms: 3000 },
        answer: {
          detail: '20 frames of 9000 bytes received', device: 'mgmt0', mode: 'listen', peer_mac: '02:00:00:00:00:02',
          mtu: 9000, received: 20, sent: 0,
        }, // biome-ignore format: one record
      },
    },
    mtuNodeApply: {
      method: 'POST',
      path: '/network/mtu/node-apply',
      summary: 'Apply MTU on one node',
      description:
        'Sequence: persist, arm the self-revert watchdog, set live, probe, then commit or restore. A value that is not ' +
        'verified (failed or inconclusive probe) is restored; without a probe target reading the devices again is all ' +
        'the verification there is. The query parameter dry_run only plans; the body member dry_run verifies and reverts.',
      access: 'admin',
      body: MtuNodeApplyRequest,
      ok: { 200: MtuNodeApplyResult },
      errors: [400, 404, 409, 500],
      event: { resource_type: 'MTU' },
      dry_run: true,
      runs_on: 'node',
      example: {
        body: { bridge: 'mgmt0', mtu: 9000, probe_target: '10.50.0.2' },
        answer: {
          advisory_failures: [], devices: ['eth1', 'mgmt0'], applied: true, persisted: true, probed: true, probe_ok: true,
          reverted: false, bridge: 'mgmt0', detail: 'mgmt0 runs at 9000', probe_verdict: 'pass', limit_mtu: 9212, mtu: 9000,
        }, // biome-ignore format: one record
      },
    },
  },
})
