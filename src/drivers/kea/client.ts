// Kea as the DHCP server of address management. Its configuration is read, changed, tested and set as a whole; there is no
// compare-and-set, so writers hold the server's lock.
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { UpstreamError } from '#src/kernel/errors.ts'
import { numberOf, subnetOf } from '#src/kernel/ipv4.ts'
import type { Log } from '#src/kernel/log.ts'
import type { DhcpLimits, DhcpLease, DhcpReservation, DhcpServer } from '../ddi/dhcp-server.ts'
import { RejectionError } from '../ddi/rejection.ts'
import { type Dhcp4, dhcp4Of, type KeaSubnet, removeSubnet, subnetsOf, withoutDefaults } from './config-form.ts'
import { configStore, databaseStore, type ReservationStore } from './reservation-stores.ts'
import { DISABLED_CLASS, poolsOf, scopeName, scopeOf, writeScope } from './scope-form.ts'
import { createKeaTransport, firstThatAnswers, type KeaAnswer, type KeaConfig, type KeaTransport } from './transport.ts'

export interface KeaOptions {
  /** Peers of lease failover: they get the same scopes after each change, and are asked while the server is away. */
  peers?: readonly KeaConfig[]
  /** PostgreSQL of Kea's hosts backend; reservations then are rows there and not part of the configuration. */
  hosts_database?: string | undefined
  log: Log
}

export interface Kea extends DhcpServer {
  close(): Promise<void>
}

const Lease = Type.Object({
  'ip-address': Type.String(),
  'hw-address': Type.String(),
  'subnet-id': Type.Integer(),
  hostname: Type.Optional(Type.String()),
  cltt: Type.Integer(),
  'valid-lft': Type.Integer(),
  state: Type.Integer(),
})
const Leases = Compile(Type.Object({ leases: Type.Array(Lease) }))
const StatAnswer = Compile(
  Type.Object({
    'result-set': Type.Object({ columns: Type.Array(Type.String()), rows: Type.Array(Type.Array(Type.Number())) }),
  }),
)

const ASSIGNED = 0
const REFUSED = 1
const NOT_FOUND = 3
/** Asked for page by page: Kea answers no client while it writes a long answer. */
const LEASE_PAGE = 1000

export const KEA_LIMITS: DhcpLimits = {
  lease_step_seconds: 1,
  max_excluded_ranges: 200,
  max_text_bytes: 255,
  single_address_range: true,
}

export function createKea(config: KeaConfig, options: KeaOptions): Kea {
  const kea = createKeaTransport(config)
  const peers = (options.peers ?? []).map((peer) => createKeaTransport(peer))
  const reading = firstThatAnswers([kea, ...peers])
  const read: Access['read'] = async (signal) =>
    dhcp4Of((await ask(reading, 'config-get', undefined, signal)).arguments)
  const find: Access['find'] = async (scope) => {
    const dhcp4 = await read()
    return { dhcp4, subnet: subnetByName(dhcp4, scope) }
  }
  const cycle = createCycle(kea, peers, options.log)
  const store =
    options.hosts_database === undefined
      ? configStore((scope) => (edit) => cycle((dhcp4) => edit(subnetByName(dhcp4, scope))))
      : databaseStore(options.hosts_database, config.timeout_ms, async (scope) => (await find(scope)).subnet.id)
  const access: Access = { kea, reading, cycle, store, read, find }
  return {
    kind: 'kea',
    limits: KEA_LIMITS,
    ...readsOf(access),
    ...scopeChanges(access),
    ...reservationChanges(access),
    close: () => store.close(),
  }
}

interface Access {
  kea: KeaTransport
  /** For what changes nothing: a peer of lease failover answers while the server is away. */
  reading: KeaTransport
  cycle: (edit: (dhcp4: Dhcp4) => void) => Promise<void>
  store: ReservationStore
  read(signal?: AbortSignal): Promise<Dhcp4>
  find(scope: string): Promise<{ dhcp4: Dhcp4; subnet: KeaSubnet }>
}

