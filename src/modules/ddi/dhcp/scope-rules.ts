// What a scope must be, and what its server can express: checked before anything changes.
import type { ScopeCreate, ScopeUpdate } from '#src/contract/ddi/dhcp-records.ts'
import type { DhcpLease, DhcpLimits, DhcpReservation, DhcpScope } from '#src/drivers/ddi/dhcp-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import {
  type AddressRange,
  addressOf,
  isInRange,
  isIpv4,
  merged,
  numberOf,
  rangeOf,
  type Subnet,
  subnetOf,
  textOf,
  without,
} from '#src/kernel/ipv4.ts'

const DEFAULT_LEASE_S = 86_400
const MAX_LEASE_S = 365 * 86_400
const UNIT_S = { s: 1, m: 60, h: 3600, d: 86_400 } as const

export function newScope(body: ScopeCreate, limits: DhcpLimits, others: readonly DhcpScope[]): DhcpScope {
  const subnet = subnetOf(body.network_cidr)
  if (subnet === undefined || subnet.bits < 8 || subnet.bits > 30)
    throw invalidField('body.network_cidr', `${body.network_cidr} is no subnet of /8 to /30 whose host bits are zero`)
  if (others.some((other) => other.name === body.name))
    throw new ApiError('DHCP_SCOPE_EXISTS', `A scope named ${body.name} already exists.`)
  const clash = others.find((other) => overlap(subnet, subnetOf(other.network)))
  if (clash !== undefined)
    throw new ApiError('DHCP_SCOPE_OVERLAP', `${body.network_cidr} overlaps ${clash.network} of scope ${clash.name}.`)
  return checkedScope(
    {
      name: body.name,
      network: body.network_cidr,
      range: { first: body.start_address, last: body.end_address },
      excluded: (body.excluded_ranges ?? []).map((text, index) => rangeIn(text, `body.excluded_ranges/${index}`)),
      gateway: body.gateway,
      dns_servers: body.dns_servers ?? [],
      lease_seconds: secondsOf(body.lease_time),
      enabled: body.enabled ?? true,
    },
    limits,
    'body.excluded_ranges',
  )
}

export function changedScope(scope: DhcpScope, body: ScopeUpdate, limits: DhcpLimits): DhcpScope {
  const excluded = [...scope.excluded]
  if (body.exclude_range !== undefined) excluded.push(rangeIn(body.exclude_range, 'body.exclude_range'))
  const included = body.include_range === undefined ? [] : [rangeIn(body.include_range, 'body.include_range')]
  return checkedScope(
    {
      ...scope,
      range: { first: body.start_address ?? scope.range.first, last: body.end_address ?? scope.range.last },
      excluded: without(excluded, included),
      gateway: body.gateway ?? scope.gateway,
      dns_servers: body.dns_servers ?? scope.dns_servers,
      lease_seconds: body.lease_time === undefined ? scope.lease_seconds : secondsOf(body.lease_time),
      enabled: body.enabled ?? scope.enabled,
    },
    limits,
    body.exclude_range === undefined ? 'body.excluded_ranges' : 'body.exclude_range',
  )
}

/** Field names are those of both requests, but for that of the exclusions. */
function checkedScope(scope: DhcpScope, limits: DhcpLimits, exclusions_field: string): DhcpScope {
  const subnet = subnetOf(scope.network)
  if (subnet === undefined) throw new Error(`scope ${scope.name} has no subnet`)
  const { first, last } = scope.range
  inside(subnet, first, 'body.start_address')
  inside(subnet, last, 'body.end_address')
  if (numberOf(first) > numberOf(last)) throw invalidField('body.end_address', `${last} is before ${first}`)
  if (first === last && !limits.single_address_range)
    throw invalidField(
      'body.end_address',
      `${last} is the start too; the DHCP server in use needs a range of two addresses at least`,
    )
  if (scope.gateway !== '') inside(subnet, scope.gateway, 'body.gateway')
  const excluded = merged(scope.excluded)
  const outside = excluded.find((range) => !isInRange(range.first, scope.range) || !isInRange(range.last, scope.range))
  if (outside !== undefined)
    throw invalidField(exclusions_field, `${textOf(outside)} is not inside ${textOf(scope.range)}`)
  if (excluded.length > limits.max_excluded_ranges)
    throw invalidField(
      exclusions_field,
      `${excluded.length} ranges are too many; the DHCP server in use takes ${limits.max_excluded_ranges} at most`,
    )
  if (scope.lease_seconds % limits.lease_step_seconds !== 0)
    throw invalidField(
      'body.lease_time',
      `${scope.lease_seconds} seconds are refused; the DHCP server in use takes multiples of ${limits.lease_step_seconds} seconds`,
    )
  return { ...scope, excluded }
}

