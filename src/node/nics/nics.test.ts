// NICs as the guest-network calls and the setup dialog show them, on the lab's captured hosts.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { Nic } from '#src/contract/network/eligible-nics.ts'
import { NodeNic } from '#src/contract/nodes/nics.ts'
import { linuxFixture } from '../../../test/support/linux-fixture.ts'
import { recordedHost } from '../../../test/support/recorded-host.ts'
import { createCache } from '../cache.ts'
import { capturedHost } from '../../../lab/captured-host/host.ts'
import { parseNodeNetConfig } from '../net/config.ts'
import { createEthtool } from '../net/ethtool.ts'
import type { Link } from '../net/links.ts'
import { type NetworkSnapshot, readNetworkSnapshot } from '../net/snapshot.ts'
import { createNetSampler, type NetSamples } from '../net/sampler.ts'
import { bootstrapNics } from './bootstrap.ts'
import { eligibleNics } from './eligible.ts'
import { parseUdevNames } from './udev-names.ts'

const lab = (name: string) => join(import.meta.dirname, '../../../lab/hosts', name)
const config = parseNodeNetConfig({
  uplinks: [],
  roles: { cloudbr0: 'management', cloudbr1: 'public', cloudbr2: 'storage', br100: 'guest' },
})
const still: NetSamples = {
  window: () => null,
  lastChange: () => null,
  carrierChanges: () => 0,
  unsyncedFor: () => null,
  failure: null,
}

async function nicsOf(
  name: string,
  include_all: boolean,
  change: (snapshot: NetworkSnapshot) => NetworkSnapshot = (same) => same,
  samples: NetSamples = still,
): Promise<Map<string, Nic>> {
  const host = capturedHost(lab(name))
  const cache = createCache(host)
  const ethtool = createEthtool(host, cache)
  const snapshot = change(await readNetworkSnapshot(host, config, ethtool))
  const nics = await eligibleNics({ host, cache, ethtool, samples }, snapshot, include_all)
  for (const nic of nics) assert.ok(Compile(Nic).Check(nic), JSON.stringify(Compile(Nic).Errors(nic)))
  return new Map(nics.map((nic) => [nic.name, nic]))
}

function withLink(name: string, change: Partial<Link>): (snapshot: NetworkSnapshot) => NetworkSnapshot {
  return (snapshot) => ({
    ...snapshot,
    links: snapshot.links.map((link) => (link.ifname === name ? { ...link, ...change } : link)),
  })
}

test('every candidate carries the first reason that speaks against it', async () => {
  const nics = await nicsOf('kvm-02', true)
  const of = (name: string) => [nics.get(name)?.status, nics.get(name)?.code, nics.get(name)?.ownership]
  assert.deepEqual(of('eth0'), ['in-use', 'ENSLAVED_BOND', 'system'])
  assert.deepEqual(of('eth2'), ['down', 'NO_CARRIER', 'system'])
  assert.deepEqual(of('eth3'), ['eligible', 'OK', 'available'])
  assert.deepEqual(of('eth4'), ['down', 'ADMIN_DOWN', 'available'])
  assert.deepEqual(of('bond0'), ['reserved', 'MANAGEMENT', 'system'])
  assert.deepEqual(of('eth21'), ['reserved', 'UNDERLAY', 'system'])
  assert.deepEqual(nics.get('bond0')?.used_by, ['bond0.100', 'bond0.200'])
})

test('without include_all only NICs that are up and not enslaved to a bond are shown, a bridge member too', async () => {
  const nics = await nicsOf('kvm-01', false)
  assert.deepEqual([...nics.keys()], ['eth2', 'eth3', 'bond0', 'eth12', 'eth13'])
  assert.deepEqual([nics.get('eth2')?.code, nics.get('eth2')?.master], ['ENSLAVED_BRIDGE', 'cloudbr2'])
})

test('addresses and VLANs on a NIC speak against it, the address first', async () => {
  const address = { family: 'inet' as const, local: '192.0.2.7', prefixlen: 24, scope: 'global' }
  const up = { flags: ['UP', 'LOWER_UP'], operstate: 'UP', addresses: [address] }
  const addressed = (await nicsOf('mgmt-01', true, withLink('eth1', up))).get('eth1')
  assert.deepEqual([addressed?.code, addressed?.ip_addresses], ['HAS_ADDRESS', ['192.0.2.7/24']])
  const tagged = await nicsOf('kvm-01', true, withLink('bond0.200', { lower: 'eth3', master: null }))
  assert.deepEqual([tagged.get('eth3')?.code, tagged.get('eth3')?.used_by], ['HAS_VLANS', ['bond0.200']])
})

