// Taking a node out of service (Part 2, 4.4): what is checked before, the job and its views, and what a person says of its wipe.
import { type Static, Type } from 'typebox'
import { Closed, Done, Id, IpAddress, Nullable, OneOf, Time } from '../common.ts'
import { defineArea } from '../route.ts'
import {
  DecommissionPreflight, DecommissionPreflightRequest, examplePreflight, PreflightWishFields, WipeMode,
} from './decommission-preflight.ts' // biome-ignore format: one import
import {
  exampleNodeJob,
  NodeJobFields,
  NodeJobLogs,
  NodeJobStateFields,
  NodeJobStatus,
  NodeJobStatusFields,
  OutstandingActions,
} from './lifecycle-views.ts'

const extension = { 'x-extension': true } as const
export const NodePath = Type.Object({ nodeIP: IpAddress })

/** Which job of its kind; the latest when left out. */
export const JobChoice = Closed(
  { job_id: Type.Optional({ ...Id, ...extension, description: 'The latest when left out.' }) },
  { title: 'NodeJobChoice' },
)

export const LogPart = Closed({
  job_id: Type.Optional({ ...Id, ...extension, description: 'The latest when left out.' }),
  bytes: Type.Optional(
    Type.Integer({
      ...extension,
      minimum: 1024,
      maximum: 1_048_576,
      default: 65_536,
      description: 'Most bytes of lines.',
    }),
  ),
  before_seq: Type.Optional(
    Type.Integer({ ...extension, minimum: 1, maximum: 2_147_483_647, description: 'Lines before this number.' }),
  ),
})

export const Reason = Type.Optional(
  Type.String({ minLength: 1, maxLength: 500, description: 'Why; kept in the audit log.' }),
)

/** Steps that a person may do instead: each is left as an outstanding action. */
export const SKIPPABLE_STEPS = [
  'system-vms', 'node-teardown', 'wipe-boot', 'wipe-wait', 'media-cleanup', 'power-off', 'dhcp-release', 'dns-remove', 'address-release',
] as const // biome-ignore format: one list

export const SkipSteps = Type.Optional(
  Type.Array(OneOf([...SKIPPABLE_STEPS]), {
    maxItems: SKIPPABLE_STEPS.length,
    description: 'Steps to leave out; each is left to a person as an outstanding action.',
  }),
)

const ConfirmPoweredOff = Type.Optional(
  Type.Boolean({
    description:
      'Of a host that is down and whose BMC is silent: the caller has seen that the machine is off. It must also have been silent for 10 minutes.',
  }),
)

export const DecommissionRetryRequest = Closed(
  {
    reason: Reason,
    // Without a default: what was acknowledged stays, unless the caller says otherwise.
    wipe: Type.Optional(WipeMode),
    force: Type.Optional(Type.Boolean({ default: false, description: 'The machines in vms may be destroyed.' })),
    vms: Type.Optional(
      Type.Array(Type.String({ maxLength: 255 }), {
        maxItems: 1000,
        description: 'Names of machines on the host that may be destroyed beside those named before.',
      }),
    ),
    skip_steps: SkipSteps,
    confirm_powered_off: ConfirmPoweredOff,
  },
  { title: 'DecommissionRetry' },
)

export const DecommissionRequest = Closed(
  {
    ...PreflightWishFields,
    acknowledge: Closed({
      fingerprint: Type.String({ minLength: 16, maxLength: 64, description: 'Of the preflight that was read.' }),
      vms: Type.Optional(
        Type.Array(Type.String({ maxLength: 255 }), {
          maxItems: 1000,
          description: 'Names of the machines that may be destroyed.',
        }),
      ),
    }),
    power_off: Type.Optional(Type.Boolean({ default: true, description: 'Switch the machine off at the end.' })),
    confirm_powered_off: ConfirmPoweredOff,
    reason: Reason,
  },
  { title: 'DecommissionRequest' },
)

const ProvisionStatus = OneOf(['discovered', 'decommissioning'], { description: 'discovered once the node is free.' })

