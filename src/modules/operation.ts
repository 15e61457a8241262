// What every changing operation says of itself, whatever system carries it out: what it is about, for its event, its job and
// its answer. How a job is answered: src/jobs/answer.ts; how it changes another system once: src/jobs/submit-once.ts.
import type { DestructionPlan } from '#src/contract/common.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import type { Admission } from '#src/jobs/admit.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'

/** What a change is about: for its event, its job, and the answer. */
export interface Subject {
  resource_id: string | null
  resource_name?: string
  tenant_id?: string | null
  /** What else it touches, beside the ids that its request names: the machine of a disk. */
  related?: readonly (string | null)[]
  /** One sentence while it happens. */
  description: string
  /** One sentence when it has happened. */
  done?: string
  /** Of what destroys: what it would do, and to what else. Asked for by a dry run alone. */
  would?: () => Promise<Effect> | Effect
}

export interface Effect {
  /** One sentence. */
  message: string
  affected?: Affected[]
}

export type Affected = DestructionPlan['affected'][number]

/** The answer of a dry run, after every check. */
export async function planOf({ would }: Pick<Subject, 'would'>): Promise<DestructionPlan> {
  if (would === undefined) throw new Error('a route with dry_run has no plan')
  const { message, affected = [] } = await would()
  return { dry_run: true, message, affected }
}

/** A change that is done when its answer comes: its event starts before and ends with it. */
export function recordOperation<T>(
  deps: ChangeDeps,
  ctx: RequestContext,
  resource_type: string,
  subject: Subject,
  change: () => Promise<T>,
): Promise<T> {
  const about = {
    resource_type,
    resource_uuid: subject.resource_id ?? '',
    description: subject.description,
    tenant_id: subject.tenant_id ?? null,
    related: subject.related ?? [],
  }
  return recordChange(deps, ctx, about, async (note) => {
    const result = await change()
    if (subject.done !== undefined) note.description = subject.done
    if (subject.resource_id === null) note.resource_uuid = madeId(result)
    return result
  })
}

/** What a call has made says its own id. */
function madeId(result: unknown): string {
  const made = typeof result === 'object' && result !== null && 'id' in result ? result.id : undefined
  return typeof made === 'string' ? made : ''
}

/** A change that is a job: what is admitted under the id of the operation. */
export function admissionOf<Body>(input: Body, subject: Subject, ctx: RequestContext): Admission<Body> {
  return {
    operation: ctx,
    input,
    description: subject.description,
    tenant_id: subject.tenant_id ?? ctx.caller.tenant_id,
    related: subject.related ?? [],
    ...(subject.resource_id === null ? {} : { resource_id: subject.resource_id }),
    ...(subject.resource_name === undefined ? {} : { resource_name: subject.resource_name }),
  }
}

export function resourceType(route: RouteSpec): string {
  if (route.event === undefined) throw new Error(`${route.path} changes something but declares no event`)
  return route.event.resource_type
}
