import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { capturedHost } from '../../lab/captured-host/host.ts'
import { tempFolder } from '../support/temp-folder.ts'

let folder: string

before(async () => {
  folder = tempFolder('captured-host-')
})

async function captured(name: string, files: Record<string, unknown>) {
  for (const [path, content] of Object.entries(files)) {
    const at = join(folder, name, path)
    await mkdir(dirname(at), { recursive: true })
    await writeFile(at, typeof content === 'string' ? content : JSON.stringify(content))
  }
  let clock_ms = 1_000
  const host = capturedHost(join(folder, name), { monotonic: () => clock_ms })
  return {
    host,
    pass: (milliseconds: number) => {
      clock_ms += milliseconds
    },
  }
}

test('a recorded command answers, an exact entry before one with a wildcard', async () => {
  const { host } = await captured('commands', {
    'commands/ethtool.json': [
      { tool: 'ethtool', args: ['-k', '*'], stdout: 'any' },
      { tool: 'ethtool', args: ['-k', 'eth0'], also: [['--show-features', 'eth0']], stdout_json: [{ a: 1 }] },
      { tool: 'ethtool', args: ['-p', 'eth0', '*'], exit_code: 255, stderr: 'Operation not supported' },
    ],
    'commands/slow.json': { tool: 'slow', args: [], outcome: 'timeout' },
  })
  assert.equal((await host.run('ethtool', ['-k', 'eth1'])).stdout, 'any')
  assert.equal((await host.run('ethtool', ['-k', 'eth0'])).stdout, '[{"a":1}]')
  assert.equal((await host.run('ethtool', ['--show-features', 'eth0'])).stdout, '[{"a":1}]')
  assert.equal((await host.run('ethtool', ['-p', 'eth0', '10'])).exit_code, 255)
  assert.equal((await host.run('slow', [])).outcome, 'timeout')
})

test('a tool nobody recorded is missing; a recorded tool refuses arguments nobody recorded', async () => {
  const { host } = await captured('missing', { 'commands/tc.json': { tool: 'tc', args: ['qdisc'] } })
  assert.equal((await host.run('zpool', ['list'])).outcome, 'missing')
  const refused = await host.run('tc', ['filter'])
  assert.deepEqual([refused.outcome, refused.exit_code, refused.stderr], ['exited', 1, 'not recorded: tc filter\n'])
})

test('files, links and directory listings come from the folder, and nothing outside it can be read', async () => {
  await writeFile(join(folder, 'secret'), 'outside')
  const { host } = await captured('files', {
    'files/sys/class/net/eth0/mtu': '1500\n',
    'links.json': { '/sys/class/net/eth0/device': '../../../0000:00:07.0', '/sys/class/net/eth1/device': '../x' },
  })
  assert.equal(await host.read('/sys/class/net/eth0/mtu'), '1500\n')
  assert.equal(await host.read('/sys/class/net/eth0/speed'), null)
  assert.equal(await host.link('/sys/class/net/eth0/device'), '../../../0000:00:07.0')
  assert.deepEqual(await host.list('/sys/class/net'), ['eth0', 'eth1'])
  assert.deepEqual(await host.list('/sys/class/net/eth0'), ['device', 'mtu'])
  assert.equal(await host.list('/sys/block'), null)
  assert.equal(await host.read('/../../secret'), null)
  assert.equal(await host.read('../../secret'), null)
})

test('what is written is read back, kernel settings with the end of the line, and leaves the recording alone', async () => {
  const files = { 'files/proc/sys/x': '1\n' }
  const { host } = await captured('writes', files)
  await host.write('/proc/sys/x', '2')
  assert.equal(await host.read('/proc/sys/x'), '2\n')
  assert.equal(await (await captured('writes', files)).host.read('/proc/sys/x'), '1\n')
  await assert.rejects(host.write('/proc/sys/y', '2'))
})

test('counters in motion grow with time, never run backwards, and leave the rest alone', async () => {
  const { host, pass } = await captured('motion', {
    'commands/tc.json': {
      tool: 'tc',
      args: ['qdisc'],
      stdout_json: [
        { ifname: 'eth0', stats64: { rx: { bytes: 100 } } },
        { ifname: 'eth1', stats64: { rx: { bytes: 7 } } },
      ],
    },
    'files/proc/net/snmp': 'Tcp: RtoMin RetransSegs\nTcp: 200 40\nUdp: 9 9\n',
    'files/sys/x/rx_bytes': '5\n',
    'motion.json': [
      { tool: 'tc', json_path: ['ifname=eth0', 'stats64', 'rx', 'bytes'], per_second: 10, swing: 1, period_s: 60 },
      { file: '/proc/net/snmp', line: 'Tcp:', column: 2, per_second: 2 },
      { file: '/sys/x/rx_bytes', per_second: 1 },
    ],
  })
  const bytes = async () => (await host.run('tc', ['qdisc'])).stdout
  assert.equal(
    await bytes(),
    '[{"ifname":"eth0","stats64":{"rx":{"bytes":100}}},{"ifname":"eth1","stats64":{"rx":{"bytes":7}}}]',
  )
  let last = 100
  for (let step = 0; step < 30; step += 1) {
    pass(5_000)
    const now = Number(/"bytes":(\d+)/.exec(await bytes())?.[1])
    assert.ok(now >= last, `${now} after ${last}`)
    last = now
  }
  assert.ok(Math.abs(last - 100 - 1500) < 200, `${last} after 150 s at 10 a second`)
  assert.equal(await host.read('/proc/net/snmp'), 'Tcp: RtoMin RetransSegs\nTcp: 200 340\nUdp: 9 9\n')
  assert.equal(await host.read('/sys/x/rx_bytes'), '155\n')
})

test('a broken recording is refused when the host is opened, with the file named', async () => {
  await assert.rejects(captured('broken', { 'commands/ip.json': { tool: 'ip' } }), /commands\/ip\.json/)
  await assert.rejects(captured('still', { 'motion.json': [{ speed: 3 }] }), /motion\.json/)
})
