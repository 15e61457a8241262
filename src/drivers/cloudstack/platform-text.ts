// The platform's own sentences: made readable, and cleaned for those who may see them.
import { withoutInner as hideInner } from '#src/kernel/inner-text.ts'

const NAME_KEYS = ['name', 'accountName', 'hostName', 'address', 'instanceName', 'busAddress', 'uuid'] as const

/** Objects that stand in a text as JSON become their names, Java's exception classes go. */
export function readable(text: string): string {
  const plain = namedObjects(text).replace(/\b(?:[a-z]\w*\.){2,}[A-Z]\w*(?:Exception|Error):\s*/g, '')
  return plain
    .replace(/\b(?:[a-z]\w*\.){2,}(?=[A-Z])/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** `VM instance {"id":142,"instanceName":"i-2-142-QA",…}` is `VM instance i-2-142-QA`. */
function namedObjects(text: string): string {
  let out = ''
  let from = 0
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', from)) {
    const found = objectAt(text, at)
    const bracketed = found !== undefined && text[at - 1] === '[' && text[found.end] === ']'
    out += text.slice(from, bracketed ? at - 1 : at) + (found === undefined ? '{' : found.name)
    from = found === undefined ? at + 1 : found.end + (bracketed ? 1 : 0)
  }
  return out + text.slice(from)
}

function objectAt(text: string, at: number): { name: string; end: number } | undefined {
  for (let end = text.indexOf('}', at); end !== -1; end = text.indexOf('}', end + 1)) {
    try {
      const value: unknown = JSON.parse(text.slice(at, end + 1))
      return { name: nameIn(value), end: end + 1 }
    } catch {
      // Not the brace that closes it.
    }
  }
  return undefined
}

function nameIn(value: unknown): string {
  if (typeof value !== 'object' || value === null) return ''
  const entries = new Map(Object.entries(value))
  for (const key of NAME_KEYS) {
    const name = entries.get(key)
    if (typeof name === 'string') return name
  }
  const inner = [...entries.values()].find((one) => typeof one === 'string' && one.includes('{'))
  if (typeof inner === 'string') return namedObjects(inner)
  return [...entries].map(([key, one]) => `${key} ${String(one)}`).join(', ')
}

/** For those who run the platform: its sentence without secrets, and without addresses that the request did not name. */
export function withoutInner(text: string, sent: Readonly<Record<string, string>>): string {
  return hideInner(readable(text), Object.values(sent).join(' '), MAX_LENGTH)
}

const MAX_LENGTH = 500
