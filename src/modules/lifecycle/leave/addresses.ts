// Steps that give names and addresses back. They come last: freeing an address that a half-dead node still uses is the worst
// kind of outage.
import { connect } from 'node:net'
import type { DnsServer, RecordData } from '#src/drivers/ddi/dns-server.ts'
import { forgetReservation } from '#src/store/dhcp-orders.ts'
import { jobsById } from '#src/jobs/lookup.ts'
import { listAddresses, releaseAddress } from '#src/store/ipam.ts'
import { addressText, dropAddress, heldAddresses, type NodeAddressRow } from '#src/store/node-lifecycle.ts'
import { macsOf, NODE_OWNER } from '../decommission/address-reading.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import { hasNoNetwork, isOff } from './node.ts'
import { type LeaveRun, type LeaveStep, nodeOf } from './run.ts'

const PAGE = { page: 1, page_size: 500 }

export const dhcpRelease: LeaveStep = {
  name: 'dhcp-release',
  title: TITLES['dhcp-release'],
  applies: ({ deps }) => (deps.dhcp_server === undefined ? 'No DHCP server is configured.' : true),
  holds: async (run) => (await reservations(run)).length === 0,
  async run(run) {
    const { dhcp_server, dhcp_lock, database } = run.deps
    for (const { scope, mac, ip } of await reservations(run)) {
      await dhcp_lock(() => dhcp_server?.changeReservations(scope, { remove: [mac] }) ?? Promise.resolve())
      await forgetReservation(database.db, scope, mac)
      await run.note('INFO', `The DHCP reservation of ${ip} in ${scope} is removed.`, { mac })
    }
  },
}

async function reservations(run: LeaveRun) {
  const macs = await macsOf(run.deps.database.db, await nodeOf(run))
  if (run.deps.dhcp_server === undefined || macs.size === 0) return []
  return (await run.deps.dhcp_server.reservations(undefined, run.signal)).filter(({ mac }) => macs.has(mac))
}

export const dnsRemove: LeaveStep = {
  name: 'dns-remove',
  title: TITLES['dns-remove'],
  applies: ({ deps }) => (deps.dns_server === undefined ? 'No DNS server is configured.' : true),
  holds: async (run) => (await ownRecords(run)).length === 0,
  async run(run) {
    const { dns_server, dns_lock } = run.deps
    for (const { zone, record } of await ownRecords(run)) {
      await dns_lock(() => dns_server?.changeRecords(zone, [{ action: 'delete', old: record }]) ?? Promise.resolve())
      await run.note('INFO', `${record.fqdn} ${record.type} ${record.value} is removed from ${zone}.`)
    }
  },
}

/** Names of the node that lead to its own addresses, and names of those addresses; all others stay. */
async function ownRecords({
  deps: { dns_server },
  input,
  signal,
}: LeaveRun): Promise<{ zone: string; record: RecordData }[]> {
  if (dns_server === undefined) return []
  const zones = (await dns_server.zones(signal)).filter(({ type }) => type === 'Primary')
  const names = input.names.map((name) => name.toLowerCase())
  const asked = [
    ...names.flatMap((fqdn) =>
      zones.filter(({ name }) => fqdn.endsWith(`.${name}`)).map(({ name }) => ({ zone: name, fqdn })),
    ),
    ...input.addresses
      .map(reverseName)
      .flatMap((fqdn) =>
        zones.filter(({ name }) => fqdn.endsWith(`.${name}`)).map(({ name }) => ({ zone: name, fqdn })),
      ),
  ]
  const found = await Promise.all(asked.map((one) => recordsOf(dns_server, one, signal)))
  return found.flat().filter(({ record }) => isOwn(record, input.addresses, names))
}

async function recordsOf(server: DnsServer, { zone, fqdn }: { zone: string; fqdn: string }, signal: AbortSignal) {
  return (await server.records(zone, { fqdn }, signal)).map((record) => ({ zone, record }))
}

function isOwn({ type, value }: RecordData, addresses: readonly string[], names: readonly string[]): boolean {
  if (type === 'A' || type === 'AAAA') return addresses.includes(value)
  return type === 'PTR' && names.includes(value.toLowerCase())
}

/** Of IPv4 addresses; the zones of IPv6 ones are left to whoever made their records. */
function reverseName(address: string): string {
  return address.includes(':') ? '' : `${address.split('.').toReversed().join('.')}.in-addr.arpa`
}

