// Which events a caller may read: the one rule for lists, counts, single events, archiving and streams.
import type { ExpressionBuilder } from 'kysely'
import { ADMIN_EVENT_TYPES } from '#src/contract/app-events.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Tables } from './tables.ts'

export interface EventScope {
  /** Null: events of all tenants and of none. */
  tenant_id: string | null
  hidden_types: readonly string[]
}

export function eventScopeOf({ role, tenant_id }: Caller): EventScope {
  return { tenant_id, hidden_types: role === 'admin' && tenant_id === null ? [] : ADMIN_EVENT_TYPES }
}

/** As a condition on rows of `app_event`. */
export function inEventScope({ tenant_id, hidden_types }: EventScope) {
  return (eb: ExpressionBuilder<Tables, 'app_event'>) =>
    eb.and([
      ...(tenant_id === null ? [] : [eb('tenant_id', '=', tenant_id)]),
      ...(hidden_types.length === 0 ? [] : [eb('resource_type', 'not in', hidden_types)]),
    ])
}

/** The same for a message of the stream. */
export function isInEventScope(
  { tenant_id, hidden_types }: EventScope,
  message: { channel: string; tenant_id: string | null; data: object },
): boolean {
  if (tenant_id !== null && message.tenant_id !== tenant_id) return false
  if (message.channel !== 'app-event' || !('resource_type' in message.data)) return true
  return !hidden_types.some((type) => type === (message.data as { resource_type: unknown }).resource_type)
}
