// What the database forgets, and when: every table that grows with time stands here, so that none grows without end.
import { setTimeout as pause } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Log } from '#src/kernel/log.ts'
import type { Db } from './database.ts'
import type { Tables } from './tables.ts'

export interface RetentionPeriods {
  replay_hours: number
  audit_days: number
  app_event_days: number
  job_days: number
  platform_event_days: number
  dhcp_lease_days: number
}

export interface RetentionRule {
  table: keyof Tables
  /** SQL: true for a row that nobody needs any more. */
  old: RawBuilder<boolean>
}

function rulesOf(periods: RetentionPeriods): RetentionRule[] {
  const { replay_hours, audit_days, app_event_days, job_days, platform_event_days, dhcp_lease_days } = periods
  return [
    { table: 'stream_event', old: sql`at < ${ago('hours', replay_hours)}` },
    { table: 'audit', old: sql`at < ${ago('days', audit_days)}` },
    // Both values are named so that the index over them is used. What still runs is ended by others first.
    {
      table: 'app_event',
      old: sql`archived in (true, false) and created_at < ${ago('days', app_event_days)} and status <> 'IN_PROGRESS'`,
    },
    { table: 'ha_event', old: sql`received_at < ${ago('days', app_event_days)}` },
    { table: 'guest_network_job', old: sql`started_at < ${ago('days', job_days)}` },
    { table: 'platform_event', old: sql`created_at < ${ago('days', platform_event_days)}` },
    { table: 'dhcp_lease', old: sql`state <> 'active' and ended_at < ${ago('days', dhcp_lease_days)}` },
    { table: 'bmc_inventory', old: sql`collected_at < ${ago('days', job_days)}` },
    { table: 'phone_home', old: sql`created_at < ${ago('days', 30)}` },
    { table: 'boot_image', old: sql`expires_at < ${ago('days', 30)}` },
    // Keys older than a day mean nothing any more (idempotency.ts).
    { table: 'idempotency', old: sql`created_at < ${ago('hours', 24)}` },
    // A webhook is repeated within seconds.
    { table: 'hook_delivery', old: sql`received_at < ${ago('hours', 24)}` },
    { table: 'replica', old: sql`seen_at < ${ago('hours', 24)}` },
    { table: 'session', old: sql`expires_at < ${ago('hours', 24)}` },
    { table: 'ticket', old: sql`expires_at < ${ago('hours', 1)}` },
    { table: 'oidc_login', old: sql`expires_at < now()` },
    { table: 'wipe', old: sql`created_at < ${ago('days', job_days)}` },
    { table: 'preflight_result', old: sql`expires_at < ${ago('hours', 24)}` },
    { table: 'enrolment_token', old: sql`expires_at < ${ago('days', 30)}` },
  ]
}

function ago(unit: 'hours' | 'days', count: number): RawBuilder<Date> {
  return sql`now() - make_interval(secs => ${count * (unit === 'days' ? 86_400 : 3600)})`
}

/** Small enough that a backlog of years neither runs into the time limit of a statement nor keeps others waiting. */
const BATCH = 2000
const BREATH_MS = 50

/** `others`: rules for tables whose SQL stands elsewhere. */
export interface Retention {
  periods: RetentionPeriods
  others: readonly RetentionRule[]
}

/**
 * Deletes what is old, batch by batch, until nothing is. Any number of replicas may do so at once: each takes the rows that
 * the others do not hold.
 */
export async function deleteOldRows(
  db: Db,
  { periods, others }: Retention,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  for (const { table, old } of [...rulesOf(periods), ...others]) {
    let rows = 0
    for (let batch = BATCH; batch === BATCH && !signal.aborted; rows += batch) {
      if (rows > 0) await pause(BREATH_MS, undefined, { signal })
      const { numAffectedRows = 0n } = await sql`
        delete from ${sql.table(table)} where ctid = any(array(
          select ctid from ${sql.table(table)} where ${old} limit ${BATCH} for update skip locked))`.execute(db)
      batch = Number(numAffectedRows)
    }
    if (rows > 0) log.info({ table, rows }, 'old rows deleted')
  }
}
