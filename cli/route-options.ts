// The options of a route's command, and reading back what was given for them.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type RouteSpec, routeEffect } from '#src/contract/route.ts'
import { pagePlace, takesKey } from './call.ts'
import { UsageError } from './failures.ts'
import { type Field, isSecret, optionWords } from './fields.ts'
import type { Given } from './input.ts'
import { rowOf } from './name-rows.ts'
import type { OutputOptions } from './output.ts'
import type { Shape } from './schema-shape.ts'
import { isFile } from './transfer.ts'

export interface CommonOptions extends OutputOptions {
  url: string | undefined
  token: string | undefined
  context: string | undefined
  timeout_ms: number | undefined
  /** Undefined: do not wait; null: until the end. */
  wait_ms: number | null | undefined
  /** Undefined: ask once. */
  watch_ms: number | undefined
  dry_run: boolean
  idempotency_key: string | undefined
  all: boolean
  body: string | undefined
  output: string | undefined
}

const CONNECTION_OPTIONS = [
  ['--url <address>', 'address of the service (GROUNDPLANE_URL)'],
  ['--token <token>', 'credential (GROUNDPLANE_TOKEN); other processes can see it here'],
  ['--context <name>', 'stored context to use (GROUNDPLANE_CONTEXT)'],
] as const

export function addConnectionOptions(command: Command): void {
  for (const [flags, text] of CONNECTION_OPTIONS)
    command.addOption(new Option(flags, text).helpGroup('General options:'))
}

export function addOutputOptions(command: Command): void {
  const add = (flags: string, text: string): void => {
    command.addOption(new Option(flags, text).helpGroup('General options:'))
  }
  add('--json', 'print the answer as it came')
  add('--quiet', 'print ids alone')
  add('--columns <names>', 'columns or members to show, with commas; a.b reaches into a record')
  add('--utc', 'show times in UTC')
}

export function addGeneralOptions(command: Command, route: RouteSpec): void {
  const add = (flags: string, text: string, parse?: (text: string) => unknown): void => {
    const option = new Option(flags, text).helpGroup('General options:')
    command.addOption(parse === undefined ? option : option.argParser(parse))
  }
  const change = routeEffect(route) === 'change'
  if (route.body !== undefined && route.kind !== 'multipart') {
    add('--body <file>', 'JSON or YAML file with the whole body, - for stdin; options win over it')
  }
  if (route.dry_run === true) add('--dry-run', 'make all checks, change nothing, show the plan')
  if (change) add('--wait [seconds]', 'wait for the end of the operation and show its result', waitSeconds)
  if (takesKey(route))
    add('--idempotency-key <key>', 'the same key never runs the operation twice; made up if not given')
  if (!change && (route.kind ?? 'json') === 'json')
    add('--watch [seconds]', 'ask again every 2 (or so many) seconds and show what changed, until Ctrl-C', waitSeconds)
  if (pagePlace(route) !== undefined) add('--all', 'walk all pages')
  if (route.kind === 'bytes' || route.kind === 'ws') add('--output <file>', 'where the bytes go, - for stdout')
  addTimeout(command, 'how long to wait for the answer')
  addOutputOptions(command)
  addConnectionOptions(command)
}

export function addTimeout(command: Command, text: string): void {
  command.addOption(new Option('--timeout <seconds>', text).helpGroup('General options:').argParser(positiveSeconds))
}

/** Maps each field to the keys under which commander stores its value: that of its own word, then those of its aliases. */
export function addFieldOptions(command: Command, fields: readonly Field[]): ReadonlyMap<Field, string[]> {
  return new Map(fields.map((field) => [field, addField(command, field, description(field, fields))]))
}

function addField(command: Command, field: Field, text: string): string[] {
  const shown = field.positional ? [] : [addOption(command, field, field.word, text)]
  if (field.positional) command.argument(`[${field.word}]`, text)
  if (field.shape.kind === 'boolean') {
    command.addOption(new Option(`--no-${field.word}`).helpGroup('Options:').hideHelp())
    // Only what was said is sent: commander would make the positive flag true by itself.
    for (const { key } of shown) command.setOptionValueWithSource(key, undefined, 'default')
    return shown.map(({ key }) => key)
  }
  const others = field.aliases.map((word) => addOption(command, field, word, text))
  for (const { option } of others) option.hideHelp()
  return [...shown, ...others].map(({ key }) => key)
}

function addOption(command: Command, field: Field, word: string, text: string): { option: Option; key: string } {
  const option = new Option(`--${word}${valueWord(field)}`, text).helpGroup('Options:')
  if (field.shape.kind !== 'boolean') option.argParser(collect)
  command.addOption(option)
  return { option, key: option.attributeName() }
}

