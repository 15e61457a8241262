// Names of addresses: what public addresses and reservations publish (the port AddressDns) on the configured DNS server.
import { randomUUIDv7 } from 'node:crypto'
import { ApiError } from '#src/kernel/errors.ts'
import { recordNote, recordNotes } from '#src/store/dns-orders.ts'
import type { AddressDns, AddressName, PublishName, WithdrawName } from '../address-dns.ts'
import type { DnsDeps } from './deps.ts'
import { fullName, nameOf } from './names.ts'
import { keyOf, requirePrimary } from './reading.ts'
import { checkNeighbours, DEFAULT_TTL_S, recordOf } from './record-rules.ts'
import { dropPtr, makePtr } from './reverse-records.ts'

export function createAddressNames(deps: DnsDeps): AddressDns {
  return {
    publish: (name) => deps.lock(() => publish(deps, name)),
    withdraw: (which) => deps.lock(() => withdraw(deps, which)),
    lookup: (addresses, dns_zone) => lookup(deps, addresses, dns_zone),
  }
}

/** The same again changes nothing, so that a job which was interrupted may repeat it. */
async function publish(deps: DnsDeps, wish: PublishName): Promise<AddressName & { ptr_created: boolean }> {
  const { server, database, contents } = deps
  const { ip_address, create_ptr, ttl = DEFAULT_TTL_S } = wish
  const zone = (await zoneOf(deps, wish)).name
  const type = ip_address.includes(':') ? 'AAAA' : 'A'
  const record = recordOf(
    { name: fullName(wish.hostname, zone, 'hostname'), type, value: ip_address, ttl },
    zone,
    server.limits,
    'body',
  )
  const note = wish.record_id === undefined ? undefined : await recordNote(database.db, zone, wish.record_id)
  const there = await server.records(zone, { fqdn: record.fqdn })
  const same = there.find((row) => row.fqdn === record.fqdn && row.type === type && row.value === record.value)
  if (same === undefined) {
    const others = there.filter((row) => row.fqdn === record.fqdn)
    checkNeighbours(record, others)
    const taken = others.find((row) => row.type === type)
    if (taken !== undefined)
      throw new ApiError(
        'DNS_RECORD_EXISTS',
        `${record.fqdn} leads to ${taken.value} already; choose another name or delete that record.`,
      )
    await server.changeRecords(zone, [{ action: 'add', record }])
    contents.changed(zone, [record.fqdn])
  }
  if (note !== undefined && note.fqdn !== record.fqdn)
    await withdraw(deps, { ip_address, dns_zone: zone, record_id: note.id })
  const failure = create_ptr ? await makePtr(deps, record, false) : 'not asked for'
  const [made] = await recordNotes(database.db, [keyOf(zone, record)], randomUUIDv7)
  return { fqdn: record.fqdn, record_id: made?.id ?? '', ptr_created: failure === undefined }
}

async function zoneOf(deps: DnsDeps, { dns_zone, hostname }: PublishName) {
  if (dns_zone !== undefined) return requirePrimary(deps, dns_zone)
  const labels = nameOf(hostname).split('.')
  for (let from = 1; from < labels.length; from += 1) {
    const zone = await deps.server.zoneHead(labels.slice(from).join('.'))
    if (zone !== undefined) return requirePrimary(deps, zone.name)
  }
  throw new ApiError('DNS_ZONE_NOT_FOUND', `No zone holds ${hostname}; name one with dns_zone.`)
}

async function withdraw(
  deps: DnsDeps,
  { ip_address, dns_zone, record_id, fqdn }: WithdrawName,
): Promise<AddressName[]> {
  const { server, database, contents } = deps
  const gone: AddressName[] = []
  for (const zone of await searched(deps, dns_zone)) {
    const all = fqdn === undefined ? await contents.of(zone) : await server.records(zone.name, { fqdn })
    const rows = all.filter(
      (row) =>
        row.value === ip_address &&
        (row.type === 'A' || row.type === 'AAAA') &&
        (fqdn === undefined || row.fqdn === fqdn),
    )
    const notes = await recordNotes(database.db, rows.map((row) => keyOf(zone.name, row)), randomUUIDv7) // biome-ignore format: one call
    for (const [index, old] of rows.entries()) {
      const id = notes[index]?.id ?? ''
      if (record_id !== undefined && record_id !== id) continue
      // The PTR first: after a crash in between, who repeats this finds it by the name that still stands.
      await dropPtr(deps, ip_address, old.fqdn)
      await server.changeRecords(zone.name, [{ action: 'delete', old }])
      contents.changed(zone.name, [old.fqdn])
      gone.push({ fqdn: old.fqdn, record_id: id })
    }
  }
  return gone
}

async function lookup(
  deps: DnsDeps,
  addresses: readonly string[],
  dns_zone: string | undefined,
): Promise<Map<string, AddressName>> {
  const wanted = new Set(addresses)
  const found = new Map<string, AddressName>()
  for (const zone of await searched(deps, dns_zone)) {
    const rows = (await deps.contents.of(zone)).filter(
      (row) => (row.type === 'A' || row.type === 'AAAA') && wanted.has(row.value),
    )
    const notes = await recordNotes(deps.database.db, rows.map((row) => keyOf(zone.name, row)), randomUUIDv7) // biome-ignore format: one call
    for (const [index, row] of rows.entries()) {
      if (!found.has(row.value)) found.set(row.value, { fqdn: row.fqdn, record_id: notes[index]?.id ?? '' })
    }
  }
  return found
}

/** Reverse zones hold no names of addresses to look for. */
async function searched({ server }: DnsDeps, dns_zone: string | undefined) {
  if (dns_zone !== undefined) {
    const zone = await server.zoneHead(nameOf(dns_zone))
    return zone === undefined || zone.type !== 'Primary' ? [] : [zone]
  }
  return (await server.zones()).filter((zone) => zone.type === 'Primary' && !zone.name.endsWith('.arpa'))
}
