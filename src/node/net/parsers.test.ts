// The parsers on outputs of real tools: iproute2 6.1, ethtool 6.1 and chrony 4.3 (test/fixtures/linux).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linuxFixture, linuxFixtureJson } from '../../../test/support/linux-fixture.ts'
import { recordedHost } from '../../../test/support/recorded-host.ts'
import { parseJson } from '../untrusted-json.ts'
import { knownOffloads, parseDriverInfo, parseFeatures, parseMaxSpeed, parseRings } from './ethtool.ts'
import { protocolCounter, softnetSum } from './kernel-counters.ts'
import { parseLinks, standingOn } from './links.ts'
import { queueDisciplines } from './queue-disciplines.ts'
import { found, lost } from './reading.ts'
import { lowestMetric, readDefaultRoute } from './routes.ts'
import { parseTimesync, parseTracking, readTimeState } from './time-sync.ts'

const links = parseLinks(linuxFixtureJson('iproute2', 'vm-ip-j-d-s-s-link.json'))
const byName = new Map(links.map((link) => [link.ifname, link]))

test('devices are read with kind, owner, tunnel id and counters, the loopback left out', () => {
  assert.equal(links.length, 10)
  const slave = byName.get('eth0')
  assert.deepEqual(
    [slave?.master, slave?.slave_kind, slave?.slave_state, slave?.permaddr, slave?.parentdev, slave?.kind],
    ['bond0', 'bond', 'ACTIVE', '52:54:00:00:00:04', '0000:00:09.0', null],
  )
  assert.deepEqual(
    [slave?.promiscuity, slave?.allmulti, slave?.txqlen, slave?.counters.carrier_changes],
    [1, 1, 1000, 5],
  )
  assert.equal(byName.get('bond0')?.info.mode, '802.3ad')
  assert.equal(byName.get('bond0.100')?.lower, 'bond0')
  assert.equal(byName.get('bond0.100')?.info.id, 100)
  assert.equal(byName.get('vx500')?.info.id, 500)
  assert.equal(byName.get('eth2')?.counters.errors['rx_length'], 1)
})

test('rows that are no device are left out instead of failing the whole list', () => {
  assert.deepEqual(parseLinks([{}, null, 'text', { ifname: 'eth0' }]), [])
  assert.deepEqual(parseLinks(undefined), [])
})

test('what a bridge stands on is found through vlan and bond, and ends at a tunnel', () => {
  assert.deepEqual(
    [...standingOn(links, 'cloudbr0')].sort(),
    ['bond0', 'bond0.100', 'cloudbr0', 'eth0', 'eth1', 'vx500'].sort(),
  )
  const [tunnel] = links.filter((link) => link.ifname === 'vx500').map((link) => ({ ...link, lower: 'eth4' }))
  assert.ok(tunnel)
  const others = links.filter((link) => link.ifname !== 'vx500')
  assert.equal(standingOn([...others, tunnel], 'cloudbr0').has('eth4'), false)
})

test('only root queue disciplines count, each with what it does', () => {
  const rows = queueDisciplines(linuxFixtureJson('iproute2', 'vm-tc-j-s-qdisc.json'), links, new Set(['eth0', 'eth1']))
  const of = (device: string) => rows.find((row) => row.device === device)
  assert.equal(rows.length, links.length)
  assert.deepEqual(of('eth0'), { device: 'eth0', device_class: 'nic', profile: 'multiqueue', root_qdisc: 'mq' })
  assert.deepEqual(
    ['eth1', 'bond0', 'bond0.200', 'cloudbr0'].map((name) => [of(name)?.device_class, of(name)?.profile]),
    [
      ['nic', 'aqm'],
      ['virtual', 'none'],
      ['virtual', 'shaped'],
      ['bridge', 'aqm'],
    ],
  )
})

test('a CAKE with a bandwidth shapes, an ingress row is no root, an unknown kind is unmanaged', () => {
  const rows = queueDisciplines(
    [
      { dev: 'eth2', kind: 'cake', root: true, options: { bandwidth: 12_500_000 } },
      { dev: 'eth2', kind: 'ingress', parent: 'ffff:fff1' },
      { dev: 'eth3', kind: 'sfq', root: true },
      { dev: 'gone', kind: 'fq', root: true },
    ],
    links,
    new Set(),
  )
  assert.deepEqual(
    rows.map((row) => [row.device, row.profile]),
    [
      ['eth2', 'shaped'],
      ['eth3', 'unmanaged'],
    ],
  )
})

test('the default route with the lowest metric wins, and a multipath route names its first hop', () => {
  const rows = [
    { dst: 'default', gateway: '10.0.0.9', dev: 'eth1', metric: 100 },
    { dst: 'default', gateway: '10.0.0.1', dev: 'eth0' },
    { dst: '10.0.0.0/24', dev: 'eth0' },
  ]
  assert.deepEqual(lowestMetric(rows), { gateway: '10.0.0.1', dev: 'eth0' })
  const multipath = [{ dst: 'default', metric: 20, nexthops: [{ gateway: '10.13.0.2', dev: 'eth13', weight: 1 }] }]
  assert.deepEqual(lowestMetric(multipath), { gateway: '10.13.0.2', dev: 'eth13' })
  assert.equal(lowestMetric(linuxFixtureJson('iproute2', 'r1-ip-j-d-route.json')), null)
})

