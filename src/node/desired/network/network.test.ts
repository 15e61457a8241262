// A network document: what is refused, the commands that lead to it and back, and the files it becomes for each manager.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { checkNetwork } from './check.ts'
import { differencesOf, type LiveDevice, type LiveNetwork, stepsTo, undoOf } from './live.ts'
import { ifupdownWriter } from './persist/ifupdown.ts'
import { netplanWriter } from './persist/netplan.ts'
import { networkManagerWriter } from './persist/network-manager.ts'
import { networkdWriter } from './persist/networkd.ts'
import type { WrittenFile } from './persist/writer.ts'

const card = (name: string, more: Partial<LiveDevice> = {}): LiveDevice => ({
  name,
  kind: null,
  master: null,
  link: null,
  vlan_id: null,
  bond_mode: null,
  mtu: 1500,
  up: true,
  addresses: [],
  ...more,
})
const BEFORE: LiveNetwork = {
  devices: [
    card('eth0', { addresses: [{ text: '10.0.0.7/24', lifetime_s: 3600 }] }),
    card('eth1', { up: false }),
    card('eth2', { up: false }),
  ],
  routes: [
    {
      device: 'eth0',
      is_default: true,
      gateway: '10.0.0.254',
      args: ['route', 'replace', 'default', 'via', '10.0.0.254', 'dev', 'eth0', 'metric', '100'],
    },
  ],
}
const DOCUMENT: NetworkDocument = {
  devices: [
    {
      name: 'cloudbr0',
      kind: 'bridge',
      members: ['bond0.100'],
      addresses: ['10.1.0.11/24', 'fd00::11/64'],
      gateway: '10.1.0.1',
    },
    { name: 'bond0.100', kind: 'vlan', link: 'bond0', vlan_id: 100 },
    {
      name: 'bond0',
      kind: 'bond',
      members: ['eth1', 'eth2'],
      mtu: 9000,
      lacp_rate: 'fast',
      xmit_hash_policy: 'layer3+4',
    },
  ],
}
const lines = (steps: readonly (readonly string[])[]): string[] => steps.map((args) => args.join(' '))

test('a bond with a VLAN under a bridge is made from the bottom up, and its addresses come last', () => {
  checkNetwork(DOCUMENT, null, BEFORE)
  assert.deepEqual(lines(stepsTo(DOCUMENT, null, BEFORE)), [
    'link add name bond0 type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4',
    'link set dev eth1 down',
    'link set dev eth1 master bond0',
    'link set dev eth2 down',
    'link set dev eth2 master bond0',
    'link add link bond0 name bond0.100 type vlan id 100',
    'link add name cloudbr0 type bridge',
    'link set dev bond0.100 master cloudbr0',
    'link set dev bond0 mtu 9000',
    'link set dev eth1 up',
    'link set dev eth2 up',
    'link set dev bond0 up',
    'link set dev bond0.100 up',
    'link set dev cloudbr0 up',
    'addr replace 10.1.0.11/24 dev cloudbr0',
    'addr replace fd00::11/64 dev cloudbr0',
    'route replace default via 10.1.0.1 dev cloudbr0',
  ])
})

test('the way back removes what was made and restores cards, leases and the default route', () => {
  const moved: NetworkDocument = { devices: [{ name: 'br0', kind: 'bridge', members: ['eth0'], mtu: 9000 }] }
  assert.deepEqual(
    undoOf(moved, null, BEFORE).map(({ device, args }) => `${device}: ${args.join(' ')}`),
    [
      'br0: link del dev br0',
      'eth0: link set dev eth0 nomaster',
      'eth0: link set dev eth0 mtu 1500',
      'eth0: link set dev eth0 up',
      'eth0: addr flush dev eth0 scope global',
      'eth0: addr replace 10.0.0.7/24 dev eth0 valid_lft 3600 preferred_lft 3600',
      'eth0: route replace default via 10.0.0.254 dev eth0 metric 100',
    ],
  )
})

