// A scope as Kea's subnet and back. Range and exclusions stand in the subnet's user context, because pools alone cannot
// tell an excluded edge from a shorter range.
import { Compile } from 'typebox/compile'
import { Type } from 'typebox'
import { type AddressRange, addressOf, numberOf, rangeOf, subnetOf, without } from '#src/kernel/ipv4.ts'
import type { DhcpReservation, DhcpScope } from '../ddi/dhcp-server.ts'
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
    .map(({ pool }) => poolOf(pool))
    .sort((a, b) => numberOf(a.first) - numberOf(b.first))
  const ours = OurContext.Check(context) ? context : undefined
  const range = ours ?? { first: pools[0]?.first ?? '', last: pools.at(-1)?.last ?? '' }
  return {
    name: scopeName(subnet),
    network: subnet.subnet,
    range: { first: range.first, last: range.last },
    excluded: ours === undefined ? gapsOf(pools) : ours.excluded.flatMap((text) => rangeOf(text) ?? []),
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
  const subnet = subnetOf(scope.network)
  const edges = subnet === undefined ? [] : [addressOf(subnet.network), addressOf(subnet.broadcast)]
  const single = [...edges, ...(scope.gateway === '' ? [] : [scope.gateway])]
  return without([scope.range], [...scope.excluded, ...single.map((address) => ({ first: address, last: address }))])
}

function gapsOf(pools: readonly AddressRange[]): AddressRange[] {
  return pools.slice(1).flatMap((pool, index) => {
    const first = numberOf(pools[index]?.last ?? pool.first) + 1
    const last = numberOf(pool.first) - 1
    return first > last ? [] : [{ first: addressOf(first), last: addressOf(last) }]
  })
}

/** A pool may also be written as a subnet. */
function poolOf(text: string): AddressRange {
  const subnet = subnetOf(text.trim())
  const range =
    subnet === undefined ? rangeOf(text) : { first: addressOf(subnet.network), last: addressOf(subnet.broadcast) }
  return range ?? { first: '0.0.0.0', last: '0.0.0.0' }
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
