// The jobs of a node that a request means.
import { ApiError } from '#src/kernel/errors.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { jobsById, lastJob } from '#src/jobs/lookup.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { isUuid } from '#src/store/app-event-list.ts'
import type { Db } from '#src/store/database.ts'

/** The named one, else the latest of its kind. Throws JOB_NOT_FOUND. */
export async function jobOfNode(db: Db, type: string, node_ip: string, job_id?: string): Promise<JobRow> {
  const bmc_ip = addressOf('params.nodeIP', node_ip)
  const kind = type.slice(type.indexOf('.') + 1)
  if (job_id === undefined) {
    const row = await lastJob(db, { types: [type], node_ip: bmc_ip })
    if (row === undefined) throw new ApiError('JOB_NOT_FOUND', `There is no ${kind} of node ${bmc_ip}.`)
    return row
  }
  const row = isUuid(job_id) ? (await jobsById(db, [job_id])).get(job_id) : undefined
  if (row?.type !== type || row.node_ip !== bmc_ip)
    throw new ApiError('JOB_NOT_FOUND', `Job ${job_id} is no ${kind} of node ${bmc_ip}.`)
  return row
}
