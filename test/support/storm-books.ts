// The books of a storm: what the platform holds before and after, compared with what the service says that it did.
import assert from 'node:assert/strict'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import type { Caller } from './http.ts'

/** Tables that get a row for each thing that is ordered. */
const TABLES = [
  'vms',
  'volumes',
  'vmsnapshots',
  'snapshots',
  'addresses',
  'rules',
  'firewallrules',
  'loadbalancers',
  'networks',
  'domains',
  'templates',
  'affinitygroups',
  'sshkeypairs',
  'userdata',
  'diskofferings',
  'vgpuprofiles',
  'providers',
  'elements',
] as const
type TableName = (typeof TABLES)[number]

/** What an order leaves on the platform when it is done, and does not leave when it failed. */
export interface Effect {
  /** A row of this table, under the id that the service says. */
  makes?: TableName
  /** The row of this id is there no more. */
  removes?: readonly [TableName, string]
  /** What the rows show. */
  shows?: () => boolean
  /** Where no row shows it: the platform has run this command, to its good end, once more. */
  runs?: string
}

export interface Order extends Effect {
  body?: object
  params?: Readonly<Record<string, string>>
  /** What the request must say for what destroys. */
  confirm?: string
}

/** Orders until it is done; answers the id of what it was about. */
export type Send = (kind: string, order: Order) => Promise<string>

/** What lines of orders are made of. */
export interface LineParts {
  platform: CloudStackLab
  send: Send
  /** For names, which no other round has. */
  tag: string
}

/** Orders that follow each other; lines go side by side, so what one touches no other one does. */
export type Line = () => Promise<void>

export interface Ended {
  kind: string
  id: string
  /** Interrupted: the process was killed in the middle, and the service says that the resource must be read. */
  outcome: 'done' | 'failed' | 'interrupted'
  resource_id: string | null
  reason: string
  effect: Effect
}

type Contents = Record<TableName, Set<string>>

export function contentsOf({ state: { tables } }: CloudStackLab): Contents {
  const ids = (rows: Iterable<{ id: string }>) => new Set([...rows].map(({ id }) => id))
  return {
    vms: ids(tables.vms.values()),
    volumes: ids(tables.volumes.filter(({ type, state }) => type === 'DATADISK' && state !== 'Expunged')),
    vmsnapshots: ids(tables.vmsnapshots.values()),
    snapshots: ids(tables.snapshots.filter(({ state }) => state !== 'Destroyed')),
    addresses: ids(tables.addresses.filter(({ state }) => state === 'Allocated')),
    rules: ids(tables.rules.values()),
    firewallrules: ids(tables.firewallrules.values()),
    loadbalancers: ids(tables.loadbalancers.values()),
    networks: ids(tables.networks.values()),
    domains: ids(tables.domains.values()),
    templates: ids(tables.templates.values()),
    affinitygroups: ids(tables.affinitygroups.values()),
    sshkeypairs: ids(tables.sshkeypairs.values()),
    userdata: ids(tables.userdata.values()),
    diskofferings: ids(tables.diskofferings.values()),
    vgpuprofiles: ids(tables.vgpuprofiles.values()),
    providers: ids(tables.providers.values()),
    elements: ids(tables.elements.values()),
  }
}

/** How often the platform has ended a command well. */
function runsOf({ state }: CloudStackLab, command: string): number {
  return state.tables.jobs.filter((job) => job.command === command && job.jobstatus === 1).length
}

