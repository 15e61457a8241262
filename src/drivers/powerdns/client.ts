// PowerDNS Authoritative as the name server of address management. Records are written as whole sets of one name and type
// in one transaction; writers hold the server's lock.
import pLimit from 'p-limit'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { setTimeout as pause } from 'node:timers/promises'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { DnsLimits, DnsServer, RecordChange, ZoneState, ZoneType } from '../ddi/dns-server.ts'
import { RejectionError } from '../ddi/rejection.ts'
import { bare, changedSets, dotted, RecordSet, recordsOf } from './record-form.ts'
import { createPowerDnsTransport, type PowerDnsCall, type PowerDnsConfig, type PowerDnsTransport } from './transport.ts'

export interface PowerDnsOptions {
  /** Full names of the name servers that new zones get. */
  name_servers: readonly string[]
  /** Mail address of new zones in the form of a name: hostmaster.example.net. */
  hostmaster: string
  /** Networks that may copy zones whose transfer is on. */
  transfer_networks: readonly string[]
  /** Secondaries to tell besides the name servers of the zone: address:port. */
  also_notify?: readonly string[]
}

export interface PowerDns extends DnsServer {
  close(): Promise<void>
}

const ListedZone = Type.Object({
  name: Type.String(),
  kind: Type.String(),
  serial: Type.Optional(Type.Integer()),
  masters: Type.Optional(Type.Array(Type.String())),
})
const Zones = Compile(Type.Array(ListedZone))
const ZoneDetail = Type.Object({
  ...ListedZone.properties,
  rrsets: Type.Array(RecordSet),
  dnssec: Type.Optional(Type.Boolean()),
  api_rectify: Type.Optional(Type.Boolean()),
})
const Zone = Compile(ZoneDetail)
const Metadata = Compile(Type.Object({ metadata: Type.Array(Type.String()) }))
const Statistics = Compile(
  Type.Array(Type.Object({ name: Type.String(), type: Type.String(), value: Type.Optional(Type.Unknown()) })),
)
const Ring = Compile(
  Type.Array(Type.Object({ name: Type.String(), value: Type.Union([Type.String(), Type.Number()]) })),
)

/** Yyyymmddnn. With any word that it does not know PowerDNS never raises the serial, and no secondary ever follows. */
const SERIAL_RULE = 'DEFAULT'
const ZONES_AT_ONCE = 8
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
  const read: Read = (path, query, signal) =>
    transport.send({ method: 'GET', path, ...(query === undefined ? {} : { query }), signal })
  const reads = readsOf(read)
  const api: Api = { write: writer(transport), reads, setsOf: (zone) => setsOf(read, zone) }
  return {
    kind: 'powerdns',
    limits: POWERDNS_LIMITS,
    ...reads,
    ...zoneChanges(api, options),
    async changeRecords(zone, changes) {
      const { sets, must_rectify } = await zoneBefore(read, zone, changes)
      const rrsets = changedSets(sets, changes)
      if (rrsets.length === 0) return
      const path = zonePath(zone)
      if (must_rectify) await api.write({ method: 'PUT', path, body: { api_rectify: true } })
      await api.write({ method: 'PATCH', path, body: { rrsets } })
      if (must_rectify) await api.write({ method: 'PUT', path, body: { api_rectify: false } })
    },
    close: () => transport.close(),
  }
}

type Read = (path: string, query?: Record<string, string>, signal?: AbortSignal) => Promise<unknown>
type Reads = Pick<DnsServer, 'check' | 'zones' | 'zone' | 'records' | 'queryCount'>

interface Api {
  write: Write
  reads: Reads
  setsOf(zone: string): Promise<RecordSet[]>
}

