// Job: a machine is started once from an image that its BMC fetches from us.
import { type Static, Type } from 'typebox'
import {
  bootSlot,
  clearBootOverride,
  ejectMedia,
  insertMedia,
  readSlot,
  setBootOnce,
} from '#src/drivers/redfish/media.ts'
import { chooseResetType, isReached, readPower, readResetTypes, sendReset } from '#src/drivers/redfish/power.ts'
import { defineJob, type Holds, type Run } from '#src/jobs/define.ts'
import { Submissions, submitOnce } from '#src/jobs/submit-once.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { fetchOf, forgetFetches, revokeBootImages } from '#src/store/bmcs.ts'
import { type BmcJobDeps, BmcInput, openBmc, sendAlone, pauseBeforePoll, Polling, whenAwake } from './job-parts.ts'

const MountInput = Type.Object({
  ...BmcInput.properties,
  /** Address of the image, with the secret of this job. */
  url: Type.String(),
  iso_file: Type.String(),
  /** The job that the image is granted to; this one when left out. */
  granted_to: Type.Optional(Type.String()),
})
const MountState = Type.Object({
  ...Polling,
  submissions: Submissions,
  /** Path of the slot. */
  slot: Type.String(),
  was_on: Type.Boolean(),
  seen_off: Type.Boolean(),
  last_reset_at: Type.String(),
  /** The service does not know a boot device for one boot. */
  continuous: Type.Boolean(),
  deadline: Type.Number(),
  fetched: Type.Boolean(),
  started: Type.Boolean(),
  steps: Type.Array(Type.String()),
})
type MountRun = Run<BmcJobDeps, Static<typeof MountInput>, Static<typeof MountState>>

const SHOWN_WITHIN_MS = 30_000
const STEP_TIMEOUT_MS = 2 * 3600_000

export const bmcIsoMountJob = defineJob<BmcJobDeps>()({
  type: 'bmc.iso_mount',
  input: MountInput,
  state: MountState,
  result: Type.Object({ fetched: Type.Boolean() }),
  resultOf: ({ state }) => ({ fetched: state.fetched === true }),
  resource_type: 'BMC',
  limits: [{ of: ({ bmc_ip }) => `the power of BMC ${bmc_ip}`, most: 1, refuse: 'BMC_JOB_CONFLICT' }],
  steps: [
    { name: 'check', title: 'Fetch the image as the BMC will', run: check },
    { name: 'eject', title: 'Eject what is in the virtual drive', run: eject },
    { name: 'insert', title: 'Insert the image', weight: 3, run: insert, undo: takeOut },
    { name: 'boot-once', title: 'Choose the virtual drive for the next boot', run: chooseDrive, undo: forgetDrive },
    { name: 'boot', title: 'Restart the machine', run: boot, milestone: 'submitted' },
    { name: 'start', title: 'Wait for the start', weight: 3, run: waitForStart, timeout_ms: STEP_TIMEOUT_MS },
    {
      name: 'fetch',
      title: 'Check that the BMC has fetched the image',
      run: checkFetch,
      holds: async ({ state }): Promise<Holds> => (state.fetched === true ? true : 'unknown'),
      outstanding: 'The BMC has not fetched the image as far as we can see: look at the console of the machine.',
      timeout_ms: STEP_TIMEOUT_MS,
    },
  ],
  on_failure: 'undo',
  undo: (run) => revokeBootImages(run.deps.database.db, grantedTo(run)),
  done: ({ input }) => `The machine of ${input.bmc_ip} starts from ${input.iso_file}.`,
})

function grantedTo({ input, job_id }: Pick<MountRun, 'input' | 'job_id'>): string {
  return input.granted_to ?? job_id
}

async function tell(run: MountRun, sentence: string): Promise<void> {
  const steps = run.state.steps ?? []
  if (!steps.includes(sentence)) await run.save({ steps: [...steps, sentence] })
}

const CHECK_TIMEOUT_MS = 10_000

/** Most mounts fail because of the address: said before anything is touched, with our own reason. */
async function check(run: MountRun): Promise<void> {
  const signal = AbortSignal.any([run.signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)])
  const answer = await fetch(run.input.url, { signal, redirect: 'error', headers: { range: 'bytes=0-0' } }).catch(
    (cause: unknown) => {
      run.signal.throwIfAborted()
      throw unreachable(run, cause)
    },
  )
  await answer.arrayBuffer()
  if (answer.status !== 206 && answer.status !== 200) throw unreachable(run, `HTTP ${answer.status}`)
  await run.fenced((trx) => forgetFetches(trx, grantedTo(run)))
  await tell(run, `The image ${run.input.iso_file} can be fetched.`)
}

function unreachable({ input }: MountRun, cause: unknown): ApiError {
  const { host } = new URL(input.url)
  return new ApiError(
    'BMC_REJECTED',
    `${input.iso_file} cannot be fetched from http://${host}/boot/…: check control_node_ip and bmc.image_port.`,
    { cause },
  )
}

async function eject(run: MountRun): Promise<void> {
  const bmc = await openBmc(run)
  const slot = await bootSlot(bmc, { signal: run.signal })
  await run.save({ slot: slot.path })
  if (!slot.inserted) return
  await sendAlone(run.deps.database, run.input.bmc_ip, () => ejectMedia(bmc, slot, run.signal))
  await tell(run, `What was in ${slot.id} is ejected.`)
}

