// Technitium as the name server of address management. It answers for the nearest zone that encloses the one asked for, so
// the zone that it names is compared each time; writers hold the server's lock.
import pLimit from 'p-limit'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import type {
  DnsLimits,
  DnsServer,
  RecordData,
  ZoneHead,
  ZoneNames,
  ZoneSettings,
  ZoneState,
  ZoneType,
} from '../ddi/dns-server.ts'
import { afterChanges, stepsBetween } from './record-changes.ts'
import {
  bare,
  newValueForm,
  RecordsAnswer,
  recordsOf,
  reverseNameOf,
  type RecordRow,
  valueForm,
  WRITABLE_TYPES,
  type ZoneRecords,
} from './record-form.ts'
import { createTechnitiumTransport, type Form, type TechnitiumConfig, type TechnitiumTransport } from './transport.ts'

export interface TechnitiumDnsOptions {
  /** Full names of the name servers that new zones get; the server's own name where there are none. */
  name_servers: readonly string[]
  /** Mail address of new zones in the form of a name: hostmaster.example.net. */
  hostmaster: string
  /** Networks that may copy zones whose transfer is on; their name servers where there are none. */
  transfer_networks: readonly string[]
  /** Secondaries to tell besides the name servers of the zone: an address each. */
  also_notify?: readonly string[]
  log: Log
}

export interface TechnitiumDns extends DnsServer {
  close(): Promise<void>
}

const ListedZone = Type.Object({
  name: Type.String(),
  type: Type.String(),
  internal: Type.Optional(Type.Boolean()),
  disabled: Type.Optional(Type.Boolean()),
  soaSerial: Type.Optional(Type.Number()),
  lastModified: Type.Optional(Type.String()),
})
const Zones = Compile(Type.Object({ zones: Type.Array(ListedZone) }))
const Options = Compile(
  Type.Object({
    notify: Type.Optional(Type.String()),
    zoneTransfer: Type.Optional(Type.String()),
    primaryNameServerAddresses: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  }),
)
const MadeZone = Compile(Type.Object({ domain: Type.String() }))
const TopDomains = Compile(
  Type.Object({ topDomains: Type.Array(Type.Object({ name: Type.String(), hits: Type.Number() })) }),
)

const ZONES_AT_ONCE = 8
/** More names than this are read as a whole zone. */
const NAMES_AT_ONCE = 10
/** The masters of a new copy are asked before it is made. */
const MASTERS_TIMEOUT_MS = 15_000
const TYPES: Readonly<Record<string, ZoneType>> = {
  Primary: 'Primary',
  Secondary: 'Secondary',
  Stub: 'Stub',
  Forwarder: 'Forwarder',
  SecondaryForwarder: 'Forwarder',
}

export const TECHNITIUM_DNS_LIMITS: DnsLimits = {
  record_types: WRITABLE_TYPES,
  conversions: { Primary: ['Forwarder'], Secondary: ['Primary', 'Forwarder'], Stub: [], Forwarder: ['Primary'] },
  renamable: ['Primary', 'Forwarder'],
  pausable: ['Primary', 'Secondary', 'Stub', 'Forwarder'],
  max_comment_bytes: 255,
}

export function createTechnitiumDns(config: TechnitiumConfig, options: TechnitiumDnsOptions): TechnitiumDns {
  const transport = createTechnitiumTransport(config, 'DNS')
  const reads = readsOf(transport)
  const writes = recordWrites(transport, reads, options.log)
  return {
    kind: 'technitium',
    limits: TECHNITIUM_DNS_LIMITS,
    check: async (signal) => void (await reads.list(signal)),
    async zones(signal) {
      const limit = pLimit(ZONES_AT_ONCE)
      return Promise.all((await reads.list(signal)).map((row) => limit(() => zoneState(transport, row, signal))))
    },
    zone: reads.zone,
    zoneHeads: async (signal) => (await reads.list(signal)).map(headOf),
    async zoneHead(name, signal) {
      const row = (await reads.list(signal)).find((zone) => bare(zone.name) === bare(name))
      return row === undefined ? undefined : headOf(row)
    },
    records: async (zone, { fqdn } = {}, signal) => recordsOf(await reads.rows(zone, fqdn, signal)),
    changeRecords: writes.change,
    ...zoneChanges(transport, reads, writes, options),
    queryCount: (zone, signal) => queryCount(transport, zone, signal),
    close: () => transport.close(),
  }
}