function readsOf(read: Read): Reads {
  return {
    async check(signal) {
      if ((await read('', undefined, signal)) === undefined) throw unknownForm('server')
    },
    async zones(signal) {
      const rows = checked(Zones, await read('/zones', undefined, signal), 'zones')
      const limit = pLimit(ZONES_AT_ONCE)
      return Promise.all(rows.map((row) => limit(() => zoneState(read, row, signal))))
    },
    async zone(name, signal) {
      const rows = checked(Zones, await read('/zones', { zone: dotted(name) }, signal), 'zones')
      return rows[0] === undefined ? undefined : zoneState(read, rows[0], signal)
    },
    async records(zone, { fqdn } = {}, signal) {
      const query = fqdn === undefined ? undefined : { rrset_name: dotted(fqdn) }
      return (await setsOf(read, zone, query, signal)).flatMap(recordsOf)
    },
    async queryCount(zone, signal) {
      const rows = checked(Statistics, await read('/statistics', undefined, signal), 'statistics')
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
): Promise<{ sets: RecordSet[]; must_rectify: boolean }> {
  const names = new Set(
    changes.flatMap((change) => [
      ...('old' in change ? [change.old.fqdn] : []),
      ...('record' in change ? [change.record.fqdn] : []),
    ]),
  )
  const queries = names.size > MOST_NAMES ? [undefined] : [...names].map((name) => ({ rrset_name: dotted(name) }))
  const answers = await Promise.all(queries.map((query) => zoneOf(read, zone, query)))
  const is_deep = [...names].some((name) => name.slice(0, -zone.length - 1).includes('.'))
  const must_rectify = answers.some((one) => one.api_rectify === false && (is_deep || one.dnssec === true))
  return { sets: answers.flatMap((one) => one.rrsets), must_rectify }
}

async function setsOf(
  read: Read,
  zone: string,
  query?: Record<string, string>,
  signal?: AbortSignal,
): Promise<RecordSet[]> {
  return (await zoneOf(read, zone, query, signal)).rrsets
}

async function zoneOf(
  read: Read,
  zone: string,
  query?: Record<string, string>,
  signal?: AbortSignal,
): Promise<Static<typeof ZoneDetail>> {
  const found = await read(zonePath(zone), query, signal)
  if (found === undefined) throw gone(zone)
  return checked(Zone, found, 'zone')
}

type ZoneChanges = Pick<
  DnsServer,
  'createZone' | 'changeZone' | 'convertZone' | 'renameZone' | 'deleteZone' | 'transferZone' | 'notifyZone'
>

function zoneChanges({ write, reads, setsOf: sets }: Api, options: PowerDnsOptions): ZoneChanges {
  const { also_notify = [], transfer_networks } = options
  const found = async (name: string): Promise<ZoneState> => {
    const zone = await reads.zone(name)
    if (zone === undefined) throw gone(name)
    return zone
  }
  const setTransfer = (name: string, on: boolean): Promise<unknown> =>
    setMetadata(write, name, 'ALLOW-AXFR-FROM', on ? transfer_networks : [])
  const setEnabled = async (name: string, enabled: boolean): Promise<void> => {
    const soa = (await sets(name)).find((set) => set.type === 'SOA')
    if (soa === undefined) throw gone(name)
    const records = soa.records.map((line) => ({ ...line, disabled: !enabled }))
    const rrsets = [{ name: soa.name, type: 'SOA', ttl: soa.ttl, changetype: 'REPLACE', records }]
    await write({ method: 'PATCH', path: zonePath(name), body: { rrsets } })
  }
  const create = async (name: string, kind: string, masters: readonly string[], rrsets: unknown[]): Promise<void> => {
    const body = {
      name: dotted(name),
      kind,
      masters,
      soa_edit_api: SERIAL_RULE,
      api_rectify: false,
      nameservers: [],
      rrsets,
    }
    await write({ method: 'POST', path: '/zones', body })
  }
  const copy = async (name: string): Promise<void> =>
    void (await write({ method: 'PUT', path: `${zonePath(name)}/axfr-retrieve` }))
  return {
    async createZone({ name, type, masters = [], notify = true, transfer = false, enabled = true }) {
      const primary = type === 'Primary'
      await create(name, kindOf(type, notify), masters, primary ? apexSets(name, options) : [])
      if (!primary) await copy(name)
      if (transfer) await setTransfer(name, true)
      if (primary && notify && also_notify.length > 0) await setMetadata(write, name, 'ALSO-NOTIFY', also_notify)
      if (!enabled) await setEnabled(name, false)
    },
    async changeZone(name, { masters, notify, transfer, enabled }) {
      const zone = await found(name)
      if (masters !== undefined || notify !== undefined) {
        const kind = kindOf(zone.type, notify ?? zone.notify)
        await write({
          method: 'PUT',
          path: zonePath(name),
          body: { kind, ...(masters === undefined ? {} : { masters }) },
        })
      }
      if (transfer !== undefined) await setTransfer(name, transfer)
      if (enabled !== undefined && enabled !== zone.enabled) await setEnabled(name, enabled)
    },
    async convertZone(name, type, masters) {
      await write({ method: 'PUT', path: zonePath(name), body: { kind: kindOf(type, true), masters } })
      if (type === 'Secondary') await copy(name)
    },
    async renameZone(name, new_name) {
      const zone = await found(name)
      const moved = (await sets(name)).map((set) => movedSet(set, name, new_name))
      await create(new_name, kindOf(zone.type, zone.notify), zone.masters, moved)
      if (zone.transfer) await setTransfer(new_name, true)
      // Only a change rectifies, and names between the zone and deeper ones exist by that.
      await write({ method: 'PUT', path: zonePath(new_name), body: { api_rectify: true } })
      await setEnabled(new_name, zone.enabled)
      await write({ method: 'PUT', path: zonePath(new_name), body: { api_rectify: false } })
      await write({ method: 'DELETE', path: zonePath(name) })
    },
    deleteZone: async (name) => void (await write({ method: 'DELETE', path: zonePath(name) })),
    transferZone: copy,
    notifyZone: async (name) => void (await write({ method: 'PUT', path: `${zonePath(name)}/notify` })),
  }
}

type Write = (call: Omit<PowerDnsCall, 'signal'>) => Promise<unknown>

/** One write at a time, and once more while the server's database is locked, or when nobody knows what became of whole sets. */
function writer(transport: PowerDnsTransport): Write {
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

async function zoneState(read: Read, row: Static<typeof ListedZone>, signal?: AbortSignal): Promise<ZoneState> {
  const name = bare(row.name)
  const path = zonePath(name)
  const [detail, metadata] = await Promise.all([
    read(path, { rrset_name: row.name, rrset_type: 'SOA' }, signal),
    read(`${path}/metadata/ALLOW-AXFR-FROM`, undefined, signal),
  ])
  const soa = Zone.Check(detail) ? detail.rrsets.find((set) => set.type === 'SOA')?.records[0] : undefined
  const type = typeOf(row.kind)
  return {
    name,
    type,
    // A record that is off is left out of a filtered answer.
    enabled: type === 'Secondary' || (soa !== undefined && soa.disabled !== true),
    masters: row.masters ?? [],
    notify: row.kind === 'Master',
    transfer: Metadata.Check(metadata) && metadata.metadata.length > 0,
    serial: row.serial === undefined || row.serial === 0 ? serialIn(soa?.content) : row.serial,
    modified_at: null,
  }
}

/** The serial stands still while a zone is off, and the API then says 0. */
function serialIn(soa: string | undefined): number | null {
  const serial = Number(soa?.split(/\s+/)[2])
  return Number.isInteger(serial) ? serial : null
}

function typeOf(kind: string): ZoneType {
  return kind === 'Slave' || kind === 'Secondary' || kind === 'Consumer' ? 'Secondary' : 'Primary'
}

function kindOf(type: ZoneType, notify: boolean): string {
  if (type === 'Secondary') return 'Slave'
  if (type === 'Primary') return notify ? 'Master' : 'Native'
  // Any other word would silently make an ordinary zone.
  const detail = `zones of type ${type} are not supported by this name server`
  throw new RejectionError({ upstream: 'DNS', operation: 'zone type', status: 422, detail, sent: '' })
}

/** `also` empty removes the setting, so that the server's own default does not count either. */
function setMetadata(write: Write, zone: string, kind: string, values: readonly string[]): Promise<unknown> {
  const path = `${zonePath(zone)}/metadata/${kind}`
  if (values.length === 0) return write({ method: 'DELETE', path })
  return write({ method: 'PUT', path, body: { kind, metadata: values } })
}

function apexSets(name: string, { name_servers, hostmaster }: PowerDnsOptions): unknown[] {
  const servers = name_servers.length === 0 ? [`ns1.${name}`] : name_servers
  const soa = `${dotted(servers[0] ?? '')} ${dotted(hostmaster)} 0 10800 3600 604800 3600`
  return [
    { name: dotted(name), type: 'SOA', ttl: 3600, records: [{ content: soa, disabled: false }] },
    {
      name: dotted(name),
      type: 'NS',
      ttl: 3600,
      records: servers.map((server) => ({ content: dotted(server), disabled: false })),
    },
  ]
}

/** Switched on: a zone without a start of authority cannot be made. */
function movedSet(set: RecordSet, from: string, to: string): unknown {
  const records = set.type === 'SOA' ? set.records.map((line) => ({ ...line, disabled: false })) : set.records
  return { ...set, name: dotted(bare(set.name).slice(0, -from.length) + to), records }
}

function isInside(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`)
}

/** A slash of a reverse zone of less than an octet is written `=2F` there. */
function zonePath(name: string): string {
  return `/zones/${encodeURIComponent(dotted(name).replaceAll('/', '=2F'))}`
}

function checked<T>(form: { Check(value: unknown): value is T }, value: unknown, what: string): T {
  if (form.Check(value)) return value
  throw unknownForm(what)
}

function unknownForm(what: string): UpstreamError {
  const detail = `the ${what} does not have the form of the API that this version knows`
  return new UpstreamError({ upstream: 'DNS', operation: what, failure: 'error', detail })
}

function gone(zone: string): UpstreamError {
  const detail = `zone ${zone} is gone from the server`
  return new RejectionError({ upstream: 'DNS', operation: 'zone', status: 404, detail, sent: zone })
}
