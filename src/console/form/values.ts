// Between the texts of a form and what a call sends: by the schema of each field.
import type { Schema } from '../api/contract-types.ts'

export type Texts = Record<string, string>
export type FieldKind = 'choice' | 'flag' | 'number' | 'text' | 'long text' | 'secret' | 'lines' | 'json'

const LONG_TEXT = 1000

/** Nullable fields are those of the part that is not null. */
export function plain(schema: Schema): Schema {
  const other = schema.anyOf?.find(({ type }) => type !== 'null')
  return other === undefined ? schema : { ...other, ...(schema.description && { description: schema.description }) }
}

export function typeOf(schema: Schema): string {
  const { type } = plain(schema)
  return (Array.isArray(type) ? type.find((one) => one !== 'null') : type) ?? 'object'
}

export function fieldKind(given: Schema): FieldKind {
  const schema = plain(given)
  if (schema['x-secret'] === true) return 'secret'
  if (schema.enum !== undefined) return 'choice'
  const type = typeOf(schema)
  if (type === 'boolean') return 'flag'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string') return (schema.maxLength ?? 0) > LONG_TEXT ? 'long text' : 'text'
  if (type === 'array' && schema.items !== undefined && typeOf(schema.items) === 'string') return 'lines'
  return 'json'
}

/** Fields that nobody touched are not sent. Throws for JSON that cannot be read. */
export function valuesOf(fields: Record<string, Schema>, texts: Texts): Record<string, unknown> {
  const filled = Object.entries(fields).filter(([name]) => (texts[name] ?? '').trim() !== '')
  return Object.fromEntries(filled.map(([name, schema]) => [name, valueOf(name, fieldKind(schema), texts[name] ?? '')]))
}

function valueOf(name: string, kind: FieldKind, text: string): unknown {
  if (kind === 'flag') return text === 'true'
  if (kind === 'number') return Number(text)
  if (kind === 'lines') return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  if (kind !== 'json') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new SyntaxError(`${name} must be JSON, such as {"key": "value"} or ["a", "b"].`)
  }
}

export function textsOf(values: Record<string, unknown> | undefined): Texts {
  const entries = Object.entries(values ?? {}).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(entries.map(([name, value]) => [name, textOf(value)]))
}

function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join('\n')
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}