test('what a later document leaves out is deleted from the top down, and made again on the way back', () => {
  const live: LiveNetwork = {
    devices: [
      card('bond0', { kind: 'bond', bond_mode: '802.3ad' }),
      card('eth1', { master: 'bond0' }),
      card('bond0.100', { kind: 'vlan', link: 'bond0', vlan_id: 100, master: 'cloudbr0' }),
      card('cloudbr0', { kind: 'bridge', addresses: [{ text: '10.1.0.11/24', lifetime_s: null }] }),
    ],
    routes: [],
  }
  const previous: NetworkDocument = {
    devices: [
      { name: 'bond0', kind: 'bond', members: ['eth1'] },
      { name: 'bond0.100', kind: 'vlan', link: 'bond0', vlan_id: 100 },
      { name: 'cloudbr0', kind: 'bridge', members: ['bond0.100'], addresses: ['10.1.0.11/24'] },
    ],
  }
  const next: NetworkDocument = { devices: [{ name: 'eth1', kind: 'physical' }] }
  checkNetwork(next, previous, live)
  assert.deepEqual(lines(stepsTo(next, previous, live)), [
    'link del dev cloudbr0',
    'link del dev bond0.100',
    'link del dev bond0',
  ])
  const back = lines(undoOf(next, previous, live).map(({ args }) => args))
  assert.deepEqual(back.slice(0, 8), [
    'link del dev bond0',
    'link add name bond0 type bond mode 802.3ad miimon 100',
    'link del dev bond0.100',
    'link add link bond0 name bond0.100 type vlan id 100',
    'link del dev cloudbr0',
    'link add name cloudbr0 type bridge',
    'link set dev eth1 down',
    'link set dev eth1 master bond0',
  ])
  assert.ok(back.includes('addr replace 10.1.0.11/24 dev cloudbr0'))
  const guest = { ...live, devices: [...live.devices, card('vnet7', { kind: 'tun', master: 'cloudbr0' })] }
  assert.throws(() => checkNetwork(next, previous, guest), /vnet7 is attached/)
})

test('differences are named one by one', () => {
  assert.deepEqual(differencesOf(DOCUMENT, BEFORE), ['cloudbr0 is missing', 'bond0.100 is missing', 'bond0 is missing'])
  const document: NetworkDocument = {
    devices: [{ name: 'eth0', kind: 'physical', mtu: 9000, addresses: ['10.0.0.9/24'], gateway: '10.0.0.1' }],
  }
  assert.deepEqual(differencesOf(document, BEFORE), [
    'eth0 runs at MTU 1500, not 9000',
    'eth0 lacks the address 10.0.0.9/24',
    'eth0 has the address 10.0.0.7/24, which is not wanted',
    'no default route leads to 10.0.0.1',
  ])
})

test('a document that cannot be is refused by the device and the reason', () => {
  const cases: [NetworkDevice[], RegExp][] = [
    [[{ name: 'eth9', kind: 'physical' }], /no device eth9/],
    [[{ name: 'lo', kind: 'physical' }], /lo is not configured/],
    [[{ name: 'br0', kind: 'bridge' }, { name: 'br0', kind: 'bridge' }], /br0 is named twice/],
    [[{ name: 'v', kind: 'vlan', vlan_id: 5 }], /devices\.0\.link: a VLAN needs the device below it/],
    [[{ name: 'v', kind: 'vlan', link: 'eth0' }], /needs its id/],
    [[{ name: 'b', kind: 'bond' }], /a bond needs members/],
    [[{ name: 'br0', kind: 'bridge', vlan_id: 5 }], /devices\.0\.vlan_id: a device of kind bridge has none/],
    [[{ name: 'br0', kind: 'bridge', members: ['eth7'] }], /no device eth7/],
    [[{ name: 'eth0', kind: 'physical', addresses: ['10.0.0.300/24'] }], /no address with a prefix length/],
    [[{ name: 'eth0', kind: 'physical', addresses: ['10.0.0.3/33'] }], /no address with a prefix length/],
    [[{ name: 'eth0', kind: 'physical', addresses: ['10.0.0.3/24'], gateway: '10.9.0.1' }], /subnet of no address/],
    [[{ name: 'a', kind: 'bridge', members: ['b'] }, { name: 'b', kind: 'bridge', members: ['a'] }], /stands on itself/],
    [[{ name: 'a', kind: 'bridge', members: ['eth1'] }, { name: 'b', kind: 'bridge', members: ['eth1'] }], /only be a member of one/],
    [[{ name: 'eth1', kind: 'physical', addresses: ['10.0.0.1/24'] }, { name: 'a', kind: 'bridge', members: ['eth1'] }], /can have no addresses/],
    [[{ name: 'eth1', kind: 'physical', mtu: 1500 }, { name: 'v', kind: 'vlan', link: 'eth1', vlan_id: 5, mtu: 9000 }], /larger MTU/],
  ] // biome-ignore format: a table
  for (const [devices, message] of cases) {
    assert.throws(() => checkNetwork({ devices }, null, BEFORE), (error) =>
      error instanceof ApiError && error.code === 'INVALID_REQUEST' && message.test(error.message), String(message))
  } // biome-ignore format: one question
})

