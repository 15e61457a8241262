// Row types of the tables of decommissions and wipes.
import type { ColumnType, Generated, JSONColumnType } from 'kysely'

type Stored<T extends object | null> = JSONColumnType<T, string, string>

export interface DecommissionTables {
  preflight_result: {
    node_id: number
    fingerprint: string
    result: Stored<object>
    expires_at: ColumnType<Date, unknown, unknown>
  }
  wipe: {
    job_id: string
    node_id: number
    token_hash: Buffer | null
    expected_disks: Stored<string[]>
    open_until: ColumnType<Date, unknown, unknown>
    report: Generated<string>
    authenticated: Generated<boolean>
    conflict: Generated<boolean>
    submissions: Generated<number>
    authenticated_submissions: Generated<number>
    confirmed: JSONColumnType<object | null, string | null | undefined, string | null>
    created_at: ColumnType<Date, Date | undefined, Date>
  }
  wipe_submission: {
    job_id: string
    number: number
    report: string
    received_at: ColumnType<Date, Date | undefined, Date>
  }
}
