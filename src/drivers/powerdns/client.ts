// PowerDNS Authoritative as the name server of address management. Records are written as whole sets of one name and type
// in one transaction; writers hold the server's lock.
import pLimit from 'p-limit'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { setTimeout as pause } from 'node:timers/promises'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { DnsLimits, DnsServer, RecordChange, ZoneHead, ZoneNames, ZoneState } from '../ddi/dns-server.ts'
import { createLinesOff, FoundLines, type ZoneSets } from './lines-off.ts'
import { bare, changedSets, dotted, RecordSet, recordsOf, writeSets } from './record-form.ts'
import { type PowerDnsOptions, type ZoneAccess, zoneChanges } from './zone-changes.ts'
import { gone, typeOf, zonePath } from './zone-form.ts'
import { createPowerDnsTransport, type PowerDnsCall, type PowerDnsConfig, type PowerDnsTransport } from './transport.ts'

export interface PowerDns extends DnsServer {
  close(): Promise<void>
}

const Lines = Compile(FoundLines)
const ListedZones = Type.Array(
  Type.Object({ name: Type.String(), kind: Type.String(), serial: Type.Optional(Type.Integer()) }),
)
const Zones = Compile(ListedZones)
const ZoneDetail = Type.Object({
  name: Type.String(),
  kind: Type.String(),
  serial: Type.Optional(Type.Integer()),
  masters: Type.Optional(Type.Array(Type.String())),
  rrsets: Type.Array(RecordSet),
  dnssec: Type.Optional(Type.Boolean()),
  api_rectify: Type.Optional(Type.Boolean()),
})
type ZoneDetail = Static<typeof ZoneDetail>
const Zone = Compile(ZoneDetail)
const Metadata = Compile(Type.Object({ metadata: Type.Array(Type.String()) }))
const Statistics = Compile(
  Type.Array(Type.Object({ name: Type.String(), type: Type.String(), value: Type.Optional(Type.Unknown()) })),
)
const Ring = Compile(
  Type.Array(Type.Object({ name: Type.String(), value: Type.Union([Type.String(), Type.Number()]) })),
)

const ZONES_AT_ONCE = 8
/** A busy server takes so long to write out a hundred thousand records. */
const WHOLE_ZONE_MS = 60_000
/** SQLite refuses a write while another one runs; nothing is changed then. */
const WRITE_TRIES = 5
const WRITE_PAUSE_MS = 100

export const POWERDNS_LIMITS: DnsLimits = {
  record_types: 'any',
  conversions: { Primary: ['Secondary'], Secondary: ['Primary'], Stub: [], Forwarder: [] },
  renamable: ['Primary'],
  pausable: ['Primary'],
  max_comment_bytes: 255,
}

export function createPowerDns(config: PowerDnsConfig, options: PowerDnsOptions): PowerDns {
  const transport = createPowerDnsTransport(config)
  const read: Read = (path, { query, signal, timeout_ms = 0 } = {}) =>
    transport.send({ method: 'GET', path, timeout_ms, signal, ...(query === undefined ? {} : { query }) })
  const reads = readsOf(read)
  const write = writer(transport)
  const off = createLinesOff({
    async whole(zone) {
      const found = await zoneOf(read, zone)
      if (found === undefined) throw gone(zone)
      return { serial: found.serial ?? 0, sets: found.rrsets }
    },
    search: async (query) => checked(Lines, await read('/search-data', { query }), 'search'),
  })
  return {
    kind: 'powerdns',
    limits: POWERDNS_LIMITS,
    ...reads,
    ...zoneChanges({ write, zone: reads.zone, setsOf: (zone) => setsOf(read, zone) }, options),
    async changeRecords(zone, changes, check) {
      const before = await zoneBefore(read, zone, changes)
      check?.(before)
      if (before === undefined) throw gone(zone)
      const { must_rectify, names, serial } = before
      // A whole zone shows them itself.
      const there = names.size > MOST_NAMES ? before.sets : await off.with(zone, before, names)
      const sets = changedSets(there, changes)
      if (sets.length === 0) return
      const path = zonePath(zone)
      if (must_rectify) await write({ method: 'PUT', path, body: { api_rectify: true } })
      await write({ method: 'PATCH', path, body: { rrsets: writeSets(sets) } })
      off.changed(zone, serial, sets)
      if (must_rectify) await write({ method: 'PUT', path, body: { api_rectify: false } })
    },
    close: () => transport.close(),
  }
}