export const DecommissionStarted = Type.Object(
  {
    ...NodeJobFields,
    job_id: Type.String(),
    message: Type.String(),
    steps: Type.Array(Type.String(), { description: 'What will be done, in this order.' }),
  },
  { title: 'DecommissionStarted' },
)

export const DecommissionStatus = Type.Object(
  { ...NodeJobStatusFields, provision_status: ProvisionStatus, outstanding_actions: OutstandingActions },
  { title: 'DecommissionStatus' },
)

export const DecommissionSnapshot = Type.Object(
  {
    bmc_ip: Type.String(),
    current_step: Type.String({ description: 'Step that runs; empty when none does.' }),
    ...NodeJobStateFields,
    job_id: Type.String(),
    job_status: OneOf(['running', 'completed', 'failed']),
    log: Type.String({ description: 'Newest lines of the audit log.' }),
    log_truncated: Type.Boolean({ description: 'Lines before these are left out.' }),
    node_ip: Type.String({ description: 'Address of the operating system; empty once it is not known any more.' }),
    provision_status: ProvisionStatus,
    status: Type.String({ description: 'One sentence about now.' }),
    outstanding_actions: OutstandingActions,
    failed: Type.Integer({ minimum: 0, description: 'Steps that failed.' }),
    succeeded: Type.Integer({ minimum: 0, description: 'Steps that succeeded.' }),
    total_steps: Type.Integer({ minimum: 0, description: 'Steps in all.' }),
    progress: Type.Integer({ minimum: 0, maximum: 100 }),
  },
  { title: 'DecommissionSnapshot' },
)

export const WipeEvidence = Type.Object(
  {
    node: Type.Object({ id: Id, bmc_ip: Type.String(), name: Type.String() }),
    job_id: Id,
    asked_by: Type.String(),
    started_at: Time,
    finished_at: Nullable(Time),
    expected_disks: Type.Array(Type.String(), { description: 'Recorded at admission: what had to be wiped.' }),
    image_fetched: Nullable(
      Type.Object({ at: Time, by: Type.String({ description: 'Address that fetched the wipe image.' }) }),
    ),
    report: Nullable(Type.Unknown({ description: 'The report that counts, in our rendering.' })),
    submissions: Type.Array(Type.Unknown(), { description: 'Every report that came, also those that do not count.' }),
    confirmed: Nullable(Type.Unknown({ description: 'What a person stated instead.' })),
    verdict: OneOf(['verified', 'stated', 'unverified'], {
      description: 'verified by an authenticated report of every disk; stated by a person; else unverified.',
    }),
    outstanding: Type.Array(Type.String()),
    audit_log: Type.String(),
    chain_head: Nullable(Type.String({ description: 'Last hash of the audit log.' })),
  },
  { title: 'WipeEvidence' },
)

const exampleStatus: Static<typeof DecommissionStatus> = {
  ...exampleNodeJob,
  job_type: 'decommission',
  status: 'Move the machines to other hosts',
  provision_status: 'decommissioning',
  failed_step: '',
  failure_reason: '',
  next_action: 'wait',
  recoverable: false,
  steps: [{ name: 'admit', status: 'succeeded', error: '' }],
  audit_log: `decommission/${exampleNodeJob.id}.log`,
  outstanding_actions: [],
}

const params = { params: { nodeIP: '10.1.0.11' } }

