// Alerts of one node (linux-node 5.1) from its snapshot, its samples and its routing record. Pure. What only the fleet
// can tell (drift, silent nodes) is raised in modules/network.
import type { FrrNode } from '#src/contract/network/frr.ts'
import type { NetworkAlert } from '#src/contract/network/monitoring.ts'
import { bondAlerts, type LocalAlert, linkAlerts } from './link-alerts.ts'
import { errorReason, errorTotal } from './link-errors.ts'
import { isAdminUp, type Link } from './links.ts'
import { mtuMismatches } from './mtu-mismatch.ts'
import type { NetworkSnapshot } from './snapshot.ts'
import type { NetSamples } from './sampler.ts'

/** `frr`: the routing record of the same node; null when it was not read. */
export function nodeAlerts(
  snapshot: NetworkSnapshot,
  samples: NetSamples,
  node: string,
  frr: FrrNode | null = null,
): NetworkAlert[] {
  const local = [
    ...errorAlerts(snapshot, samples),
    ...mtuAlerts(snapshot),
    ...linkAlerts(snapshot),
    ...bondAlerts(snapshot.links),
    ...timeAlerts(snapshot, samples),
    ...fabricAlerts(snapshot, frr),
  ]
  const rank = { critical: 0, warning: 1, info: 2 }
  return local.map((alert) => ({ ...alert, node })).sort((a, b) => rank[a.severity] - rank[b.severity])
}

/** Growth in the sampler's window is what counts; totals since boot are only a note. */
function errorAlerts(snapshot: NetworkSnapshot, samples: NetSamples): LocalAlert[] {
  const { thresholds } = snapshot.config
  return snapshot.links.flatMap((link): LocalAlert[] => {
    if (!snapshot.physical.has(link.ifname) && !['bond', 'bridge', 'vlan', 'vxlan'].includes(link.kind ?? '')) return []
    const window = samples.window(link.ifindex)
    const rate = window?.errors_per_second ?? 0
    const worst = Object.entries(window?.errors ?? {}).sort(([, a], [, b]) => b - a)[0]?.[0]
    if (rate > thresholds.error_rate_warning_per_s) {
      const severity = rate > thresholds.error_rate_critical_per_s ? 'critical' : 'warning'
      const counter = worst ?? (window === null ? '' : 'errors')
      return [
        {
          category: 'errors',
          severity,
          device: link.ifname,
          message: `${link.ifname} counts ${rate.toFixed(1)} errors a second, mostly ${counter}. ${errorReason(counter)}`,
        },
      ]
    }
    return sinceBoot(link)
  })
}

function sinceBoot(link: Link): LocalAlert[] {
  const total = errorTotal(link.counters)
  if (total === 0) return []
  const [counter = 'errors'] = Object.entries(link.counters.errors).sort(([, a], [, b]) => b - a)[0] ?? []
  const message = `${link.ifname} has counted ${total} errors since the device was made, mostly ${counter}; none in the last minute.`
  return [{ category: 'errors', severity: 'info', device: link.ifname, message }]
}

function mtuAlerts(snapshot: NetworkSnapshot): LocalAlert[] {
  return mtuMismatches(snapshot.links, snapshot.physical).map((row) => ({
    category: 'mtu',
    severity: row.severity,
    device: row.interface,
    message: row.description,
  }))
}

function timeAlerts(snapshot: NetworkSnapshot, samples: NetSamples): LocalAlert[] {
  const { time, config } = snapshot
  const { thresholds } = config
  const alert = (severity: NetworkAlert['severity'], message: string): LocalAlert[] => [
    { category: 'ntp', severity, device: '', message },
  ]
  const since_s = samples.unsyncedFor(time.synced.ok ? time.synced.value : null)
  if (!time.synced.ok) return alert('warning', `The clock is not watched: ${time.synced.reason}.`)
  if (!time.synced.value) {
    const long = since_s !== null && since_s > thresholds.ntp_unsynced_critical_s
    return alert(long ? 'critical' : 'warning', 'The clock follows no time source.')
  }
  const offset_ms = time.offset_ms.ok ? Math.abs(time.offset_ms.value) : 0
  if (offset_ms <= thresholds.ntp_offset_warning_ms) return []
  const severity = offset_ms > thresholds.ntp_offset_critical_ms ? 'critical' : 'warning'
  return alert(severity, `The clock is ${offset_ms.toFixed(0)} ms away from its time source.`)
}

/** Without a routing record only the devices can be judged, and they say nothing about the sessions. */
function fabricAlerts(snapshot: NetworkSnapshot, frr: FrrNode | null): LocalAlert[] {
  const tunnels = snapshot.links.filter((link) => link.kind === 'vxlan' && isAdminUp(link))
  if (tunnels.length === 0 || frr === null) return []
  if (frr.status === 'offline') {
    const message = `VXLAN devices are up but the routing daemon is not: ${frr.error ?? 'it does not answer'}.`
    return [{ category: 'vxlan_fabric', severity: 'critical', device: '', message }]
  }
  return [...vniAlerts(tunnels, frr), ...sessionAlerts(frr)]
}

function vniAlerts(tunnels: readonly Link[], frr: FrrNode): LocalAlert[] {
  const { vnis } = frr
  if (vnis === null) return []
  return tunnels.flatMap((link): LocalAlert[] => {
    const { id } = link.info
    if (id === null || vnis.some((record) => record.vni === id)) return []
    const message = `${link.ifname} is up, but the routing daemon does not know VNI ${id}: no other node learns of it.`
    return [{ category: 'vxlan_fabric', severity: 'warning', device: link.ifname, message }]
  })
}

function sessionAlerts(frr: FrrNode): LocalAlert[] {
  const sessions = (frr.bgp?.sessions ?? []).filter((one) => one.address_families.some((name) => /evpn/i.test(name)))
  const lost = sessions.filter((one) => one.state !== 'Established')
  const severity = lost.length === sessions.length ? 'critical' : 'warning'
  const bfd = (frr.bfd_peers ?? []).filter((peer) => peer.status !== 'up' && peer.status !== 'shutdown')
  return [
    ...lost.map((one): LocalAlert => {
      const message = `The overlay session with ${one.peer} is ${one.state}, not Established.`
      return { category: 'vxlan_fabric', severity, device: one.peer, message }
    }),
    ...bfd.map((peer): LocalAlert => {
      const why = peer.diagnostic === null || peer.diagnostic === 'ok' ? '' : ` (${peer.diagnostic})`
      const message = `The BFD session with ${peer.peer} is ${peer.status}${why}.`
      return { category: 'vxlan_fabric', severity: 'warning', device: peer.peer, message }
    }),
  ]
}