export function givenFields(
  fields: readonly Field[],
  keys: ReadonlyMap<Field, string[]>,
  positionals: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): Given {
  const given = new Map<Field, readonly string[] | boolean>()
  const free = positionals.filter((text) => typeof text === 'string')
  for (const field of fields) {
    const values = (keys.get(field) ?? []).map((key) => options[key])
    const flag = values.find((value) => typeof value === 'boolean')
    const texts = values.flatMap((value) => (Array.isArray(value) ? value.map(String) : []))
    // What was said by its option leaves its place to the next argument.
    if (field.positional && texts.length === 0) texts.push(...free.splice(0, 1))
    if (flag !== undefined) given.set(field, flag)
    else if (texts.length > 0) given.set(field, texts)
  }
  if (free.length > 0) throw new UsageError(`too many arguments: ${free.join(' ')}`)
  return given
}

export function commonOptions(options: Readonly<Record<string, unknown>>): CommonOptions {
  const text = (name: string): string | undefined => (typeof options[name] === 'string' ? options[name] : undefined)
  const seconds = (name: string): number | undefined =>
    typeof options[name] === 'number' ? options[name] * 1000 : undefined
  return {
    json: options.json === true,
    quiet: options.quiet === true,
    utc: options.utc === true,
    columns: text('columns')
      ?.split(',')
      .map((name) => name.trim()),
    url: text('url'),
    token: text('token'),
    context: text('context'),
    timeout_ms: seconds('timeout'),
    wait_ms: options.wait === undefined ? undefined : (seconds('wait') ?? null),
    watch_ms: options.watch === undefined ? undefined : (seconds('watch') ?? WATCH_MS),
    dry_run: options.dryRun === true,
    idempotency_key: text('idempotencyKey'),
    all: options.all === true,
    body: text('body'),
    output: text('output'),
  }
}

const WATCH_MS = 2_000

/**
 * `vm start --wait web-1` must not take the name for the seconds: the word after `--wait` or `--watch` belongs to it only
 * when it is a number.
 */
export function settleWait(args: readonly string[]): string[] {
  const bare = (arg: string, at: number): boolean =>
    ['--wait', '--watch'].includes(arg) && !/^\d+(\.\d+)?$/.test(args[at + 1] ?? '')
  return args.map((arg, at) => (bare(arg, at) ? `${arg}=end` : arg))
}

function waitSeconds(text: string): number | true {
  return text === 'end' ? true : positiveSeconds(text)
}

function positiveSeconds(text: string): number {
  const value = Number(text)
  // Node's timers end near 24.8 days.
  if (!(value > 0) || value > 2_000_000) throw new InvalidArgumentError('It takes a number of seconds above 0.')
  return value
}

function collect(text: string, earlier: unknown): string[] {
  return [...(Array.isArray(earlier) ? earlier.map(String) : []), text]
}

function valueWord(field: Field): string {
  const { kind } = field.shape
  if (kind === 'boolean') return ''
  if (isFile(field)) return ' <path>'
  if (rowOf(field) !== undefined) return ' <name-or-id>'
  const words = { text: 'text', integer: 'n', number: 'n', list: 'item', object: 'json', any: 'json', null: 'null' }
  return ` <${words[kind]}>`
}

/** What every id is described as says nothing to the person who reads the option. */
const ID_TEXT = /^Opaque identifier/

function description(field: Field, fields: readonly Field[]): string {
  const { shape } = field
  const row = rowOf(field)
  const parts = [ID_TEXT.test(shape.description) ? '' : optionWords(shape.description, fields).replace(/\.$/, '')]
  if (row !== undefined) parts.push(`name or id of the ${row.what}`)
  const words = [...shape.values, ...shape.known, ...(shape.items?.values ?? [])].filter((value) => value !== '')
  if (words.length > 0) parts.push(`${shape.known.length > 0 ? 'such as' : 'one of'} ${words.join(', ')}`)
  if (shape.kind === 'list') parts.push('repeat for more')
  const record = shape.kind === 'object' ? shape : shape.items?.kind === 'object' ? shape.items : undefined
  if (record !== undefined) parts.push(members(record))
  if (shape.kind === 'boolean') parts.push(`--no-${field.word} for false`)
  if (isSecret(field)) parts.push('- asks for it')
  if (shape.base64) parts.push('@FILE encodes a file')
  if (shape.document) parts.push('@FILE reads a file')
  if (shape.fallback !== undefined) parts.push(`default ${JSON.stringify(shape.fallback)}`)
  const text = parts.filter((part) => part !== '').join('; ')
  return field.required && !field.positional ? `${text}${text === '' ? '' : ' '}(required)` : text
}

function members(shape: Shape): string {
  const names = [...shape.members.keys()]
  return names.length === 0 ? 'JSON or key=value,…' : `JSON or key=value,… of ${names.join(', ')}`
}
