// `node jobs` and `node log`: what was and is done with a node.
import type { Command } from 'commander'
import { call } from './call.ts'
import type { Connection } from './connection.ts'
import { EXIT, NameError } from './failures.ts'
import { createJobLog, printLog } from './job-log.ts'
import { showResult } from './job-result.ts'
import { idOfField } from './names.ts'
import { printAnswer } from './output.ts'
import { isRecord, listOf, textOf } from './records.ts'
import { connectAs, type Program } from './route-command.ts'
import {
  addConnectionOptions, addOutputOptions, addTimeout, type CommonOptions, commonOptions,
} from './route-options.ts' // biome-ignore format: one list

export function addNodeCommands(group: Command, program: Program): void {
  const add = (name: string, summary: string): Command => {
    const command = group.command(name).argument('<node>', 'name or id of the node').summary(summary)
    addOutputOptions(command)
    addConnectionOptions(command)
    return command
  }
  const { terminal, routes } = program
  const jobs = add('jobs', 'List jobs of node').description('Newest first.')
  jobs.option('--page-size <n>', 'jobs at most, 50 by default')
  jobs.action(async (node: string) => {
    const { pageSize: page_size, ...given } = jobs.optsWithGlobals()
    const options = commonOptions(given)
    const connection = await connectAs(options, program)
    const answer = await jobsOf(node, connection, program, { page_size })
    await printAnswer(terminal, answer, routes.get('jobList')?.ok[200], options)
  })
  const log = add('log', 'Print log of newest job of node').description(
    'Prints the audit log of the newest setup, decommission, rollback, provisioning or reveal of the node, from its first line on.',
  )
  log.option('--follow', 'print lines as they come, until the job ends')
  addTimeout(log, 'how long to follow')
  log.action(async (node: string) => {
    const given = log.optsWithGlobals()
    const common = commonOptions(given)
    const options: CommonOptions = { ...common, wait_ms: common.timeout_ms ?? null }
    const connection = await connectAs(options, program)
    const id = newest((await jobsOf(node, connection, program, { page_size: 200 })).value, node)
    const lines = createJobLog(options, terminal)
    if (given.follow === true) await showResult(connection, id, options, program, { log: lines })
    else await printLog(connection, id, routes, lines)
  })
}

/** Jobs know a node by the address of its BMC. */
async function jobsOf(node: string, connection: Connection, { routes }: Program, query: object) {
  const list = routes.get('jobList')
  if (list === undefined) throw new NameError('this service has no jobs', EXIT.failed)
  const node_ip = await idOfField({ name: 'node_ip', operation: 'jobList' }, node, { connection, routes })
  return call(connection, list, { query: { ...query, node_ip } })
}

/** What they start at the BMC on the way are jobs of their own. */
const OF_ITS_LIFE = ['setup', 'decommission', 'rollback', 'provision', 'reveal']

function newest(answer: unknown, node: string): string {
  const rows = (listOf(answer)?.rows ?? []).filter(isRecord)
  const id = textOf(rows.find(({ job_type }) => OF_ITS_LIFE.includes(String(job_type)))?.id)
  if (id === undefined)
    throw new NameError(
      `there is no job of the life of node "${node}"; groundplane node jobs shows all`,
      EXIT.not_found,
    )
  return id
}