async function slotOf(run: MountRun) {
  const bmc = await openBmc(run)
  const slot = await readSlot(bmc, run.state.slot ?? '', { signal: run.signal })
  return { bmc, slot }
}

async function insert(run: MountRun): Promise<void> {
  const { bmc, slot } = await slotOf(run)
  const { url, bmc_ip } = run.input
  if (!(slot.inserted && slot.image === url)) {
    await sendAlone(run.deps.database, bmc_ip, () => insertMedia(bmc, slot, url, run.deps.timeout_ms, run.signal))
  }
  const deadline = Date.now() + Math.min(SHOWN_WITHIN_MS, run.deps.patience_ms)
  for (;;) {
    const now = (await slotOf(run)).slot
    if (now.inserted && now.image === url) break
    if (Date.now() > deadline) {
      throw new ApiError(
        'BMC_CHANGE_FAILED',
        `BMC ${bmc_ip} accepted the image, but does not show it in ${slot.id}. Eject what is there and try again.`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, run.deps.follow_ms))
  }
  await tell(run, `The image is in ${slot.id}.`)
}

async function takeOut(run: MountRun): Promise<void> {
  if (run.state.slot === undefined) return
  const { bmc, slot } = await slotOf(run)
  if (slot.image === run.input.url || slot.image === null) await ejectMedia(bmc, slot, run.signal)
}

async function chooseDrive(run: MountRun): Promise<void> {
  const bmc = await openBmc(run)
  const { enabled, target } = await sendAlone(run.deps.database, run.input.bmc_ip, () => setBootOnce(bmc, run.signal))
  if (!/^(Cd|UsbCd)$/.test(target ?? '')) {
    throw new ApiError(
      'BMC_CHANGE_FAILED',
      `BMC ${run.input.bmc_ip} accepted the boot device, but shows ${target ?? 'none'}. Set it in its web page.`,
    )
  }
  const continuous = enabled === 'Continuous'
  if (continuous)
    await run.note('WARN', 'The BMC knows no boot device for one boot alone; it is reset after the start.')
  await run.save({ continuous })
  await tell(
    run,
    continuous
      ? 'The virtual drive is the boot device until it is reset.'
      : 'The virtual drive is the boot device once.',
  )
}

async function forgetDrive(run: MountRun): Promise<void> {
  await clearBootOverride(await openBmc(run), run.signal)
}

async function boot(run: MountRun): Promise<void> {
  const bmc = await openBmc(run)
  const now = await readPower(bmc, { signal: run.signal })
  if (run.state.was_on === undefined) {
    const last_reset_at = now.last_reset_at ?? ''
    await run.save({ was_on: now.power_on === true, last_reset_at, deadline: Date.now() + run.deps.patience_ms })
  }
  const types = await readResetTypes(bmc, { signal: run.signal })
  const forced = types.types.includes('ForceRestart') ? 'ForceRestart' : 'PowerCycle'
  const reset_type = run.state.was_on === true ? chooseResetType(forced, types) : chooseResetType('on', types)
  await submitOnce(run, {
    name: 'boot',
    system: 'BMC',
    repeatable: run.state.was_on !== true,
    submit: async () => {
      await sendAlone(run.deps.database, run.input.bmc_ip, () => sendReset(bmc, reset_type, { signal: run.signal }))
      return null
    },
    find: async () => {
      const later = await readPower(bmc, { signal: run.signal })
      const moved = later.power_on === null || (later.last_reset_at ?? '') !== (run.state.last_reset_at ?? '')
      return moved || (run.state.was_on !== true && later.power_on === true) ? { made: null } : undefined
    },
  })
  await tell(run, `${reset_type} is accepted.`)
}

async function waitForStart(run: MountRun): Promise<void> {
  const bmc = await openBmc(run)
  const before = {
    power_on: run.state.was_on === true,
    last_reset_at: run.state.last_reset_at || null,
    boot_progress: null,
  }
  let reached: boolean | 'unknown' = false
  // A service that never shows a restart is believed once it had the time.
  while (reached !== true) {
    const now = await whenAwake(run, () => readPower(bmc, { signal: run.signal, once: true }))
    reached =
      now === undefined ? false : isReached('restarted', { ...before, seen_off: run.state.seen_off === true }, now)
    if (now?.power_on === false && run.state.seen_off !== true) await run.save({ seen_off: true })
    if (Date.now() >= (run.state.deadline ?? 0)) break
    if (reached !== true) await pauseBeforePoll(run)
  }
  if (reached === false) {
    throw new ApiError(
      'BMC_CHANGE_FAILED',
      `The machine of BMC ${run.input.bmc_ip} did not start within ${run.deps.patience_ms / 1000} s. Look at its console, and repeat the request.`,
    )
  }
  if (run.state.continuous === true) await clearBootOverride(bmc, run.signal)
  await tell(run, 'The machine starts.')
}

async function checkFetch(run: MountRun): Promise<void> {
  let found = await fetchOf(run.deps.database.db, grantedTo(run))
  while (found === undefined) {
    if (Date.now() >= (run.state.deadline ?? 0)) return tell(run, 'Nobody has fetched the image yet.')
    await pauseBeforePoll(run)
    found = await fetchOf(run.deps.database.db, grantedTo(run))
  }
  await run.save({ fetched: true })
  await run.note('INFO', 'The image was fetched.', {
    fetched_by: found.fetched_by,
    fetched_at: found.fetched_at.toISOString(),
  })
  await tell(run, `${found.fetched_by} fetches the image.`)
}
