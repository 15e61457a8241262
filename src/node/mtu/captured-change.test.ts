// The whole sequence on a host that is only recorded: what the lab's nodes do when an MTU is rolled out.
import assert from 'node:assert/strict'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { Host } from '#src/kernel/host.ts'
import { linuxHost } from '#src/kernel/host.ts'
import { rememberMtu } from './captured-change.ts'
import { readLinks } from './links.ts'
import { createNodeApply } from './node-apply.ts'

const LINKS = [
  {
    ifname: 'eth0',
    ifindex: 2,
    mtu: 1500,
    max_mtu: 9000,
    link_type: 'ether',
    master: 'mgmt0',
    flags: ['UP', 'LOWER_UP'],
  },
  {
    ifname: 'mgmt0',
    ifindex: 3,
    mtu: 1500,
    max_mtu: 65535,
    link_type: 'ether',
    linkinfo: { info_kind: 'bridge' },
    flags: ['UP', 'LOWER_UP'],
  },
]

let folder: string
let host: Host
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gp-captured-'))
  const recorded: Host = {
    ...linuxHost(),
    list: () => Promise.resolve(null),
    run: (tool, args) =>
      Promise.resolve(
        tool === 'ip' && args.join(' ') === '-j -d link'
          ? { outcome: 'exited', exit_code: 0, stdout: JSON.stringify(LINKS), stderr: '' }
          : { outcome: 'missing', exit_code: null, stdout: '', stderr: '' },
      ),
  }
  host = rememberMtu(recorded)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const open = (default_window_ms = 60_000) =>
  createNodeApply({
    host,
    state_dir: join(folder, 'state'),
    config_root: join(folder, 'root'),
    allowed_devices: ['mgmt0'],
    uplinks: [],
    captured: true,
    default_window_ms,
    least_window_ms: 10,
  })
const own_file = () =>
  access(join(folder, 'root/etc/groundplane/mtu/mgmt0.conf')).then(
    () => true,
    () => false,
  )
const live = async () => (await readLinks(host))?.map(({ mtu }) => mtu)

test('a proved value stays, in what the host shows and in the product’s own file', async () => {
  const node = await open()
  const result = await node.apply({ bridge: 'mgmt0', mtu: 9000, probe_target: '10.0.0.2' })
  assert.deepEqual([result.probe_verdict, result.reverted, result.limit_mtu], ['pass', false, 9000])
  assert.deepEqual(await live(), [9000, 9000])
  assert.equal(await own_file(), true)
  await assert.rejects(node.apply({ bridge: 'mgmt0', mtu: 9001 }), /9000 at most/)
})

test('a raised value that nobody commits goes back by itself, files included', async () => {
  const node = await open(150)
  await node.apply({ bridge: 'mgmt0', mtu: 9000, phase: 'raise' })
  assert.deepEqual(await live(), [9000, 9000])
  const end = performance.now() + 5000
  while ((await own_file()) && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(await live(), [1500, 1500])
  assert.match(JSON.stringify(await node.reconcile()), /put away|restored/)
  await assert.rejects(node.apply({ bridge: 'mgmt0', mtu: 9000, phase: 'commit' }), /no pending change/)
})

test('a plan touches nothing', async () => {
  const node = await open()
  const plan = await node.apply({ bridge: 'mgmt0', mtu: 9000 }, true)
  assert.match(plan.detail, /would set eth0 1500 to 9000, mgmt0 1500 to 9000; would write .*mgmt0\.conf \(own\)/)
  assert.deepEqual([plan.applied, await own_file()], [false, false])
  assert.deepEqual(await live(), [1500, 1500])
})
