// A real Kea DHCPv4 server in a private folder on loopback, without root: clients speak to it as through a relay.
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeaTransport, type KeaConfig } from '#src/drivers/kea/transport.ts'
import { type Child, createChildren } from './children.ts'
import { freeUdpPort } from './free-port.ts'
import { tempFolder } from './temp-folder.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/sbin/kea-dhcp4'
export const HOOKS = '/usr/lib/x86_64-linux-gnu/kea/hooks'

export interface KeaServer {
  config: KeaConfig
  /** What it starts from, and writes its configuration to. */
  file: string
  /** Where clients send to; answers come to `port + 1` of their relay address. */
  port: number
  /** Ends it by the signal and starts it again on the same files. */
  restart(signal: NodeJS.Signals): Promise<void>
  /** Away, and back. */
  pause(signal?: NodeJS.Signals): Promise<void>
  resume(): Promise<void>
  close(): Promise<void>
}

/** Why it cannot run here; false when it can. */
export function keaMissing(): string | false {
  if (!existsSync(PROGRAM)) return 'needs kea-dhcp4-server'
  return existsSync(join(HOOKS, 'libdhcp_lease_cmds.so')) ? false : 'needs the hooks of kea-common'
}

export interface KeaServerOptions {
  /** Where it keeps leases and reservations, in its own words; in files when left out. */
  databases?: Record<string, unknown>
  /** Hooks beside those for leases, in its own words. */
  hooks?: readonly unknown[]
  /** Settings beside these, in its own words. */
  more?: Record<string, unknown>
}

export async function startKea(options: KeaServerOptions = {}): Promise<KeaServer> {
  const folder = tempFolder('gp-kea-')
  const children = createChildren()
  const port = await freeUdpPort()
  const socket = join(folder, 'kea4.sock')
  const file = join(folder, 'kea-dhcp4.conf')
  await writeFile(file, JSON.stringify({ Dhcp4: settings(folder, socket, options) }))
  const config: KeaConfig = { socket, timeout_ms: 10_000 }
  const run = async (): Promise<Child> => {
    // A killed server that nobody has reaped yet counts as running for Kea.
    await rm(join(folder, 'kea-dhcp4.kea-dhcp4.pid'), { force: true })
    const environment = { KEA_PIDFILE_DIR: folder, KEA_LOCKFILE_DIR: folder }
    const args = ['-c', file, '-p', String(port), '-P', String(port + 1)]
    const child = children.start(PROGRAM, args, { cwd: folder, env: environment })
    await until('Kea answers', async () => {
      if (child.ended()) throw new Error(`Kea ended: ${child.errors()}${child.output()}`)
      return (await createKeaTransport(config).send('version-get')).result === 0
    })
    return child
  }
  let child = await run()
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    // Kea empties its configuration file before it writes it: who kills it in between leaves nothing to start from.
    if (signal === 'SIGKILL') await until('its configuration is whole', () => stoppedOutsideOfWrite(child, file))
    await child.end(signal)
  }
  return {
    config,
    file,
    port,
    async restart(signal) {
      await end(signal)
      child = await run()
    },
    async pause(signal = 'SIGTERM') {
      await end(signal)
    },
    async resume() {
      child = await run()
    },
    async close() {
      await children.close()
    },
  }
}

/** True: it stands still, and its file is whole. */
async function stoppedOutsideOfWrite({ process }: Child, file: string): Promise<boolean> {
  process.kill('SIGSTOP')
  try {
    JSON.parse(await readFile(file, 'utf8'))
    return true
  } catch {
    process.kill('SIGCONT')
    return false
  }
}

function settings(folder: string, socket: string, { databases, hooks = [], more }: KeaServerOptions): unknown {
  return {
    'interfaces-config': { interfaces: ['lo'], 'dhcp-socket-type': 'udp' },
    'control-socket': { 'socket-type': 'unix', 'socket-name': socket },
    'lease-database': { type: 'memfile', persist: true, name: join(folder, 'leases4.csv') },
    'hooks-libraries': [
      ...['lease_cmds', 'stat_cmds'].map((hook) => ({ library: join(HOOKS, `libdhcp_${hook}.so`) })),
      ...hooks,
    ],
    authoritative: true,
    'match-client-id': false,
    'host-reservation-identifiers': ['hw-address'],
    'expired-leases-processing': { 'reclaim-timer-wait-time': 1, 'hold-reclaimed-time': 86_400 },
    'valid-lifetime': 3600,
    subnet4: [],
    loggers: [{ name: 'kea-dhcp4', output_options: [{ output: join(folder, 'kea.log') }], severity: 'INFO' }],
    ...databases,
    ...more,
  }
}
