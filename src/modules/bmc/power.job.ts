// Job: one power action, or a shutdown and a start where a BMC cannot restart gracefully, until it is to be seen.
import { type Static, Type } from 'typebox'
import { type BeforeReset, goalOf, isReached, readPower, sendReset } from '#src/drivers/redfish/power.ts'
import { defineJob, type Holds, type Run, type Step } from '#src/jobs/define.ts'
import { Submissions, submitOnce } from '#src/jobs/submit-once.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { type BmcJobDeps, BmcInput, openBmc, sendAlone, pauseBeforePoll, Polling, whenAwake } from './job-parts.ts'

const PowerInput = Type.Object({
  ...BmcInput.properties,
  /** Reset types of this BMC, one after the other. */
  plan: Type.Array(Type.String(), { minItems: 1, maxItems: 2 }),
  /** When the operating system does not shut down in time. */
  force_off: Type.Boolean(),
})
type PowerInput = Static<typeof PowerInput>

const Before = Type.Object({
  power_on: Type.Union([Type.Boolean(), Type.Null()]),
  last_reset_at: Type.Union([Type.String(), Type.Null()]),
  boot_progress: Type.Union([Type.String(), Type.Null()]),
  seen_off: Type.Boolean(),
})

const PowerState = Type.Object({
  ...Polling,
  submissions: Submissions,
  before: Before,
  deadline: Type.Number(),
  /** Nobody can tell that it came about. */
  unverified: Type.Boolean(),
})
type PowerRun = Run<BmcJobDeps, PowerInput, Static<typeof PowerState>>
type PowerStep = Step<BmcJobDeps, PowerInput, Static<typeof PowerState>>

const PowerResult = Type.Object({ verified: Type.Boolean() })
const STEP_TIMEOUT_MS = 2 * 3600_000

export const bmcPowerSetJob = defineJob<BmcJobDeps>()({
  type: 'bmc.power',
  input: PowerInput,
  state: PowerState,
  result: PowerResult,
  resultOf: ({ state }) => ({ verified: state.unverified !== true }),
  resource_type: 'BMC',
  limits: [{ of: ({ bmc_ip }) => `the power of BMC ${bmc_ip}`, most: 1, refuse: 'BMC_JOB_CONFLICT' }],
  steps: [...phase(0), ...phase(1)],
  done: ({ input, state }) =>
    state.unverified === true
      ? `${input.plan.join(', then ')} was accepted by ${input.bmc_ip}; nobody can tell that it came about.`
      : `${input.plan.join(', then ')} of ${input.bmc_ip} came about.`,
})

function phase(index: 0 | 1): PowerStep[] {
  const planned = ({ input }: PowerRun): string | true => (input.plan[index] === undefined ? 'not needed' : true)
  return [
    {
      name: index === 0 ? 'reset' : 'then-reset',
      title: 'Send the power action',
      applies: planned,
      run: (run) => send(run, index),
    },
    {
      name: index === 0 ? 'verify' : 'then-verify',
      title: 'Wait for the power state',
      weight: 3,
      applies: planned,
      run: (run) => verify(run, index),
      holds: async ({ state }): Promise<Holds> => (state.unverified === true ? 'unknown' : state.deadline === 0),
      outstanding: 'Check that the machine was restarted: its BMC does not show it.',
      timeout_ms: STEP_TIMEOUT_MS,
    },
  ]
}

const actionOf = ({ input }: PowerRun, index: number): string => input.plan[index] ?? ''

async function send(run: PowerRun, index: number): Promise<void> {
  const bmc = await openBmc(run)
  const reset_type = actionOf(run, index)
  const name = `reset ${index}`
  if (run.state.submissions?.[name] === undefined) {
    const now = await readPower(bmc, { signal: run.signal })
    await run.save({
      before: { ...before(now), seen_off: false },
      deadline: Date.now() + run.deps.patience_ms,
      unverified: false,
    })
  }
  await submitReset(run, name, reset_type)
  if (index === 0) await run.reached('submitted')
}

const before = ({ power_on, last_reset_at, boot_progress }: BeforeReset) => ({ power_on, last_reset_at, boot_progress })

/** A lost answer is no reason to reset twice: what is to be seen says whether the first one arrived. */
async function submitReset(run: PowerRun, name: string, reset_type: string): Promise<void> {
  const bmc = await openBmc(run)
  const goal = goalOf(reset_type)
  await submitOnce(run, {
    name,
    system: 'BMC',
    repeatable: goal === 'on' || goal === 'off',
    submit: async () => {
      await sendAlone(run.deps.database, run.input.bmc_ip, () => sendReset(bmc, reset_type, { signal: run.signal }))
      return null
    },
    find: async () => {
      const now = await readPower(bmc, { signal: run.signal })
      const moving = now.power_on === null && now.power_state !== null
      return moving || isReached(goal, run.state.before ?? now, now) === true ? { made: null } : undefined
    },
  })
}

async function verify(run: PowerRun, index: number): Promise<void> {
  const reset_type = actionOf(run, index)
  const goal = goalOf(reset_type)
  const bmc = await openBmc(run)
  if (goal === 'none') return run.save({ unverified: true })
  for (;;) {
    const now = await whenAwake(run, () => readPower(bmc, { signal: run.signal, once: true }))
    const was = run.state.before
    if (was === undefined) throw new Error('the power state before the action is missing')
    const reached = now === undefined ? false : isReached(goal, was, now)
    if (reached === true) return run.save({ deadline: 0 })
    // The one sign of a restart that every BMC can give.
    if (now?.power_on === false && !was.seen_off) await run.save({ before: { ...was, seen_off: true } })
    if (Date.now() >= (run.state.deadline ?? 0)) {
      if (reached === 'unknown') return run.save({ unverified: true })
      await forceOff(run, reset_type, now?.power_state ?? null)
    }
    await pauseBeforePoll(run)
  }
}

/** Once, and only where it was asked for. */
async function forceOff(run: PowerRun, reset_type: string, power_state: string | null): Promise<void> {
  const wanted = goalOf(reset_type) === 'off' && run.input.force_off
  if (!wanted || run.state.submissions?.force !== undefined) throw notReached(run, reset_type, power_state)
  await run.note('WARN', 'The operating system did not shut down in time; switching off by force.')
  await submitReset(run, 'force', 'ForceOff')
  await run.save({ deadline: Date.now() + run.deps.patience_ms })
}

function notReached({ input, deps }: PowerRun, reset_type: string, power_state: string | null): ApiError {
  const way_out =
    goalOf(reset_type) === 'off' ? 'Switch it off with ForceOff.' : 'Look at its console, and repeat the action.'
  return new ApiError(
    'BMC_CHANGE_FAILED',
    `BMC ${input.bmc_ip} accepted ${reset_type}, but says ${power_state ?? 'nothing'} after ${deps.patience_ms / 1000} s. ${way_out}`,
  )
}
