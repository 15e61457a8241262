// What operations of the NVR answer that are jobs.
import type { camInstance } from '#src/contract/cam/instance.ts'
import type { Output } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { throwIfFailed } from '#src/jobs/run.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamStore } from '#src/store/cam-instance.ts'

type Accepted = Output<(typeof camInstance.routes)['nvrInitialize']>

interface Deps {
  jobs: Jobs
  cam_store: CamStore
}

/** Admits the job, unless an earlier request with the same key has, and answers; with `Prefer: wait` at its end. */
export async function acceptedNvrJob(
  { jobs, cam_store }: Deps,
  ctx: RequestContext,
  instance_id: () => string,
  admit: () => Promise<unknown>,
): Promise<Accepted> {
  if (!ctx.resumed) await admit()
  const { operation_id, signal, wait_seconds } = ctx
  const job = await jobs.wait(operation_id, {
    timeout_ms: wait_seconds * 1000,
    signal,
    ...(wait_seconds > 0 ? {} : { until: () => true }),
  })
  throwIfFailed(job)
  const row = await cam_store.instance()
  const done = job.job_status === 'completed'
  return {
    instance_id: row?.id ?? instance_id(),
    message: done ? job.status : job.description,
    // One that is there no more was being deleted.
    state: row?.state ?? 'deleting',
    status: done ? 'SUCCESS' : 'IN_PROGRESS',
    job_id: job.id,
    correlation_id: job.id,
  }
}