function readsOf({
  kea,
  reading,
  store,
  read,
  find,
}: Access): Pick<DhcpServer, 'check' | 'scopes' | 'state' | 'reservations' | 'leases' | 'counters'> {
  return {
    async check(signal) {
      const { arguments: known } = await ask(kea, 'list-commands', undefined, signal)
      const commands = new Set(Array.isArray(known) ? known : [])
      const missing = ['lease4-get-page', 'stat-lease4-get'].filter((command) => !commands.has(command))
      if (missing.length > 0)
        throw failed('list-commands', `load the hooks lease_cmds and stat_cmds: ${missing.join(', ')} missing`)
    },
    async scopes(signal) {
      const dhcp4 = await read(signal)
      return subnetsOf(dhcp4).map((subnet) => scopeOf(subnet, dhcp4))
    },
    async state(scope, signal) {
      const dhcp4 = await read(signal)
      const subnets = named(dhcp4, scope)
      const [reservations, rows] = await Promise.all([
        reservationsIn(store, subnets),
        subnets.length === 0 ? [] : allLeases(reading, scope === undefined ? undefined : subnets, signal),
      ])
      return { scopes: subnets.map((subnet) => scopeOf(subnet, dhcp4)), reservations, leases: leasesIn(subnets, rows) }
    },
    reservations: async (scope, signal) => reservationsIn(store, named(await read(signal), scope)),
    leases: (of, signal) => leases(reading, read, of, signal),
    counters: (scope, signal) => counters(reading, async () => (await find(scope)).subnet.id, signal),
  }
}

function named(dhcp4: Dhcp4, scope: string | undefined): KeaSubnet[] {
  return subnetsOf(dhcp4).filter((subnet) => scope === undefined || scopeName(subnet) === scope)
}

async function reservationsIn(
  store: ReservationStore,
  subnets: readonly KeaSubnet[],
): Promise<(DhcpReservation & { scope: string })[]> {
  const rows = await store.list(subnets)
  return subnets.flatMap((subnet) => {
    const scope = scopeName(subnet)
    return (rows.get(subnet.id) ?? []).map((row) => ({ ...row, scope })).sort(byAddress)
  })
}

function scopeChanges({
  kea,
  cycle,
  store,
  find,
}: Access): Pick<DhcpServer, 'createScope' | 'updateScope' | 'deleteScope'> {
  return {
    async createScope(scope) {
      const rows = await allLeases(kea, undefined)
      await cycle((dhcp4) => {
        const id = formerId(dhcp4, rows, scope.network) ?? nextId(dhcp4)
        const subnet: KeaSubnet = { id, subnet: scope.network, reservations: [] }
        writeScope(subnet, scope)
        dhcp4.subnet4 = [...(dhcp4.subnet4 ?? []), subnet]
      })
    },
    updateScope: (name, scope) => cycle((dhcp4) => writeScope(subnetByName(dhcp4, name), scope)),
    async deleteScope(name) {
      const { subnet } = await find(name)
      const held = await reservationsIn(store, [subnet])
      if (held.length > 0) await store.change(name, { remove: held.map((row) => row.mac) })
      await cycle((dhcp4) => removeSubnet(dhcp4, subnet.id))
      // Leases outlive their subnet, and its id is never given again; so they go with it.
      await ask(kea, 'lease4-wipe', { 'subnet-id': subnet.id })
    },
  }
}

function reservationChanges({
  kea,
  store,
  read,
  find,
}: Access): Pick<DhcpServer, 'changeReservations' | 'reserveLease' | 'releaseReservation'> {
  return {
    changeReservations: (scope, change) => store.change(scope, change),
    async reserveLease(scope, reservation) {
      const held = await leases(kea, read, { mac: reservation.mac })
      if (!held.some((lease) => lease.ip === reservation.ip && lease.scope === scope)) return false
      await store.change(scope, { put: [reservation] })
      return true
    },
    async releaseReservation(scope, mac) {
      const { dhcp4, subnet } = await find(scope)
      const row = (await reservationsIn(store, [subnet])).find((reservation) => reservation.mac === mac)
      if (row === undefined) return
      await store.change(scope, { remove: [mac] })
      const at = numberOf(row.ip)
      const pools = poolsOf(scopeOf(subnet, dhcp4))
      // Kea is silent to a client that asks again for an address outside every pool; without its lease it says no at once.
      if (!pools.some(({ first, last }) => numberOf(first) <= at && at <= numberOf(last))) await endLease(kea, row.ip)
    },
  }
}