type ListedZone = Static<typeof ListedZone>

interface Reads {
  /** Those that are ours to show. */
  list(signal?: AbortSignal): Promise<ListedZone[]>
  zone(name: string, signal?: AbortSignal): Promise<ZoneState | undefined>
  /** Of exactly this zone; undefined when the server answers for another one that encloses it. */
  answer(zone: string, fqdn?: string, signal?: AbortSignal): Promise<ZoneRecords | undefined>
  /** The same of a zone that must be there. */
  rows(zone: string, fqdn?: string, signal?: AbortSignal): Promise<RecordRow[]>
}

function readsOf(transport: TechnitiumTransport): Reads {
  const list: Reads['list'] = async (signal) => {
    const answer = await transport.call('zones/list', {}, { signal })
    if (!Zones.Check(answer))
      throw transport.unexpected('zones/list', 'the zones do not have the form that this version knows')
    // The root has no name that a route could give.
    return answer.zones.filter((zone) => zone.internal !== true && zone.name !== '' && zone.type in TYPES)
  }
  const answer: Reads['answer'] = async (zone, fqdn, signal) => {
    const form = { zone, domain: fqdn ?? zone, listZone: fqdn === undefined }
    const said = await transport.call('zones/records/get', form, { signal })
    if (!RecordsAnswer.Check(said))
      throw transport.unexpected('zones/records/get', 'the records do not have the form that this version knows')
    return bare(said.zone.name) === bare(zone) ? said : undefined
  }
  return {
    list,
    async zone(name, signal) {
      const row = (await list(signal)).find((zone) => bare(zone.name) === bare(name))
      return row === undefined ? undefined : zoneState(transport, row, signal)
    },
    answer,
    async rows(zone, fqdn, signal) {
      const found = await answer(zone, fqdn, signal)
      if (found === undefined) throw gone(transport, zone)
      return found.records
    },
  }
}

function headOf({ name, type, soaSerial }: ListedZone): ZoneHead {
  return { name: bare(name), type: TYPES[type] ?? 'Primary', serial: soaSerial ?? null }
}

async function zoneState(transport: TechnitiumTransport, row: ListedZone, signal?: AbortSignal): Promise<ZoneState> {
  const answer = await transport.call('zones/options/get', { zone: row.name }, { signal })
  if (!Options.Check(answer))
    throw transport.unexpected('zones/options/get', `zone ${row.name} does not have the form that this version knows`)
  const { notify = 'None', zoneTransfer = 'Deny', primaryNameServerAddresses } = answer
  const changed = new Date(row.lastModified ?? '')
  return {
    ...headOf(row),
    enabled: row.disabled !== true,
    // "name (address)" where a name was resolved.
    masters: (primaryNameServerAddresses ?? []).map((text) => /\(([^)]+)\)/.exec(text)?.[1] ?? text),
    notify: notify !== 'None',
    transfer: zoneTransfer !== 'Deny',
    // Year 1 means that it does not know.
    modified_at: changed.getUTCFullYear() > 1 ? changed : null,
  }
}

interface RecordWrites {
  change: DnsServer['changeRecords']
}

