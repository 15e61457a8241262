// How jobs of nodes look from outside, made of the ledger's rows: setup, decommission, rollback, provision and reveal alike.
import type { NodeJob, NodeJobLogs, NodeJobStatus } from '#src/contract/nodes/lifecycle-views.ts'
import { logName, logTail } from '#src/jobs/audit-log.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { endedSteps, type JobFacts, readJobFacts } from '#src/jobs/view.ts'
import type { Db } from '#src/store/database.ts'
import { findNode } from '#src/store/nodes.ts'

export interface NodeJobFacts extends JobFacts {
  row: JobRow
  /** Of the node now; empty when it is not registered any more. */
  provision_status: string
}

export async function readNodeJob(db: Db, row: JobRow): Promise<NodeJobFacts> {
  const [facts, node] = await Promise.all([readJobFacts(db, row.id), findNode(db, row.node_ip ?? '')])
  return { row, provision_status: node?.provision_status ?? '', ...facts }
}

export function nodeJobOf({ row, children, provision_status }: NodeJobFacts, wipe_report = ''): NodeJob {
  return {
    id: row.id,
    parent_id: row.parent_id ?? '',
    job_type: row.type.slice(row.type.indexOf('.') + 1),
    job_status: row.job_status as NodeJob['job_status'],
    status: row.status,
    progress: row.progress,
    provision_status,
    metadata: JSON.stringify(row.metadata),
    node_ip: row.node_ip ?? '',
    resource_name: row.resource_name === '' ? (row.node_ip ?? '') : row.resource_name,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    total_jobs: 1 + children.length,
    wipe_report,
  }
}

export function nodeJobStatusOf(facts: NodeJobFacts, wipe_report = ''): NodeJobStatus {
  return { ...nodeJobOf(facts, wipe_report), ...stateOf(facts), audit_log: logName(facts.row) }
}

/** Of status views and snapshots. */
export function stateOf(
  facts: NodeJobFacts,
): Pick<NodeJobStatus, 'failed_step' | 'failure_reason' | 'next_action' | 'recoverable' | 'steps'> {
  const { row, steps } = facts
  const failed = row.job_status === 'failed'
  const next = nextStep(facts)
  return {
    failed_step: failed ? (row.failed_step ?? '') : '',
    failure_reason: failed ? (row.failure_reason ?? '') : '',
    next_action: next.sentence === undefined ? next.action : `${next.action}: ${next.sentence}`,
    recoverable: failed && next.action !== 'manual',
    steps: endedSteps(steps),
  }
}

/** The newest lines of the job's audit log. */
export async function nodeJobLogsOf(
  db: Db,
  row: JobRow,
  part: { bytes?: number; before_seq?: number } = {},
): Promise<NodeJobLogs> {
  const tail = await logTail(db, row.id, part)
  return { job_id: row.id, node_ip: row.node_ip ?? '', audit_log: logName(row), ...tail }
}

interface Next {
  action: '' | 'wait' | 'retry' | 'retry_with_force' | 'rollback' | 'decommission' | 'confirm_wipe' | 'manual'
  sentence?: string | undefined
}

/** What a failure asks for, by its code; `retry` for all others (node-lifecycle.md 9). */
const BY_CODE: Readonly<Record<string, Next['action']>> = {
  // The outcome of what may happen once is not known.
  JOB_INTERRUPTED: 'manual',
  VM_NOT_ACKNOWLEDGED: 'retry_with_force',
  NODE_IN_SERVICE: 'decommission',
}

function nextStep(facts: NodeJobFacts): Next {
  const { row, children, outstanding, steps } = facts
  if (row.job_status === 'running') return { action: 'wait' }
  if (row.job_status === 'completed') {
    const unverified = steps.some(({ name, state }) => name.startsWith('wipe-') && state === 'unverified')
    if (unverified && outstanding.length > 0) return { action: 'confirm_wipe', sentence: outstanding[0] }
    return outstanding.length === 0 ? { action: '' } : { action: 'manual', sentence: outstanding[0] }
  }
  return row.type === 'node.setup' ? afterSetup(facts, children.at(-1)) : afterFailure(facts)
}

function afterFailure({ row: { failure_code, failure_reason } }: NodeJobFacts): Next {
  return { action: BY_CODE[failure_code ?? ''] ?? 'retry', sentence: failure_reason ?? undefined }
}

/** A failed setup is rolled back by a job of its own, unless it is held. */
function afterSetup(facts: NodeJobFacts, rollback: JobRow | undefined): Next {
  if (rollback?.job_status === 'running') return { action: 'wait', sentence: 'The node is being rolled back.' }
  const is_held = facts.provision_status === 'configure_failed'
  if (is_held && rollback?.job_status === 'failed') {
    const { failure_code, failure_reason } = rollback
    return { action: BY_CODE[failure_code ?? ''] ?? 'retry', sentence: `Rollback: ${failure_reason ?? ''}` }
  }
  if (is_held) {
    return {
      action: 'rollback',
      sentence: 'The node is held as the failed setup left it; set it up again or roll it back.',
    }
  }
  return afterFailure(facts)
}
