// Row types of the tables of failover (tables.ts).
import type { ColumnType } from 'kysely'

type Time = ColumnType<Date, Date | string | undefined, Date | string>
type NullableTime = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>

export interface HaTables {
  ha_member: {
    node_id: number
    address: string
    interface: string
    priority: number
    holds_vip: boolean | null
    checked_at: NullableTime
    filesync_key: string | null
    created_at: Time
  }
  ha_event: {
    id: string
    app_event_id: string
    correlation_id: string
    address: string
    action: string
    status: 'COMPLETED' | 'FAILED' | 'IN_PROGRESS'
    level: 'INFO' | 'WARN' | 'ERROR'
    message: string
    counter: number | null
    occurred_at: Time
    received_at: Time
  }
}
