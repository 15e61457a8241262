// What a job led to: waits for its end and shows the thing that it was about.
import { firstStatus, type RouteSpec } from '#src/contract/route.ts'
import { type Answer, call, type PartialInput } from './call.ts'
import type { Connection } from './connection.ts'
import type { RouteInput } from './input.ts'
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
  { log, input }: { log?: JobLog | undefined; input?: RouteInput } = {},
): Promise<void> {
  const silent: Progress = { show: () => {}, end: () => {} }
  const job = await waitForJob(connection, routes, {
    job_id,
    timeout_ms: options.wait_ms ?? undefined,
    progress: log === undefined ? createProgress(terminal, options.quiet) : silent,
    interrupted: terminal.interrupted,
    ...(log === undefined ? {} : { log }),
  })
  const resource = await readResource(connection, textOf(job.resource_type), textOf(job.resource_id), routes, input)
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
  const [read] = readsOf(route.event.resource_type, routes)
  return read?.ok[firstStatus(read)]
}

interface Resource {
  answer: Answer
  schema: unknown
}

/** Several kinds of things may have one resource type: snapshots of machines and of volumes. */
function readsOf(resource_type: string | undefined, routes: RouteTable): RouteSpec[] {
  return NAME_ROWS.filter((row) => row.read?.resource_type === resource_type).flatMap(
    (row) => routes.get(row.read?.operation ?? '') ?? [],
  )
}

/** The thing a job was about; undefined when nothing reads it, or it is gone because the job removed it. */
async function readResource(
  connection: Connection,
  resource_type: string | undefined,
  id: string | undefined,
  routes: RouteTable,
  input: RouteInput | undefined,
): Promise<Resource | undefined> {
  if (id === undefined) return undefined
  for (const route of readsOf(resource_type, routes)) {
    try {
      const found = resourceIn(await call(connection, route, readBy(route, id, input)), route, id)
      if (found !== undefined) return found
    } catch {
      // Not of this kind, or gone.
    }
  }
  return undefined
}

/** By its id. Rules of an address or a network are listed by it alone, which the command named. */
function readBy(route: RouteSpec, id: string, input: RouteInput | undefined): PartialInput {
  const { required, members } = shapeOf(route.params ?? route.body)
  const given = isRecord(input?.body) ? input.body : {}
  const owners = OWNERS.filter((name) => members.has(name) && !members.has('id'))
  if (owners.length > 0) return { body: Object.fromEntries(owners.map((name) => [name, given[name]])) }
  return givenIn(route, required[0] ?? 'id', id)
}

const OWNERS = ['public_ip_id', 'network_id'] as const

function resourceIn(answer: Answer, route: RouteSpec, id: string): Resource | undefined {
  const list = listOf(answer.value)
  if (list === undefined) return { answer, schema: route.ok[answer.status] }
  // Some things can only be read from their list.
  const found = list.rows.find((row) => isRecord(row) && row.id === id)
  if (found === undefined) return undefined
  return { answer: { status: answer.status, text: JSON.stringify(found), value: found }, schema: undefined }
}