/** `rolls_back`: the installed system may stay, with what its installation gave it. */
export function addressRelease({ rolls_back }: { rolls_back: boolean }): LeaveStep {
  const bound = async (run: LeaveRun): Promise<Bound[]> => {
    const all = await boundAddresses(run)
    return rolls_back && run.input.wipe !== 'full' ? withoutInstalled(run, all) : all
  }
  return {
    name: 'address-release',
    title: TITLES['address-release'],
    holds: async (run) => {
      if ((await bound(run)).length === 0) return true
      return (run.state.still_held ?? []).length > 0 ? 'unknown' : false
    },
    run: async (run) => releaseAll(run, await bound(run), rolls_back ? await rolledBack(run) : () => false),
    // By now it may have been released by hand.
    outstanding: async (run) => {
      const still = new Set((await bound(run)).map((one) => one.text))
      const held = (run.state.still_held ?? []).filter((address) => still.has(address))
      return held.map((address) => `Release ${address}: something still answers there, so it stays allocated.`)
    },
  }
}

/** An address that the installation of the system was given is that of the system, not of its setup. */
async function withoutInstalled({ deps }: LeaveRun, all: readonly Bound[]): Promise<Bound[]> {
  const holders = await jobsById(
    deps.database.db,
    all.flatMap(({ row }) => row?.job_id ?? []),
  )
  return all.filter(({ row }) => holders.get(row?.job_id ?? '')?.type !== 'node.provision')
}

/** The setup found the node at its own address, which only its record leaves; what it put on the node went with the network. */
async function rolledBack(run: LeaveRun): Promise<(bound: Bound) => boolean> {
  const { node_ip } = await nodeOf(run)
  const is_gone = (await hasNoNetwork(run)) === true
  return ({ address, row }) => is_gone || address === node_ip || row?.kind === 'management'
}

interface Bound {
  address: string
  ipam_id: number | null
  text: string
  row: NodeAddressRow | null
}

async function boundAddresses(run: LeaveRun): Promise<Bound[]> {
  const { database, ipam_store } = run.deps
  const node = await nodeOf(run)
  const filter = { owner_kind: NODE_OWNER, owner_id: node.id }
  const [held, allocated] = await Promise.all([
    heldAddresses(database.db, node.node_id),
    ipam_store?.addresses(filter, PAGE, run.signal) ?? listAddresses(database.db, filter, PAGE),
  ])
  const recorded = new Set(held.map(({ address }) => address))
  return [
    ...held
      .filter(({ kind }) => kind !== 'kvm')
      .map((row) => ({ address: row.address, ipam_id: row.ipam_id, text: addressText(row), row })),
    ...allocated.rows
      .filter(({ address }) => !recorded.has(address))
      .map(({ address, id }) => ({ address, ipam_id: id, text: `${address} (allocated)`, row: null })),
  ]
}

/** An address is released when it is known to have left the machine, the machine is off, or nothing answered there twice. */
async function releaseAll(run: LeaveRun, bound: readonly Bound[], hasLeft: (one: Bound) => boolean): Promise<void> {
  const { database, ipam_store, answers } = run.deps
  const node = await nodeOf(run)
  const is_off = (await isOff(run)) === true
  const still_held: string[] = []
  for (const one of bound) {
    const { address, ipam_id, text, row } = one
    const is_free = is_off || row?.kind === 'dns' || hasLeft(one)
    const silent = is_free || !((await answers(address, run.signal)) || (await answers(address, run.signal)))
    if (!silent) {
      still_held.push(text)
      continue
    }
    if (ipam_id !== null) await (ipam_store?.release(ipam_id) ?? releaseAddress(database.db, ipam_id))
    if (row !== null) await run.fenced((trx) => dropAddress(trx, node.node_id, row))
    await run.note('INFO', `${text} is released.`)
  }
  await run.save({ still_held })
}

const PROBE_MS = 3000
const PORTS = [22, 8443]

/** A refused connection is an answer, too. */
export async function answersAt(address: string, signal: AbortSignal): Promise<boolean> {
  const tries = await Promise.all(PORTS.map((port) => connects(address, port, signal)))
  return tries.includes(true)
}

function connects(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal })
    const end = (answered: boolean): void => {
      socket.destroy()
      resolve(answered)
    }
    socket.setTimeout(PROBE_MS, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET'),
    )
  })
}
