// The row of the NVR when the job that had it has failed: what went wrong, and what a person can do.
import type { Jobs } from '#src/jobs/admit.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import type { CamInstanceRow, CamStore, NvrState } from '#src/store/cam-instance.ts'

const OF_A_JOB: ReadonlySet<NvrState> = new Set(['provisioning', 'configuring', 'deleting'])

/** The row, after what became of its job was written into it. Any reader may do it, so that no job's end is missed. */
export async function settledInstance(deps: { cam_store: CamStore; jobs: Jobs }): Promise<CamInstanceRow | undefined> {
  const row = await deps.cam_store.instance()
  if (row === undefined || row.job_id === null || !OF_A_JOB.has(row.state)) return row
  const job = await deps.jobs.find(row.job_id)
  if (job?.job_status !== 'failed') return row
  await deps.cam_store.change(
    row.id,
    {
      state: 'failed',
      error_message: job.failure_reason ?? 'The job failed.',
      next_action: nextAction(row, job),
      job_id: null,
    },
    row,
  )
  return deps.cam_store.instance()
}

const RETRY = 'then POST /cam/current/retry goes on'

function nextAction({ state }: CamInstanceRow, { failed_step }: JobRow): string {
  if (state === 'deleting') return 'Remove what the message names, then DELETE /cam/current again.'
  return NEXT[failed_step ?? ''] ?? `Remove the cause, ${RETRY}; or DELETE /cam/current.`
}

const NEXT: Readonly<Record<string, string>> = {
  template: `Register the template with POST /cam/template and wait until it is ready; ${RETRY}.`,
  machine: `Look at the compute platform for what the machine needs (capacity, GPUs, addresses of the network); ${RETRY}.`,
  address: 'DELETE /cam/current and initialize in a network that gives addresses.',
  login: `Look at the console of the virtual machine for what its first boot says; ${RETRY}.`,
  verify: `Read the log of the NVR on its virtual machine and correct its configuration there; ${RETRY}.`,
}
