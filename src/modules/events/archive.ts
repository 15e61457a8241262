// POST /events/archive: ours and the platform's, by ids, type or time; without any of them, by the configured age.
import { type Proof, readBack } from '#src/drivers/cloudstack/proof.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { archiveAppEvents, timeOf } from '#src/store/app-event-list.ts'
import { recordChange } from '#src/store/app-events.ts'
import { eventScopeOf } from '#src/store/event-scope.ts'
import type { EventsDeps } from './index.ts'

export interface ArchiveRequest {
  ids?: string[]
  type?: string
  start_date?: string
  end_date?: string
}

export interface ArchiveResult {
  archived: number
  platform_archived: boolean | null
  message: string
}

const DAY_MS = 86_400_000
/** The caller waits. */
const QUICKLY_MS = 10_000
const SAMPLE = 10

export function archiveEvents(deps: EventsDeps, ctx: RequestContext, request: ArchiveRequest): Promise<ArchiveResult> {
  const from = timeOf(request.start_date, 'start_date')
  let to = timeOf(request.end_date, 'end_date')
  if (from !== undefined && to === undefined) throw invalidField('body.end_date', 'is required with start_date')
  const unlimited = request.ids === undefined && request.type === undefined && to === undefined
  if (unlimited) to = new Date(Date.now() - deps.archive_after_days * DAY_MS)
  return recordChange(deps, ctx, { resource_type: 'EVENT', description: 'Archive old events' }, async (note) => {
    const filter = {
      ...(request.ids === undefined ? {} : { ids: request.ids }),
      ...(request.type === undefined ? {} : { action: request.type }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    }
    const archived = await archiveAppEvents(deps.database.db, filter, eventScopeOf(ctx.caller))
    const platform_archived = await archiveOnPlatform(deps, ctx, request, from, to)
    const message = `${archived} application events archived.`
    note.description = message
    return { archived, platform_archived, message }
  })
}

/** The platform wants ids, a type or an end; ids that are not its own fail as a whole, so ours are taken out first. */
async function archiveOnPlatform(
  { cloudstack, database }: EventsDeps,
  ctx: RequestContext,
  request: ArchiveRequest,
  from: Date | undefined,
  to: Date | undefined,
): Promise<boolean | null> {
  if (!cloudstack.configured) return null
  let ids = request.ids
  if (ids !== undefined) {
    const known = await database.db.selectFrom('platform_event').select('id').where('id', 'in', ids).execute()
    ids = known.map((row) => row.id)
    if (ids.length === 0) return null
  }
  const args = { ids, type: request.type, startdate: from?.toISOString(), enddate: to?.toISOString() }
  await cloudstack.call('archiveEvents', args, { signal: ctx.signal, traceparent: ctx.traceparent })
  // One call archives all of them or none, so a few tell. What was chosen by type or time has no ids to look for.
  for (const id of ids?.slice(0, SAMPLE) ?? []) {
    const proof: Proof = { thing: 'event', args: { id }, expect: {}, gone: true }
    await readBack(cloudstack, proof, { signal: ctx.signal, patience_ms: QUICKLY_MS })
  }
  return true
}
