// The command sockets of the daemons: a server that speaks their protocol (several commands in, each answer ended by
// three NUL bytes and a status byte).
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { linuxHost } from '#src/kernel/host.ts'
import { openFrr, splitReplies } from './access.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

/** `answers`: text for a command, a status for a rejection, null for silence from then on. */
async function daemon(t: TestContext, dir: string, name: string, answers: Record<string, string | number | null>) {
  const server: Server = createServer((socket) => {
    let rest = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString()).split('\0')
      rest = parts.pop() ?? ''
      for (const command of parts) {
        const found = command === 'enable' ? '' : command in answers ? answers[command] : 2
        if (found === null || found === undefined) {
          socket.removeAllListeners('data')
          // Once what came before it is on its way.
          socket.write('', () => server.emit('silent'))
          return
        }
        const text = typeof found === 'string' ? found : '% Unknown command.\n'
        const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0, 0, 0, typeof found === 'string' ? 0 : found])])
        for (let at = 0; at < bytes.length; at += 7) socket.write(bytes.subarray(at, at + 7))
      }
      return undefined
    })
  })
  await new Promise<void>((resolve) => server.listen(join(dir, `${name}.vty`), resolve))
  t.after(() => server.close())
  return server
}

test('answers keep their place when some are empty and some refused', async (t) => {
  const dir = tempFolder('vty-')
  await daemon(t, dir, 'bgpd', {
    'show a json': '{"a":1}',
    'show empty json': '',
    'show b json': '{"b":2}',
    'show bad': 2,
  })
  const access = await openFrr(linuxHost(), { vty_dir: dir })
  const replies = await access.ask('bgpd', ['show a json', 'show empty json', 'show bad', 'show b json'])
  assert.equal(replies.state, 'answers')
  assert.deepEqual(replies.json('show a json'), { value: { a: 1 } })
  assert.deepEqual(replies.json('show empty json'), { value: undefined })
  assert.deepEqual(replies.json('show bad'), { reason: 'this version does not know "show bad"' })
  assert.deepEqual(replies.json('show b json'), { value: { b: 2 } })
})

test('a daemon that hangs gives what it had said, and the rest is null with a reason', async (t) => {
  const dir = tempFolder('vty-')
  const zebra = await daemon(t, dir, 'zebra', { 'show a json': '{"a":1}', 'show hang json': null })
  const access = await openFrr(linuxHost(), { vty_dir: dir, timeout_ms: 200 })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const hangs = once(zebra, 'silent')
  const asked = access.ask('zebra', ['show a json', 'show hang json'])
  await hangs
  // What it had said is there already, and is read in the next turns of the event loop.
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  t.mock.timers.tick(200)
  const replies = await asked
  assert.equal(replies.state, 'silent')
  assert.deepEqual(replies.json('show a json'), { value: { a: 1 } })
  assert.deepEqual(replies.json('show hang json'), { reason: 'zebra does not answer within 200 ms' })
})

test('a daemon without a socket among others that have one is dead', async (t) => {
  const dir = tempFolder('vty-')
  await daemon(t, dir, 'zebra', { 'show version': 'FRRouting 8.4.4 (r1) on Linux(6.1).\n' })
  const access = await openFrr(linuxHost(), { vty_dir: dir })
  assert.equal((await access.ask('bgpd', ['show a json'])).reason, 'bgpd is not running')
  assert.deepEqual(await access.daemons(), { running: ['zebra'], silent: [] })
})

test('a socket that nobody listens on any more is a dead daemon', async () => {
  const dir = tempFolder('vty-')
  await writeFile(join(dir, 'bgpd.vty'), '')
  const access = await openFrr(linuxHost(), { vty_dir: dir })
  assert.equal((await access.ask('bgpd', ['show a json'])).state, 'dead')
})

test('four zero bytes are one whole empty answer', () => {
  const bytes = Buffer.concat([Buffer.alloc(4), Buffer.from('x'), Buffer.alloc(3), Buffer.from([2]), Buffer.alloc(4)])
  assert.deepEqual(
    splitReplies(bytes).map((one) => [one.text, one.understood]),
    [
      ['', true],
      ['x', false],
      ['', true],
    ],
  )
})
