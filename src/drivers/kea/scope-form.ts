// A scope as Kea's subnet and back. Range and exclusions stand in the subnet's user context, because pools alone cannot
// tell an excluded edge from a shorter range.
import ipaddr from 'ipaddr.js'
import { Compile } from 'typebox/compile'
import { Type } from 'typebox'
import type { AddressRange, DhcpReservation, DhcpScope } from '../ddi/dhcp-server.ts'
import type { Dhcp4, KeaReservation, KeaSubnet } from './config-form.ts'

/** Defined as never true: a subnet that asks for it is served to nobody. */
export const DISABLED_CLASS = { name: 'DDI_SCOPE_DISABLED', test: "not member('ALL')" }
const DEFAULT_LIFETIME_S = 7200

const OurContext = Compile(
  Type.Object({
    name: Type.String(),
    first: Type.String(),
    last: Type.String(),
    excluded: Type.Array(Type.String()),
    gateway: Type.Optional(Type.String()),
  }),
)

export function scopeName(subnet: KeaSubnet): string {
  const name = subnet['user-context']?.name
  return typeof name === 'string' ? name : `subnet-${subnet.id}`
}

export function scopeOf(subnet: KeaSubnet, dhcp4: Dhcp4): DhcpScope {
  const context: unknown = subnet['user-context']
  const pools = (subnet.pools ?? [])
    .map(({ pool }) => rangeOf(pool))
    .sort((a, b) => numberOf(a.first) - numberOf(b.first))
  const ours = OurContext.Check(context) ? context : undefined
  const range = ours ?? { first: pools[0]?.first ?? '', last: pools.at(-1)?.last ?? '' }
  return {
    name: scopeName(subnet),
    network: subnet.subnet,
    range: { first: range.first, last: range.last },
    excluded: ours === undefined ? gapsOf(pools) : ours.excluded.map(rangeOf),
    gateway: optionOf(subnet, 'routers')[0] ?? '',
    dns_servers: optionOf(subnet, 'domain-name-servers'),
    lease_seconds: subnet['valid-lifetime'] ?? dhcp4['valid-lifetime'] ?? DEFAULT_LIFETIME_S,
    enabled: subnet['client-class'] !== DISABLED_CLASS.name,
  }
}

/** Writes the scope into the subnet and leaves every other member (relay, interface, reservations) as it is. */
export function writeScope(subnet: KeaSubnet, scope: DhcpScope): void {
  subnet.subnet = scope.network
  subnet.pools = poolsOf(scope).map((range) => ({ pool: `${range.first}-${range.last}` }))
  const others = (subnet['option-data'] ?? []).filter((option) => !OUR_OPTIONS.has(option.name ?? ''))
  const options = [
    { name: 'routers', data: scope.gateway },
    { name: 'domain-name-servers', data: scope.dns_servers.join(', ') },
  ]
  subnet['option-data'] = [...others, ...options.filter((option) => option.data !== '')]
  // config-get adds both bounds to every subnet, and a lifetime outside of them is refused.
  delete subnet['min-valid-lifetime']
  delete subnet['max-valid-lifetime']
  subnet['valid-lifetime'] = scope.lease_seconds
  if (scope.enabled) delete subnet['client-class']
  else subnet['client-class'] = DISABLED_CLASS.name
  subnet['user-context'] = {
    ...subnet['user-context'],
    name: scope.name,
    first: scope.range.first,
    last: scope.range.last,
    excluded: scope.excluded.map((range) => `${range.first}-${range.last}`),
  }
}

const OUR_OPTIONS: ReadonlySet<string> = new Set(['routers', 'domain-name-servers'])

function optionOf(subnet: KeaSubnet, name: string): string[] {
  const data = subnet['option-data']?.find((option) => option.name === name)?.data ?? ''
  return data.split(',').map((part) => part.trim()).filter((part) => part !== '') // biome-ignore format: one thought
}

/** The range without exclusions, gateway, network and broadcast address: Kea would hand each of them out. */
export function poolsOf(scope: Pick<DhcpScope, 'network' | 'range' | 'excluded' | 'gateway'>): AddressRange[] {
  const [base, bits] = ipaddr.parseCIDR(scope.network)
  const network = numberOf(base.toString())
  const broadcast = network + 2 ** (32 - bits) - 1
  const single = [network, broadcast, ...(scope.gateway === '' ? [] : [numberOf(scope.gateway)])].map((at) => [at, at])
  const holes = [...scope.excluded.map((range) => [numberOf(range.first), numberOf(range.last)]), ...single]
  let free: [number, number][] = [[numberOf(scope.range.first), numberOf(scope.range.last)]]
  for (const [from = 0, to = 0] of holes) {
    free = free.flatMap(([first, last]): [number, number][] => {
      if (to < first || from > last) return [[first, last]]
      const left: [number, number][] = from > first ? [[first, from - 1]] : []
      return to < last ? [...left, [to + 1, last]] : left
    })
  }
  return free.map(([first, last]) => ({ first: addressOf(first), last: addressOf(last) }))
}

function gapsOf(pools: readonly AddressRange[]): AddressRange[] {
  return pools.slice(1).flatMap((pool, index) => {
    const first = numberOf(pools[index]?.last ?? pool.first) + 1
    const last = numberOf(pool.first) - 1
    return first > last ? [] : [{ first: addressOf(first), last: addressOf(last) }]
  })
}

/** `a-b`, `a - b`, `a` or `a/len`, all of which Kea accepts for a pool. */
export function rangeOf(text: string): AddressRange {
  if (text.includes('/')) {
    const [base, bits] = ipaddr.parseCIDR(text.trim())
    const first = numberOf(base.toString())
    return { first: addressOf(first), last: addressOf(first + 2 ** (32 - bits) - 1) }
  }
  const [first = '', last] = text.split('-').map((part) => part.trim())
  return { first, last: last ?? first }
}

export function numberOf(address: string): number {
  return ipaddr.IPv4.parse(address).octets.reduce((sum, octet) => sum * 256 + octet, 0)
}

export function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}

export function reservationOf(row: KeaReservation): DhcpReservation | undefined {
  const mac = row['hw-address']
  const ip = row['ip-address']
  if (mac === undefined || ip === undefined || ip === '') return undefined
  const comment = row['user-context']?.comment
  return {
    mac: mac.toLowerCase(),
    ip,
    hostname: row.hostname ?? '',
    comment: typeof comment === 'string' ? comment : '',
  }
}

export function writeReservation(row: KeaReservation, reservation: DhcpReservation): KeaReservation {
  return {
    ...row,
    'hw-address': reservation.mac,
    'ip-address': reservation.ip,
    hostname: reservation.hostname,
    'user-context': { ...row['user-context'], comment: reservation.comment },
  }
}
