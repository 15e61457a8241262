// Reservations: list with filters, and the changes, each a job because names belong to them.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Reservation } from '#src/contract/ddi/dhcp-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { DhcpState } from '#src/drivers/ddi/dhcp-server.ts'
import { completedJob } from '#src/jobs/answer.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { numberOf } from '#src/kernel/ipv4.ts'
import { sorted } from '#src/kernel/sorted.ts'
import { leaseKey } from '#src/store/dhcp-leases.ts'
import { reservationOrders, scopeNotes } from '#src/store/dhcp-orders.ts'
import { nameOf } from '../dns/names.ts'
import type { DhcpDeps } from './deps.ts'
import {
  allReservations,
  counted,
  paged,
  requireReservations,
  requireScope,
  requireState,
  reservationViews,
} from './reading.ts'
import { fullName, dhcpReservationCreateJob, type ReservationWish } from './reservation.job.ts'
import { checkReservedAddress, checkText } from './scope-rules.ts'
import { type AnyReservation, macOf, type ServerReservation } from './views.ts'
import { macsOfVm } from './vm-macs.ts'

type In<Op extends keyof typeof dhcp.routes> = Input<(typeof dhcp.routes)[Op]>

const COLUMNS = {
  ip: (row: AnyReservation) => numberOf(row.ip),
  mac: (row: AnyReservation) => row.mac,
  hostname: (row: AnyReservation) => row.hostname || null,
  scope: (row: AnyReservation) => row.scope,
}

export function dhcpReservationList(deps: DhcpDeps) {
  return async ({ query }: In<'dhcpReservationList'>, ctx: RequestContext) => {
    const { scope_name } = query
    const there = serverSide(deps, query, ctx.signal)
    const [all, wanted] = await Promise.all([
      allReservations(
        deps,
        scope_name,
        there.then(({ reservations }) => reservations),
      ),
      filterOf(deps, query, there, ctx),
    ])
    const page = paged(sorted(all.filter(wanted), query, COLUMNS), query)
    const rows = await reservationViews(deps, page.rows)
    const reservations = query.include_dns === true ? await withNames(deps, rows) : rows
    return {
      success: true,
      message: counted(page.total_count, 'reservation', 'reservations'),
      data: {
        scope: scope_name ?? null,
        total_count: page.total_count,
        reservations,
        page: page.page,
        page_size: page.page_size,
      },
    }
  }
}

type ListQuery = In<'dhcpReservationList'>['query']
type ServerSide = Pick<DhcpState, 'reservations' | 'leases'>

/** Leases only when they are asked about. */
async function serverSide(
  deps: DhcpDeps,
  { scope_name: scope, lease_type }: ListQuery,
  signal: AbortSignal,
): Promise<ServerSide> {
  if (lease_type === undefined) return { reservations: await requireReservations(deps, scope, signal), leases: [] }
  return scope === undefined ? deps.server.state(undefined, signal) : requireState(deps, scope, signal)
}

async function filterOf(
  deps: DhcpDeps,
  query: ListQuery,
  there: Promise<ServerSide>,
  ctx: RequestContext,
): Promise<(row: AnyReservation) => boolean> {
  const { network_id, vm_id, lease_type, search } = query
  const [notes, macs, { leases }] = await Promise.all([
    network_id === undefined ? [] : scopeNotes(deps.database.db),
    vm_id === undefined ? undefined : macsOfVm(deps.cloudstack, vm_id, ctx),
    there,
  ])
  const scopes = new Set(notes.filter((note) => note.network_id === network_id).map((note) => note.name))
  const held = new Set(leases.map(leaseKey))
  const text = search?.toLowerCase()
  return (row) =>
    (network_id === undefined || scopes.has(row.scope)) &&
    (macs === undefined || macs.has(row.mac)) &&
    (lease_type === undefined || held.has(leaseKey(row)) === (lease_type === 'reserved')) &&
    (text === undefined ||
      [row.mac, row.ip, row.hostname, row.comment].some((field) => field.toLowerCase().includes(text)))
}

async function withNames({ dns }: DhcpDeps, rows: readonly Reservation[]): Promise<Reservation[]> {
  if (dns === undefined)
    throw new ApiError('DNS_NOT_CONFIGURED', 'No DNS server is configured (dns.server), so names cannot be looked up.')
  const names = await dns.lookup(
    rows.map((row) => row.ip),
    undefined,
  )
  return rows.map((row) => {
    const name = names.get(row.ip)
    const dns_records = name === undefined ? [] : [{ zone: '', name: name.fqdn, type: 'A', value: row.ip }]
    return { ...row, dns_records }
  })
}

