// Reads members of Redfish documents. What is missing or of another type than it should be is null, an empty list or an empty
// document: services get their own schemas wrong (../shared fixtures: numbers as text, a processor that names its collection).
export type Document = Readonly<Record<string, unknown>>

const EMPTY: Document = {}

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function at(document: Document, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isDocument(value) ? value[name] : undefined), document)
}

export function textAt(document: Document, ...path: string[]): string | null {
  const value = at(document, path)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null
}

/** Numbers that came as text count. */
export function numberAt(document: Document, ...path: string[]): number | null {
  const value = at(document, path)
  if (typeof value === 'number' && Number.isFinite(value)) return value
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null
}

export function flagAt(document: Document, ...path: string[]): boolean | null {
  const value = at(document, path)
  return typeof value === 'boolean' ? value : null
}

export function documentAt(document: Document, ...path: string[]): Document {
  const value = at(document, path)
  return isDocument(value) ? value : EMPTY
}

export function listAt(document: Document, ...path: string[]): Document[] {
  const value = at(document, path)
  return Array.isArray(value) ? value.filter(isDocument) : []
}

export function textsAt(document: Document, ...path: string[]): string[] {
  const value = at(document, path)
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** The path that a reference names; null for none, and for one that leads to another host. */
export function linkAt(document: Document, ...path: string[]): string | null {
  return localPath(at(document, [...path, '@odata.id']))
}

export function linksAt(document: Document, ...path: string[]): string[] {
  return listAt(document, ...path).flatMap((one) => linkAt(one) ?? [])
}

/** Only paths are followed, so that no document can lead a request, with its credentials, elsewhere. */
export function localPath(value: unknown): string | null {
  return typeof value === 'string' && /^\/(?!\/)[\x21-\x7e]*$/.test(value) ? value : null
}
