// What operations there are. The table is part of the build; schemas and descriptions are fetched when a form first needs them.
import table from 'contract:table'
import type { OperationDetails, OperationRow, Schema } from './contract-types.ts'

export const operations: Readonly<Record<string, OperationRow>> = table

export function operationRow(operation: string): OperationRow {
  const row = operations[operation]
  if (row === undefined) throw new Error(`The contract has no operation ${operation}.`)
  return row
}

let details: Promise<Record<string, OperationDetails>> | undefined

export async function operationDetails(operation: string): Promise<OperationDetails> {
  details ??= loadDetails()
  const found = (await details)[operation]
  if (found === undefined) throw new Error(`The contract has no operation ${operation}.`)
  return found
}

/** A file that this page is made of is there no more. */
export const OLDER = 'This page is of an older version of the service: load it again.'

async function loadDetails(): Promise<Record<string, OperationDetails>> {
  try {
    const response = await fetch(metaContent('console-contract'))
    if (!response.ok) throw new Error(OLDER)
    return (await response.json()) as Record<string, OperationDetails>
  } catch (error) {
    details = undefined
    throw error
  }
}

export function metaContent(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? ''
}

/** An object whose members can be written as fields; null where only JSON says it all. */
export function objectFields(schema: Schema | null | undefined): Record<string, Schema> | null {
  return schema?.properties ?? null
}

/** `virtual_machine_id` becomes `virtual machine id`. */
export function inWords(name: string): string {
  return name.replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, (_all, end: string, start: string) => `${end} ${start}`)
}
