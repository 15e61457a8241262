// Stands before Kea's socket and lets a test do something to the server right before or right after a command.
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { tempFolder } from './temp-folder.ts'

/** `true`: the connection breaks, and the command is not passed on, or its answer not. */
type Fate = (command: string, moment: 'before' | 'after') => Promise<boolean>

export interface KeaProxy {
  socket: string
  /** From now on; asked twice for every command. */
  behave(fate: Fate): void
  close(): Promise<void>
}

export async function startKeaProxy(target: string): Promise<KeaProxy> {
  let decide: Fate = () => Promise.resolve(false)
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (incoming) => {
    open.add(incoming)
    incoming.on('error', () => {}).on('close', () => open.delete(incoming))
    serve(incoming).catch(() => incoming.destroy())
  })
  async function serve(incoming: Socket): Promise<void> {
    const message = await allOf(incoming)
    const { command } = JSON.parse(message) as { command: string }
    if (await decide(command, 'before')) return void incoming.destroy()
    const outgoing = connect({ path: target, allowHalfOpen: true })
    outgoing.end(message)
    const answer = await allOf(outgoing)
    if (await decide(command, 'after')) return void incoming.destroy()
    incoming.end(answer)
  }
  const socket = join(tempFolder('gp-kea-proxy-'), 'kea.sock')
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  return {
    socket,
    behave: (fate) => (decide = fate),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const one of open) one.destroy()
      }),
  }
}

async function allOf(stream: Socket): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of stream.iterator({ destroyOnReturn: false })) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
