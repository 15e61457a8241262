// Makes one command of one route, and runs it.
import type { Command } from 'commander'
import type { Area, RouteSpec } from '#src/contract/route.ts'
import { type Answer, call, callAllPages, type CallOptions } from './call.ts'
import { commandName } from './command-names.ts'
import { chooseTarget, connect, type Connection } from './connection.ts'
import { followEvents } from './event-stream.ts'
import { failureLines } from './failures.ts'
import { type Field, fieldsOf, flagOf } from './fields.ts'
import { collectInput, type RouteInput } from './input.ts'
import { waitForJob } from './job-follower.ts'
import { NAME_ROWS } from './name-rows.ts'
import { givenIn } from './name-search.ts'
import { resolveNames, type RouteTable } from './names.ts'
import { printAnswer } from './output.ts'
import { createProgress } from './progress.ts'
import { isRecord, textOf } from './records.ts'
import {
  addFieldOptions, addGeneralOptions, type CommonOptions, commonOptions, givenFields,
} from './route-options.ts' // biome-ignore format: one list
import { shapeOf } from './schema-shape.ts'
import { eventLine } from './stream-output.ts'
import { note, printLine, type Terminal } from './terminal.ts'
import { download, followSocket, showRedirect, upload } from './transfer.ts'

export interface Program {
  terminal: Terminal
  version: string
  areas: readonly Area[]
  routes: RouteTable
}

/** An error with the lines that tell it, because only here it is known which option sets which field. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly lines: readonly string[]
  constructor(lines: readonly string[], cause: unknown) {
    super(lines[0] ?? '', { cause })
    this.lines = lines
  }
}

export function addRouteCommand(
  group: Command,
  operation: string,
  route: RouteSpec,
  area: Area,
  program: Program,
): void {
  const fields = fieldsOf(operation, route, area)
  const { command: name, alias } = commandName(operation, area)
  const hidden = route.hidden === true || route.access === 'cluster' || route.access === 'callback'
  const command = group.command(name, { hidden }).summary(route.summary)
  if (alias !== undefined) command.alias(alias)
  command.description(
    [`${route.summary}.`, route.description ?? '', rights(route)].filter((text) => text !== '').join('\n\n'),
  )
  const keys = addFieldOptions(command, fields)
  addGeneralOptions(command, route)
  const words = fields.filter((field) => field.positional).map(flagOf)
  command.usage([...words, '[options]'].join(' '))
  command.action(async () => {
    const options = command.optsWithGlobals()
    try {
      const common = commonOptions(options)
      const given = givenFields(fields, keys, command.args, command.opts())
      const input = await collectInput(route, fields, given, common.body, program.terminal)
      await runRoute(route, fields, input, common, program)
    } catch (error) {
      throw new CommandFailure(
        failureLines(error, (path) => flagAt(path, fields)),
        error,
      )
    }
  })
}

async function runRoute(
  route: RouteSpec,
  fields: readonly Field[],
  input: RouteInput,
  options: CommonOptions,
  program: Program,
): Promise<void> {
  const { terminal } = program
  const connection = await connectAs(options, program)
  await resolveNames(input, fields, { connection, routes: program.routes })
  switch (route.kind) {
    case 'sse':
      return followStream(connection, route, input, options, terminal)
    case 'ws':
      return followSocket(connection, route, input, options.output, terminal)
    case 'bytes':
    case 'proxy':
      return download(connection, route, input, options.output, terminal)
    case 'redirect':
      return showRedirect(connection, route, input, terminal)
    case 'multipart':
      return printAnswer(terminal, await upload(connection, route, input, fields, options), undefined, options)
    case 'json':
    case undefined:
      return runJson(connection, route, input, options, program)
  }
}

async function connectAs(options: CommonOptions, program: Program): Promise<Connection> {
  const { terminal, version } = program
  return connect(await chooseTarget(options, terminal.env), version, terminal.interrupted)
}

async function runJson(
  connection: Connection,
  route: RouteSpec,
  input: RouteInput,
  options: CommonOptions,
  program: Program,
): Promise<void> {
  const call_options: CallOptions = {
    timeout_ms: options.timeout_ms,
    idempotency_key: options.idempotency_key,
    ...(options.dry_run ? { dry_run: true } : {}),
  }
  const perform = options.all ? callAllPages : call
  const answer = await perform(connection, route, input, call_options)
  const job_id = runningJob(answer)
  if (job_id === undefined) return printAnswer(program.terminal, answer, route.ok[answer.status], options)
  if (options.wait_ms !== undefined) return showResult(connection, job_id, options, program)
  await printAnswer(program.terminal, answer, route.ok[answer.status], options)
  if (!options.quiet && !options.json) note(program.terminal, `follow it: groundplane job get ${job_id}; or use --wait`)
}

/** The job that goes on after this answer. */
function runningJob({ value }: Answer): string | undefined {
  if (!isRecord(value) || !['IN_PROGRESS', 'running'].includes(String(value.status))) return undefined
  return textOf(value.job_id)
}