type Query = Record<string, string> | undefined
type Read = (
  path: string,
  how?: { query?: Query; signal?: AbortSignal | undefined; timeout_ms?: number },
) => Promise<unknown>
type Reads = Pick<DnsServer, 'check' | 'zones' | 'zone' | 'zoneHeads' | 'zoneHead' | 'records' | 'queryCount'>

function readsOf(read: Read): Reads {
  const listed = async (signal?: AbortSignal): Promise<Static<typeof ListedZones>> =>
    checked(Zones, await read('/zones', { signal }), 'zones')
  return {
    async check(signal) {
      if ((await read('', { signal })) === undefined) throw unknownForm('server')
    },
    async zones(signal) {
      const rows = await listed(signal)
      const limit = pLimit(ZONES_AT_ONCE)
      const states = rows.map(({ name }) =>
        limit(async () => {
          const detail = await apexOf(read, bare(name), signal)
          return detail === undefined ? [] : [await stateOf(read, detail, signal)]
        }),
      )
      return (await Promise.all(states)).flat()
    },
    async zone(name, signal) {
      const detail = await apexOf(read, name, signal)
      return detail === undefined ? undefined : stateOf(read, detail, signal)
    },
    async zoneHeads(signal) {
      const rows = await listed(signal)
      // The serial stands still while a zone is off, and the list then says 0.
      return rows.map(({ name, kind, serial = 0 }) => ({
        name: bare(name),
        type: typeOf(kind),
        serial: serial === 0 ? null : serial,
      }))
    },
    async zoneHead(name, signal) {
      const detail = await apexOf(read, name, signal)
      return detail === undefined ? undefined : headOf(detail)
    },
    async records(zone, { fqdn } = {}, signal) {
      const query = fqdn === undefined ? undefined : { rrset_name: dotted(fqdn) }
      return (await setsOf(read, zone, query, signal)).flatMap(recordsOf)
    },
    async queryCount(zone, signal) {
      const rows = checked(Statistics, await read('/statistics', { signal }), 'statistics')
      const ring = rows.find((row) => row.type === 'RingStatisticItem' && row.name === 'queries')?.value
      if (!Ring.Check(ring)) return null
      return ring
        .filter(({ name }) => isInside(bare(name.split('/')[0] ?? ''), zone))
        .reduce((sum, { value }) => sum + Number(value), 0)
    },
  }
}

/** More names are as long to ask for as the whole zone. */
const MOST_NAMES = 50

/**
 * The sets of the names that change, because a large zone takes seconds to read. A zone of ours is not rectified by each
 * change, which takes as long; one that is signed must be, and one with a name of several labels, whose parents exist then.
 */
async function zoneBefore(
  read: Read,
  zone: string,
  changes: readonly RecordChange[],
): Promise<(ZoneNames & ZoneSets & { names: ReadonlySet<string>; must_rectify: boolean }) | undefined> {
  const names = new Set(
    changes.flatMap((change) => [
      ...('old' in change ? [change.old.fqdn] : []),
      ...('record' in change ? [change.record.fqdn] : []),
    ]),
  )
  const single = names.size > MOST_NAMES ? [] : [...names]
  const zones = await Promise.all(
    single.length === 0 ? [zoneOf(read, zone)] : single.map((name) => nameOf(read, zone, name)),
  )
  const answers = zones.filter((one) => one !== undefined)
  const [first] = answers
  if (first === undefined) return undefined
  const is_deep = [...names].some((name) => name.slice(0, -zone.length - 1).includes('.'))
  const must_rectify = answers.some((one) => one.api_rectify === false && (is_deep || one.dnssec === true))
  const sets = answers.flatMap((one) => one.rrsets)
  const records = sets.flatMap(recordsOf).filter((record) => names.has(record.fqdn))
  return { type: typeOf(first.kind), serial: first.serial ?? 0, records, sets, names, must_rectify }
}

