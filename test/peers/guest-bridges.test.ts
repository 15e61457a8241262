// Bridges of guest networks on a real kernel: made, found damaged, put right, made again after a reboot, and removed.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import type { BridgeSpec } from '#src/contract/nodes/agent-bridges.ts'
import { type Host, linuxHost } from '#src/kernel/host.ts'
import { createBridges } from '#src/node/bridges/index.ts'
import { namespacesRefused } from './mtu-topology.ts'
import { tempFolder } from '../support/temp-folder.ts'

const refused = namespacesRefused()
const SPEC: BridgeSpec = { bridge: 'gn5000', kind: 'vxlan', segment_id: 5000, mtu: 1450 }

suite('bridge of a guest network', { skip: refused ?? false }, () => {
  const namespace = `gpb-${randomBytes(3).toString('hex')}`
  const state_dir = tempFolder('gp-bridges-')
  const ip = (...args: string[]): string => execFileSync('ip', ['-n', namespace, ...args], { encoding: 'utf8' })
  const here = linuxHost()
  const host: Host = {
    ...here,
    run: (tool, args, options) => here.run('ip', ['netns', 'exec', namespace, tool, ...args], options),
  }
  const open = () => createBridges({ host, state_dir, local_address: '192.0.2.1' })
  const names = (): string[] => JSON.parse(ip('-j', 'link')).map((link: { ifname: string }) => link.ifname)
  before(() => {
    execFileSync('ip', ['netns', 'add', namespace])
    ip('link', 'set', 'lo', 'up')
    ip('addr', 'add', '192.0.2.1/32', 'dev', 'lo')
  })
  after(() => {
    execFileSync('ip', ['netns', 'del', namespace])
  })

  test('it is made as ordered, and making it again changes nothing', async () => {
    const bridges = open()
    const report = await bridges.create(SPEC)
    assert.deepEqual(report, { bridge: 'gn5000', present: true, problems: [], members: [] })
    const [device] = JSON.parse(ip('-j', '-d', 'link', 'show', 'dev', 'vxlan5000'))
    assert.deepEqual(
      [device.master, device.mtu, device.linkinfo.info_data.id, device.linkinfo.info_data.local],
      ['gn5000', 1450, 5000, '192.0.2.1'],
    )
    const index = device.ifindex
    await bridges.create(SPEC)
    assert.equal(JSON.parse(ip('-j', 'link', 'show', 'dev', 'vxlan5000'))[0].ifindex, index)
  })

  test('damage is found, and putting it right is the same order again', async () => {
    ip('link', 'set', 'dev', 'vxlan5000', 'nomaster')
    ip('link', 'set', 'dev', 'gn5000', 'down')
    const { problems } = await open().check(SPEC)
    assert.deepEqual(problems, ['gn5000 is switched off', 'vxlan5000 is not a port of gn5000'])
    assert.deepEqual((await open().create(SPEC)).problems, [])
  })

  test('after a reboot it is made again', async () => {
    ip('link', 'del', 'dev', 'vxlan5000')
    ip('link', 'del', 'dev', 'gn5000')
    assert.deepEqual(await open().restore(), [])
    assert.deepEqual((await open().check(SPEC)).problems, [])
  })

  test('a device of somebody else is never taken over or deleted', async () => {
    ip('link', 'add', 'gn6000', 'type', 'bridge')
    const of_others = { ...SPEC, bridge: 'gn6000', segment_id: 6000 }
    await assert.rejects(open().create(of_others), { code: 'BRIDGE_EXISTS' })
    await assert.rejects(open().delete(of_others), { code: 'BRIDGE_EXISTS' })
    assert.ok(names().includes('gn6000'))
    assert.equal(names().includes('vxlan6000'), false)
  })

  test('it is not deleted under a guest, and afterwards leaves nothing', async () => {
    ip('link', 'add', 'tap9', 'type', 'veth', 'peer', 'name', 'tap9p')
    ip('link', 'set', 'dev', 'tap9', 'master', 'gn5000')
    await assert.rejects(open().delete(SPEC), { code: 'BRIDGE_IN_USE' })
    ip('link', 'del', 'dev', 'tap9')
    assert.equal((await open().delete(SPEC)).present, false)
    assert.deepEqual(
      names().filter((name) => name.includes('5000')),
      [],
    )
    assert.equal((await open().delete(SPEC)).present, false, 'deleting what is gone is fine')
    assert.deepEqual(await open().restore(), [])
    assert.equal(names().includes('gn5000'), false)
  })

  test('a half-made bridge is taken away when the node cannot carry it', async () => {
    const impossible = { ...SPEC, bridge: 'gn7000', segment_id: 7000, nic: 'nosuch0' }
    await assert.rejects(open().create(impossible), { code: 'INVALID_REQUEST' })
    assert.deepEqual(
      names().filter((name) => name.includes('7000')),
      [],
    )
  })
})
