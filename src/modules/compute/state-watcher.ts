// Keeps vm_state true, so that state changes reach streams however they came about: one replica at a time reads the
// platform's events every few seconds and all states now and then (cloudstack.md 7), and both rarely while its webhook
// tells us of everything.
import { platformTime } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { busyResources } from '#src/jobs/lookup.ts'
import type { Background, Wait } from '#src/kernel/background.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Database } from '#src/store/database.ts'
import { createLeader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import { databaseClock } from '#src/store/tenants.ts'
import { createHookCheck, type HookCheck } from './hook-check.ts'
import { createHookRegistration, type HookRegistration } from './hook-registration.ts'
import { storeEvents } from './stored-events.ts'
import { knownIds, recordGone, recordStates, seenOf, type SeenVm } from './vm-states.ts'

interface WatcherOptions {
  cloudstack: CloudStack
  database: Database
  events_poll_ms: number
  states_poll_ms: number
  hook: HookRegistration
  log: Log
  background: Background
  /** Tests bring a clock of their own. */
  wait?: Wait
}

/** Reads all states for as long as it runs. */
export interface StateWatcher {
  start(): void
  stop(): Promise<void>
  /** Reads these machines now: after a webhook, or a job. */
  poll(ids: readonly string[]): Promise<void>
}

/** With the NICs: a machine is found by their addresses. */
const DETAILS = 'min,nics'
const FAST_POLL_MS = 2000
/** The platform's clock has seconds; an event of the same second must not be missed. */
const OVERLAP_MS = 2000
/** With a webhook that delivers: each poll costs the platform, and its log, as much as the machines are many. */
const EVENTS_WITH_HOOK_MS = 60_000
const STATES_WITH_HOOK_MS = 90_000
const MAX_IDS = 500
/** Sets the webhook again when somebody removed or disabled it. */
const HOOK_POLL_MS = 600_000

export function createStateWatcher(options: WatcherOptions): StateWatcher {
  const { cloudstack, database, log, background } = options
  const leader = createLeader({ database, lock: LOCKS.compute_watcher, name: 'watcher', log, background }, (held) =>
    watch(options, held),
  )
  return {
    start() {
      if (cloudstack.configured) leader.start()
    },
    stop: () => leader.stop(),
    poll: (ids) => pollVms(options, ids),
  }
}

async function watch(options: WatcherOptions, signal: AbortSignal): Promise<void> {
  const { cloudstack, database, background, events_poll_ms, states_poll_ms, log } = options
  const hook = createHookCheck(database)
  const events = createEventReader(options, hook)
  const slower = (poll_ms: number, with_hook_ms: number) => () =>
    hook.delivers() ? Math.max(poll_ms, with_hook_ms) : poll_ms
  const every = (poll: string, interval_ms: () => number, work: () => Promise<void>) =>
    background.repeat(`compute-${poll}`, interval_ms, signal, work, options.wait)
  await Promise.all([
    every('webhook', () => HOOK_POLL_MS, createHookRegistration(cloudstack, options.hook, log)),
    every('events', slower(events_poll_ms, EVENTS_WITH_HOOK_MS), async () =>
      pollVms(options, await events(signal), signal),
    ),
    every('states', slower(states_poll_ms, STATES_WITH_HOOK_MS), () => pollAllVms(options, signal)),
    every(
      'busy',
      () => FAST_POLL_MS,
      // Machines with a running job of ours change soon.
      async () => pollVms(options, await busyResources(database.db, 'VM', MAX_IDS), signal),
    ),
  ])
}

/** All machines, page by page; what is in the table and in no page is gone. */
async function pollAllVms({ cloudstack, database }: WatcherOptions, signal: AbortSignal): Promise<void> {
  const before = new Set(await knownIds(database))
  const first_poll = before.size === 0
  const read_at = await databaseClock(database.db)
  const unclear: string[] = []
  for await (const rows of cloudstack.listPages(
    'listVirtualMachines',
    { details: DETAILS, ...WHOLE_SCOPE },
    'virtualmachine',
    { signal },
  )) {
    const seen = seenRows(rows)
    for (const vm of seen) before.delete(vm.id)
    unclear.push(...(await recordStates(database, seen, read_at, first_poll)))
  }
  // A row may move between pages while they are read: only what is not found by its own id either is gone.
  await recordMissing({ cloudstack, database }, [...before], signal)
  await pollVms({ cloudstack, database }, unclear, signal)
}

async function recordMissing(
  { cloudstack, database }: Pick<WatcherOptions, 'cloudstack' | 'database'>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const gone: string[] = []
  const unclear: string[] = []
  for (const id of ids) {
    const read_at = await databaseClock(database.db)
    const found = await readOne(cloudstack, id, signal)
    if (found === null) gone.push(id)
    else unclear.push(...(await recordStates(database, [found], read_at)))
  }
  await recordGone(database, gone)
  await pollVms({ cloudstack, database }, unclear, signal)
}

/** Machines named by events, hooks and jobs. An id that the list with `ids` does not return is asked for by itself. */
async function pollVms(
  { cloudstack, database }: Pick<WatcherOptions, 'cloudstack' | 'database'>,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const wanted = [...new Set(ids)].slice(0, MAX_IDS)
  if (wanted.length === 0) return
  const read_at = await databaseClock(database.db)
  const args = { ids: wanted, details: DETAILS, listall: true, page: 1, pagesize: wanted.length }
  const content = await cloudstack.call('listVirtualMachines', args, { signal }).catch((error: unknown) => {
    // One unknown id spoils the whole list.
    if (error instanceof CloudStackError && error.status === 431) return {}
    throw error
  })
  const seen = seenRows(rowsOf(content, 'virtualmachine'))
  const unclear = await recordStates(database, seen, read_at)
  const missing = wanted.filter((id) => seen.every((vm) => vm.id !== id))
  await recordMissing({ cloudstack, database }, missing, signal ?? new AbortController().signal)
  await pollVms({ cloudstack, database }, unclear, signal)
}

async function readOne(cloudstack: CloudStack, id: string, signal: AbortSignal): Promise<SeenVm | null> {
  try {
    const content = await cloudstack.call(
      'listVirtualMachines',
      { id, details: DETAILS, listall: true, page: 1, pagesize: 2 },
      { signal },
    )
    const row = rowsOf(content, 'virtualmachine')[0]
    return row === undefined ? null : seenOf(row)
  } catch (error) {
    if (error instanceof CloudStackError && error.status === 431) return null
    throw error
  }
}

function seenRows(rows: readonly Raw[]): SeenVm[] {
  return rows.map(seenOf).filter((vm) => vm !== null)
}

/** Ids of machines that events since the last reading are about. */
function createEventReader(
  { cloudstack, database }: WatcherOptions,
  hook: HookCheck,
): (signal: AbortSignal) => Promise<string[]> {
  let since_ms = Date.now()
  let known = new Set<string>()
  return async (signal) => {
    const args = { ...WHOLE_SCOPE, startdate: platformTime(since_ms - OVERLAP_MS) }
    const seen = new Set<string>()
    const fresh: Raw[] = []
    let newest_ms = since_ms
    for await (const rows of cloudstack.listPages('listEvents', args, 'event', { signal })) {
      for (const row of rows) {
        const id = textOf(row, 'id') ?? ''
        seen.add(id)
        if (!known.has(id)) fresh.push(row)
        newest_ms = Math.max(newest_ms, Date.parse(timeOf(row, 'created') ?? '') || 0)
      }
    }
    await storeEvents(database.db, fresh)
    await hook.compare(fresh.map((row) => textOf(row, 'id') ?? ''))
    // Only now: a reading that failed in between is made again in whole.
    since_ms = newest_ms
    known = seen
    return fresh
      .filter(isAboutVm)
      .map((row) => textOf(row, 'resourceid') ?? '')
      .filter((id) => id !== '')
  }
}

function isAboutVm(row: Raw): boolean {
  return textOf(row, 'resourcetype') === 'VirtualMachine' || (textOf(row, 'type') ?? '').startsWith('VM.')
}
