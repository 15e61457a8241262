// How the routing daemons are asked: over their own command sockets, and through vtysh where there are none (no right to
// open them, or a recorded host). One hung daemon never delays the answers of the others.
import type { Host, SocketResult } from '#src/kernel/host.ts'
import { parseJson } from '../untrusted-json.ts'

export interface FrrAccessConfig {
  /** Folder of the command sockets; the installed one when left out. */
  vty_dir?: string
  /** Folder of vtysh.conf; only given to vtysh. */
  config_dir?: string
  /** How long one daemon may take for all it is asked; 3,000 when left out. */
  timeout_ms?: number
}

/** `value` is undefined when the daemon printed nothing, which is its way of saying "none". */
export type Reply = { value: unknown } | { reason: string }

export interface DaemonReplies {
  state: 'answers' | 'silent' | 'dead' | 'not_installed'
  /** Why it did not answer; null when it did. */
  reason: string | null
  json(command: string): Reply
  text(command: string): string | null
}

export interface FrrAccess {
  ask(daemon: string, commands: readonly string[]): Promise<DaemonReplies>
  /** Daemons that answer, also those that are never asked for anything else. */
  daemons(): Promise<{ running: string[]; silent: string[] }>
}

interface RawReply {
  text: string
  understood: boolean
}

const INSTALLED_VTY_DIR = '/var/run/frr'
const DEFAULT_TIMEOUT_MS = 3_000

export async function openFrr(host: Host, config: FrrAccessConfig): Promise<FrrAccess> {
  const names = (await host.list(config.vty_dir ?? INSTALLED_VTY_DIR)) ?? []
  const sockets = names.flatMap((name) => /^([a-z][a-z0-9]{1,14})\.vty$/.exec(name)?.[1] ?? [])
  return sockets.length === 0 ? vtyshAccess(host, config) : socketAccess(host, config, sockets.sort())
}

function socketAccess(host: Host, config: FrrAccessConfig, sockets: readonly string[]): FrrAccess {
  const fallback = vtyshAccess(host, config)
  const ask: FrrAccess['ask'] = async (daemon, commands) => {
    if (!sockets.includes(daemon)) return dead(daemon)
    const result = await exchange(host, config, daemon, commands)
    if (result.outcome === 'denied') return fallback.ask(daemon, commands)
    const [, ...parts] = splitReplies(result.received)
    const replies = new Map(commands.map((command, index) => [command, parts[index]]))
    if (result.outcome === 'answered') return answered(replies)
    return result.outcome === 'timeout' || result.outcome === 'too_big' ? silent(daemon, config, replies) : dead(daemon)
  }
  return {
    ask,
    async daemons() {
      const states = await Promise.all(
        sockets.map(async (name) => ({ name, state: (await ask(name, ['show version'])).state })),
      )
      const named = (state: DaemonReplies['state']): string[] =>
        states.filter((one) => one.state === state).map((one) => one.name)
      return { running: named('answers'), silent: named('silent') }
    },
  }
}

/** Every answer ends with three NUL bytes and a status byte; "enable" comes first and answers too. */
function exchange(
  host: Host,
  config: FrrAccessConfig,
  daemon: string,
  commands: readonly string[],
): Promise<SocketResult> {
  const request = ['enable', ...commands].map((command) => `${command}\0`).join('')
  const count = terminatorCounter()
  return host.socketExchange(`${config.vty_dir ?? INSTALLED_VTY_DIR}/${daemon}.vty`, request, {
    timeout_ms: config.timeout_ms ?? DEFAULT_TIMEOUT_MS,
    until: (piece) => count(piece) > commands.length,
  })
}

function terminatorCounter(): (piece: Buffer) => number {
  let zeros = 0
  let ends = 0
  return (piece) => {
    for (const byte of piece) {
      if (zeros === 3) {
        ends += 1
        zeros = 0
      } else zeros = byte === 0 ? zeros + 1 : 0
    }
    return ends
  }
}

/** Exported for its test: answers may be empty, so that four zero bytes are one whole answer. */
export function splitReplies(received: Buffer): RawReply[] {
  const replies: RawReply[] = []
  let from = 0
  for (;;) {
    const end = received.indexOf('\0\0\0', from, 'latin1')
    const status = received[end + 3]
    if (end === -1 || status === undefined) return replies
    replies.push({ text: received.toString('utf8', from, end), understood: status !== 2 })
    from = end + 4
  }
}

function vtyshAccess(host: Host, config: FrrAccessConfig): FrrAccess {
  const timeout_ms = config.timeout_ms ?? DEFAULT_TIMEOUT_MS
  const options = [
    ...(config.vty_dir === undefined ? [] : ['--vty_socket', config.vty_dir]),
    ...(config.config_dir === undefined ? [] : ['--config_dir', config.config_dir]),
  ]
  return {
    async ask(daemon, commands) {
      const replies = new Map<string, RawReply>()
      // One process for each command: the JSON of several comes out without a separator, and empty answers are missing.
      for (const command of commands) {
        const ran = await host.run('vtysh', [...options, '-d', daemon, '-c', command], { timeout_ms })
        if (ran.outcome === 'missing') return absent()
        if (ran.outcome !== 'exited') return silent(daemon, config, replies)
        if (/is not running|failed to connect/i.test(ran.stdout + ran.stderr)) return dead(daemon)
        const understood = ran.exit_code === 0 && !ran.stdout.startsWith('% ')
        replies.set(command, { text: ran.stdout, understood })
      }
      return answered(replies)
    },
    async daemons() {
      const ran = await host.run('vtysh', [...options, '-c', 'show daemons'], { timeout_ms })
      const known = ran.outcome === 'exited' && ran.exit_code === 0
      return { running: known ? ran.stdout.split(/\s+/).filter((word) => /^[a-z0-9]+$/.test(word)) : [], silent: [] }
    },
  }
}

function answered(replies: ReadonlyMap<string, RawReply | undefined>): DaemonReplies {
  return { state: 'answers', reason: null, ...readers(replies, 'the daemon gave no answer') }
}

function silent(
  daemon: string,
  config: FrrAccessConfig,
  replies: ReadonlyMap<string, RawReply | undefined>,
): DaemonReplies {
  const reason = `${daemon} does not answer within ${config.timeout_ms ?? DEFAULT_TIMEOUT_MS} ms`
  return { state: 'silent', reason, ...readers(replies, reason) }
}

function dead(daemon: string): DaemonReplies {
  const reason = `${daemon} is not running`
  return { state: 'dead', reason, ...readers(new Map(), reason) }
}

function absent(): DaemonReplies {
  const reason = 'routing daemon not installed'
  return { state: 'not_installed', reason, ...readers(new Map(), reason) }
}

function readers(
  replies: ReadonlyMap<string, RawReply | undefined>,
  reason: string,
): Pick<DaemonReplies, 'json' | 'text'> {
  return {
    json(command) {
      const reply = replies.get(command)
      if (reply === undefined) return { reason }
      if (!reply.understood) return { reason: `this version does not know "${command}"` }
      if (reply.text.trim() === '') return { value: undefined }
      const value = parseJson(reply.text)
      return value === undefined ? { reason: `unreadable answer to "${command}"` } : { value }
    },
    text(command) {
      const reply = replies.get(command)
      return reply === undefined || !reply.understood ? null : reply.text
    },
  }
}
