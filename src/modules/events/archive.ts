// POST /events/archive: ours and the platform's, by ids, type or time; without any of them, by the configured age.
import { platformTime } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findEach } from '#src/drivers/cloudstack/find-one.ts'
import { type ListOptions, WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { type Postcondition, verify } from '#src/drivers/cloudstack/postcondition.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { archiveAppEvents } from '#src/store/app-event-list.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'
import type { Db } from '#src/store/database.ts'
import { eventScopeOf } from '#src/store/event-scope.ts'
import { timesOf } from './platform-events.ts'

export interface ArchiveDeps extends ChangeDeps {
  cloudstack: CloudStack
  archive_after_days: number
}

interface ArchiveRequest {
  ids?: string[]
  type?: string
  start_date?: string
  end_date?: string
}

interface ArchiveResult {
  archived: number
  platform_archived: boolean | null
  message: string
}

const DAY_MS = 86_400_000
/** The caller waits. */
const QUICKLY_MS = 10_000
const SAMPLE = 10

export function archiveEvents(deps: ArchiveDeps, ctx: RequestContext, request: ArchiveRequest): Promise<ArchiveResult> {
  const { from, to: named } = timesOf(request)
  if (from !== undefined && named === undefined) throw invalidField('body.end_date', 'is required with start_date')
  const unlimited = request.ids === undefined && request.type === undefined && named === undefined
  const to = unlimited ? new Date(Date.now() - deps.archive_after_days * DAY_MS) : named
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

/** The platform wants ids, a type or an end. Ids are filtered here: it refuses all of them when one does not fit. */
async function archiveOnPlatform(
  { cloudstack, database }: ArchiveDeps,
  ctx: RequestContext,
  { ids, type }: ArchiveRequest,
  from: Date | undefined,
  to: Date | undefined,
): Promise<boolean | null> {
  if (!cloudstack.configured) return null
  if (ids === undefined) {
    const args = { type, startdate: from && platformTime(from), enddate: to && platformTime(to) }
    await cloudstack.call('archiveEvents', args, ctx)
    return true
  }
  const fitting = await fittingIds(database.db, { ids, type, from, to })
  if (fitting.length === 0) return null
  try {
    await cloudstack.call('archiveEvents', { ids: fitting }, ctx)
  } catch (error) {
    // Said of ids that are archived already, too.
    if (!(error instanceof CloudStackError) || error.status !== 530) throw error
    const open = await openIds(cloudstack, fitting, ctx)
    if (open.length > 0) await cloudstack.call('archiveEvents', { ids: open }, ctx)
  }
  // One call archives all of them or none, so a few tell.
  const postconditions = fitting
    .slice(0, SAMPLE)
    .map((id): Postcondition => ({ thing: 'event', args: { id }, expect: {}, gone: true }))
  await Promise.all(
    postconditions.map((postcondition) =>
      verify(cloudstack, postcondition, { signal: ctx.signal, patience_ms: QUICKLY_MS }),
    ),
  )
  return true
}

interface Filter {
  ids: readonly string[]
  type: string | undefined
  from: Date | undefined
  to: Date | undefined
}

/** Those of the ids that are the platform's and that type and time do not exclude. */
async function fittingIds(db: Db, { ids, type, from, to }: Filter): Promise<string[]> {
  let query = db.selectFrom('platform_event').select('id').where('id', 'in', ids)
  if (type !== undefined) query = query.where('type', '=', type)
  if (from !== undefined) query = query.where('created_at', '>=', from)
  if (to !== undefined) query = query.where('created_at', '<=', to)
  return (await query.execute()).map((row) => row.id)
}

async function openIds(cloudstack: CloudStack, ids: readonly string[], options: ListOptions): Promise<string[]> {
  const rows = await findEach(cloudstack, 'listEvents', 'event', ids, WHOLE_SCOPE, options)
  return ids.filter((_id, index) => rows[index] !== undefined)
}