function inside(subnet: Subnet, address: string, path: string): void {
  const at = numberOf(address)
  if (at > subnet.network && at < subnet.broadcast) return
  const network = `${addressOf(subnet.network)}/${subnet.bits}`
  const special = at === subnet.network ? 'the network address' : at === subnet.broadcast ? 'the broadcast address' : ''
  throw invalidField(
    path,
    special === '' ? `${address} is not in ${network}` : `${address} is ${special} of ${network}`,
  )
}

function rangeIn(text: string, path: string): AddressRange {
  const range = rangeOf(text)
  if (range !== undefined) return range
  throw invalidField(path, `${text} is neither an address nor first-last in ascending order`)
}

function overlap(a: Subnet, b: Subnet | undefined): boolean {
  return b !== undefined && a.network <= b.broadcast && b.network <= a.broadcast
}

export function secondsOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LEASE_S
  const unit = text.at(-1) ?? ''
  const seconds = unit in UNIT_S ? Number(text.slice(0, -1)) * UNIT_S[unit as keyof typeof UNIT_S] : Number(text)
  if (seconds >= 1 && seconds <= MAX_LEASE_S) return seconds
  throw invalidField('body.lease_time', `${text} is not between 1 second and 365 days`)
}

/** In the largest unit that fits: 12h, 90m, 3600s is 1h. */
export function durationOf(seconds: number): string {
  const unit = (['d', 'h', 'm'] as const).find((word) => seconds >= UNIT_S[word] && seconds % UNIT_S[word] === 0) ?? 's'
  return `${seconds / UNIT_S[unit]}${unit}`
}

/** Addresses that clients without a reservation may get, before reservations and leases are taken off. */
export function usableRanges(scope: DhcpScope): AddressRange[] {
  const subnet = subnetOf(scope.network)
  const special = [scope.gateway, ...scope.dns_servers, ...(subnet === undefined ? [] : [addressOf(subnet.network), addressOf(subnet.broadcast)])] // biome-ignore format: one list
  const holes = special.filter(isIpv4).map((address) => ({ first: address, last: address }))
  return without([scope.range], [...scope.excluded, ...holes])
}

/** A reserved address may lie outside the range, never outside the subnet. */
export function checkReservedAddress(scope: DhcpScope, ip: string, path: string): void {
  const subnet = subnetOf(scope.network)
  if (subnet !== undefined) inside(subnet, ip, path)
  if (ip === scope.gateway) throw invalidField(path, `${ip} is the gateway of scope ${scope.name}`)
}

export function checkText(text: string, limits: DhcpLimits, path: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > limits.max_text_bytes)
    throw invalidField(path, `has ${bytes} bytes; the DHCP server in use takes ${limits.max_text_bytes} at most`)
}

/** The lowest address that nobody has. */
export function freeAddress(scope: DhcpScope, taken: ReadonlySet<string>): string | undefined {
  for (const { first, last } of usableRanges(scope)) {
    for (let at = numberOf(first); at <= numberOf(last); at += 1) {
      const address = addressOf(at)
      if (!taken.has(address)) return address
    }
  }
  return undefined
}

/** Of whoever else has it. */
export function checkUntaken(
  ip: string,
  reserved: readonly Pick<DhcpReservation, 'ip' | 'mac' | 'hostname'>[],
  leases: readonly Pick<DhcpLease, 'ip' | 'mac'>[],
): void {
  const owner = reserved.find((row) => row.ip === ip)
  if (owner !== undefined)
    throw new ApiError('DHCP_ADDRESS_TAKEN', `${ip} is reserved for ${owner.mac} (${owner.hostname}).`)
  const holder = leases.find((row) => row.ip === ip)
  if (holder !== undefined) throw new ApiError('DHCP_ADDRESS_TAKEN', `${ip} is leased to ${holder.mac} at the moment.`)
}
