/** A request's parameters: checked once against the catalogue, then read by type. */
import { ApiFault, invalid } from './api-fault.ts'

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
    checkText(param, value)
    if (param.type === 'map') addEntry(maps, base, rawName, value)
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
    if (param.required && !given)
      throw invalid(`Unable to execute API command ${spec.name.toLowerCase()} due to missing parameter ${param.name}`)
  }
  return new Params(plain, maps)
}

function addEntry(maps: Map<string, Record<string, string>[]>, base: string, rawName: string, value: string): void {
  const parts = /^[^[]+\[(\d{1,4})\](?:\.(.+))?$/s.exec(rawName)
  const entries = maps.get(base) ?? []
  if (parts?.[1] === undefined) throw new ApiFault(430, `Unable to decode parameter ${rawName}: it is malformed`)
  const index = Number(parts[1])
  const entry = entries[index] ?? {}
  entry[parts[2] ?? ''] = value
  while (entries.length <= index) entries.push({})
  entries[index] = entry
  maps.set(base, entries)
}

function checkText(param: ParamSpec, value: string): void {
  if (hasControlCharacter(value))
    throw invalid(
      `Received value ${JSON.stringify(value)} for parameter ${param.name} is invalid, contains illegal ASCII non-printable characters`,
    )
  const length = param.length ?? 255
  if (param.type === 'string' && value.length > length)
    throw invalid(`Value greater than max allowed length ${length} for param: ${param.name}`)
}

function hasControlCharacter(value: string): boolean {
  for (const character of value) {
    const code = character.codePointAt(0) ?? 0
    if ((code < 32 && code !== 10 && code !== 13) || code === 127) return true
  }
  return false
}

function checkValue(spec: CommandSpec, param: ParamSpec, value: string, known: (id: string) => boolean): void {
  const bad = (reason: string): ApiFault =>
    invalid(
      `Unable to execute API command ${spec.name.toLowerCase()} due to invalid value. Invalid parameter ${param.name} value=${value} due to ${reason}`,
    )
  const noEntity =
    'incorrect long value format, or entity does not exist or due to incorrect parameter annotation for the field in api cmd class.'
  switch (param.type) {
    case 'uuid':
      // Accounts of all projects are asked for with -1; old commands take an event's internal number.
      if (param.name === 'projectid' && value === '-1') return
      if (param.name === 'startid' && /^\d+$/.test(value)) return
      if (!isUuid(value) || !known(value)) throw bad(noEntity)
      return
    case 'integer':
    case 'long':
    case 'short':
      if (value !== '' && !/^-?\d{1,18}$/.test(value)) throw bad('incorrect value format')
      return
    case 'date':
      if (value !== '' && Number.isNaN(parseDate(value)))
        throw bad('incorrect date format, please use one of yyyy-MM-dd, yyyy-MM-dd HH:mm:ss or ISO 8601')
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
  if (plain !== null) return Date.parse(`${plain[1]}T${plain[2] ?? '00:00:00'}Z`)
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})$/.test(text)) return Number.NaN
  return Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))
}
