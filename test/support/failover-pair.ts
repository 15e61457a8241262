// Two management nodes in network namespaces, each with the control plane as a program and a real keepalived with our
// configuration and scripts, run as its unit would.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FailoverDocument } from '#src/contract/nodes/failover-document.ts'
import { keepalivedConfig, keepalivedDropIn } from '#src/node/failover/keepalived.ts'
import { reconcileScripts } from '#src/node/failover/reconcile.ts'
import { type Child, type Children, createChildren } from './children.ts'
import { tempFolder } from './temp-folder.ts'
import type { TestDatabase } from './test-database.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../../bin/cli.ts')
const PORT = 8080
const VIP = '10.60.0.100'
const STOP_MS = 15_000

export interface PairNode {
  address: string
  scripts_dir: string
  /** Parent and child of the daemon; undefined while it does not run. */
  daemon: Child | undefined
  start(): Promise<void>
  /** SIGTERM, as the service manager stops it; SIGKILL of both its processes, as a crash. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  startControl(): Promise<void>
  stopControl(): Promise<void>
  holdsVip(): Promise<boolean>
  /** Of its own service by an admin, unless said otherwise. */
  // biome-ignore lint: answers are asserted field by field
  call(method: string, path: string, body?: object, to?: CallTo): Promise<{ status: number; body: any }> // oxlint-disable-line typescript/no-explicit-any -- answers are asserted field by field
}

export interface CallTo {
  address?: string
  token?: string
}

export interface Pair {
  first: PairNode
  second: PairNode
  /** The greatest number of nodes that had the address at one moment, by what the kernels said. */
  mostHolders(): number
  close(): Promise<void>
}

interface Site {
  children: Children
  folder: string
  database: TestDatabase
  namespaces: readonly [string, string]
}

