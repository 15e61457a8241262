// Request signatures (cloudstack.md 1.2): sorted by raw name, percent-encoded, lower-cased as a whole, then HMAC.
import { createHmac } from 'node:crypto'
import type { WireArgs } from './args.ts'

export type Algorithm = 'hmac-sha1' | 'hmac-sha512'

export interface Credentials {
  api_key: string
  secret_key: string
}

const LIFETIME_MS = 10 * 60_000

/**
 * The form body of one signed request. Always signature version 3, so that servers that enforce an expiry accept it, and
 * a recorded request is worthless ten minutes later.
 */
export function signedForm(
  command: string,
  wire: WireArgs,
  credentials: Credentials,
  algorithm: Algorithm,
  now_ms: number,
): string {
  const params: WireArgs = {
    ...wire,
    command,
    response: 'json',
    apikey: credentials.api_key,
    signatureversion: '3',
    expires: `${new Date(now_ms + LIFETIME_MS).toISOString().slice(0, 19)}+0000`,
  }
  const form = Object.entries(params).map(([name, value]) => `${encodeURIComponent(name)}=${encodeValue(value)}`)
  form.push(`signature=${encodeURIComponent(signature(params, credentials.secret_key, algorithm))}`)
  return form.join('&')
}

export function signature(params: WireArgs, secret_key: string, algorithm: Algorithm): string {
  const digest = algorithm === 'hmac-sha1' ? 'sha1' : 'sha512'
  return createHmac(digest, secret_key).update(signedText(params), 'utf8').digest('base64')
}

export function signedText(params: WireArgs): string {
  return Object.keys(params)
    .toSorted((a, b) => (a < b ? -1 : Number(a > b)))
    .map((name) => `${name}=${encodeValue(params[name] ?? '')}`)
    .join('&')
    .toLowerCase()
}

/** Leaves `A-Z a-z 0-9 . - * _` as they are, as the server's own encoder does. A lone surrogate cannot be encoded. */
function encodeValue(value: string): string {
  return encodeURIComponent(value.toWellFormed())
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2A', '*')
}