function recordWrites(transport: TechnitiumTransport, reads: Reads, log: Log): RecordWrites {
  const common = ({ ttl, comment }: RecordData): Form => ({ ttl, comments: comment, expiryTtl: 0, ptr: false })
  const at = (zone: string, { fqdn, type }: RecordData): Form => ({ zone, domain: fqdn, type })
  const add = (zone: string, record: RecordData): Promise<unknown> =>
    transport.call('zones/records/add', { ...at(zone, record), ...common(record), ...valueForm(record) })
  /** What is not sent is set back to its default. */
  const update = (zone: string, old: RecordData, record: RecordData): Promise<unknown> =>
    transport.call('zones/records/update', {
      ...at(zone, old),
      ...common(record),
      disable: false,
      ...valueForm(old),
      ...newValueForm(record),
    })
  const remove = async (zone: string, record: RecordData): Promise<void> => {
    // The server takes the reverse record of an address with it; whether it goes is for our caller to say.
    const reverse = await reverseOf(reads, record)
    await transport.call('zones/records/delete', { ...at(zone, record), ...valueForm(record) })
    if (reverse === undefined) return
    const left = recordsOf(await reads.rows(reverse.zone, reverse.record.fqdn))
    if (!left.some((one) => one.type === 'PTR' && one.value === record.fqdn)) await add(reverse.zone, reverse.record)
  }
  const read = async (zone: string, names: ReadonlySet<string>): Promise<ZoneNames | undefined> => {
    const asked = names.size > NAMES_AT_ONCE ? [undefined] : [...names]
    const ask = Promise.all(asked.map((fqdn) => reads.answer(zone, fqdn)))
    const answers: (ZoneRecords | undefined)[] = await ask.catch(async (error: unknown) => {
      // It refuses a name that no zone of it encloses.
      if ((await reads.list()).some((row) => bare(row.name) === bare(zone))) throw error
      return []
    })
    const found = answers.filter((answer) => answer !== undefined)
    const [first] = found
    if (first === undefined) return undefined
    const records = recordsOf(found.flatMap((answer) => answer.records)).filter((record) => names.has(record.fqdn))
    return { type: TYPES[first.zone.type] ?? 'Primary', records }
  }
  const move = async (zone: string, from: readonly RecordData[], to: readonly RecordData[]): Promise<void> => {
    const steps = stepsBetween(from, to)
    for (const record of steps.remove) await remove(zone, record)
    for (const { old, record } of steps.update) await update(zone, old, record)
    for (const record of steps.add) await add(zone, record)
  }
  return {
    async change(zone, changes, check) {
      const touched = changes.flatMap((change) => [
        ...('old' in change ? [change.old.fqdn] : []),
        ...('record' in change ? [change.record.fqdn] : []),
      ])
      const names = new Set(touched)
      const now = await read(zone, names)
      check?.(now)
      if (now === undefined) throw gone(transport, zone)
      const before = now.records
      const after = afterChanges(before, changes)
      if ('twice' in after)
        throw transport.refused('zones/records/add', `${after.twice.fqdn} has this ${after.twice.type} record already`)
      try {
        await move(zone, before, after.records)
      } catch (error) {
        // Also after a lost answer: what stands there now is read, not remembered.
        await read(zone, names)
          .then((left) => move(zone, left?.records ?? [], before))
          .catch((err: unknown) => log.warn({ err, zone }, 'refused changes of records could not be rolled back'))
        throw error
      }
    },
  }
}

/** The reverse record that leads to the name of an address record, in the nearest zone of the server. */
async function reverseOf(reads: Reads, record: RecordData): Promise<{ zone: string; record: RecordData } | undefined> {
  const fqdn = reverseNameOf(record)
  if (fqdn === undefined) return undefined
  const enclosing = (await reads.list())
    .map((zone) => bare(zone.name))
    .filter((name) => fqdn.endsWith(`.${name}`))
    .sort((a, b) => b.length - a.length)
  const [zone] = enclosing
  if (zone === undefined) return undefined
  const rows = recordsOf(await reads.rows(zone, fqdn))
  const found = rows.find((one) => one.fqdn === fqdn && one.type === 'PTR' && one.value === record.fqdn)
  return found === undefined ? undefined : { zone, record: found }
}

type ZoneChanges = Pick<
  DnsServer,
  'createZone' | 'changeZone' | 'convertZone' | 'renameZone' | 'deleteZone' | 'transferZone' | 'notifyZone'
>