/** Reads the configuration, edits it, sets and stores it, and gives the scopes to the peers. */
function createCycle(kea: KeaTransport, peers: readonly KeaTransport[], log: Log) {
  return async (edit: (dhcp4: Dhcp4) => void): Promise<void> => {
    const dhcp4 = dhcp4Of((await ask(kea, 'config-get')).arguments)
    const classes = dhcp4['client-classes'] ?? []
    if (!classes.some(({ name }) => name === DISABLED_CLASS.name))
      dhcp4['client-classes'] = [...classes, DISABLED_CLASS]
    edit(dhcp4)
    for (const subnet of subnetsOf(dhcp4)) subnet.reservations = (subnet.reservations ?? []).map(withoutDefaults)
    await setConfig(kea, dhcp4, log)
    for (const peer of peers) {
      // A peer that is away gets the scopes with the next change, and the comparison in the background reports it.
      await follow(peer, dhcp4, log).catch((err: unknown) => log.warn({ err }, 'dhcp peer did not take the scopes'))
    }
  }
}

/**
 * Not tested first: that takes as long as setting it, and Kea answers no client meanwhile. One that it refuses leaves the old one
 * in force, but without its threads and timers until a configuration is set again.
 */
async function setConfig(kea: KeaTransport, dhcp4: Dhcp4, log: Log): Promise<void> {
  const answer = await kea.send('config-set', { Dhcp4: dhcp4 })
  if (answer.result !== 0) {
    await setAgain(kea).catch((err: unknown) =>
      log.warn({ err }, 'the former configuration of the dhcp server could not be set again'),
    )
    await testConfig(kea, dhcp4)
    throw failed('config-set', answer.text)
  }
  await ask(kea, 'config-write')
}

async function setAgain(kea: KeaTransport): Promise<void> {
  await ask(kea, 'config-set', { Dhcp4: dhcp4Of((await ask(kea, 'config-get')).arguments) })
}

async function follow(peer: KeaTransport, dhcp4: Dhcp4, log: Log): Promise<void> {
  const theirs = dhcp4Of((await ask(peer, 'config-get')).arguments)
  const { subnet4 = [], 'shared-networks': shared = [], 'client-classes': classes = [] } = dhcp4
  await setConfig(peer, { ...theirs, subnet4, 'shared-networks': shared, 'client-classes': classes }, log)
}

/** Whoever removes a subnet by hand leaves its leases; under their id they are held again. */
function formerId(dhcp4: Dhcp4, rows: readonly Static<typeof Lease>[], network: string): number | undefined {
  const taken = new Set(subnetsOf(dhcp4).map((subnet) => subnet.id))
  const subnet = subnetOf(network)
  const left = rows.find((row) => {
    const at = numberOf(row['ip-address'])
    return !taken.has(row['subnet-id']) && subnet !== undefined && at > subnet.network && at < subnet.broadcast
  })
  return left?.['subnet-id']
}

/** An id that no lease can still point to: leases outlive subnets, so ids are counted up and never used again. */
function nextId(dhcp4: Dhcp4): number {
  const context = dhcp4['user-context'] ?? {}
  const highest = Math.max(0, ...subnetsOf(dhcp4).map((subnet) => subnet.id))
  const given = typeof context.last_subnet_id === 'number' ? context.last_subnet_id : 0
  const id = Math.max(highest, given) + 1
  dhcp4['user-context'] = { ...context, last_subnet_id: id }
  return id
}

function subnetByName(dhcp4: Dhcp4, name: string): KeaSubnet {
  const subnet = subnetsOf(dhcp4).find((candidate) => scopeName(candidate) === name)
  if (subnet === undefined) throw gone(`scope ${name}`)
  return subnet
}

async function leases(
  kea: KeaTransport,
  read: (signal?: AbortSignal) => Promise<Dhcp4>,
  { scope, mac }: { scope?: string; mac?: string },
  signal?: AbortSignal,
): Promise<DhcpLease[]> {
  const subnets = named(await read(signal), scope)
  if (subnets.length === 0) return []
  const some = scope === undefined ? undefined : subnets
  return leasesIn(subnets, mac === undefined ? await allLeases(kea, some, signal) : await leasesOf(kea, mac, signal))
}

