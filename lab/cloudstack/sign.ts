/** Request signatures of the platform's API: what is signed, and how the server checks it. */
import { createHmac, timingSafeEqual } from 'node:crypto'

export type SignatureAlgorithm = 'hmac-sha1' | 'hmac-sha512'

/** The text that both sides sign: raw names in code-unit order, values percent-encoded, everything in lower case. */
export function signedText(params: ReadonlyMap<string, string>): string {
  const names = [...params.keys()].filter((name) => name.toLowerCase() !== 'signature').sort(byCodeUnit)
  return names
    .map((name) => `${name}=${encodeValue(params.get(name) ?? '')}`)
    .join('&')
    .toLowerCase()
}

export function signature(params: ReadonlyMap<string, string>, secret: string, algorithm: SignatureAlgorithm): string {
  return createHmac(algorithm === 'hmac-sha1' ? 'sha1' : 'sha512', secret)
    .update(signedText(params), 'utf8')
    .digest('base64')
}

export function signatureMatches(given: string, expected: string): boolean {
  const one = Buffer.from(given, 'utf8')
  const other = Buffer.from(expected, 'utf8')
  return one.length === other.length && timingSafeEqual(one, other)
}

/** The server encodes as java.net.URLEncoder does (letters, digits, `. - * _`), with %20 for a space. */
function encodeValue(value: string): string {
  return encodeURIComponent(value.toWellFormed())
    .replaceAll(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2A', '*')
}

function byCodeUnit(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
