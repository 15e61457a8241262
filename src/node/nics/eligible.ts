// The NICs of this node as the guest-network calls show them (Part 3, 4.6).
import type { Nic } from '#src/contract/network/eligible-nics.ts'
import type { Host } from '#src/kernel/host.ts'
import type { Cache } from '../cache.ts'
import type { Ethtool } from '../net/ethtool.ts'
import { addressTexts, hasCarrier, isAdminUp, type Link } from '../net/links.ts'
import type { NetworkSnapshot } from '../net/snapshot.ts'
import { lost } from '../net/reading.ts'
import { unavailableFields, type UnavailableFields } from '../unavailable.ts'
import type { NetSamples } from '../net/sampler.ts'
import { speedOf } from '../net/nic-rows.ts'
import { type Holders, holdersOf, judge } from './eligibility.ts'
import { nicHardware } from './hardware.ts'

export interface NicParts {
  host: Host
  cache: Cache
  ethtool: Ethtool
  samples: NetSamples
}

/** Candidates are physical NICs and bonds. Without `include_all` only those that are up and not enslaved to a bond. */
export function eligibleNics(parts: NicParts, snapshot: NetworkSnapshot, include_all: boolean): Promise<Nic[]> {
  const holders = holdersOf(snapshot)
  const candidates = snapshot.links.filter((link) => snapshot.physical.has(link.ifname) || link.kind === 'bond')
  const shown = include_all ? candidates : candidates.filter(isUsable)
  return Promise.all(shown.map((link) => nicRecord(parts, snapshot, holders, link)))
}

function isUsable(link: Link): boolean {
  return isAdminUp(link) && link.operstate === 'UP' && link.slave_kind !== 'bond'
}

async function nicRecord(parts: NicParts, snapshot: NetworkSnapshot, holders: Holders, link: Link): Promise<Nic> {
  const unavailable = unavailableFields()
  const { samples } = parts
  const facts = snapshot.devices.get(link.ifname)
  const [hardware, max_speed, raw_flags] = await Promise.all([
    nicHardware(parts, link, facts, unavailable),
    parts.ethtool.maxSpeed(link),
    parts.host.read(`/sys/class/net/${link.ifname}/flags`),
  ])
  const { ownership, traffic_role, ...verdict } = judge(link, snapshot, holders, samples)
  const flags = Number(raw_flags?.trim() || 'unknown')
  return {
    name: link.ifname,
    type: link.kind === 'bond' ? 'bond' : 'physical',
    ...verdict,
    ownership,
    traffic_role,
    sdwan_type: snapshot.config.sdwan_types?.[link.ifname] ?? '',
    ...states(link),
    mac_address: unavailable.orNull('mac_address', link.permaddr ?? link.address, 'the device has no address'),
    master: unavailable.orNull('master', ownerOf(link, snapshot.links), 'nothing owns the device'),
    allmulticast: link.allmulti > 0,
    promiscuous: link.promiscuity > 0,
    flags: [...link.flags],
    raw_flags: unavailable.orNull(
      'raw_flags',
      Number.isInteger(flags) ? flags : null,
      'the kernel does not show the word',
    ),
    current_speed: speedOf(snapshot, link),
    max_speed: max_speed.ok ? max_speed.value : -1,
    mtu: link.mtu,
    tx_queue_len: unavailable.orNull('tx_queue_len', link.txqlen, 'the device has no queue'),
    ...ringFields(snapshot, link, unavailable),
    ...movement(samples, link, unavailable),
    ip_addresses: addressTexts(link),
    offloads: unavailable.take('offloads', snapshot.offloads.get(link.ifname) ?? lost('the features were not read')),
    hardware,
    unavailable: unavailable.list,
  }
}

function states(link: Link): Pick<Nic, 'admin_state' | 'oper_state' | 'overall_state' | 'carrier'> {
  const admin = isAdminUp(link)
  const carrier = hasCarrier(link)
  // The operational state follows a cut a moment later than the carrier does: the carrier decides.
  const up = admin && carrier && (link.operstate === 'UP' || link.operstate === 'UNKNOWN')
  return {
    admin_state: admin ? 'up' : 'down',
    oper_state: link.operstate.toLowerCase(),
    overall_state: up ? 'up' : admin && !carrier ? 'no-carrier' : 'down',
    carrier,
  }
}

/** A bond slave belongs to the owner of its bond, where there is one. */
function ownerOf(link: Link, links: readonly Link[]): string | null {
  const master = links.find((one) => one.ifname === link.master)
  return master?.kind === 'bond' && master.master !== null ? master.master : link.master
}

type Rings = Pick<Nic, 'ring_rx_current' | 'ring_rx_max' | 'ring_tx_current' | 'ring_tx_max'>

function ringFields(snapshot: NetworkSnapshot, link: Link, unavailable: UnavailableFields): Rings {
  const rings = snapshot.rings.get(link.ifname) ?? lost('the device has no rings of its own')
  const reason = rings.ok ? 'the driver has no such ring' : rings.reason
  const ring = (field: keyof Rings, value: number | null | undefined): number | null =>
    unavailable.orNull(field, value, reason)
  const shown = rings.ok ? rings.value : null
  return {
    ring_rx_current: ring('ring_rx_current', shown?.rx_current),
    ring_rx_max: ring('ring_rx_max', shown?.rx_max),
    ring_tx_current: ring('ring_tx_current', shown?.tx_current),
    ring_tx_max: ring('ring_tx_max', shown?.tx_max),
  }
}

type Movement = Pick<Nic, 'last_state_change_secs' | 'state_change_seen' | 'throughput_rx_mbps' | 'throughput_tx_mbps'>

function movement(samples: NetSamples, link: Link, unavailable: UnavailableFields): Movement {
  const window = samples.window(link.ifindex)
  const change = samples.lastChange(link.ifname, link.ifindex)
  const tooFew = samples.failure ?? 'fewer than two samples of the device were taken yet'
  const seconds = change === null ? null : Math.floor(change.seconds)
  return {
    last_state_change_secs: unavailable.orNull(
      'last_state_change_secs',
      seconds,
      samples.failure ?? 'no sample was taken yet',
    ),
    state_change_seen: change?.seen === true,
    throughput_rx_mbps: unavailable.orNull('throughput_rx_mbps', window?.rx_mbps, tooFew),
    throughput_tx_mbps: unavailable.orNull('throughput_tx_mbps', window?.tx_mbps, tooFew),
  }
}
