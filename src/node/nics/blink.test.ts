import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { linuxHost, type RunningCommand, type RunResult } from '#src/kernel/host.ts'
import { recordedHost } from '../../../test/support/recorded-host.ts'
import { createBlinker } from './blink.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'

const LINKS = JSON.stringify([
  { ifname: 'eth0', ifindex: 2, link_type: 'ether', parentdev: '0000:00:07.0', parentbus: 'pci' },
  { ifname: 'br0', ifindex: 3, link_type: 'ether', linkinfo: { info_kind: 'bridge' } },
])

/** ethtool blocks as long as the LED blinks; here until it is signalled. */
function blinking(early?: Partial<RunResult>) {
  const host = recordedHost({ commands: { 'ip -j -d -s -s addr show': LINKS } })
  const started: { args: readonly string[]; signals: string[] }[] = []
  const ended = { outcome: 'exited', exit_code: 0, stdout: '', stderr: '' } as const
  const spawn = (_tool: string, args: readonly string[]): RunningCommand => {
    const { promise, resolve } = Promise.withResolvers<RunResult>()
    const one: { args: readonly string[]; signals: string[] } = { args, signals: [] }
    started.push(one)
    if (early !== undefined) resolve({ ...ended, ...early })
    return {
      ended: promise,
      signal: (name = 'SIGTERM') => {
        one.signals.push(name)
        resolve(ended)
      },
    }
  }
  return { blinker: createBlinker({ ...host, spawn }), started }
}

test('the answer comes while the LED blinks, and the duration is always given', async () => {
  const { blinker, started } = blinking()
  const answer = await blinker.blink('eth0', 20)
  assert.deepEqual(answer, { message: 'The LED of eth0 blinks for 20 seconds.', interfaceName: 'eth0', duration: 20 })
  assert.deepEqual(started, [{ args: ['-p', 'eth0', '20'], signals: [] }])
  await blinker.stop()
  assert.deepEqual(started[0]?.signals, ['SIGINT'])
})

test('a second blink of the same NIC ends the first', async () => {
  const { blinker, started } = blinking()
  await blinker.blink('eth0', 20)
  await blinker.blink('eth0', 5)
  assert.deepEqual(
    started.map((one) => one.signals),
    [['SIGINT'], []],
  )
  await blinker.stop()
})

test('of calls at once for one NIC the last one blinks alone, and nothing blinks after the end', async () => {
  const { blinker, started } = blinking()
  await Promise.all([blinker.blink('eth0', 20), blinker.blink('eth0', 10), blinker.blink('eth0', 5)])
  assert.deepEqual(
    started.map((one) => [one.args.at(-1), one.signals]),
    [
      ['20', ['SIGINT']],
      ['10', ['SIGINT']],
      ['5', []],
    ],
  )
  await blinker.stop()
  assert.ok(started.every(({ signals }) => signals.length === 1))
})

test('an ethtool that does not heed the interrupt is killed, and reaped', async () => {
  const folder = tempFolder('gp-blink-')
  const tool = join(folder, 'ethtool')
  writeFileSync(
    tool,
    `#!/bin/sh\ntrap '' INT\necho $$ > ${folder}/new && mv ${folder}/new ${folder}/pid\nwhile :; do sleep 0.05; done\n`,
    {
      mode: 0o755,
    },
  )
  const host = recordedHost({ commands: { 'ip -j -d -s -s addr show': LINKS } })
  const { spawn } = linuxHost({ tools: { ethtool: tool } })
  const blinker = createBlinker({ ...host, spawn }, { grace_ms: 50 })
  await blinker.blink('eth0', 20)
  const pid = await until('it heeds no interrupt', () => readFileSync(join(folder, 'pid'), 'utf8').trim())
  assert.ok(existsSync(`/proc/${pid}`))
  await blinker.stop()
  assert.equal(existsSync(`/proc/${pid}`), false)
})

test('a driver that cannot blink is an error that says so', async () => {
  const stderr = 'Cannot identify NIC: Operation not supported\n'
  const refused = blinking({ exit_code: 255, stderr }).blinker.blink('eth0', 5)
  await assert.rejects(refused, {
    code: 'AGENT_ERROR',
    message: 'The LED cannot blink: the driver of eth0 cannot do it.',
  })
  const missing = blinking({ outcome: 'missing', exit_code: null }).blinker.blink('eth0', 5)
  await assert.rejects(missing, { code: 'AGENT_ERROR', message: /ethtool is not installed/ })
  const ended = blinking({ outcome: 'timeout', exit_code: null }).blinker.blink('eth0', 5)
  await assert.rejects(ended, {
    code: 'AGENT_ERROR',
    message: 'Another call for the LED of eth0 ended this one; try again.',
  })
})

test('an unknown device and one without hardware are refused before anything is started', async () => {
  const { blinker, started } = blinking()
  await assert.rejects(blinker.blink('eth9', 5), { code: 'INVALID_REQUEST' })
  await assert.rejects(blinker.blink('br0', 5), { code: 'INVALID_REQUEST' })
  assert.deepEqual(started, [])
})