export async function startPair(database: TestDatabase): Promise<Pair> {
  const tag = randomBytes(3).toString('hex')
  const namespaces = [`gph-${tag}a`, `gph-${tag}b`] as const
  const site: Site = { children: createChildren(), folder: tempFolder('gp-failover-'), database, namespaces }
  const monitors: Child[] = []
  const close = async (): Promise<void> => {
    await site.children.close()
    for (const namespace of namespaces) await run('ip', ['netns', 'del', namespace]).catch(() => null)
  }
  try {
    await connect(namespaces)
    for (const namespace of namespaces)
      monitors.push(site.children.start('ip', ['-n', namespace, '-ts', '-o', 'monitor', 'address']))
    const first = await pairNode(site, 0)
    const second = await pairNode(site, 1)
    return {
      first,
      second,
      mostHolders: () =>
        mostHolders(
          monitors.map((monitor) => monitor.output()),
          VIP,
        ),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function connect([one, other]: readonly [string, string]): Promise<void> {
  for (const namespace of [one, other]) {
    await run('ip', ['netns', 'add', namespace])
    await run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up'])
  }
  await run('ip', ['link', 'add', 'eth1', 'netns', one, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', other])
  for (const [at, namespace] of [one, other].entries()) {
    await run('ip', ['-n', namespace, 'address', 'add', `10.60.0.${at + 1}/24`, 'dev', 'eth1'])
    await run('ip', ['-n', namespace, 'link', 'set', 'eth1', 'up'])
  }
}

async function pairNode(site: Site, at: 0 | 1): Promise<PairNode> {
  const namespace = site.namespaces[at]
  const folder = join(site.folder, `node${at + 1}`)
  const data_dir = join(folder, 'data')
  const scripts_dir = join(folder, 'scripts')
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  await reconcileScripts(scripts_dir)
  const address = `10.60.0.${at + 1}`
  const document: FailoverDocument = {
    address, interface: 'eth1', priority: at === 0 ? 130 : 120, peers: [`10.60.0.${2 - at}`], virtual_addresses: [`${VIP}/24`],
    virtual_router_id: 51, check_url: `http://127.0.0.1:${PORT}/readyz`, ha_dir: join(data_dir, 'ha'), script_user: 'root',
  } // biome-ignore format: one document
  const config = join(folder, 'keepalived.conf')
  writeFileSync(config, keepalivedConfig(document, scripts_dir))
  const pid_file = join(folder, 'keepalived.pid')
  const unit = keepalivedDropIn(document, scripts_dir)
  const { start, stop } = unitOf(site, namespace, { unit, config, pid_file, vrrp_pid_file: join(folder, 'vrrp.pid') })
  const control = controlOf(site, namespace, { at, data_dir, address, scripts_dir, pid_file })
  const node: PairNode = {
    address,
    scripts_dir,
    daemon: undefined,
    async start() {
      node.daemon = start()
      await until('the daemon runs', () => readable(pid_file) !== '')
    },
    async stop(signal) {
      const { daemon } = node
      node.daemon = undefined
      if (daemon !== undefined) await stop(daemon, signal)
    },
    startControl: control.start,
    stopControl: control.stop,
    holdsVip: async () =>
      (await run('ip', ['-n', namespace, '-o', 'address', 'show', 'dev', 'eth1'])).stdout.includes(`${VIP}/`),
    call: (method, path, body, { address: to = '127.0.0.1', token = adminTokenOf(data_dir) } = {}) =>
      callIn(namespace, token, method, `http://${to}:${PORT}${path}`, body),
  }
  return node
}

/** What the service manager does with the unit of Debian and our part of it. */
function unitOf(
  { children }: Site,
  namespace: string,
  { unit, config, pid_file, vrrp_pid_file }: { unit: string; config: string; pid_file: string; vrrp_pid_file: string },
) {
  const commandOf = (key: string): string[] =>
    new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1]?.split(' ') ?? assertNever(`the unit has no ${key}`)
  const runInside = (command: readonly string[]): void => {
    const { status, stderr } = spawnSync('ip', ['netns', 'exec', namespace, ...command], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`)
  }
  return {
    start(): Child {
      runInside(commandOf('ExecStartPre'))
      runInside(['keepalived', '-t', '-f', config])
      const daemon = ['keepalived', '-n', '-l', '-D', '-P', '-f', config, '-p', pid_file, '-r', vrrp_pid_file]
      return children.start('ip', ['netns', 'exec', namespace, ...daemon])
    },
    async stop(daemon: Child, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
      const child = Number(readable(vrrp_pid_file))
      // The service manager signals every process of the unit.
      if (signal === 'SIGKILL' && child > 0) process.kill(child, signal)
      await daemon.end(signal)
      await until('its child has ended, too', () => spawnSync('kill', ['-0', String(child)]).status !== 0, STOP_MS)
      runInside(commandOf('ExecStopPost'))
    },
  }
}

export const PAIR_SECRET = 'pair-cluster-secret'

interface ControlOptions {
  at: 0 | 1
  data_dir: string
  address: string
  scripts_dir: string
  pid_file: string
}

function controlOf({ children, database, folder }: Site, namespace: string, options: ControlOptions) {
  const { at, data_dir, address, scripts_dir, pid_file } = options
  const { host, port, user, database: name } = database.connection
  const config_file = join(folder, `control${at + 1}.json`)
  writeFileSync(
    config_file,
    JSON.stringify({
      listen: { host: '0.0.0.0', port: PORT },
      data_dir,
      database: { url: `postgres://${user}@${encodeURIComponent(host)}:${port}/${name}` },
      auth: { cluster_secret: PAIR_SECRET },
      node: {
        settings: {
          net: { node_ip: address },
          failover: { scripts_dir, pid_file, spool_dir: join(data_dir, 'ha/spool') },
        },
      },
      ha: { address, virtual_addresses: [`${VIP}/24`], check_ms: 500 },
    }),
    { mode: 0o600 },
  )
  let child: Child | undefined
  return {
    async start() {
      // All replicas share the file of keys.
      if (at === 1) copyFileSync(join(folder, 'node1/data/keys'), join(data_dir, 'keys'))
      const started = children.start('ip', [
        'netns',
        'exec',
        namespace,
        process.execPath,
        PROGRAM,
        'control',
        '--config',
        config_file,
      ])
      child = started
      await until('the control plane is ready', () => {
        if (started.ended()) throw new Error(`it ended: ${started.errors()}${started.output()}`)
        return started.output().includes('"control plane ready"')
      })
      if (at === 1) copyFileSync(join(folder, 'node1/data/admin-token'), join(data_dir, 'admin-token'))
    },
    async stop() {
      await child?.end('SIGTERM')
    },
  }
}

const adminTokenOf = (data_dir: string): string => readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()

async function callIn(namespace: string, token: string, method: string, url: string, body: object | undefined) {
  const sent = body === undefined ? [] : ['-H', 'content-type: application/json', '--data', JSON.stringify(body)]
  const { stdout } = await run('ip', [
    'netns', 'exec', namespace, 'curl', '-s', '-m', '20', '-X', method, '-H', `authorization: Bearer ${token}`, ...sent,
    '-w', '\n%{http_code}', url,
  ]) // biome-ignore format: one command
  const end = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(end + 1)), body: JSON.parse(stdout.slice(0, end)) }
}

/** Both monitors together, in the order of their times: who has the address after each line. */
export function mostHolders(outputs: readonly string[], address: string): number {
  const changes = outputs.flatMap((output, node) =>
    output
      .split('\n')
      .filter((line) => line.includes(`${address}/`))
      .map((line) => ({ node, at: /^\[([^\]]+)\]/.exec(line)?.[1] ?? '', gone: /\bDeleted\b/.test(line) })),
  )
  const holders = new Set<number>()
  let most = 0
  for (const { node, gone } of changes.toSorted((one, other) => (one.at < other.at ? -1 : 1))) {
    if (gone) holders.delete(node)
    else holders.add(node)
    most = Math.max(most, holders.size)
  }
  return most
}

function readable(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}

function assertNever(message: string): never {
  throw new Error(message)
}

/** Why it cannot run here; false when it can. */
export function pairRefused(): string | false {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces'
  for (const [tool, argument] of [
    ['keepalived', '--version'],
    ['curl', '--version'],
    ['flock', '--version'],
  ] as const) {
    if (spawnSync(tool, [argument], { stdio: 'ignore' }).status !== 0) return `needs ${tool}`
  }
  const name = `gph-${randomBytes(3).toString('hex')}`
  try {
    execFileSync('ip', ['netns', 'add', name], { stdio: 'ignore' })
    execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
    return false
  } catch {
    return 'needs a kernel that lets root make network namespaces'
  }
}
