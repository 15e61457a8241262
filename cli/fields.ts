// The inputs of a route as a person gives them: positional arguments and options, each knowing where its value goes.
import type { Area, RouteSpec } from '#src/contract/route.ts'
import { commandName, kebabName } from './command-names.ts'
import { rowOf } from './name-rows.ts'
import { type Shape, shapeOf } from './schema-shape.ts'

export type Place = 'params' | 'query' | 'body' | 'headers'

export interface Field {
  /** Name on the wire. */
  name: string
  places: Place[]
  /** Members of the body that carry the same value as a path parameter. */
  also: string[]
  /** Name of the argument, or of the option without its dashes. */
  word: string
  positional: boolean
  required: boolean
  shape: Shape
  /** Operation it is an input of; says what a bare `id` is the id of. */
  operation: string
  /** Further words of the option: `--zone` for `--zone-id`, and the option of what may stand as an argument. */
  aliases: string[]
}

/** Options of the program itself; a field of the same name becomes `--field-NAME`. */
const RESERVED = new Set([
  'all', 'body', 'columns', 'context', 'dry-run', 'force-output', 'help', 'idempotency-key', 'json', 'output', 'quiet',
  'timeout', 'token', 'url', 'utc', 'version', 'wait', 'watch',
]) // biome-ignore format: a list of words

/**
 * Members of a body that repeat a path parameter under another name. The path wins and a differing value is refused
 * (api-conventions, Names and forms), so asking for them again would only invite mistakes.
 */
const REPEATS: Readonly<Record<string, readonly string[]>> = {
  mac_address: ['mac'],
  ip_id: ['public_ip_id'],
  scope_name: ['name'],
  zone_name: ['zone', 'name'],
  record_id: [],
}

/** Bodies that take an id under a name which is not their noun. */
const PRIMARY: Readonly<Record<string, readonly string[]>> = {
  gpu: ['host_id'],
  forward: ['id', 'public_ip_id'],
}

/** What every command of a group is about, even where it may be left out: `vm disk-detach web-1 --volume data-1`. */
const SUBJECTS: Readonly<Record<string, string>> = { vm: 'virtual_machine_id' }

/** Words that people use for a thing beside its own. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  'virtual-machine': ['vm'],
  vm: ['virtual-machine'],
  'public-ip': ['ip'],
  ip: ['public-ip'],
  domain: ['tenant'],
}

const STREAM_TICKET = 'ticket'
const NODE_HEADER = 'X-Target-Node'
/** Reads of one node that are asked of all when none is given (all-nodes.ts). */
const OF_ALL_NODES = new Set(['nodeHealthRead', 'nodeNicsList'])

export function fieldsOf(operation: string, route: RouteSpec, area: Pick<Area, 'name'>): Field[] {
  const { group } = commandName(operation, area)
  const fields = new Map<string, Field>()
  for (const name of pathNames(route.path)) {
    const shape = shapeOf(route.params?.properties[name])
    const required = !OF_ALL_NODES.has(operation)
    fields.set(name, { ...blank(name, 'params', shape, operation), positional: true, required })
  }
  // A body that is not a record can only be given whole (--body).
  addMembers(fields, 'body', shapeOf(route.body), operation, route)
  addMembers(fields, 'query', shapeOf(route.query), operation, route)
  addMembers(fields, 'headers', headerShape(route), operation, route)
  const node = fields.get(NODE_HEADER)
  if (node !== undefined) node.required = route.method !== 'GET'
  return withAliases(settlePositions([...fields.values()], group))
}

export function flagOf(field: Field): string {
  if (field.positional) return field.required ? `<${field.word}>` : `[${field.word}]`
  return `--${field.word}`
}

/** A text of the contract in the words of the command line: options for fields, `--wait` for the header. */
export function optionWords(text: string, fields: readonly Field[]): string {
  return text
    .replace(/`?Prefer: wait(?:=\w+)?`?/g, '--wait')
    .replace(/`?\b([a-z]+(?:_[a-z0-9]+)+)\b`?/g, (word, name: string) => {
      const field = fields.find((one) => one.name === name)
      return field === undefined || field.positional ? word : flagOf(field)
    })
}

export function isSecret(field: Field): boolean {
  return field.shape.secret || (field.shape.kind === 'text' && /password|passphrase|secret$/.test(field.name))
}

function blank(name: string, place: Place, shape: Shape, operation: string): Field {
  const is_node = place !== 'body' && place !== 'query' && rowOf({ name, operation })?.what === 'node'
  const word = is_node ? 'node' : kebabName(place === 'headers' ? name.replace(/^x-/i, '') : name)
  const taken = RESERVED.has(word) || word.startsWith('no-')
  return {
    name, places: [place], also: [], word: taken && place !== 'params' ? `field-${word}` : word, positional: false,
    required: false, shape, operation, aliases: [],
  } // biome-ignore format: a record of defaults
}

