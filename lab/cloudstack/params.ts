/** A request's parameters: checked once against the catalogue, then read by type. */
import { badParameter } from './api-fault.ts'
import type { ApiFault } from './api-fault.ts'

interface ParamSpec {
  name: string
  type: string
  required: boolean
  of?: string
  length?: number
}

export interface CommandSpec {
  name: string
  isasync: boolean
  iscreate: boolean
  paged: boolean
  authorized: string[]
  params: ParamSpec[]
  wrapperKey: string
  responseKey: string | null
  responseIsList: boolean
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** Accepted with every command: transport, signature, session and the caller-chosen job id. */
const COMMON = new Set([
  'command',
  'response',
  'apikey',
  'signature',
  'signatureversion',
  'expires',
  'sessionkey',
  'customjobid',
  '_',
])

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

export class Params {
  readonly #plain: Map<string, string>
  readonly #maps: Map<string, Record<string, string>[]>

  constructor(plain: Map<string, string>, maps: Map<string, Record<string, string>[]>) {
    this.#plain = plain
    this.#maps = maps
  }

  has(name: string): boolean {
    return this.#plain.has(name) || this.#maps.has(name)
  }

  /** The value, or null when it is absent or empty. */
  text(name: string): string | null {
    const value = this.#plain.get(name)
    return value === undefined || value === '' ? null : value
  }

  need(name: string): string {
    return this.#plain.get(name) ?? ''
  }

  int(name: string): number | null {
    const value = this.text(name)
    return value === null ? null : Number(value)
  }

  /** Anything but "true" is false; absent is null. */
  bool(name: string): boolean | null {
    const value = this.text(name)
    return value === null ? null : value.toLowerCase() === 'true'
  }

  date(name: string): number | null {
    const value = this.text(name)
    return value === null ? null : parseDate(value)
  }

  list(name: string): string[] {
    const value = this.text(name)
    return value === null ? [] : value.split(',').map((one) => one.trim())
  }

  /** The entries of a map parameter by index: `details[0].a=1&details[1].b=2` is two entries. */
  maps(name: string): Record<string, string>[] {
    return this.#maps.get(name) ?? []
  }

