/** The calls on whole zones of the simulated address server. */
import { type Call, flag, type Handler, numberOf, Rejection, required, whole } from './call.ts'
import { zone as newZone } from './seed.ts'
import type { AddressState, DnsRecord, ZoneKind, ZoneRecord } from './state.ts'

const KINDS: readonly string[] = ['Primary', 'Secondary', 'Stub', 'Forwarder', 'SecondaryForwarder', 'Catalog']
const CONVERSIONS: Readonly<Record<string, readonly string[]>> = {
  Primary: ['Forwarder'],
  Secondary: ['Primary', 'Forwarder'],
  SecondaryForwarder: ['Forwarder'],
  Forwarder: ['Primary'],
}

export const ZONE_CALLS: Readonly<Record<string, Handler>> = {
  'zones/list': (call) => {
    const zones = call.state.now.zones.toSorted((a, b) => a.name.localeCompare(b.name)).map(zoneRow)
    if (!call.params.has('pageNumber')) return { zones }
    const size = whole(call.params.get('zonesPerPage') ?? '10', 'zonesPerPage')
    const pageNumber = whole(required(call, 'pageNumber'), 'pageNumber')
    const from = (pageNumber - 1) * size
    return {
      pageNumber,
      totalPages: Math.ceil(zones.length / size),
      totalZones: zones.length,
      zones: zones.slice(from, from + size),
    }
  },
  'zones/create': createZone,
  'zones/enable': (call) => void (exactZone(call).disabled = false),
  'zones/disable': (call) => void (exactZone(call).disabled = true),
  'zones/delete': (call) => {
    const gone = exactZone(call)
    call.state.now.zones = call.state.now.zones.filter((zone) => zone !== gone)
  },
  'zones/resync': (call) => {
    const zone = exactZone(call)
    if (zone.kind !== 'Secondary' && zone.kind !== 'Stub')
      throw new Rejection('Only Secondary and Stub zones support resync.')
  },
  'zones/clone': (call) => {
    const name = nameOf(required(call, 'zone'))
    const source = exactZone(call, 'sourceZone')
    if (source.kind !== 'Primary' && source.kind !== 'Forwarder')
      throw new Rejection('Only Primary and Forwarder zones can be cloned.')
    refuseKnown(call.state.now, name)
    // Owner names move under the new apex; values still name the old zone.
    const records = source.records.map((row) => ({ ...row, name: row.name.slice(0, -source.name.length) + name }))
    call.state.now.zones.push({ ...structuredClone(source), name, records: structuredClone(records) })
  },
  'zones/convert': (call) => {
    const zone = exactZone(call)
    const type = required(call, 'type')
    if (!(CONVERSIONS[zone.kind] ?? []).includes(type))
      throw new Rejection(`Cannot convert the zone '${zone.name}' from ${zone.kind} to ${type} zone.`)
    const { records } = zone
    Object.assign(zone, newZone(zone.name, type as ZoneKind, call.now_ms, {}), { disabled: zone.disabled }) // listed just above
    zone.records.push(...records.filter((row) => row.type !== 'SOA' && (row.type !== 'NS' || row.name !== zone.name)))
  },
  'zones/options/get': (call) => optionsOf(exactZone(call)),
  'zones/options/set': (call) => {
    const zone = exactZone(call)
    const given = (field: string, apply: (text: string) => void): void => {
      const text = call.params.get(field)
      if (text !== undefined) apply(text)
    }
    given('disabled', () => (zone.disabled = flag(call, 'disabled')))
    given('primaryNameServerAddresses', (text) => (zone.masters = mastersOf(text)))
    given('notify', (text) => (zone.notify = text))
    given('notifyNameServers', (text) => (zone.notify_servers = listOf(text)))
    given('zoneTransfer', (text) => (zone.transfer = text))
    given('zoneTransferNetworkACL', (text) => (zone.transfer_networks = listOf(text)))
    zone.modified_ms = call.now_ms
  },
  'dashboard/stats/getTop': ({ state, params }) => {
    const topDomains = Object.entries(state.now.hits).map(([name, hits]) => ({ name, hits }))
    const limit = Number(params.get('limit') ?? 1000)
    return { topDomains: topDomains.toSorted((a, b) => b.hits - a.hits).slice(0, limit) }
  },
}

