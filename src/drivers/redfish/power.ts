// Power of a machine: its state, the actions its BMC takes, and one action sent once.
import { ApiError } from '#src/kernel/errors.ts'
import { actionOf, type Bmc, unsupported } from './bmc.ts'
import type { ReadOptions } from './client.ts'
import { type Document, linkAt, listAt, localPath, textAt, textsAt } from './document.ts'

export interface PowerReading {
  /** As the BMC says it; null when it says nothing. */
  power_state: string | null
  /** Null while neither on nor off. */
  power_on: boolean | null
  last_reset_at: string | null
  boot_progress: string | null
}

export async function readPower(bmc: Bmc, options: ReadOptions = {}): Promise<PowerReading> {
  const { system_path } = await bmc.graph(options)
  const system = await bmc.client.get(system_path, options)
  return powerOf(system)
}

export function powerOf(system: Document): PowerReading {
  const power_state = textAt(system, 'PowerState')
  return {
    power_state,
    power_on: power_state === 'On' ? true : power_state === 'Off' ? false : null,
    last_reset_at: textAt(system, 'LastResetTime'),
    boot_progress: textAt(system, 'BootProgress', 'LastState'),
  }
}

/** What the BMC takes where it names nothing. */
const STANDARD = ['On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'Nmi', 'ForceOn', 'PushPowerButton', 'PowerCycle'] // biome-ignore format: one list

export interface ResetTypes {
  target: string
  types: string[]
  /** False: the BMC does not say; these are the standard's. */
  listed: boolean
}

export async function readResetTypes(bmc: Bmc, options: ReadOptions = {}): Promise<ResetTypes> {
  const { system } = await bmc.graph(options)
  const reset = actionOf(system, 'ComputerSystem.Reset')
  if (reset === null) throw unsupported(bmc, 'offers no power actions')
  const direct = textsAt(reset.action, 'ResetType@Redfish.AllowableValues')
  const info = localPath(reset.action['@Redfish.ActionInfo']) ?? linkAt(reset.action, '@Redfish.ActionInfo')
  const types =
    direct.length > 0 || info === null ? direct : allowedBy(await bmc.client.get(info, options), 'ResetType')
  return { target: reset.target, types: types.length > 0 ? types : STANDARD, listed: types.length > 0 }
}

/** Values that an ActionInfo resource allows for a parameter. */
function allowedBy(info: Document, name: string): string[] {
  const parameter = listAt(info, 'Parameters').find((one) => textAt(one, 'Name') === name)
  return parameter === undefined ? [] : textsAt(parameter, 'AllowableValues')
}

const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  on: ['On', 'ForceOn'],
  off: ['ForceOff'],
  reboot: ['GracefulRestart', 'ForceRestart', 'PowerCycle'],
  shutdown: ['GracefulShutdown', 'PushPowerButton'],
  power_cycle: ['PowerCycle', 'ForceRestart'],
}

/** The reset type of this BMC that is meant. Throws INVALID_REQUEST naming those that there are. */
export function chooseResetType(wanted: string, { types }: Pick<ResetTypes, 'types'>): string {
  if (types.includes(wanted)) return wanted
  const meant = SYNONYMS[wanted]?.find((one) => types.includes(one))
  if (meant !== undefined) return meant
  const near = types.find((one) => one.toLowerCase() === wanted.toLowerCase())
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  const message = `${wanted} is not a reset type of this BMC, which takes ${types.join(', ')}${hint}`
  throw new ApiError('INVALID_REQUEST', `body.reset_type: ${message}`, {
    errors: [{ path: 'body.reset_type', message }],
  })
}

/** Sent once and never repeated blindly. */
export async function sendReset(bmc: Bmc, reset_type: string, options: { signal?: AbortSignal } = {}): Promise<void> {
  const { target } = await readResetTypes(bmc, options)
  await bmc.client.post(target, { ResetType: reset_type }, options)
}

/** What is to be seen after a reset type has worked. */
export type PowerGoal = 'on' | 'off' | 'restarted' | 'none'

export function goalOf(reset_type: string): PowerGoal {
  if (/^(On|ForceOn)$/.test(reset_type)) return 'on'
  if (/^(ForceOff|GracefulShutdown)$/.test(reset_type)) return 'off'
  if (/^(GracefulRestart|ForceRestart|PowerCycle|FullPowerCycle)$/.test(reset_type)) return 'restarted'
  return 'none'
}

export interface BeforeReset {
  power_on: boolean | null
  last_reset_at: string | null
  boot_progress: string | null
  /** Whether the machine has been seen off since. */
  seen_off?: boolean
}

/** `unknown`: it is on, and nothing tells whether it was restarted; some services never show Off in between. */
export function isReached(goal: PowerGoal, before: BeforeReset, now: PowerReading): boolean | 'unknown' {
  if (goal === 'none') return 'unknown'
  if (goal === 'off') return now.power_on === false
  if (goal === 'on' || now.power_on !== true) return now.power_on === true
  if (before.power_on === false || before.seen_off === true) return true
  if (now.last_reset_at !== null && now.last_reset_at !== before.last_reset_at) return true
  if (now.boot_progress !== null && now.boot_progress !== before.boot_progress) return true
  return 'unknown'
}
