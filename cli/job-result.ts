// What a job led to: waits for its end and shows the thing that it was about.
import { firstStatus, type RouteSpec } from '#src/contract/route.ts'
import { type Answer, call } from './call.ts'
import type { Connection } from './connection.ts'
import { waitForJob } from './job-follower.ts'
import type { JobLog } from './job-log.ts'
import { NAME_ROWS } from './name-rows.ts'
import { givenIn } from './name-search.ts'
import type { RouteTable } from './names.ts'
import { printAnswer } from './output.ts'
import { createProgress, type Progress } from './progress.ts'
import { isRecord, listOf, textOf } from './records.ts'
import type { CommonOptions } from './route-options.ts'
import { shapeOf } from './schema-shape.ts'
import { note, type Terminal } from './terminal.ts'

interface Place {
  terminal: Terminal
  routes: RouteTable
}

/** `log`: printed on the way, in place of a bar. */
export async function showResult(
  connection: Connection,
  job_id: string,
  options: CommonOptions,
  { terminal, routes }: Place,
  log?: JobLog,
): Promise<void> {
  const silent: Progress = { show: () => {}, end: () => {} }
  const job = await waitForJob(connection, routes, {
    job_id,
    timeout_ms: options.wait_ms ?? undefined,
    progress: log === undefined ? createProgress(terminal, options.quiet) : silent,
    interrupted: terminal.interrupted,
    ...(log === undefined ? {} : { log }),
  })
  const resource = await readResource(connection, textOf(job.resource_type), textOf(job.resource_id), routes)
  if (!options.quiet) note(terminal, textOf(job.status) ?? 'done')
  if (resource !== undefined) return printAnswer(terminal, resource.answer, resource.schema, options)
  if (!options.json) {
    const { log: _lines, steps: _steps, planned_steps: _planned, metadata: _metadata, ...brief } = job
    return printAnswer(terminal, { text: '', value: brief }, undefined, { ...options, columns: undefined })
  }
  await printAnswer(terminal, { text: JSON.stringify(job), value: job }, undefined, options)
}

/** What `--columns` may name: members of the thing when its end is waited for, else of the answer. */
export function resultSchema(route: RouteSpec, wait_ms: number | null | undefined, routes: RouteTable): unknown {
  if (wait_ms === undefined || route.event === undefined) return route.ok[firstStatus(route)]
  const read = readOf(route.event.resource_type, routes)
  return read?.ok[firstStatus(read)]
}

interface Resource {
  answer: Answer
  schema: unknown
}

function readOf(resource_type: string | undefined, routes: RouteTable): RouteSpec | undefined {
  const operation = NAME_ROWS.find((row) => row.read?.resource_type === resource_type)?.read?.operation
  return operation === undefined ? undefined : routes.get(operation)
}

/** The thing a job was about; undefined when nothing reads it, or it is gone because the job removed it. */
async function readResource(
  connection: Connection,
  resource_type: string | undefined,
  id: string | undefined,
  routes: RouteTable,
): Promise<Resource | undefined> {
  const route = readOf(resource_type, routes)
  if (route === undefined || id === undefined) return undefined
  const field = shapeOf(route.params ?? route.body).required[0] ?? 'id'
  try {
    const answer = await call(connection, route, givenIn(route, field, id))
    const list = listOf(answer.value)
    if (list === undefined) return { answer, schema: route.ok[answer.status] }
    // Some things can only be read from their list.
    const found = list.rows.find((row) => isRecord(row) && row.id === id)
    if (found === undefined) return undefined
    return { answer: { status: answer.status, text: JSON.stringify(found), value: found }, schema: undefined }
  } catch {
    return undefined
  }
}
