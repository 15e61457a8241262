// Steps that wipe the disks: the machine is started from an image that erases them and reports what it did. The report only
// annotates; whether the step succeeded is read from it here.
import { createHash, randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { bootSlot, clearBootOverride, ejectMedia } from '#src/drivers/redfish/media.ts'
import type { Holds } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { grantBootImage, revokeBootImages } from '#src/store/bmcs.ts'
import { findWipe, openWipe } from '#src/store/wipes.ts'
import { bmcIsoMountJob } from '../../bmc/mount.job.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import { wipeImage } from '../decommission/wipe-image.ts'
import { writeAnswers } from '../wipe/answers.ts'
import { openDisks } from '../wipe/report.ts'
import { isOff, unknownAfter } from './node.ts'
import type { LeaveRun, LeaveStep } from './run.ts'

const IMAGE_HOURS = 50
const HOUR_MS = 3600_000
/** A report that comes later is still taken, and shown. */
const OPEN_HOURS = 72
/** However long the machine stays on. */
const LONGEST_WAIT_MS = 48 * HOUR_MS
const CHILD = 'wipe-boot'

export const wipeBoot: LeaveStep = {
  name: 'wipe-boot',
  title: TITLES['wipe-boot'],
  weight: 3,
  applies: hasDisksToWipe,
  holds: async (run): Promise<Holds> => {
    if (run.state.wipe_started_at !== undefined) return true
    return (await whyNoWipe(run)) === undefined ? false : 'unknown'
  },
  run: async (run) => {
    if ((await whyNoWipe(run)) === undefined) await startImage(run)
  },
  outstanding: leftDisks,
  timeout_ms: 3 * HOUR_MS,
}

export const wipeWait: LeaveStep = {
  name: 'wipe-wait',
  title: TITLES['wipe-wait'],
  weight: 10,
  applies: (run) => (run.state.wipe_started_at === undefined ? 'No wipe image was started.' : true),
  holds: async (run): Promise<Holds> => ((await openDisksOf(run)).length === 0 ? true : 'unknown'),
  run: waitForReport,
  outstanding: openDisksOf,
  timeout_ms: LONGEST_WAIT_MS + HOUR_MS,
}

export const mediaCleanup: LeaveStep = {
  name: 'media-cleanup',
  title: TITLES['media-cleanup'],
  applies: (run) => (run.state.capability === undefined ? 'No image was inserted.' : true),
  holds: driveIsEmpty,
  run: cleanUp,
  outstanding: async ({ input }) => [`Eject the wipe image from the virtual drive of BMC ${input.bmc_ip}.`],
}

/** Address under which BMCs reach this service. */
function imageAddress({ deps: { config } }: LeaveRun): string | undefined {
  return config.bmc.image_addresses[0]
}

/** Of all known disks none may be known, and yet there are some. */
function hasDisksToWipe({ input }: LeaveRun): string | true {
  return input.wipe === 'data' && input.disks.length === 0
    ? 'No disk of the node held data of the distributed store.'
    : true
}

/** Undefined: the image can be started. */
async function whyNoWipe(run: LeaveRun): Promise<string | undefined> {
  const { input, deps } = run
  if (input.wipe === 'none') return 'the caller wanted it to stay as it is'
  if (run.state.wipe_failed !== undefined) return `the wipe image was not started (${run.state.wipe_failed})`
  if (run.state.capability !== undefined) return undefined
  const reason = await wipeImage(deps.config.bmc).then(
    (file) => (file === null ? 'no wipe image is configured (bmc.wipe_image)' : undefined),
    (error: unknown) =>
      error instanceof ApiError ? error.message.replace(/\.$/, '') : 'the wipe image cannot be read',
  )
  if (reason !== undefined) return reason
  if (imageAddress(run) === undefined)
    return 'no address is configured under which BMCs fetch images (bmc.image_addresses)'
  return undefined
}

async function leftDisks(run: LeaveRun): Promise<string[]> {
  const { input } = run
  const why = (await whyNoWipe(run)) ?? 'the wipe image was not started'
  const disks = input.disks.length === 0 ? ['The disks'] : input.disks.map((serial) => `Disk ${serial}`)
  return disks.map(
    (disk) => `${disk} of the machine of BMC ${input.bmc_ip} not wiped: ${why}. Wipe it by hand, and confirm it.`,
  )
}

/** What is chosen by chance is saved before it is used, so that a second process goes on with the same. */
async function startImage(run: LeaveRun): Promise<void> {
  const { input, deps, job_id } = run
  if (run.state.capability === undefined || run.state.wipe_token === undefined) {
    await run.save({ capability: secret(), wipe_token: secret() })
  }
  const { capability = '', wipe_token = '' } = run.state
  const file = await wipeImage(deps.config.bmc)
  if (file === null) throw new ApiError('BMC_NOT_CONFIGURED', 'No wipe image is configured any more (bmc.wipe_image).')
  const address = imageAddress(run) ?? ''
  const base = `http://${isIPv6(address) ? `[${address}]` : address}:${deps.image_port()}`
  const iso_file = `wipe-${job_id}.iso`
  await writeAnswers(deps.config.bmc.iso_dir ?? '', file, iso_file, {
    callback: `${base}/configure/decommission/wipe-result`,
    token: wipe_token,
    disks: input.disks,
  })
  await run.fenced((trx) =>
    openWipe(trx, {
      job_id,
      node_id: input.node_id,
      token_hash: createHash('sha256').update(wipe_token).digest(),
      expected_disks: input.disks,
      open_hours: OPEN_HOURS,
    }),
  )
  try {
    await run.note(
      'DESTRUCTIVE',
      `The machine of BMC ${input.bmc_ip} is started from ${file}, which wipes ${input.disks.length} disks.`,
      { disks: input.disks },
    )
    await run.startChild(CHILD, bmcIsoMountJob, {
      input: {
        bmc_ip: input.bmc_ip,
        by: input.by,
        url: `${base}/boot/${capability}/${iso_file}`,
        iso_file,
        granted_to: job_id,
      },
      description: `Starting the wipe image on the machine of ${input.bmc_ip}.`,
      node_ip: input.bmc_ip,
      also: (trx) => grantBootImage(trx, { capability, job_id, file: iso_file, hours: IMAGE_HOURS }),
    })
    await run.childResult(CHILD, bmcIsoMountJob)
    await run.save({ wipe_started_at: Date.now() })
  } catch (error) {
    await unknownAfter(run, error)
    // A child is started once, so this is for good: the rest goes on, and the disks are left to a person.
    await run.save({ wipe_failed: asApiError(error, null).message.replace(/\.$/, '') })
  }
}

function secret(): string {
  return randomBytes(24).toString('base64url')
}

async function openDisksOf({ deps, job_id, input }: LeaveRun): Promise<string[]> {
  const row = await findWipe(deps.database.db, job_id)
  return row === undefined ? [] : openDisks(row, input.bmc_ip)
}

/** A report wakes the job; without one it looks now and then, for as long as the machine is on. */
async function waitForReport(run: LeaveRun): Promise<void> {
  const { database, wipe_wait_ms, wipe_poll_ms } = run.deps
  const row = await findWipe(database.db, run.job_id)
  if (row === undefined || row.authenticated || row.confirmed !== null) return
  const waited_ms = Date.now() - (run.state.wipe_started_at ?? 0)
  if (waited_ms >= LONGEST_WAIT_MS) return
  if (waited_ms >= wipe_wait_ms && (await isOff(run)) !== false) return
  await run.repeatAfter(wipe_poll_ms)
}

/** Unknown while the BMC does not answer. */
async function driveIsEmpty(run: LeaveRun): Promise<Holds> {
  try {
    return !(await bootSlot(await run.deps.bmcs.open(run.input), { signal: run.signal })).inserted
  } catch (error) {
    return unknownAfter(run, error)
  }
}

async function cleanUp(run: LeaveRun): Promise<void> {
  const { deps, input, job_id } = run
  await revokeBootImages(deps.database.db, job_id)
  await rm(`${deps.config.bmc.iso_dir ?? ''}/wipe-${job_id}.iso`, { force: true })
  try {
    const bmc = await deps.bmcs.open(input)
    const slot = await bootSlot(bmc, { signal: run.signal })
    if (slot.inserted) await ejectMedia(bmc, slot, run.signal)
    await clearBootOverride(bmc, run.signal)
  } catch (error) {
    await unknownAfter(run, error)
  }
}
