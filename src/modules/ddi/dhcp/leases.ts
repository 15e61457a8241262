// Leases: active ones from the server, ended ones from the history, and their conversion to reservations and back.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Lease } from '#src/contract/ddi/dhcp-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { DhcpLease } from '#src/drivers/ddi/dhcp-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { endedLeases, firstSeen, leaseKey } from '#src/store/dhcp-leases.ts'
import { forgetReservation, reservationOrders, saveReservation } from '#src/store/dhcp-orders.ts'
import type { DhcpDeps } from './deps.ts'
import { counted, requireScope } from './reading.ts'
import { checkText } from './scope-rules.ts'
import { activeLease, endedLease, macOf } from './views.ts'

type In<Op extends keyof typeof dhcp.routes> = Input<(typeof dhcp.routes)[Op]>

async function withHistory(
  { server, database }: DhcpDeps,
  leases: readonly DhcpLease[],
  scope: string | undefined,
): Promise<Lease[]> {
  const [reserved, seen] = await Promise.all([server.reservations(scope), firstSeen(database.db, leases)])
  const keys = new Set(reserved.map(leaseKey))
  return leases.map((lease) => activeLease(lease, keys, seen.get(leaseKey(lease))))
}

export function dhcpLeaseList(deps: DhcpDeps) {
  return async ({ query }: In<'dhcpLeaseList'>, ctx: RequestContext) => {
    const { scope_name: scope, state, page = 1, page_size = 50 } = query
    if (scope !== undefined) await requireScope(deps, scope, ctx.signal)
    const of = scope === undefined ? {} : { scope }
    const active = state === undefined || state === 'active' ? await deps.server.leases(of, ctx.signal) : []
    const start = (page - 1) * page_size
    const first = await withHistory(deps, active.slice(start, start + page_size), scope)
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

export function dhcpLeaseGet(deps: DhcpDeps) {
  return async ({ params }: In<'dhcpLeaseGet'>, ctx: RequestContext) => {
    const mac = macOf(params.mac_address)
    const held = (await deps.server.leases({ mac }, ctx.signal)).toSorted((a, b) => +b.expires_at - +a.expires_at)
    const [newest] = await withHistory(deps, held.slice(0, 1), held[0]?.scope)
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
  return async ({ params, body }: In<'dhcpLeaseConvert'>, ctx: RequestContext) => {
    const mac = macOf(params.mac_address)
    if (macOf(body.mac) !== mac)
      throw invalidField('body.mac', `${body.mac} differs from ${params.mac_address} of the path`)
    const scope = await requireScope(deps, body.scope_name, ctx.signal)
    const about = {
      resource_type: 'DHCP_RESERVATION',
      resource_uuid: mac,
      tenant_id: null,
      description: `Converting the lease of ${mac} in scope ${scope.name}.`,
    }
    const work = body.mode === 'reserved' ? reserve : unreserve
    return recordChange(deps, ctx, about, async (note) => {
      const message = await deps.lock(() => work(deps, scope.name, mac, body))
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
  const lease = (await server.leases({ mac })).find((row) => row.scope === scope)
  if (lease === undefined) throw new ApiError('DHCP_LEASE_NOT_FOUND', `${mac} has no active lease in scope ${scope}.`)
  const [before] = await reservationOrders(database.db, { scope, mac })
  const there = (await server.reservations(scope)).find((row) => row.mac === mac)
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

async function unreserve({ server, database }: DhcpDeps, scope: string, mac: string): Promise<string> {
  const there = (await server.reservations(scope)).find((row) => row.mac === mac)
  if (there === undefined)
    throw new ApiError('DHCP_RESERVATION_NOT_FOUND', `${mac} has no enabled reservation in scope ${scope}.`)
  await server.releaseReservation(scope, mac)
  await forgetReservation(database.db, scope, mac)
  return `${there.ip} is reserved for ${mac} no longer.`
}
