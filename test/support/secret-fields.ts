// Every field of the contract that carries a secret, in a request or in an answer: what tests of secrecy must plant.
import { areas } from '#src/contract/index.ts'
import type { Area } from '#src/contract/route.ts'

/** Names under which a secret travels, where the schema does not say so itself. */
const NAMED = /(?:^|_)(?:password|passphrase|secret|secret_key|private_key|user_data|credentials?|token|ticket|otp)$/

/** `operation part.path` of each, as `tenantAuthSourceSet body.ldap.bind_password`. */
export function secretFields(): string[] {
  const found = new Set<string>()
  for (const area of areas as readonly Area[]) {
    for (const [operation, route] of Object.entries(area.routes)) {
      const parts = { params: route.params, query: route.query, body: route.body }
      for (const [part, schema] of Object.entries(parts)) walk(schema, `${operation} ${part}`, found)
      for (const schema of Object.values(route.ok)) walk(schema, `${operation} answer`, found)
    }
  }
  return [...found].sort()
}

function walk(schema: unknown, path: string, found: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return
  const { properties, items, anyOf, allOf, patternProperties, type, ...rest } = schema as Record<string, unknown>
  const text = type === 'string' || (Array.isArray(type) && type.includes('string'))
  if (
    rest['x-secret'] === true ||
    rest['writeOnly'] === true ||
    (text && NAMED.test(path.slice(path.lastIndexOf('.') + 1)))
  )
    found.add(path)
  for (const [name, member] of Object.entries((properties as object | undefined) ?? {})) {
    walk(member, `${path}.${name}`, found)
  }
  for (const member of Object.values((patternProperties as object | undefined) ?? {})) walk(member, `${path}.*`, found)
  walk(items, `${path}[]`, found)
  for (const member of [anyOf, allOf].flat()) walk(member, path, found)
}
