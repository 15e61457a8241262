// The bonds of this node with their parameters, from /proc/net/bonding; what is not in the file is null.
import type { NodeBond } from '#src/contract/nodes/agent-network.ts'
import type { Host } from '#src/kernel/host.ts'

const FOLDER = '/proc/net/bonding'

export async function nodeBonds(host: Pick<Host, 'list' | 'read'>): Promise<NodeBond[]> {
  const names = (await host.list(FOLDER)) ?? []
  const bonds = await Promise.all(
    names.toSorted().map(async (name) => bondOf(name, (await host.read(`${FOLDER}/${name}`)) ?? '')),
  )
  return bonds
}

/** The words that `ip link` and the configuration of a node use, by what the driver prints (Documentation/networking/bonding.rst). */
const MODES: Readonly<Record<string, string>> = {
  'load balancing (round-robin)': 'balance-rr',
  'fault-tolerance (active-backup)': 'active-backup',
  'load balancing (xor)': 'balance-xor',
  'fault-tolerance (broadcast)': 'broadcast',
  'IEEE 802.3ad Dynamic link aggregation': '802.3ad',
  'transmit load balancing': 'balance-tlb',
  'adaptive load balancing': 'balance-alb',
}

export function bondOf(name: string, text: string): NodeBond {
  const field = (label: string): string | null => new RegExp(`^${label}: (.+)$`, 'm').exec(text)?.[1]?.trim() ?? null
  const mode = field('Bonding Mode')
  return {
    name,
    mode: mode === null ? null : (MODES[mode] ?? mode),
    miimon: field('MII Polling Interval \\(ms\\)'),
    hash: field('Transmit Hash Policy')?.replace(/ \(\d+\)$/, '') ?? null,
    rate: field('LACP rate'),
  }
}
