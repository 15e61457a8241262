// A management node in a network namespace with its agent's areas for database and failover: real PostgreSQL, real keepalived, and
// a service manager that does with their units what that of Debian does.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type Host, linuxHost, type RunResult } from '#src/kernel/host.ts'
import { createLog } from '#src/kernel/log.ts'
import { createDatabaseArea } from '#src/node/desired/database.ts'
import { createFailoverArea } from '#src/node/desired/failover.ts'
import { createDesired } from '#src/node/desired/index.ts'
import { createFailover } from '#src/node/failover/index.ts'
import { checkNodeSettings } from '#src/node/config.ts'
import { type Child, createChildren } from './children.ts'
import type { DatabaseNode } from './standby-pair.ts'
import { until } from './until.ts'

const SCRIPTS = '/usr/local/lib/groundplane/failover'
const CLUSTER = 'var/lib/postgresql/15/main'
const API_PORT = 8080
const PID = 'keepalived.pid'
const VRRP_PID = 'vrrp.pid'
const CTX = { headers: {} } as RequestContext

export interface ManagementNode {
  address: string
  /** Folder of the server, which is its socket's, too. */
  data_dir: string
  /** What its agent answers to an operation. */
  call(operation: string, input: object): unknown
  /** Addresses on its devices, as the kernel tells. */
  addresses(): Promise<string>
  ip(...args: string[]): Promise<string>
  monitor: Child
  close(): Promise<void>
}

/** `made`: its server was made, and started, by hand. */
export async function startManagementNode(site: DatabaseNode, root: string, made: boolean): Promise<ManagementNode> {
  const children = createChildren()
  const data_dir = made ? join(site.folder, 'data') : join(root, CLUSTER)
  for (const folder of [
    'etc/keepalived',
    'etc/postgresql/15/main',
    'var/lib/postgresql/15',
    'state',
    'ha/spool',
    'etc/systemd/system',
  ])
    mkdirSync(join(root, folder), { recursive: true })
  chmodSync(root, 0o755)
  if (made) symlinkSync(data_dir, join(root, CLUSTER))
  const units = serviceManager({ site, root, data_dir, made, children })
  const there = linuxHost({ root })
  const inside: Host = {
    ...there,
    run: async (tool, args, options) => {
      if (tool === 'systemctl') return units(args)
      if (tool === 'dpkg-query') return ended(args.slice(args.indexOf('--') + 1).map((name) => `installed ${name}\n`).join('')) // biome-ignore format: one answer
      if (tool === 'keepalived')
        return site.host.run(tool, ['-t', '-f', runtimeFile(root, 'etc/keepalived/keepalived.conf')], options)
      return site.host.run(tool, args, options)
    },
  }
  const place = { host: inside, root }
  const areas = {
    database: createDatabaseArea(place, join(root, 'state')),
    failover: createFailoverArea(place, join(root, 'state')),
  }
  const log = createLog({ level: 'silent' })
  const desired = createDesired({ areas: areas as never, now: () => Date.now(), log })
  const checked = checkNodeSettings({ root, failover: { scripts_dir: join(root, SCRIPTS), pid_file: join(root, PID) } })
  if (!('settings' in checked)) throw new Error(checked.problems.join())
  const failover = createFailover({ host: inside, settings: checked.settings, log })
  const handlers: Record<string, unknown> = { ...desired.handlers, ...failover.handlers }
  const { namespace } = site
  children.start('ip', ['netns', 'exec', namespace, process.execPath, '-e', `require('http').createServer((_q, s) => s.end('{}')).listen(${API_PORT}, '127.0.0.1')`]) // biome-ignore format: one command
  const monitor = children.start('ip', ['-n', namespace, '-ts', '-o', 'monitor', 'address'])
  return {
    address: site.addresses[0],
    data_dir,
    call: (operation, input) => (handlers[operation] as (input: object, ctx: RequestContext) => unknown)(input, CTX),
    addresses: () => site.ip('-o', 'address', 'show', 'dev', 'eth1'),
    ip: (...args) => site.ip(...args),
    monitor,
    async close() {
      await units(['stop', 'keepalived'])
      await units(['stop', 'postgresql@15-main'])
      await desired.stop()
      await children.close()
    },
  }
}