function addMembers(fields: Map<string, Field>, place: Place, shape: Shape, operation: string, route: RouteSpec): void {
  if (shape.kind === 'list' || shape.kind === 'null') return
  const params = pathNames(route.path)
  const existing = (key: string): Field | undefined => fields.get(key)
  for (const [name, member] of shape.members) {
    if (place === 'query' && name === STREAM_TICKET) continue
    const repeated = params.find((param) => param === name || REPEATS[param]?.includes(name))
    if (place === 'body' && repeated !== undefined && repeats(repeated, name, shape, route)) {
      existing(repeated)?.also.push(name)
      continue
    }
    const required = shape.required.includes(name)
    const field = blank(name, place, member, operation)
    const same = [...fields.values()].find((other) => other.word === field.word && !other.positional)
    if (same !== undefined) same.places.push(place)
    else fields.set(existing(name) === undefined ? name : `${place}.${name}`, { ...field, required })
  }
}

/** Under another name only a required member repeats the path: an optional `name` beside it may be a new name. */
function repeats(param: string, name: string, body: Shape, route: RouteSpec): boolean {
  if (param === name) return true
  return body.required.includes(name) && (route.method === 'PUT' || route.method === 'POST')
}

function headerShape(route: RouteSpec): Shape {
  const shape = shapeOf(route.headers)
  // Accepted on every route that runs on a node (api-conventions, Behaviour that readers asked about).
  const target = shapeOf({ type: 'string', description: 'Node that shall answer.' })
  const members = new Map<string, Shape>(route.runs_on === 'node' ? [[NODE_HEADER, target]] : [])
  for (const [name, member] of shape.members) members.set(name, member)
  return { ...shape, kind: 'object', members }
}

/** The thing a command is about becomes its argument: `vm start NAME`, not `vm start --virtual-machine-id NAME`. */
function settlePositions(fields: Field[], group: string): Field[] {
  if (fields.some((field) => field.positional)) return distinct(fields)
  const node = fields.find((field) => field.name === NODE_HEADER)
  if (node !== undefined) return distinct(asArgument(node, fields))
  const single = fields.filter((field) => !['list', 'object', 'any'].includes(field.shape.kind))
  const required = single.filter((field) => field.required)
  const names = [...(PRIMARY[group] ?? []), `${group.replaceAll('-', '_')}_id`, 'id']
  const primary =
    single.find((field) => field.name === SUBJECTS[group]) ??
    names.map((name) => required.find((field) => field.name === name)).find((field) => field !== undefined) ??
    (required.length === 1 ? required[0] : undefined)
  if (primary === undefined || isSecret(primary) || primary.shape.kind === 'boolean') return fields
  // Where a name does as well as an id, `<virtual-machine>` says so.
  primary.word = rowOf(primary)?.what === 'node' ? 'node' : primary.word.replace(/.-id$/, (end) => end.slice(0, 1))
  return distinct(asArgument(primary, fields))
}

function asArgument(primary: Field, fields: readonly Field[]): Field[] {
  primary.positional = true
  return [primary, ...fields.filter((field) => field !== primary)]
}

/** An option must not share its word with an argument: both are read from one help page. */
function distinct(fields: Field[]): Field[] {
  const words = new Set(fields.filter((field) => field.positional).map((field) => field.word))
  for (const field of fields) {
    if (!field.positional && words.has(field.word)) field.word = `new-${field.word}`
  }
  return fields
}

/**
 * What may be said beside the word that the help shows: an argument also by its option (`--virtual-machine-id`), an id
 * also without `-id`, because a name does as well. A word that means something else already is nobody's alias.
 */
function withAliases(fields: Field[]): Field[] {
  const options = fields.filter((field) => !field.positional).map(({ word }) => word)
  const taken = new Set([...RESERVED, ...options, ...options.map((word) => word.replace(/^(new|field)-/, ''))])
  for (const field of fields) {
    if (field.places.includes('headers')) continue
    const own = kebabName(field.name)
    const bare = own.replace(/-ids?$/, '')
    const short = (SYNONYMS[bare] ?? []).flatMap((word) => [word, `${word}-id`])
    const named = bare === own || rowOf(field) === undefined ? [] : [bare, ...short]
    const order = own === 'sort-by' ? ['sort'] : []
    field.aliases = [own, ...named, ...order].filter((word) => !taken.has(word))
    for (const word of field.aliases) taken.add(word)
  }
  return fields
}

function pathNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\*?\}/g)].map((match) => match[1] ?? '')
}
