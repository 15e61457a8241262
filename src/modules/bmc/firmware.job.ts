// Job: a firmware update that the BMC fetches itself, followed to its end also while the BMC restarts.
import { type Static, Type } from 'typebox'
import { readVersions, submitUpdate } from '#src/drivers/redfish/firmware.ts'
import { readRemoteJobs } from '#src/drivers/redfish/remote-jobs.ts'
import type { Bmc } from '#src/drivers/redfish/bmc.ts'
import { readTask, type TaskReading } from '#src/drivers/redfish/tasks.ts'
import { defineJob, type Holds, type Run } from '#src/jobs/define.ts'
import { Submissions, submissionOf, submitOnce } from '#src/jobs/submit-once.ts'
import { ApiError } from '#src/kernel/errors.ts'
import {
  APPLY_WITHIN_MS,
  type BmcJobDeps,
  BmcInput,
  openBmc,
  sendAlone,
  pauseBeforePoll,
  Polling,
  whenAwake,
} from './job-parts.ts'

const UpdateInput = Type.Object({
  ...BmcInput.properties,
  image_uri: Type.String(),
  targets: Type.Optional(Type.Array(Type.String())),
  apply_time: Type.Optional(Type.Union([Type.Literal('Immediate'), Type.Literal('OnReset')])),
})
const UpdateState = Type.Object({
  ...Polling,
  submissions: Submissions,
  versions: Type.Record(Type.String(), Type.String()),
  /** Paths of jobs of the BMC that were there before. */
  jobs: Type.Array(Type.String()),
  outcome: Type.Union([Type.Literal('succeeded'), Type.Literal('needs_reset'), Type.Literal('gone')]),
  deadline: Type.Number(),
  verified: Type.Boolean(),
})
type UpdateRun = Run<BmcJobDeps, Static<typeof UpdateInput>, Static<typeof UpdateState>>

const UpdateResult = Type.Object({
  status: Type.Union([Type.Literal('completed'), Type.Literal('completed_needs_reset'), Type.Literal('unverified')]),
})

export const bmcFirmwareUpdateJob = defineJob<BmcJobDeps>()({
  type: 'bmc.firmware',
  input: UpdateInput,
  state: UpdateState,
  result: UpdateResult,
  resultOf: ({ state }): Static<typeof UpdateResult> => ({
    status:
      state.outcome === 'needs_reset' ? 'completed_needs_reset' : state.verified === true ? 'completed' : 'unverified',
  }),
  resource_type: 'BMC',
  limits: [{ of: ({ bmc_ip }) => `the firmware of BMC ${bmc_ip}`, most: 1, refuse: 'BMC_JOB_CONFLICT' }],
  steps: [
    { name: 'submit', title: 'Submit the update to the BMC', run: submit },
    {
      name: 'follow',
      title: 'Wait for the update',
      weight: 5,
      run: follow,
      timeout_ms: APPLY_WITHIN_MS,
      point_of_no_return: true,
    },
    {
      name: 'verify',
      title: 'Compare the versions',
      applies: ({ state }) => (state.outcome === 'needs_reset' ? 'the update is applied by the next restart' : true),
      run: verify,
      holds: async ({ state }): Promise<Holds> => (state.verified === true ? true : 'unknown'),
      outstanding: 'No version of the firmware has changed: check the image, and whether a restart is needed.',
      timeout_ms: 3600_000,
    },
  ],
  done: ({ input, state }) =>
    state.outcome === 'needs_reset'
      ? `The firmware of ${input.bmc_ip} is updated by its next restart: restart the machine.`
      : `The firmware update of ${input.bmc_ip} has ended.`,
})

async function submit(run: UpdateRun): Promise<void> {
  const bmc = await openBmc(run)
  const { bmc_ip, image_uri, targets, apply_time } = run.input
  if (run.state.versions === undefined) {
    await run.save({ versions: await readVersions(bmc, { signal: run.signal }), jobs: await jobPaths(bmc, run.signal) })
  }
  await submitOnce(run, {
    name: 'update',
    system: 'BMC',
    repeatable: false,
    submit: () =>
      sendAlone(run.deps.database, bmc_ip, async () => {
        const { monitor } = await submitUpdate(bmc, { image_uri, targets, apply_time }, run.signal)
        return monitor
      }),
    find: async () => {
      const fresh = (await jobPaths(bmc, run.signal)).filter((path) => run.state.jobs?.includes(path) !== true)
      return fresh[0] === undefined ? undefined : { made: fresh[0] }
    },
  })
  await run.reached('submitted')
}

async function jobPaths(bmc: Bmc, signal: AbortSignal): Promise<string[]> {
  const jobs = await readRemoteJobs(bmc, { signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'BMC_UNSUPPORTED') return []
    throw error
  })
  return jobs.map(({ path }) => path)
}

async function follow(run: UpdateRun): Promise<void> {
  const monitor = submissionOf(run, { name: 'update' }).made
  if (monitor === null) return run.save({ outcome: 'gone', deadline: Date.now() + run.deps.patience_ms })
  const bmc = await openBmc(run)
  for (;;) {
    const task = await whenAwake(run, () => readTask(bmc, monitor, run.signal))
    if (task?.state === 'failed') throw failed(run, task)
    if (task !== undefined && task.state !== 'running') {
      return run.save({ outcome: task.state, deadline: Date.now() + run.deps.patience_ms })
    }
    if (task?.percent != null) run.progress(task.percent)
    await pauseBeforePoll(run, (task?.retry_after_s ?? 0) * 1000)
  }
}

function failed({ input }: UpdateRun, { word, message }: TaskReading): ApiError {
  return new ApiError(
    'BMC_CHANGE_FAILED',
    `BMC ${input.bmc_ip} could not apply the update (${word ?? 'failed'}). Check the image and the address it is fetched from, then send the update again.`,
    { upstream_message: message },
  )
}

async function verify(run: UpdateRun): Promise<void> {
  const bmc = await openBmc(run)
  for (;;) {
    bmc.forgetGraph()
    const versions = await whenAwake(run, () => readVersions(bmc, { signal: run.signal }))
    const was = run.state.versions ?? {}
    const changed = versions !== undefined && Object.entries(versions).some(([name, version]) => was[name] !== version)
    if (changed) return run.save({ verified: true })
    // It has said that it is done: the inventory follows at once, or not at all.
    const patient = run.state.outcome === 'gone' || versions === undefined
    if (!patient || Date.now() >= (run.state.deadline ?? 0)) return
    await pauseBeforePoll(run)
  }
}
