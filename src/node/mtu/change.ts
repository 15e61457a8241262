// One MTU change on this node: persist, arm the watchdog, set live, probe, then commit or restore (Part 3, 4.6).
import type { MtuNodeApplyRequest } from '#src/contract/network/mtu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { type ChangeDeps, type ChangeErrors, note, raise as raiseGuarded, undoWhenLate } from '../guarded/change.ts'
import type { ChangePlan, MtuEntry } from './change-plan.ts'
import { readLinks } from './links.ts'
import { setLive } from './live.ts'
import { type ProbeOutcome, probePath } from './probe.ts'

export const MTU_ERRORS: ChangeErrors = {
  failed: (message, cause) => new ApiError('MTU_APPLY_FAILED', message, cause === undefined ? {} : { cause }),
  running: (subject) => new ApiError('MTU_CHANGE_RUNNING', `A change of ${subject} is under way.`),
}

/**
 * The half of a change that may happen before the peers have changed: what carries frames grows, and what sends them
 * shrinks. The other half follows once every node has done this one.
 */
export function firstHalf({ subject, devices }: MtuEntry): MtuEntry['devices'] {
  return devices.filter(({ name, old_mtu, new_mtu }) => (name === subject) === new_mtu < old_mtu)
}

/** Completes a change that was raised by its first half. Throws with the change still pending: the caller decides. */
export async function useRaised(deps: ChangeDeps, entry: MtuEntry): Promise<void> {
  const first = firstHalf(entry)
  const rest = entry.devices.filter((device) => !first.includes(device))
  const failure = await setLive(deps.host, rest, () => deps.after_step('device-set'))
  if (failure !== null) throw new ApiError('MTU_APPLY_FAILED', `The change was given up: ${failure}.`)
  await note(deps, entry, 'in use')
  await deps.after_step('live')
  await undoWhenLate(deps, entry, MTU_ERRORS)
}

/** Null when every device of the change runs at its new value. */
export async function unfinished({ host }: ChangeDeps, entry: MtuEntry): Promise<string | null> {
  const links = await readLinks(host)
  const behind = entry.devices.find(({ name, new_mtu }) => links?.find((link) => link.name === name)?.mtu !== new_mtu)
  return behind === undefined ? null : behind.name
}

/** A bridge follows its ports until its MTU was really changed once: then it waits for its own turn (linux-node.md 4.2). */
async function pin(host: Host, { subject, devices }: MtuEntry): Promise<void> {
  const own = devices.find(({ name }) => name === subject)
  if (own === undefined || own.new_mtu <= own.old_mtu) return
  for (const mtu of [own.old_mtu + 1, own.old_mtu]) {
    await host.run('ip', ['link', 'set', 'dev', subject, 'mtu', `${mtu}`], { timeout_ms: 10_000 })
  }
}

/** Makes the change known and guarded, then carries it out up to the live value. Throws with everything undone. */
export async function raise(deps: ChangeDeps, plan: ChangePlan, part: 'whole' | 'first-half' = 'whole'): Promise<void> {
  const { entry } = plan
  await raiseGuarded(deps, plan, MTU_ERRORS, async () => {
    if (part === 'first-half') await pin(deps.host, entry)
    const devices = part === 'whole' ? entry.devices : firstHalf(entry)
    return setLive(deps.host, devices, () => deps.after_step('device-set'))
  })
}

export async function probe(deps: ChangeDeps, entry: MtuEntry, target: string): Promise<ProbeOutcome> {
  const outcome = await probePath(deps.host, { device: entry.subject, target, mtu: entry.mtu })
  await note(deps, entry, `probe of ${target}: ${outcome.verdict}, ${outcome.detail}`)
  await deps.after_step('probed')
  return outcome
}

/** Probes of targets that decide nothing: the sentences about those that did not pass. */
export async function advisoryFailures(
  deps: ChangeDeps,
  entry: MtuEntry,
  targets: readonly string[],
): Promise<string[]> {
  const failures: string[] = []
  for (const target of targets) {
    const outcome = await probePath(deps.host, { device: entry.subject, target, mtu: entry.mtu })
    if (outcome.verdict !== 'pass') failures.push(`${target}: ${outcome.detail}`)
  }
  return failures
}

export function planMessage({ entry }: ChangePlan): string {
  const devices = entry.devices.map(({ name, old_mtu, new_mtu }) => `${name} ${old_mtu} to ${new_mtu}`)
  const files = entry.files.map(({ path }) => path)
  const live = devices.length === 0 ? 'no device has to change' : `would set ${devices.join(', ')}`
  return `${live}; ${files.length === 0 ? 'no file has to change' : `would write ${files.join(', ')} (${entry.manager})`}`
}

/** Identifies the change of a request; stored with it, so that a phase cannot act on another value. */
export function sameChange(entry: MtuEntry, request: MtuNodeApplyRequest): boolean {
  return entry.mtu === request.mtu && entry.dry_run === (request.dry_run === true)
}
