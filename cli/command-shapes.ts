// How the command of each operation is written, for whoever writes one out to be copied: the console.
import { areas } from '#src/contract/index.ts'
import { commandName } from './command-names.ts'
import { fieldsOf } from './fields.ts'

export interface CommandShape {
  /** `vm start`. */
  words: string
  fields: readonly CommandShapeField[]
}

export interface CommandShapeField {
  /** Where its value stands in a request: `body.virtual_machine_id`, `headers.X-Target-Node`. */
  at: string
  /** `--forced`, or null for the argument. */
  option: string | null
}

export function commandShapes(): Record<string, CommandShape> {
  return Object.fromEntries(
    areas.flatMap((area) =>
      Object.entries(area.routes).map(([operation, route]) => {
        const { group, command } = commandName(operation, area)
        const fields = fieldsOf(operation, route, area).map(({ name, places, word, positional }) => ({
          at: `${places[0]}.${name}`,
          option: positional ? null : `--${word}`,
        }))
        return [operation, { words: `${group} ${command}`, fields }]
      }),
    ),
  )
}
