// The operations of the area `jobs`.
import { pageOf } from '#src/contract/common.ts'
import type { jobs } from '#src/contract/jobs.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { listJobs } from '#src/jobs/list.ts'
import { countChildren, jobDetail, jobOf } from '#src/jobs/view.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller, RequestContext } from '#src/kernel/http/context.ts'
import { isUuid } from '#src/store/app-event-list.ts'
import type { Db } from '#src/store/database.ts'

export interface JobsDeps {
  db: Db
  jobs: Jobs
}

export function jobHandlers({ db, jobs: engine }: JobsDeps): Handlers<typeof jobs.routes, RequestContext> {
  /** A job of another tenant does not exist for a tenant-scoped caller. */
  async function own(id: string, caller: Caller): Promise<JobRow> {
    const row = isUuid(id) ? await engine.find(id) : undefined
    if (row === undefined || (caller.tenant_id !== null && row.tenant_id !== caller.tenant_id)) {
      throw new ApiError('JOB_NOT_FOUND', `Job ${id} not found.`)
    }
    return row
  }
  return {
    async jobList({ query }, ctx) {
      const { page, page_size } = pageOf(query)
      const { rows, count } = await listJobs(db, query, { page, page_size }, ctx.caller.tenant_id)
      const children = await countChildren(
        db,
        rows.map((row) => row.id),
      )
      return { jobs: rows.map((row) => jobOf(row, 1 + (children.get(row.id) ?? 0))), count, page, page_size }
    },
    async jobGet({ params, query: { after_seq } }, { caller }) {
      const row = await own(params.id, caller)
      return jobDetail(db, row, { caller, after_seq, no_return_step: engine.noReturnStep(row.type) })
    },
    async jobCancel({ params }, ctx) {
      const { id } = await own(params.id, ctx.caller)
      return jobOf(await engine.cancel(id, ctx.caller), 1)
    },
  }
}
