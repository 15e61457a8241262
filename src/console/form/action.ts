// What an action on things is, before it is shown: how carefully it is asked for, and what it takes away.
import { operationRow } from '../api/contract.ts'
import type { Thing } from '../api/why-not.ts'
import type { Texts } from './values.ts'

export interface Target extends Thing {
  id: string
  name: string
  /** What the call names beside its id. */
  fixed?: Readonly<Record<string, unknown>>
}

export interface Action {
  operation: string
  label: string
  /** `at once`: harmless. `interrupts`: asks once. `destroys`: wants the name typed. */
  weight: 'at once' | 'interrupts' | 'destroys'
  /** What becomes of the thing, as the plan says it. */
  effect: string
  /** The field that names the thing, where the contract requires more than one id or none. */
  id_name?: string
  /** The fields that are asked for; all where it is left out. */
  fields?: readonly string[]
  /** What they begin with. */
  texts?: Texts
  /** Makes sense for many at a time. */
  bulk?: boolean
  /** By name, what goes and what stays. */
  consequences?: (target: Target) => Promise<Consequences>
}

export interface Consequences {
  goes: readonly string[]
  stays: readonly string[]
  /** These stay unless they are ticked: then the field names them. */
  optional?: { field: string; things: readonly { id: string; name: string }[] }
}

export function idName({ operation, id_name }: Action): string {
  return id_name ?? operationRow(operation).ids[0] ?? ''
}

/** What is sent for one of the things. */
export function bodyOf(action: Action, { id, fixed }: Target, options: Readonly<Record<string, unknown>> = {}) {
  return { ...options, ...fixed, [idName(action)]: id }
}
