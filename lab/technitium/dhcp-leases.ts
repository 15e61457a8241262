/** How the simulated server hands out leases, by the rules of the real one, for clients that the control API plays. */
import { addressOf, macOf, numberOf } from './call.ts'
import type { ScopeRecord } from './state.ts'

/** NAK: refused at once. Null: silence. */
export type LeaseAnswer =
  | { type: 'ACK'; ip: string; hostname: string | null; lease_seconds: number }
  | { type: 'NAK' }
  | null

export function networkOf({ first, mask }: Pick<ScopeRecord, 'first' | 'mask'>): {
  network: number
  broadcast: number
} {
  const size = 2 ** 32 - numberOf(mask)
  const network = Math.floor(numberOf(first) / size) * size
  return { network, broadcast: network + size - 1 }
}

export function clearExpired(scope: ScopeRecord, now_ms: number): void {
  scope.leases = scope.leases.filter((lease) => lease.expires_ms > now_ms)
}

/** DISCOVER to ACK: a reservation first, else the address it has, else the lowest free one. */
export function obtain(scope: ScopeRecord, mac_text: string, hostname: string | null, now_ms: number): LeaseAnswer {
  if (!scope.enabled) return null
  clearExpired(scope, now_ms)
  const mac = macOf(mac_text)
  const reserved = scope.reservations.find((one) => one.mac === mac)
  const held = scope.leases.find((lease) => lease.mac === mac)
  if (reserved !== undefined) {
    const other = scope.leases.find((lease) => lease.address === reserved.address && lease.mac !== mac)
    return other === undefined ? grant(scope, mac, reserved.address, hostname, now_ms) : null
  }
  if (held !== undefined && held.type === 'Dynamic' && !unusable(scope, held.address))
    return grant(scope, mac, held.address, hostname, now_ms)
  const taken = new Set(scope.leases.filter((lease) => lease.mac !== mac).map((lease) => lease.address))
  for (let at = numberOf(scope.first); at <= numberOf(scope.last); at += 1) {
    const address = addressOf(at)
    if (!taken.has(address) && !unusable(scope, address)) return grant(scope, mac, address, hostname, now_ms)
  }
  return null
}

/** A REQUEST for the address it holds. */
export function renew(scope: ScopeRecord, mac_text: string, now_ms: number): LeaseAnswer {
  if (!scope.enabled) return null
  clearExpired(scope, now_ms)
  const mac = macOf(mac_text)
  const held = scope.leases.find((lease) => lease.mac === mac)
  const reserved = scope.reservations.find((one) => one.mac === mac)
  if (held === undefined) return { type: 'NAK' }
  // A lease and its reservation must agree: also a reservation that was added beside a dynamic lease of the same address is refused.
  const agrees = held.type === 'Reserved' ? reserved?.address === held.address : reserved === undefined
  return agrees ? grant(scope, mac, held.address, held.hostname, now_ms) : { type: 'NAK' }
}

export function release(scope: ScopeRecord, mac_text: string): boolean {
  const mac = macOf(mac_text)
  const before = scope.leases.length
  scope.leases = scope.leases.filter((lease) => lease.mac !== mac)
  return scope.leases.length < before
}

function grant(scope: ScopeRecord, mac: string, address: string, hostname: string | null, now_ms: number): LeaseAnswer {
  const reserved = scope.reservations.find((one) => one.mac === mac)
  const name = reserved?.hostname ?? hostname
  const lease_seconds = (scope.lease_days * 24 + scope.lease_hours) * 3600 + scope.lease_minutes * 60
  const held = scope.leases.find((lease) => lease.mac === mac && lease.address === address)
  scope.leases = scope.leases.filter((lease) => lease.mac !== mac)
  scope.leases.push({
    mac,
    address,
    type: reserved === undefined ? 'Dynamic' : 'Reserved',
    hostname: name,
    obtained_ms: held?.obtained_ms ?? now_ms,
    expires_ms: now_ms + lease_seconds * 1000,
  })
  return { type: 'ACK', ip: address, hostname: name, lease_seconds }
}

/** For clients without a reservation. */
function unusable(scope: ScopeRecord, address: string): boolean {
  const at = numberOf(address)
  return (
    address === scope.router ||
    scope.dns_servers.includes(address) ||
    scope.exclusions.some(({ first, last }) => numberOf(first) <= at && at <= numberOf(last)) ||
    scope.reservations.some((one) => one.address === address) ||
    at < numberOf(scope.first) ||
    at > numberOf(scope.last)
  )
}
