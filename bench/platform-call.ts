// The same call straight to the lab's platform, signed as any client of it would: what our own answer is held against.
import { createHmac } from 'node:crypto'
import type { Program } from './processes.ts'

const UNESCAPED = /[!'()~]/g

/** URL of a GET that the platform answers: parameters sorted, lower-cased, signed with HMAC-SHA1. */
export function platformUrl(platform: Program, parameters: Record<string, string>): string {
  const { url = '', api_key = '', secret_key = '' } = platform.ready
  const all: Record<string, string> = { ...parameters, response: 'json', apikey: api_key }
  const text = Object.keys(all)
    .sort()
    .map((name) => `${name}=${encode(all[name] ?? '')}`)
    .join('&')
  const signature = createHmac('sha1', secret_key).update(text.toLowerCase()).digest('base64')
  return `${url}?${text}&signature=${encodeURIComponent(signature)}`
}

function encode(value: string): string {
  return encodeURIComponent(value).replace(UNESCAPED, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
