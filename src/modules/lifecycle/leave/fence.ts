// A host that the platform calls down may still run its machines. Before any of them is given up it must be known that the host is off:
// by its BMC, or by a person where everything of it has been silent for long.
import { ApiError } from '#src/kernel/errors.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import { isOff } from './node.ts'
import { hasHost, type LeaveRun, type LeaveStep, nodeOf, platformOf } from './run.ts'

const SILENT_MS = 10 * 60_000
const POLL_MS = 30_000

export const fence: LeaveStep = {
  name: 'fence',
  title: TITLES.fence,
  applies: async (run) => {
    const host = await hasHost(run)
    if (host !== true) return host
    return (await platformOf(run)).host?.state === 'Up' ? 'The host is up: its machines are seen.' : true
  },
  run: requireOff,
  timeout_ms: 2 * SILENT_MS,
}

async function requireOff(run: LeaveRun): Promise<void> {
  const { input, deps, state, signal } = run
  const off = await isOff(run)
  if (off === true) return run.note('INFO', `BMC ${input.bmc_ip} says that the machine is off.`)
  const down = `The host is down, and its machines may still be running there`
  if (off === false)
    throw new ApiError('NODE_STATE', `${down}: BMC ${input.bmc_ip} says that the machine is on. Switch it off.`)
  if (input.confirm_powered_off !== true)
    throw new ApiError(
      'NODE_STATE',
      `${down}: its BMC does not tell. Look at the machine, and retry with confirm_powered_off.`,
    )
  const answering = await answeringOf(run)
  if (answering !== undefined) throw new ApiError('NODE_STATE', `${down}: ${answering} answers, so the machine is on.`)
  const seen_ms = (await nodeOf(run)).seen_at?.getTime() ?? 0
  const since = Math.max(state.silent_since ?? deps.now(), seen_ms)
  if (state.silent_since === undefined) await run.save({ silent_since: since })
  if (deps.now() - since < SILENT_MS) return run.repeatAfter(POLL_MS)
  signal.throwIfAborted()
  await run.note(
    'WARN',
    'The machine is taken for off: nothing of it answered for 10 minutes, and a person has seen it.',
  )
}

async function answeringOf({ deps, input, signal }: LeaveRun): Promise<string | undefined> {
  for (const address of input.addresses) if (await deps.answers(address, signal)) return address
  return undefined
}
