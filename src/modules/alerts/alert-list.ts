// Reads alerts: open ones from the platform, archived ones from our copies.
import type { Alert, alerts } from '#src/contract/alerts.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type AlertCopyRow, archivedAlert, archivedAlerts } from '#src/store/alert-copies.ts'
import type { Database } from '#src/store/database.ts'

type In<Op extends keyof typeof alerts.routes> = Input<(typeof alerts.routes)[Op]>

interface AlertReading {
  cloudstack: CloudStack
  database: Database
}

export const ALERT_ITEM = { key: 'alert', read: alertOf }

export function alertList({ cloudstack, database }: AlertReading) {
  return async ({ body }: In<'alertList'>, ctx: RequestContext) => {
    const { archived, page: _page, page_size: _size, ...filter } = body ?? {}
    const page = pageOf(body)
    if (archived === true) {
      const { rows, count } = await archivedAlerts(database.db, filter, page)
      return { alerts: rows.map(copyOf), count, ...page }
    }
    const args = { ...filter, type: filter.type === undefined ? undefined : String(filter.type) }
    const { rows, count } = await cloudstack.listPage('listAlerts', args, ALERT_ITEM, page, ctx)
    return { alerts: rows, count, ...page }
  }
}

export function alertGet({ cloudstack, database }: AlertReading) {
  return async ({ body }: In<'alertGet'>, ctx: RequestContext): Promise<Alert> => {
    const open = await openAlert(cloudstack, body.id, ctx)
    if (open !== undefined) return open
    const copy = await archivedAlert(database.db, body.id)
    if (copy === undefined) throw new ApiError('ALERT_NOT_FOUND', `Alert ${body.id} not found.`)
    return copyOf(copy)
  }
}

async function openAlert(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<Alert | undefined> {
  const row = await findOne(cloudstack, 'listAlerts', 'alert', { id }, ctx)
  return row === undefined ? undefined : alertOf(row)
}

export function alertIdGet({ cloudstack }: AlertReading) {
  return async ({ body }: In<'alertIdGet'>, ctx: RequestContext) => {
    const { name, keyword, type } = body
    if (name === undefined && keyword === undefined && type === undefined) {
      throw invalidField('body', 'name, keyword or type is required')
    }
    const args = { name, keyword, type: type === undefined ? undefined : String(type) }
    // Newest first.
    const { rows } = await cloudstack.listPage('listAlerts', args, ALERT_ITEM, { page: 1, page_size: 1 }, ctx)
    const [newest] = rows
    if (newest === undefined)
      throw new ApiError(
        'ALERT_NOT_FOUND',
        `No open alert matches ${[name, keyword, type].filter((one) => one !== undefined).join(', ')}.`,
      )
    return { id: newest.id, name: newest.name }
  }
}

export function alertTypeList({ cloudstack }: AlertReading) {
  return async ({ query }: In<'alertTypeList'>, ctx: RequestContext) => {
    const rows = rowsOf(await cloudstack.call('listAlertTypes', {}, ctx), 'alerttype')
    const page = pageOf(query)
    const found = await onePage(rows, page)
    const alert_types = found.rows.map((row) => ({
      type: integerOf(row, 'type') ?? integerOf(row, 'alerttypeid'),
      name: textOf(row, 'name') ?? '',
    }))
    return { alert_types, count: rows.length, ...page }
  }
}

function alertOf(row: Raw): Alert {
  return {
    id: textOf(row, 'id') ?? '',
    type: integerOf(row, 'type'),
    name: textOf(row, 'name'),
    description: textOf(row, 'description'),
    sent_at: timeOf(row, 'sent'),
    archived: false,
    archived_at: null,
  }
}

function copyOf(row: AlertCopyRow): Alert {
  const { id, type, name, description } = row
  return {
    id,
    type,
    name,
    description,
    sent_at: row.sent_at?.toISOString() ?? null,
    archived: true,
    archived_at: row.archived_at?.toISOString() ?? null,
  }
}