const byPath = (files: readonly WrittenFile[]): Record<string, string | null> =>
  Object.fromEntries(files.map(({ path, text }) => [path, text]))

test('ifupdown: one block at the end, and no stanza of the devices anywhere else', () => {
  const files = [
    {
      path: '/etc/network/interfaces',
      text: 'source /etc/network/interfaces.d/*\nauto lo eth1\niface lo inet loopback\n\niface eth1 inet dhcp\n    mtu 1400\n# kept\niface eth9 inet dhcp\n',
    },
    { path: '/etc/network/interfaces.d/eth2', text: 'auto eth2\niface eth2 inet manual\n' },
  ]
  const written = byPath(ifupdownWriter.write(files, DOCUMENT))
  assert.equal(written['/etc/network/interfaces.d/eth2'], '')
  const text = written['/etc/network/interfaces'] ?? ''
  assert.equal(
    text,
    `source /etc/network/interfaces.d/*
auto lo
iface lo inet loopback

# kept
iface eth9 inet dhcp

# Begin of what groundplane writes

auto bond0
iface bond0 inet manual
    mtu 9000
    bond-slaves eth1 eth2
    bond-mode 802.3ad
    bond-miimon 100
    bond-lacp-rate fast
    bond-xmit-hash-policy layer3+4

auto bond0.100
iface bond0.100 inet manual
    vlan-raw-device bond0
    vlan-id 100

auto cloudbr0
iface cloudbr0 inet static
    bridge_ports bond0.100
    bridge_stp off
    bridge_fd 0
    address 10.1.0.11/24
    gateway 10.1.0.1
iface cloudbr0 inet6 static
    address fd00::11/64
# End of what groundplane writes
`,
  )
  assert.deepEqual(ifupdownWriter.write([{ path: '/etc/network/interfaces', text }], DOCUMENT), [])
})

test('systemd-networkd: files that sort before all others, and a rival that would win is a conflict', () => {
  const written = byPath(networkdWriter.write([], DOCUMENT))
  const at = (name: string): string | null | undefined => written[`/etc/systemd/network/05-groundplane-${name}`]
  assert.equal(
    at('bond0.netdev'),
    '[NetDev]\nName=bond0\nKind=bond\nMTUBytes=9000\n\n[Bond]\nMode=802.3ad\nMIIMonitorSec=100ms\nLACPTransmitRate=fast\nTransmitHashPolicy=layer3+4\n',
  )
  assert.equal(
    at('bond0.network'),
    '[Match]\nName=bond0\n\n[Link]\nMTUBytes=9000\n\n[Network]\nVLAN=bond0.100\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n',
  )
  assert.equal(at('bond0.100.netdev'), '[NetDev]\nName=bond0.100\nKind=vlan\n\n[VLAN]\nId=100\n')
  assert.equal(
    at('bond0.100.network'),
    '[Match]\nName=bond0.100\n\n[Network]\nBridge=cloudbr0\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n',
  )
  assert.equal(
    at('eth1.network'),
    '[Match]\nName=eth1\n\n[Network]\nBond=bond0\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n',
  )
  assert.equal(
    at('cloudbr0.network'),
    '[Match]\nName=cloudbr0\n\n[Network]\nAddress=10.1.0.11/24\nAddress=fd00::11/64\nGateway=10.1.0.1\n',
  )
  const rival = { path: '/etc/systemd/network/01-all.network', text: '[Match]\nName=eth0 bond0\n' }
  assert.throws(() => networkdWriter.write([rival], DOCUMENT), /01-all\.network defines bond0 already/)
  const left = { path: '/etc/systemd/network/05-groundplane-old0.netdev', text: '[NetDev]\nName=old0\n' }
  assert.equal(byPath(networkdWriter.write([left], DOCUMENT))[left.path], null)
})

