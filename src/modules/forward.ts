// Makes handlers of table rows: one call to the compute platform with renamed arguments and answer. A row has no branch;
// the day it needs one it becomes a function.
import type { Area, Handlers, Input, Result, RouteSpec, Routes } from '#src/contract/route.ts'
import { type Args, encodeArgs } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { isRaw, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { type Evidence, isProof, type Proof, readBack } from '#src/drivers/cloudstack/proof.ts'
import type { Admission, Jobs } from '#src/jobs/admit.ts'
import { acceptedJob, completedJob } from '#src/jobs/answer.ts'
import type { JobRow } from '#src/jobs/ledger.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'
import { type CallInput, computeCall } from './compute/call.job.ts'

export interface ForwardDeps extends ChangeDeps {
  cloudstack: CloudStack
  jobs: Jobs
}

/** What a change is about: for its event, its job, and the answer. */
export interface Subject {
  resource_id: string | null
  resource_name?: string
  tenant_id?: string | null
  /** One sentence while it happens. */
  description: string
  /** One sentence when it has happened. */
  done?: string
}

interface Common<R extends RouteSpec> {
  command: string
  args(input: Input<R>, ctx: RequestContext): Args
  /** Longer than the configuration says, for commands that are known to take minutes. */
  timeout_ms?: number
}

export interface ReadRow<R extends RouteSpec> extends Common<R> {
  mode: 'read'
  reply(answer: Raw, input: Input<R>, ctx: RequestContext): Result<R> | Promise<Result<R>>
}

interface ChangeRow<R extends RouteSpec> extends Common<R> {
  /** Finds what the change is about; throws when the caller may not touch it or its state does not allow it. */
  about(input: Input<R>, ctx: RequestContext): Subject | Promise<Subject>
}

export interface SyncRow<R extends RouteSpec> extends ChangeRow<R> {
  mode: 'sync'
  /** As in a job; several where the call changes several things. */
  proof(input: Input<R>, ctx: RequestContext): Evidence | readonly Proof[]
  reply(answer: Raw, input: Input<R>, ctx: RequestContext): Result<R> | Promise<Result<R>>
}

export interface JobRowSpec<R extends RouteSpec> extends ChangeRow<R> {
  /** `create`: the platform makes the thing before it queues the job. */
  mode: 'job' | 'create'
  /** For work that copies: polled less often. */
  slow?: boolean
  /** What the change must leave behind, read back before it counts as done; or why the platform shows no trace of it. */
  proof(input: Input<R>, ctx: RequestContext): Evidence
  /** Nothing is sent when the proof holds already. */
  skip_if_so?: boolean
  /**
   * The resource for `Prefer: wait`. `result` is that of the platform's job, undefined when nothing had to be sent.
   * Left out, or answering undefined: the accepted form, with its final status.
   */
  reply?(
    result: Raw | undefined,
    input: Input<R>,
    ctx: RequestContext,
    row: JobRow,
  ): Result<R> | undefined | Promise<Result<R> | undefined>
}

export type Row<R extends RouteSpec> = ReadRow<R> | SyncRow<R> | JobRowSpec<R>

/** Handlers for the rows given; the compiler says which operations of the area are still missing. */
export function forward<A extends Routes, K extends keyof A>(
  area: Area<A>,
  deps: ForwardDeps,
  rows: { [Op in K]: Row<A[Op]> },
): Pick<Handlers<A, RequestContext>, K> {
  const handlers: Partial<Record<K, unknown>> = {}
  for (const operation in rows) {
    const route = area.routes[operation]
    if (route === undefined) throw new Error(`the area ${area.name} has no operation ${operation}`)
    handlers[operation] = handlerOf(route, rows[operation], deps)
  }
  // Each entry was made from the row of the same operation, which carries the route's own types.
  return handlers as Pick<Handlers<A, RequestContext>, K>
}

function handlerOf<R extends RouteSpec>(route: R, row: Row<R>, deps: ForwardDeps) {
  return (input: Input<R>, ctx: RequestContext): Promise<unknown> => {
    switch (row.mode) {
      case 'read':
        return read(row, deps, input, ctx)
      case 'sync':
        return sync(route, row, deps, input, ctx)
      default:
        return job(route, row, deps)(input, ctx)
    }
  }
}

async function read<R extends RouteSpec>(
  row: ReadRow<R>,
  deps: ForwardDeps,
  input: Input<R>,
  ctx: RequestContext,
): Promise<Result<R>> {
  const { signal, traceparent } = ctx
  const answer = await deps.cloudstack.call(row.command, row.args(input, ctx), {
    signal,
    traceparent,
    timeout_ms: row.timeout_ms,
  })
  return row.reply(answer, input, ctx)
}

async function sync<R extends RouteSpec>(
  route: R,
  row: SyncRow<R>,
  deps: ForwardDeps,
  input: Input<R>,
  ctx: RequestContext,
): Promise<Result<R>> {
  const subject = await row.about(input, ctx)
  const about = {
    resource_type: resourceType(route),
    resource_uuid: subject.resource_id ?? '',
    description: subject.description,
    tenant_id: subject.tenant_id ?? null,
  }
  return recordChange(deps, ctx, about, async (note) => {
    // The caller leaving does not stop a change half-way.
    const answer = await deps.cloudstack.call(row.command, row.args(input, ctx), {
      traceparent: ctx.traceparent,
      timeout_ms: row.timeout_ms,
    })
    for (const evidence of [row.proof(input, ctx)].flat()) {
      if (!isProof(evidence)) continue
      await readBack(deps.cloudstack, evidence, { made_id: madeIn(answer), patience_ms: SYNC_PATIENCE_MS })
    }
    if (subject.done !== undefined) note.description = subject.done
    const result = await row.reply(answer, input, ctx)
    if (subject.resource_id === null) note.resource_uuid = madeId(result)
    return result
  })
}

/** The caller waits. */
const SYNC_PATIENCE_MS = 10_000

/** Answers are wrapped: `{ diskoffering: { id } }`. */
function madeIn(answer: Raw): string | null {
  const made = Object.values(answer).find(isRaw)
  return made === undefined ? null : textOf(made, 'id')
}

function job<R extends RouteSpec>(route: R, row: JobRowSpec<R>, deps: ForwardDeps) {
  return handOver(
    deps,
    async (input: Input<R>, ctx: RequestContext) => ({
      subject: await row.about(input, ctx),
      command: row.command,
      args: row.args(input, ctx),
      creates: row.mode === 'create',
      slow: row.slow ?? false,
      resource_type: resourceType(route),
      proof: row.proof(input, ctx),
      skip_if_so: row.skip_if_so ?? false,
    }),
    row.reply,
  )
}

/** One call that the platform runs as a job. */
export interface Handover extends Pick<CallInput, 'command' | 'resource_type' | 'settings_of'> {
  subject: Subject
  args: Args
  /** As in a row. */
  proof: Evidence
  creates?: boolean
  slow?: boolean
  skip_if_so?: boolean
}

/** A handler for a command that depends on the input: the job makes the call, and the answer is as in a row. */
export function handOver<In, T = never>(
  deps: ForwardDeps,
  plan: (input: In, ctx: RequestContext) => Promise<Handover>,
  reply?: (
    result: Raw | undefined,
    input: In,
    ctx: RequestContext,
    row: JobRow,
  ) => T | undefined | Promise<T | undefined>,
) {
  return acceptedJob<In, T>(deps.jobs, {
    answers: 'submitted',
    admit: async (input, ctx) => admitCall(deps, ctx, await plan(input, ctx)),
    ...(reply && {
      completed: (row, input, ctx) => reply(deps.jobs.result(computeCall, row) ?? undefined, input, ctx, row),
    }),
  })
}

/** As `handOver`, for operations that answer with the outcome itself. */
export function handOverToEnd<In, T>(
  deps: ForwardDeps,
  plan: (input: In, ctx: RequestContext) => Promise<Handover>,
  reply: (row: JobRow) => T | Promise<T>,
) {
  return completedJob<In, T>(deps.jobs, {
    admit: async (input, ctx) => admitCall(deps, ctx, await plan(input, ctx)),
    completed: reply,
  })
}

function admitCall({ jobs }: ForwardDeps, ctx: RequestContext, { subject, ...handover }: Handover): Promise<JobRow> {
  const { args, proof, creates = false, slow = false, ...rest } = handover
  const done = subject.done ?? subject.description
  const input = { ...rest, args: encodeArgs(args), ...(isProof(proof) ? { proof } : {}), creates, slow, done }
  return jobs.admit({ ...computeCall, resource_type: handover.resource_type }, admissionOf(input, subject, ctx))
}

function admissionOf<Body>(input: Body, subject: Subject, ctx: RequestContext): Admission<Body> {
  return {
    id: ctx.operation_id,
    input,
    caller: ctx.caller,
    action: ctx.operation,
    description: subject.description,
    tenant_id: subject.tenant_id ?? ctx.caller.tenant_id,
    ...(subject.resource_id === null ? {} : { resource_id: subject.resource_id }),
    ...(subject.resource_name === undefined ? {} : { resource_name: subject.resource_name }),
  }
}

/** What a call has made says its own id. */
function madeId(result: unknown): string {
  const made = typeof result === 'object' && result !== null && 'id' in result ? result.id : undefined
  return typeof made === 'string' ? made : ''
}

function resourceType(route: RouteSpec): string {
  if (route.event === undefined) throw new Error(`${route.path} changes something but declares no event`)
  return route.event.resource_type
}
