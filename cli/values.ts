// Text of the command line to values of the wire, by the schema of their field.
import { UsageError } from './failures.ts'
import { isRecord, type Json } from './records.ts'
import type { Shape } from './schema-shape.ts'

/** `flag` names the option in a complaint. */
export function parseValue(shape: Shape, text: string, flag: string): unknown {
  if (shape.nullable && text === 'null') return null
  switch (shape.kind) {
    case 'integer':
      return integer(text, flag)
    case 'number':
      return number(text, flag)
    case 'boolean':
      return truth(text, flag)
    case 'list':
      return parseList(shape, [text], flag)
    case 'object':
      return record(shape, text, flag)
    case 'any':
      return anything(text)
    case 'text':
      return shape.values.length === 0 ? text : word(shape, text, flag)
    case 'null':
      throw new UsageError(`${flag} takes no value`)
  }
}

/** Each occurrence of an option is one item, or a JSON array of items. */
export function parseList(shape: Shape, texts: readonly string[], flag: string): unknown[] {
  return texts.flatMap((text) => {
    if (text.trimStart().startsWith('[')) {
      const items = json(text, flag)
      if (Array.isArray(items)) return items
    }
    return [shape.items === undefined ? anything(text) : parseValue(shape.items, text, flag)]
  })
}

function integer(text: string, flag: string): number {
  const value = Number(text)
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value)) throw new UsageError(`${flag} takes a whole number`)
  return value
}

function number(text: string, flag: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${flag} takes a number`)
  return value
}

function truth(text: string, flag: string): boolean {
  if (/^(true|yes|on|1)$/i.test(text)) return true
  if (/^(false|no|off|0)$/i.test(text)) return false
  throw new UsageError(`${flag} takes true or false`)
}

/** A word in another case is still that word. */
function word(shape: Shape, text: string, flag: string): string {
  const found =
    shape.values.find((value) => value === text) ??
    shape.values.find((value) => value.toLowerCase() === text.toLowerCase())
  if (found === undefined) throw new UsageError(`${flag} takes one of: ${shape.values.join(', ')}`)
  return found
}

/** A JSON object, or `key=value,key=value`. */
function record(shape: Shape, text: string, flag: string): Json {
  if (text.trimStart().startsWith('{')) {
    const value = json(text, flag)
    if (isRecord(value)) return value
  }
  const out: Json = {}
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`${flag} takes a JSON object or key=value,key=value`)
    const key = pair.slice(0, at).trim()
    const member = shape.members.get(key)
    if (member === undefined && shape.closed) {
      throw new UsageError(`${flag} has no member "${key}"; it knows: ${[...shape.members.keys()].join(', ')}`)
    }
    const value = pair.slice(at + 1)
    out[key] = member === undefined ? value : parseValue(member, value, `${flag} ${key}`)
  }
  return out
}

function anything(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function json(text: string, flag: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${flag} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
