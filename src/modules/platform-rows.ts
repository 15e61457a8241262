// Makes handlers of table rows: one call to the compute platform with renamed arguments and answer. A row has no branch;
// the day it needs one it becomes a function.
import type { DestructionPlan } from '#src/contract/common.ts'
import type { Area, Handlers, Input, Result, RouteSpec, Routes } from '#src/contract/route.ts'
import { type Args, encodeArgs } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { isRaw, objectOf, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { answerUnlessShown, type Listing, madeOrListed } from '#src/drivers/cloudstack/lost-call.ts'
import {
  type Verification,
  isPostcondition,
  type Postcondition,
  verify,
} from '#src/drivers/cloudstack/postcondition.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { acceptedJob, completedJob } from '#src/jobs/answer.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'
import { type CallInput, computeCall } from './compute/call.job.ts'
import { admissionOf, planOf, recordOperation, resourceType, type Subject } from './operation.ts'

export interface PlatformDeps extends ChangeDeps {
  cloudstack: CloudStack
  jobs: Jobs
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
  postcondition(input: Input<R>, ctx: RequestContext): Verification | readonly Postcondition[]
  /** Of what makes something: where it is listed, under the key that the answer has too. Found there when the answer is lost. */
  listing?(input: Input<R>): Listing
  /** Of what leaves no trace: sent again when the answer is lost, because twice does no more than once. */
  repeatable?: boolean
  reply(answer: Raw, input: Input<R>, ctx: RequestContext): Result<R> | Promise<Result<R>>
}

export interface JobRowSpec<R extends RouteSpec> extends ChangeRow<R> {
  /** `create`: the platform makes the thing before it queues the job. */
  mode: 'job' | 'create'
  /** For work that copies: polled less often. */
  slow?: boolean
  /** What the change must leave behind, read back before it counts as done; or why the platform shows no trace of it. */
  postcondition(input: Input<R>, ctx: RequestContext): Verification
  /** Nothing is sent when the postcondition holds already. */
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
export function platformRows<A extends Routes, K extends keyof A>(
  area: Area<A>,
  deps: PlatformDeps,
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

function handlerOf<R extends RouteSpec>(route: R, row: Row<R>, deps: PlatformDeps) {
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
  deps: PlatformDeps,
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
  deps: PlatformDeps,
  input: Input<R>,
  ctx: RequestContext,
): Promise<Result<R> | DestructionPlan> {
  const subject = await row.about(input, ctx)
  if (ctx.dry_run) return planOf(subject)
  return recordOperation(deps, ctx, resourceType(route), subject, async () => {
    const postconditions = [row.postcondition(input, ctx)].flat().filter(isPostcondition)
    const answer = await answerTo(row, deps, postconditions, input, ctx)
    for (const postcondition of postconditions)
      await verify(deps.cloudstack, postcondition, { made_id: madeIn(answer), patience_ms: SYNC_PATIENCE_MS })
    return row.reply(answer, input, ctx)
  })
}

/** Empty where it was lost and the platform shows the change. */
async function answerTo<R extends RouteSpec>(
  row: SyncRow<R>,
  { cloudstack }: PlatformDeps,
  postconditions: readonly Postcondition[],
  input: Input<R>,
  ctx: RequestContext,
): Promise<Raw> {
  const { traceparent } = ctx
  // The caller leaving does not stop a change half-way.
  const send = () => cloudstack.call(row.command, row.args(input, ctx), { traceparent, timeout_ms: row.timeout_ms })
  if (row.repeatable === true) return untilAnswered(undefined, send, { for_ms: SYNC_PATIENCE_MS })
  const listing = row.listing?.(input)
  if (listing === undefined) return (await answerUnlessShown(cloudstack, postconditions, send)) ?? {}
  const made = await madeOrListed(cloudstack, listing, async () => objectOf(await send(), listing.key) ?? undefined)
  return made === undefined ? {} : { [listing.key]: made }
}

/** The caller waits. */
const SYNC_PATIENCE_MS = 10_000

/** Answers are wrapped: `{ diskoffering: { id } }`. */
function madeIn(answer: Raw): string | null {
  const made = Object.values(answer).find(isRaw)
  return made === undefined ? null : textOf(made, 'id')
}

function job<R extends RouteSpec>(route: R, row: JobRowSpec<R>, deps: PlatformDeps) {
  return submitDestruction(
    deps,
    async (input: Input<R>, ctx: RequestContext) => ({
      subject: await row.about(input, ctx),
      command: row.command,
      args: row.args(input, ctx),
      creates: row.mode === 'create',
      slow: row.slow ?? false,
      resource_type: resourceType(route),
      postcondition: row.postcondition(input, ctx),
      skip_if_so: row.skip_if_so ?? false,
    }),
    row.reply,
  )
}

/** One call that the platform runs as a job. */
export interface PlatformCall extends Pick<CallInput, 'command' | 'resource_type' | 'settings_of'> {
  subject: Subject
  args: Args
  /** As in a row. */
  postcondition: Verification
  creates?: boolean
  slow?: boolean
  skip_if_so?: boolean
}

type CallReply<In, T> = (
  result: Raw | undefined,
  input: In,
  ctx: RequestContext,
  row: JobRow,
) => T | undefined | Promise<T | undefined>

/** A handler for a command that depends on the input: the job makes the call, and the answer is as in a row. */
export function submitCall<In, T = never>(
  deps: PlatformDeps,
  plan: (input: In, ctx: RequestContext) => Promise<PlatformCall>,
  reply?: CallReply<In, T>,
) {
  return acceptedJob<In, T>(deps.jobs, {
    answers: 'submitted',
    admit: async (input, ctx) => admitCall(deps, ctx, await plan(input, ctx)),
    ...(reply && {
      completed: (row, input, ctx) => reply(deps.jobs.result(computeCall, row) ?? undefined, input, ctx, row),
    }),
  })
}

/** As `submitCall`, also for what destroys: with dry_run the plan is the answer, and nothing is sent. */
export function submitDestruction<In, T = never>(
  deps: PlatformDeps,
  plan: (input: In, ctx: RequestContext) => Promise<PlatformCall>,
  reply?: CallReply<In, T>,
) {
  const submit = submitCall<In, T>(deps, plan, reply)
  return async (input: In, ctx: RequestContext) =>
    ctx.dry_run ? planOf((await plan(input, ctx)).subject) : submit(input, ctx)
}

/** As `submitCall`, for operations that answer with the outcome itself. */
export function submitCallToEnd<In, T>(
  deps: PlatformDeps,
  plan: (input: In, ctx: RequestContext) => Promise<PlatformCall>,
  reply: (row: JobRow) => T | Promise<T>,
) {
  return completedJob<In, T>(deps.jobs, {
    admit: async (input, ctx) => admitCall(deps, ctx, await plan(input, ctx)),
    completed: reply,
  })
}

function admitCall({ jobs }: PlatformDeps, ctx: RequestContext, { subject, ...call }: PlatformCall): Promise<JobRow> {
  const { args, postcondition, creates = false, slow = false, ...rest } = call
  const done = subject.done ?? subject.description
  const input = {
    ...rest,
    args: encodeArgs(args),
    ...(isPostcondition(postcondition) ? { postcondition } : {}),
    creates,
    slow,
    done,
  }
  return jobs.admit({ ...computeCall, resource_type: call.resource_type }, admissionOf(input, subject, ctx))
}