test('netplan: one file of ours, and the devices taken out of the others with their comments left', () => {
  const other = {
    path: '/etc/netplan/50-cloud-init.yaml',
    text: '# from the installer\nnetwork:\n  version: 2\n  ethernets:\n    eth1: {dhcp4: true}\n    eth9: {dhcp4: true} # kept\n',
  }
  const written = byPath(netplanWriter.write([other], DOCUMENT))
  assert.equal(
    written[other.path],
    '# from the installer\nnetwork:\n  version: 2\n  ethernets:\n    eth9: { dhcp4: true } # kept\n',
  )
  assert.equal(
    written['/etc/netplan/99-groundplane.yaml'],
    `network:
  version: 2
  ethernets:
    eth1:
      dhcp4: false
      dhcp6: false
    eth2:
      dhcp4: false
      dhcp6: false
  bonds:
    bond0:
      interfaces:
        - eth1
        - eth2
      parameters:
        mode: 802.3ad
        mii-monitor-interval: 100
        lacp-rate: fast
        transmit-hash-policy: layer3+4
      mtu: 9000
      dhcp4: false
      dhcp6: false
  vlans:
    bond0.100:
      id: 100
      link: bond0
      dhcp4: false
      dhcp6: false
  bridges:
    cloudbr0:
      interfaces:
        - bond0.100
      parameters:
        stp: false
        forward-delay: 0
      dhcp4: false
      dhcp6: false
      addresses:
        - 10.1.0.11/24
        - fd00::11/64
      routes:
        - to: 0.0.0.0/0
          via: 10.1.0.1
`,
  )
  const broken = { path: '/etc/netplan/60.yaml', text: 'network: {' }
  assert.throws(() => netplanWriter.write([broken], DOCUMENT), /60\.yaml is no valid YAML/)
})

test('NetworkManager: a private profile a device, and those of others no longer start by themselves', () => {
  const folder = '/etc/NetworkManager/system-connections'
  const other = { path: `${folder}/wired.nmconnection`, text: '[connection]\nid=w\ninterface-name=eth1\n' }
  const files = networkManagerWriter.write([other], DOCUMENT)
  const written = byPath(files)
  assert.match(written[other.path] ?? '', /^\[connection\]\nautoconnect=false\nid=w\n/)
  const bridge = written[`${folder}/groundplane-cloudbr0.nmconnection`] ?? ''
  assert.match(
    bridge,
    /^\[connection\]\nid=groundplane-cloudbr0\nuuid=[0-9a-f-]{36}\ntype=bridge\ninterface-name=cloudbr0\n/,
  )
  assert.match(
    bridge,
    /\n\[ipv4\]\nmethod=manual\naddress1=10\.1\.0\.11\/24\ngateway=10\.1\.0\.1\n\n\[ipv6\]\nmethod=manual\naddress1=fd00::11\/64\n$/,
  )
  assert.match(
    written[`${folder}/groundplane-eth1.nmconnection`] ?? '',
    /type=ethernet\ninterface-name=eth1\nautoconnect-priority=100\nmaster=bond0\nslave-type=bond\n\n\[ethernet\]\n$/,
  )
  assert.match(
    written[`${folder}/groundplane-bond0.nmconnection`] ?? '',
    /\[ethernet\]\nmtu=9000\n\n\[bond\]\nmode=802\.3ad\nmiimon=100\nlacp_rate=fast\nxmit_hash_policy=layer3\+4\n\n\[ipv4\]\nmethod=disabled\n/,
  )
  assert.deepEqual(
    [...new Set(files.filter(({ path }) => path.includes('groundplane')).map(({ mode }) => mode))],
    [0o600],
  )
})
