// The job that makes, changes or takes away a reservation together with its names: both or neither.
import { type Static, Type } from 'typebox'
import { Nullable } from '#src/contract/common.ts'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
import { forgetReservation, reservationOrders, saveReservation } from '#src/store/dhcp-orders.ts'
import type { AddressDns } from '../address-dns.ts'
import type { ServerLock } from '../server-lock.ts'
import { requireState } from './reading.ts'
import { checkReservedAddress, checkUntaken, freeAddress } from './scope-rules.ts'

export interface ReservationJobDeps {
  server: DhcpServer
  lock: ServerLock
  database: Database
  dns: AddressDns | undefined
}

/** A reservation as it was or shall be; `names`: the records that belong to it. */
const Wish = Type.Object({
  /** Null: the lowest free address. */
  ip: Nullable(Type.String()),
  hostname: Type.String(),
  comment: Type.String(),
  enabled: Type.Boolean(),
  names: Nullable(Type.Object({ dns_zone: Type.String(), ptr: Type.Boolean() })),
})
export type ReservationWish = Static<typeof Wish>

const ReservationJobInput = Type.Object({
  scope: Type.String(),
  mac: Type.String(),
  before: Nullable(Wish),
  after: Nullable(Wish),
  /** Whether DNS follows. */
  change_names: Type.Boolean(),
})
const ReservationJobState = Type.Object({
  /** Chosen before the server is touched. */
  ip: Type.String(),
  fqdn: Nullable(Type.String()),
  ptr_created: Type.Boolean(),
})
const ReservationJobResult = Type.Object({
  ip: Type.String(),
  fqdn: Nullable(Type.String()),
  ptr_created: Type.Boolean(),
})

type ReservationRun = Run<ReservationJobDeps, Static<typeof ReservationJobInput>, Static<typeof ReservationJobState>>

export const dhcpReservationCreateJob = defineJob<ReservationJobDeps>()({
  type: 'dhcp.reservation',
  input: ReservationJobInput,
  state: ReservationJobState,
  result: ReservationJobResult,
  resource_type: 'DHCP_RESERVATION',
  on_failure: 'undo',
  steps: [
    {
      name: 'reserve',
      title: 'Change the reservation on the DHCP server',
      run: reserve,
      undo: unreserve,
    },
    {
      name: 'names',
      title: 'Change its names in DNS',
      applies: ({ input }) => (namesChange(input) ? true : 'Its names stay as they are.'),
      run: changeNames,
      undo: restoreNames,
    },
  ],
  resultOf: ({ input, state }) => ({
    ip: state.ip ?? input.before?.ip ?? '',
    fqdn: state.fqdn ?? null,
    ptr_created: state.ptr_created ?? false,
  }),
  done: ({ input, state }) =>
    input.after === null
      ? `${input.before?.ip ?? 'The address'} is reserved for ${input.mac} no longer.`
      : `${state.ip ?? ''} is reserved for ${input.after.hostname}.`,
})

/** Chooses the address under the lock of the server, so that two never get the same one. */
async function reserve(run: ReservationRun): Promise<void> {
  const { deps, input } = run
  await deps.lock(async () => {
    if (!(await isOurs(run))) await run.save({ ip: await addressFor(run) })
    await write(run, input.after, run.state.ip ?? '')
  })
}

/** An address that was chosen before a crash, and not written down as this client's, may be another's by now. */
async function isOurs({ deps, input, state }: ReservationRun): Promise<boolean> {
  if (state.ip === undefined) return false
  const [order] = await reservationOrders(deps.database.db, { scope: input.scope, ip: state.ip })
  return order?.mac === input.mac
}

async function unreserve(run: ReservationRun): Promise<void> {
  const { before, after } = run.input
  await run.deps.lock(async () => {
    if (run.state.ip !== undefined && (after === null || (await isOurs(run))))
      await write(run, before, before?.ip ?? '')
  })
}

