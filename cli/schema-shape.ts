// What the command line needs to know of a JSON schema: the kind of value, its words, its members.
import { isRecord, type Json } from './records.ts'

type Kind = 'text' | 'integer' | 'number' | 'boolean' | 'list' | 'object' | 'any' | 'null'

export interface Shape {
  kind: Kind
  nullable: boolean
  /** The only words allowed. */
  values: readonly string[]
  /** Words known today of an open set. */
  known: readonly string[]
  items: Shape | undefined
  members: ReadonlyMap<string, Shape>
  required: readonly string[]
  /** Unknown members are refused. */
  closed: boolean
  description: string
  fallback: unknown
  title: string | undefined
  /** Bytes of a file in a multipart body. */
  file: boolean
  /** Text that carries bytes in Base64. */
  base64: boolean
  /** A text that usually stands in a file. */
  document: boolean
  secret: boolean
}

const KINDS: Readonly<Record<string, Kind>> = {
  string: 'text', integer: 'integer', number: 'number', boolean: 'boolean', array: 'list', object: 'object', null: 'null',
} // biome-ignore format: a table

export function shapeOf(schema: unknown): Shape {
  const source = isRecord(schema) ? schema : {}
  const shape = plainShape(source)
  if (Array.isArray(source.allOf)) return merged(shape, source.allOf.map(shapeOf), 'all')
  const choices = Array.isArray(source.anyOf) ? source.anyOf : source.oneOf
  return Array.isArray(choices) ? merged(shape, choices.map(shapeOf), 'any') : shape
}

function plainShape(source: Json): Shape {
  const types = (Array.isArray(source.type) ? source.type : [source.type]).filter((type) => typeof type === 'string')
  const kinds = types.map((type) => KINDS[type] ?? 'any')
  const solid = kinds.filter((kind) => kind !== 'null')
  const fixed = Array.isArray(source.enum) ? source.enum : source.const === undefined ? [] : [source.const]
  const properties = isRecord(source.properties) ? source.properties : {}
  return {
    kind: solid.length === 1 ? (solid[0] ?? 'any') : kinds.length > 0 && solid.length === 0 ? 'null' : 'any',
    nullable: kinds.includes('null'),
    values: fixed.filter((value) => value !== null).map(String),
    known: Array.isArray(source['x-known-values']) ? source['x-known-values'].map(String) : [],
    items: source.items === undefined ? undefined : shapeOf(source.items),
    members: new Map(Object.entries(properties).map(([name, member]) => [name, shapeOf(member)])),
    required: Array.isArray(source.required) ? source.required.map(String) : [],
    closed: source.additionalProperties === false,
    description: typeof source.description === 'string' ? source.description : '',
    fallback: source.default,
    title: typeof source.title === 'string' ? source.title : undefined,
    file: source.format === 'binary' || source.contentEncoding === 'binary',
    base64: source.contentEncoding === 'base64',
    document: source.contentEncoding === undefined && source.contentMediaType !== undefined,
    secret: source['x-secret'] === true || source.format === 'password',
  }
}

/** Choices of one kind stay that kind; choices of records become one record with the members of all. */
function merged(base: Shape, parts: readonly Shape[], how: 'any' | 'all'): Shape {
  const solid = parts.filter((part) => part.kind !== 'null')
  const first = solid[0]
  const nullable = base.nullable || solid.length < parts.length || parts.some((part) => part.nullable)
  if (first === undefined) return { ...base, nullable }
  const same = solid.every((part) => part.kind === first.kind)
  const kind = same ? first.kind : 'any'
  const fixed = solid.every((part) => part.values.length > 0)
  const required = (part: Shape): readonly string[] => part.required
  return {
    ...base,
    kind: how === 'all' && base.kind === 'object' ? 'object' : kind,
    nullable,
    values: fixed ? solid.flatMap((part) => part.values) : [],
    known: solid.flatMap((part) => part.known),
    items: base.items ?? first.items,
    members: new Map([...base.members, ...solid.flatMap((part) => [...part.members])]),
    required: [
      ...base.required,
      ...(how === 'all'
        ? solid.flatMap(required)
        : first.required.filter((name) => solid.every((part) => part.required.includes(name)))),
    ],
    closed: solid.every((part) => part.closed),
    description: base.description || first.description,
    title: base.title ?? (solid.length === 1 ? first.title : undefined),
  }
}
