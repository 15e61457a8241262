// Ports that nobody uses, for programs that must be told theirs. Below those that the kernel hands out by itself: between the
// asking and the use, one of these would be taken by the next connection of any other program.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Linux hands out ports from 32768 on. */
const [FIRST, END] = [20_000, 32_000]

export async function freeTcpPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    const server = createServer()
    const is_free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!is_free) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** The next port is free, too. */
export async function freeUdpPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if ((await isFreeUdp(port)) && (await isFreeUdp(port + 1))) return port
  }
}

async function isFreeUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  const is_free = await new Promise<boolean>((resolve) => {
    socket.once('error', () => resolve(false))
    socket.bind(port, '127.0.0.1', () => resolve(true))
  })
  if (is_free) {
    socket.close()
    await once(socket, 'close')
  }
  return is_free
}
