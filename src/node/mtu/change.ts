// One MTU change on this node: persist, arm the watchdog, set live, probe, then commit or restore (Part 3, 4.6).
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { MtuNodeApplyRequest } from '#src/contract/network/mtu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import type { ChangePlan } from './change-plan.ts'
import { type Journal, type JournalEntry, type Marker, writeDurably } from './journal.ts'
import { readLinks } from './links.ts'
import { setLive } from './live.ts'
import { type ProbeOutcome, probePath } from './probe.ts'
import type { Watchdog } from './watchdog.ts'

/** Every point at which a crash must leave the node recoverable; tests end the process at each. */
export const CHANGE_STEPS = [
  'prepared',
  'guarded',
  'file-written',
  'persisted',
  'armed',
  'device-set',
  'live',
  'probed',
  'restoring',
  'committed',
  'archived',
] as const
export type ChangeStep = (typeof CHANGE_STEPS)[number]

export interface ChangeDeps {
  host: Host
  journal: Journal
  watchdog: Watchdog
  after_step: (step: ChangeStep) => void | Promise<void>
}

/**
 * The half of a change that may happen before the peers have changed: what carries frames grows, and what sends them
 * shrinks. The other half follows once every node has done this one.
 */
export function firstHalf({ bridge, devices }: JournalEntry): JournalEntry['devices'] {
  return devices.filter(({ name, old_mtu, new_mtu }) => (name === bridge) === new_mtu < old_mtu)
}

/** Completes a change that was raised by its first half. Throws with the change still pending: the caller decides. */
export async function useRaised(deps: ChangeDeps, entry: JournalEntry): Promise<void> {
  const first = firstHalf(entry)
  const rest = entry.devices.filter((device) => !first.includes(device))
  const failure = await setLive(deps.host, rest, () => deps.after_step('device-set'))
  if (failure !== null) throw new ApiError('MTU_APPLY_FAILED', `The change was given up: ${failure}.`)
  await note(deps, entry, 'in use')
  await deps.after_step('live')
  await undoWhenLate(deps, entry)
}

/** A phase that ends after its window has set values that the watchdog no longer restores. */
export async function undoWhenLate(deps: ChangeDeps, entry: JournalEntry): Promise<void> {
  if ((await deps.journal.marker(entry.bridge)) === 'pending') return
  const reverted = await restore(deps, entry.bridge, entry)
  throw new ApiError(
    'MTU_APPLY_FAILED',
    `The window was over before the change was complete; ${restoredWords(reverted)}.`,
  )
}

export function restoredWords(reverted: boolean): string {
  return reverted ? 'the old values are back' : 'the old values are not all back yet and will be tried again'
}

/** Null when every device of the change runs at its new value. */
export async function unfinished({ host }: ChangeDeps, entry: JournalEntry): Promise<string | null> {
  const links = await readLinks(host)
  const behind = entry.devices.find(({ name, new_mtu }) => links?.find((link) => link.name === name)?.mtu !== new_mtu)
  return behind === undefined ? null : behind.name
}

/** A bridge follows its ports until its MTU was really changed once: then it waits for its own turn (linux-node.md 4.2). */
async function pin(host: Host, { bridge, devices }: JournalEntry): Promise<void> {
  const own = devices.find(({ name }) => name === bridge)
  if (own === undefined || own.new_mtu <= own.old_mtu) return
  for (const mtu of [own.old_mtu + 1, own.old_mtu]) {
    await host.run('ip', ['link', 'set', 'dev', bridge, 'mtu', `${mtu}`], { timeout_ms: 10_000 })
  }
}

/** Makes the change known and guarded, then carries it out up to the live value. Throws with everything undone. */
export async function raise(deps: ChangeDeps, plan: ChangePlan, part: 'whole' | 'first-half' = 'whole'): Promise<void> {
  const { entry } = plan
  await prepare(deps, plan)
  try {
    await note(deps, entry, `prepared: ${entry.bridge} to ${entry.mtu}`)
    await deps.after_step('prepared')
    // Guarded before the first file is touched, so that not even an agent that dies between two files needs a restart.
    if (!(await deps.watchdog.start(entry)))
      throw new ApiError('MTU_APPLY_FAILED', 'The watchdog could not be started.')
    await deps.after_step('guarded')
    await persist(deps, plan)
    await note(deps, entry, `persisted ${entry.files.length} files (${entry.manager})`)
    await deps.after_step('persisted')
    await arm(deps, entry)
    await deps.after_step('armed')
    if (part === 'first-half') await pin(deps.host, entry)
    const devices = part === 'whole' ? entry.devices : firstHalf(entry)
    const failure = await setLive(deps.host, devices, () => deps.after_step('device-set'))
    if (failure !== null) throw new ApiError('MTU_APPLY_FAILED', `The change was given up: ${failure}.`)
    await note(deps, entry, part === 'whole' ? 'live' : 'prepared for use')
    await deps.after_step('live')
  } catch (error) {
    if (await restore(deps, entry.bridge, entry)) throw error
    throw new ApiError(
      'MTU_APPLY_FAILED',
      `${messageOf(error)} The old values are not all back yet and will be tried again.`,
      {
        cause: error,
      },
    )
  }
}

