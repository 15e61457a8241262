// Addresses as callers and agents write them, brought to one spelling.
import ipaddr from 'ipaddr.js'
import { invalidField } from './errors.ts'

/** `10.1.0.11`, `2001:db8::1`; throws for anything else, shortened IPv4 included. */
export function addressOf(path: string, text: string): string {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) {
    throw invalidField(path, 'must be an IPv4 or IPv6 address')
  }
  return ipaddr.parse(text).toString()
}
