// Node-local routes over HTTP on the control plane's own machine: what they answer and refuse, with tools that stand in for
// the real ones and print recorded outputs. What needs real devices is in test/peers.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { LabAgents } from '../../lab/agents.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import { linuxFixture } from '../support/linux-fixture.ts'
import { NOBODY } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import type { Reply } from '../support/http.ts'
import { tempFolder } from '../support/temp-folder.ts'

const refused = (reply: Reply, status: number, code: string): void =>
  assert.deepEqual([reply.status, reply.body?.code], [status, code], reply.text)

suite('benchmarks and devices', () => {
  const folder = tempFolder('gp-tools-')
  const flag = (name: string): string => join(folder, name)
  let lab: Lab
  before(async () => {
    mkdirSync(flag('root'))
    const tools = Object.fromEntries(Object.keys(TOOLS).map((name) => [name, flag(name)]))
    for (const [name, script] of Object.entries(TOOLS)) install(name, script)
    for (const [name, text] of Object.entries(OUTPUTS)) writeFileSync(flag(`${name}.out`), text)
    const settings = { net: { roles: { 'gp-br0': 'management', 'gp-gone0': 'public' } }, root: flag('root'), tools }
    lab = await startLab({ config: { node: { settings } } })
  })
  after(async () => {
    await lab?.close()
  })
  const install = (name: string, script: string): void => {
    writeFileSync(flag(name), `#!/bin/sh\ncd ${folder}\n${script}\n`)
    chmodSync(flag(name), 0o755)
  }
  const BENCH = '/api/v2/storage/benchmark'
  const DISK = { profile_id: 'rand-read-4k', custom_profile: { test_size: '1M' }, duration_sec: 1 }
  const POOL = { pool_name: 'bench', mode: 'write', duration_sec: 1 }
  const IMAGE = { pool_name: 'bench', image_name: 'bench-1', io_type: 'read', io_pattern: 'rand', duration_sec: 5 }
  const run = (kind: string, body: object, headers: Record<string, string> = {}) =>
    lab.call('POST', `${BENCH}/${kind}`, body, { headers })

  for (const [kind, body] of [
    ['disk', DISK],
    ['pool', POOL],
    ['blockimage', IMAGE],
  ] as const) {
    test(`a ${kind} benchmark answers its figures, and its result can be read again`, async () => {
      const reply = await run(kind, body)
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual([reply.body.status, reply.body.error, reply.body.type], ['completed', '', kind])
      const side = kind === 'pool' ? reply.body.write : reply.body.read
      assert.ok(side.iops > 0, reply.text)
      const again = await lab.call('GET', `${BENCH}/results/${reply.body.id}`)
      assert.deepEqual([again.status, again.body.id, again.body.read], [200, reply.body.id, reply.body.read])
      const ended = await lab.call('POST', `${BENCH}/results/${reply.body.id}/cancel`)
      assert.deepEqual([ended.status, ended.body.status], [200, 'completed'], 'a run that has ended stays as it is')
    })
  }

  test('one disk benchmark at a time; a cancelled one ends failed and lets the next one in', async () => {
    writeFileSync(flag('wait'), '')
    const started = await run('disk', { ...DISK, duration_sec: 60 }, { prefer: 'respond-async' })
    assert.deepEqual([started.status, started.body.status], [200, 'running'], started.text)
    await until('the tool runs', () => existsSync(flag('waiting')))
    refused(await run('disk', DISK), 400, 'BENCHMARK_RUNNING')
    const cancelled = await lab.call('POST', `${BENCH}/results/${started.body.id}/cancel`)
    assert.deepEqual([cancelled.body.status, cancelled.body.error], ['failed', 'the run was cancelled'])
    rmSync(flag('wait'))
    assert.equal((await run('disk', DISK)).body.status, 'completed')
  })

  test('a target that must not be used is 400', async () => {
    refused(await run('disk', { ...DISK, target: '/proc' }), 400, 'BENCHMARK_TARGET_REFUSED')
    refused(await run('pool', { ...POOL, pool_name: 'nosuch' }), 400, 'BENCHMARK_TARGET_REFUSED')
    refused(
      await run('blockimage', { ...IMAGE, io_type: 'write', image_name: 'data-1' }),
      400,
      'BENCHMARK_TARGET_REFUSED',
    )
    refused(await run('pool', {}), 400, 'INVALID_REQUEST')
  })

  test('fewer bytes in all than one read or write is a wrong field with the number that is needed, and nothing runs', async () => {
    const results = async (): Promise<number> => (await lab.call('GET', `${BENCH}/results`)).body.count
    const before_count = await results()
    const reply = await run('blockimage', { ...IMAGE, io_size: '64K', io_total: '4K' })
    refused(reply, 400, 'INVALID_REQUEST')
    assert.match(reply.text, /io_total.*at least one io_size, 65536 bytes/)
    assert.equal(await results(), before_count)
  })

  test('a store that does not answer is 500', async () => {
    writeFileSync(flag('broken'), '')
    refused(await run('pool', POOL), 500, 'STORE_UNAVAILABLE')
    refused(await run('blockimage', IMAGE), 500, 'STORE_UNAVAILABLE')
    rmSync(flag('broken'))
  })

  test('a tool that is not installed is 503 and named', async () => {
    for (const [kind, body, tool] of [
      ['disk', DISK, 'fio'],
      ['pool', POOL, 'rados'],
      ['blockimage', IMAGE, 'rbd'],
    ] as const) {
      rmSync(flag(tool))
      const reply = await run(kind, body)
      refused(reply, 503, 'BENCHMARK_TOOL_MISSING')
      assert.match(reply.body.detail, new RegExp(tool))
      install(tool, TOOLS[tool])
    }
  })

  test('a result that is not there is 404', async () => {
    refused(await lab.call('GET', `${BENCH}/results/${NOBODY}`), 404, 'BENCHMARK_NOT_FOUND')
    refused(await lab.call('POST', `${BENCH}/results/${NOBODY}/cancel`), 404, 'BENCHMARK_NOT_FOUND')
  })

  const apply = (body: object) => lab.call('POST', '/network/mtu/node-apply', body)
  const probe = (body: object) => lab.call('POST', '/network/mtu/l2probe', { mode: 'listen', mtu: 1500, ...body })

  test('devices without a role are refused, devices that are not there are 404', async () => {
    refused(await probe({ device: 'lo' }), 400, 'MTU_DEVICE_REFUSED')
    refused(await probe({ device: 'gp-gone0' }), 404, 'MTU_DEVICE_NOT_FOUND')
    refused(await apply({ bridge: 'lo', mtu: 1500 }), 400, 'MTU_DEVICE_REFUSED')
    refused(await apply({ bridge: 'gp-gone0', mtu: 1500 }), 404, 'MTU_DEVICE_NOT_FOUND')
  })

  test('sizes that the cards below a bridge cannot carry, and targets that are no address, are 400', async () => {
    refused(await apply({ bridge: 'gp-br0', mtu: 9001 }), 400, 'MTU_ABOVE_LIMIT')
    refused(await apply({ bridge: 'gp-br0', mtu: 1300 }), 400, 'MTU_BELOW_LIMIT')
    refused(await apply({ bridge: 'gp-br0', mtu: 1500, probe_target: 'host.example' }), 400, 'MTU_TARGET_INVALID')
  })

  test('a node whose devices cannot be read is 500', async () => {
    writeFileSync(flag('no-links'), '')
    refused(await apply({ bridge: 'gp-br0', mtu: 1500 }), 500, 'MTU_APPLY_FAILED')
    refused(await probe({ device: 'gp-br0' }), 500, 'MTU_APPLY_FAILED')
    rmSync(flag('no-links'))
  })
})

