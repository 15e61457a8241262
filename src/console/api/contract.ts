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

const ABBREVIATIONS = new Set([
  'api', 'arp', 'bfd', 'bgp', 'bmc', 'cidr', 'cpu', 'dhcp', 'dns', 'evpn', 'fqdn', 'gpu', 'ha', 'id', 'io', 'ip', 'iso', 'kvm',
  'l2', 'l3', 'mac', 'mtu', 'nic', 'nvr', 'os', 'ospf', 'pci', 'ram', 'ssh', 'tpm', 'ttl', 'url', 'uuid', 'vlan', 'vm', 'vni',
]) // biome-ignore format: one list

function asWritten(word: string): string {
  if (ABBREVIATIONS.has(word)) return word.toUpperCase()
  if (word === 'mhz') return 'MHz'
  // More than one of them: `vlans` becomes `VLANs`.
  return word.endsWith('s') && ABBREVIATIONS.has(word.slice(0, -1)) ? `${word.slice(0, -1).toUpperCase()}s` : word
}

/** `virtual_machine_id` becomes `virtual machine ID`. */
export function inWords(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, (_all, end: string, start: string) => `${end} ${start}`)
  return words.split(/[ _-]/).map(asWritten).join(' ')
}

/** As the label of a field or the heading of a panel: `vm-disks` becomes `VM disks`, `name` becomes `Name`. */
export function asHeading(name: string): string {
  const words = inWords(name)
  return words.charAt(0).toUpperCase() + words.slice(1)
}
