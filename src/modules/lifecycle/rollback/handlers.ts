// The operations of a rollback.
import type { rollback } from '#src/contract/nodes/rollback.ts'
import type { Input } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { lastJob } from '#src/jobs/lookup.ts'
import { throwIfFailed } from '#src/jobs/run.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'
import { requireNode } from '../decommission/handlers.ts'
import { nodeJobLogsOf, nodeJobStatusOf, readNodeJob } from '../job-view.ts'
import { jobOfNode } from '../node-jobs.ts'
import { nodeSetupStartJob } from '../setup/setup.job.ts'
import { ROLLED_BACK_FROM, rollbackAdmission, rollbackStartJob } from './rollback.job.ts'

interface RollbackDeps {
  database: Database
  jobs: Jobs
}

type Routes = typeof rollback.routes
const TYPE = rollbackStartJob.type

export function rollbackHandlers(deps: RollbackDeps) {
  const { db } = deps.database
  return {
    async rollbackStart(input: Input<Routes['rollbackStart']>, ctx: RequestContext) {
      const id = ctx.resumed ? ctx.operation_id : (await admitted(deps, input, ctx)).id
      const job = await deps.jobs.wait(id, { timeout_ms: ctx.wait_seconds * 1000, signal: ctx.signal })
      throwIfFailed(job)
      return nodeJobStatusOf(await readNodeJob(db, job))
    },
    async rollbackStatus({ params, body }: Input<Routes['rollbackStatus']>) {
      await requireNode(db, params.nodeIP)
      return nodeJobStatusOf(await readNodeJob(db, await jobOfNode(db, TYPE, params.nodeIP, body?.job_id)))
    },
    async rollbackLogs({ params, query: { job_id, ...part } }: Input<Routes['rollbackLogs']>) {
      return nodeJobLogsOf(db, await jobOfNode(db, TYPE, params.nodeIP, job_id), part)
    },
  }
}

async function admitted(
  { database, jobs }: RollbackDeps,
  { params, body }: Input<Routes['rollbackStart']>,
  ctx: RequestContext,
): Promise<JobRow> {
  const { db } = database
  const node = await requireNode(db, params.nodeIP)
  const setup = await lastJob(db, { types: [nodeSetupStartJob.type], node_ip: node.bmc_ip })
  if (!ROLLED_BACK_FROM.some((state) => state === node.provision_status) || setup?.job_status === 'running')
    throw new ApiError(
      'NODE_STATE',
      `Node ${node.bmc_ip} is ${node.provision_status}; only one whose setup has failed is rolled back.`,
    )
  const { wipe = 'data', skip_steps = [] } = body ?? {}
  const seen = setup === undefined ? {} : await jobs.saved(nodeSetupStartJob, setup)
  const admission = await rollbackAdmission(db, node, { by: ctx.caller.username, wipe, skip_steps, seen })
  const reason = body?.reason === undefined ? {} : { reason: body.reason }
  return jobs.admit(rollbackStartJob, { ...admission, operation: ctx, metadata: { ...admission.metadata, ...reason } })
}
