// A way to the test database that can stop carrying anything without being closed, as a firewall does it.
import { once } from 'node:events'
import { createServer, Socket } from 'node:net'
import { join } from 'node:path'
import type { Connection } from './test-database.ts'

export interface Wire {
  connection: Connection
  /** Nothing arrives any more, on connections that are there and on new ones. */
  silence(): void
  /** All connections break, and so does every new one. */
  cut(): void
  /** New connections work again. */
  restore(): void
  end(): void
}

export async function startWire(to: Connection): Promise<Wire> {
  const sockets = new Set<Socket>()
  let silent = false
  let broken = false
  const server = createServer((near) => {
    if (broken) return void near.destroy()
    const far = new Socket().connect({ path: join(to.host, `.s.PGSQL.${to.port}`) })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    if (!silent) near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the wire has no port')
  return {
    connection: { ...to, host: '127.0.0.1', port: address.port },
    silence() {
      silent = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    cut() {
      broken = true
      for (const socket of sockets) socket.destroy()
    },
    restore() {
      silent = false
      broken = false
    },
    end() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
