// A DHCP client that speaks as a relay on loopback would: enough of RFC 2131 to get, renew and release an address.
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'

const MAGIC = 0x63825363
const TYPES = { DISCOVER: 1, OFFER: 2, REQUEST: 3, ACK: 5, NAK: 6, RELEASE: 7 } as const
const OPTION = { hostname: 12, requested: 50, type: 53, server: 54, end: 255 }
/** Of who is to be answered, on a machine that stands still now and then. */
const ANSWER_MS = 20_000
/** Of who is to be answered by nobody. */
export const SILENCE_MS = 2000

export interface DhcpAnswer {
  type: 'OFFER' | 'ACK' | 'NAK'
  ip: string
  server: Buffer | undefined
  hostname: string | undefined
}

export interface DhcpClient {
  /** Discover and request; undefined when nobody offers anything in this time. */
  obtain(mac: string, answer_ms?: number): Promise<DhcpAnswer | undefined>
  renew(mac: string, ip: string): Promise<DhcpAnswer | undefined>
  release(mac: string, ip: string): Promise<void>
  close(): void
}

/** `relay`: the loopback address that the subnet on the server names as its relay. */
export async function openDhcpClient(relay: string, port: number): Promise<DhcpClient> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  socket.bind(port + 1, relay)
  await once(socket, 'listening')
  const exchange = (packet: Buffer, id: number, answer_ms = ANSWER_MS): Promise<DhcpAnswer | undefined> =>
    new Promise((resolve) => {
      const done = (answer: DhcpAnswer | undefined): void => {
        clearTimeout(timer)
        socket.off('message', read)
        resolve(answer)
      }
      const read = (message: Buffer): void => {
        if (message.readUInt32BE(4) === id) done(answerOf(message))
      }
      const timer = setTimeout(done, answer_ms, undefined)
      socket.on('message', read)
      socket.send(packet, port, '127.0.0.1')
    })
  return {
    async obtain(mac, answer_ms) {
      const id = randomInt(2 ** 32)
      const offer = await exchange(packetOf({ type: 'DISCOVER', mac, id, relay }), id, answer_ms)
      if (offer === undefined) return undefined
      const requested = { type: 'REQUEST', mac, id, relay, requested: offer.ip, server: offer.server } as const
      return exchange(packetOf(requested), id)
    },
    renew(mac, ip) {
      const id = randomInt(2 ** 32)
      return exchange(packetOf({ type: 'REQUEST', mac, id, relay, held: ip }), id)
    },
    async release(mac, ip) {
      const packet = packetOf({ type: 'RELEASE', mac, id: randomInt(2 ** 32), relay, held: ip })
      await new Promise((sent) => socket.send(packet, port, '127.0.0.1', sent))
    },
    close: () => socket.close(),
  }
}

interface Question {
  type: keyof typeof TYPES
  mac: string
  id: number
  relay: string
  held?: string
  requested?: string
  server?: Buffer | undefined
}

function packetOf({ type, mac, id, relay, held, requested, server }: Question): Buffer {
  const head = Buffer.alloc(240)
  head.set([1, 1, 6, 1])
  head.writeUInt32BE(id, 4)
  if (held !== undefined) head.set(bytesOf(held), 12)
  head.set(bytesOf(relay), 24)
  head.set(Buffer.from(mac.replaceAll(':', ''), 'hex'), 28)
  head.writeUInt32BE(MAGIC, 236)
  const options = [Buffer.from([OPTION.type, 1, TYPES[type]])]
  if (requested !== undefined) options.push(Buffer.from([OPTION.requested, 4, ...bytesOf(requested)]))
  if (server !== undefined) options.push(Buffer.from([OPTION.server, 4, ...server]))
  return Buffer.concat([head, ...options, Buffer.from([OPTION.end])])
}

function answerOf(message: Buffer): DhcpAnswer | undefined {
  const options = new Map<number, Buffer>()
  for (let at = 240; at < message.length && message[at] !== OPTION.end; ) {
    const length = message[at + 1] ?? 0
    options.set(message[at] ?? 0, message.subarray(at + 2, at + 2 + length))
    at += 2 + length
  }
  const code = options.get(OPTION.type)?.[0]
  const type = code === TYPES.OFFER ? 'OFFER' : code === TYPES.ACK ? 'ACK' : code === TYPES.NAK ? 'NAK' : undefined
  if (type === undefined) return undefined
  const ip = [...message.subarray(16, 20)].join('.')
  return { type, ip, server: options.get(OPTION.server), hostname: options.get(OPTION.hostname)?.toString('utf8') }
}

function bytesOf(ip: string): number[] {
  return ip.split('.').map(Number)
}
