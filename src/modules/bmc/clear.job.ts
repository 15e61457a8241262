// Job: the queue of a BMC is cleared, and what resists is named.
import { type Static, Type } from 'typebox'
import { clearRemoteJobs, isLifecycleReady, readRemoteJobs } from '#src/drivers/redfish/remote-jobs.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { type BmcJobDeps, BmcInput, openBmc, sendAlone, pauseBeforePoll, Polling, whenAwake } from './job-parts.ts'

const ClearInput = Type.Object({ ...BmcInput.properties, force: Type.Boolean() })
const ClearState = Type.Object({ ...Polling, remaining: Type.Array(Type.String()), forced: Type.Boolean() })
type ClearRun = Run<BmcJobDeps, Static<typeof ClearInput>, Static<typeof ClearState>>

const READY_WITHIN_MS = 15 * 60_000

export const bmcJobsDeleteJob = defineJob<BmcJobDeps>()({
  type: 'bmc.clear_jobs',
  input: ClearInput,
  state: ClearState,
  result: Type.Object({ remaining: Type.Array(Type.String()) }),
  resultOf: ({ state }) => ({ remaining: state.remaining ?? [] }),
  resource_type: 'BMC',
  limits: [{ of: ({ bmc_ip }) => `the jobs of BMC ${bmc_ip}`, most: 1, refuse: 'BMC_JOB_CONFLICT' }],
  steps: [
    { name: 'clear', title: 'Clear the queue of the BMC', run: clear },
    {
      name: 'force',
      title: 'Clear by force what is left',
      applies: ({ input, state }) =>
        (state.remaining ?? []).length === 0 ? 'nothing is left' : input.force ? true : 'force was not asked for',
      run: force,
    },
    {
      name: 'ready',
      title: 'Wait until the BMC is ready again',
      applies: ({ state }) => (state.forced === true ? true : 'nothing was forced'),
      run: ready,
      timeout_ms: READY_WITHIN_MS,
    },
    { name: 'list', title: 'List what is left', run: list },
  ],
  done: ({ input, state }) =>
    (state.remaining ?? []).length === 0
      ? `The queue of ${input.bmc_ip} is empty.`
      : `${state.remaining?.length ?? 0} jobs of ${input.bmc_ip} are still there.`,
})

async function clear(run: ClearRun): Promise<void> {
  const bmc = await openBmc(run)
  await sendAlone(run.deps.database, run.input.bmc_ip, () => clearRemoteJobs(bmc, { force: false, signal: run.signal }))
  await list(run)
}

async function force(run: ClearRun): Promise<void> {
  const bmc = await openBmc(run)
  await run.save({ forced: true })
  await sendAlone(run.deps.database, run.input.bmc_ip, () => clearRemoteJobs(bmc, { force: true, signal: run.signal }))
}

async function ready(run: ClearRun): Promise<void> {
  const bmc = await openBmc(run)
  for (;;) {
    const is_ready = await whenAwake(run, () => isLifecycleReady(bmc, run.signal))
    // Null: it does not say.
    if (is_ready === true || is_ready === null) return
    await pauseBeforePoll(run)
  }
}

async function list(run: ClearRun): Promise<void> {
  const bmc = await openBmc(run)
  const jobs = await readRemoteJobs(bmc, { signal: run.signal })
  await run.save({ remaining: jobs.map(({ id }) => id) })
}