function createZone(call: Call): unknown {
  const text = required(call, 'zone')
  const name = text.includes('/') ? reverseZoneOf(text) : nameOf(text)
  const type = call.params.get('type') ?? 'Primary'
  if (!KINDS.includes(type)) throw new Rejection(`Unknown zone type: ${type}`)
  refuseKnown(call.state.now, name)
  const masters = mastersOf(call.params.get('primaryNameServerAddresses') ?? '')
  if (type === 'Secondary' || type === 'Stub') {
    // Masters are asked for the zone before it is made; those of the documentation networks never answer.
    const silent = masters.every((master) => /^(192\.0\.2|198\.51\.100)\./.test(master))
    if (silent) throw new Rejection(`DNS Server failed to find SOA record for: ${name}`)
  }
  call.state.now.zones.push(newZone(name, type as ZoneKind, call.now_ms, { masters })) // listed just above
  return { domain: name }
}

/** Of a subnet: rounded UP to whole octets, so /26 becomes a zone of four labels. */
function reverseZoneOf(cidr: string): string {
  const [address = '', bits = ''] = cidr.split('/')
  numberOf(address)
  const octets = address.split('.').slice(0, Math.ceil(whole(bits, 'zone') / 8))
  return `${octets.toReversed().join('.')}.in-addr.arpa`
}

export function nearestZone(state: AddressState, name: string): ZoneRecord | undefined {
  return state.zones
    .filter((zone) => name === zone.name || name.endsWith(`.${zone.name}`))
    .toSorted((a, b) => b.name.length - a.name.length)[0]
}

export function nameOf(text: string): string {
  const name = text.toLowerCase().replace(/\.$/, '')
  if (!/^(\*\.)?([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/.test(name) || name.length > 253)
    throw new Rejection(`Invalid domain name [${text}].`)
  return name
}

export function touch(zone: ZoneRecord, now_ms: number): void {
  zone.modified_ms = now_ms
  const soa = soaOf(zone)
  if (soa !== undefined) soa.data.serial = Number(soa.data.serial) + 1
}

export function soaOf(zone: ZoneRecord): DnsRecord | undefined {
  return zone.records.find((record) => record.type === 'SOA')
}

export function zoneRow(zone: ZoneRecord): Record<string, unknown> {
  const soa = soaOf(zone)
  return {
    name: zone.name,
    type: zone.kind,
    internal: zone.internal,
    dnssecStatus: 'Unsigned',
    ...(soa === undefined ? {} : { soaSerial: soa.data.serial }),
    lastModified: new Date(zone.modified_ms).toISOString(),
    disabled: zone.disabled,
  }
}

function optionsOf(zone: ZoneRecord): unknown {
  const copied = zone.kind === 'Secondary' || zone.kind === 'Stub' || zone.kind === 'SecondaryForwarder'
  const { kind: type, name, disabled, masters, notify, notify_servers, transfer, transfer_networks } = zone
  return {
    name,
    type,
    internal: zone.internal,
    disabled,
    ...(copied ? { primaryNameServerAddresses: masters, primaryZoneTransferProtocol: 'Tcp' } : {}),
    // Stubs are never passed on.
    ...(type === 'Stub'
      ? {}
      : {
          notify,
          notifyNameServers: notify_servers,
          zoneTransfer: transfer,
          zoneTransferNetworkACL: transfer_networks,
        }),
  }
}

/** Not the nearest one: calls on zones want the very zone. */
function exactZone(call: Call, parameter = 'zone'): ZoneRecord {
  const name = nameOf(required(call, parameter))
  const zone = call.state.now.zones.find((one) => one.name === name)
  if (zone === undefined) throw new Rejection(`No such zone was found: ${name}`)
  return zone
}

function refuseKnown(state: AddressState, name: string): void {
  if (state.zones.some((zone) => zone.name === name)) throw new Rejection(`Zone already exists: ${name}`)
}

function mastersOf(text: string): string[] {
  return listOf(text).map((one) => {
    if (one.includes('.')) numberOf(one.split(':')[0] ?? '')
    return one
  })
}

function listOf(text: string): string[] {
  return text.split(',').map((part) => part.trim()).filter((part) => part !== '' && part !== 'false') // biome-ignore format: one thought
}
