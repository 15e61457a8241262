// The hash by which a document of desired state is known: the same on the control plane and on the node.
import { createHash } from 'node:crypto'

/** SHA-256 of the JSON with sorted members. */
export function documentHash(document: unknown): string {
  return createHash('sha256').update(JSON.stringify(document, sortMembers)).digest('hex')
}

function sortMembers(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