interface Units {
  site: DatabaseNode
  root: string
  data_dir: string
  made: boolean
  children: ReturnType<typeof createChildren>
}

function serviceManager({ site, root, data_dir, made, children }: Units) {
  let daemon: Child | undefined
  const inside = (...command: string[]) => quietly('ip', 'netns', 'exec', site.namespace, ...command)
  const control = (...args: string[]) =>
    inside('runuser', '-u', 'postgres', '--', '/usr/lib/postgresql/15/bin/pg_ctl', '-s', '-D', data_dir, ...args)
  // The standby has the settings of its primary, whose socket is elsewhere.
  const options = made ? [] : ['-o', `-c unix_socket_directories=${data_dir}`]
  const database = async (verb: string): Promise<RunResult> => {
    if (verb === 'is-active') return (await control('status')) === 0 ? ended('active\n') : ended('inactive\n', 3)
    if (verb === 'stop') return ended('', existsSync(join(data_dir, 'postmaster.pid')) ? await control('-m', 'fast', '-w', 'stop') : 0) // biome-ignore format: one call
    if ((await control('status')) === 0) return ended('')
    return ended('', await control('-w', '-l', join(data_dir, 'server.log'), ...options, 'start'))
  }
  const unit = (key: string): string[] => {
    const text = readFileSync(runtimeFile(root, 'etc/systemd/system/keepalived.service.d/groundplane.conf'), 'utf8')
    return new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1]?.split(' ') ?? []
  }
  const stop = async (): Promise<void> => {
    const running = daemon
    daemon = undefined
    if (running === undefined) return
    await running.end('SIGTERM')
    await inside(...unit('ExecStopPost'))
  }
  const failover = async (verb: string): Promise<RunResult> => {
    if (verb === 'is-active') return daemon?.ended() === false ? ended('active\n') : ended('inactive\n', 3)
    if (verb !== 'reload') await stop()
    if (verb === 'stop') return ended('')
    const config = runtimeFile(root, 'etc/keepalived/keepalived.conf')
    if (verb === 'reload') return ended('', await quietly('kill', '-HUP', readFileSync(join(root, PID), 'utf8').trim()))
    await inside(...unit('ExecStartPre'))
    daemon = children.start('ip', ['netns', 'exec', site.namespace, 'keepalived', '-n', '-l', '-D', '-P', '-f', config, '-p', join(root, PID), '-r', join(root, VRRP_PID)]) // biome-ignore format: one command
    const written = (file: string): boolean =>
      existsSync(join(root, file)) && readFileSync(join(root, file), 'utf8') !== ''
    await until('the daemon runs', () => written(PID) && written(VRRP_PID))
    return ended('')
  }
  return async ([verb = '', unit_name = '']: readonly string[]): Promise<RunResult> => {
    if (verb === 'is-enabled') return ended('enabled\n')
    if (['enable', 'disable', 'daemon-reload'].includes(verb)) return ended('')
    return unit_name === 'keepalived' ? failover(verb) : database(verb)
  }
}

/** The same file, where paths and the account of a whole machine are those of this node. */
function runtimeFile(root: string, path: string): string {
  const file = join(root, `${path}.runtime`)
  const text = readFileSync(join(root, path), 'utf8')
  writeFileSync(
    file,
    text.replaceAll(SCRIPTS, join(root, SCRIPTS)).replace('script_user groundplane', 'script_user root'),
  )
  return file
}

/** Output goes nowhere: a server that is started would keep it open. */
async function quietly(program: string, ...args: string[]): Promise<number> {
  const [code] = (await once(spawn(program, args, { stdio: 'ignore', cwd: '/' }), 'exit')) as [number | null]
  return code ?? 1
}

function ended(stdout: string, exit_code = 0): RunResult {
  return { outcome: 'exited', exit_code, stdout, stderr: '' }
}
