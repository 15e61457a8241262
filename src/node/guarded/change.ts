// A change of this node that reverts by itself: write files, arm the watchdog, set live, then commit or restore
// (linux-node.md 4.5). MTU changes and changes of the network configuration are made this way.
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { syncPath, writeDurably } from '#src/kernel/durable-file.ts'
import { type Journal, type Marker, NETWORK, type RunEntry } from './journal.ts'
import type { Watchdog } from './watchdog.ts'

/** Every point at which a crash must leave the node recoverable; tests end the process at each. */
export const CHANGE_STEPS = [
  'prepared', 'guarded', 'file-written', 'persisted', 'armed', 'device-set', 'live', 'probed', 'restoring', 'committed',
  'archived',
] as const // biome-ignore format: one list
export type ChangeStep = (typeof CHANGE_STEPS)[number]

export interface ChangeDeps {
  host: Host
  journal: Journal
  watchdog: Watchdog
  after_step: (step: ChangeStep) => void | Promise<void>
}

/** A file as it is to be; null removes it. */
export interface NewFile {
  path: string
  text: string | Buffer | null
  /** Of a file that is made; one that exists keeps its own. 0644 when left out. */
  mode?: number
}

export interface GuardedChange<E extends RunEntry = RunEntry> {
  entry: E
  new_files: readonly NewFile[]
  old_files: readonly (Buffer | null)[]
}

/** How the errors of this kind of change read. */
export interface ChangeErrors {
  failed(message: string, cause?: unknown): ApiError
  running(subject: string): ApiError
}

export async function bootId(host: Host): Promise<string> {
  return (await host.read('/proc/sys/kernel/random/boot_id'))?.trim() ?? ''
}

/** The files of a change as its entry lists them, with what they hold now. */
export async function planFiles(
  run_id: string,
  new_files: readonly NewFile[],
): Promise<{ files: RunEntry['files']; old_files: (Buffer | null)[] }> {
  const old_files = await Promise.all(new_files.map(({ path }) => readFile(path).catch(() => null)))
  const files = new_files.map(({ path, text }, at) => ({
    path,
    temporary: join(dirname(path), `.${basename(path)}.${run_id}`),
    existed: old_files[at] !== null,
    old_sha256: sha256(old_files[at] ?? null),
    new_sha256: sha256(text),
  }))
  return { files, old_files }
}

/** Makes the change known and guarded, then carries it out up to the live value. Throws with everything undone. */
export async function raise(
  deps: ChangeDeps,
  change: GuardedChange,
  errors: ChangeErrors,
  /** Null when the live values are what they should be, else the sentence about what is not. */
  setLive: () => Promise<string | null>,
): Promise<void> {
  const { entry } = change
  await prepare(deps, change, errors)
  try {
    await note(deps, entry, 'prepared')
    await deps.after_step('prepared')
    // Guarded before the first file is touched, so that not even an agent that dies between two files needs a restart.
    if (!(await deps.watchdog.start(entry))) throw errors.failed('The watchdog could not be started.')
    await deps.after_step('guarded')
    await persist(deps, change)
    await note(deps, entry, `persisted ${entry.files.length} files`)
    await deps.after_step('persisted')
    await arm(deps, entry, errors)
    await deps.after_step('armed')
    const failure = await setLive()
    if (failure !== null) throw errors.failed(`The change was given up: ${failure}.`)
    await note(deps, entry, 'live')
    await deps.after_step('live')
  } catch (error) {
    if (await restore(deps, entry.subject, entry)) throw error
    const words = error instanceof Error && 'code' in error ? error.message : 'The change failed.'
    throw errors.failed(`${words} The old values are not all back yet and will be tried again.`, error)
  }
}

/** A phase that ends after its window has set values that the watchdog no longer restores. */
export async function undoWhenLate(deps: ChangeDeps, entry: RunEntry, errors: ChangeErrors): Promise<void> {
  if ((await deps.journal.marker(entry.subject)) === 'pending') return
  const reverted = await restore(deps, entry.subject, entry)
  throw errors.failed(`The window was over before the change was complete; ${restoredWords(reverted)}.`)
}

export function restoredWords(reverted: boolean): string {
  return reverted ? 'the old values are back' : 'the old values are not all back yet and will be tried again'
}

/** False when the watchdog decided first: then the old value is restored, or is being restored. */
export async function commit(deps: ChangeDeps, entry: RunEntry): Promise<boolean> {
  const won = await deps.journal.claim(entry.subject, 'pending', 'committed')
  if (!won) return false
  await note(deps, entry, 'committed')
  await deps.after_step('committed')
  await deps.watchdog.disarm(entry)
  await deps.journal.archive(entry.subject)
  await deps.after_step('archived')
  return true
}

/**
 * Brings the old values back with the watchdog's own script, so that there is one way of restoring. True when they are
 * back; a restore that could not finish stays in the journal and is tried again.
 */
