// Alerts of one node, raised on the lab's captured hosts and on changes to them.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FrrNode } from '#src/contract/network/frr.ts'
import type { NetworkAlert } from '#src/contract/network/monitoring.ts'
import { recordedRouter } from '../../../test/support/recorded-router.ts'
import { createCache } from '../cache.ts'
import { capturedHost } from '../../../lab/captured-host/host.ts'
import { frrNode } from '../frr/node.ts'
import { nodeAlerts } from './alerts.ts'
import { parseNodeNetConfig } from './config.ts'
import { createEthtool } from './ethtool.ts'
import type { Link } from './links.ts'
import { type NetworkSnapshot, readNetworkSnapshot } from './snapshot.ts'
import { found, lost } from './reading.ts'
import type { LinkWindow, NetSamples } from './sampler.ts'

const config = parseNodeNetConfig({
  uplinks: [],
  roles: { cloudbr0: 'management', cloudbr1: 'public', cloudbr2: 'storage' },
})

async function snapshotOf(name: string): Promise<NetworkSnapshot> {
  const host = capturedHost(join(import.meta.dirname, '../../../lab/hosts', name))
  return readNetworkSnapshot(host, config, createEthtool(host, createCache(host)))
}

function samples(window: Partial<LinkWindow> | null = null, unsynced_s = 10): NetSamples {
  const full = { seconds: 60, rx_mbps: 0, tx_mbps: 0, errors_per_second: 0, errors: {} }
  return {
    window: () => (window === null ? null : { ...full, ...window }),
    lastChange: () => null,
    carrierChanges: () => 0,
    unsyncedFor: (synced) => (synced === true ? null : unsynced_s),
    failure: null,
  }
}

function changed(snapshot: NetworkSnapshot, name: string, change: Partial<Link>): NetworkSnapshot {
  return { ...snapshot, links: snapshot.links.map((link) => (link.ifname === name ? { ...link, ...change } : link)) }
}

function brief(alerts: readonly NetworkAlert[]): string[] {
  return alerts.map((alert) => `${alert.severity} ${alert.category} ${alert.device}`.trim())
}

test('a host without faults raises nothing', async () => {
  assert.deepEqual(nodeAlerts(await snapshotOf('kvm-01'), samples({}), 'kvm-01'), [])
})

test('the faults of a host are raised, the worst first', async () => {
  const alerts = nodeAlerts(await snapshotOf('kvm-02'), samples(null), 'kvm-02')
  assert.deepEqual(brief(alerts), [
    'critical mtu bond0.200',
    'critical link_down eth2',
    'warning link_down eth1',
    'warning ntp',
    'info errors eth1',
  ])
  assert.deepEqual(new Set(alerts.map((alert) => alert.node)), new Set(['kvm-02']))
})

test('growing errors are a warning, fast ones are critical, and the message names the counter', async () => {
  const snapshot = await snapshotOf('mgmt-01')
  const nic = { ...snapshot, links: snapshot.links.filter((link) => link.ifname === 'eth0') }
  const raised = (errors_per_second: number) =>
    nodeAlerts(nic, samples({ errors_per_second, errors: { rx_crc: 5, rx_errors: 2 } }), 'mgmt-01')
  assert.deepEqual(brief(raised(0.5)), ['warning errors eth0'])
  assert.deepEqual(brief(raised(11)), ['critical errors eth0'])
  assert.match(raised(11)[0]?.message ?? '', /rx_crc.*check cable/)
})

