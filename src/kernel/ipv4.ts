// Arithmetic of IPv4 addresses and ranges, as numbers from 0 to 2^32 - 1.
import ipaddr from 'ipaddr.js'

/** First and last address, both included. */
export interface AddressRange {
  first: string
  last: string
}

export interface Subnet {
  /** Network address. */
  network: number
  broadcast: number
  bits: number
}

/** Lists of ten thousands are sorted by this, so the usual form is read without the parser. */
export function numberOf(address: string): number {
  let [sum, octet, dots] = [0, 0, 0]
  for (let at = 0; at < address.length; at += 1) {
    const digit = address.charCodeAt(at) - ZERO
    if (digit === DOT) {
      sum = sum * 256 + octet
      octet = 0
      dots += 1
    } else if (digit >= 0 && digit <= 9) octet = octet * 10 + digit
    else return parsed(address)
    if (octet > 255) return parsed(address)
  }
  return dots === 3 ? sum * 256 + octet : parsed(address)
}

const ZERO = 48
const DOT = -2

/** Throws for what is no address. */
function parsed(address: string): number {
  return ipaddr.IPv4.parse(address).octets.reduce((sum, octet) => sum * 256 + octet, 0)
}

export function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}

/** Undefined when the text is no IPv4 subnet with zero host bits. */
export function subnetOf(cidr: string): Subnet | undefined {
  const [address = '', bits_text = '', more] = cidr.split('/')
  const bits = Number(bits_text)
  if (more !== undefined || !/^\d{1,2}$/.test(bits_text) || bits > 32 || !isIpv4(address)) return undefined
  const network = numberOf(address)
  const size = 2 ** (32 - bits)
  return network % size === 0 ? { network, broadcast: network + size - 1, bits } : undefined
}

/** Leading zeros are octal to some programs, so they are no address here. */
export function isIpv4(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text)
}

/** `a-b`, `a - b` or `a`; undefined for anything else. */
export function rangeOf(text: string): AddressRange | undefined {
  const [first = '', last = first, more] = text.split('-').map((part) => part.trim())
  if (more !== undefined || !isIpv4(first) || !isIpv4(last)) return undefined
  return numberOf(first) <= numberOf(last) ? { first, last } : undefined
}

export function textOf({ first, last }: AddressRange): string {
  return first === last ? first : `${first}-${last}`
}

export function sizeOf(ranges: readonly AddressRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + numberOf(last) - numberOf(first) + 1, 0)
}

export function isInRange(address: string, { first, last }: AddressRange): boolean {
  const at = numberOf(address)
  return numberOf(first) <= at && at <= numberOf(last)
}

/** Ascending, with overlapping and adjacent ranges made one. */
export function merged(ranges: readonly AddressRange[]): AddressRange[] {
  const sorted = ranges.map(({ first, last }) => [numberOf(first), numberOf(last)] as const).sort(([a], [b]) => a - b)
  const out: [number, number][] = []
  for (const [first, last] of sorted) {
    const before = out.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else out.push([first, last])
  }
  return out.map(([first, last]) => ({ first: addressOf(first), last: addressOf(last) }))
}

/** What is left of the ranges without the holes, ascending. */
export function without(ranges: readonly AddressRange[], holes: readonly AddressRange[]): AddressRange[] {
  let free = merged(ranges).map(({ first, last }): [number, number] => [numberOf(first), numberOf(last)])
  for (const hole of holes) {
    const [from, to] = [numberOf(hole.first), numberOf(hole.last)]
    free = free.flatMap(([first, last]): [number, number][] => {
      if (to < first || from > last) return [[first, last]]
      const left: [number, number][] = from > first ? [[first, from - 1]] : []
      return to < last ? [...left, [to + 1, last]] : left
    })
  }
  return free.map(([first, last]) => ({ first: addressOf(first), last: addressOf(last) }))
}
