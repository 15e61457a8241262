// The devices of a guest network on a node: a bridge, and the VLAN or VXLAN device that leads out of it. Pure: links in,
// commands and findings out.
import type { BridgeReport, BridgeSpec } from '#src/contract/nodes/agent-bridges.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import { at, listOf, numberOf, textOf } from '../untrusted-json.ts'

export interface BridgeLink {
  name: string
  kind: string | null
  master: string | null
  lower: string | null
  mtu: number
  up: boolean
  segment_id: number | null
}

const VXLAN_PORT = 4789
const MAX_NAME = 15

export function parseBridgeLinks(rows: unknown): BridgeLink[] {
  return listOf(rows).flatMap((row) => {
    const name = textOf(at(row, 'ifname'))
    const mtu = numberOf(at(row, 'mtu'))
    if (name === null || mtu === null) return []
    const data = at(row, 'linkinfo', 'info_data')
    return [
      {
        name,
        kind: textOf(at(row, 'linkinfo', 'info_kind')),
        master: textOf(at(row, 'master')),
        lower: textOf(at(row, 'link')),
        mtu,
        up: listOf(at(row, 'flags')).includes('UP'),
        segment_id: numberOf(at(data, 'id')),
      },
    ]
  })
}

/** `bond0.100`, `vxlan5000`. */
export function segmentName({ kind, nic, segment_id }: BridgeSpec): string {
  return kind === 'vlan' ? `${nic ?? ''}.${segment_id}` : `vxlan${segment_id}`
}

/** Throws when the node could never carry this. */
export function checkSpec(spec: BridgeSpec, links: readonly BridgeLink[]): void {
  if (spec.kind === 'vlan' && spec.segment_id > 4094) throw invalidField('body.segment_id', 'a VLAN id ends at 4094')
  if (spec.kind === 'vlan' && spec.nic === undefined) throw invalidField('body.nic', 'a VLAN needs the NIC it runs on')
  const name = segmentName(spec)
  if (name.length > MAX_NAME) throw invalidField('body.nic', `the name ${name} is longer than ${MAX_NAME} characters`)
  if (spec.nic === undefined) return
  const nic = links.find((link) => link.name === spec.nic)
  if (nic === undefined) throw invalidField('body.nic', `the node has no device ${spec.nic}`)
  if (!nic.up) throw invalidField('body.nic', `${spec.nic} is switched off`)
}

/** Throws when a device of one of our names is there and was not made for this network. */
export function requireOwn(spec: BridgeSpec, links: readonly BridgeLink[], ours: boolean): void {
  const segment = links.find((link) => link.name === segmentName(spec))
  const bridge = links.find((link) => link.name === spec.bridge)
  if (bridge !== undefined && (!ours || bridge.kind !== 'bridge')) {
    throw new ApiError('BRIDGE_EXISTS', `The node has a device ${spec.bridge} that was not made for this network.`)
  }
  if (segment !== undefined && (!ours || segment.kind !== spec.kind || segment.segment_id !== spec.segment_id)) {
    throw new ApiError('BRIDGE_EXISTS', `The node has a device ${segment.name} that was not made for this network.`)
  }
}

/** Arguments of `ip` that bring about what is missing; none when all is there. */
export function missingSteps(spec: BridgeSpec, links: readonly BridgeLink[], local: string | null): string[][] {
  const { bridge, kind, nic = '', segment_id, mtu } = spec
  const name = segmentName(spec)
  const segment = links.find((link) => link.name === name)
  const over = links.find((link) => link.name === bridge)
  const steps: string[][] = []
  if (segment === undefined && kind === 'vlan') {
    steps.push(['link', 'add', 'link', nic, 'name', name, 'type', 'vlan', 'id', `${segment_id}`])
  }
  if (segment === undefined && kind === 'vxlan') {
    // The overlay's routing daemons tell who is where: nothing is learned from frames.
    const from = local === null ? [] : ['local', local]
    const on = nic === '' ? [] : ['dev', nic]
    const what = ['id', `${segment_id}`, 'dstport', `${VXLAN_PORT}`, ...from, ...on, 'nolearning']
    steps.push(['link', 'add', name, 'type', 'vxlan', ...what])
  }
  if (over === undefined) steps.push(['link', 'add', 'name', bridge, 'type', 'bridge'])
  for (const [device, found] of [[name, segment], [bridge, over]] as const) {
    if (mtu !== undefined && found?.mtu !== mtu) steps.push(['link', 'set', 'dev', device, 'mtu', `${mtu}`])
  } // biome-ignore format: one pair a device
  if (segment?.master !== bridge) steps.push(['link', 'set', 'dev', name, 'master', bridge])
  if (segment?.up !== true) steps.push(['link', 'set', 'dev', name, 'up'])
  if (over?.up !== true) steps.push(['link', 'set', 'dev', bridge, 'up'])
  return steps
}

export function reportOf(spec: BridgeSpec, links: readonly BridgeLink[]): BridgeReport {
  const name = segmentName(spec)
  const segment = links.find((link) => link.name === name)
  const over = links.find((link) => link.name === spec.bridge)
  const problems: string[] = []
  const judge = (device: string, link: BridgeLink | undefined, kind: string): void => {
    if (link === undefined) return void problems.push(`${device} is missing`)
    if (link.kind !== kind) problems.push(`${device} is no ${kind}`)
    if (!link.up) problems.push(`${device} is switched off`)
    if (spec.mtu !== undefined && link.mtu !== spec.mtu) problems.push(`${device} runs at ${link.mtu}, not ${spec.mtu}`)
  }
  judge(name, segment, spec.kind)
  judge(spec.bridge, over, 'bridge')
  if (segment !== undefined && segment.master !== spec.bridge) problems.push(`${name} is not a port of ${spec.bridge}`)
  if (segment !== undefined && segment.segment_id !== spec.segment_id) problems.push(`${name} carries another segment`)
  if (spec.kind === 'vlan' && segment !== undefined && segment.lower !== spec.nic) {
    problems.push(`${name} does not stand on ${spec.nic ?? ''}`)
  }
  const members = links.filter((link) => link.master === spec.bridge && link.name !== name).map((link) => link.name)
  return { bridge: spec.bridge, present: segment !== undefined || over !== undefined, problems, members }
}