/** The order is written first: what the server then lacks shows as drift and not as nothing. */
async function write(run: ReservationRun, wish: ReservationWish | null, ip: string): Promise<void> {
  const { scope, mac, before } = run.input
  const { server, database } = run.deps
  if (wish === null) {
    await server.releaseReservation(scope, mac)
    await forgetReservation(database.db, scope, mac)
    return
  }
  const { hostname, comment, enabled, names } = wish
  const known = { fqdn: names === null ? null : fullName(hostname, names.dns_zone), dns_zone: names?.dns_zone ?? null }
  await saveReservation(database.db, { scope, mac, ip, hostname, comment, enabled, ...known, ptr: names?.ptr ?? false })
  if (enabled) await server.changeReservations(scope, { put: [{ mac, ip, hostname, comment }] })
  else if (before?.enabled === true) await server.releaseReservation(scope, mac)
}

/** What somebody else has is refused; what is left out is the lowest free address. */
async function addressFor({ deps, input, signal }: ReservationRun): Promise<string> {
  const { scope: name, mac, before, after } = input
  if (after === null) return before?.ip ?? ''
  const [orders, { scope, reservations: on_server, leases }] = await Promise.all([
    reservationOrders(deps.database.db, { scope: name }),
    requireState(deps, name, signal),
  ])
  if (before === null && [...orders, ...on_server].some((row) => row.mac === mac))
    throw new ApiError('DHCP_RESERVATION_EXISTS', `${mac} has a reservation in scope ${name} already.`)
  const reserved = [...orders, ...on_server].filter((row) => row.mac !== mac)
  const held = leases.filter((lease) => lease.mac !== mac)
  if (after.ip === null) {
    const free = freeAddress(scope, new Set([...reserved, ...held].map((row) => row.ip)))
    if (free === undefined) throw new ApiError('DHCP_SCOPE_FULL', `Scope ${name} has no free address left.`)
    return free
  }
  const { ip } = after
  checkReservedAddress(scope, ip, before === null ? 'body.ip' : 'body.new_ip')
  checkUntaken(ip, reserved, held)
  return ip
}

function namesChange({ before, after, change_names }: ReservationRun['input']): boolean {
  return change_names && ((before?.names ?? null) !== null || (after?.names ?? null) !== null)
}

async function changeNames(run: ReservationRun): Promise<void> {
  const { before, after } = run.input
  const ip = run.state.ip ?? ''
  const old = before?.names ?? null
  const moved = before !== null && (before.ip !== ip || after === null || before.hostname !== after.hostname)
  if (old !== null && moved) await withdraw(run, before.ip ?? ip, before.hostname, old.dns_zone)
  if (after !== null && after.names !== null) {
    const made = await publish(run, ip, after, after.names)
    await run.save({ fqdn: made.fqdn, ptr_created: made.ptr_created })
  }
}

/** Safe when nothing was changed: the same names again change nothing. */
async function restoreNames(run: ReservationRun): Promise<void> {
  const { before, after } = run.input
  const ip = run.state.ip ?? ''
  if (after !== null && after.names !== null) await withdraw(run, ip, after.hostname, after.names.dns_zone)
  if (before !== null && before.names !== null) await publish(run, before.ip ?? ip, before, before.names)
}

function publish(
  run: ReservationRun,
  ip_address: string,
  wish: ReservationWish,
  names: { dns_zone: string; ptr: boolean },
) {
  const { dns_zone, ptr } = names
  return required(run).publish({ ip_address, hostname: wish.hostname, dns_zone, ttl: undefined, create_ptr: ptr })
}

/** Other names of the address are somebody else's. */
async function withdraw(run: ReservationRun, ip_address: string, hostname: string, dns_zone: string): Promise<void> {
  await required(run).withdraw({ ip_address, dns_zone, fqdn: fullName(hostname, dns_zone) })
}

function required({ deps }: ReservationRun): AddressDns {
  if (deps.dns === undefined)
    throw new ApiError('DNS_NOT_CONFIGURED', 'No DNS server is configured (dns.server), so no names can be published.')
  return deps.dns
}

export function fullName(hostname: string, zone: string): string {
  const [name, within] = [hostname.toLowerCase(), zone.toLowerCase().replace(/\.$/, '')]
  return name === within || name.endsWith(`.${within}`) ? name : `${name}.${within}`
}