export const decommission = defineArea({
  name: 'decommission',
  description:
    'Taking a node out of service: what is checked before, the teardown, the wipe of its disks, and what is left over.',
  routes: {
    decommissionPreflight: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/decommission/preflight',
      summary: 'Check node before decommission',
      description:
        'Reads only. Every source is asked at once and has 15 seconds; one that does not answer fails or warns, and never passes. Numbers that are not known are null. The result is kept for 10 minutes under its fingerprint.',
      access: 'operator',
      effect: 'read',
      params: NodePath,
      body: DecommissionPreflightRequest,
      body_optional: true,
      ok: { 200: DecommissionPreflight },
      errors: [400, 404],
      example: { ...params, body: { force: true }, answer: examplePreflight },
    },
    decommissionStart: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/decommission',
      summary: 'Decommission node',
      description:
        'Checks again; 409 when that finds anything else than the preflight that is acknowledged, or when `vms` is not exactly what would be destroyed. `force` means one thing: these machines may be destroyed. The same request while its job runs answers that job.',
      access: 'admin',
      params: NodePath,
      body: DecommissionRequest,
      ok: { 202: DecommissionStarted },
      errors: [400, 404, 409],
      event: { resource_type: 'NODE' },
      extension: true,
      example: {
        ...params,
        body: { force: true, acknowledge: { fingerprint: examplePreflight.fingerprint, vms: ['render-gpu'] } },
      },
    },
    decommissionRetry: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/decommission/retry',
      summary: 'Retry decommission of node',
      description:
        'The failed job goes on at the step that failed. `force` with `vms` gives up machines that came to the host since; 409 when one of them is not there.',
      access: 'admin',
      params: NodePath,
      body: DecommissionRetryRequest,
      body_optional: true,
      ok: { 202: NodeJobStatus },
      errors: [400, 404, 409],
      event: { resource_type: 'NODE' },
      extension: true,
      example: { ...params, body: { reason: 'the BMC has its cable back' } },
    },
    decommissionCancel: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/decommission/cancel',
      summary: 'Cancel decommission of node',
      description: 'Until the host is in maintenance: it is then brought into service again. 409 afterwards.',
      access: 'admin',
      params: NodePath,
      body: Closed({ reason: Reason }, { title: 'DecommissionCancel' }),
      body_optional: true,
      ok: { 202: NodeJobStatus },
      errors: [400, 404, 409],
      event: { resource_type: 'NODE' },
      extension: true,
      example: { ...params, body: { reason: 'the node is needed after all' } },
    },
    decommissionStatus: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/decommission/status',
      summary: 'Get status of decommission',
      access: 'viewer',
      effect: 'read',
      params: NodePath,
      body: JobChoice,
      body_optional: true,
      ok: { 200: DecommissionStatus },
      errors: [404],
      example: { ...params, body: {}, answer: exampleStatus },
    },
    decommissionSnapshot: {
      method: 'GET',
      path: '/configure/nodes/{nodeIP}/decommission/snapshot',
      summary: 'Get snapshot of decommission',
      access: 'viewer',
      params: NodePath,
      ok: { 200: DecommissionSnapshot },
      errors: [404],
      example: params,
    },
    decommissionLogs: {
      method: 'GET',
      path: '/configure/nodes/{nodeIP}/decommission/logs',
      summary: 'Get audit log of decommission',
      access: 'viewer',
      params: NodePath,
      query: LogPart,
      ok: { 200: NodeJobLogs },
      errors: [404],
      example: params,
    },
    decommissionWipeConfirm: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/decommission/confirm-wipe',
      summary: 'Confirm wipe of disks by hand',
      description:
        'A person’s statement, recorded as such: it closes what is outstanding of the wipe of the latest decommission.',
      access: 'admin',
      params: NodePath,
      body: Closed(
        {
          evidence: Type.String({
            minLength: 1,
            maxLength: 2000,
            description: 'How it is known that the disks are clean.',
          }),
          disks: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 128 })),
        },
        { title: 'WipeConfirmation' },
      ),
      ok: { 200: Done },
      errors: [400, 404, 409],
      event: { resource_type: 'NODE' },
      extension: true,
      example: {
        ...params,
        body: { evidence: 'Shredded, certificate 4711.' },
        answer: { message: 'The wipe is confirmed.' },
      },
    },
    decommissionEvidence: {
      method: 'GET',
      path: '/configure/nodes/{nodeIP}/decommission/evidence',
      summary: 'Get evidence of wipe',
      description:
        'One document to keep: what had to be wiped, what was reported and by whom, and what a person stated.',
      access: 'viewer',
      params: NodePath,
      ok: { 200: WipeEvidence },
      errors: [400, 404],
      extension: true,
      example: params,
    },
  },
})
