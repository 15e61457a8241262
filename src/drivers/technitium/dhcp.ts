// Technitium as the DHCP server of address management. It has no transactions: what was half done is rolled back here, and
// writers hold the server's lock. Its sentences are never read: things are looked up before they are touched.
import pLimit from 'p-limit'
import { isInRange, numberOf, subnetOf } from '#src/kernel/ipv4.ts'
import type { Log } from '#src/kernel/log.ts'
import type {
  DhcpLimits,
  DhcpLease,
  DhcpReservation,
  DhcpScope,
  DhcpServer,
  ReservationChange,
} from '../ddi/dhcp-server.ts'
import {
  formOf,
  leaseOf,
  type LeaseRow,
  Leases,
  leaseSeconds,
  type ListedScope,
  ListedScopes,
  macOf,
  networkOf,
  reservationsOf,
  scopeOf,
  ScopeSettings,
} from './scope-form.ts'
import { createTechnitiumTransport, type TechnitiumConfig, type TechnitiumTransport } from './transport.ts'

export interface TechnitiumDhcp extends DhcpServer {
  close(): Promise<void>
}

const SCOPES_AT_ONCE = 4

/** Its file counts exclusions and lengths of texts in one byte, and a failed write of it is only logged there. */
export const TECHNITIUM_DHCP_LIMITS: DhcpLimits = {
  lease_step_seconds: 60,
  max_excluded_ranges: 254,
  max_text_bytes: 255,
  single_address_range: false,
}

export function createTechnitiumDhcp(config: TechnitiumConfig, { log }: { log: Log }): TechnitiumDhcp {
  const transport = createTechnitiumTransport(config, 'DHCP')
  const reads = readsOf(transport)
  const changes = reservationChanges(transport, reads, log)
  return {
    kind: 'technitium',
    limits: TECHNITIUM_DHCP_LIMITS,
    check: async (signal) => void (await reads.list(signal)),
    scopes: async (signal) => (await reads.all(signal)).map(({ row, settings }) => scopeOf(row, settings)),
    async reservations(scope, signal) {
      const found = await reads.all(signal, (name) => scope === undefined || name === scope)
      return found.flatMap(reservationsIn)
    },
    async leases({ scope, mac }, signal) {
      const rows = (await reads.leases(signal)).filter(
        (row) =>
          (scope === undefined || row.scope === scope) && (mac === undefined || macOf(row.hardwareAddress) === mac),
      )
      const names = new Set(rows.map((row) => row.scope))
      const scopes = names.size === 0 ? [] : await reads.all(signal, (name) => names.has(name))
      return leasesIn(scopes, rows)
    },
    async state(scope, signal) {
      const [found, held] = await Promise.all([
        reads.all(signal, (name) => scope === undefined || name === scope),
        reads.leases(signal),
      ])
      return {
        scopes: found.map(({ row, settings }) => scopeOf(row, settings)),
        reservations: found.flatMap(reservationsIn),
        leases: leasesIn(found, held),
      }
    },
    counters: () => Promise.resolve({}),
    ...scopeChanges(transport, reads, log),
    ...changes,
    close: () => transport.close(),
  }
}

interface ScopeRow {
  row: ListedScope
  settings: ScopeSettings
}

function reservationsIn({ row, settings }: ScopeRow): (DhcpReservation & { scope: string })[] {
  return reservationsOf(settings).map((reservation) => ({ ...reservation, scope: row.name }))
}

function leasesIn(scopes: readonly ScopeRow[], rows: readonly LeaseRow[]): DhcpLease[] {
  const seconds = new Map(scopes.map(({ row, settings }) => [row.name, leaseSeconds(settings)]))
  return rows
    .flatMap((row) => {
      const lease_seconds = seconds.get(row.scope)
      return lease_seconds === undefined ? [] : [leaseOf(row, lease_seconds)]
    })
    .sort((a, b) => numberOf(a.ip) - numberOf(b.ip))
}

interface Reads {
  list(signal?: AbortSignal): Promise<ListedScope[]>
  all(signal?: AbortSignal, wanted?: (name: string) => boolean): Promise<ScopeRow[]>
  one(name: string): Promise<ScopeRow>
  /** Those that are held now. */
  leases(signal?: AbortSignal): Promise<LeaseRow[]>
}

