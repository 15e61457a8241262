// The options of the programs: help where it is asked for, and a line with the usage instead of a stack where they are wrong.
import { parseArgs, type ParseArgsConfig } from 'node:util'

export function readArguments<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    console.log(usage)
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    // What follows the first sentence is about words that begin with a hyphen.
    const [message] = (error instanceof Error ? error.message : String(error)).split('. To specify')
    console.error(`${message}\n${usage}`)
    process.exit(2)
  }
}

/** A whole number within what the option takes. */
export function numberArgument(name: string, text: string, [least, most]: readonly [number, number]): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new Error(`--${name} must be a whole number between ${least} and ${most}, not ${text}`)
}