suite('a captured machine', () => {
  let lab: Lab
  let agents: LabAgents
  before(async () => {
    lab = await startLab()
    agents = await startEnrolledAgents(lab, ['kvm-01'])
  })
  after(async () => {
    await agents?.close()
    await lab?.close()
  })
  const on_node = { headers: { 'x-target-node': 'kvm-01' } }
  const apply = (phase: string, mtu = 1400) =>
    lab.call('POST', '/network/mtu/node-apply', { bridge: 'cloudbr0', mtu, phase }, on_node)

  test('a change in phases: nothing pending is 409, another one meanwhile is 409, and what is not in use is not kept', async () => {
    refused(await apply('commit'), 409, 'MTU_NOTHING_PENDING')
    const prepared = await apply('prepare')
    assert.equal(prepared.status, 200, prepared.text)
    refused(await apply('raise', 1450), 409, 'MTU_CHANGE_RUNNING')
    refused(await apply('commit'), 500, 'MTU_APPLY_FAILED')
    assert.equal((await apply('revert')).status, 200)
    refused(await apply('revert'), 409, 'MTU_NOTHING_PENDING')
  })

  test('it sends no frames, and says so', async () => {
    const reply = await lab.call(
      'POST',
      '/network/mtu/l2probe',
      { device: 'cloudbr0', mode: 'listen', mtu: 1500 },
      on_node,
    )
    refused(reply, 500, 'RAW_SOCKETS_UNAVAILABLE')
  })
})

/** Stand-ins: files beside them make them wait, or fail. */
const TOOLS = {
  fio: `[ "$1" = --version ] && { echo fio-3.33; exit 0; }
case "$*" in *--name=layout*) exit 0 ;; esac
if [ -e wait ]; then : > waiting; exec sleep 60; fi
cat fio.out >&4`,
  rados: `case "$*" in *--version*) echo rados ;; *' cleanup '*) exit 0 ;; *) cat rados.out ;; esac`,
  rbd: `case "$*" in
  *--version*) echo rbd ;;
  *info*) echo '{"size":1073741824}' ;;
  *status*) echo '{"watchers":[]}' ;;
  *) cat rbd.out ;;
esac`,
  ceph: `[ -e broken ] && exit 1
cat ceph.out`,
  ip: `[ -e no-links ] && exit 1
cat ip.out`,
} as const

const link = (name: string, more: object): object => ({
  ifname: name, flags: ['BROADCAST', 'UP', 'LOWER_UP'], mtu: 1500, operstate: 'UP', link_type: 'ether', min_mtu: 68, max_mtu: 65_535, ...more,
}) // biome-ignore format: one record
const OUTPUTS = {
  fio: linuxFixture('fio', 'randread-4k-psync.json'),
  rados: linuxFixture('ceph', 'rados-bench-write-format-json.txt'),
  rbd: linuxFixture('ceph', 'rbd-bench-read-rand-4k.txt'),
  ceph: linuxFixture('ceph', 'df.json'),
  ip: JSON.stringify([
    link('gp-eth0', { ifindex: 2, master: 'gp-br0', min_mtu: 1400, max_mtu: 9000 }),
    link('gp-br0', { ifindex: 3, linkinfo: { info_kind: 'bridge' } }),
  ]),
}
