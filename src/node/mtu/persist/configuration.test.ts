import assert from 'node:assert/strict'
import { mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { ownDevices, planPersist } from './configuration.ts'
import { tempFolder } from '../../../../test/support/temp-folder.ts'

let root: string
beforeEach(async () => {
  root = await realpath(tempFolder('gp-persist-'))
})

const DEVICES = [
  { name: 'eth1', mtu: 9000 },
  { name: 'mgmt0', mtu: 9000 },
]

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

async function plan(): Promise<{ manager: string; files: Record<string, string> }> {
  const { manager, changes } = await planPersist(root, 'mgmt0', DEVICES)
  return {
    manager,
    files: Object.fromEntries(changes.map(({ path, new_text }) => [path.slice(root.length), new_text])),
  }
}

test('ifupdown: an mtu line where the method takes one, a post-up for devices without a stanza, the rest untouched', async () => {
  await put(
    '/etc/network/interfaces',
    '# kept\nauto mgmt0\niface mgmt0 inet static\n    address 10.0.0.1/24\n\nauto eth9\niface eth9 inet dhcp\n',
  )
  const { manager, files } = await plan()
  assert.equal(manager, 'ifupdown')
  assert.deepEqual(files, {
    '/etc/network/interfaces':
      '# kept\nauto mgmt0\niface mgmt0 inet static\n    mtu 9000\n    post-up ip link set dev eth1 mtu 9000\n    address 10.0.0.1/24\n\nauto eth9\niface eth9 inet dhcp\n',
  })
  await put('/etc/network/interfaces', files['/etc/network/interfaces'] ?? '')
  assert.deepEqual((await plan()).files, {}, 'a second plan finds nothing to change')
})

test('ifupdown: an old value is replaced where it stands, also in interfaces.d, and dhcp gets a command', async () => {
  await put('/etc/network/interfaces', 'source /etc/network/interfaces.d/*\n')
  await put(
    '/etc/network/interfaces.d/net',
    'iface eth1 inet manual\n\tmtu 1500\niface mgmt0 inet dhcp\n\tbridge_ports eth1\n',
  )
  assert.deepEqual((await plan()).files, {
    '/etc/network/interfaces.d/net':
      'iface eth1 inet manual\n\tmtu 9000\niface mgmt0 inet dhcp\n    post-up ip link set dev mgmt0 mtu 9000\n\tbridge_ports eth1\n',
  })
})

test('systemd-networkd: the file that names exactly the device, never one that matches many', async () => {
  await put('/etc/systemd/network/10-mgmt0.netdev', '[NetDev]\nName=mgmt0\nKind=bridge\n')
  await put('/etc/systemd/network/20-mgmt0.network', '[Match]\nName=mgmt0\n\n[Network]\nDHCP=yes\n')
  await put('/etc/systemd/network/30-all.network', '[Match]\nName=eth*\n\n[Network]\nBridge=mgmt0\n')
  const { manager, files } = await plan()
  assert.equal(manager, 'systemd-networkd')
  assert.deepEqual(files, {
    '/etc/systemd/network/20-mgmt0.network': '[Match]\nName=mgmt0\n\n[Network]\nDHCP=yes\n\n[Link]\nMTUBytes=9000\n',
    '/etc/groundplane/mtu/mgmt0.conf':
      '# MTU of devices that the network configuration does not name; set when the agent starts.\neth1 9000\n',
  })
})

test('netplan: the value goes to the device with comments kept, and netplan wins over the files it writes', async () => {
  await put(
    '/etc/netplan/50-node.yaml',
    '# ours\nnetwork:\n  version: 2\n  ethernets:\n    eth1: {}\n  bridges:\n    mgmt0:\n      interfaces: [eth1] # port\n      mtu: 1500\n',
  )
  await put('/etc/systemd/network/10-x.network', '[Match]\nName=mgmt0\n')
  const { manager, files } = await plan()
  assert.equal(manager, 'netplan')
  const text = files['/etc/netplan/50-node.yaml'] ?? ''
  assert.match(text, /^# ours\n/)
  assert.match(text, /# port/)
  assert.match(text, /eth1: \{ mtu: 9000 \}/)
  assert.match(text, /mtu: 9000\n$/)
  assert.deepEqual(Object.keys(files), ['/etc/netplan/50-node.yaml'])
})

test('NetworkManager: the profile bound to the device', async () => {
  const folder = '/etc/NetworkManager/system-connections'
  await put(
    `${folder}/mgmt0.nmconnection`,
    '[connection]\nid=m\ninterface-name=mgmt0\n\n[ethernet]\nmac-address=02:00:00:00:00:01\n',
  )
  await put(`${folder}/eth1.nmconnection`, '[connection]\ninterface-name=eth1\n')
  const { manager, files } = await plan()
  assert.equal(manager, 'NetworkManager')
  assert.match(files[`${folder}/mgmt0.nmconnection`] ?? '', /\[ethernet\]\nmtu=9000\nmac-address/)
  assert.match(files[`${folder}/eth1.nmconnection`] ?? '', /\n\[ethernet\]\nmtu=9000\n$/)
})

test('no manager: the product keeps its own file and finds its devices again', async () => {
  const { manager, files } = await plan()
  assert.equal(manager, 'own')
  for (const [path, text] of Object.entries(files)) await put(path, text)
  assert.deepEqual(await ownDevices(root), DEVICES)
})

test('a linked configuration file is changed where it really stands, so that the link stays', async () => {
  await put('/srv/interfaces', 'iface mgmt0 inet static\niface eth1 inet manual\n')
  await mkdir(join(root, 'etc/network'), { recursive: true })
  await symlink(join(root, 'srv/interfaces'), join(root, 'etc/network/interfaces'))
  const { changes } = await planPersist(root, 'mgmt0', DEVICES)
  assert.deepEqual(
    changes.map(({ path }) => path),
    [join(root, 'srv/interfaces')],
  )
  assert.equal(changes[0]?.old_text, await readFile(join(root, 'srv/interfaces'), 'utf8'))
})
