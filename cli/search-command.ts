// `groundplane search`: things of every kind by name, address, MAC or id.
import { type Command, Option } from 'commander'
import { SEARCH_KINDS } from '#src/contract/search.ts'
import { call } from './call.ts'
import { chooseTarget, connect } from './connection.ts'
import { printAnswer } from './output.ts'
import { bareText, isRecord } from './records.ts'
import type { Program } from './route-command.ts'
import { addConnectionOptions, addOutputOptions, commonOptions } from './route-options.ts'
import { note, oneLine } from './terminal.ts'

export function addSearch(root: Command, program: Program): void {
  const command = root
    .command('search')
    .argument('<word>', 'part of a name, address, MAC or id')
    .summary('Find things of every kind by name, address, MAC or id')
    .description('Exact matches come first, then what begins with the word, then what has it inside.')
    .addOption(new Option('--kind <kind>', 'things of one kind alone').choices(SEARCH_KINDS))
    .option('--limit <count>', 'results at most, 20 by default')
  addOutputOptions(command)
  addConnectionOptions(command)
  command.action(async (word: string) => {
    const given = command.optsWithGlobals()
    const options = commonOptions(given)
    const { terminal, version, routes } = program
    const route = routes.get('searchRun')
    if (route === undefined) throw new Error('the contract has no search')
    const connection = await connect(await chooseTarget(options, terminal.env), version, terminal.interrupted)
    const answer = await call(connection, route, { query: { q: word, kind: given.kind, limit: given.limit } })
    await printAnswer(terminal, answer, route.ok[200], options)
    if (!isRecord(answer.value)) return
    if (answer.value.more === true) note(terminal, 'there is more: a longer word narrows it, --limit 100 shows more')
    const missing = Array.isArray(answer.value.unavailable) ? answer.value.unavailable.filter(isRecord) : []
    for (const { kind, reason } of missing)
      note(terminal, oneLine(`not searched: ${bareText(kind)}: ${bareText(reason)}`))
  })
}
