// The addresses and names that are bound to a node, wherever they are recorded. Those of its BMC stay with it.
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import { lastInventory } from '#src/store/bmcs.ts'
import type { Database, Db } from '#src/store/database.ts'
import { listAddresses } from '#src/store/ipam.ts'
import { addressText, heldAddresses, knownNics } from '#src/store/node-lifecycle.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import type { AddressReading } from './readings.ts'
import type { Share } from './shared-reading.ts'

export interface AddressDeps {
  database: Database
  dhcp_server: DhcpServer | undefined
  dns_server: DnsServer | undefined
  ipam_store: IpamStore | undefined
  share: Share
}

/** What the address store knows the node as. */
export const NODE_OWNER = 'node'
const PAGE = { page: 1, page_size: 500 }

export async function readAddresses(deps: AddressDeps, node: NodeRow, signal: AbortSignal): Promise<AddressReading> {
  const { db } = deps.database
  const macs = await macsOf(db, node)
  const [recorded, allocated, reserved, named] = await Promise.all([
    heldAddresses(db, node.node_id),
    allocatedTo(deps, node, signal),
    reservedFor(deps, macs),
    namesOf(deps, node, signal),
  ])
  const own = [...(node.node_ip === null ? [] : [node.node_ip]), ...(node.addresses ?? [])]
  const seen = new Set(recorded.map(({ address }) => address))
  const held = new Map(recorded.map((row) => [row.address, addressText(row)]))
  const add = (address: string, kind: string): void => {
    if (address !== node.bmc_ip && !held.has(address)) held.set(address, `${address} (${kind})`)
  }
  for (const [index, address] of own.entries()) add(address, index === 0 ? 'management' : 'operating system')
  for (const address of allocated) add(address, 'allocated')
  for (const address of reserved) add(address, 'DHCP reservation')
  for (const name of named) add(name, 'DNS name')
  const unknown: string[] = []
  for (const address of new Set(own)) {
    if (seen.has(address) || allocated.includes(address) || address === node.bmc_ip) continue
    if (!(await isInStore(deps, address, signal))) unknown.push(address)
  }
  return { held: [...held.values()].toSorted(), unknown: unknown.toSorted() }
}

/** Permanent addresses of its physical NICs. */
export async function macsOf(db: Db, node: NodeRow): Promise<ReadonlySet<string>> {
  const [nics, inventory] = await Promise.all([knownNics(db, node.node_id), lastInventory(db, node.bmc_ip)])
  const reported = (inventory?.nics ?? [])
    .filter((nic) => !nic.virtual)
    .flatMap((nic) => nic.permanent_mac ?? nic.mac ?? [])
  return new Set([...nics.map(({ permanent_mac }) => permanent_mac), ...reported].map((mac) => mac.toLowerCase()))
}

async function allocatedTo(
  { database, ipam_store }: AddressDeps,
  node: NodeRow,
  signal: AbortSignal,
): Promise<string[]> {
  const filter = { owner_kind: NODE_OWNER, owner_id: node.id }
  const { rows } = await (ipam_store?.addresses(filter, PAGE, signal) ?? listAddresses(database.db, filter, PAGE))
  return rows.map(({ address }) => address)
}

async function isInStore(
  { database, ipam_store }: AddressDeps,
  address: string,
  signal: AbortSignal,
): Promise<boolean> {
  const filter = { address }
  const { count } = await (ipam_store?.addresses(filter, PAGE, signal) ?? listAddresses(database.db, filter, PAGE))
  return count > 0
}

async function reservedFor({ dhcp_server, share }: AddressDeps, macs: ReadonlySet<string>): Promise<string[]> {
  if (dhcp_server === undefined || macs.size === 0) return []
  const reservations = await share('reservations', ({ signal }) => dhcp_server.reservations(undefined, signal))
  return reservations.filter(({ mac }) => macs.has(mac)).map(({ ip }) => ip)
}

/** Names of the node in the zones served here. */
async function namesOf({ dns_server }: AddressDeps, { fqdn }: NodeRow, signal: AbortSignal): Promise<string[]> {
  if (dns_server === undefined || fqdn === null) return []
  const name = fqdn.toLowerCase()
  const zones = (await dns_server.zones(signal)).filter(
    (zone) => name.endsWith(`.${zone.name}`) && zone.type === 'Primary',
  )
  const records = await Promise.all(zones.map((zone) => dns_server.records(zone.name, { fqdn: name }, signal)))
  return records.flat().some(({ type }) => type === 'A' || type === 'AAAA') ? [name] : []
}