test('a link without carrier weighs as much as what it is for', async () => {
  const snapshot = await snapshotOf('kvm-01')
  const down = (name: string) => changed(snapshot, name, { flags: ['UP'], operstate: 'DOWN' })
  const severity = (some: NetworkSnapshot) =>
    brief(nodeAlerts(some, samples({}), 'n').filter((one) => one.category === 'link_down'))
  assert.deepEqual(severity(down('eth0')), ['warning link_down eth0'], 'the bond goes on with the other slave')
  const both = changed(down('eth0'), 'eth1', { flags: ['UP'], operstate: 'DOWN' })
  assert.deepEqual(severity(both), ['critical link_down eth0', 'critical link_down eth1'])
  assert.deepEqual(severity(down('eth2')), ['critical link_down eth2'], 'it carries the storage network')
  assert.deepEqual(severity(down('eth3')), ['info link_down eth3'], 'nothing uses it')
  assert.deepEqual(severity(changed(snapshot, 'eth2', { flags: [] })), [], 'switched off on purpose')
})

test('a backup slave is a degraded bond with LACP, and as it should be with active-backup', async () => {
  const snapshot = changed(await snapshotOf('kvm-01'), 'eth1', { slave_state: 'BACKUP' })
  assert.deepEqual(brief(nodeAlerts(snapshot, samples({}), 'n')), ['warning link_down eth1'])
  const bond = snapshot.links.find((link) => link.ifname === 'bond0')
  assert.ok(bond)
  const backup = changed(snapshot, 'bond0', { info: { ...bond.info, mode: 'active-backup' } })
  assert.deepEqual(nodeAlerts(backup, samples({}), 'n'), [])
})

test('the clock is judged by its state, its offset and how long it has been lost', async () => {
  const snapshot = await snapshotOf('mgmt-01')
  const quiet = { ...snapshot, links: [] }
  const raised = (time: Partial<NetworkSnapshot['time']>, unsynced_s = 10) =>
    brief(nodeAlerts({ ...quiet, time: { ...quiet.time, ...time } }, samples({}, unsynced_s), 'n'))
  assert.deepEqual(raised({ offset_ms: found(-40) }), [])
  assert.deepEqual(raised({ offset_ms: found(-150) }), ['warning ntp'])
  assert.deepEqual(raised({ offset_ms: found(1500) }), ['critical ntp'])
  assert.deepEqual(raised({ synced: found(false) }), ['warning ntp'])
  assert.deepEqual(raised({ synced: found(false) }, 3601), ['critical ntp'])
  assert.deepEqual(raised({ synced: lost('no time daemon is installed') }), ['warning ntp'])
})

test('the overlay is judged by its sessions, its VNIs and its fast failure detection', async () => {
  const snapshot = await snapshotOf('kvm-01')
  const healthy = await frrNode(recordedRouter(), {})
  const raised = (frr: FrrNode) => brief(nodeAlerts(snapshot, samples({}), 'n', frr))
  assert.deepEqual(raised(healthy), [])
  const sessions = (states: string[]): FrrNode => {
    assert.ok(healthy.bgp)
    const some = healthy.bgp.sessions.map((one, index) => ({ ...one, state: states[index] ?? one.state }))
    return { ...healthy, bgp: { ...healthy.bgp, sessions: some } }
  }
  assert.deepEqual(raised(sessions(['Active'])), ['warning vxlan_fabric 10.255.0.2'])
  assert.deepEqual(raised(sessions(['Active', 'Idle'])), [
    'critical vxlan_fabric 10.255.0.2',
    'critical vxlan_fabric 10.255.0.3',
  ])
  const withoutVni = { ...healthy, vnis: healthy.vnis?.filter((record) => record.vni !== 200) ?? null }
  assert.deepEqual(raised(withoutVni), ['warning vxlan_fabric vxlan200'])
  const bfd = {
    ...healthy,
    bfd_peers: healthy.bfd_peers?.map((peer) => ({ ...peer, status: 'down' })).slice(0, 1) ?? null,
  }
  assert.deepEqual(raised(bfd), [`warning vxlan_fabric ${healthy.bfd_peers?.[0]?.peer}`])
  assert.deepEqual(raised({ ...healthy, status: 'offline', error: 'bgpd is not running' }), ['critical vxlan_fabric'])
})
