// IPv4 and IPv6 ranges as callers write them.
import { BlockList, isIP } from 'node:net'
import { invalidField } from '#src/kernel/errors.ts'

export function isCidr(text: string): boolean {
  const [address = '', bits, more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more !== undefined || bits === undefined || !/^\d{1,3}$/.test(bits)) return false
  return Number(bits) <= (family === 4 ? 32 : 128)
}

/** Whether the inner range lies wholly inside the outer one; both must be ranges. */
export function isInside(inner: string, outer: string): boolean {
  const [inner_address = '', inner_bits = ''] = inner.split('/')
  const [outer_address = '', outer_bits = ''] = outer.split('/')
  if (isIP(inner_address) !== isIP(outer_address) || Number(inner_bits) < Number(outer_bits)) return false
  const family = isIP(outer_address) === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(outer_address, Number(outer_bits), family)
  return list.check(inner_address, family)
}

/** Of a list in the body. */
export function requireCidrs(field: string, cidrs: readonly string[]): void {
  for (const [index, cidr] of cidrs.entries()) {
    if (!isCidr(cidr)) throw invalidField(`body.${field}.${index}`, `${cidr} is not a range like 198.51.100.0/24`)
  }
}
