/** The platform's console proxy: a WebSocket that speaks RFB for one machine, opened once by the token of its endpoint. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Vm } from '../records.ts'
import { openRfbSession, type RfbSession } from './rfb.ts'
import { TextScreen } from './text-screen.ts'

export interface ConsoleProxy {
  /** A word that opens the screen of this machine once. */
  admit(vm: Pick<Vm, 'id' | 'name'>, extra: string | null): string
  /** What the machine shows, as text. */
  text(vm_id: string): string
  /** The machine does not run any more: its screen is gone, and the next one boots again. */
  stopped(vm_id: string): void
  serve(server: Server): void
  close(): void
}

export const CONSOLE_PATH = 'websockify'

const ENTER = 0xff0d
const BACKSPACE = 0xff08

interface Screen {
  text: TextScreen
  sessions: Set<RfbSession>
  clients: Set<WebSocket>
}

export function createConsoleProxy(newToken: () => string): ConsoleProxy {
  const admitted = new Map<string, { vm: Pick<Vm, 'id' | 'name'>; extra: string | null }>()
  const screens = new Map<string, Screen>()
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (asked) => (asked.has('binary') ? 'binary' : false),
  })
  const screenOf = ({ id, name }: Pick<Vm, 'id' | 'name'>): Screen => {
    const known = screens.get(id)
    if (known !== undefined) return known
    const text = new TextScreen()
    text.write(bootText(name))
    const made = { text, sessions: new Set<RfbSession>(), clients: new Set<WebSocket>() }
    screens.set(id, made)
    return made
  }
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://proxy')
    const token = searchParams.get('token') ?? ''
    const entry = pathname === `/${CONSOLE_PATH}` ? admitted.get(token) : undefined
    admitted.delete(token)
    if (entry === undefined || entry.extra !== searchParams.get('extra')) {
      socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
      return
    }
    const { vm } = entry
    sockets.handleUpgrade(request, socket, head, (client) => {
      const screen = screenOf(vm)
      const session = openRfbSession({
        name: vm.name,
        screen: screen.text,
        send: (data) => client.send(data),
        key(keysym) {
          screen.text.write(echoOf(keysym))
          for (const one of screen.sessions) one.changed()
        },
        close: () => client.close(1002),
      })
      screen.sessions.add(session)
      screen.clients.add(client)
      client.on('message', (data: Buffer) => session.receive(data))
      client.on('close', () => {
        screen.sessions.delete(session)
        screen.clients.delete(client)
      })
      client.on('error', () => client.terminate())
    })
  }
  return {
    admit(vm, extra) {
      const token = newToken()
      admitted.set(token, { vm: { id: vm.id, name: vm.name }, extra })
      return token
    },
    text: (vm_id) => screens.get(vm_id)?.text.lines.join('\n') ?? '',
    stopped(vm_id) {
      for (const client of screens.get(vm_id)?.clients ?? []) client.close(1000)
      screens.delete(vm_id)
    },
    serve: (server) => server.on('upgrade', upgrade),
    close() {
      for (const client of sockets.clients) client.terminate()
      sockets.close()
    },
  }
}

function bootText(name: string): string {
  return [
    'SeaBIOS (simulated)', '', 'Booting from Hard Disk...', '[    0.000000] Linux version 6.1.0 (simulated)',
    '[    0.412001] virtio_blk virtio2: [vda] 41943040 512-byte logical blocks', '[    1.204410] systemd[1]: Set hostname.',
    '[  OK  ] Reached target multi-user.target.', '', `Debian GNU/Linux 12 ${name} tty1`, '', `${name} login: `,
  ].join('\n') // biome-ignore format: one screen
}

/** A terminal that shows what is typed, line by line. */
function echoOf(keysym: number): string {
  if (keysym === ENTER) return '\nlogin: '
  if (keysym === BACKSPACE) return '\b'
  return keysym >= 0x20 && keysym < 0x7f ? String.fromCharCode(keysym) : ''
}
