/** Arithmetic with networks of both families, on whole numbers. */
import ipaddr from 'ipaddr.js'

export interface Network {
  family: 4 | 6
  first: bigint
  last: bigint
  length: number
}

export function numberOf(address: string): bigint {
  return ipaddr
    .parse(address)
    .toByteArray()
    .reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
}

export function addressOf(number: bigint, family: 4 | 6): string {
  const bytes = Array.from({ length: family === 4 ? 4 : 16 }, (_, index, size = family === 4 ? 4 : 16) =>
    Number((number >> BigInt(8 * (size - 1 - index))) & 255n),
  )
  return ipaddr.fromByteArray(bytes).toString()
}

/** `10.0.0.5/24` with host bits, `10.0.0.5` (one address), `10.0.0.5/255.255.255.0`; undefined for anything else. */
export function readNetwork(text: string): (Network & { host: bigint }) | undefined {
  const [address = '', mask, more] = text.split('/')
  if (more !== undefined || !isAddress(address)) return undefined
  const family = address.includes(':') ? 6 : 4
  const bits = family === 4 ? 32 : 128
  const length =
    mask === undefined ? bits : isAddress(mask) ? ipaddr.parse(mask).prefixLengthFromSubnetMask() : whole(mask)
  if (length === null || length === undefined || length > bits) return undefined
  const size = 1n << BigInt(bits - length)
  const host = numberOf(address)
  const first = (host / size) * size
  return { family, first, last: first + size - 1n, length, host }
}

export function holds(outer: Network, inner: Network): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last
}

/** The gaps between used intervals, in order. */
export function gaps(first: bigint, last: bigint, used: readonly { first: bigint; last: bigint }[]) {
  const free: { first: bigint; last: bigint }[] = []
  let at = first
  for (const one of used.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    if (one.first > last) break
    if (one.first > at) free.push({ first: at, last: one.first - 1n })
    if (one.last >= at) at = one.last + 1n
  }
  if (at <= last) free.push({ first: at, last })
  return free
}

function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
}

function whole(text: string): number | undefined {
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined
}
