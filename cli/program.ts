// The program: builds the commands from the contract's areas, runs one, and answers the exit code.
import { Command, CommanderError } from 'commander'
import type { Area } from '#src/contract/route.ts'
import { commandName, GROUP_ALIASES, verbAliases } from './command-names.ts'
import { addDoctor } from './doctor.ts'
import { EXIT, exitCodeOf, failureLines, UsageError } from './failures.ts'
import { addJobCommands } from './job-commands.ts'
import { NAME_ROWS } from './name-rows.ts'
import { addNodeCommands } from './node-commands.ts'
import { routeTable } from './names.ts'
import { addRouteCommand, CommandFailure, type Program } from './route-command.ts'
import { addConnectionOptions, settleWait } from './route-options.ts'
import { addSearch } from './search-command.ts'
import { addContextCommands, addLogin, addStatus } from './session-commands.ts'
import { note, printLine, type Terminal } from './terminal.ts'
import { topHelp } from './topics.ts'

export interface ProgramOptions {
  terminal: Terminal
  areas: readonly Area[]
  version: string
}

export async function runProgram({ terminal, areas, version }: ProgramOptions): Promise<number> {
  const program: Program = { terminal, version, areas, routes: routeTable(areas) }
  const args = settleWait(terminal.args)
  // Options of 200 commands cost time: only the group that is called gets its commands.
  const root = buildCommands(program, groupIn(args))
  try {
    await root.parseAsync(args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    return report(error, terminal)
  }
}

/** `only`: the one group whose commands are filled in; all of them when undefined. */
export function buildCommands(program: Program, only?: string): Command {
  const { terminal, areas, version } = program
  const root = new Command('groundplane')
  root.helpInformation = () => topHelp(areas)
  root
    .version(version, '--version', 'print the version of this program')
    .exitOverride()
    .configureHelp({ subcommandTerm: commandTerm })
    .enablePositionalOptions()
    // The nearest word may be one that destroys: the words that there are do as well.
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      getOutHelpWidth: () => terminal.stdout.columns ?? 100,
      getErrHelpWidth: () => terminal.stderr.columns ?? 100,
    })
  addConnectionOptions(root)
  for (const [name, summary] of PROGRAMS) root.command(name).summary(summary)
  addLogin(root, program)
  addContextCommands(root, program)
  addStatus(root, program)
  addDoctor(root, program)
  addSearch(root, program)
  addCompletion(root, program)
  for (const [name, members] of groupsOf(areas)) {
    const group = root.command(name).summary(aboutGroup(members)).description(aboutGroup(members))
    const alias = GROUP_ALIASES[name]
    if (alias !== undefined) group.alias(alias)
    group.on('command:*', ([word = '']: string[]) => {
      throw new UsageError(`${name} has no "${word}"; it has: ${verbsOf(group).join(', ')}`)
    })
    if (only !== undefined && only !== name && only !== alias) continue
    for (const { operation, area } of members) {
      const route = area.routes[operation]
      if (route !== undefined) addRouteCommand(group, operation, route, area, program)
    }
    if (name === 'job') addJobCommands(group, program)
    if (name === 'node') addNodeCommands(group, program)
    for (const [verb, others] of verbAliases(group.commands.map((one) => [one.name(), ...one.aliases()])))
      for (const other of others) group.commands.find((one) => one.name() === verb)?.alias(other)
  }
  root.on('command:*', ([word = '', next = '']: string[]) => {
    const nouns = root.commands.filter((one) => [one.name(), ...one.aliases()].includes(next))
    const turned = nouns.length === 0 ? '' : `; a command is a noun, then a verb: groundplane ${next} --help`
    throw new UsageError(`there is no "${word}"${turned || '; groundplane --help lists the nouns'}`)
  })
  return root
}

function verbsOf(group: Command): string[] {
  const shown = group.createHelp().visibleCommands(group)
  return shown.map((one) => one.name()).filter((name) => name !== 'help')
}

const PROGRAMS = [
  ['control', 'start the service (groundplane control --help)'],
  ['agent', 'start the agent of a node'],
  ['lab', 'start a whole simulated data centre'],
] as const

/** `start <virtual-machine>`: the options of every command would only hide what differs. */
function commandTerm(command: Command): string {
  const words = command.usage().replace(/\[(options|command)\]/g, '')
  return [[command.name(), ...command.aliases()].join('|'), ...words.split(' ').filter((word) => word !== '')].join(' ')
}

interface Member {
  operation: string
  area: Area
}

function groupsOf(areas: readonly Area[]): [string, Member[]][] {
  const groups = new Map<string, Member[]>()
  for (const area of areas) {
    for (const operation of Object.keys(area.routes)) {
      const { group } = commandName(operation, area)
      groups.set(group, [...(groups.get(group) ?? []), { operation, area }])
    }
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b))
}

/** A group of several areas is described by what it can do, a group of one by the area. */
function aboutGroup(members: readonly Member[]): string {
  const verbs = members.map(({ operation, area }) => commandName(operation, area).command)
  const shown = verbs.slice(0, 6).join(', ')
  return verbs.length > 6 ? `${shown}, …` : shown
}

function addCompletion(root: Command, program: Program): void {
  root
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .summary('Print completion script of a shell')
    .action(async (shell: string) => {
      const { completionScript, SHELLS } = await import('./completion.ts')
      const { commandTree } = await import('./command-tree.ts')
      const known = SHELLS.find((name) => name === shell)
      if (known === undefined) root.error(`error: unknown shell "${shell}"; known: ${SHELLS.join(', ')}`)
      else {
        const tree = commandTree(buildCommands(program), wordsOfOption)
        printLine(program.terminal, completionScript(known, tree).trimEnd())
      }
    })
  root
    .command('complete-names', { hidden: true })
    .argument('<what>')
    .action(async (what: string) => {
      const { completeNames } = await import('./name-completion.ts')
      const { terminal, version, routes } = program
      await completeNames({ terminal, version, what, load: () => Promise.resolve({ routes, rows: NAME_ROWS }) })
    })
}

/** The words an option's help names are the words it can be completed to. */
function wordsOfOption(option: { description: string }): readonly string[] {
  const found = /(?:^|; )(?:one of|such as) ([^;(]+)/.exec(option.description)
  return found?.[1]?.split(', ').map((word) => word.trim()) ?? []
}

/** The first word that is neither an option nor the value of one. */
function groupIn(args: readonly string[]): string {
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? ''
    if (['--url', '--token', '--context'].includes(arg)) at += 1
    else if (arg === 'help') continue
    else if (!arg.startsWith('-')) return arg
  }
  return ''
}

function report(error: unknown, terminal: Terminal): number {
  if (error instanceof CommanderError) {
    // Commander has written its message. Help that was asked for is no error; help for lack of a command is.
    if (error.exitCode === 0) return EXIT.ok
    return EXIT.usage
  }
  const cause = error instanceof CommandFailure ? error.cause : error
  const lines = error instanceof CommandFailure ? error.lines : failureLines(error)
  for (const line of lines) note(terminal, line)
  return exitCodeOf(cause)
}
