/** The commands the simulator knows, with their parameters, from the reduced catalogue. */
import { readFileSync } from 'node:fs'
import type { CommandSpec } from './params.ts'

/** Keyed by the command's name, whose case counts. */
export function readCatalogue(): ReadonlyMap<string, CommandSpec> {
  const parsed: unknown = JSON.parse(readFileSync(new URL('./commands.json', import.meta.url), 'utf8'))
  if (typeof parsed !== 'object' || parsed === null) throw new Error('commands.json is not an object')
  const specs = new Map<string, CommandSpec>()
  for (const [name, spec] of Object.entries(parsed)) {
    if (!isSpec(spec)) throw new Error(`commands.json: ${name} is not a command`)
    specs.set(name, spec)
  }
  return specs
}

function isSpec(value: unknown): value is CommandSpec {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'params' in value &&
    Array.isArray(value.params) &&
    'wrapperKey' in value
  )
}
