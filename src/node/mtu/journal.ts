// The journal of MTU changes: one folder per change, made whole or not at all, whose marker file says who decided its end.
import { createHash } from 'node:crypto'
import { access, appendFile, chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'

const Entry = Type.Object({
  run_id: Type.String(),
  boot_id: Type.String(),
  bridge: Type.String(),
  mtu: Type.Integer(),
  limit_mtu: Type.Integer(),
  dry_run: Type.Boolean(),
  started_at: Type.String(),
  window_ms: Type.Number(),
  manager: Type.String(),
  devices: Type.Array(
    Type.Object({ name: Type.String(), ifindex: Type.Integer(), old_mtu: Type.Integer(), new_mtu: Type.Integer() }),
  ),
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
export type JournalEntry = Static<typeof Entry>

/** `pending` until someone renames it: the agent to `committed`, a restore to `reverting` and then `reverted`. */
export const MARKERS = ['pending', 'reverting', 'reverted', 'committed'] as const
export type Marker = (typeof MARKERS)[number]

export interface NewRun {
  entry: JournalEntry
  script: string
  /** Old texts in the order of entry.files; null where there was no file. */
  old_files: readonly (Buffer | null)[]
  deadline_cs: number
}

export interface Journal {
  folderOf(bridge: string): string
  /** False when the bridge has a change that has not ended: the folder is the lock. */
  create(run: NewRun): Promise<boolean>
  /** Bridges with a change that has not been archived. */
  open(): Promise<string[]>
  entry(bridge: string): Promise<JournalEntry | null>
  marker(bridge: string): Promise<Marker | null>
  /** True for exactly one of concurrent callers. */
  claim(bridge: string, from: Marker, to: Marker): Promise<boolean>
  setDeadline(bridge: string, deadline_cs: number): Promise<void>
  deadline(bridge: string): Promise<number>
  watchdogPid(bridge: string): Promise<number | null>
  note(bridge: string, uptime: string, text: string): Promise<void>
  /** Archives an ended change; the last ones stay so that a person can see what happened. */
  archive(bridge: string): Promise<void>
}

const MOST_ARCHIVED = 50
const RUN_ENDING = '.run'
const NEW_ENDING = '.new'

/** `base` is the folder of the journal alone; a service unit names it too. */
export function createJournal(base: string): Journal {
  const folderOf = (bridge: string): string => join(base, `${bridge}${RUN_ENDING}`)
  const journal: Journal = {
    folderOf,
    create: (run) => create(base, folderOf(run.entry.bridge), run),
    async open() {
      const names = await readdir(base).catch(() => [])
      return names.filter((name) => name.endsWith(RUN_ENDING)).map((name) => name.slice(0, -RUN_ENDING.length))
    },
    entry: async (bridge) => parseEntry(await readFile(join(folderOf(bridge), 'journal.json'), 'utf8').catch(() => '')),
    async marker(bridge) {
      // Latest first: between two reads a marker may be renamed to a later one, never to an earlier one.
      for (let round = 0; round < 2; round += 1) {
        for (const name of MARKERS) if (await exists(join(folderOf(bridge), name))) return name
      }
      return null
    },
    async claim(bridge, from, to) {
      try {
        await rename(join(folderOf(bridge), from), join(folderOf(bridge), to))
      } catch (error) {
        if (isMissing(error)) return false
        throw error
      }
      await syncPath(folderOf(bridge))
      return true
    },
    setDeadline: (bridge, deadline_cs) =>
      writeDurably(join(folderOf(bridge), 'deadline'), join(folderOf(bridge), 'deadline.new'), `${deadline_cs}\n`),
    deadline: async (bridge) => Number(await readFile(join(folderOf(bridge), 'deadline'), 'utf8').catch(() => '0')),
    async watchdogPid(bridge) {
      const pid = Number(await readFile(join(folderOf(bridge), 'watchdog.pid'), 'utf8').catch(() => ''))
      return Number.isInteger(pid) && pid > 1 ? pid : null
    },
    note: (bridge, uptime, text) =>
      appendFile(join(folderOf(bridge), 'log'), `${uptime} agent[${process.pid}] ${text}\n`),
    async archive(bridge) {
      const entry = await journal.entry(bridge)
      const history = join(base, 'history')
      await mkdir(history, { recursive: true, mode: 0o700 })
      const stamp = (entry?.started_at ?? 'unknown').replaceAll(/[:.]/g, '')
      await rename(folderOf(bridge), join(history, `${stamp}-${bridge}-${entry?.run_id ?? 'unknown'}`))
      await syncPath(base)
      const archived = (await readdir(history)).sort()
      for (const name of archived.slice(0, Math.max(0, archived.length - MOST_ARCHIVED))) {
        await rm(join(history, name), { recursive: true, force: true })
      }
    },
  }
  return journal
}

/** Writes beside the target, syncs, renames, syncs the folder: the file is old or new, never half. */
export async function writeDurably(
  path: string,
  temporary: string,
  text: string | Buffer,
  like: { mode: number; uid: number; gid: number } = { mode: 0o600, uid: -1, gid: -1 },
): Promise<void> {
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(text)
    if (like.uid >= 0) await file.chown(like.uid, like.gid)
    await file.chmod(like.mode & 0o7777)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncPath(dirname(path))
}

export function sha256(text: string | Buffer | null): string {
  return text === null ? '' : createHash('sha256').update(text).digest('hex')
}

async function create(base: string, folder: string, run: NewRun): Promise<boolean> {
  await mkdir(base, { recursive: true, mode: 0o700 })
  await removeUnfinished(base, run.entry.bridge)
  const draft = join(base, `${run.entry.bridge}-${run.entry.run_id}${NEW_ENDING}`)
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
async function removeUnfinished(base: string, bridge: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (name.startsWith(`${bridge}-`) && name.endsWith(NEW_ENDING)) await rm(join(base, name), { recursive: true })
  }
}

function parseEntry(text: string): JournalEntry | null {
  try {
    const value: unknown = JSON.parse(text)
    return Value.Check(Entry, value) ? value : null
  } catch {
    return null
  }
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
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
