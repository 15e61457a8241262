/** State kept over restarts: an append-only file of changes, one JSON line for each durable moment, compacted when it grows. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, truncateSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { SiteSize } from '../site.ts'

export interface JournalHeader {
  format: 1
  size: SiteSize
  seeded_at: number
}

export interface JournalChange {
  kind: string
  id: string
  record: unknown
}

export interface Journal {
  note(kind: string, id: string, record: unknown): void
  /** Resolves when everything noted so far is on the disk. */
  commit(): Promise<void>
  restart(header: JournalHeader): Promise<void>
  close(): Promise<void>
}

const COMPACT_LINES = 20_000

/** Kinds that come and go without end; only what the seed brings needs a mark that it is gone. */
export const FLEETING: ReadonlySet<string> = new Set(['events', 'jobs'])

/** A journal that keeps nothing, for runs without a state file. */
export function createVolatileJournal(): Journal {
  return { note: () => {}, commit: async () => {}, restart: async () => {}, close: async () => {} }
}

/** What a file holds; a torn last line (a crash in the middle of a write) is cut off, a broken line elsewhere is an error. */
export function readJournal(file: string): { header: JournalHeader; changes: JournalChange[] } | null {
  if (!existsSync(file)) return null
  const bytes = readFileSync(file)
  const lines: unknown[] = []
  let start = 0
  while (start < bytes.length) {
    const end = bytes.indexOf(10, start)
    const parsed = end === -1 ? null : parseLine(bytes.subarray(start, end).toString('utf8'))
    if (parsed === null) {
      if (end !== -1 && end !== bytes.length - 1) throw new Error(`the state file is damaged at byte ${start}`)
      truncateSync(file, start)
      break
    }
    lines.push(parsed.value)
    start = end + 1
  }
  const header = lines[0]
  if (!isHeader(header)) return null
  return { header, changes: lines.slice(1).flatMap(changesOf) }
}

export async function openJournal(
  file: string,
  header: JournalHeader,
  known: readonly JournalChange[],
  options: { fresh: boolean; seeded: (id: string) => boolean },
): Promise<Journal> {
  const live = new Map<string, JournalChange>()
  for (const change of known) live.set(`${change.kind}/${change.id}`, change)
  if (options.fresh || known.length > COMPACT_LINES) rewrite(file, header, live)
  let current = header
  let lines = 0
  let pending = new Map<string, JournalChange>()
  let handle: FileHandle = await open(file, 'a', 0o600)
  let tail: Promise<void> = Promise.resolve()
  let queued: Promise<void> | null = null

  async function flush(): Promise<void> {
    queued = null
    const batch = pending
    if (batch.size === 0) return
    pending = new Map()
    try {
      await handle.appendFile(`${JSON.stringify([...batch.values()].map((one) => [one.kind, one.id, one.record]))}\n`)
      await handle.datasync()
    } catch (error) {
      // Nothing may be acknowledged over a gap: the next commit tries these again.
      pending = new Map([...batch, ...pending])
      throw error
    }
    lines += batch.size
    if (lines > COMPACT_LINES) await compact()
  }

  async function compact(): Promise<void> {
    await handle.close()
    rewrite(file, current, live)
    handle = await open(file, 'a', 0o600)
    lines = 0
  }

  return {
    note: (kind, id, record) => {
      const change = { kind, id, record }
      pending.set(`${kind}/${id}`, change)
      if (record === null && FLEETING.has(kind) && !options.seeded(id)) live.delete(`${kind}/${id}`)
      else live.set(`${kind}/${id}`, change)
    },
    commit: async () => {
      if (pending.size > 0 && queued === null) {
        queued = tail.then(flush)
        tail = queued.catch(() => {})
        await queued
        return
      }
      await (queued ?? tail)
    },
    restart: async (next) => {
      // What is noted from here on belongs to the new simulator state, even while the file is still being rewritten.
      pending = new Map()
      live.clear()
      current = next
      const rewritten = tail.then(compact)
      tail = rewritten.catch(() => {})
      await rewritten
    },
    close: async () => {
      await tail
      await flush()
      await handle.close()
    },
  }
}

/** Written beside and moved over, so that a crash leaves either the old file or the new one. */
function rewrite(file: string, header: JournalHeader, live: ReadonlyMap<string, JournalChange>): void {
  const beside = `${file}.new`
  const out = openSync(beside, 'w', 0o600)
  try {
    writeSync(out, `${JSON.stringify(header)}\n`)
    let batch: unknown[] = []
    for (const change of live.values()) {
      batch.push([change.kind, change.id, change.record])
      if (batch.length === 500) {
        writeSync(out, `${JSON.stringify(batch)}\n`)
        batch = []
      }
    }
    if (batch.length > 0) writeSync(out, `${JSON.stringify(batch)}\n`)
    fsyncSync(out)
  } finally {
    closeSync(out)
  }
  renameSync(beside, file)
  const folder = openSync(dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function parseLine(line: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(line) as unknown }
  } catch {
    return null
  }
}

function isHeader(value: unknown): value is JournalHeader {
  return (
    typeof value === 'object' &&
    value !== null &&
    'format' in value &&
    value.format === 1 &&
    'size' in value &&
    'seeded_at' in value
  )
}

function changesOf(line: unknown): JournalChange[] {
  if (!Array.isArray(line)) throw new Error('a line of the state file is not a list of changes')
  return line.map((one: unknown) => {
    if (!Array.isArray(one) || typeof one[0] !== 'string' || typeof one[1] !== 'string')
      throw new Error('a change in the state file has no kind or id')
    const record: unknown = one[2]
    return { kind: one[0], id: one[1], record }
  })
}