export async function probe(deps: ChangeDeps, entry: JournalEntry, target: string): Promise<ProbeOutcome> {
  const outcome = await probePath(deps.host, { device: entry.bridge, target, mtu: entry.mtu })
  await note(deps, entry, `probe of ${target}: ${outcome.verdict}, ${outcome.detail}`)
  await deps.after_step('probed')
  return outcome
}

/** Probes of targets that decide nothing: the sentences about those that did not pass. */
export async function advisoryFailures(
  deps: ChangeDeps,
  entry: JournalEntry,
  targets: readonly string[],
): Promise<string[]> {
  const failures: string[] = []
  for (const target of targets) {
    const outcome = await probePath(deps.host, { device: entry.bridge, target, mtu: entry.mtu })
    if (outcome.verdict !== 'pass') failures.push(`${target}: ${outcome.detail}`)
  }
  return failures
}

/** False when the watchdog decided first: then the old value is restored, or is being restored. */
export async function commit(deps: ChangeDeps, entry: JournalEntry): Promise<boolean> {
  const won = await deps.journal.claim(entry.bridge, 'pending', 'committed')
  if (!won) return false
  await note(deps, entry, 'committed')
  await deps.after_step('committed')
  await deps.watchdog.disarm(entry)
  await deps.journal.archive(entry.bridge)
  await deps.after_step('archived')
  return true
}

/**
 * Brings the old values back with the watchdog's own script, so that there is one way of restoring. True when they are
 * back; a restore that could not finish stays in the journal and is tried again.
 */
export async function restore(deps: ChangeDeps, bridge: string, entry: JournalEntry | null): Promise<boolean> {
  await deps.after_step('restoring')
  const first = await deps.journal.claim(bridge, 'pending', 'reverting')
  await deps.watchdog.restoreNow(bridge)
  let marker = await settled(deps, bridge)
  // The watchdog was first, and a command or a file of ours may have come after what it did: once more, now that none is
  // on its way.
  if (!first && (await deps.journal.claim(bridge, 'reverted', 'reverting'))) {
    await deps.watchdog.restoreNow(bridge)
    marker = await settled(deps, bridge)
  }
  if (marker !== 'reverted') return false
  if (entry !== null) await deps.watchdog.disarm(entry)
  await deps.journal.archive(bridge)
  await deps.after_step('archived')
  return true
}

/** The watchdog may be in the middle of the same restore: waits for its end. */
async function settled({ host, journal }: ChangeDeps, bridge: string): Promise<Marker | null> {
  const until = host.monotonic() + 10_000
  for (;;) {
    const marker = await journal.marker(bridge)
    if (marker !== 'reverting' || host.monotonic() > until) return marker
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export function planMessage({ entry }: ChangePlan): string {
  const devices = entry.devices.map(({ name, old_mtu, new_mtu }) => `${name} ${old_mtu} to ${new_mtu}`)
  const files = entry.files.map(({ path }) => path)
  const live = devices.length === 0 ? 'no device has to change' : `would set ${devices.join(', ')}`
  return `${live}; ${files.length === 0 ? 'no file has to change' : `would write ${files.join(', ')} (${entry.manager})`}`
}

/** Identifies the change of a request; stored with it, so that a phase cannot act on another value. */
export function sameChange(entry: JournalEntry, request: MtuNodeApplyRequest): boolean {
  return entry.mtu === request.mtu && entry.dry_run === (request.dry_run === true)
}

async function prepare(deps: ChangeDeps, { entry, old_files }: ChangePlan): Promise<void> {
  const script = await deps.watchdog.script(entry)
  const deadline_cs = await deadlineOf(deps.host, entry.window_ms)
  if (!(await deps.journal.create({ entry, script, old_files, deadline_cs }))) {
    throw new ApiError('MTU_CHANGE_RUNNING', `An MTU change of ${entry.bridge} is under way.`)
  }
}

async function persist(deps: ChangeDeps, { entry, new_texts }: ChangePlan): Promise<void> {
  for (const [at, { path, temporary }] of entry.files.entries()) {
    await mkdir(dirname(path), { recursive: true })
    const like = await stat(path).catch(() => ({ mode: 0o644, uid: -1, gid: -1 }))
    await writeDurably(path, temporary, new_texts[at] ?? '', like)
    await deps.after_step('file-written')
  }
}

/** The window counts from here: writing files may have taken some of it. */
async function arm(deps: ChangeDeps, entry: JournalEntry): Promise<void> {
  await deps.journal.setDeadline(entry.bridge, await deadlineOf(deps.host, entry.window_ms))
  if ((await deps.journal.marker(entry.bridge)) !== 'pending') {
    throw new ApiError('MTU_APPLY_FAILED', 'The window was over before the value could be set.')
  }
}

/** The boot clock in centiseconds, as the shell can read it; the wall clock may be stepped. */
export async function uptimeCs(host: Host): Promise<number> {
  const [seconds = '0'] = ((await host.read('/proc/uptime')) ?? '0').split(' ')
  return Math.round(Number(seconds) * 100)
}

async function deadlineOf(host: Host, window_ms: number): Promise<number> {
  return (await uptimeCs(host)) + Math.ceil(window_ms / 10)
}

async function note({ host, journal }: ChangeDeps, { bridge }: JournalEntry, text: string): Promise<void> {
  const [uptime = ''] = ((await host.read('/proc/uptime')) ?? '').split(' ')
  await journal.note(bridge, uptime, text)
}

function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : 'The change failed.'
}
