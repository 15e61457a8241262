// BIOS settings: those in force, those that wait for a restart, what may be chosen, and a change that is checked as a whole.
import { ApiError } from '#src/kernel/errors.ts'
import type { FieldError } from '#src/contract/problem.ts'
import { attributeWith, type BiosRegistry, readBiosRegistry, type RegistryAttribute } from './bios-registry.ts'
import { type Bmc, unsupported } from './bmc.ts'
import type { ReadOptions } from './client.ts'
import { type Document, documentAt, linkAt, textAt, textsAt } from './document.ts'
import { isBiosJob, readRemoteJobs } from './remote-jobs.ts'
import { RedfishError } from './redfish-error.ts'
import { idOfPath } from './tasks.ts'

export type BiosValue = string | number | boolean | null
export type BiosValues = Readonly<Record<string, BiosValue>>

export interface BiosReading {
  current: BiosValues
  /** What waits for a restart and differs from what is in force. */
  pending: BiosValues
  registry: BiosRegistry | null
  settings_path: string | null
  apply_times: string[]
}

/** `with_registry`: registries are large, and who only compares values needs none. */
export async function readBios(
  bmc: Bmc,
  options: ReadOptions & { with_registry?: boolean } = {},
): Promise<BiosReading> {
  const { system } = await bmc.graph(options)
  const path = linkAt(system, 'Bios') ?? linkAt(system, 'BIOS')
  if (path === null) throw unsupported(bmc, 'shows no BIOS settings')
  const bios = await bmc.client.get(path, { ...options, optional: true }).catch((error: unknown) => {
    if (error instanceof RedfishError && error.problem === 'unsupported')
      throw unsupported(bmc, 'shows no BIOS settings')
    throw error
  })
  const current = valuesOf(documentAt(bios, 'Attributes'))
  const settings_path = linkAt(bios, '@Redfish.Settings', 'SettingsObject')
  const wanted = settings_path === null ? {} : await bmc.client.get(settings_path, { ...options, optional: true })
  const pending = Object.entries(valuesOf(documentAt(wanted, 'Attributes'))).filter(
    ([name, value]) => current[name] !== value,
  )
  return {
    current,
    pending: Object.fromEntries(pending),
    registry: options.with_registry === true ? await readBiosRegistry(bmc, bios, path, options) : null,
    settings_path,
    apply_times: textsAt(bios, '@Redfish.Settings', 'SupportedApplyTimes'),
  }
}

function valuesOf(attributes: Document): BiosValues {
  const plain = (value: unknown): value is BiosValue =>
    value === null || ['string', 'number', 'boolean'].includes(typeof value)
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (plain(value) ? [[name, value]] : [])),
  )
}

/** The values in the types that the BMC wants. Throws INVALID_REQUEST with a reason for each that cannot be. */
export function checkBiosChange(reading: BiosReading, wanted: BiosValues): BiosValues {
  const errors: FieldError[] = []
  const checked: Record<string, BiosValue> = {}
  for (const [name, value] of Object.entries(wanted)) {
    const outcome = checkOne(reading, name, value)
    if (typeof outcome === 'object' && outcome !== null)
      errors.push({ path: `body.attributes.${name}`, message: outcome.problem })
    else checked[name] = outcome
  }
  if (errors.length === 0) return checked
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  throw new ApiError('INVALID_REQUEST', `${detail}.`, { errors })
}

type Checked = BiosValue | { problem: string }

function checkOne({ registry, current, pending }: BiosReading, name: string, value: BiosValue): Checked {
  if (!(name in current)) {
    const near = Object.keys(current).find((one) => one.toLowerCase() === name.toLowerCase())
    return { problem: `is no BIOS setting of this machine${near === undefined ? '' : `; did you mean ${near}?`}` }
  }
  const attribute = registry === null ? undefined : attributeWith(registry, name, { ...current, ...pending })
  const typed = attribute === undefined ? likeCurrent(value, current[name]) : typedValue(attribute, value)
  if (attribute?.read_only === true) return { problem: 'cannot be changed now: it is read-only' }
  return typed
}

/** Without a registry: what is a number now stays one. */
function likeCurrent(value: BiosValue, current: BiosValue | undefined): Checked {
  if (typeof current === 'number') return toNumber(value)
  if (typeof current === 'boolean') return toFlag(value)
  return typeof current === 'string' && value !== null ? String(value) : value
}

