// NodeNet on the recorded machine V (bond, vlans, bridge, tunnel) and router R.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { NodeNet } from '#src/contract/network/node-net.ts'
import type { Host } from '#src/kernel/host.ts'
import { linuxFixture, linuxFixtureJson } from '../../../test/support/linux-fixture.ts'
import { recordedHost } from '../../../test/support/recorded-host.ts'
import { createCache } from '../cache.ts'
import { at, listOf, recordOf } from '../untrusted-json.ts'
import { type NodeNetConfig, parseNodeNetConfig } from './config.ts'
import { createEthtool } from './ethtool.ts'
import { readNetworkSnapshot } from './snapshot.ts'
import { canonicalName, summarise } from './summary.ts'

const LINKS = 'ip -j -d -s -s addr show'
const config: NodeNetConfig = parseNodeNetConfig({ uplinks: [], roles: { cloudbr0: 'management' } })
const answers = Compile(NodeNet)

async function summaryOf(host: Host, own: Partial<NodeNetConfig> = {}): Promise<NodeNet> {
  const ethtool = createEthtool(host, createCache(host))
  const net = summarise(await readNetworkSnapshot(host, { ...config, ...own }, ethtool))
  assert.ok(answers.Check(net), JSON.stringify(answers.Errors(net)))
  return net
}

/** One call gives both on a real machine; they were recorded apart. */
function machine(stats: string, addresses: string): string {
  const own = listOf(linuxFixtureJson('iproute2', addresses))
  const rows = listOf(linuxFixtureJson('iproute2', stats)).map((link) => ({
    ...recordOf(link),
    addr_info: at(
      own.find((one) => at(one, 'ifname') === at(link, 'ifname')),
      'addr_info',
    ),
  }))
  return JSON.stringify(rows)
}

function recordedMachine() {
  return recordedHost({
    commands: {
      [LINKS]: machine('vm-ip-j-d-s-s-link.json', 'vm-ip-j-d-addr.json'),
      'ip -j route show default': JSON.stringify([{ dst: 'default', gateway: '10.1.0.254', dev: 'cloudbr0' }]),
      'tc -j qdisc show': linuxFixture('iproute2', 'vm-tc-j-s-qdisc.json'),
      'bridge -j vlan show': linuxFixture('iproute2', 'vm-bridge-j-vlan.json'),
      'chronyc -c -n tracking': linuxFixture('chrony', 'tracking.csv'),
      'ethtool --json -k eth3': linuxFixture('ethtool', 'e1000e-json-k.json'),
      'ethtool --json -k eth1': linuxFixture('ethtool', 'e100-json-k.json'),
      'ethtool -g eth3': linuxFixture('ethtool', 'e1000e-plain-g.txt'),
      'ethtool -g eth0': { exit_code: 1, stderr: 'netlink error: Operation not supported\n' },
      'ethtool -g eth4': { outcome: 'timeout', exit_code: null },
      'ethtool -g eth1': linuxFixture('ethtool', 'e100-plain-g.txt'),
      'ethtool -g eth2': linuxFixture('ethtool', 'e1000e-plain-g.txt'),
    },
    files: {
      '/sys/class/net/eth0/speed': '1000\n',
      '/sys/class/net/eth3/speed': '1000\n',
      '/sys/class/net/eth4/speed': '-1\n',
      '/proc/sys/kernel/hostname': 'node-v\n',
      '/etc/hosts': '127.0.0.1 localhost\n10.1.0.1 node-v.example.internal node-v # own\n',
    },
    links: { '/sys/class/net/eth3/device/driver': '../../../../bus/pci/drivers/e1000e' },
  })
}

test('the recorded machine is counted as it was built', async () => {
  const net = await summaryOf(recordedMachine())
  assert.deepEqual([net.hostname, net.fqdn, net.node_ip], ['node-v', 'node-v.example.internal', '10.1.0.1'])
  assert.deepEqual([net.physical_nic_count, net.links_up, net.links_down, net.bridge_count], [5, 5, 0, 1])
  assert.deepEqual([net.active_vlan_ids, net.active_vxlan_vnis], [[100, 200], [500]])
  assert.deepEqual([net.fastest_nic, net.fastest_nic_speed_mbps], ['eth0', 1000])
  assert.deepEqual(net.state_breakdown, { up: 9, unknown: 1 })
  assert.deepEqual([net.default_gateway, net.default_gateway_dev], ['10.1.0.254', 'cloudbr0'])
  const [bridge] = net.main_bridges
  assert.deepEqual(
    [bridge?.name, bridge?.state, bridge?.members, bridge?.active_vxlans, bridge?.ips, bridge?.role],
    ['cloudbr0', 'up', ['bond0.100', 'vx500'], 1, ['10.1.0.1/24'], 'management'],
  )
  assert.deepEqual(
    net.nics.map((nic) => [nic.name, nic.is_virtual, nic.speed]),
    [
      ['eth0', false, 1000],
      ['eth1', false, -1],
      ['eth2', false, -1],
      ['eth3', false, 1000],
      ['eth4', false, -1],
      ['bond0', true, -1],
    ],
  )
  assert.deepEqual(
    net.ring_buffers?.map((row) => [row.nic_name, row.rx_current, row.rx_max]),
    [
      ['eth1', 256, 256],
      ['eth2', 256, 4096],
      ['eth3', 256, 4096],
      ['eth4', null, null],
    ],
    'eth0 has no rings and is left out, eth4 did not answer',
  )
  assert.equal(net.offloads?.['tso'], 1, 'e100 has none, the other drivers were not asked')
})

