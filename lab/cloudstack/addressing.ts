/** IPv4 arithmetic and the handing out of guest addresses. */
import { createHash } from 'node:crypto'
import type { Network } from './network-records.ts'
import type { SimulatorState } from './state.ts'

export function ipNumber(ip: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(ip)
  if (parts === null) return null
  let value = 0
  for (const part of parts.slice(1)) {
    const octet = Number(part)
    if (octet > 255) return null
    value = value * 256 + octet
  }
  return value
}

export function ipText(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.')
}

export function cidrRange(cidr: string): { first: number; last: number } | null {
  const [base, prefix] = cidr.split('/')
  const start = ipNumber(base ?? '')
  const length = Number(prefix)
  if (start === null || !Number.isInteger(length) || length < 0 || length > 32) return null
  const size = 2 ** (32 - length)
  const first = Math.floor(start / size) * size
  return { first, last: first + size - 1 }
}

/** The lowest free guest address, or null in networks that give none; `undefined` never: a full network is null too. */
export function nextFreeIp(state: SimulatorState, network: Network): string | null {
  const range = network.cidr === null ? null : cidrRange(network.guestvmcidr ?? network.cidr)
  if (range === null) return null
  // Addresses are mostly given out in order: the search begins where that would lead.
  const room = range.last - range.first - 1
  const start = Math.min(room, state.usedIps(network.id) + 9)
  for (let step = 0; step < room; step += 1) {
    const ip = ipText(range.first + 1 + ((start + step - 1) % room))
    if (ip !== network.gateway && state.holderOf(network.id, ip) === null) return ip
  }
  return null
}

export function isFree(state: SimulatorState, network: Network, ip: string): boolean {
  const range = network.cidr === null ? null : cidrRange(network.guestvmcidr ?? network.cidr)
  const value = ipNumber(ip)
  if (range === null || value === null || value <= range.first || value >= range.last) return false
  return ip !== network.gateway && state.holderOf(network.id, ip) === null
}

export function macOf(id: string): string {
  const hex = createHash('sha1').update(id).digest('hex')
  return `02:01:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}:${hex.slice(6, 8)}`
}
