// WebSocket routes print their messages, and redirects are shown instead of followed.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { runAt } from './in-process.ts'
import { startFakeService } from './fake-service.ts'
import { tempFolder } from '../support/temp-folder.ts'

const TEXT = 0x1
const BINARY = 0x2
const CLOSE = 0x8

/** One unmasked frame of less than 126 bytes (RFC 6455, 5.2). */
function frame(opcode: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, data.length]), data])
}

/** A server that accepts every WebSocket and lets the test write frames; null refuses the upgrade. */
async function socketServer(t: TestContext, speak: ((socket: Duplex, authorization: string) => void) | null) {
  const server = createServer()
  server.on('upgrade', (request, socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (data: Buffer) => {
      if (((data[0] ?? 0) & 0x0f) === CLOSE) socket.end()
    })
    if (speak === null) return socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
    const key = `${request.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    )
    speak(socket, request.headers.authorization ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('messages of a socket are lines, opened with the credential in a header and not in the address', async (t) => {
  const url = await socketServer(t, (socket, authorization) => {
    socket.write(frame(TEXT, Buffer.from(`{"auth":"${authorization}"}`)))
    socket.write(frame(TEXT, Buffer.from('{"n":\n2}')))
    socket.write(frame(CLOSE, Buffer.from([0x03, 0xe8])))
  })
  const result = await runAt(url, ['gadget', 'watch', '7'])
  assert.equal(result.code, 0, result.stderr)
  assert.equal(result.stdout, '{"auth":"Bearer gp_test"}\n{"n": 2}\n')
})

test('binary messages are written to the file as they are', async (t) => {
  const url = await socketServer(t, (socket) => {
    socket.write(frame(BINARY, Buffer.from([0, 255, 1])))
    socket.write(frame(BINARY, Buffer.from([2])))
    socket.write(frame(CLOSE, Buffer.from([0x03, 0xe8])))
  })
  const file = join(tempFolder('groundplane-cli-'), 'media')
  const result = await runAt(url, ['gadget', 'watch', '7', '--output', file])
  assert.equal(result.code, 0, result.stderr)
  assert.deepEqual(await readFile(file), Buffer.from([0, 255, 1, 2]))
})

test('a socket that is refused or breaks ends with 7', async (t) => {
  const refused = await runAt(await socketServer(t, null), ['gadget', 'watch', '7'])
  assert.equal(refused.code, 7)
  assert.match(refused.stderr, /was refused/)
  const broken = await runAt(await socketServer(t, (socket) => void setTimeout(() => socket.destroy(), 50)), [
    'gadget',
    'watch',
    '7',
  ])
  assert.equal(broken.code, 7)
  assert.match(broken.stderr, /was lost/)
})

test('a redirect is printed', async (t) => {
  const service = await startFakeService({
    'GET /auth/oidc/start': (_request, raw) => {
      raw.writeHead(302, { location: 'https://id.example/authorize?state=x' }).end()
      return undefined
    },
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['oidc', 'start'])
  assert.deepEqual([result.code, result.stdout], [0, 'https://id.example/authorize?state=x\n'])
})
