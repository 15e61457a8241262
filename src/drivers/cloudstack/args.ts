// How arguments stand on the wire: lists in one comma-separated value, maps as `name[i].key` (cloudstack.md 1.1).
import { invalidField } from '#src/kernel/errors.ts'

export type Scalar = string | number | boolean
export type ArgMap = Readonly<Record<string, Scalar | undefined>>

/** A map stands under index 0, where every command reads it; an array of maps gives each its own index. */
export type ArgValue = Scalar | undefined | readonly Scalar[] | ArgMap | readonly ArgMap[]
export type Args = Readonly<Record<string, ArgValue>>
export type WireArgs = Record<string, string>

/** A time in whole seconds: the platform does not read fractions. */
export function platformTime(time: Date | number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`
}

/** Leaves out what is undefined; an empty list stays as an empty value, which clears. */
export function encodeArgs(args: Args): WireArgs {
  const wire: WireArgs = {}
  for (const [name, value] of Object.entries(args)) {
    if (value === undefined) continue
    if (!isList(value)) {
      if (typeof value === 'object') putMap(wire, `${name}[0]`, value)
      else put(wire, name, value)
    } else if (isListOfMaps(value)) {
      value.forEach((map, index) => putMap(wire, `${name}[${index}]`, map))
    } else {
      put(wire, name, value.map((element) => listElement(name, element)).join(','))
    }
  }
  return wire
}

function isList(value: ArgValue): value is readonly Scalar[] | readonly ArgMap[] {
  return Array.isArray(value)
}

function isListOfMaps(list: readonly Scalar[] | readonly ArgMap[]): list is readonly ArgMap[] {
  return typeof list[0] === 'object'
}

/** Maps of free names: a detail that happens to be called `…id` holds no identifier. */
const FREE_MAPS = new Set(['details[0]', 'userdatadetails[0]'])

function putMap(wire: WireArgs, prefix: string, map: ArgMap): void {
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined) continue
    if (FREE_MAPS.has(prefix)) wire[`${prefix}.${key}`] = String(value)
    else put(wire, `${prefix}.${key}`, value)
  }
}

function put(wire: WireArgs, name: string, value: Scalar): void {
  const text = String(value)
  refuseNumericId(name, text)
  wire[name] = text
}

/** An element with a comma would become two. */
function listElement(name: string, element: Scalar): string {
  const text = String(element)
  if (text.includes(',')) throw invalidField('body', `an element of a list holds a comma: ${text.slice(0, 80)}`)
  refuseNumericId(name, text)
  return text
}

/** Identifiers of devices, which are numbers by nature. */
const NUMERIC_IDENTIFIERS = new Set(['deviceid', 'vendorid'])

/** Old parameters take a number for an internal row id, which would reach things by guessing (cloudstack.md 10, 13). */
function refuseNumericId(name: string, text: string): void {
  if (!/^\d+$/.test(text) || !/ids?$/.test(name) || NUMERIC_IDENTIFIERS.has(name)) return
  throw invalidField('body', `${text.slice(0, 40)} is not the identifier of a resource`)
}
