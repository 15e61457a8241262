// An MTU change on a captured host with its stub commands: what a node of the lab does when an MTU is rolled out.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import type { Host } from '#src/kernel/host.ts'
import { readLinks } from '#src/node/mtu/links.ts'
import { createGuardedChanges } from '#src/node/guarded/changes.ts'
import { createNodeApply } from '#src/node/mtu/node-apply.ts'
import { capturedHost } from '../../lab/captured-host/host.ts'
import { writeTools } from '../../lab/captured-host/tools.ts'
import { until } from '../support/until.ts'
import { tempFolder } from '../support/temp-folder.ts'

const BRIDGE = 'cloudbr0'

let folder: string
let host: Host
let changes_file: string
beforeEach(() => {
  folder = tempFolder('gp-captured-')
  mkdirSync(join(folder, 'root'))
  changes_file = join(folder, 'ip-changes')
  host = capturedHost(join(import.meta.dirname, '../../lab/hosts/kvm-01'), { changes_file })
})

const open = async () => {
  const tools = writeTools(folder, process.execPath, changes_file)
  const changes = await createGuardedChanges({ host, state_dir: join(folder, 'state'), tools })
  const config_root = join(folder, 'root')
  const node = createNodeApply({ host, changes, config_root, allowed_devices: [BRIDGE], uplinks: [] })
  return { ...node, reconcile: changes.reconcile }
}
const own_file = () => existsSync(join(folder, `root/etc/groundplane/mtu/${BRIDGE}.conf`))
const live = async () => (await readLinks(host))?.find(({ name }) => name === BRIDGE)?.mtu

test('a value that the probe passes stays, in what the host shows and in the product’s own file', async () => {
  const node = await open()
  const before = await live()
  const result = await node.apply({ bridge: BRIDGE, mtu: 1400, probe_target: '10.0.0.2' })
  assert.deepEqual([result.probe_verdict, result.reverted], ['pass', false], result.detail)
  assert.notEqual(before, 1400)
  assert.deepEqual([await live(), own_file()], [1400, true])
  await assert.rejects(node.apply({ bridge: BRIDGE, mtu: 9999 }), /at most, not at 9999/)
})

test('a raised value that nobody commits is rolled back by the watchdog process, files included', async () => {
  const node = await open()
  const before = await live()
  await node.apply({ bridge: BRIDGE, mtu: 1400, phase: 'raise' })
  assert.equal(await live(), 1400)
  // The window is over: the watchdog reads its end from here.
  writeFileSync(join(folder, `state/${BRIDGE}.run/deadline`), '0\n')
  await until('the watchdog has restored', async () => !own_file() && (await live()) === before)
  await until('the change is archived', async () => (await node.reconcile()).length === 0)
  await assert.rejects(node.apply({ bridge: BRIDGE, mtu: 1400, phase: 'commit' }), /no pending change/)
})

test('a plan touches nothing', async () => {
  const node = await open()
  const before = await live()
  const plan = await node.apply({ bridge: BRIDGE, mtu: 1400 }, true)
  assert.match(plan.detail, /would set .*cloudbr0 \d+ to 1400.*; would write .*cloudbr0\.conf \(own\)/)
  assert.deepEqual([plan.applied, own_file(), await live()], [false, false, before])
})
