import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordedHost } from '../support/recorded-host.ts'
import { recordingHost } from '../../tools/recording-host.ts'

test('a recording holds what was asked for and answered, and nothing else', async () => {
  const real = recordedHost({
    files: { '/proc/net/snmp': 'Tcp: 1\n', '/etc/shadow': 'secret' },
    links: { '/sys/class/net/eth0/device': '../../../0000:00:07.0' },
    folders: { '/sys/class/net': ['eth0', 'lo'] },
    commands: {
      'ip -j link': '[{"ifname":"eth0"}]',
      'ethtool -g eth0': { exit_code: 81, stderr: 'no\n' },
      'ip slow': { outcome: 'timeout' },
    },
  })
  const { host, recording } = recordingHost(real)
  assert.equal(await host.read('/proc/net/snmp'), 'Tcp: 1\n')
  assert.equal(await host.read('/proc/net/nothing'), null)
  assert.equal(await host.link('/sys/class/net/eth0/device'), '../../../0000:00:07.0')
  assert.deepEqual(await host.list('/sys/class/net'), ['eth0', 'lo'])
  for (const [tool, ...args] of [
    ['ip', '-j', 'link'],
    ['ip', 'slow'],
    ['ethtool', '-g', 'eth0'],
    ['zpool', 'list'],
  ]) {
    await host.run(tool ?? '', args)
  }
  assert.deepEqual([...recording.files], [['/proc/net/snmp', 'Tcp: 1\n']])
  assert.deepEqual(
    [...recording.links.keys(), ...recording.folders.keys()],
    ['/sys/class/net/eth0/device', '/sys/class/net'],
  )
  const rows = [...recording.commands.values()].flatMap((commands) => [...commands.values()])
  assert.deepEqual(rows, [
    { tool: 'ip', args: ['-j', 'link'], exit_code: 0, stdout_json: [{ ifname: 'eth0' }] },
    { tool: 'ip', args: ['slow'], outcome: 'timeout', stdout: '' },
    { tool: 'ethtool', args: ['-g', 'eth0'], exit_code: 81, stdout: '', stderr: 'no\n' },
  ])
})

test('recording changes nothing on the machine', async () => {
  const { host } = recordingHost(recordedHost({ files: { '/proc/sys/x': '1' } }))
  await assert.rejects(host.write('/proc/sys/x', '2'))
  assert.throws(() => host.spawn('ethtool', ['-p', 'eth0', '5']))
})
