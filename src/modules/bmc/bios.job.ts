// Job: a change of BIOS settings, from its submission to the restart that applies it, whoever restarts the machine.
import { type Static, Type } from 'typebox'
import { type BiosReading, type BiosValues, readBios, submitBios, waitingBiosJob } from '#src/drivers/redfish/bios.ts'
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

const Attributes = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]))
const BiosInput = Type.Object({
  ...BmcInput.properties,
  attributes: Attributes,
  /** Those that the BMC never shows, such as passwords: they cannot be compared. */
  unseen: Type.Array(Type.String()),
})
const BiosState = Type.Object({
  ...Polling,
  submissions: Submissions,
  remote_id: Type.String(),
  ended: Type.Boolean(),
})
type BiosRun = Run<BmcJobDeps, Static<typeof BiosInput>, Static<typeof BiosState>>

export const bmcBiosSetJob = defineJob<BmcJobDeps>()({
  type: 'bmc.bios',
  input: BiosInput,
  state: BiosState,
  resource_type: 'BMC',
  limits: [{ of: ({ bmc_ip }) => `the BIOS settings of BMC ${bmc_ip}`, most: 1, refuse: 'BMC_JOB_CONFLICT' }],
  steps: [
    { name: 'submit', title: 'Submit the settings to the BMC', run: submit },
    {
      name: 'apply',
      title: 'Wait for the restart that applies the settings',
      weight: 5,
      run: apply,
      holds: async ({ state }): Promise<Holds> => state.ended === true,
      outstanding: 'The BIOS settings were not applied within two weeks: restart the machine, then compare them.',
      timeout_ms: APPLY_WITHIN_MS,
    },
  ],
  done: ({ input }) => `${Object.keys(input.attributes).length} BIOS settings of ${input.bmc_ip} are in force.`,
})

async function submit(run: BiosRun): Promise<void> {
  const bmc = await openBmc(run)
  const { attributes, bmc_ip } = run.input
  const reading = await readBios(bmc, { signal: run.signal })
  const { made } = await submitOnce(run, {
    name: 'settings',
    system: 'BMC',
    // A BMC with a job for them refuses a second one; elsewhere the same values are set again.
    repeatable: true,
    submit: () =>
      sendAlone(
        run.deps.database,
        bmc_ip,
        async () => (await submitBios(bmc, reading, attributes, run.signal)).monitor,
      ),
    find: async () => {
      const now = await readBios(bmc, { signal: run.signal })
      const waits = Object.entries(attributes).every(([name, value]) => now.pending[name] === value)
      return waits ? { made: null } : undefined
    },
  })
  const remote_id = made === null ? await waitingBiosJob(bmc, { signal: run.signal }) : made.split('/').at(-1)
  await run.reached('submitted', { remote_id: remote_id ?? '' })
}

async function apply(run: BiosRun): Promise<void> {
  const bmc = await openBmc(run)
  const monitor = submissionOf(run, { name: 'settings' }).made
  while (!(await isApplied(run, bmc, monitor))) await pauseBeforePoll(run)
  await run.save({ ended: true })
}

async function isApplied(run: BiosRun, bmc: Bmc, monitor: string | null): Promise<boolean> {
  const task = monitor === null ? undefined : await whenAwake(run, () => readTask(bmc, monitor, run.signal))
  const over = monitor === null || (task !== undefined && task.state !== 'running')
  const reading = over ? await whenAwake(run, () => readBios(bmc, { signal: run.signal, once: true })) : undefined
  if (reading === undefined) return false
  if (task?.state === 'failed') throw failed(run, task)
  const left = notInForce(reading, run.input)
  if (left.length === 0) return true
  // Without a job, or with one whose end has just come, the values may need a moment, or a restart.
  const may_come = monitor === null || task?.state === 'needs_reset' || left.some((name) => name in reading.pending)
  if (!may_come) throw notApplied(run, left)
  return false
}

/** What waits is not in force, whatever the current values are said to be. */
function notInForce(
  { current, pending }: BiosReading,
  { attributes, unseen }: { attributes: BiosValues; unseen: string[] },
): string[] {
  return Object.entries(attributes)
    .filter(([name, value]) => !unseen.includes(name) && (current[name] !== value || name in pending))
    .map(([name]) => name)
}

function failed({ input }: BiosRun, { message, word }: TaskReading): ApiError {
  return new ApiError(
    'BMC_CHANGE_FAILED',
    `BMC ${input.bmc_ip} could not apply the BIOS settings (${word ?? 'failed'}). Correct them and send them again.`,
    { upstream_message: message },
  )
}

function notApplied({ input, state }: BiosRun, left: readonly string[]): ApiError {
  return new ApiError(
    'BMC_CHANGE_FAILED',
    `The job ${state.remote_id ?? ''} of BMC ${input.bmc_ip} has ended or was deleted, but ${left.join(', ')} ${left.length === 1 ? 'is' : 'are'} not as wanted. Send the settings again.`,
  )
}
