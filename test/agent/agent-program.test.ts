// The program `groundplane agent` as a person starts it, and the control plane's own machine.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, suite, test } from 'node:test'
import { checkNodeSettings } from '#src/node/config.ts'
import { startLab } from '../support/start-lab.ts'

const root = resolve(import.meta.dirname, '../..')

suite('the program agent', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gp-agent-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const run = (args: string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [join(root, 'bin/agent.ts'), ...args], { encoding: 'utf8', timeout: 30_000, env })

  test('an agent that never joined says how to join', () => {
    const { status, stderr } = run(['--join', 'http://127.0.0.1:9', '--state', join(folder, 'new')])
    assert.equal(status, 1)
    assert.match(stderr, /has not joined.*--join URL/)
  })

  test('every mistake of the configuration is told at once', () => {
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

  test('a token without the mark of its authority is not sent anywhere', () => {
    const args = ['--join', 'http://127.0.0.1:9', '--state', join(folder, 'new')]
    const { status, stderr } = run(args, { GROUNDPLANE_ENROLMENT_TOKEN: 'gpe_short' })
    assert.equal(status, 1)
    assert.match(stderr, /token is not complete/)
    assert.equal(stderr.includes('gpe_short'), false)
  })
})

suite('the control plane’s own machine', () => {
  test('it is answered for as configured, or not at all', async () => {
    const captured = join(root, 'lab/hosts/mgmt-01')
    const lab = await startLab({ config: { node: { settings: { captured } } } })
    try {
      const { status, body } = await lab.call('GET', '/network/monitoring/node-summary')
      assert.deepEqual([status, body.hostname], [200, 'mgmt-01'])
      const named = { headers: { 'x-target-node': 'mgmt-01.example.internal' } }
      assert.equal((await lab.call('GET', '/network/monitoring/node-summary', undefined, named)).status, 200)
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

  test('a mistake in its settings is told by its place', () => {
    const checked = checkNodeSettings({ net: { uplinks: 7 }, captured: 'relative/path' })
    assert.ok('problems' in checked)
    assert.match(checked.problems.join('\n'), /net\.uplinks/)
    assert.match(checked.problems.join('\n'), /captured/)
  })
})