function zoneChanges(
  transport: TechnitiumTransport,
  reads: Reads,
  writes: RecordWrites,
  options: TechnitiumDnsOptions,
): ZoneChanges {
  const { log } = options
  const { found, turn, drop } = zoneCalls(transport, reads)
  const set = async (zone: string, settings: ZoneSettings): Promise<void> => {
    const form = settingsForm(settings, options)
    if (Object.keys(form).length > 0) await transport.call('zones/options/set', { zone, ...form })
  }
  /** Undone as a whole when a later part of it is refused. */
  const orDrop = async (zone: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      await drop(zone).catch((err: unknown) => log.warn({ err, zone }, 'a half-made zone could not be deleted'))
      throw error
    }
  }
  return {
    async createZone({ name, type, masters = [], notify = true, transfer = false, enabled = true }) {
      const form = {
        zone: name,
        type,
        ...(type === 'Secondary' ? { primaryNameServerAddresses: masters.join(',') } : {}),
      }
      const made = await transport.call('zones/create', form, { timeout_ms: MASTERS_TIMEOUT_MS })
      const domain = MadeZone.Check(made) ? bare(made.domain) : name
      await orDrop(domain, async () => {
        if (domain !== bare(name)) throw transport.refused('zones/create', `the server would make ${domain} of ${name}`)
        await set(name, { notify, transfer })
        if (type === 'Primary') await writeApex(transport, reads, writes, name, options)
        if (!enabled) await turn(name, false)
      })
    },
    async changeZone(name, { enabled, masters, ...settings }) {
      const zone = await found(name)
      const copied = masters !== undefined && (zone.type === 'Secondary' || zone.type === 'Stub')
      await set(name, copied ? { ...settings, masters } : settings)
      if (enabled !== undefined && enabled !== (zone.disabled !== true)) await turn(name, enabled)
    },
    async convertZone(name, type) {
      await found(name)
      await transport.call('zones/convert', { zone: name, type }, { timeout_ms: MASTERS_TIMEOUT_MS })
    },
    renameZone: (name, new_name) => renameZone(transport, reads, log, name, new_name),
    async deleteZone(name) {
      await found(name)
      await drop(name)
    },
    async transferZone(name) {
      await found(name)
      await transport.call('zones/resync', { zone: name }, { timeout_ms: MASTERS_TIMEOUT_MS })
    },
    // There is no call that only notifies; each change of the zone does, and a higher serial is the least of them.
    notifyZone: (name) => changeSoa(transport, reads, name, (soa) => ({ ...soa, serial: Number(soa.serial) + 1 })),
  }
}

function zoneCalls(transport: TechnitiumTransport, reads: Reads) {
  const found = async (name: string): Promise<ListedZone> => {
    const zone = (await reads.list()).find((row) => bare(row.name) === bare(name))
    if (zone === undefined) throw gone(transport, name)
    return zone
  }
  const turn = (zone: string, enabled: boolean): Promise<unknown> =>
    transport.call(`zones/${enabled ? 'enable' : 'disable'}`, { zone })
  const drop = (zone: string): Promise<unknown> => transport.call('zones/delete', { zone })
  return { found, turn, drop }
}

/** A copy under the new name, then the end of the old one: the server has no call for it. */
async function renameZone(
  transport: TechnitiumTransport,
  reads: Reads,
  log: Log,
  name: string,
  new_name: string,
): Promise<void> {
  const { found, turn, drop } = zoneCalls(transport, reads)
  const disabled = (await found(name)).disabled === true
  await transport.call('zones/clone', { zone: new_name, sourceZone: name })
  try {
    if (((await found(new_name)).disabled === true) !== disabled) await turn(new_name, !disabled)
    await drop(name)
  } catch (error) {
    // The answer may be lost alone: the copy goes only while the zone itself is known to be there.
    const left = await reads.list().catch((err: unknown) => {
      log.warn({ err, zone: name, copy: new_name }, 'a zone may stand under two names')
      throw error
    })
    if (!left.some((row) => bare(row.name) === bare(name))) return
    await drop(new_name).catch((err: unknown) =>
      log.warn({ err, zone: new_name }, 'a half-made zone could not be deleted'),
    )
    throw error
  }
}

