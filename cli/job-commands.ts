// `job wait` and `job follow`: the end of a job that somebody else started, or that was started without --wait.
import type { Command } from 'commander'
import { call } from './call.ts'
import type { Connection } from './connection.ts'
import { EXIT, NameError } from './failures.ts'
import { createJobLog } from './job-log.ts'
import { showResult } from './job-result.ts'
import { UUID } from './names.ts'
import { isRecord, listOf, textOf } from './records.ts'
import { connectAs, type Program } from './route-command.ts'
import {
  addConnectionOptions, addOutputOptions, addTimeout, type CommonOptions, commonOptions,
} from './route-options.ts' // biome-ignore format: one list

export function addJobCommands(group: Command, program: Program): void {
  for (const name of ['wait', 'follow'] as const) {
    const command = group
      .command(name)
      .argument('[job]', 'id of the job, or name of what it is about; the newest job when left out')
      .summary(name === 'wait' ? 'Wait for end of job and show its result' : 'Print lines of job as they come')
      .description(
        name === 'wait'
          ? 'Waits for the end of a job and shows the thing that it is about.'
          : 'Prints the lines of a job as they come, then the thing that it is about.',
      )
    addTimeout(command, 'how long to wait for the end')
    addOutputOptions(command)
    addConnectionOptions(command)
    command.action(async (job: string | undefined) => {
      const common = commonOptions(command.optsWithGlobals())
      const { timeout_ms } = common
      const options: CommonOptions = { ...common, wait_ms: timeout_ms ?? null }
      const connection = await connectAs(options, program)
      const id = await jobId(job, connection, program)
      const log = name === 'wait' ? undefined : createJobLog(options, program.terminal)
      await showResult(connection, id, options, program, { log })
    })
  }
}

/** The newest job of a name is the one that is meant: its last operation. */
async function jobId(text: string | undefined, connection: Connection, { routes }: Program): Promise<string> {
  if (text !== undefined && UUID.test(text)) return text
  const list = routes.get('jobList')
  const rows =
    list === undefined ? [] : (listOf((await call(connection, list, { query: { page_size: 200 } })).value)?.rows ?? [])
  const found = rows.find((row) => isRecord(row) && (text === undefined || row.resource_name === text))
  const id = isRecord(found) ? textOf(found.id) : undefined
  if (id !== undefined) return id
  const of = text === undefined ? '' : ` of "${text}" among the newest 200`
  throw new NameError(`there is no job${of}; groundplane job list shows them`, EXIT.not_found)
}
