// The program `groundplane agent` as a person starts it, and the control plane's own machine.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { suite, test } from 'node:test'
import type { BenchmarkResult } from '#src/contract/storage/benchmark.ts'
import { checkNodeSettings } from '#src/node/config.ts'
import { startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { tempFolder } from '../support/temp-folder.ts'

const IO = {
  bandwidth_kbps: null, bandwidth_mbps: null, iops: null, latency_avg_us: null, latency_p50_us: null, latency_p99_us: null,
  latency_p999_us: null, total_ios: null,
} // biome-ignore format: one record
const ORPHAN: BenchmarkResult = {
  id: '5d1f4a38-0b5c-4b0e-9a65-0d4d3f2b7a11', type: 'blockimage', target: 'bench/image', profile: 'read-seq', status: 'running',
  started_at: '2026-01-01T00:00:00.000Z', duration_seconds: 0, raw_output: '', error: '', read: IO, write: IO, unavailable: [],
} // biome-ignore format: one record

const root = resolve(import.meta.dirname, '../..')

suite('the program agent', () => {
  const folder = tempFolder('gp-agent-')
  const { NODE_COMPILE_CACHE } = process.env
  const run = (args: string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [join(root, 'bin/agent.ts'), ...args], {
      encoding: 'utf8',
      timeout: 120_000,
      env: { NODE_COMPILE_CACHE, ...env },
    })

  test('an agent that is not enrolled says how to enrol', () => {
    const { status, stderr } = run(['--join', 'http://127.0.0.1:9', '--state', join(folder, 'new')])
    assert.equal(status, 1)
    assert.match(stderr, /is not enrolled.*--join URL/)
  })

  test('every mistake of the configuration is reported at once', () => {
    const file = join(folder, 'bad.yaml')
    writeFileSync(file, 'listen: { port: 99999 }\ncontrol_url: ftp://x\nsurprise: 1\n')
    const { status, stderr } = run(['--config', file])
    assert.equal(status, 1)
    assert.match(stderr, /listen\.port/)
    assert.match(stderr, /control_url/)
    assert.match(stderr, /additional properties/)
    writeFileSync(file, 'control_url: http://127.0.0.1:9\nnode: { net: { roles: { br0: nonsense } } }\n')
    assert.match(run(['--config', file]).stderr, /node\.net\.roles\.br0/)
  })

  test('a token without the mark of its CA is not sent anywhere', () => {
    const args = ['--join', 'http://127.0.0.1:9', '--state', join(folder, 'new')]
    const { status, stderr } = run(args, { GROUNDPLANE_ENROLMENT_TOKEN: 'gpe_short' })
    assert.equal(status, 1)
    assert.match(stderr, /token is not complete/)
    assert.equal(stderr.includes('gpe_short'), false)
  })
})

suite('the control plane’s own machine', () => {
  test('it is answered for as configured, or not at all', async () => {
    const folder = tempFolder('gp-own-')
    const settings = {
      net: { fqdn: 'mgmt-01.example.internal' },
      proc_root: join(root, 'lab/hosts/mgmt-01/files/proc'),
      sys_root: join(root, 'lab/hosts/mgmt-01/files/sys'),
      tools: { ip: recordedIp(folder) },
    }
    const lab = await startLab({ config: { node: { settings } } })
    try {
      const { status, body } = await lab.call('GET', '/network/monitoring/node-summary')
      assert.deepEqual([status, body.hostname], [200, 'mgmt-01'])
      const named = { headers: { 'x-target-node': 'mgmt-01.example.internal' } }
      assert.equal((await lab.call('GET', '/network/monitoring/node-summary', undefined, named)).status, 200)

      const node = { bmc_ip: '10.9.0.1', fqdn: 'mgmt-01.example.internal' }
      await lab.call('POST', '/configure/nodes', node)
      await lab.call('POST', '/configure/nodes', { bmc_ip: '10.9.0.2', fqdn: 'elsewhere.example.internal' })
      const nics = await lab.call('GET', '/configure/nodes/10.9.0.1/nics')
      assert.equal(nics.status, 200, 'no agent is needed on the machine that answers')
      assert.ok(nics.body.nics.length > 0)
      const blink = await lab.call('POST', '/configure/nodes/10.9.0.1/nics/blink', { interfaceName: 'eth99' })
      assert.deepEqual([blink.status, blink.body.errors?.[0]?.path], [400, 'interfaceName'])
      const by_bmc = { headers: { 'x-target-node': '10.9.0.1' } }
      assert.equal((await lab.call('GET', '/network/monitoring/node-summary', undefined, by_bmc)).status, 200)
      assert.equal((await lab.call('GET', '/configure/nodes/10.9.0.2/nics')).body.code, 'AGENT_UNAVAILABLE')
    } finally {
      await lab.close()
    }
    const without = await startLab({ config: { node: { enabled: false } } })
    try {
      const { status, body } = await without.call('GET', '/storage/host/disks')
      assert.deepEqual([status, body.code], [500, 'AGENT_NOT_CONFIGURED'])
    } finally {
      await without.close()
    }
  })

  test('what a killed process left running is ended on record at the next start, before anybody asks', async () => {
    const lab = await startLab()
    try {
      const folder = join(lab.data_dir, 'node/benchmarks')
      const file = join(folder, `${ORPHAN.id}.json`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(file, JSON.stringify(ORPHAN))
      await lab.restart()
      const stored = (): Partial<BenchmarkResult> => JSON.parse(readFileSync(file, 'utf8'))
      await until('the run is ended on record', () => stored().status === 'failed')
      assert.equal(stored().error, 'the agent ended during the run')
    } finally {
      await lab.close()
    }
  })

  test('a mistake in its settings is reported by its place', () => {
    const checked = checkNodeSettings({ net: { uplinks: 7 }, root: 'relative/path' })
    assert.ok('problems' in checked)
    assert.match(checked.problems.join('\n'), /net\.uplinks/)
    assert.match(checked.problems.join('\n'), /root/)
  })
})

/** A command `ip` that prints what was recorded on mgmt-01. */
function recordedIp(folder: string): string {
  const recorded: { args: string[]; stdout_json: unknown }[] = JSON.parse(
    readFileSync(join(root, 'lab/hosts/mgmt-01/commands/ip.json'), 'utf8'),
  )
  writeFileSync(
    join(folder, 'links.json'),
    JSON.stringify(recorded.find(({ args }) => args.includes('addr'))?.stdout_json),
  )
  writeFileSync(join(folder, 'ip'), `#!/bin/sh\nexec cat '${folder}/links.json'\n`)
  chmodSync(join(folder, 'ip'), 0o700)
  return join(folder, 'ip')
}
