// Collects what the person gave (arguments, options, a body file, prompts) into the input of a route.
import { readFile } from 'node:fs/promises'
import type { RouteSpec } from '#src/contract/route.ts'
import { UsageError } from './failures.ts'
import { type Field, flagOf, isSecret, type Place } from './fields.ts'
import { isRecord, type Json } from './records.ts'
import { readAll, readSecret, type Terminal } from './terminal.ts'
import { parseList, parseValue } from './values.ts'

export interface RouteInput {
  params: Json
  query: Json
  headers: Json
  /** Undefined: no body is sent. */
  body: unknown
}

/** What was given for a field: texts as typed (one for each occurrence), or the flag's truth. */
export type Given = ReadonlyMap<Field, readonly string[] | boolean>

export async function collectInput(
  route: RouteSpec,
  fields: readonly Field[],
  given: Given,
  body_file: string | undefined,
  terminal: Terminal,
): Promise<RouteInput> {
  const file = body_file === undefined ? undefined : await readBody(body_file, terminal)
  const places: Record<Place, Json> = { params: {}, query: {}, headers: {}, body: isRecord(file) ? { ...file } : {} }
  for (const field of fields) {
    const text = given.get(field)
    if (text === undefined) continue
    const value = await valueOf(field, text, terminal)
    for (const place of field.places) places[place][field.name] = place === 'headers' ? String(value) : value
    for (const name of field.also) places.body[name] = value
  }
  const whole = file !== undefined && !isRecord(file)
  requireAll(fields, places, whole)
  const empty = Object.keys(places.body).length === 0
  const none = route.body === undefined || (empty && file === undefined && route.body_optional === true)
  return { ...places, body: whole ? file : none ? undefined : places.body }
}

async function valueOf(field: Field, given: readonly string[] | boolean, terminal: Terminal): Promise<unknown> {
  const flag = flagOf(field)
  if (typeof given === 'boolean') return given
  if (field.shape.kind === 'list') return parseList(field.shape, given, flag)
  if (given.length > 1) throw new UsageError(`${flag} is given ${given.length} times`)
  const [text = ''] = given
  // A secret on a command line can be read by every process of the machine.
  if (isSecret(field) && text === '-') return readSecret(terminal, `${field.name}: `)
  if (field.shape.file) return text
  // `@` is no letter of Base64, so a file name cannot be mistaken for the data.
  if (field.shape.base64 && text.startsWith('@')) {
    return (await readFile(text.slice(1)).catch(unreadable(text.slice(1)))).toString('base64')
  }
  // A document of one word says nothing, so a file name cannot be mistaken for it.
  if (field.shape.document && /^@\S+$/.test(text)) {
    return await readFile(text.slice(1), 'utf8').catch(unreadable(text.slice(1)))
  }
  return parseValue(field.shape, text, flag)
}

function requireAll(fields: readonly Field[], places: Record<Place, Json>, whole: boolean): void {
  const missing = fields.filter((field) => {
    if (!field.required) return false
    if (whole && field.places.includes('body')) return false
    return field.places.every((place) => places[place][field.name] === undefined)
  })
  if (missing.length === 0) return
  const help = missing.some(({ word }) => word === 'node') ? '; "groundplane node list" shows the nodes' : ''
  throw new UsageError(`missing: ${missing.map(flagOf).join(', ')}${help}`)
}

async function readBody(file: string, terminal: Terminal): Promise<unknown> {
  const text = file === '-' ? await readAll(terminal.stdin) : await readFile(file, 'utf8').catch(unreadable(file))
  try {
    if (!/\.ya?ml$/.test(file)) return JSON.parse(text)
    const { parse } = await import('yaml')
    const value: unknown = parse(text)
    return value
  } catch (error) {
    throw new UsageError(`--body ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function unreadable(file: string): (error: unknown) => never {
  return (error) => {
    throw new UsageError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
