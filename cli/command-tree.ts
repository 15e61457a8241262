// The whole command tree as plain data, read from the commands themselves, for completion scripts and documents.
import type { Command, Option } from 'commander'
import { isOffered } from './name-list.ts'
import { NAME_ROWS } from './name-rows.ts'

export interface CommandNode {
  name: string
  summary: string
  /** Kind of thing whose name is the first argument. */
  names: string | undefined
  flags: FlagNode[]
  commands: CommandNode[]
}

export interface FlagNode {
  flag: string
  summary: string
  takes_value: boolean
  /** The value is the name of a file. */
  file: boolean
  words: readonly string[]
  /** Kind of thing whose name is the value. */
  names: string | undefined
}

/** `words` names the words that the value of an option may be. */
export function commandTree(command: Command, words: (option: Option) => readonly string[]): CommandNode {
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    names: namesIn(command.registeredArguments[0]?.description),
    flags: command
      .createHelp()
      .visibleOptions(command)
      .filter((option) => option.long !== undefined && option.long !== null)
      .map((option) => flagNode(option, words(option))),
    commands: command
      .createHelp()
      .visibleCommands(command)
      .filter((one) => one.name() !== 'help')
      .map((one) => commandTree(one, words)),
  }
}

function flagNode(option: Option, words: readonly string[]): FlagNode {
  return {
    flag: option.long ?? '',
    summary: option.description.split('\n')[0] ?? '',
    takes_value: option.required || option.optional,
    file: /<(file|path)>/.test(option.flags),
    words,
    names: namesIn(option.description),
  }
}

/** Arguments and options that take a name say in their help whose it is. */
function namesIn(description = ''): string | undefined {
  const what = /name or id of the ([^;(]+?)(?:;| \(|$)/.exec(description)?.[1]
  return NAME_ROWS.some((row) => row.what === what && isOffered(row)) ? what : undefined
}