test('errors are not added twice: sub-counters are details of the total', async () => {
  const net = await summaryOf(recordedMachine())
  assert.deepEqual(net.highest_error_nic_breakdown, { rx_length: 1 })
  assert.deepEqual([net.highest_error_nic, net.highest_error_nic_errors], ['eth2', 1])
  const details = net.nics.find((nic) => nic.name === 'eth2')?.errors.details
  assert.match(details?.[0]?.reason ?? '', /impossible length/)
})

test('a device without hardware counts as physical only when it is configured as uplink', async () => {
  const host = recordedHost({ commands: { [LINKS]: machine('r1-ip-j-d-s-s-link.json', 'r1-ip-j-addr.json') } })
  assert.equal((await summaryOf(host)).physical_nic_count, 0)
  const net = await summaryOf(host, { uplinks: ['eth12', 'eth13'] })
  assert.deepEqual([net.physical_nic_count, net.links_up, net.highest_mtu], [2, 2, 9000])
  assert.deepEqual(
    net.nics.map((nic) => nic.is_virtual),
    [true, true],
  )
})

test('VLANs of a VLAN-aware bridge count, its default VLAN does not', async () => {
  const rows = listOf(JSON.parse(machine('vm-ip-j-d-s-s-link.json', 'vm-ip-j-d-addr.json'))).map((row) =>
    at(row, 'ifname') === 'cloudbr0'
      ? { ...recordOf(row), linkinfo: { info_kind: 'bridge', info_data: { vlan_filtering: 1 } } }
      : row,
  )
  const host = recordedMachine()
  host.commands[LINKS] = JSON.stringify(rows)
  const vlans = [
    { vlan: 1, flags: ['PVID'] },
    { vlan: 30, vlanEnd: 32 },
  ]
  host.commands['bridge -j vlan show'] = JSON.stringify([
    { ifname: 'bond0.100', vlans },
    { ifname: 'elsewhere', vlans },
  ])
  assert.deepEqual((await summaryOf(host)).active_vlan_ids, [30, 31, 32, 100, 200])
  host.commands['bridge -j vlan show'] = { exit_code: 1 }
  const unread = await summaryOf(host)
  assert.deepEqual([unread.active_vlan_ids, unread.active_vlan_count], [null, null], 'some ids are not all ids')
})

test('a name without a dot in /etc/hosts is no full name', () => {
  assert.equal(canonicalName('10.0.0.5 mgmt-01\n', '10.0.0.5'), null)
  assert.equal(
    canonicalName('#10.0.0.5 a.b\n10.0.0.5\tmgmt.example.internal mgmt\n', '10.0.0.5'),
    'mgmt.example.internal',
  )
})

test('without ip there is no snapshot, and the call says which tool is missing', async () => {
  await assert.rejects(summaryOf(recordedHost()), /AGENT_ERROR|ip is not installed/)
})

test('on a machine where almost nothing answers, every null field says why and no reason is left over', async () => {
  const host = recordedHost({ commands: { [LINKS]: '[]' } })
  const net = await summaryOf(host, { roles: {} })
  const reasons = new Map(net.unavailable.map((one) => [one.field, one.reason]))
  for (const [field, value] of leaves(net)) {
    assert.equal(reasons.has(field), value === null, `${field} is ${JSON.stringify(value)}`)
  }
})

/** Fields of the answer and of its two records of counters. */
function leaves(net: NodeNet): [string, unknown][] {
  return Object.entries(net).flatMap(([field, value]): [string, unknown][] =>
    field === 'kernel_net' || field === 'sockets'
      ? Object.entries(recordOf(value)).map(([name, inner]) => [`${field}.${name}`, inner])
      : [[field, value]],
  )
}