test('IPv6 gives the default route only where IPv4 has none', async () => {
  const v6 = JSON.stringify([{ dst: 'default', gateway: 'fe80::1', dev: 'eth0' }])
  const host = recordedHost({ commands: { 'ip -j route show default': '', 'ip -j -6 route show default': v6 } })
  assert.deepEqual(await readDefaultRoute(host), found({ gateway: 'fe80::1', dev: 'eth0' }))
  host.commands['ip -j -6 route show default'] = ''
  assert.deepEqual(await readDefaultRoute(host), lost('the node has no default route'))
})

test('a negative system time means that the local clock is ahead', () => {
  const state = parseTracking(linuxFixture('chrony', 'tracking.csv'))
  assert.deepEqual([state.synced, state.source], [found(true), found('10.60.0.1')])
  assert.ok(state.offset_ms.ok && Math.abs(state.offset_ms.value - 0.002904) < 1e-9)
})

test('an unsynchronised clock has no offset and no source, rather than zero and an empty name', () => {
  const state = parseTracking(linuxFixture('chrony', 'tracking-unsynced.csv'))
  assert.deepEqual(state.synced, found(false))
  assert.equal(state.offset_ms.ok, false)
  assert.equal(state.source.ok, false)
})

test('without chrony timesyncd is asked, and without both nothing is known', async () => {
  const nobody = await readTimeState(recordedHost(), undefined)
  assert.deepEqual(nobody.synced, lost('no time daemon is installed'))
  assert.equal(nobody.daemon, false)
  const host = recordedHost({
    commands: {
      'chronyc -c -n -h 127.0.0.1 tracking': { exit_code: 1, stdout: '506 Cannot talk to daemon\n' },
      'timedatectl show -p NTPSynchronized --value': 'yes\n',
      'timedatectl show-timesync --all': 'LinkNTPServers=\nServerName=ntp.example.internal\nServerAddress=10.0.0.5\n',
    },
  })
  const state = await readTimeState(host, '127.0.0.1')
  assert.deepEqual([state.synced, state.source], [found(true), found('ntp.example.internal')])
  assert.equal(state.offset_ms.ok, false)
  host.commands['timedatectl show-timesync --all'] = { exit_code: 1, stderr: 'System has not been booted with systemd' }
  assert.deepEqual((await readTimeState(host, '127.0.0.1')).synced, lost('no time daemon answers'))
  assert.deepEqual(parseTimesync('no\n', '').synced, found(false))
})

test('rings are read from both sections, and a ring the driver does not have is unknown', () => {
  assert.deepEqual(
    parseRings(linuxFixture('ethtool', 'vmxnet3-plain-g.txt')),
    found({ rx_current: 1024, rx_max: 4096, tx_current: 512, tx_max: 4096 }),
  )
  const text = linuxFixture('ethtool', 'e100-plain-g.txt').replaceAll(/^TX:.*$/gm, 'TX:\t\tn/a')
  assert.deepEqual(parseRings(text), found({ rx_current: 256, rx_max: 256, tx_current: null, tx_max: null }))
  assert.equal(parseRings('netlink error: Operation not supported').ok, false)
})

test('driver facts keep nothing that is empty or N/A', () => {
  assert.deepEqual(
    parseDriverInfo(linuxFixture('ethtool', 'e1000e-plain-i.txt')),
    found({ driver: 'e1000e', version: '6.1.0-50-amd64', firmware: '2.1-0', bus_info: '0000:00:07.0' }),
  )
  const virtio = parseDriverInfo(linuxFixture('ethtool', 'virtio_net-plain-i.txt'))
  assert.equal(virtio.ok && virtio.value.firmware, null)
})

test('the fastest supported link mode is found over several lines, and "Not reported" is unknown', () => {
  const speeds = ['e1000e', 'e100', 'vmxnet3', 'virtio_net'].map((driver) => {
    const reading = parseMaxSpeed(linuxFixture('ethtool', `${driver}-plain-settings.txt`))
    return reading.ok ? reading.value : null
  })
  assert.deepEqual(speeds, [1000, 100, 10_000, null])
})

test('a supported speed is not mixed up with an advertised one', () => {
  const text =
    '\tSupported link modes:   1000baseT/Full\n\tSupported pause frame use: No\n\tAdvertised link modes:  25000baseCR/Full\n'
  assert.deepEqual(parseMaxSpeed(text), found(1000))
})

test('features become the nine offloads that people know', () => {
  const offloads = knownOffloads(parseFeatures(linuxFixture('ethtool', 'e1000e-json-k.json')))
  assert.ok(offloads.ok)
  assert.equal(Object.keys(offloads.value).length, 9)
  assert.deepEqual(
    [offloads.value['tso'], offloads.value['lro'], offloads.value['rx_checksumming']],
    [true, false, true],
  )
  assert.equal(parseFeatures('[ ]').ok, false)
})

test('kernel tables are read by name and by column, and what is not there is unknown', () => {
  const snmp = 'Ip: Forwarding\nIp: 1\nTcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 1837\n'
  assert.deepEqual(protocolCounter(snmp, 'Tcp', 'RetransSegs'), found(1837))
  assert.equal(protocolCounter(snmp, 'Tcp', 'Nothing').ok, false)
  assert.equal(protocolCounter(null, 'Tcp', 'RetransSegs').ok, false)
  assert.deepEqual(softnetSum('0000000f 00000002 00000003\n000027cd 00000010 00000000\n', 1), found(18))
  assert.deepEqual(softnetSum('0000000f 00000002 00000003\n', 2), found(3))
  assert.equal(softnetSum('', 1).ok, false)
  assert.equal(parseJson('[]') !== undefined, true)
})
