// Steps at the distributed store: the data of the node moves to the others, then its daemons go. A node that served it at admission
// never skips them: a store that falls silent is no reason to believe that its data is elsewhere. What was not wrong with the store
// before is waited for: nothing is changed while it lasts, and neither step ends.
import type { Ceph } from '#src/drivers/ceph/client.ts'
import type { StoreFinding, StoreState } from '#src/drivers/ceph/state.ts'
import type { Holds } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { rejections } from '../decommission/checks-storage.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import type { StorageReading } from '../decommission/readings.ts'
import { memberOf, readingOf, type StoreMember } from '../decommission/store-reading.ts'
import { storeClientOf } from '../store-client.ts'
import type { LeaveRun, LeaveStep } from './run.ts'

const HOURS_MS = 3600_000
/** The store itself renews its figures every five seconds. */
const POLL_MS = 10_000

export const storageDrain: LeaveStep = {
  name: 'storage-drain',
  title: TITLES['storage-drain'],
  weight: 10,
  applies: (run) => isMember(run, ({ osds }) => osds.length > 0, 'No disk of the node is in the distributed store.'),
  async holds(run): Promise<Holds> {
    const { state, member } = await now(run)
    return worse(run, state).length === 0 && isDrained(run, member)
  },
  run: drain,
  timeout_ms: 24 * HOURS_MS,
}

export const storageRemove: LeaveStep = {
  name: 'storage-remove',
  title: TITLES['storage-remove'],
  weight: 2,
  async applies(run) {
    const is_member = await isMember(run, (member) => !isGone(member), 'The node is no member of a distributed store.')
    return is_member === true || !(await isClient(run)) ? is_member : true
  },
  async holds(run): Promise<Holds> {
    const { state, member } = await now(run)
    return isGone(member) && !(await isClient(run)) && worse(run, state).length === 0
  },
  run: remove,
  timeout_ms: HOURS_MS,
}

async function isMember(run: LeaveRun, is: (member: StoreMember) => boolean, why_not: string): Promise<string | true> {
  if (run.input.store_served) return true
  if (run.deps.ceph === undefined) return 'No distributed store is configured.'
  return is((await now(run)).member) || why_not
}

async function now(run: LeaveRun): Promise<{ ceph: Ceph; state: StoreState; member: StoreMember }> {
  const { ceph } = run.deps
  if (ceph === undefined) {
    throw new ApiError('NODE_STATE', 'The node serves a distributed store, and none is configured: set ceph.conf, then retry.') // biome-ignore format: one sentence
  }
  const state = await ceph.state({ signal: run.signal })
  return { ceph, state, member: memberOf(state, run.input.names) }
}

/** The setup of the node made a key for it. */
async function isClient({ deps, input, signal }: LeaveRun): Promise<boolean> {
  return (await deps.ceph?.clientKey(storeClientOf(input), { signal })) !== undefined
}

const ids = ({ osds }: Pick<StoreMember, 'osds'>): number[] => osds.map(({ id }) => id)
const isEmptied = ({ osds }: StoreMember): boolean => osds.every(({ is_in, weight }) => !is_in && weight === 0)

async function isDrained(run: LeaveRun, member: StoreMember): Promise<boolean> {
  if (member.osds.length === 0) return true
  return isEmptied(member) && (await run.deps.ceph?.isDrained(ids(member), { signal: run.signal })) === true
}

/** The job is let go while the data moves. */
async function drain(run: LeaveRun): Promise<void> {
  const { ceph, state, member } = await now(run)
  const { signal } = run
  requireKnown(run, member)
  if (run.state.store_findings === undefined) {
    // What the preflight said may be hours old.
    const reading = readingOf(state, run.input.names)
    const refused = rejections(reading)
    if (refused.length > 0) throw new ApiError('NODE_STATE', `Nothing was moved: ${refused.join(' ')}`)
    await run.save({ store_findings: { ...codesOf(state), ...(willBeNearFull(reading) ? NEAR_FULL : {}) } })
  }
  await waitForWorse(run, state, OF_A_MOVE)
  if (!isEmptied(member)) {
    const used = member.osds.reduce((sum, { used_bytes }) => sum + used_bytes, 0)
    await run.note('INFO', `Moving the data of ${named(member)} away.`, { osds: ids(member), used_bytes: used })
    // All at once first, so that nothing moves from one of them to another.
    await ceph.markOut(ids(member), { signal })
    for (const { id, weight } of member.osds) if (weight > 0) await ceph.takeWeight(id, { signal })
    // Until it has renewed its figures, they tell of the time before: all clean, and nothing on these daemons.
    await run.repeatAfter(POLL_MS)
  }
  if (await isDrained(run, member)) return await waitForWorse(run, (await now(run)).state)
  run.progress(0, `Moving data: ${state.findings[0]?.message ?? 'copies are being made'}`)
  await run.repeatAfter(POLL_MS)
}