/** Looked at before an order is sent; answers what is to be asked when it has ended. */
export function openEntry(platform: CloudStackLab, effect: Effect): (ended: Ended) => Ended {
  const before = contentsOf(platform)
  const { makes, removes, shows, runs } = effect
  const ran_before = runs === undefined ? 0 : runsOf(platform, runs)
  return (ended) => {
    const now = contentsOf(platform)
    const ran = runs === undefined ? 1 : runsOf(platform, runs) - ran_before
    const settled = ended.outcome === 'interrupted' ? settle(ended, effect, before, now, ran) : ended
    const done = settled.outcome === 'done'
    const what = `${settled.kind} ${settled.id} ${ended.outcome}: ${settled.reason}`
    if (makes !== undefined && done)
      assert.ok(now[makes].has(settled.resource_id ?? ''), `${what}; what it has made is there`)
    if (removes !== undefined) assert.equal(!now[removes[0]].has(removes[1]), done, `${what}; gone when it is done`)
    if (shows !== undefined) assert.equal(shows(), done, `${what}; to be seen when it is done`)
    if (runs !== undefined) assert.equal(ran, done ? 1 : 0, `${what}; runs of ${runs}`)
    return settled
  }
}

/** As somebody does who is asked to read the resource. */
function settle(ended: Ended, { makes, removes, shows }: Effect, before: Contents, now: Contents, ran: number): Ended {
  if (makes !== undefined) {
    const [fresh, ...others] = [...now[makes]].filter((id) => !before[makes].has(id))
    assert.equal(others.length, 0, `${ended.kind} was interrupted and is there several times`)
    return fresh === undefined ? { ...ended, outcome: 'failed' } : { ...ended, outcome: 'done', resource_id: fresh }
  }
  const gone = removes === undefined || !now[removes[0]].has(removes[1])
  return { ...ended, outcome: gone && ran > 0 && shows?.() !== false ? 'done' : 'failed' }
}

/** At the end of all: one ended event for each order, and nothing on the platform that no order has made. */
export async function balance(
  platform: CloudStackLab,
  call: Caller,
  before: Contents,
  events_before: readonly EventRow[],
  ended: readonly Ended[],
): Promise<void> {
  const earlier = new Set(events_before.map((one) => one.correlation_id))
  const events = (await eventsOf(call)).filter((one) => !earlier.has(one.correlation_id))
  const open = events.filter((one) => one.status === 'IN_PROGRESS')
  assert.deepEqual(open, [], 'every event has ended')
  for (const { kind, id, reason } of ended) {
    const own = events.filter((one) => one.correlation_id === id)
    assert.equal(own.length, 1, `${kind} ${id} has one event: ${reason}`)
  }
  const kinds = new Set(ended.map(({ kind }) => kind))
  const ids = new Set(ended.map(({ id }) => id))
  const unordered = events.filter((one) => kinds.has(one.action) && !ids.has(one.correlation_id))
  assert.deepEqual(unordered, [], 'no operation has begun that was not ordered')
  const now = contentsOf(platform)
  const done = ended.filter(({ outcome }) => outcome === 'done')
  for (const table of TABLES) {
    const made = done.filter(({ effect }) => effect.makes === table).map(({ resource_id }) => resource_id ?? '')
    const removed = done.flatMap(({ effect: { removes } }) => (removes?.[0] === table ? [removes[1]] : []))
    const expected = [...before[table], ...made].filter((id) => !removed.includes(id))
    assert.deepEqual([...now[table]].toSorted(), expected.toSorted(), `${table}: what is there is what was ordered`)
  }
  const { jobs, volumes } = platform.state.tables
  const roots = volumes.filter(({ type, state }) => type === 'ROOT' && state === 'Ready')
  const loose = roots.filter((one) => !now.vms.has(one.virtualmachineid ?? ''))
  assert.deepEqual(loose, [], 'no root disk is without its machine')
  const running = jobs.filter((one) => one.jobstatus === 0)
  assert.deepEqual(running, [], 'the platform works on nothing any more')
}

export interface EventRow {
  action: string
  correlation_id: string
  status: string
  resource_uuid: string | null
  error_message?: string
}

/** Of all operations, page by page. */
export async function eventsOf(call: Caller, filter: object = {}): Promise<EventRow[]> {
  const events: EventRow[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await call('POST', '/events/app-events', { ...filter, page, page_size: 500 })
    events.push(...body.app_events)
    if (body.app_events.length < 500) return events
  }
}
