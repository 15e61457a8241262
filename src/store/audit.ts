// Table audit: one line for every change that was asked for, written before the change, finished with its outcome.
import { type Selectable, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { AUDIT_COLUMNS, AuditRecord } from '#src/contract/auth/audit.ts'
import type { AuditLog } from '#src/kernel/http/access.ts'
import type { ListOrder } from '#src/kernel/sorted.ts'
import type { Db } from './database.ts'
import { listOrder } from './list-order.ts'
import type { Tables } from './tables.ts'

export function createAuditLog(db: Db): AuditLog {
  return {
    async begin(entry) {
      const { caller } = entry
      const { id } = await db
        .insertInto('audit')
        .values({
          request_id: entry.request_id,
          correlation_id: entry.correlation_id,
          operation: entry.operation,
          method: entry.method,
          // A query may carry a ticket or the code of a sign-in.
          path: entry.path.split('?', 1)[0] ?? '',
          caller_kind: caller.kind,
          caller_id: caller.id,
          username: caller.username,
          role: caller.role,
          tenant_id: caller.tenant_id,
          remote_address: entry.remote_address,
        })
        .returning('id')
        .executeTakeFirstOrThrow()
      return String(id)
    },
    async finish(id, status, code) {
      await db.updateTable('audit').set({ status, code }).where('id', '=', id).execute()
    },
  }
}

export interface AuditFilter extends ListOrder<(typeof AUDIT_COLUMNS)[number]> {
  from?: string
  to?: string
  username?: string
  operation?: string
  caller_id?: string
  status?: number
  correlation_id?: string
  resource_id?: string
}

const COLUMNS = { at: sql`at`, username: sql`lower(username)`, operation: sql`lower(operation)`, status: sql`status` }

export async function listAudit(
  db: Db,
  filter: AuditFilter,
  page: { page: number; page_size: number },
): Promise<{ records: AuditRecord[]; count: number }> {
  const matching = filtered(db.selectFrom('audit'), filter)
  const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const rows = await matching
    .selectAll()
    .orderBy(listOrder(filter, COLUMNS, sql`at desc, id desc`, sql`id`))
    .limit(page.page_size)
    .offset((page.page - 1) * page.page_size)
    .execute()
  return { records: rows.map(recordView), count }
}

function filtered<O>(query: SelectQueryBuilder<Tables, 'audit', O>, filter: AuditFilter) {
  const exact = (['username', 'operation', 'caller_id', 'correlation_id', 'status'] as const).filter(
    (name) => filter[name] !== undefined,
  )
  let out = query
  for (const name of exact) out = out.where(name, '=', filter[name] ?? null)
  const { resource_id } = filter
  if (resource_id !== undefined)
    out = out.where(
      sql<SqlBool>`correlation_id in (select correlation_id from app_event
        where resource_uuid = ${resource_id} or related @> array[${resource_id}]::text[])`,
    )
  if (filter.from !== undefined) out = out.where('at', '>=', sql<Date>`${filter.from}::timestamptz`)
  if (filter.to !== undefined)
    out = out.where('at', '<', sql<Date>`${filter.to}::timestamptz + interval '1 millisecond'`)
  return out
}

function recordView(row: Selectable<Tables['audit']>): AuditRecord {
  return {
    id: String(row.id),
    at: row.at.toISOString(),
    request_id: row.request_id,
    correlation_id: row.correlation_id,
    operation: row.operation,
    method: row.method,
    path: row.path,
    caller_kind: row.caller_kind,
    caller_id: row.caller_id,
    username: row.username,
    role: row.role,
    tenant_id: row.tenant_id,
    remote_address: row.remote_address,
    status: row.status,
    code: row.code,
  }
}
