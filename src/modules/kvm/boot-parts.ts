// What jobs share that start a machine from an image of ours: the image, the drive of the KVM, and the power of the machine. The
// steps that provision and reveal have in common are in boot-steps.ts.
import { join } from 'node:path'
import pLimit from 'p-limit'
import { type Static, Type } from 'typebox'
import { BOOT_STRATEGIES } from '#src/contract/kvm/provision.ts'
import { Nullable, OneOf } from '#src/contract/common.ts'
import type { AllowedNetworks } from '#src/drivers/allowed-networks.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import type { KvmClient } from '#src/drivers/pikvm/client.ts'
import { readAtx } from '#src/drivers/pikvm/device.ts'
import { clickButton, pressPower, sendBootKeys } from '#src/drivers/pikvm/power.ts'
import { setBootOnce } from '#src/drivers/redfish/media.ts'
import { chooseResetType, readPower, readResetTypes, sendReset } from '#src/drivers/redfish/power.ts'
import type { Holds, Run } from '#src/jobs/define.ts'
import type { Database } from '#src/store/database.ts'
import type { BmcAccess } from '../bmc-access.ts'
import { type BuiltImage, buildImage, imageAt, type IsoTools } from './image.ts'

export interface KvmJobDeps {
  bmcs: Pick<BmcAccess, 'open' | 'openKvm'>
  database: Database
  ipam: IpamStore
  tools: IsoTools
  node_networks: AllowedNetworks
  /** PEM that machines are given to trust; null: what their template trusts. */
  callback_ca: string | null
  verify_most_bytes: number
  poll_ms: number
  off_ms: number
  ssh_port: number
}

/** Encrypted at rest: the token travels here. */
export const BootInput = Type.Object({
  kvm_ip: Type.String(),
  /** Names the node. */
  bmc_ip: Type.String(),
  by: Type.String(),
  mode: OneOf(['install', 'reveal']),
  token: Type.String(),
  callback_url: Type.String(),
  boot_strategy: OneOf([...BOOT_STRATEGIES]),
  boot_keys: Type.Array(Type.String()),
  vendor_bmc_ip: Nullable(Type.String()),
  media: OneOf(['cdrom', 'flash']),
  power_led: Type.Boolean(),
  force: Type.Boolean(),
})
export type BootInput = Static<typeof BootInput>

export const BootState = {
  /** When the machine was asked to switch off. */
  off_since: Type.Number(),
  cut: Type.Boolean(),
}
type BootState = Static<ReturnType<typeof Type.Object<typeof BootState>>>

export type BootRun = Run<KvmJobDeps, BootInput, BootState>

export function openKvm({ deps, input }: Pick<BootRun, 'deps' | 'input'>): Promise<KvmClient> {
  return deps.bmcs.openKvm({ bmc_ip: input.kvm_ip, by: input.by })
}

/** On the device; the last part of a job's id is its random one. */
export function imageName({ job_id, input }: Pick<BootRun, 'job_id' | 'input'>): string {
  return `plat/${job_id.slice(-12)}-${input.mode}.iso`
}

/** One at a time on this host. */
const turn = pLimit(1)

export function imagePath({ deps, job_id }: Pick<BootRun, 'deps' | 'job_id'>): string {
  return join(deps.tools.work_dir, `${job_id}.iso`)
}

/** The image of the job on this host: a process that took the job over makes its own. */
export async function ensureImage(run: BootRun, answers: () => unknown): Promise<BuiltImage & { path: string }> {
  const path = imagePath(run)
  const image = (await imageAt(path)) ?? (await turn(() => buildImage(run.deps.tools, path, answers(), run.signal)))
  return { ...image, path }
}

/** The power of the machine, by whichever way the strategy says. */
export interface MachinePower {
  isOn(): Promise<Holds>
  /** Asks the operating system. */
  off(): Promise<void>
  cut(): Promise<void>
  /** Switches on, so that the firmware takes the image. */
  on(): Promise<void>
}

export async function machinePower(run: BootRun): Promise<MachinePower> {
  const { input, deps, signal } = run
  if (input.boot_strategy === 'bmc' && input.vendor_bmc_ip !== null) return bmcPower(run, input.vendor_bmc_ip)
  const kvm = await openKvm(run)
  const call = { signal }
  const keys = async (): Promise<void> => {
    if (input.boot_strategy === 'keys')
      await sendBootKeys(kvm, input.boot_keys, { signal, every_ms: Math.min(deps.poll_ms, 500) })
  }
  if (!input.power_led) {
    return {
      isOn: async () => 'unknown',
      off: async () => {},
      cut: () => clickButton(kvm, 'power_long', call),
      on: async () => {
        await clickButton(kvm, 'power', call)
        await keys()
      },
    }
  }
  return {
    isOn: async () => (await readAtx(kvm, call)).power_on,
    off: () => pressPower(kvm, 'off', call),
    cut: () => pressPower(kvm, 'off_hard', call),
    on: async () => {
      await pressPower(kvm, 'on', call)
      await keys()
    },
  }
}

/** The image is a USB drive of the machine, so the BMC is told to start from USB once. */
async function bmcPower({ deps, input, signal }: BootRun, bmc_ip: string): Promise<MachinePower> {
  const bmc = await deps.bmcs.open({ bmc_ip, by: input.by })
  const reset = async (wanted: string): Promise<void> => {
    const types = await readResetTypes(bmc, { signal })
    await sendReset(bmc, chooseResetType(wanted, types), { signal })
  }
  return {
    isOn: async () => (await readPower(bmc, { signal })).power_on ?? 'unknown',
    off: () => reset('shutdown'),
    cut: () => reset('off'),
    on: async () => {
      await setBootOnce(bmc, signal, ['UsbCd', 'Usb', 'Cd'])
      await reset('on')
    },
  }
}
