// Declared versus actual MTU of one node: its role bridges and what carries them (linux-node.md 4.1). Pure.
import type { MtuDevice, MtuDeviation, MtuRole } from '#src/contract/network/mtu.ts'
import { chainOf, kindOf } from './chain.ts'
import type { MtuLink } from './links.ts'

export interface MtuReportInput {
  node: string
  /** Null when the node could not be read: its declared bridges are then unreachable, not fine. */
  links: readonly MtuLink[] | null
  /** Bridge of each role on this node. */
  bridges: Partial<Record<MtuRole, string>>
  uplinks: readonly string[]
  /** 0 or absent: nothing is declared. */
  declared: Partial<Record<MtuRole, number>>
  /** A rollout still has to reach this node. */
  awaiting: boolean
}

export interface NodeMtuReport {
  devices: MtuDevice[]
  divergences: MtuDeviation[]
  awaiting: MtuDeviation[]
}

export function reportMtu(input: MtuReportInput): NodeMtuReport {
  const report: NodeMtuReport = { devices: [], divergences: [], awaiting: [] }
  for (const [role, bridge] of Object.entries(input.bridges)) {
    const declared = declaredOf(input, role)
    const chain = input.links === null ? [] : chainOf(input.links, bridge, input.uplinks)
    if (chain.length === 0) addUnknown(report, input, { role, bridge, declared })
    for (const link of chain) {
      const device = {
        actual: link.mtu,
        declared,
        divergent: declared !== 0 && differs(link, bridge, declared),
        kind: kindOf(link),
        name: link.name,
        role,
      }
      report.devices.push(device)
      if (!device.divergent) continue
      const state = input.awaiting ? 'awaiting' : 'divergent'
      const detail = `${link.name} runs at ${link.mtu}, ${role} is declared at ${declared}`
      report[input.awaiting ? 'awaiting' : 'divergences'].push(deviation(input.node, device, state, detail))
    }
  }
  return report
}

/** Only the bridge must match exactly: a card below it may serve larger vlans of other roles. */
function differs(link: MtuLink, bridge: string, declared: number): boolean {
  return link.name === bridge ? link.mtu !== declared : link.mtu < declared
}

function declaredOf(input: MtuReportInput, role: string): number {
  for (const [name, value] of Object.entries(input.declared)) if (name === role) return value
  return 0
}

function addUnknown(
  report: NodeMtuReport,
  input: MtuReportInput,
  { role, bridge, declared }: { role: string; bridge: string; declared: number },
): void {
  const device = { actual: null, declared, divergent: false, kind: 'bridge', name: bridge, role }
  report.devices.push(device)
  if (declared === 0) return
  const detail =
    input.links === null ? `the node could not be read, ${bridge} is unknown` : `the node has no bridge ${bridge}`
  const state = input.links === null ? 'unreachable' : 'divergent'
  report.divergences.push(deviation(input.node, device, state, detail))
}

function deviation(node: string, device: MtuDevice, state: string, detail: string): MtuDeviation {
  const { actual, declared, kind, name, role } = device
  return { actual, declared, detail, device: name, kind, node, role, state }
}