async function showResult(
  connection: Connection,
  job_id: string,
  options: CommonOptions,
  program: Program,
): Promise<void> {
  const { terminal, routes } = program
  const job = await waitForJob(connection, routes, {
    job_id,
    timeout_ms: options.wait_ms ?? undefined,
    progress: createProgress(terminal, options.quiet),
    interrupted: terminal.interrupted,
  })
  const resource = await readResource(connection, textOf(job.resource_type), textOf(job.resource_id), routes)
  if (!options.quiet) note(terminal, textOf(job.status) ?? 'done')
  if (resource !== undefined) return printAnswer(terminal, resource.answer, resource.schema, options)
  if (!options.json) {
    const { log: _log, steps: _steps, planned_steps: _planned, metadata: _metadata, ...brief } = job
    return printAnswer(terminal, { text: '', value: brief }, undefined, options)
  }
  await printAnswer(terminal, { text: JSON.stringify(job), value: job }, undefined, options)
}

interface Resource {
  answer: Answer
  schema: unknown
}

/** The thing a job was about; undefined when nothing reads it, or it is gone because the job removed it. */
async function readResource(
  connection: Connection,
  resource_type: string | undefined,
  id: string | undefined,
  routes: RouteTable,
): Promise<Resource | undefined> {
  const read = NAME_ROWS.find((row) => row.read?.resource_type === resource_type)?.read
  const route = read === undefined ? undefined : routes.get(read.operation)
  if (route === undefined || id === undefined) return undefined
  const field = shapeOf(route.params ?? route.body).required[0] ?? 'id'
  try {
    const answer = await call(connection, route, givenIn(route, field, id))
    return { answer, schema: route.ok[answer.status] }
  } catch {
    return undefined
  }
}

async function followStream(
  connection: Connection,
  route: RouteSpec,
  input: RouteInput,
  options: CommonOptions,
  terminal: Terminal,
): Promise<void> {
  const events = followEvents(connection, route, input, {
    signal: terminal.interrupted,
    ...(options.quiet ? {} : { onReconnect: (text) => note(terminal, text) }),
  })
  for await (const event of events) printLine(terminal, eventLine(event, options))
  terminal.interrupted.throwIfAborted()
}

function flagAt(path: string, fields: readonly Field[]): string | undefined {
  const [place, name] = path.split(/[.[]/)
  const where = place === 'path' ? 'params' : place
  const field = fields.find(
    (one) => (one.name === name || one.also.includes(name ?? '')) && one.places.some((its) => its === where),
  )
  return field === undefined ? undefined : flagOf(field)
}

function rights(route: RouteSpec): string {
  if (route.access === 'public') return 'Needs no credential.'
  if (route.access === 'cluster') return 'Only nodes of the cluster may call it.'
  if (route.access === 'callback') return 'Called by machines that carry a credential of their own.'
  return `Needs the role ${route.access}.`
}