function typedValue(attribute: RegistryAttribute, value: BiosValue): Checked {
  const { type, values, lower_bound, upper_bound, increment, min_length, max_length, pattern } = attribute
  switch (type) {
    case 'Enumeration':
      if (values.length === 0 || values.includes(String(value))) return String(value)
      return { problem: `must be one of ${values.join(', ')}` }
    case 'Integer': {
      const number = toNumber(value)
      if (typeof number !== 'number') return number
      const [least, most] = [lower_bound ?? Number.NEGATIVE_INFINITY, upper_bound ?? Number.POSITIVE_INFINITY]
      if (number < least || number > most) return { problem: `must be from ${least} to ${most}` }
      const off = increment !== null && increment > 0 && (number - (lower_bound ?? 0)) % increment !== 0
      return off ? { problem: `must be ${lower_bound ?? 0} plus a multiple of ${increment}` } : number
    }
    case 'Boolean':
      return toFlag(value)
    case 'String':
    case 'Password': {
      const text = String(value ?? '')
      if (text.length < (min_length ?? 0) || text.length > (max_length ?? 4096))
        return { problem: `must have ${min_length ?? 0} to ${max_length ?? 4096} characters` }
      return pattern === null || matches(pattern, text) ? text : { problem: `must match ${pattern}` }
    }
    default:
      return value
  }
}

function matches(pattern: string, text: string): boolean {
  // An expression of a BMC may be of another kind than ours, or cost for ever: then the BMC itself decides.
  if (pattern.length > 100 || /[+*}]\)?[+*{]/.test(pattern)) return true
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}

function toNumber(value: BiosValue): Checked {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : null
  return number !== null && Number.isSafeInteger(number) ? number : { problem: 'must be a whole number' }
}

function toFlag(value: BiosValue): Checked {
  if (typeof value === 'boolean') return value
  return value === 'true' ? true : value === 'false' ? false : { problem: 'must be true or false' }
}

export interface BiosSubmitted {
  /** Path of the job or task on the BMC; null where it makes none. */
  monitor: string | null
  remote_id: string | null
}

/**
 * Sends the change so that it is applied at the next restart. Where the BMC names its apply times, the job is made by that one
 * request: asking for a second one would be refused. An iDRAC that names none makes no job by itself.
 */
export async function submitBios(
  bmc: Bmc,
  { settings_path, apply_times }: Pick<BiosReading, 'settings_path' | 'apply_times'>,
  values: BiosValues,
  signal?: AbortSignal,
): Promise<BiosSubmitted> {
  if (settings_path === null) throw unsupported(bmc, 'does not let BIOS settings be changed')
  const { dialect, manager } = await bmc.graph(signal === undefined ? {} : { signal })
  const timed = apply_times.includes('OnReset') || dialect === 'vendora-9' || dialect === 'vendora-10'
  const body = {
    Attributes: values,
    ...(timed
      ? { '@Redfish.SettingsApplyTime': { '@odata.type': '#Settings.v1_3_0.PreferredApplyTime', ApplyTime: 'OnReset' } }
      : {}),
  }
  const how = signal === undefined ? {} : { signal }
  const { location } = await bmc.client.patch(settings_path, body, how)
  if (location !== null && location !== settings_path) return { monitor: location, remote_id: idOfPath(location) }
  if (dialect !== 'vendora-8') return { monitor: null, remote_id: null }
  const jobs = linkAt(manager, 'Links', 'Oem', 'Dell', 'Jobs')
  if (jobs === null) return { monitor: null, remote_id: null }
  const made = await bmc.client.post(jobs, { TargetSettingsURI: settings_path }, how)
  return { monitor: made.location, remote_id: made.location === null ? null : idOfPath(made.location) }
}

/** The job of the BMC that holds the BIOS; undefined: none, or the BMC keeps no jobs. */
export async function waitingBiosJob(bmc: Bmc, options: ReadOptions = {}): Promise<string | undefined> {
  const jobs = await readRemoteJobs(bmc, options).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'BMC_UNSUPPORTED') return []
    throw error
  })
  return jobs.find(isBiosJob)?.id
}

export function biosVersionOf(system: Document): string | null {
  return textAt(system, 'BiosVersion')
}
