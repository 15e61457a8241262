// Compares what was ordered with what the servers have, and both servers with each other. Reading only; every difference
// comes with what would mend it.
import { createHash } from 'node:crypto'
import type { DhcpLease, DhcpScope, DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'
import { numberOf, subnetOf, textOf } from '#src/kernel/ipv4.ts'
import type { Database } from '#src/store/database.ts'
import { type ReservationOrder, reservationOrders, scopeNotes, type ScopeOrder } from '#src/store/dhcp-orders.ts'
import type { DriftFinding } from '#src/store/ddi-drift.ts'
import type { AddressDns } from '../address-dns.ts'
import type { DnsDeps } from '../dns/deps.ts'
import { reverseName } from '../dns/names.ts'
import type { ServerLock } from '../server-lock.ts'

export interface DriftDeps {
  database: Database
  dhcp: { server: DhcpServer; lock: ServerLock } | undefined
  dns: Pick<DnsDeps, 'server' | 'contents'> | undefined
  names: AddressDns | undefined
}

/** With what mends it, where this service may decide that. */
export interface Difference extends DriftFinding {
  mend?: () => Promise<void>
}

export async function differences(deps: DriftDeps): Promise<Difference[]> {
  const orders = await reservationOrders(deps.database.db)
  const of_dhcp = deps.dhcp === undefined ? [] : await dhcpDifferences(deps.dhcp, deps.database, orders)
  const of_dns = deps.dns === undefined ? [] : await nameDifferences(deps, deps.dns, orders)
  return [...of_dhcp, ...of_dns]
}

type Words = Omit<DriftFinding, 'id' | 'scope' | 'zone' | 'repair'> & {
  scope?: string
  zone?: string
  repair?: DriftFinding['repair']
  mend?: () => Promise<void>
}

function difference({ scope = '', zone = '', mend, repair, ...words }: Words): Difference {
  const parts = [words.kind, scope, zone, words.subject, words.expected, words.actual]
  const id = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
  const place = { scope: scope === '' ? null : scope, zone: zone === '' ? null : zone }
  return {
    id,
    ...words,
    ...place,
    repair: repair ?? (mend === undefined ? 'none' : 'restore'),
    ...(mend === undefined ? {} : { mend }),
  }
}

async function dhcpDifferences(
  { server, lock }: { server: DhcpServer; lock: ServerLock },
  database: Database,
  orders: readonly ReservationOrder[],
): Promise<Difference[]> {
  const [{ scopes, reservations, leases }, notes] = await Promise.all([server.state(), scopeNotes(database.db)])
  const found: Difference[] = []
  for (const note of notes) {
    const wanted = note.ordered as ScopeOrder
    const actual = scopes.find((scope) => scope.name === note.name)
    found.push(...scopeDifference(server, lock, wanted, actual))
  }
  const there = new Map(reservations.map((row) => [`${row.scope} ${row.mac}`, row]))
  const names = new Set(scopes.map((scope) => scope.name))
  for (const order of orders.filter((row) => row.enabled && names.has(row.scope))) {
    const actual = there.get(`${order.scope} ${order.mac}`)
    there.delete(`${order.scope} ${order.mac}`)
    const expected = `${order.ip} ${order.hostname}`
    const has = actual === undefined ? null : `${actual.ip} ${actual.hostname}`
    if (has === expected) continue
    const { scope, mac: subject, ip, hostname, comment } = order
    found.push(
      difference({
        kind: actual === undefined ? 'reservation_missing' : 'reservation_differs',
        subject,
        scope,
        expected,
        actual: has,
        message: `The DHCP server ${has === null ? 'does not reserve' : `reserves ${has} instead of`} ${expected} for ${subject}; repair restores it.`,
        mend: () => lock(() => server.changeReservations(scope, { put: [{ mac: subject, ip, hostname, comment }] })),
      }),
    )
  }
  for (const row of there.values()) {
    found.push(
      difference({
        kind: 'reservation_unknown',
        subject: row.mac,
        scope: row.scope,
        expected: null,
        actual: `${row.ip} ${row.hostname}`,
        message: `${row.ip} is reserved for ${row.mac} on the DHCP server but was not ordered here; adopt it by changing it once, or delete it.`,
      }),
    )
  }
  return [...found, ...outside(scopes, reservations), ...elsewhere(reservations, leases)]
}

function scopeDifference(
  server: DhcpServer,
  lock: ServerLock,
  wanted: ScopeOrder,
  actual: DhcpScope | undefined,
): Difference[] {
  const expected = JSON.stringify(inOrder(wanted))
  const has = actual === undefined ? null : JSON.stringify(inOrder(actual))
  if (has === expected) return []
  const missing = actual === undefined
  const mend = (): Promise<void> =>
    lock(() => (missing ? server.createScope(wanted) : server.updateScope(wanted.name, wanted)))
  const message = `Scope ${wanted.name} ${missing ? 'is gone from the DHCP server' : 'is not as it was ordered'}; repair restores it.`
  return [difference({ kind: missing ? 'scope_missing' : 'scope_differs', subject: wanted.name, scope: wanted.name, expected, actual: has, message, mend })] // biome-ignore format: one difference
}

/** The database keeps the members of an object in an order of its own. */
function inOrder({ name, network, range, excluded, gateway, dns_servers, lease_seconds, enabled }: ScopeOrder) {
  const ranges = { range: textOf(range), excluded: excluded.map(textOf) }
  return { name, network, ...ranges, gateway, dns_servers, lease_seconds, enabled }
}

function outside(
  scopes: readonly DhcpScope[],
  reservations: readonly { scope: string; mac: string; ip: string }[],
): Difference[] {
  return reservations.flatMap(({ scope, mac, ip }) => {
    const network = scopes.find((one) => one.name === scope)?.network
    const subnet = network === undefined ? undefined : subnetOf(network)
    if (subnet === undefined || (numberOf(ip) > subnet.network && numberOf(ip) < subnet.broadcast)) return []
    const message = `${ip}, reserved for ${mac}, is not in ${network ?? ''} of scope ${scope}; give it an address there.`
    return [
      difference({
        kind: 'reservation_outside_scope',
        subject: mac,
        scope,
        expected: network ?? null,
        actual: ip,
        message,
      }),
    ]
  })
}

function elsewhere(
  reservations: readonly { scope: string; mac: string; ip: string }[],
  leases: readonly DhcpLease[],
): Difference[] {
  const of_client = Map.groupBy(leases, (lease) => `${lease.scope} ${lease.mac}`)
  return reservations.flatMap(({ scope, mac, ip }) => {
    const held = of_client.get(`${scope} ${mac}`)?.find((lease) => lease.ip !== ip)
    if (held === undefined) return []
    const message = `${mac} still holds ${held.ip} instead of its reserved ${ip}; it changes when it renews.`
    return [difference({ kind: 'lease_differs', subject: mac, scope, expected: ip, actual: held.ip, message })]
  })
}

async function nameDifferences(
  { names }: DriftDeps,
  { server, contents }: Pick<DnsDeps, 'server' | 'contents'>,
  orders: readonly ReservationOrder[],
): Promise<Difference[]> {
  const zones = await server.zones()
  const records = new Map<string, RecordData[]>()
  for (const zone of zones) {
    for (const record of await contents.of(zone))
      records.set(record.fqdn, [...(records.get(record.fqdn) ?? []), record])
  }
  const found: Difference[] = []
  for (const { scope, ip, hostname, fqdn, dns_zone, ptr } of orders) {
    if (fqdn === null || dns_zone === null) continue
    const mend = async (): Promise<void> =>
      void (await names?.publish({ ip_address: ip, hostname, dns_zone, ttl: undefined, create_ptr: ptr }))
    const place = { scope, zone: dns_zone }
    const leads = (records.get(fqdn) ?? []).filter((row) => row.type === 'A').map((row) => row.value)
    if (!leads.includes(ip)) {
      const kind = leads.length === 0 ? 'record_missing' : 'record_differs'
      const message = `${fqdn} ${leads.length === 0 ? 'has no address' : `leads to ${leads.join(', ')}`} instead of ${ip}.`
      // Somebody gave the name away: only a person knows which of the two is right.
      const fix = leads.length === 0 ? { mend } : {}
      found.push(
        difference({ kind, subject: fqdn, ...place, expected: ip, actual: leads.join(', ') || null, message, ...fix }),
      )
    }
    const reverse = reverseName(ip)
    const back = (records.get(reverse) ?? []).filter((row) => row.type === 'PTR').map((row) => row.value)
    const has_zone = zones.some((zone) => reverse.endsWith(`.${zone.name}`))
    if (!ptr || back.includes(fqdn) || !has_zone) continue
    const kind = back.length === 0 ? 'ptr_missing' : 'ptr_differs'
    const message = `${ip} leads back to ${back.length === 0 ? 'nothing' : back.join(', ')} instead of ${fqdn}; repair adds it.`
    found.push(
      difference({ kind, subject: ip, ...place, expected: fqdn, actual: back.join(', ') || null, message, mend }),
    )
  }
  return found
}
