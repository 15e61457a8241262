// Whether each remote VTEP can be reached: the selected route of its address.
import { isIP } from 'node:net'
import { at, listOf, recordOf, textOf } from '../untrusted-json.ts'
import type { FrrAccess } from './access.ts'

export interface VtepRoute {
  reachable: boolean
  next_hops: string[]
}

/** Null for a VTEP whose route could not be asked. Addresses come from the daemon and are checked all the same. */
export async function readVtepRoutes(
  access: FrrAccess,
  vteps: readonly string[],
): Promise<Map<string, VtepRoute | null>> {
  const asked = vteps.filter((vtep) => isIP(vtep) !== 0)
  if (asked.length === 0) return new Map()
  const replies = await access.ask('zebra', asked.map(routeCommand))
  return new Map(
    asked.map((vtep) => {
      const reply = replies.json(routeCommand(vtep))
      return [vtep, 'reason' in reply ? null : parseVtepRoute(reply.value)]
    }),
  )
}

/** EVPN adds a second route to the same prefix that is not selected: only the selected one counts. */
export function parseVtepRoute(value: unknown): VtepRoute {
  const routes = Object.values(recordOf(value)).flatMap(listOf)
  const selected = routes.find((route) => at(route, 'selected') === true)
  const next_hops = listOf(at(selected, 'nexthops')).flatMap((hop) => textOf(at(hop, 'ip')) ?? [])
  return { reachable: selected !== undefined, next_hops }
}

function routeCommand(vtep: string): string {
  return isIP(vtep) === 6 ? `show ipv6 route ${vtep}/128 json` : `show ip route ${vtep}/32 json`
}
