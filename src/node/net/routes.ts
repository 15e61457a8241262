// The default route: the way out of the machine, and the address it uses on that way.
import type { Host } from '#src/kernel/host.ts'
import { at, listOf, numberOf, textOf } from '../untrusted-json.ts'
import { found, lost, type Reading, readJson } from './reading.ts'

export interface DefaultRoute {
  gateway: string | null
  dev: string | null
}

/** IPv6 only when IPv4 has none. */
export async function readDefaultRoute(host: Host): Promise<Reading<DefaultRoute>> {
  const v4 = await readJson(host, 'ip', ['-j', 'route', 'show', 'default'])
  if (!v4.ok) return v4
  const found4 = lowestMetric(v4.value)
  if (found4 !== null) return found(found4)
  const v6 = await readJson(host, 'ip', ['-j', '-6', 'route', 'show', 'default'])
  const found6 = v6.ok ? lowestMetric(v6.value) : null
  return found6 === null ? lost('the node has no default route') : found(found6)
}

/** Address that packets to the gateway carry as their source. */
export async function readSourceAddress(host: Host, gateway: string): Promise<string | null> {
  const reading = await readJson(host, 'ip', ['-j', 'route', 'get', gateway])
  return reading.ok ? textOf(at(listOf(reading.value)[0], 'prefsrc')) : null
}

/** No metric means 0. A multipath route has `nexthops` instead of `gateway`. */
export function lowestMetric(value: unknown): DefaultRoute | null {
  const routes = listOf(value)
    .filter((row) => at(row, 'dst') === 'default')
    .sort((a, b) => (numberOf(at(a, 'metric')) ?? 0) - (numberOf(at(b, 'metric')) ?? 0))
  const [best] = routes
  if (best === undefined) return null
  const hop =
    at(best, 'gateway') === undefined && at(best, 'via') === undefined ? listOf(at(best, 'nexthops'))[0] : best
  return {
    gateway: textOf(at(hop, 'gateway')) ?? textOf(at(hop, 'via', 'host')),
    dev: textOf(at(hop, 'dev')),
  }
}
