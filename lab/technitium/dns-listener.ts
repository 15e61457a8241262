/** The ports that the simulated name server answers on: UDP and TCP, the same number. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { answerTo } from './dns-answers.ts'
import { readQuestion, writeAnswer } from './dns-wire.ts'
import type { StoredState } from './state.ts'

export interface DnsListener {
  port: number
  close(): Promise<void>
}

const TCP_BYTES = 65_535
const TRIES = 20

export async function openDnsListener(state: StoredState, host: string, port: number): Promise<DnsListener> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await open(state, host, port)
    } catch (error) {
      // A free TCP port may be taken over UDP; then another one is tried.
      const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
      if (!taken || port !== 0 || tried === TRIES) throw error
    }
  }
}

async function open(state: StoredState, host: string, wanted: number): Promise<DnsListener> {
  const sockets = new Set<Socket>()
  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    serve(state, socket)
  })
  tcp.listen(wanted, host)
  await once(tcp, 'listening')
  const address = tcp.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  udp.on('message', (message, from) => {
    const question = readQuestion(message)
    if (question === null) return
    udp.send(writeAnswer(question, answerTo(state.now, question), question.max_bytes), from.port, from.address)
  })
  try {
    udp.bind(port, host)
    await once(udp, 'listening')
  } catch (error) {
    tcp.close()
    throw error
  }
  return {
    port,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await Promise.all([
        new Promise<void>((resolve) => void tcp.close(() => resolve())),
        new Promise<void>((resolve) => void udp.close(() => resolve())),
      ])
    },
  }
}

/** Each message is preceded by its length. */
function serve(state: StoredState, socket: Socket): void {
  let buffered = Buffer.alloc(0)
  socket.on('data', (part: Buffer) => {
    buffered = Buffer.concat([buffered, part])
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      const length = buffered.readUInt16BE(0)
      const question = readQuestion(buffered.subarray(2, 2 + length))
      buffered = buffered.subarray(2 + length)
      if (question === null) {
        socket.destroy()
        return
      }
      const answer = writeAnswer(question, answerTo(state.now, question), TCP_BYTES)
      const size = Buffer.alloc(2)
      size.writeUInt16BE(answer.length)
      socket.write(Buffer.concat([size, answer]))
    }
  })
}