function readsOf(transport: TechnitiumTransport): Reads {
  const list: Reads['list'] = async (signal) => {
    const answer = await transport.call('dhcp/scopes/list', {}, { signal })
    if (ListedScopes.Check(answer)) return answer.scopes
    throw transport.unexpected('dhcp/scopes/list', 'the scopes do not have the form that this version knows')
  }
  const settingsOf = async (name: string, signal?: AbortSignal): Promise<ScopeSettings> => {
    const answer = await transport.call('dhcp/scopes/get', { name }, { signal })
    if (ScopeSettings.Check(answer)) return answer
    throw transport.unexpected('dhcp/scopes/get', `scope ${name} does not have the form that this version knows`)
  }
  const all: Reads['all'] = async (signal, wanted = () => true) => {
    const rows = (await list(signal)).filter((row) => wanted(row.name))
    const limit = pLimit(SCOPES_AT_ONCE)
    return Promise.all(rows.map((row) => limit(async () => ({ row, settings: await settingsOf(row.name, signal) }))))
  }
  return {
    list,
    all,
    async one(name) {
      const [found] = await all(undefined, (candidate) => candidate === name)
      if (found !== undefined) return found
      throw transport.refused('dhcp/scopes/list', `scope ${name} is gone from the server`)
    },
    async leases(signal) {
      const answer = await transport.call('dhcp/leases/list', {}, { signal })
      if (!Leases.Check(answer))
        throw transport.unexpected('dhcp/leases/list', 'the leases do not have the form that this version knows')
      const now_ms = Date.now()
      return answer.leases.filter((row) => Date.parse(row.leaseExpires) > now_ms)
    },
  }
}

type ScopeChanges = Pick<DhcpServer, 'createScope' | 'updateScope' | 'deleteScope'>

function scopeChanges(transport: TechnitiumTransport, reads: Reads, log: Log): ScopeChanges {
  const set = (name: string, scope: DhcpScope): Promise<unknown> =>
    transport.call('dhcp/scopes/set', {
      name,
      ...(name === scope.name ? {} : { newName: scope.name }),
      ...formOf(scope),
    })
  /** Says ok also when nothing was done, so the list is read again. */
  const turn = async (name: string, enabled: boolean): Promise<void> => {
    await transport.call(`dhcp/scopes/${enabled ? 'enable' : 'disable'}`, { name })
    const is = (await reads.list()).find((row) => row.name === name)?.enabled
    if (is === enabled) return
    throw transport.unexpected(
      'dhcp/scopes/list',
      `scope ${name} is not ${enabled ? 'enabled' : 'disabled'} afterwards`,
    )
  }
  return {
    async createScope(scope) {
      const others = await reads.list()
      // A set of a known name would change that scope, and the server does not see every overlap.
      const clash = others.find((row) => row.name === scope.name || overlaps(row, scope))
      if (clash !== undefined)
        throw transport.refused('dhcp/scopes/set', `scope ${clash.name} has this name or overlaps ${scope.network}`)
      try {
        await set(scope.name, scope)
        // Made enabled where it can be; one that cannot is kept disabled without a word.
        await turn(scope.name, scope.enabled)
      } catch (error) {
        await rollBack(log, () => transport.call('dhcp/scopes/delete', { name: scope.name }))
        throw error
      }
    },
    async updateScope(name, scope) {
      const { row, settings } = await reads.one(name)
      const before = scopeOf(row, settings)
      try {
        if (before.enabled && !scope.enabled) await turn(name, false)
        await set(name, scope)
        if (!before.enabled && scope.enabled) await turn(scope.name, true)
      } catch (error) {
        // Settings before the one that was refused are in force already.
        await rollBack(log, async () => {
          const now = (await reads.list()).find((one) => one.name === name || one.name === scope.name)
          if (now === undefined) return
          await set(now.name, before)
          if (now.enabled !== before.enabled) await turn(before.name, before.enabled)
        })
        throw error
      }
    },
    async deleteScope(name) {
      await reads.one(name)
      await transport.call('dhcp/scopes/delete', { name })
    },
  }
}

function overlaps(row: ListedScope, scope: DhcpScope): boolean {
  const [theirs, ours] = [subnetOf(networkOf(row)), subnetOf(scope.network)]
  return (
    theirs !== undefined && ours !== undefined && theirs.network <= ours.broadcast && ours.network <= theirs.broadcast
  )
}

type ReservationChanges = Pick<DhcpServer, 'changeReservations' | 'reserveLease' | 'releaseReservation'>

function reservationChanges(transport: TechnitiumTransport, reads: Reads, log: Log): ReservationChanges {
  const { add, remove, release, put, forgetLease } = reservationCalls(transport, reads)
  /** Brings the MACs back to what they had; what the server does with each is read first. */
  const restore = async (scope: string, macs: readonly string[], before: readonly DhcpReservation[]): Promise<void> => {
    const now = reservationsOf((await reads.one(scope)).settings)
    for (const mac of macs) {
      const [had, has] = [before, now].map((rows) => rows.find((row) => row.mac === mac))
      if (same(had, has)) continue
      if (had === undefined) await release(scope, mac)
      else {
        if (has !== undefined) await remove(scope, mac)
        await add(scope, had)
      }
    }
  }
  const changeReservations = async (scope: string, change: ReservationChange): Promise<void> => {
    const before = reservationsOf((await reads.one(scope)).settings)
    const { put: wanted = [], remove: unwanted = [] } = change
    const twice = duplicateIn(before, wanted, unwanted)
    if (twice !== undefined) throw transport.refused('dhcp/scopes/addReservedLease', twice)
    const puts = wanted.filter((row) => !same(row, before.find((one) => one.mac === row.mac))) // biome-ignore format: one thought
    const macs = [...unwanted, ...puts.map((row) => row.mac)]
    try {
      for (const mac of unwanted) if (before.some((row) => row.mac === mac)) await release(scope, mac)
      // Addresses may change hands inside of one change.
      for (const { mac } of puts) if (before.some((row) => row.mac === mac)) await remove(scope, mac)
      for (const row of puts) await put(scope, row)
      // The client is refused its old address at its next renewal; until then nobody else would get it.
      for (const row of puts) await forgetLease(scope, row.mac, (lease) => lease.address !== row.ip)
    } catch (error) {
      await rollBack(log, () => restore(scope, macs, before))
      throw error
    }
  }
  return {
    changeReservations,
    async reserveLease(scope, reservation) {
      const held = (await reads.leases()).some(
        (row) =>
          row.scope === scope && row.address === reservation.ip && macOf(row.hardwareAddress) === reservation.mac,
      )
      if (held) await changeReservations(scope, { put: [reservation] })
      return held
    },
    async releaseReservation(scope, mac) {
      const { settings } = await reads.one(scope)
      if (reservationsOf(settings).some((row) => row.mac === mac)) await release(scope, mac)
    },
  }
}

