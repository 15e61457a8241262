// The steps by which a machine is started from an image of ours, and the drive is cleared afterwards: for provision and reveal.
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { checkLogin, readAtx, readMsd } from '#src/drivers/pikvm/device.ts'
import {
  bringImage,
  connectImage,
  isConnected,
  removeImage,
  clearOthers,
  requireUsable,
  verifyImage,
} from '#src/drivers/pikvm/media.ts'
import type { Holds } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { grantPhoneHome } from '#src/store/phone-home.ts'
import { type BootRun, ensureImage, imageName, imagePath, machinePower, openKvm } from './boot-parts.ts'

const HOUR_MS = 3600_000
/** After the power was cut or given, so long the light may take. */
const LIGHT_MS = 30_000

/** `answers`: of the image; `macs`: of which the machine must have one; null: any machine. */
export interface ImageOf<R extends BootRun> {
  answers(run: R): unknown
  macs(run: R): readonly string[] | null
}

export async function checkDevice(run: BootRun): Promise<void> {
  const { input, signal } = run
  const kvm = await openKvm(run)
  await checkLogin(kvm, { signal })
  const atx = await readAtx(kvm, { signal })
  const msd = await readMsd(kvm, { signal })
  if (!input.force) requireUsable(msd, imageName(run))
  if (!atx.enabled && input.boot_strategy !== 'manual' && input.boot_strategy !== 'bmc')
    throw new ApiError(
      'KVM_REJECTED',
      `KVM ${input.kvm_ip} is not wired to the power of its machine; use boot_strategy manual or bmc.`,
    )
  const removed = await clearOthers(kvm, imageName(run), { signal })
  await run.note('INFO', 'The KVM is usable.', { free_bytes: msd.free_bytes, power_on: atx.power_on, removed })
}

/** What the steps that make and bring the image are, for one kind of job. */
export function imageSteps<R extends BootRun>({ answers, macs }: ImageOf<R>) {
  const image = (run: R) => ensureImage(run, () => answers(run))
  return {
    async build(run: R): Promise<void> {
      const { token } = run.input
      await run.fenced((trx) => grantPhoneHome(trx, { token, job_id: run.job_id, macs: macs(run) }))
      const { bytes, sha256 } = await image(run)
      await run.note('INFO', 'The image is made.', { bytes, sha256 })
    },
    async upload(run: R): Promise<void> {
      const kvm = await openKvm(run)
      const local = await image(run)
      const name = imageName(run)
      const { signal } = run
      const onProgress = (sent: number): void => run.progress((90 * sent) / local.bytes)
      await bringImage(kvm, name, local, { signal, onProgress })
      const there = (await readMsd(kvm, { signal })).images.find((one) => one.name === name)
      const complete = there?.complete === true && there.bytes === local.bytes
      if (!complete)
        throw new ApiError(
          'KVM_CHANGE_FAILED',
          `KVM ${run.input.kvm_ip} accepted the image and has ${there?.bytes ?? 0} of ${local.bytes} bytes of it.`,
        )
      if (local.bytes > run.deps.verify_most_bytes) return
      try {
        await verifyImage(kvm, name, local, { signal })
      } catch (error) {
        // What is wrong there would pass for the image at the next attempt.
        await removeImage(kvm, name, { signal })
        throw error
      }
    },
  }
}

export const UPLOAD_MS = 2 * HOUR_MS

/** Also when the job fails: the image holds a token, and a machine must not start from it again. */
export async function removeMedia(run: BootRun): Promise<void> {
  await removeImage(await openKvm(run), imageName(run), { signal: run.signal })
  await rm(imagePath(run), { force: true })
}

export async function connectMedia(run: BootRun): Promise<void> {
  const { input, signal } = run
  await connectImage(await openKvm(run), imageName(run), { signal, cdrom: input.media === 'cdrom' })
}

export async function isMediaConnected(run: BootRun): Promise<Holds> {
  return isConnected(await openKvm(run), imageName(run), { signal: run.signal })
}

export function byHand({ input }: BootRun): string | true {
  return input.boot_strategy === 'manual' ? 'The machine is started by hand.' : true
}

export async function isOff(run: BootRun): Promise<Holds> {
  const on = await (await machinePower(run)).isOn()
  return on === 'unknown' ? 'unknown' : !on
}

export async function isOn(run: BootRun): Promise<Holds> {
  return (await machinePower(run)).isOn()
}

export async function switchOff(run: BootRun): Promise<void> {
  const { deps, signal } = run
  const power = await machinePower(run)
  const off_since = run.state.off_since ?? Date.now()
  if (run.state.off_since === undefined) {
    // Saved first: a second press could reach a machine that is off by then, and switch it on.
    await run.save({ off_since })
    await power.off()
  }
  for (;;) {
    const on = await power.isOn()
    if (on === false) return
    const elapsed = Date.now() - off_since
    if (on === 'unknown' || elapsed > deps.off_ms) {
      if (run.state.cut !== true) {
        await run.note(
          'WARN',
          on === 'unknown'
            ? 'The power is cut: nothing tells whether the machine is on.'
            : 'The machine did not shut down in time; its power is cut.',
        )
        await run.save({ cut: true })
        await power.cut()
      }
      if (on === 'unknown') {
        // The next press would reach a machine that is still on, and switch it off.
        await pause(2 * deps.poll_ms, undefined, { signal })
        return
      }
    }
    if (elapsed > deps.off_ms + lightMs(run))
      throw new ApiError(
        'KVM_CHANGE_FAILED',
        `The machine of ${run.input.kvm_ip} is still on, though its power button was held. Check the wires of the KVM.`,
      )
    await pause(deps.poll_ms, undefined, { signal })
  }
}

/** The light of the power follows the power at once; it gets no more time than a whole shutdown. */
const lightMs = ({ deps }: BootRun): number => Math.min(LIGHT_MS, deps.off_ms)

/** Once: a second press would switch a machine off whose light is late. */
export async function switchOn(run: BootRun): Promise<void> {
  const { deps, signal, input } = run
  const power = await machinePower(run)
  await power.on()
  for (const deadline = Date.now() + lightMs(run); (await power.isOn()) === false; ) {
    if (Date.now() > deadline)
      throw new ApiError(
        'KVM_CHANGE_FAILED',
        `The machine of ${input.kvm_ip} was switched on, and its power LED stays dark. Look at the machine, or send power_led false.`,
      )
    await pause(deps.poll_ms, undefined, { signal })
  }
}

export const POWER_UNKNOWN = 'Whether the machine is on is not known: look at it.'