function settingsForm({ masters, notify, transfer }: ZoneSettings, options: TechnitiumDnsOptions): Form {
  const { also_notify = [], transfer_networks } = options
  const notified = also_notify.length > 0 ? 'BothZoneAndSpecifiedNameServers' : 'ZoneNameServers'
  const allowed = transfer_networks.length > 0 ? 'UseSpecifiedNetworkACL' : 'AllowOnlyZoneNameServers'
  return {
    ...(masters === undefined ? {} : { primaryNameServerAddresses: masters.join(',') }),
    ...(notify === undefined ? {} : { notify: notify ? notified : 'None' }),
    ...(notify === true && also_notify.length > 0 ? { notifyNameServers: also_notify.join(',') } : {}),
    ...(transfer === undefined ? {} : { zoneTransfer: transfer ? allowed : 'Deny' }),
    ...(transfer === true && transfer_networks.length > 0
      ? { zoneTransferNetworkACL: transfer_networks.join(',') }
      : {}),
  }
}

/** The server names itself in a new zone; the configured name servers take its place. */
async function writeApex(
  transport: TechnitiumTransport,
  reads: Reads,
  writes: RecordWrites,
  zone: string,
  { name_servers, hostmaster }: TechnitiumDnsOptions,
): Promise<void> {
  const [first] = name_servers
  if (first === undefined) return
  const old = recordsOf(await reads.rows(zone, zone)).filter((record) => record.type === 'NS')
  const ttl = old[0]?.ttl ?? 3600
  const none = { priority: null, weight: null, port: null, comment: '' }
  await writes.change(zone, [
    ...old.map((record) => ({ action: 'delete' as const, old: record })),
    ...name_servers.map((server) => ({
      action: 'add' as const,
      record: { fqdn: zone, type: 'NS', ttl, value: bare(server), ...none },
    })),
  ])
  const [mailbox = '', ...domain] = bare(hostmaster).split('.')
  const responsiblePerson = `${mailbox}@${domain.join('.')}`
  await changeSoa(transport, reads, zone, (soa) => ({ ...soa, primaryNameServer: bare(first), responsiblePerson }))
}

async function changeSoa(
  transport: TechnitiumTransport,
  reads: Reads,
  zone: string,
  edit: (soa: RecordRow['rData']) => RecordRow['rData'],
): Promise<void> {
  const row = (await reads.rows(zone, zone)).find((record) => record.type === 'SOA')
  if (row === undefined) throw gone(transport, zone)
  const soa = edit(row.rData)
  const fields = ['primaryNameServer', 'responsiblePerson', 'serial', 'refresh', 'retry', 'expire', 'minimum'] as const
  await transport.call('zones/records/update', {
    zone,
    domain: zone,
    type: 'SOA',
    ttl: row.ttl,
    comments: row.comments ?? '',
    disable: false,
    expiryTtl: 0,
    ...Object.fromEntries(fields.map((field) => [field, String(soa[field])])),
  })
}

/** Of the last day, from the thousand names asked for most; null where our user may not see them. */
async function queryCount(transport: TechnitiumTransport, zone: string, signal?: AbortSignal): Promise<number | null> {
  const form = { type: 'LastDay', statsType: 'TopDomains', limit: 1000 }
  const answer = await transport.call('dashboard/stats/getTop', form, { signal }).catch((error: unknown) => {
    if (error instanceof UpstreamError && error.failure === 'error') return undefined
    throw error
  })
  if (!TopDomains.Check(answer)) return null
  const inside = answer.topDomains.filter(({ name }) => bare(name) === zone || bare(name).endsWith(`.${zone}`))
  return inside.reduce((sum, { hits }) => sum + hits, 0)
}

function gone(transport: TechnitiumTransport, zone: string): UpstreamError {
  return transport.refused('zones/list', `zone ${zone} is gone from the server`)
}
