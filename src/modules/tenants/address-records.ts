// What stands on DNS, DHCP and IPAM for a tenant, as far as our own records say so: by its networks, machines and addresses.
import type { TenantDeletePlan } from '#src/contract/tenants/delete.ts'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
import { reservationOrders, scopeNotes } from '#src/store/dhcp-orders.ts'
import { notesOfAddresses, zoneNotes } from '#src/store/dns-orders.ts'

export interface AddressServers {
  database: Database
  /** Undefined where the configuration names none. */
  dns_server: DnsServer | undefined
  dhcp_server: DhcpServer | undefined
  /** Where addresses are allocated: the built-in tables, or another store. */
  ipam: IpamStore
}

export interface Holdings {
  network_ids: ReadonlySet<string>
  /** Of its machines, in lower case. */
  macs: readonly string[]
  public_ips: readonly string[]
  /** Of the tenant and everything in it: what an address is allocated to. */
  ids: readonly string[]
}

const KINDS = ['dns_zone', 'dns_name', 'dhcp_scope', 'dhcp_reservation', 'ipam_address'] as const
type Kind = (typeof KINDS)[number]

/** Ours may be older than the servers: of zones, names and scopes only what they still have counts. */
export async function addressRecordsOf(
  { database: { db }, dns_server, dhcp_server, ipam }: AddressServers,
  { network_ids, macs, public_ips, ids }: Holdings,
  signal: AbortSignal,
): Promise<Record<Kind, string[]>> {
  const ofNetworks = (notes: readonly { name: string; network_id: string | null }[]): string[] =>
    notes.filter((note) => note.network_id !== null && network_ids.has(note.network_id)).map((note) => note.name)
  const [zones, scopes, reservations, addresses] = await Promise.all([
    zoneNotes(db),
    scopeNotes(db),
    dhcp_server === undefined ? [] : reservationOrders(db, { macs }),
    ipam.addressesOfOwners([...ids, ...public_ips], signal),
  ])
  return {
    dns_zone: dns_server === undefined ? [] : await zonesOf(dns_server, ofNetworks(zones)),
    dns_name: dns_server === undefined ? [] : await publishedNames(db, dns_server, public_ips),
    dhcp_scope: dhcp_server === undefined ? [] : await scopesOf(dhcp_server, ofNetworks(scopes)),
    dhcp_reservation: reservations.map(({ mac, ip }) => `${mac} (${ip})`),
    ipam_address: addresses,
  }
}

async function zonesOf(server: DnsServer, names: readonly string[]): Promise<string[]> {
  const heads = await Promise.all(names.map((name) => server.zoneHead(name)))
  return heads.flatMap((head) => head?.name ?? [])
}

async function scopesOf(server: DhcpServer, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  return (await server.scopes()).map((scope) => scope.name).filter((name) => names.includes(name))
}

async function publishedNames(db: Database['db'], server: DnsServer, addresses: readonly string[]): Promise<string[]> {
  const notes = await notesOfAddresses(db, addresses)
  const found = await Promise.all(
    notes.map(async ({ zone, fqdn, content }) => {
      if ((await server.zoneHead(zone)) === undefined) return []
      const rows = await server.records(zone, { fqdn })
      return rows.some((row) => row.fqdn === fqdn && row.value === content) ? [`${fqdn} (${content})`] : []
    }),
  )
  return found.flat()
}

/** Words for what must be deleted first; undefined when nothing is there. */
export function leftOnServers(things: TenantDeletePlan['things']): string | undefined {
  const left = things.filter(({ kind }) => KINDS.some((one) => one === kind))
  if (left.length === 0) return undefined
  return left.map(({ kind, names }) => `${WORDS[kind as Kind]} ${names.slice(0, NAMED).join(', ')}`).join('; ')
}

const NAMED = 10
const WORDS = {
  dns_zone: 'DNS zone', dns_name: 'DNS name', dhcp_scope: 'DHCP scope', dhcp_reservation: 'DHCP reservation',
  ipam_address: 'IPAM address',
} as const // biome-ignore format: one record

/** A name that outlives its tenant would lead to whoever gets the address next. */
export function requireNothingOnServers(name: string, things: TenantDeletePlan['things']): void {
  const left = leftOnServers(things)
  if (left !== undefined)
    throw new ApiError(
      'TENANT_STATE',
      `Tenant ${name} still has ${left}. Delete that first: what is published would outlive the tenant.`,
    )
}
