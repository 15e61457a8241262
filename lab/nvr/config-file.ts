/** The NVR's configuration file: what the real program makes of it, valid or not. The schemas are those of the real releases. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { isObject, type Json, type JsonObject, at, merge, objectAt } from './json.ts'

export type Release = '0.16' | '0.17'

export type Reading =
  | { outcome: 'runs'; config: JsonObject }
  /** The file breaks a rule. 0.17 then runs without cameras, 0.16 ends. */
  | { outcome: 'invalid'; errors: string[] }
  /** Something that the program does not catch: it ends, in both releases. */
  | { outcome: 'exits'; reason: string }

/** Sections that hold for all cameras; what a camera says itself wins. */
const SHARED_SECTIONS = ['audio', 'birdseye', 'detect', 'ffmpeg', 'live', 'motion', 'objects', 'record', 'review', 'snapshots', 'timestamp_style', 'notifications'] // biome-ignore format: one line
const MAX_SEGMENT_S = 60

const schemas: Partial<Record<Release, { schema: JsonObject; validate: ValidateFunction }>> = {}

export function readConfigFile(text: string, release: Release): Reading {
  let file: Json
  try {
    file = parse(text) as Json // YAML's core schema makes nothing else
  } catch (error) {
    return { outcome: 'exits', reason: error instanceof Error ? error.message : 'no YAML' }
  }
  const placeholder = unknownPlaceholder(file)
  if (placeholder !== null) return { outcome: 'exits', reason: placeholder }
  const { schema, validate } = schemaOf(release)
  const migrated = release === '0.17' ? migrate(file) : file
  const merged = withSharedSections(migrated)
  // The validator turns texts such as "true" into what the schema wants, as the real program does.
  if (!validate(merged)) {
    const errors = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message ?? ''}`)
    return { outcome: 'invalid', errors }
  }
  const config = withDefaults(merged, schema, schema)
  if (!isObject(config)) return { outcome: 'invalid', errors: ['/ must be object'] }
  const errors = Object.entries(objectAt(config, 'cameras')).flatMap(([id, camera]) => brokenRules(id, camera))
  return errors.length > 0 ? { outcome: 'invalid', errors } : { outcome: 'runs', config: complete(config, release) }
}

function schemaOf(release: Release): { schema: JsonObject; validate: ValidateFunction } {
  const known = schemas[release]
  if (known !== undefined) return known
  const text = readFileSync(new URL(`schemas/config-${release}.schema.json`, import.meta.url), 'utf8')
  const schema = JSON.parse(text) as JsonObject // a file of our own
  const ajv = new Ajv2020({ strict: false, coerceTypes: true, allErrors: true, validateSchema: false })
  const made = { schema, validate: ajv.compile(schema) }
  schemas[release] = made
  return made
}

/** Both releases put environment variables into URLs by Python's `format`; braces around anything else end the program. */
function unknownPlaceholder(file: Json): string | null {
  const urls = [
    ...Object.values(objectAt(file, 'go2rtc', 'streams')),
    ...Object.values(objectAt(file, 'cameras')).map((camera) => at(camera, 'ffmpeg', 'inputs') ?? null),
  ]
  const found = /\{([^}]*)\}/.exec(JSON.stringify(urls.map((url) => textsOf(url))))
  return found === null ? null : `KeyError: '${found[1] ?? ''}'`
}

function textsOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsOf)
  return isObject(value) ? textsOf(value['path'] ?? null) : []
}

/** A file of an older release is rewritten at start: its way of keeping recordings became two. */
function migrate(file: Json): Json {
  const version = at(file, 'version')
  const retain = at(file, 'record', 'retain')
  if (!isObject(file) || version === '0.17-0' || !isObject(retain)) return file
  const { retain: _, ...record } = objectAt(file, 'record')
  const days = retain['days'] ?? 0
  const continuous = retain['mode'] === 'all' ? { continuous: { days } } : {}
  return { ...file, version: '0.17-0', record: { ...record, ...continuous, motion: { days } } }
}

function withSharedSections(file: Json): Json {
  if (!isObject(file) || !isObject(file['cameras'])) return file
  const cameras: JsonObject = {}
  for (const [id, camera] of Object.entries(file['cameras'])) {
    if (!isObject(camera)) return file
    const whole: JsonObject = { ...camera, name: id }
    for (const section of SHARED_SECTIONS) {
      if (file[section] === undefined) continue
      whole[section] = merge(file[section], camera[section])
    }
    cameras[id] = whole
  }
  return { ...file, cameras }
}

/** Fills in what the schema gives as default, also inside of sections that the file does not have. */
function withDefaults(value: Json | undefined, node: Json | undefined, root: JsonObject): Json {
  const schema = resolved(node, root)
  const given = value === undefined ? (schema['default'] ?? undefined) : value
  if (Array.isArray(given)) return given.map((item) => withDefaults(item, schema['items'], root))
  if (schema['type'] !== 'object' || (given !== undefined && !isObject(given))) return given ?? null
  const filled: JsonObject = {}
  for (const [key, property] of Object.entries(objectAt(schema, 'properties'))) {
    filled[key] = withDefaults(given?.[key], property, root)
  }
  for (const [key, item] of Object.entries(given ?? {})) {
    filled[key] ??= withDefaults(item, schema['additionalProperties'], root)
  }
  return withoutNulls(filled)
}

/** Follows a reference; of alternatives, the one that is an object. */
function resolved(node: Json | undefined, root: JsonObject): JsonObject {
  if (!isObject(node)) return {}
  const reference = node['$ref']
  if (typeof reference === 'string') return resolved(at(root, ...reference.replace('#/', '').split('/')), root)
  const alternatives = node['anyOf']
  if (!Array.isArray(alternatives)) return node
  const object = alternatives.find((one) => isObject(one) && typeof one['$ref'] === 'string')
  return object === undefined ? node : resolved(object, root)
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

/** Rules across fields, which a schema cannot say. */
function brokenRules(id: string, camera: Json): string[] {
  const errors: string[] = []
  const on = (section: string): boolean => at(camera, section, 'enabled') === true
  const inputs = at(camera, 'ffmpeg', 'inputs')
  const given = Array.isArray(inputs) ? inputs : []
  // With a single input the roles are set for it.
  const roles = given
    .flatMap((input) => at(input, 'roles') ?? [])
    .concat(given.length === 1 ? ['record', 'detect'] : [])
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) errors.push(`name ${id} should match pattern '^[a-zA-Z0-9_-]+$'`)
  if (!roles.includes('detect')) errors.push('The detect role is required.')
  if (given.length > 1 && new Set(roles).size < roles.length) errors.push('Each input role may only be used once.')
  if (on('record') && !roles.includes('record')) {
    errors.push(`Camera ${id} has record enabled, but record is not assigned to an input.`)
  }
  if (on('audio') && !roles.includes('audio')) {
    errors.push(`Camera ${id} has audio events enabled, but audio is not assigned to an input.`)
  }
  if (on('detect') && !on('motion')) {
    errors.push(
      `Camera ${id} has motion detection disabled and object detection enabled but object detection requires motion detection.`,
    )
  }
  const zones = objectAt(camera, 'zones')
  const required = at(camera, 'review', 'alerts', 'required_zones')
  for (const zone of Array.isArray(required) ? required : []) {
    if (typeof zone === 'string' && zones[zone] === undefined) {
      errors.push(`Camera ${id} has a required zone for alerts ${zone} that is not defined.`)
    }
  }
  const segment = /-segment_time (\d+)/.exec(String(at(camera, 'ffmpeg', 'output_args', 'record') ?? ''))
  if (Number(segment?.[1] ?? 0) > MAX_SEGMENT_S) {
    errors.push(`Camera ${id} has invalid segment_time output arg, segment_time must be 60 or less.`)
  }
  return errors
}

/** What the program adds: names, switches as the file has them, the default live stream, credentials hidden. */
function complete(config: JsonObject, release: Release): JsonObject {
  const cameras: JsonObject = {}
  for (const [id, camera] of Object.entries(objectAt(config, 'cameras'))) {
    if (!isObject(camera)) continue
    const whole: JsonObject = { ...camera, name: id, enabled_in_config: camera['enabled'] ?? true }
    for (const section of ['audio', 'motion', 'record', 'notifications']) {
      const values = objectAt(camera, section)
      whole[section] = { ...values, enabled_in_config: values['enabled'] ?? false }
    }
    const streams = objectAt(camera, 'live', 'streams')
    whole['live'] = {
      ...objectAt(camera, 'live'),
      streams: Object.keys(streams).length > 0 ? streams : { [id]: id },
    }
    const detect = objectAt(camera, 'detect')
    whole['detect'] = { ...detect, width: detect['width'] ?? 1280, height: detect['height'] ?? 720 }
    cameras[id] = whole
  }
  const streams = Object.entries(objectAt(config, 'go2rtc', 'streams'))
  const go2rtc = {
    ...objectAt(config, 'go2rtc'),
    streams: Object.fromEntries(streams.map(([name, urls]) => [name, masked(urls)])),
  }
  const auth = { ...objectAt(config, 'auth') }
  if (release === '0.17') auth['roles'] = { ...objectAt(auth, 'roles'), admin: [], viewer: [] }
  const safe = release === '0.17' ? { safe_mode: false } : {}
  return {
    ...config,
    version: config['version'] ?? `${release}-0`,
    ...safe,
    auth,
    go2rtc,
    cameras,
    plus: { enabled: false },
  }
}

function masked(urls: Json): Json {
  if (Array.isArray(urls)) return urls.map(masked)
  return typeof urls === 'string' ? urls.replace(/:\/\/[^/@]*@/, '://*:*@') : urls
}