/** With its own sets: 4.7 answers those of other names too where they have a comment, without their lines. */
async function nameOf(read: Read, zone: string, name: string): Promise<ZoneDetail | undefined> {
  const found = await zoneOf(read, zone, { rrset_name: dotted(name) })
  return found && { ...found, rrsets: found.rrsets.filter((set) => bare(set.name) === name) }
}

async function setsOf(
  read: Read,
  zone: string,
  query?: Record<string, string>,
  signal?: AbortSignal,
): Promise<RecordSet[]> {
  const found = await zoneOf(read, zone, query, signal)
  if (found === undefined) throw gone(zone)
  return found.rrsets
}

async function zoneOf(
  read: Read,
  zone: string,
  query?: Record<string, string>,
  signal?: AbortSignal,
): Promise<ZoneDetail | undefined> {
  const found = await read(zonePath(zone), { query, signal, timeout_ms: query === undefined ? WHOLE_ZONE_MS : 0 })
  return found === undefined ? undefined : checked(Zone, found, 'zone')
}

/** One write at a time, and once more while the server's database is locked, or when nobody knows what became of whole sets. */
function writer(transport: PowerDnsTransport): ZoneAccess['write'] {
  const turn = pLimit(1)
  return (call) =>
    turn(async () => {
      for (let tried = 1; ; tried += 1) {
        try {
          return await transport.send(call)
        } catch (error) {
          const again = error instanceof UpstreamError && (error.status === 500 || isLost(error, call))
          if (!again || tried === WRITE_TRIES) throw error
          await pause(WRITE_PAUSE_MS * tried)
        }
      }
    })
}

/** A set written twice is the same set. */
function isLost({ failure }: UpstreamError, { method }: Omit<PowerDnsCall, 'signal'>): boolean {
  return method === 'PATCH' && failure === 'unavailable'
}

/** With its start of authority alone, unless that is off: a record that is off may be left out of a filtered answer. */
function apexOf(read: Read, name: string, signal?: AbortSignal): Promise<ZoneDetail | undefined> {
  return zoneOf(read, name, { rrset_name: dotted(name), rrset_type: 'SOA' }, signal)
}

async function stateOf(read: Read, detail: ZoneDetail, signal?: AbortSignal): Promise<ZoneState> {
  const head = headOf(detail)
  const metadata = await read(`${zonePath(head.name)}/metadata/ALLOW-AXFR-FROM`, { signal })
  const soa = startOf(detail)
  return {
    ...head,
    enabled: head.type === 'Secondary' || (soa !== undefined && soa.disabled !== true),
    masters: detail.masters ?? [],
    notify: detail.kind === 'Master',
    transfer: Metadata.Check(metadata) && metadata.metadata.length > 0,
    modified_at: null,
  }
}

function headOf(detail: ZoneDetail): ZoneHead {
  const { name, kind, serial = 0 } = detail
  return { name: bare(name), type: typeOf(kind), serial: serial === 0 ? serialIn(startOf(detail)?.content) : serial }
}

function startOf({ rrsets }: ZoneDetail) {
  return rrsets.find((set) => set.type === 'SOA')?.records[0]
}

/** The serial stands still while a zone is off, and the API then says 0. */
function serialIn(soa: string | undefined): number | null {
  const serial = Number(soa?.split(/\s+/)[2])
  return Number.isInteger(serial) ? serial : null
}

function isInside(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`)
}

function checked<T>(form: { Check(value: unknown): value is T }, value: unknown, what: string): T {
  if (form.Check(value)) return value
  throw unknownForm(what)
}

function unknownForm(what: string): UpstreamError {
  const detail = `the ${what} does not have the form of the API that this version knows`
  return new UpstreamError({ upstream: 'DNS', operation: what, failure: 'error', detail })
}
