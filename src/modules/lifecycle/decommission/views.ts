// What is shown of a decommission: its status, a snapshot, its log, and the evidence of its wipe.
import type { decommission } from '#src/contract/nodes/decommission.ts'
import type { Input } from '#src/contract/route.ts'
import { chainHead, logName, logTail } from '#src/jobs/audit-log.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { runningStep } from '#src/jobs/view.ts'
import { fetchOf } from '#src/store/bmcs.ts'
import type { Db } from '#src/store/database.ts'
import { findWipe, submissionsOf } from '#src/store/wipes.ts'
import { type NodeJobFacts, nodeJobLogsOf, nodeJobStatusOf, readNodeJob, stateOf } from '../job-view.ts'
import { jobOfNode } from '../node-jobs.ts'
import { openDisks } from '../wipe/report.ts'
import { decommissionStartJob } from './decommission.job.ts'
import { requireNode } from './handlers.ts'

type Routes = typeof decommission.routes
const TYPE = decommissionStartJob.type

export function decommissionViews(db: Db) {
  return {
    async decommissionStatus({ params, body }: Input<Routes['decommissionStatus']>) {
      const facts = await readNodeJob(db, await jobOfNode(db, TYPE, params.nodeIP, body?.job_id))
      return decommissionStatusOf(db, facts)
    },
    async decommissionSnapshot({ params }: Input<Routes['decommissionSnapshot']>) {
      const node = await requireNode(db, params.nodeIP)
      const row = await jobOfNode(db, TYPE, params.nodeIP)
      const [facts, log] = await Promise.all([readNodeJob(db, row), logTail(db, row.id)])
      const count = (state: string): number => facts.steps.filter((step) => step.state === state).length
      return {
        bmc_ip: node.bmc_ip,
        current_step: runningStep(facts.steps) ?? '',
        ...stateOf(facts),
        job_id: row.id,
        job_status: row.job_status as 'running',
        log: log.content,
        log_truncated: log.truncated,
        node_ip: node.node_ip ?? '',
        provision_status: provisionStatus(facts),
        status: row.status,
        outstanding_actions: shortened(facts.outstanding),
        failed: count('failed'),
        succeeded: count('succeeded'),
        total_steps: row.planned_steps.length,
        progress: row.progress,
      }
    },
    async decommissionLogs({ params, query: { job_id, ...part } }: Input<Routes['decommissionLogs']>) {
      return nodeJobLogsOf(db, await jobOfNode(db, TYPE, params.nodeIP, job_id), part)
    },
    decommissionEvidence: ({ params }: Input<Routes['decommissionEvidence']>) => evidence(db, params.nodeIP),
  }
}

export async function decommissionStatusOf(db: Db, facts: NodeJobFacts) {
  const wipe = await findWipe(db, facts.row.id)
  return {
    ...nodeJobStatusOf(facts, wipe?.report ?? ''),
    provision_status: provisionStatus(facts),
    outstanding_actions: shortened(facts.outstanding),
  }
}

/** The documents know two words here: a node whose job was cancelled is not free. */
function provisionStatus({ row, provision_status }: NodeJobFacts): 'discovered' | 'decommissioning' {
  return provision_status === 'discovered' && row.job_status === 'completed' ? 'discovered' : 'decommissioning'
}

const SHOWN_MOST = 100

function shortened(actions: readonly string[]): string[] {
  if (actions.length <= SHOWN_MOST) return [...actions]
  return [...actions.slice(0, SHOWN_MOST), `… and ${actions.length - SHOWN_MOST} more`]
}

async function evidence(db: Db, text: string) {
  const node = await requireNode(db, text)
  const row: JobRow = await jobOfNode(db, TYPE, text)
  const [wipe, submissions, fetched, chain_head] = await Promise.all([
    findWipe(db, row.id),
    submissionsOf(db, row.id),
    fetchOf(db, row.id),
    chainHead(db, row.id),
  ])
  const outstanding =
    wipe === undefined
      ? [`The disks of the machine of BMC ${node.bmc_ip} were not wiped.`]
      : openDisks(wipe, node.bmc_ip)
  const verdict = wipe?.confirmed != null ? 'stated' : outstanding.length === 0 ? 'verified' : 'unverified'
  return {
    node: { id: node.id, bmc_ip: node.bmc_ip, name: row.resource_name },
    job_id: row.id,
    asked_by: (row.caller as { username: string }).username,
    started_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
    expected_disks: wipe?.expected_disks ?? [],
    image_fetched: fetched === undefined ? null : { at: fetched.fetched_at.toISOString(), by: fetched.fetched_by },
    report: wipe === undefined || wipe.report === '' ? null : (JSON.parse(wipe.report) as unknown),
    submissions: submissions.map((one) => JSON.parse(one) as unknown),
    confirmed: wipe?.confirmed ?? null,
    verdict: verdict as 'verified' | 'stated' | 'unverified',
    outstanding,
    audit_log: logName(row),
    chain_head,
  }
}
