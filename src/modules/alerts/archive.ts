// Archives alerts. The platform never shows an archived alert again, so everything is copied first, and then archived by
// the ids of the copies alone: an alert that arrives in between stays open.
import type { Alert, alerts } from '#src/contract/alerts.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findEach } from '#src/drivers/cloudstack/find-one.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { lostAnswerOf } from '#src/kernel/lost-answers.ts'
import { copyAlerts, markArchived, waitingCopies } from '#src/store/alert-copies.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'
import { ALERT_ITEM } from './alert-list.ts'

type Body = Input<typeof alerts.routes.alertArchive>['body']
type Deps = ChangeDeps & { cloudstack: CloudStack }

/** Few enough for one request of the platform. */
const BATCH = 100

export function alertArchive(deps: Deps) {
  return async ({ body }: { body: Body }, ctx: RequestContext) => {
    requireChoice(body)
    const known = body.ids === undefined ? undefined : await knownAlerts(deps.cloudstack, body.ids, ctx)
    const about = {
      resource_type: 'ALERT',
      resource_uuid: body.ids?.length === 1 ? (body.ids[0] ?? '') : '',
      description: 'Archiving alerts.',
    }
    return recordChange(deps, ctx, about, async (note) => {
      await copyChosen(deps, body, known, ctx)
      const archived_count = await archiveCopies(deps, ctx)
      const message = archived_count === 1 ? '1 alert is archived.' : `${archived_count} alerts are archived.`
      note.description = message
      return { message, archived_count }
    })
  }
}

function requireChoice({ ids, type, start_date, end_date }: Body): void {
  if (ids === undefined && type === undefined && end_date === undefined) {
    if (start_date !== undefined) throw invalidField('body.end_date', 'is required with start_date')
    throw invalidField('body', 'ids, type, start_date with end_date, or end_date is required')
  }
  if (start_date !== undefined && end_date === undefined)
    throw invalidField('body.end_date', 'is required with start_date')
  if (start_date !== undefined && end_date !== undefined && Date.parse(start_date) > Date.parse(end_date)) {
    throw invalidField('body.start_date', 'is after end_date')
  }
}

/** Every id must be an open alert before any is touched. */
async function knownAlerts(cloudstack: CloudStack, ids: readonly string[], ctx: RequestContext): Promise<Alert[]> {
  const rows = await findEach(cloudstack, 'listAlerts', ALERT_ITEM.key, ids, {}, ctx)
  return rows.map((row, index) => {
    if (row === undefined) throw new ApiError('ALERT_NOT_FOUND', `Open alert ${ids[index]} not found.`)
    return ALERT_ITEM.read(row)
  })
}

async function copyChosen(
  { cloudstack, database }: Deps,
  body: Body,
  known: readonly Alert[] | undefined,
  ctx: RequestContext,
): Promise<void> {
  const chosen = (alert: Alert): boolean => isChosen(alert, body)
  if (known !== undefined) return copyAlerts(database.db, ctx.operation_id, known.filter(chosen).map(copyOf))
  const args = { type: body.type === undefined ? undefined : String(body.type) }
  for await (const rows of cloudstack.listPages('listAlerts', args, ALERT_ITEM.key, { traceparent: ctx.traceparent })) {
    await copyAlerts(database.db, ctx.operation_id, rows.map(ALERT_ITEM.read).filter(chosen).map(copyOf))
  }
}

function isChosen(alert: Alert, { type, start_date, end_date }: Body): boolean {
  if (type !== undefined && alert.type !== type) return false
  if (end_date === undefined) return true
  // Without a time of its own an alert is in no window.
  if (alert.sent_at === null) return false
  const sent_ms = Date.parse(alert.sent_at)
  return sent_ms <= Date.parse(end_date) && (start_date === undefined || sent_ms >= Date.parse(start_date))
}

function copyOf({ id, type, name, description, sent_at }: Alert) {
  return { id, type, name, description, sent_at }
}

async function archiveCopies({ cloudstack, database }: Deps, ctx: RequestContext): Promise<number> {
  let archived = 0
  for (;;) {
    const ids = await waitingCopies(database.db, ctx.operation_id, BATCH)
    if (ids.length === 0) return archived
    const { traceparent } = ctx
    // The open alerts tell whether it was done.
    const lost = await lostAnswerOf(() => cloudstack.call('archiveAlerts', { ids }, { traceparent }))
    await requireArchived(cloudstack, ids, ctx).catch((error: unknown) => {
      throw lost ?? error
    })
    await markArchived(database.db, ids, ctx.caller.username)
    archived += ids.length
  }
}

const ASK_AGAIN_MS = 1000

/** The platform never lists an archived alert. All that are open are looked through at once: a question for each takes long. */
async function requireArchived(cloudstack: CloudStack, ids: readonly string[], ctx: RequestContext): Promise<void> {
  const listed = async (): Promise<number> => {
    let open = 0
    for await (const rows of cloudstack.listPages('listAlerts', {}, ALERT_ITEM.key, { traceparent: ctx.traceparent }))
      open += rows.map(ALERT_ITEM.read).filter(({ id }) => ids.includes(id)).length
    return open
  }
  if ((await listed()) === 0) return
  await cloudstack.pause(ASK_AGAIN_MS)
  const open = await listed()
  if (open === 0) return
  const seen = open === 1 ? '1 alert is open still' : `${open} alerts are open still`
  throw new ApiError('CHANGE_NOT_SEEN', `The compute platform reports success, but ${seen}.`)
}
