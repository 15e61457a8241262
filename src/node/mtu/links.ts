// The network links of the node as MTU work needs them, parsed from `ip -j -d link`.
import type { Host } from '#src/kernel/host.ts'
import { listOf, parseJson, recordOf } from '../untrusted-json.ts'

export interface MtuLink {
  name: string
  ifindex: number
  mtu: number
  /** 0: the driver states no limit. */
  min_mtu: number
  max_mtu: number
  /** Device this one stands on (vlan) or null. */
  lower: string | null
  /** Bridge or bond this one belongs to, or null. */
  master: string | null
  /** Kind as the kernel names it; null for a device that has none (a physical card). */
  info_kind: string | null
  link_type: string
  admin_up: boolean
  carrier: boolean
}

/** All links, or null when `ip` is missing or failed. */
export async function readLinks(host: Host): Promise<MtuLink[] | null> {
  const run = await host.run('ip', ['-j', '-d', 'link'], { timeout_ms: 5000 })
  return run.outcome === 'exited' && run.exit_code === 0 ? parseLinks(run.stdout) : null
}

export function parseLinks(text: string): MtuLink[] | null {
  const rows = parseJson(text)
  return Array.isArray(rows) ? rows.map(parseLink).filter((link) => link !== null) : null
}

function parseLink(row: unknown): MtuLink | null {
  const raw = recordOf(row)
  const { ifname, ifindex, mtu } = raw
  if (typeof ifname !== 'string' || typeof ifindex !== 'number' || typeof mtu !== 'number') return null
  const flags = listOf(raw.flags)
  const kind = recordOf(raw.linkinfo).info_kind
  return {
    name: ifname,
    ifindex,
    mtu,
    min_mtu: typeof raw.min_mtu === 'number' ? raw.min_mtu : 0,
    max_mtu: typeof raw.max_mtu === 'number' ? raw.max_mtu : 0,
    lower: typeof raw.link === 'string' ? raw.link : null,
    master: typeof raw.master === 'string' ? raw.master : null,
    info_kind: typeof kind === 'string' ? kind : null,
    link_type: typeof raw.link_type === 'string' ? raw.link_type : '',
    admin_up: flags.includes('UP'),
    carrier: flags.includes('LOWER_UP'),
  }
}
