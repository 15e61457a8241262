// DNS names: one form for all of them, and the names of reverse zones.
import { isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import ipaddr from 'ipaddr.js'
import { invalidField } from '#src/kernel/errors.ts'

/** Lower case, punycode, without a dot at its end. */
export function nameOf(text: string): string {
  const bare = text.toLowerCase().replace(/\.$/, '')
  return /^[\x20-\x7e]*$/.test(bare) ? bare : domainToASCII(bare)
}

/** `@` is the zone itself; a name that ends in the zone, or in a dot, is full; everything else is relative. */
export function fullName(name: string, zone: string, path: string): string {
  if (name === '@') return zone
  const bare = nameOf(name)
  const full = bare === zone || bare.endsWith(`.${zone}`) ? bare : `${bare}.${zone}`
  if (name.endsWith('.') && full !== bare) throw invalidField(path, `${name} is not in zone ${zone}`)
  const labels = full.split('.')
  if (full.length > 253 || labels.some((label) => label === '' || label.length > 63))
    throw invalidField(path, `${full} has an empty label, one beyond 63 characters, or more than 253 in all`)
  if (labels.slice(1).includes('*') || labels.some((label) => label !== '*' && label.includes('*')))
    throw invalidField(path, 'an asterisk may stand only as the whole first label')
  return full
}

export function relativeName(fqdn: string, zone: string): string {
  if (fqdn === zone) return '@'
  return fqdn.endsWith(`.${zone}`) ? fqdn.slice(0, -zone.length - 1) : fqdn
}

/** `10.0.20.10` is `10.20.0.10.in-addr.arpa`; IPv6 by nibbles. */
export function reverseName(address: string): string {
  if (!isIPv6(address)) return `${address.split('.').reverse().join('.')}.in-addr.arpa`
  const nibbles = ipaddr.IPv6.parse(address)
    .toByteArray()
    .flatMap((byte) => [byte >> 4, byte & 15])
  return `${nibbles
    .reverse()
    .map((nibble) => nibble.toString(16))
    .join('.')}.ip6.arpa`
}

const MAX_REVERSE_ZONES = 256

/**
 * One zone for each whole octet (IPv6: nibble) that the subnet needs: a /22 is four zones of a /24. A subnet that is smaller
 * lies in the zone of its /24, because a zone of one address each helps nobody.
 */
export function reverseZones(cidr: string, path: string): string[] {
  const parsed = ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : undefined
  if (parsed === undefined) throw invalidField(path, `${cidr} is no subnet in CIDR form`)
  const [address, bits] = parsed
  const [step, total, longest] = address.kind() === 'ipv4' ? [8, 32, 24] : [4, 128, 128]
  const whole = Math.min(Math.ceil(bits / step) * step, longest)
  const used = Math.min(bits, whole)
  const count = 2 ** (whole - used)
  if (count > MAX_REVERSE_ZONES || bits === 0)
    throw invalidField(path, `${cidr} needs ${count} reverse zones; ${MAX_REVERSE_ZONES} at a time are made`)
  const bytes = address.toByteArray()
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  const shift = BigInt(total - whole)
  if (value & ((1n << BigInt(total - bits)) - 1n)) throw invalidField(path, `${cidr} has host bits that are not zero`)
  const first = (value >> BigInt(total - used)) << BigInt(whole - used)
  return Array.from({ length: count }, (_, index) => {
    const at = (first + BigInt(index)) << shift
    const parts = Array.from({ length: whole / step }, (_part, part) => {
      const part_value = (at >> BigInt(total - step * (part + 1))) & (2n ** BigInt(step) - 1n)
      return part_value.toString(step === 8 ? 10 : 16)
    })
    return `${parts.reverse().join('.')}.${step === 8 ? 'in-addr' : 'ip6'}.arpa`
  })
}

/** The /24, or the /64 of IPv6, that an address lies in. */
export function usualReverseZone(address: string): string {
  const labels = reverseName(address).split('.')
  return labels.slice(isIPv6(address) ? 16 : 1).join('.')
}
