// How jobs of nodes look from outside (Part 2, 4.4): the record, what status views add, and the log.
import { type Static, Type } from 'typebox'
import { OneOf, Time } from '../common.ts'

const BmcAddress = Type.String({ description: 'BMC address that names the node.' })

/** Fields of the job record; the documents write all but the numbers as text. */
export const NodeJobFields = {
  id: Type.String(),
  parent_id: Type.String({ description: 'Job that caused this one; empty otherwise.' }),
  job_type: Type.String({ description: 'setup, decommission, rollback, provision or reveal.' }),
  job_status: OneOf(['running', 'completed', 'failed']),
  status: Type.String({ description: 'One sentence about now.' }),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  provision_status: Type.String({ description: 'State of the node at the moment of reading.' }),
  metadata: Type.String({ description: 'What was asked for and by whom, as JSON.' }),
  node_ip: BmcAddress,
  resource_name: Type.String({ description: 'Full name of the node, else its short name, else its BMC address.' }),
  created_at: Time,
  updated_at: Time,
  total_jobs: Type.Integer({ minimum: 1, description: 'This job and its children.' }),
  wipe_report: Type.String({
    readOnly: true,
    description: 'Report of the wipe image, as JSON. Written by its callback alone; empty until then.',
  }),
}

export const NodeJob = Type.Object(NodeJobFields, { title: 'NodeJob' })
export type NodeJob = Static<typeof NodeJob>

export const NodeJobStep = Type.Object(
  {
    name: Type.String(),
    status: OneOf(['succeeded', 'failed', 'skipped', 'unverified']),
    error: Type.String({ description: 'Why it failed, was skipped, or could not be verified; empty otherwise.' }),
  },
  { title: 'NodeJobStep', description: 'Only finished steps are listed.' },
)
export type NodeJobStep = Static<typeof NodeJobStep>

/** What tells how a job stands and what to do next. */
export const NodeJobStateFields = {
  failed_step: Type.String({ description: 'First step that failed; empty otherwise.' }),
  failure_reason: Type.String({ description: 'Why it failed; empty unless the job failed.' }),
  next_action: Type.String({
    description:
      'wait, retry, retry_with_force, rollback, decommission, confirm_wipe or manual, followed by a colon and a sentence where there is something to say; empty when nothing is left to do.',
  }),
  recoverable: Type.Boolean({ description: 'The job failed, and what next_action names can mend it.' }),
  steps: Type.Array(NodeJobStep),
}

export const NodeJobStatusFields = {
  ...NodeJobFields,
  ...NodeJobStateFields,
  audit_log: Type.String({ description: 'Name of the audit log; the log endpoints have its lines.' }),
}

export const NodeJobStatus = Type.Object(NodeJobStatusFields, { title: 'NodeJobStatus' })
export type NodeJobStatus = Static<typeof NodeJobStatus>

export const OutstandingActions = Type.Array(Type.String(), {
  description: 'What a person must still check or do, one sentence each.',
})

export const NodeJobLogs = Type.Object(
  {
    job_id: Type.String(),
    node_ip: BmcAddress,
    audit_log: Type.String({ description: 'Name of the audit log.' }),
    content: Type.String({ description: 'Newest lines, oldest first, cut at the start of a line.' }),
    truncated: Type.Boolean({ description: 'Lines before these are left out.' }),
    first_seq: Type.Union([Type.Integer(), Type.Null()], {
      'x-extension': true,
      description: 'Number of the first line: pass it as before_seq to read what comes before.',
    }),
  },
  { title: 'NodeJobLogs' },
)
export type NodeJobLogs = Static<typeof NodeJobLogs>

export const exampleNodeJob: NodeJob = {
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d12',
  parent_id: '',
  job_type: 'setup',
  job_status: 'running',
  status: 'Prepare the operating system',
  progress: 35,
  provision_status: 'configuring',
  metadata: '{"role":"compute"}',
  node_ip: '10.1.0.21',
  resource_name: 'kvm-11.example.internal',
  created_at: '2026-11-20T03:12:45.120Z',
  updated_at: '2026-11-20T03:12:58.310Z',
  total_jobs: 1,
  wipe_report: '',
}