export function dhcpReservationCreate(deps: DhcpDeps) {
  const admit = async ({ body }: In<'dhcpReservationCreate'>, ctx: RequestContext) => {
    const mac = macOf(body.mac)
    const { hostname, comment = '', create_dns = false } = body
    if (create_dns && body.dns_zone === undefined)
      throw invalidField('body.dns_zone', 'is needed when create_dns is true')
    if (!create_dns && body.create_ptr === true)
      throw invalidField('body.create_ptr', 'needs create_dns: the reverse record leads to the name')
    checkText(hostname, deps.server.limits, 'body.hostname')
    checkText(comment, deps.server.limits, 'body.comment')
    // Without an address the job alone reads a large configuration; but for a server that is away it would try again and again.
    if (body.ip === undefined) await deps.server.check(ctx.signal)
    else checkReservedAddress(await requireScope(deps, body.scope_name, ctx.signal), body.ip, 'body.ip')
    const names = create_dns ? { dns_zone: nameOf(body.dns_zone ?? ''), ptr: body.create_ptr ?? true } : null
    const after = { ip: body.ip ?? null, hostname, comment, enabled: true, names }
    const change = { scope: body.scope_name, mac, before: null, after, change_names: create_dns }
    await admitJob(deps, ctx, change, `Reserving an address for ${hostname}.`)
  }
  const completed = (job: JobRow, { body }: In<'dhcpReservationCreate'>) => {
    const { ip, fqdn } = resultOf(deps, job)
    const made = { hostname: body.hostname, ip, mac: macOf(body.mac), scope: body.scope_name }
    return { dns_created: fqdn !== null, fqdn, ...made, success: true, message: job.status }
  }
  return completedJob(deps.jobs, { admit, completed })
}

export function dhcpReservationUpdate(deps: DhcpDeps) {
  const admit = async ({ params, body }: In<'dhcpReservationUpdate'>, ctx: RequestContext) => {
    const mac = macOf(params.mac_address)
    if (macOf(body.mac) !== mac)
      throw invalidField('body.mac', `${body.mac} differs from ${params.mac_address} of the path`)
    const { scope, reservations } = await requireState(deps, body.scope_name, ctx.signal)
    const before = await requireReservation(deps, scope.name, mac, reservations)
    checkText(body.hostname ?? '', deps.server.limits, 'body.hostname')
    checkText(body.comment ?? '', deps.server.limits, 'body.comment')
    if (body.new_ip !== undefined) checkReservedAddress(scope, body.new_ip, 'body.new_ip')
    const after = {
      ip: body.new_ip ?? before.ip,
      hostname: body.hostname ?? before.hostname,
      comment: body.comment ?? before.comment,
      enabled: body.enabled ?? before.enabled,
      names: before.names,
    }
    const change = { scope: scope.name, mac, before, after, change_names: body.update_dns === true }
    await admitJob(deps, ctx, change, `Changing the reservation of ${mac}.`)
  }
  const completed = (job: JobRow, { body }: In<'dhcpReservationUpdate'>) => {
    const { ip } = resultOf(deps, job)
    return {
      hostname: job.resource_name,
      ip,
      mac: macOf(body.mac),
      scope: body.scope_name,
      success: true,
      message: job.status,
    }
  }
  return completedJob(deps.jobs, { admit, completed })
}

export function dhcpReservationDelete(deps: DhcpDeps) {
  const admit = async ({ params, query }: In<'dhcpReservationDelete'>, ctx: RequestContext) => {
    const mac = macOf(params.mac_address)
    const scope = query.scope_name
    const before = await requireReservation(deps, scope, mac, await requireReservations(deps, scope, ctx.signal))
    const change = { scope, mac, before, after: null, change_names: query.delete_dns === true }
    await admitJob(deps, ctx, change, `Deleting the reservation of ${mac}.`)
  }
  return completedJob(deps.jobs, { admit, completed: (job: JobRow) => ({ success: true, message: job.status }) })
}

/** As it is now: on the server, or kept here while it is disabled. */
async function requireReservation(
  deps: DhcpDeps,
  scope: string,
  mac: string,
  on_server: readonly ServerReservation[],
): Promise<ReservationWish & { ip: string }> {
  const [order] = await reservationOrders(deps.database.db, { scope, mac })
  const there = on_server.find((row) => row.mac === mac)
  const now = there ?? order
  if (now === undefined)
    throw new ApiError('DHCP_RESERVATION_NOT_FOUND', `${mac} has no reservation in scope ${scope}.`)
  const zone = order?.dns_zone ?? null
  const names = zone === null ? null : { dns_zone: zone, ptr: order?.ptr ?? false }
  return {
    ip: now.ip,
    hostname: now.hostname,
    comment: order?.comment ?? now.comment,
    enabled: there !== undefined,
    names,
  }
}

type ReservationInput = Parameters<(typeof dhcpReservationCreateJob.steps)[0]['run']>[0]['input']

async function admitJob(
  deps: DhcpDeps,
  ctx: RequestContext,
  input: ReservationInput,
  description: string,
): Promise<void> {
  const names = input.after?.names ?? null
  const fqdn = names === null ? null : fullName(input.after?.hostname ?? '', names.dns_zone)
  await deps.jobs.admit(dhcpReservationCreateJob, {
    operation: ctx,
    input,
    description,
    resource_id: input.mac,
    resource_name: input.after?.hostname ?? input.before?.hostname ?? '',
    metadata: { scope: input.scope, ip: input.after?.ip ?? null, fqdn },
  })
}

function resultOf(deps: DhcpDeps, job: JobRow) {
  const result = deps.jobs.result(dhcpReservationCreateJob, job)
  if (result === undefined) throw new Error(`job ${job.id} ended without a result`)
  return result
}
