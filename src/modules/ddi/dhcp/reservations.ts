// Reservations: list with filters, and the changes, each a job because names belong to them.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Reservation } from '#src/contract/ddi/dhcp-records.ts'
import type { Input } from '#src/contract/route.ts'
import { completedJob } from '#src/jobs/answer.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { leaseKey } from '#src/store/dhcp-leases.ts'
import { reservationOrders, scopeNotes } from '#src/store/dhcp-orders.ts'
import type { DhcpDeps } from './deps.ts'
import { allReservations, counted, paged, requireScope } from './reading.ts'
import { fullName, dhcpReservationCreateJob, type ReservationWish } from './reservation.job.ts'
import { checkReservedAddress, checkText } from './scope-rules.ts'
import { macOf } from './views.ts'
import { macsOfVm } from './vm-macs.ts'

type In<Op extends keyof typeof dhcp.routes> = Input<(typeof dhcp.routes)[Op]>

export function dhcpReservationList(deps: DhcpDeps) {
  return async ({ query }: In<'dhcpReservationList'>, ctx: RequestContext) => {
    const { scope_name } = query
    if (scope_name !== undefined) await requireScope(deps, scope_name, ctx.signal)
    const [all, wanted] = await Promise.all([allReservations(deps, scope_name, ctx.signal), filterOf(deps, query, ctx)])
    const page = paged(all.filter(wanted), query)
    const reservations = query.include_dns === true ? await withNames(deps, page.rows) : page.rows
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

async function filterOf(
  deps: DhcpDeps,
  query: In<'dhcpReservationList'>['query'],
  ctx: RequestContext,
): Promise<(row: Reservation) => boolean> {
  const { network_id, vm_id, lease_type, search } = query
  const [notes, macs, leases] = await Promise.all([
    network_id === undefined ? [] : scopeNotes(deps.database.db),
    vm_id === undefined ? undefined : macsOfVm(deps.cloudstack, vm_id, ctx),
    lease_type === undefined ? [] : deps.server.leases({}, ctx.signal),
  ])
  const scopes = new Set(notes.filter((note) => note.network_id === network_id).map((note) => note.name))
  const held = new Set(leases.map(leaseKey))
  const text = search?.toLowerCase()
  return (row) =>
    (network_id === undefined || scopes.has(row.scope)) &&
    (macs === undefined || macs.has(row.mac)) &&
    (lease_type === undefined || held.has(leaseKey(row)) === (lease_type === 'reserved')) &&
    (text === undefined ||
      [row.mac, row.ip, row.hostname ?? '', row.comment].some((field) => field.toLowerCase().includes(text)))
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
    const scope = await requireScope(deps, body.scope_name, ctx.signal)
    checkText(hostname, deps.server.limits, 'body.hostname')
    checkText(comment, deps.server.limits, 'body.comment')
    if (body.ip !== undefined) checkReservedAddress(scope, body.ip, 'body.ip')
    const names = create_dns ? { dns_zone: body.dns_zone ?? '', ptr: body.create_ptr ?? true } : null
    const after = { ip: body.ip ?? null, hostname, comment, enabled: true, names }
    const change = { scope: scope.name, mac, before: null, after, change_names: create_dns }
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
    const scope = await requireScope(deps, body.scope_name, ctx.signal)
    const before = await requireReservation(deps, scope.name, mac, ctx)
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
    const scope = await requireScope(deps, query.scope_name, ctx.signal)
    const before = await requireReservation(deps, scope.name, mac, ctx)
    const change = { scope: scope.name, mac, before, after: null, change_names: query.delete_dns === true }
    await admitJob(deps, ctx, change, `Deleting the reservation of ${mac}.`)
  }
  return completedJob(deps.jobs, { admit, completed: (job: JobRow) => ({ success: true, message: job.status }) })
}

/** As it is now: on the server, or kept here while it is disabled. */
async function requireReservation(
  deps: DhcpDeps,
  scope: string,
  mac: string,
  ctx: RequestContext,
): Promise<ReservationWish & { ip: string }> {
  const [[order], on_server] = await Promise.all([
    reservationOrders(deps.database.db, { scope, mac }),
    deps.server.reservations(scope, ctx.signal),
  ])
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
