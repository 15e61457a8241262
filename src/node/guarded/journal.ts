// The journal of guarded changes: one folder per change, made whole or not at all, whose marker file says who decided its end.
import { access, appendFile, chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { syncPath, writeDurably } from '#src/kernel/durable-file.ts'

/** What every change says of itself; a kind of change adds members of its own. */
export const RunEntry = Type.Object({
  run_id: Type.String(),
  boot_id: Type.String(),
  /** The bridge of an MTU change, or NETWORK. Only one change of a subject is under way. */
  subject: Type.String(),
  started_at: Type.String(),
  window_ms: Type.Number(),
  /** Arguments of `ip` that restore what was live, in this order; a device that is gone needs none. */
  undo: Type.Array(Type.Object({ device: Type.String(), args: Type.Array(Type.String()) })),
  files: Type.Array(
    Type.Object({
      path: Type.String(),
      temporary: Type.String(),
      existed: Type.Boolean(),
      old_sha256: Type.String(),
      new_sha256: Type.String(),
    }),
  ),
})
export type RunEntry = Static<typeof RunEntry>

/** Subject of a change of the whole network configuration; longer than the name of any device can be. */
export const NETWORK = 'network-configuration'

/** `pending` until someone renames it: the agent to `committed`, a restore to `reverting` and then `reverted`. */
export const MARKERS = ['pending', 'reverting', 'reverted', 'committed'] as const
export type Marker = (typeof MARKERS)[number]

export interface NewRun {
  entry: RunEntry
  script: string
  /** Old texts in the order of entry.files; null where there was no file. */
  old_files: readonly (Buffer | null)[]
  deadline_cs: number
}

export interface Journal {
  folderOf(subject: string): string
  /** False when the subject has a change that has not ended: the folder is the lock. */
  create(run: NewRun): Promise<boolean>
  /** Subjects with a change that has not been archived. */
  open(): Promise<string[]>
  entry(subject: string): Promise<RunEntry | null>
  marker(subject: string): Promise<Marker | null>
  /** True for exactly one of concurrent callers. */
  claim(subject: string, from: Marker, to: Marker): Promise<boolean>
  setDeadline(subject: string, deadline_cs: number): Promise<void>
  deadline(subject: string): Promise<number>
  watchdogPid(subject: string): Promise<number | null>
  note(subject: string, uptime: string, text: string): Promise<void>
  /** Archives an ended change; the last ones stay so that a person can see what happened. */
  archive(subject: string): Promise<void>
}

const MOST_ARCHIVED = 50
const RUN_ENDING = '.run'
const NEW_ENDING = '.new'

/** `base` is the folder of the journal alone; a service unit names it too. */
export function createJournal(base: string): Journal {
  const folderOf = (subject: string): string => join(base, `${subject}${RUN_ENDING}`)
  const journal: Journal = {
    folderOf,
    create: (run) => create(base, folderOf(run.entry.subject), run),
    async open() {
      const names = await readdir(base).catch(() => [])
      return names.filter((name) => name.endsWith(RUN_ENDING)).map((name) => name.slice(0, -RUN_ENDING.length))
    },
    entry: async (subject) =>
      parseEntry(await readFile(join(folderOf(subject), 'journal.json'), 'utf8').catch(() => '')),
    async marker(subject) {
      // Latest first: between two reads a marker may be renamed to a later one, never to an earlier one.
      for (let round = 0; round < 2; round += 1) {
        for (const name of MARKERS) if (await exists(join(folderOf(subject), name))) return name
      }
      return null
    },
    async claim(subject, from, to) {
      try {
        await rename(join(folderOf(subject), from), join(folderOf(subject), to))
      } catch (error) {
        if (isMissing(error)) return false
        throw error
      }
      await syncPath(folderOf(subject))
      return true
    },
    setDeadline: (subject, deadline_cs) =>
      writeDurably(join(folderOf(subject), 'deadline'), join(folderOf(subject), 'deadline.new'), `${deadline_cs}\n`),
    deadline: async (subject) => Number(await readFile(join(folderOf(subject), 'deadline'), 'utf8').catch(() => '0')),
    async watchdogPid(subject) {
      const pid = Number(await readFile(join(folderOf(subject), 'watchdog.pid'), 'utf8').catch(() => ''))
      return Number.isInteger(pid) && pid > 1 ? pid : null
    },
    note: (subject, uptime, text) =>
      appendFile(join(folderOf(subject), 'log'), `${uptime} agent[${process.pid}] ${text}\n`),
    async archive(subject) {
      const entry = await journal.entry(subject)
      const history = join(base, 'history')
      await mkdir(history, { recursive: true, mode: 0o700 })
      const stamp = (entry?.started_at ?? 'unknown').replaceAll(/[:.]/g, '')
      await rename(folderOf(subject), join(history, `${stamp}-${subject}-${entry?.run_id ?? 'unknown'}`))
      await syncPath(base)
      const archived = (await readdir(history)).sort()
      for (const name of archived.slice(0, Math.max(0, archived.length - MOST_ARCHIVED))) {
        await rm(join(history, name), { recursive: true, force: true })
      }
    },
  }
  return journal
}

async function create(base: string, folder: string, run: NewRun): Promise<boolean> {
  await mkdir(base, { recursive: true, mode: 0o700 })
  await removeUnfinished(base, run.entry.subject)
  const draft = join(base, `${run.entry.subject}-${run.entry.run_id}${NEW_ENDING}`)
  await mkdir(join(draft, 'old'), { recursive: true, mode: 0o700 })
  for (const [at, bytes] of run.old_files.entries()) {
    if (bytes !== null) await copyLike(run.entry.files[at]?.path ?? '', join(draft, 'old', `${at}`), bytes)
  }
  await writeFile(join(draft, 'revert.sh'), run.script, { mode: 0o700, flush: true })
  await writeFile(join(draft, 'deadline'), `${run.deadline_cs}\n`, { mode: 0o600, flush: true })
  await writeFile(join(draft, 'journal.json'), JSON.stringify(run.entry, null, 2), { mode: 0o600, flush: true })
  await writeFile(join(draft, 'pending'), '', { mode: 0o600, flush: true })
  for (const path of [join(draft, 'old'), draft]) await syncPath(path)
  try {
    // A folder can only be renamed onto nothing or an empty folder: this is lock and journal in one step.
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) return false
    throw error
  }
  await syncPath(base)
  return true
}

/** The copy carries owner and mode, which `cp -p` restores. */
async function copyLike(path: string, copy: string, bytes: Buffer): Promise<void> {
  const file = await open(path)
  const { mode, uid, gid } = await file.stat()
  await file.close()
  const target = await open(copy, 'w', 0o600)
  try {
    await target.writeFile(bytes)
    await target.chown(uid, gid)
    await target.sync()
  } finally {
    await target.close()
  }
  await chmod(copy, mode & 0o7777)
}

/** A draft is not a run yet: its process ended before it touched anything. */
async function removeUnfinished(base: string, subject: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (name.startsWith(`${subject}-`) && name.endsWith(NEW_ENDING)) await rm(join(base, name), { recursive: true })
  }
}

function parseEntry(text: string): RunEntry | null {
  try {
    const value: unknown = JSON.parse(text)
    return Value.Check(RunEntry, value) ? value : null
  } catch {
    return null
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT'
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
