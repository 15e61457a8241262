// The rows of a node's NICs: state and errors of each, offloads over all of them, descriptor rings.
import type { MonitoredNic, NodeNet, RingBuffer } from '#src/contract/network/node-net.ts'
import { knownOffloads, NOT_INSTALLED, NOT_SUPPORTED as NO_RINGS, type Rings } from './ethtool.ts'
import { linkErrors } from './link-errors.ts'
import type { Link } from './links.ts'
import type { NetworkSnapshot } from './snapshot.ts'
import { lost } from './reading.ts'
import type { UnavailableFields } from '../unavailable.ts'

export function monitoredNics(snapshot: NetworkSnapshot, unavailable: UnavailableFields): MonitoredNic[] {
  return snapshot.links
    .filter((link) => snapshot.physical.has(link.ifname) || link.kind === 'bond')
    .map((link) => {
      const name = link.ifname
      const facts = snapshot.devices.get(name)
      const offloads = knownOffloads(snapshot.offloads.get(name) ?? lost('the features were not read'))
      return {
        name,
        state: link.operstate === 'UP' ? 'up' : 'down',
        driver: unavailable.orNull(`nics[${name}].driver`, facts?.driver ?? link.kind, 'the device names no driver'),
        is_virtual: facts?.hardware !== true,
        mtu: link.mtu,
        speed: speedOf(snapshot, link),
        offloads: unavailable.take(`nics[${name}].offloads`, offloads),
        errors: linkErrors(link),
      } satisfies MonitoredNic
    })
}

/** NICs on which each offload is active; null only when no NIC could be asked. */
export function offloadCounts(snapshot: NetworkSnapshot, unavailable: UnavailableFields): NodeNet['offloads'] {
  const counts: Record<string, number> = {}
  let reason = 'the node has no physical NIC'
  let asked = 0
  for (const name of snapshot.physical) {
    const offloads = knownOffloads(snapshot.offloads.get(name) ?? lost('the features were not read'))
    if (!offloads.ok) {
      reason = offloads.reason
      continue
    }
    asked += 1
    for (const [feature, active] of Object.entries(offloads.value)) {
      counts[feature] = (counts[feature] ?? 0) + (active ? 1 : 0)
    }
  }
  return asked === 0 ? unavailable.none('offloads', reason) : counts
}

/** NICs without rings are left out; null when ethtool could not be asked at all. */
export function ringBuffers(snapshot: NetworkSnapshot, unavailable: UnavailableFields): RingBuffer[] | null {
  const rows: RingBuffer[] = []
  for (const [nic_name, reading] of snapshot.rings) {
    if (!reading.ok && reading.reason === NO_RINGS) continue
    if (!reading.ok && reading.reason === NOT_INSTALLED) return unavailable.none('ring_buffers', reading.reason)
    const shown = reading.ok ? reading.value : null
    const reason = reading.ok ? 'the driver has no such ring' : reading.reason
    const field = (name: keyof Rings): number | null =>
      unavailable.orNull(`ring_buffers[${nic_name}].${name}`, shown?.[name], reason)
    rows.push({
      nic_name,
      rx_current: field('rx_current'),
      rx_max: field('rx_max'),
      tx_current: field('tx_current'),
      tx_max: field('tx_max'),
    })
  }
  return rows
}

/** What a veth or a bridge says about its speed is invented by the kernel; only hardware and bonds are believed. */
export function speedOf(snapshot: Pick<NetworkSnapshot, 'devices'>, link: Link): number {
  return snapshot.devices.get(link.ifname)?.speed ?? -1
}