export async function restore(deps: ChangeDeps, subject: string, entry: RunEntry | null): Promise<boolean> {
  await deps.after_step('restoring')
  const first = await deps.journal.claim(subject, 'pending', 'reverting')
  await deps.watchdog.restoreNow(subject)
  let marker = await settled(deps, subject)
  // The watchdog was first, and a command or a file of ours may have come after what it did: once more, now that none is
  // on its way.
  if (!first && (await deps.journal.claim(subject, 'reverted', 'reverting'))) {
    await deps.watchdog.restoreNow(subject)
    marker = await settled(deps, subject)
  }
  if (marker !== 'reverted') return false
  if (entry !== null) await deps.watchdog.disarm(entry)
  await deps.journal.archive(subject)
  await deps.after_step('archived')
  return true
}

/** Finishes one change whose process died, found at start or by the periodic reconcile (linux-node.md 4.5, layer 3). */
export async function settle(deps: ChangeDeps, subject: string): Promise<'restored' | 'archived' | 'left' | 'failed'> {
  const marker = await deps.journal.marker(subject)
  if (marker === 'committed' || marker === 'reverted') {
    await deps.journal.archive(subject)
    return 'archived'
  }
  const entry = await deps.journal.entry(subject)
  const same_boot = entry !== null && entry.boot_id === (await bootId(deps.host))
  const over = (await uptimeCs(deps.host)) > (await deps.journal.deadline(subject))
  if (same_boot && !over && (await deps.watchdog.isAlive(entry))) return 'left'
  // The script needs nothing else: it restores even when the entry beside it cannot be read.
  return (await restore(deps, subject, entry)) ? 'restored' : 'failed'
}

/** Milliseconds until the watchdog acts; null when no change of the subject waits for its commit. */
export async function leftMs({ host, journal }: ChangeDeps, subject: string): Promise<number | null> {
  if ((await journal.marker(subject)) !== 'pending') return null
  return Math.max(0, ((await journal.deadline(subject)) - (await uptimeCs(host))) * 10)
}

export async function note({ host, journal }: ChangeDeps, { subject }: RunEntry, text: string): Promise<void> {
  const [uptime = ''] = ((await host.read('/proc/uptime')) ?? '').split(' ')
  await journal.note(subject, uptime, text)
}

/** The watchdog may be in the middle of the same restore: waits for its end. */
async function settled({ host, journal }: ChangeDeps, subject: string): Promise<Marker | null> {
  const until = host.monotonic() + 10_000
  for (;;) {
    const marker = await journal.marker(subject)
    if (marker !== 'reverting' || host.monotonic() > until) return marker
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function prepare(deps: ChangeDeps, { entry, old_files }: GuardedChange, errors: ChangeErrors): Promise<void> {
  await refuseBesides(deps, entry.subject, errors)
  const script = await deps.watchdog.script(entry)
  if (typeof script !== 'string') {
    throw errors.failed(`The watchdog needs ${script.missing}, which is not installed.`)
  }
  const deadline_cs = await deadlineOf(deps.host, entry.window_ms)
  if (!(await deps.journal.create({ entry, script, old_files, deadline_cs }))) throw errors.running(entry.subject)
}

/** A change of the whole configuration touches the devices of every other one. */
async function refuseBesides({ journal }: ChangeDeps, subject: string, errors: ChangeErrors): Promise<void> {
  for (const one of await journal.open()) {
    const has_ended = ['committed', 'reverted'].includes((await journal.marker(one)) ?? '')
    // What its watchdog ended need not wait for the reconcile.
    if (has_ended && one === subject) await journal.archive(one)
    if (!has_ended && (subject === NETWORK || one === NETWORK)) throw errors.running(one)
  }
}

async function persist(deps: ChangeDeps, { entry, new_files }: GuardedChange): Promise<void> {
  for (const [at, { path, temporary }] of entry.files.entries()) {
    const { text = null, mode = 0o644 } = new_files[at] ?? {}
    if (text === null) {
      await rm(path, { force: true })
      await syncPath(dirname(path)).catch(() => {})
    } else {
      await mkdir(dirname(path), { recursive: true })
      const like = await stat(path).catch(() => ({ mode, uid: -1, gid: -1 }))
      await writeDurably(path, temporary, text, like)
    }
    await deps.after_step('file-written')
  }
}

/** The window counts from here: writing files may have taken some of it. */
async function arm(deps: ChangeDeps, entry: RunEntry, errors: ChangeErrors): Promise<void> {
  await deps.journal.setDeadline(entry.subject, await deadlineOf(deps.host, entry.window_ms))
  if ((await deps.journal.marker(entry.subject)) !== 'pending') {
    throw errors.failed('The window was over before the value could be set.')
  }
}

/** The boot clock in centiseconds, as the shell can read it; the wall clock may be stepped. */
async function uptimeCs(host: Host): Promise<number> {
  const [seconds = '0'] = ((await host.read('/proc/uptime')) ?? '0').split(' ')
  return Math.round(Number(seconds) * 100)
}

async function deadlineOf(host: Host, window_ms: number): Promise<number> {
  return (await uptimeCs(host)) + Math.ceil(window_ms / 10)
}

function sha256(text: string | Buffer | null): string {
  return text === null ? '' : createHash('sha256').update(text).digest('hex')
}
