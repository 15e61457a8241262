// Which things a request names: the values of its id fields.

/** `id`, `volume_ids`, `nodeIP`: as the contract names what is an id. */
const ID_FIELD = /(^|_)ids?$|(^|_)(node|bmc)_?ip$/i
const ID = /^[\w.:-]{1,64}$/
const MAX_IDS = 50
/** Bodies nest ids at most in a list of things. */
const MAX_DEPTH = 4

export function namedIds(input: unknown): string[] {
  const found = new Set<string>()
  collect(input, false, MAX_DEPTH, found)
  return [...found].slice(0, MAX_IDS)
}

function collect(value: unknown, is_id: boolean, depth: number, found: Set<string>): void {
  if (typeof value === 'string') {
    if (is_id && ID.test(value)) found.add(value)
    return
  }
  if (depth === 0 || typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return
  for (const [name, member] of Object.entries(value)) {
    collect(member, Array.isArray(value) ? is_id : ID_FIELD.test(name), depth - 1, found)
  }
}
