/** One call of the simulated API: its parameters, and how a rejection is said. */
import type { StoredState } from './state.ts'

/** Answered with HTTP 200, status error and this sentence. */
export class Rejection extends Error {
  override readonly name = 'Rejection'
}

export interface Call {
  params: ReadonlyMap<string, string>
  state: StoredState
  now_ms: number
}

export type Handler = (call: Call) => unknown

export function required({ params }: Call, name: string): string {
  const value = params.get(name)
  if (value === undefined || value === '') throw new Rejection(`Parameter '${name}' missing.`)
  return value
}

export function flag({ params }: Call, name: string, fallback = false): boolean {
  const value = params.get(name)
  return value === undefined || value === '' ? fallback : value.toLowerCase() === 'true'
}

export function whole(text: string, name: string): number {
  if (!/^\d+$/.test(text)) throw new Rejection(`Invalid value '${text}' of parameter '${name}'.`)
  return Number(text)
}

export function numberOf(address: string): number {
  const parts = address.split('.')
  if (parts.length !== 4 || parts.some((part) => !/^\d{1,3}$/.test(part) || Number(part) > 255))
    throw new Rejection(`An invalid IP address was specified: ${address}`)
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0)
}

export function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}

export function macOf(text: string): string {
  const mac = text.toLowerCase().replaceAll('-', ':')
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(mac)) throw new Rejection(`Invalid hardware address: ${text}`)
  return mac
}
