// Makes one command of one route, and runs it.
import type { Command } from 'commander'
import { type Area, type RouteSpec, routeEffect } from '#src/contract/route.ts'
import { askAllNodes, openNode } from './all-nodes.ts'
import { type Answer, call, callAllPages, type CallOptions } from './call.ts'
import { knownColumns } from './columns.ts'
import { commandName } from './command-names.ts'
import { ACKNOWLEDGE, acknowledgement, confirmDecommission, DECOMMISSION } from './decommission-confirm.ts'
import { chooseTarget, connect, type Connection } from './connection.ts'
import { followEvents } from './event-stream.ts'
import { ConnectionError, failureLines } from './failures.ts'
import { type Field, fieldsOf, flagOf, optionWords } from './fields.ts'
import { collectInput, type Given, type RouteInput } from './input.ts'
import { resultSchema, showResult } from './job-result.ts'
import { resolveNames, type RouteTable } from './names.ts'
import { printAnswer } from './output.ts'
import { isRecord, textOf } from './records.ts'
import {
  addFieldOptions, addGeneralOptions, type CommonOptions, commonOptions, givenFields,
} from './route-options.ts' // biome-ignore format: one list
import { createEventLines } from './stream-output.ts'
import { note, printLine, type Terminal } from './terminal.ts'
import { download, followSocket, showRedirect, upload } from './transfer.ts'
import { watched } from './watch.ts'

export interface Program {
  terminal: Terminal
  version: string
  areas: readonly Area[]
  routes: RouteTable
}

/** An error with the lines that describe it, because only here it is known which option sets which field. */
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
  const fields = inputsOf(operation, route, area)
  const { command: name, alias } = commandName(operation, area)
  const hidden = route.hidden === true || route.access === 'cluster' || route.access === 'callback'
  const command = group.command(name, { hidden }).summary(route.summary)
  if (alias !== undefined) command.alias(alias)
  // What is near to a wrong word may be the one that destroys.
  command.showSuggestionAfterError(routeEffect(route) === 'read')
  command.description(
    [`${route.summary}.`, optionWords(route.description ?? '', fields), rights(route)]
      .filter((text) => text !== '')
      .join('\n\n'),
  )
  const keys = addFieldOptions(command, fields)
  addGeneralOptions(command, route)
  const words = fields.filter((field) => field.positional).map(flagOf)
  command.usage([...words, '[options]'].join(' '))
  command.action(async () => {
    const options = command.optsWithGlobals()
    try {
      const common = commonOptions(options)
      const given = acknowledged(operation, givenFields(fields, keys, command.args, command.opts()))
      const input = await collectInput(route, fields, given, common.body, program.terminal)
      await runRoute(operation, route, fields, input, common, program)
    } catch (error) {
      throw new CommandFailure(
        failureLines(error, (path) => flagAt(path, fields)),
        error,
      )
    }
  })
}

/** A decommission is acknowledged by what is typed, unless it is given. */
function inputsOf(operation: string, route: RouteSpec, area: Area): Field[] {
  const fields = fieldsOf(operation, route, area)
  if (operation !== DECOMMISSION) return fields
  return fields.map((field) => (field.name === ACKNOWLEDGE ? { ...field, required: false } : field))
}

function acknowledged(operation: string, given: Given): Given {
  if (operation !== DECOMMISSION) return given
  const entries = [...given].map(([field, texts]) => {
    const bare = field.name === ACKNOWLEDGE && typeof texts !== 'boolean'
    return [field, bare ? texts.map(acknowledgement) : texts] as const
  })
  return new Map(entries)
}

async function runRoute(
  operation: string,
  route: RouteSpec,
  fields: readonly Field[],
  input: RouteInput,
  options: CommonOptions,
  program: Program,
): Promise<void> {
  const { terminal } = program
  const connection = await connectAs(options, program)
  const fleet = program.routes.get('fleetHealthRead')
  // The service itself knows the health of all nodes, also of those that cannot be asked.
  if (operation === 'nodeHealthRead' && fleet !== undefined && openNode(fields, input) !== undefined)
    return runJson({ connection, route: fleet, fields: [], input: { ...input, params: {} }, options, program })
  await resolveNames(input, fields, { connection, routes: program.routes })
  if (operation === DECOMMISSION)
    await confirmDecommission(input, { connection, routes: program.routes }, { terminal, shows: !options.json })
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
      return runJson({ connection, route, fields, input, options, program })
  }
}

export async function connectAs(options: CommonOptions, program: Program): Promise<Connection> {
  const { terminal, version } = program
  return connect(await chooseTarget(options, terminal.env), version, terminal.interrupted)
}

interface JsonRun {
  connection: Connection
  route: RouteSpec
  fields: readonly Field[]
  input: RouteInput
  options: CommonOptions
  program: Program
}

async function runJson(run: JsonRun): Promise<void> {
  const { options, program, fields, input } = run
  const node = openNode(fields, input)
  const schema = resultSchema(run.route, options.wait_ms, program.routes)
  const lead = node === undefined ? undefined : 'node'
  // Before anything is changed: a command must not fail for its columns when it has done its work.
  const shown = { ...options, lead, columns: knownColumns(options.columns, schema, lead) }
  const once = (terminal: Terminal): Promise<void> => {
    const here = { ...run, options: shown, program: { ...program, terminal } }
    return node === undefined ? runOnce(here) : runOnAllNodes(here, node)
  }
  if (options.watch_ms === undefined) await once(program.terminal)
  else await watched(program.terminal, options.watch_ms, once)
}

async function runOnAllNodes(run: JsonRun, node: Field): Promise<void> {
  const { connection, route, input, options, program } = run
  const all = await askAllNodes(connection, route, node, input, callOptions(options), program.routes)
  if (all === undefined) return runOnce(run)
  await printAnswer(program.terminal, all.answer, { items: { title: all.title } }, options)
  if (all.silent.length === 0) return
  const text = [`${all.silent.length} of ${all.asked} nodes did not answer:`, ...all.silent].join('\n')
  throw new ConnectionError(text, 'lost', undefined)
}

function callOptions(options: CommonOptions): CallOptions {
  return {
    timeout_ms: options.timeout_ms,
    idempotency_key: options.idempotency_key,
    ...(options.dry_run ? { dry_run: true } : {}),
  }
}

async function runOnce({ connection, route, input, options, program }: JsonRun): Promise<void> {
  const perform = options.all ? callAllPages : call
  const answer = await perform(connection, route, input, callOptions(options))
  const job_id = runningJob(route, answer)
  if (job_id === undefined) return printAnswer(program.terminal, answer, route.ok[answer.status], options)
  if (options.wait_ms !== undefined) return showResult(connection, job_id, options, program, { input })
  await printAnswer(program.terminal, answer, route.ok[answer.status], options)
  if (!options.quiet && !options.json)
    note(program.terminal, `follow it: groundplane job follow ${job_id}; or use --wait`)
}

/** The job that goes on after this answer. */
function runningJob(route: RouteSpec, { value }: Answer): string | undefined {
  if (!isRecord(value)) return undefined
  // The jobs of nodes are answered as records of their own.
  if (value.job_status === 'running' && routeEffect(route) === 'change') return textOf(value.job_id) ?? textOf(value.id)
  return ['IN_PROGRESS', 'running'].includes(String(value.status)) ? textOf(value.job_id) : undefined
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
  const lineOf = createEventLines(options)
  for await (const event of events) {
    const line = lineOf(event)
    if (line !== undefined) printLine(terminal, line)
  }
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
