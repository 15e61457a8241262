/** JSON values as the simulator handles them: what came from outside is checked here. */
export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object under a key; an empty one when there is none. */
export function objectAt(value: Json | undefined, ...path: string[]): JsonObject {
  const found = at(value, ...path)
  return isObject(found) ? found : {}
}

export function at(value: Json | undefined, ...path: string[]): Json | undefined {
  let found: Json | undefined = value
  for (const key of path) found = isObject(found) ? found[key] : undefined
  return found
}

/** Null when the text is no JSON. */
export function parseJson(text: string): { value: Json } | null {
  try {
    return { value: JSON.parse(text) as Json } // JSON.parse makes nothing else
  } catch {
    return null
  }
}

/** Keys of the second are laid over the first, object by object. */
export function merge(base: Json | undefined, over: Json | undefined): Json {
  if (over === undefined) return base ?? null
  if (!isObject(base) || !isObject(over)) return over
  const merged: JsonObject = { ...base }
  for (const [key, value] of Object.entries(over)) merged[key] = merge(base[key], value)
  return merged
}