/** Monitors and managers first: while the disks are still there, everything is as it was. */
async function remove(run: LeaveRun): Promise<void> {
  const { ceph, state, member } = await now(run)
  const { signal } = run
  requireKnown(run, member)
  if (run.state.store_findings === undefined) await run.save({ store_findings: codesOf(state) })
  await waitForWorse(run, state)
  for (const { name } of member.monitors) {
    if (!(await ceph.mayLoseMonitor(name, { signal })))
      throw new ApiError(
        'NODE_STATE',
        `Without the monitor ${name} the others of the store are no majority: add one first.`,
      )
    await ceph.removeMonitor(name, { signal })
    await run.note('INFO', `Removed the monitor ${name}.`)
  }
  const active = member.managers.find(({ is_active }) => is_active)
  if (active !== undefined) await passOn(run, state, member, active.name)
  if (member.osds.length > 0) await removeDisks(run, ceph, member)
  for (const name of memberOf(await ceph.state({ signal }), run.input.names).empty_hosts)
    await ceph.removeBucket(name, { signal })
  if (await isClient(run)) {
    await ceph.removeClient(storeClientOf(run.input), { signal })
    await run.note('INFO', `The store knows no key of the node any more.`)
  }
  const after = await now(run)
  await waitForWorse(run, after.state)
  if (!isGone(after.member)) await run.repeatAfter(POLL_MS)
}

async function passOn(run: LeaveRun, state: StoreState, { managers }: StoreMember, name: string): Promise<void> {
  const others = state.managers.filter((one) => !managers.some((own) => own.name === one.name))
  if (others.length === 0) {
    throw new ApiError('NODE_STATE', `The manager ${name} of the store is its only one: start one on another node.`)
  }
  await run.deps.ceph?.failManager(name, { signal: run.signal })
  await run.note('INFO', `The manager ${name} has passed its work on.`)
}

async function removeDisks(run: LeaveRun, ceph: Ceph, member: StoreMember): Promise<void> {
  const { signal } = run
  if (!(await isDrained(run, member)))
    throw new ApiError('NODE_STATE', `Copies of data are still on ${named(member)}: nothing was removed.`)
  const up = member.osds.filter(({ is_up }) => is_up)
  if (up.length > 0) {
    await ceph.stop(ids({ osds: up }), { signal })
    await run.repeatAfter(POLL_MS)
  }
  for (const { id } of member.osds) {
    await ceph.purge(id, { signal })
    await run.note('DESTRUCTIVE', `Removed osd.${id} from the store; it held no copy of any data.`)
  }
}

/** A manager in reserve does nothing, and ends with its machine. */
function isGone({ osds, monitors, managers, empty_hosts }: StoreMember): boolean {
  return osds.length + monitors.length + empty_hosts.length === 0 && !managers.some(({ is_active }) => is_active)
}

/** Nothing is removed that was not there when the caller agreed. */
function requireKnown({ input }: LeaveRun, member: StoreMember): void {
  const strangers = input.osds === undefined ? [] : ids(member).filter((id) => input.osds?.includes(id) !== true)
  if (strangers.length === 0) return
  throw new ApiError('NODE_STATE', `${strangers.map((id) => `osd.${id}`).join(', ')} came to the node after its preflight: take them out of the store by hand, then retry.`) // biome-ignore format: one sentence
}

const named = (member: StoreMember): string =>
  ids(member)
    .map((id) => `osd.${id}`)
    .join(', ')

/** While data moves, and only then: copies that are being made count as missing, or as misplaced. None is given up for them. */
const OF_A_MOVE = ['PG_DEGRADED', 'OBJECT_MISPLACED']
/** The caller was warned of them. */
const NEAR_FULL = { OSD_NEARFULL: 'HEALTH_WARN', POOL_NEARFULL: 'HEALTH_WARN' } as const

const willBeNearFull = ({ without }: StorageReading): boolean =>
  without !== null && without.used_share >= without.near_full_share

const codesOf = ({ findings }: StoreState) => Object.fromEntries(findings.map(({ code, severity }) => [code, severity]))

/** What was not wrong when the first of the two steps began, or less so. */
function worse({ state }: LeaveRun, { findings }: StoreState, apart_from: readonly string[] = []): StoreFinding[] {
  const before = state.store_findings
  if (before === undefined) return []
  return findings.filter(({ code, severity }) => before[code] !== 'HEALTH_ERR' && before[code] !== severity && !apart_from.includes(code)) // biome-ignore format: one rule
}

async function waitForWorse(run: LeaveRun, state: StoreState, apart_from?: readonly string[]): Promise<void> {
  const found = worse(run, state, apart_from)
  if (found.length === 0) return
  const names = found.map(({ code, message }) => `${message} (${code})`).join('; ')
  const codes = found.map(({ code }) => code).join(' ')
  if (run.state.store_waits_for !== codes) {
    await run.note('WARN', `Nothing is changed until the store is as it was before: ${names}`)
    await run.save({ store_waits_for: codes })
  }
  run.progress(0, `Waiting until the store is as it was before: ${names}`)
  await run.repeatAfter(POLL_MS)
}