test('a NIC that flaps or makes errors is in quarantine, unless the system lives on it', async () => {
  const flapping = { ...still, carrierChanges: () => 5 }
  const nics = await nicsOf('kvm-01', true, undefined, flapping)
  assert.deepEqual([nics.get('eth3')?.ownership, nics.get('bond0')?.ownership], ['quarantine', 'system'])
  const calm = await nicsOf('kvm-01', true, undefined, { ...still, carrierChanges: () => 4 })
  assert.equal(calm.get('eth3')?.ownership, 'available')
})

test('speed, rings, hardware and permanent address are those of the device', async () => {
  const nics = await nicsOf('kvm-01', true)
  const e1000e = nics.get('eth3')
  assert.deepEqual(
    [e1000e?.current_speed, e1000e?.max_speed, e1000e?.ring_rx_current, e1000e?.ring_rx_max, e1000e?.raw_flags],
    [1000, 1000, 256, 4096, 0x1003],
  )
  assert.deepEqual(
    [e1000e?.hardware.driver, e1000e?.hardware.bus_info, e1000e?.hardware.firmware_version],
    ['e1000e', '0000:00:07.0', '2.1-0'],
  )
  assert.equal(e1000e?.hardware.pci_vendor, 'Intel Corporation')
  assert.equal(e1000e?.hardware.pci_subsystem, '0x8086:0x0000')
  assert.equal(nics.get('eth1')?.mac_address, '3c:fd:fe:10:01:01', 'a slave shows the address of its bond as its own')
  assert.equal(
    nics.get('eth4')?.hardware.pci_subsystem,
    '0x1af4:0x1100',
    'ids of a virtio NIC are those of its bus device',
  )
  assert.deepEqual([nics.get('bond0')?.type, nics.get('bond0')?.hardware.device_type], ['bond', 'bond'])
})

test('a field that is null says why', async () => {
  for (const nic of (await nicsOf('kvm-01', true)).values()) {
    const reasons = new Set(nic.unavailable.map((one) => one.field))
    const nulls = [
      ...Object.entries(nic).map(([field, value]) => [field, value] as const),
      ...Object.entries(nic.hardware).map(([field, value]) => [`hardware.${field}`, value] as const),
    ].filter(([, value]) => value === null)
    assert.deepEqual(new Set(nulls.map(([field]) => field)), reasons)
  }
})

test('throughput comes from the samples of the device', async () => {
  let clock_ms = 0
  const host = capturedHost(lab('kvm-01'), { monotonic: () => clock_ms })
  const sampler = createNetSampler(host)
  await sampler.tick()
  clock_ms += 60_000
  await sampler.tick()
  const eth2 = (await nicsOf('kvm-01', true, undefined, sampler)).get('eth2')
  assert.ok((eth2?.throughput_rx_mbps ?? 0) > 500, `${eth2?.throughput_rx_mbps}`)
  assert.equal(eth2?.last_state_change_secs, 60)
  assert.equal(eth2?.state_change_seen, false)
})

test('the setup dialog sees which NIC it must leave alone', async () => {
  const host = capturedHost(lab('kvm-01'))
  const nics = await bootstrapNics(host, { called_on: '10.0.0.11' })
  for (const nic of nics) assert.ok(Compile(NodeNic).Check(nic), JSON.stringify(Compile(NodeNic).Errors(nic)))
  assert.deepEqual(
    nics.filter((nic) => nic.isManagementNIC).map((nic) => nic.interfaceName),
    ['eth0', 'eth1', 'bond0'],
  )
  const slave = nics.find((nic) => nic.interfaceName === 'eth0')
  assert.deepEqual(
    [slave?.isBondSlave, slave?.bondMaster, slave?.speed, slave?.pciAddress, slave?.isPhysical],
    [true, 'bond0', '10000 Mb/s', '0000:18:00.0', true],
  )
  const bond = nics.find((nic) => nic.interfaceName === 'bond0')
  assert.deepEqual([bond?.isBondMaster, bond?.isPhysical], [true, false])
  assert.equal(nics.find((nic) => nic.interfaceName === 'eth4')?.speed, 'unknown')
  assert.equal(nics.find((nic) => nic.interfaceName === 'eth12')?.ipAddress, '10.12.0.1')
})

test('the link filter keeps only NICs of that status', async () => {
  const down = await bootstrapNics(capturedHost(lab('kvm-02')), { status: 'down' })
  assert.deepEqual(
    down.map((nic) => nic.interfaceName),
    ['eth2', 'eth4'],
  )
})

test('a node whose devices cannot be read is an error, not a node without NICs', async () => {
  await assert.rejects(bootstrapNics(recordedHost(), {}), { code: 'AGENT_ERROR' })
})

test('vendor names come from the device database', () => {
  assert.deepEqual(parseUdevNames(linuxFixture('sysfs', 'e1000e-udev.txt')).pci_vendor, 'Intel Corporation')
  assert.deepEqual(parseUdevNames(''), { pci_vendor: null, pci_device: null, mac_vendor: null })
})
