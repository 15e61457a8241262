// Leases: active ones from the server, ended ones from the history, and their conversion to reservations and back.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Lease } from '#src/contract/ddi/dhcp-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { DhcpLease, DhcpState } from '#src/drivers/ddi/dhcp-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { numberOf } from '#src/kernel/ipv4.ts'
import { sorted } from '#src/kernel/sorted.ts'
import { recordChange } from '#src/store/app-events.ts'
import { endedLeases, firstSeen, leaseKey } from '#src/store/dhcp-leases.ts'
import { forgetReservation, reservationOrders, saveReservation } from '#src/store/dhcp-orders.ts'
import type { DhcpDeps } from './deps.ts'
import { counted, requireReservations, requireScope, requireState } from './reading.ts'
import { checkText } from './scope-rules.ts'
import { activeLease, endedLease, macOf, type ServerReservation } from './views.ts'

type In<Op extends keyof typeof dhcp.routes> = Input<(typeof dhcp.routes)[Op]>

async function withHistory(
  { database }: DhcpDeps,
  leases: readonly DhcpLease[],
  reserved: readonly ServerReservation[],
): Promise<Lease[]> {
  const seen = await firstSeen(database.db, leases)
  const keys = new Set(reserved.map(leaseKey))
  return leases.map((lease) => activeLease(lease, keys, seen.get(leaseKey(lease))))
}

const COLUMNS = {
  ip: (lease: DhcpLease) => numberOf(lease.ip),
  mac: (lease: DhcpLease) => lease.mac,
  hostname: (lease: DhcpLease) => lease.hostname,
  scope: (lease: DhcpLease) => lease.scope,
  last_renewal: (lease: DhcpLease) => lease.renewed_at?.getTime() ?? null,
  lease_expires: (lease: DhcpLease) => lease.expires_at.getTime(),
}

export function dhcpLeaseList(deps: DhcpDeps) {
  return async ({ query }: In<'dhcpLeaseList'>, ctx: RequestContext) => {
    const { scope_name: scope, state, page = 1, page_size = 50 } = query
    if (query.sort_by !== undefined && state !== 'active')
      throw invalidField('query.sort_by', 'needs state active: ended leases come from the history, newest first')
    const of = scope === undefined ? {} : { scope }
    const { leases, reservations } = await activeOf(deps, query, ctx.signal)
    const active = sorted(leases, query, COLUMNS)
    const start = (page - 1) * page_size
    const first = await withHistory(deps, active.slice(start, start + page_size), reservations)
    const room = { limit: page_size - first.length, offset: Math.max(0, start - active.length) }
    const ended =
      state === 'active'
        ? { rows: [], count: 0 }
        : await endedLeases(deps.database.db, { ...of, ...(state === undefined ? {} : { state }) }, room)
    const total_count = active.length + ended.count
    return {
      success: true,
      message: counted(total_count, 'lease', 'leases'),
      data: { scope: scope ?? null, total_count, leases: [...first, ...ended.rows.map(endedLease)], page, page_size },
    }
  }
}

/** Leases that are held now, with the reservations of their scopes; none when ended ones alone are asked for. */
async function activeOf(
  deps: DhcpDeps,
  { scope_name: scope, state }: In<'dhcpLeaseList'>['query'],
  signal: AbortSignal,
): Promise<Pick<DhcpState, 'leases' | 'reservations'>> {
  if (state === undefined || state === 'active')
    return scope === undefined ? deps.server.state(undefined, signal) : requireState(deps, scope, signal)
  if (scope !== undefined) await requireScope(deps, scope, signal)
  return { leases: [], reservations: [] }
}

export function dhcpLeaseGet(deps: DhcpDeps) {
  return async ({ params }: In<'dhcpLeaseGet'>, ctx: RequestContext) => {
    const mac = macOf(params.mac_address)
    const [held] = (await deps.server.leases({ mac }, ctx.signal)).toSorted((a, b) => +b.expires_at - +a.expires_at)
    const reserved = held === undefined ? [] : await deps.server.reservations(held.scope, ctx.signal)
    const [newest] = held === undefined ? [] : await withHistory(deps, [held], reserved)
    const data = newest ?? (await lastKnown(deps, mac))
    if (data === undefined) throw new ApiError('DHCP_LEASE_NOT_FOUND', `No lease of ${mac} is known.`)
    return { success: true, message: `Lease of ${data.ip}.`, data }
  }
}

async function lastKnown({ database }: DhcpDeps, mac: string): Promise<Lease | undefined> {
  const { rows } = await endedLeases(database.db, { mac }, { limit: 1, offset: 0 })
  return rows[0] === undefined ? undefined : endedLease(rows[0])
}

export function dhcpLeaseConvert(deps: DhcpDeps) {
  return ({ params, body }: In<'dhcpLeaseConvert'>, ctx: RequestContext) => {
    const mac = macOf(params.mac_address)
    if (macOf(body.mac) !== mac)
      throw invalidField('body.mac', `${body.mac} differs from ${params.mac_address} of the path`)
    const about = {
      resource_type: 'DHCP_RESERVATION',
      resource_uuid: mac,
      tenant_id: null,
      description: `Converting the lease of ${mac} in scope ${body.scope_name}.`,
    }
    const work = body.mode === 'reserved' ? reserve : unreserve
    return recordChange(deps, ctx, about, async (note) => {
      const message = await deps.lock(() => work(deps, body.scope_name, mac, body))
      note.description = message
      return { success: true, message }
    })
  }
}

async function reserve(
  deps: DhcpDeps,
  scope: string,
  mac: string,
  body: In<'dhcpLeaseConvert'>['body'],
): Promise<string> {
  const { server, database } = deps
  const { hostname, comment = '' } = body
  if (hostname === undefined) throw invalidField('body.hostname', 'is needed for mode reserved')
  checkText(hostname, server.limits, 'body.hostname')
  checkText(comment, server.limits, 'body.comment')
  const { leases, reservations } = await requireState(deps, scope)
  const lease = leases.find((row) => row.mac === mac)
  if (lease === undefined) throw new ApiError('DHCP_LEASE_NOT_FOUND', `${mac} has no active lease in scope ${scope}.`)
  const [before] = await reservationOrders(database.db, { scope, mac })
  const there = reservations.find((row) => row.mac === mac)
  if (before !== undefined || there !== undefined)
    throw new ApiError('DHCP_RESERVATION_EXISTS', `${mac} has a reservation in scope ${scope} already.`)
  const reservation = { mac, ip: lease.ip, hostname, comment }
  await saveReservation(database.db, { scope, ...reservation })
  if (!(await server.reserveLease(scope, reservation).catch(forget))) {
    await forgetReservation(database.db, scope, mac)
    throw new ApiError('DHCP_LEASE_NOT_FOUND', `The lease of ${mac} in scope ${scope} ended meanwhile.`)
  }
  return `${lease.ip} is reserved for ${mac}.`

  async function forget(error: unknown): Promise<never> {
    await forgetReservation(database.db, scope, mac)
    throw error
  }
}

async function unreserve(deps: DhcpDeps, scope: string, mac: string): Promise<string> {
  const { server, database } = deps
  const there = (await requireReservations(deps, scope)).find((row) => row.mac === mac)
  if (there === undefined)
    throw new ApiError('DHCP_RESERVATION_NOT_FOUND', `${mac} has no enabled reservation in scope ${scope}.`)
  await server.releaseReservation(scope, mac)
  await forgetReservation(database.db, scope, mac)
  return `${there.ip} is reserved for ${mac} no longer.`
}