  /** All indexes merged into one map, as deploy and scale read it. */
  merged(name: string): Record<string, string> {
    return Object.assign({}, ...this.maps(name)) as Record<string, string> // a merge of text maps is a text map
  }
}

/** Checks presence, type and existence; names the server does not know are reported and otherwise ignored, as upstream does. */
export function readParams(
  spec: CommandSpec,
  raw: ReadonlyMap<string, string>,
  known: (id: string) => boolean,
  unknown: (name: string) => void,
): Params {
  const declared = new Map(spec.params.map((param) => [param.name.toLowerCase(), param]))
  const plain = new Map<string, string>()
  const maps = new Map<string, Record<string, string>[]>()
  for (const [rawName, value] of raw) {
    const base = rawName.replace(/\[.*$/s, '').toLowerCase()
    const param = declared.get(base)
    if (param === undefined) {
      if (!COMMON.has(base) || (base === 'customjobid' && !spec.isasync)) unknown(rawName)
      continue
    }
    checkText(spec, param, value)
    if (param.type === 'map') addEntry(spec, maps, rawName, value)
    else {
      if (param.type === 'uuid' && value === '') continue
      checkValue(spec, param, value, known)
      plain.set(base, value)
    }
  }
  for (const param of spec.params) {
    const name = param.name.toLowerCase()
    const given =
      param.type === 'map' ? maps.has(name) : plain.has(name) && (plain.get(name) !== '' || param.type === 'list')
    if (param.required && !given) {
      if (raw.get(param.name) === '') throw badParameter(`Invalid value provided for API arg: ${param.name}`)
      throw badParameter(
        `Unable to execute API command ${(WIRE_NAMES[spec.name] ?? spec.name).toLowerCase()} due to missing parameter ${param.name}`,
      )
    }
  }
  return new Params(plain, maps)
}

function addEntry(
  spec: CommandSpec,
  maps: Map<string, Record<string, string>[]>,
  rawName: string,
  value: string,
): void {
  const base = rawName.replace(/\[.*$/s, '').toLowerCase()
  const parts = /^[^[]+\[(\d{1,4})\](?:\.(.+))?$/s.exec(rawName)
  const entries = maps.get(base) ?? []
  if (parts?.[1] === undefined) throw badNumber(spec, base, value)
  const index = Number(parts[1])
  const entry = entries[index] ?? {}
  entry[parts[2] ?? ''] = value
  while (entries.length <= index) entries.push({})
  entries[index] = entry
  maps.set(base, entries)
}

function badNumber(spec: CommandSpec, name: string, value: string): ApiFault {
  return badParameter(
    `Unable to execute API command ${spec.name.toLowerCase()} due to invalid value ${value} for parameter ${name}`,
  )
}

function checkText(spec: CommandSpec, param: ParamSpec, value: string): void {
  if (hasControlCharacter(value))
    throw badParameter(`Received value containing illegal ASCII non-printable characters for parameter ${param.name}`)
  const length = param.length ?? 255
  if (param.type === 'string' && value.length > length)
    throw badParameter(
      `Unable to execute API command ${spec.name.toLowerCase()} due to invalid value. Value greater than max allowed length ${length} for param: ${param.name}`,
    )
}

function hasControlCharacter(value: string): boolean {
  for (const character of value) {
    const code = character.codePointAt(0) ?? 0
    if ((code < 32 && code !== 10 && code !== 13) || code === 127) return true
  }
  return false
}

/** Commands that the platform calls otherwise in its complaints. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  addIpToNic: 'addIpToVmNic',
  addLdapConfiguration: 'ldapConfiguration',
  restoreVirtualMachine: 'restoreVm',
  updateVMAffinityGroup: 'updateVirtualMachine',
}

function checkValue(spec: CommandSpec, param: ParamSpec, value: string, known: (id: string) => boolean): void {
  const bad = (reason: string): ApiFault =>
    badParameter(
      `Unable to execute API command ${(WIRE_NAMES[spec.name] ?? spec.name).toLowerCase()} due to invalid value. Invalid parameter ${param.name} value=${value} due to ${reason}`,
    )
  const noEntity =
    'incorrect long value format, or entity does not exist or due to incorrect parameter annotation for the field in api cmd class.'
  switch (param.type) {
    case 'uuid':
      // Accounts of all projects are asked for with -1; internal numbers are taken everywhere.
      if (param.name === 'projectid' && value === '-1') return
      if (/^\d+$/.test(value)) return
      if (!known(value)) throw bad(noEntity)
      return
    case 'integer':
    case 'long':
    case 'short':
      if (value !== '' && !/^-?\d{1,18}$/.test(value)) throw badNumber(spec, param.name, value)
      return
    case 'date':
      if (value !== '' && Number.isNaN(parseDate(value)))
        throw badParameter(
          `Unable to parse date ${value} for command ${spec.name.toLowerCase()}, please pass dates in the format mentioned in the api documentation`,
        )
      return
    case 'list':
      if (param.of === 'uuid' && value !== '')
        for (const one of value.split(',')) if (!isUuid(one.trim()) || !known(one.trim())) throw bad(noEntity)
      return
    default:
  }
}

/** ISO 8601 with offset, `yyyy-MM-dd HH:mm:ss` or `yyyy-MM-dd` (both UTC here); NaN for anything else. */
export function parseDate(text: string): number {
  const plain = /^(\d{4}-\d{2}-\d{2})(?: (\d{2}:\d{2}:\d{2}))?$/.exec(text)
  // Days and months beyond their end run on, as in the platform: 2026-13-45 is a day of 2027.
  if (plain !== null) {
    const [year = 0, month = 1, day = 1] = (plain[1] ?? '').split('-').map(Number)
    return Date.UTC(year, month - 1, day) + Date.parse(`1970-01-01T${plain[2] ?? '00:00:00'}Z`)
  }
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})$/.test(text)) return Number.NaN
  return Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))
}