/** Those of these subnets that are held now, in the order of their addresses. */
function leasesIn(subnets: readonly KeaSubnet[], rows: readonly Static<typeof Lease>[]): DhcpLease[] {
  const names = new Map(subnets.map((subnet) => [subnet.id, scopeName(subnet)]))
  const now_s = Date.now() / 1000
  return rows
    .filter((row) => row.state === ASSIGNED && row.cltt + row['valid-lft'] > now_s)
    .flatMap((row) => {
      const name = names.get(row['subnet-id'])
      return name === undefined ? [] : [leaseOf(row, name)]
    })
    .sort(byAddress)
}

function byAddress(a: { ip: string }, b: { ip: string }): number {
  return numberOf(a.ip) - numberOf(b.ip)
}

async function leasesOf(kea: KeaTransport, mac: string, signal?: AbortSignal): Promise<Static<typeof Lease>[]> {
  return rowsOf(await ask(kea, 'lease4-get-by-hw-address', { 'hw-address': mac }, signal))
}

/** One scope is asked for as a whole; all of them page by page. */
async function allLeases(
  kea: KeaTransport,
  of: readonly KeaSubnet[] | undefined,
  signal?: AbortSignal,
): Promise<Static<typeof Lease>[]> {
  if (of !== undefined)
    return rowsOf(await ask(kea, 'lease4-get-all', { subnets: of.map((subnet) => subnet.id) }, signal))
  const rows: Static<typeof Lease>[] = []
  for (let from = 'start'; ; ) {
    const page = rowsOf(await ask(kea, 'lease4-get-page', { from, limit: LEASE_PAGE }, signal))
    rows.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < LEASE_PAGE) return rows
    from = last['ip-address']
  }
}

function rowsOf(answer: KeaAnswer): Static<typeof Lease>[] {
  if (answer.result === NOT_FOUND || answer.arguments === undefined) return []
  if (Leases.Check(answer.arguments)) return answer.arguments.leases
  throw failed('lease4-get', 'the leases do not have the form that this version knows')
}

function leaseOf(row: Static<typeof Lease>, scope: string): DhcpLease {
  const hostname = row.hostname ?? ''
  return {
    mac: row['hw-address'].toLowerCase(),
    ip: row['ip-address'],
    scope,
    hostname: hostname === '' ? null : hostname,
    renewed_at: new Date(row.cltt * 1000),
    expires_at: new Date((row.cltt + row['valid-lft']) * 1000),
    lease_seconds: row['valid-lft'],
  }
}

async function counters(
  kea: KeaTransport,
  subnetId: () => Promise<number>,
  signal?: AbortSignal,
): Promise<Record<string, number>> {
  const answer = await ask(kea, 'stat-lease4-get', { 'subnet-id': await subnetId() }, signal)
  if (!StatAnswer.Check(answer.arguments)) return {}
  const { columns, rows } = answer.arguments['result-set']
  const values = rows[0] ?? []
  return Object.fromEntries(columns.map((column, index) => [column.replaceAll('-', '_'), values[index] ?? 0]))
}

async function endLease(kea: KeaTransport, ip: string): Promise<void> {
  await ask(kea, 'lease4-del', { 'ip-address': ip })
}

async function ask(kea: KeaTransport, command: string, args?: unknown, signal?: AbortSignal): Promise<KeaAnswer> {
  const answer = await kea.send(command, args, signal)
  if (answer.result === 0 || answer.result === NOT_FOUND) return answer
  throw failed(command, answer.text)
}

/** Kea says 1 to everything that went wrong; only the test of a configuration speaks of what is in it alone. */
async function testConfig(kea: KeaTransport, dhcp4: Dhcp4): Promise<void> {
  const answer = await kea.send('config-test', { Dhcp4: dhcp4 })
  if (answer.result !== 0) throw refused('config-test', answer.text, subnetsOf(dhcp4))
}

function gone(what: string): UpstreamError {
  return refused('config-get', `${what} is gone from the server`, what)
}

function refused(operation: string, detail: string, sent: unknown): UpstreamError {
  return new RejectionError({ upstream: 'DHCP', operation, status: REFUSED, detail, sent })
}

function failed(operation: string, detail: string): UpstreamError {
  return new UpstreamError({ upstream: 'DHCP', operation, failure: 'error', status: REFUSED, detail })
}
