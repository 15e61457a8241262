// Keeps what nodes of the cluster call each other for from callers outside, even where a proxy in front forwards everything.
import type { IncomingHttpHeaders } from 'node:http'
import ipaddr from 'ipaddr.js'
import { ApiError } from '../errors.ts'

/** Headers in which proxies say whom they forward for. */
const ORIGIN_HEADERS = ['x-forwarded-for', 'x-real-ip', 'forwarded'] as const

/** Nodes call each other directly, so a proxy that forwards for anything but its own machine forwards from outside. */
export function requireInside(headers: IncomingHttpHeaders): void {
  for (const name of ORIGIN_HEADERS) {
    const value = headers[name]
    if (value === undefined) continue
    const outside = originsOf(name, String(value)).find((origin) => !isLoopback(origin))
    if (outside === undefined) continue
    const message = `${name} says that a proxy forwards this for ${outside.slice(0, 50)}. Call the management node itself, without a proxy.`
    throw new ApiError('FORBIDDEN', message)
  }
}

function originsOf(name: (typeof ORIGIN_HEADERS)[number], value: string): string[] {
  const parts = value.split(',').map((part) => part.trim())
  if (name !== 'forwarded') return parts
  // RFC 7239: what names no origin ("by", "proto") says nothing of it.
  return parts.flatMap((part) => {
    const pair = part.split(';').find((one) => /^\s*for=/i.test(one))
    return pair === undefined
      ? []
      : [
          pair
            .slice(pair.indexOf('=') + 1)
            .replaceAll('"', '')
            .trim(),
        ]
  })
}

/** With or without a port and brackets. What is no address (`unknown`, a made-up name) is outside. */
function isLoopback(origin: string): boolean {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(origin)?.[1] ?? origin.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback'
}
