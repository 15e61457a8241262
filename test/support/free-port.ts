// Ports that nobody uses right now.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

export async function freeTcpPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** The next port is free, too. */
export async function freeUdpPort(): Promise<number> {
  for (;;) {
    const first = createSocket('udp4')
    first.bind(0, '127.0.0.1')
    await once(first, 'listening')
    const { port } = first.address()
    const second = createSocket('udp4')
    const both = await new Promise<boolean>((resolve) => {
      second.once('error', () => resolve(false))
      second.bind(port + 1, '127.0.0.1', () => resolve(true))
    })
    first.close()
    if (both) second.close()
    if (both) return port
  }
}