function reservationCalls(transport: TechnitiumTransport, reads: Reads) {
  const add = (scope: string, { mac, ip, hostname, comment }: DhcpReservation): Promise<unknown> =>
    transport.call('dhcp/scopes/addReservedLease', {
      name: scope,
      hardwareAddress: mac,
      ipAddress: ip,
      hostName: hostname,
      comments: comment,
    })
  const remove = (scope: string, mac: string): Promise<unknown> =>
    transport.call('dhcp/scopes/removeReservedLease', { name: scope, hardwareAddress: mac })
  const convert = (scope: string, mac: string, to: 'Reserved' | 'Dynamic'): Promise<unknown> =>
    transport.call(`dhcp/leases/convertTo${to}`, { name: scope, hardwareAddress: mac })
  const leaseOfMac = async (scope: string, mac: string): Promise<LeaseRow | undefined> =>
    (await reads.leases()).find((row) => row.scope === scope && macOf(row.hardwareAddress) === mac)
  const forgetLease = async (scope: string, mac: string, which: (lease: LeaseRow) => boolean): Promise<void> => {
    const lease = await leaseOfMac(scope, mac)
    if (lease !== undefined && which(lease))
      await transport.call('dhcp/leases/remove', { name: scope, hardwareAddress: mac })
  }
  return {
    add,
    remove,
    forgetLease,
    /** The MAC has no reservation. A lease of this address becomes reserved first, or the client's next renewal is refused. */
    async put(scope: string, row: DhcpReservation): Promise<void> {
      const lease = await leaseOfMac(scope, row.mac)
      if (lease !== undefined && lease.type === 'Dynamic' && lease.address === row.ip) {
        await convert(scope, row.mac, 'Reserved')
        // It is made without name and comment.
        await remove(scope, row.mac)
      }
      await add(scope, row)
    },
    /** The lease stays as a dynamic one where the range allows it; elsewhere it goes with the reservation. */
    async release(scope: string, mac: string): Promise<void> {
      const [{ row, settings }, lease] = await Promise.all([reads.one(scope), leaseOfMac(scope, mac)])
      const reserved = reservationsOf(settings).find((one) => one.mac === mac)
      const { range, excluded } = scopeOf(row, settings)
      const ip = reserved?.ip ?? ''
      // A conversion would take away an exclusion of this address.
      const stays = ip !== '' && isInRange(ip, range) && !excluded.some((hole) => isInRange(ip, hole))
      if (stays && lease !== undefined && lease.type === 'Reserved' && lease.address === ip) {
        await convert(scope, mac, 'Dynamic')
        return
      }
      if (reserved !== undefined) await remove(scope, mac)
      if (lease !== undefined && lease.type === 'Reserved') await forgetLease(scope, mac, () => true)
    },
  }
}

/** Two clients of one address: the server would take it and serve both. */
function duplicateIn(
  before: readonly DhcpReservation[],
  wanted: readonly DhcpReservation[],
  unwanted: readonly string[],
): string | undefined {
  const changed = new Set([...wanted.map((row) => row.mac), ...unwanted])
  const owner = new Map(before.filter((row) => !changed.has(row.mac)).map((row) => [row.ip, row.mac]))
  for (const { ip, mac } of wanted) {
    const other = owner.get(ip)
    if (other !== undefined) return `${ip} is reserved for ${other} already`
    owner.set(ip, mac)
  }
  return undefined
}

function same(a: DhcpReservation | undefined, b: DhcpReservation | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.mac === b.mac && a.ip === b.ip && a.hostname === b.hostname && a.comment === b.comment
}

/** What was done before a failure; that the server then fails again is logged, and shows as a difference later. */
async function rollBack(log: Log, work: () => Promise<unknown>): Promise<void> {
  await work().catch((err: unknown) =>
    log.warn({ err }, 'a refused change of the dhcp server could not be rolled back'),
  )
}
