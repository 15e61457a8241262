// The audit log of a job: lines chained by their hashes, so that one that was changed or removed later is found
// (node-lifecycle.md 12).
import { createHash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import { MAX_INT32 } from '#src/contract/common.ts'
import { withoutSecrets } from '#src/kernel/log.ts'
import type { Db, Trx } from '#src/store/database.ts'
import type { Tables } from '#src/store/tables.ts'
import type { LogLevel } from './define.ts'

type LineRow = Selectable<Tables['job_event']>

export interface AuditLine {
  level: LogLevel
  step: string
  attempt: number
  /** Who acted: `system`, or the name of a caller. */
  actor?: string
  text: string
  data?: Record<string, unknown> | undefined
}

const MAX_TEXT = 2000
const MAX_DATA = 4000
/** Beyond it, INFO is left out; WARN and above are written. */
const MAX_LINES = 50_000

/** The caller holds the lock of the job's row, so that lines come one after the other. */
export async function appendLine(trx: Trx, job_id: string, line: AuditLine): Promise<void> {
  const { rows } = await sql<{ at: Date; seq: number | null; hash: Buffer | null }>`
    select date_trunc('milliseconds', clock_timestamp()) as at, last.seq, last.hash
    from (select 1) one left join lateral (
      select seq, hash from job_event where job_id = ${job_id} order by seq desc limit 1) last on true`.execute(trx)
  const [last] = rows
  if (last === undefined) throw new Error('the database answers no row')
  const seq = (last.seq ?? 0) + 1
  if (seq > MAX_LINES && line.level === 'INFO') return
  const { level, step, attempt, actor = 'system' } = line
  const data = line.data === undefined ? null : stored(line.data)
  const row = { job_id, seq, at: last.at, level, step, attempt, actor, text: printable(line.text), data }
  const values = { ...row, data: data === null ? null : JSON.stringify(data), hash: hashOf(last.hash, row) }
  await trx.insertInto('job_event').values(values).execute()
}

/** A line that a person or a callback causes, not the process that runs the job. */
export async function noteFrom(trx: Trx, job_id: string, line: AuditLine): Promise<void> {
  await lockJob(trx, job_id)
  await appendLine(trx, job_id, line)
}

/** Comes before every other lock of what is the job's: its steps, too, take the job first. */
export async function lockJob(trx: Trx, job_id: string): Promise<void> {
  await trx.selectFrom('job').select('id').where('id', '=', job_id).forUpdate().execute()
}

/** Null: the job has written no line. */
export async function chainHead(db: Db, job_id: string): Promise<string | null> {
  const lines = db.selectFrom('job_event').select('hash').where('job_id', '=', job_id)
  return (await lines.orderBy('seq', 'desc').limit(1).executeTakeFirst())?.hash.toString('hex') ?? null
}

/** Number of the first line that is not as it was written; undefined while the chain is whole. */
export async function brokenLine(db: Db, job_id: string): Promise<number | undefined> {
  let before: LineRow | undefined
  for (;;) {
    const lines = await linesOf(db, job_id)
      .where('seq', '>', before?.seq ?? 0)
      .orderBy('seq')
      .limit(BATCH)
      .execute()
    for (const line of lines) {
      const whole = line.seq === (before?.seq ?? 0) + 1 && hashOf(before?.hash ?? null, line).equals(line.hash)
      if (!whole) return line.seq
      before = line
    }
    if (lines.length < BATCH) return undefined
  }
}

/** How the log of a job is called, relative to nothing: a path of the machine is nobody's business. */
export function logName({ id, type }: { id: string; type: string }): string {
  return `${type.slice(type.indexOf('.') + 1)}/${id}.log`
}

export interface LogTail {
  content: string
  /** Lines before it are left out. */
  truncated: boolean
  /** Of the first line; null without lines. What comes before it is read with `before_seq`. */
  first_seq: number | null
}

export const TAIL_BYTES = 64 * 1024
const BATCH = 500

/** The newest lines that fit, whole ones only, oldest first. */
export async function logTail(
  db: Db,
  job_id: string,
  { bytes = TAIL_BYTES, before_seq }: { bytes?: number; before_seq?: number } = {},
): Promise<LogTail> {
  const lines_out: string[] = []
  let first_seq: number | null = null
  let left = bytes
  for (let before = before_seq ?? MAX_INT32; ; before = first_seq ?? 0) {
    const lines = await linesOf(db, job_id).where('seq', '<', before).orderBy('seq', 'desc').limit(BATCH).execute()
    for (const line of lines) {
      const text = rendered(line)
      left -= Buffer.byteLength(text)
      if (left < 0) return { content: lines_out.toReversed().join(''), truncated: true, first_seq }
      lines_out.push(text)
      first_seq = line.seq
    }
    if (lines.length < BATCH) return { content: lines_out.toReversed().join(''), truncated: false, first_seq }
  }
}

function linesOf(db: Db, job_id: string) {
  return db.selectFrom('job_event').selectAll().where('job_id', '=', job_id)
}

/** `2026-01-02T03:04:05.678Z  INFO  storage-drain  #2  Marked 4 daemons out  {"osds":[3,4,7,9]}` */
function rendered({ at, level, step, attempt, text, data }: LineRow): string {
  const parts = [at.toISOString(), level, ...(step === '' ? [] : [step, `#${attempt}`]), text]
  return `${[...parts, ...(data === null ? [] : [JSON.stringify(data)])].join('  ')}\n`
}

function hashOf(before: Buffer | null, line: Omit<LineRow, 'hash'>): Buffer {
  const { job_id, seq, at, level, step, attempt, actor, text, data } = line
  return createHash('sha256')
    .update(before ?? Buffer.alloc(32))
    .update(JSON.stringify([job_id, seq, at.toISOString(), level, step, attempt, actor, text, ordered(data)]))
    .digest()
}

function stored(data: Record<string, unknown>): object {
  const text = JSON.stringify(withoutSecrets(data))
  return text.length > MAX_DATA ? { omitted: `${text.length} characters` } : (JSON.parse(text) as object)
}

/** The database keeps the members of an object in an order of its own. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([name, member]) => [name, ordered(member)])
}

/** Texts from elsewhere cannot forge lines. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (char) => JSON.stringify(char).slice(1, -1)).slice(0, MAX_TEXT)
}
