// A PostgreSQL primary and its standby on two nodes in network namespaces with two networks between them, and a witness.
import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { type Host, linuxHost } from '#src/kernel/host.ts'
import { type Child, createChildren } from './children.ts'
import { tempFolder } from './temp-folder.ts'
import { onDatabase } from './test-database.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const PROGRAMS = '/usr/lib/postgresql/15/bin'
const PORT = 5432
export const WITNESS = '10.61.0.254'

export interface DatabaseNode {
  namespace: string
  /** One in each network. */
  addresses: readonly [string, string]
  /** Also the folder of its socket. */
  folder: string
  connection: pg.ClientConfig
  /** Commands run inside the node. */
  host: Host
  start(): Promise<void>
  /** SIGKILL of every process of it: no goodbye to anybody. */
  kill(): Promise<void>
  ip(...args: string[]): Promise<string>
}

export interface StandbyPair {
  primary: DatabaseNode
  standby: DatabaseNode
  /** Copies the primary and streams from it through this slot. */
  join(slot: string): Promise<void>
  /** Switches the witness on and off. */
  witness(state: 'up' | 'down'): Promise<void>
  close(): Promise<void>
}

export function standbyPairRefused(): string | false {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces'
  if (!existsSync(join(PROGRAMS, 'initdb'))) return `no PostgreSQL of the distribution in ${PROGRAMS}`
  return accountOf() === undefined ? 'there is no account postgres to run it as' : false
}

export async function startStandbyPair(): Promise<StandbyPair> {
  const tag = randomBytes(3).toString('hex')
  const [a, b, middle] = [`gpp-${tag}a`, `gpp-${tag}b`, `gpp-${tag}w`] as const
  const children = createChildren()
  const folder = tempFolder('gp-standby-')
  const close = async (): Promise<void> => {
    for (const node of nodes) await node.kill()
    await children.close()
    for (const namespace of [a, b, middle]) await run('ip', ['netns', 'del', namespace]).catch(() => null)
  }
  const nodes = [databaseNode(a, 1, folder, children), databaseNode(b, 2, folder, children)] as const
  const [primary, standby] = nodes
  try {
    await connect(a, b, middle)
    await initialise(primary)
    await primary.start()
    return {
      primary, standby,
      join: (slot) => copy(primary, standby, slot),
      witness: async (state) => void (await run('ip', ['-n', middle, 'link', 'set', 'sw0', state])),
      close,
    } // biome-ignore format: short names
  } catch (error) {
    await close()
    throw error
  }
}

/** The first network by way of the witness's bridge, the second one directly. */
async function connect(a: string, b: string, middle: string): Promise<void> {
  for (const namespace of [a, b, middle]) {
    await run('ip', ['netns', 'add', namespace])
    await run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up'])
  }
  const ip = (namespace: string, ...args: string[]) => run('ip', ['-n', namespace, ...args])
  await ip(middle, 'link', 'add', 'sw0', 'type', 'bridge')
  await ip(middle, 'address', 'add', `${WITNESS}/24`, 'dev', 'sw0')
  await ip(middle, 'link', 'set', 'sw0', 'up')
  await ip(a, 'link', 'add', 'eth2', 'type', 'veth', 'peer', 'name', 'eth2', 'netns', b)
  for (const [namespace, number] of [
    [a, 1],
    [b, 2],
  ] as const) {
    await ip(middle, 'link', 'add', `p${number}`, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', namespace)
    await ip(middle, 'link', 'set', `p${number}`, 'master', 'sw0', 'up')
    await ip(namespace, 'address', 'add', `10.61.0.${number}/24`, 'dev', 'eth1')
    await ip(namespace, 'address', 'add', `10.62.0.${number}/24`, 'dev', 'eth2')
    for (const device of ['eth1', 'eth2']) await ip(namespace, 'link', 'set', device, 'up')
  }
}

function databaseNode(
  namespace: string,
  number: 1 | 2,
  parent: string,
  children: ReturnType<typeof createChildren>,
): DatabaseNode {
  const folder = join(parent, `node${number}`)
  mkdirSync(folder, { mode: 0o755 })
  const { uid, gid } = accountOf() ?? { uid: 0, gid: 0 }
  chownSync(parent, uid, gid)
  chownSync(folder, uid, gid)
  const here = linuxHost()
  let server: Child | undefined
  const node: DatabaseNode = {
    namespace,
    addresses: [`10.61.0.${number}`, `10.62.0.${number}`],
    folder,
    connection: { host: folder, port: PORT, user: 'postgres', database: 'postgres' },
    host: {
      ...here,
      run: (tool, args, options) => here.run('ip', ['netns', 'exec', namespace, tool, ...args], options),
    },
    async start() {
      server = children.start('ip', ['netns', 'exec', namespace, ...asAccount('postgres', '-D', join(folder, 'data'))])
      const started = server
      await until('the database answers', async () => {
        if (started.ended()) throw new Error(`it ended: ${started.errors()}`)
        return onDatabase(node.connection, (client) => client.query('select 1'))
      })
    },
    async kill() {
      if (server === undefined || server.ended()) return
      // Its processes first: they would notice the end of their parent and say goodbye.
      const { stdout } = await run('ip', ['netns', 'pids', namespace])
      for (const pid of stdout.split('\n').filter(Boolean)) spawnSync('kill', ['-KILL', pid])
      await server.end('SIGKILL')
    },
    ip: async (...args) => (await run('ip', ['-n', namespace, ...args])).stdout,
  }
  return node
}

async function initialise({ folder }: DatabaseNode): Promise<void> {
  const data_dir = join(folder, 'data')
  await asPostgres(
    'initdb',
    '-D',
    data_dir,
    '-U',
    'postgres',
    '-A',
    'trust',
    '--no-sync',
    '--locale=C',
    '--encoding=UTF8',
  )
  appendFileSync(join(data_dir, 'postgresql.conf'), `${settingsOf(folder)}\n`)
  appendFileSync(join(data_dir, 'pg_hba.conf'), 'host all,replication all 10.61.0.0/24 trust\n')
}

function settingsOf(folder: string): string {
  return [
    `unix_socket_directories = '${folder}'`, "listen_addresses = '*'", 'wal_level = replica', 'fsync = off', 'max_connections = 20',
    'shared_buffers = 16MB', 'min_wal_size = 32MB', 'max_wal_size = 64MB', 'wal_retrieve_retry_interval = 500ms',
  ].join('\n') // biome-ignore format: one setting a text
}

async function copy(primary: DatabaseNode, standby: DatabaseNode, slot: string): Promise<void> {
  const data_dir = join(standby.folder, 'data')
  rmSync(data_dir, { recursive: true, force: true })
  const source = `host=${primary.addresses[0]} port=${PORT} user=postgres application_name=${slot}`
  // Over its socket, because only the nodes have the network; the standby itself goes by the address.
  await asPostgres(
    'pg_basebackup',
    '-d',
    `host=${primary.folder} port=${PORT} user=postgres`,
    '-D',
    data_dir,
    '-S',
    slot,
    '-R',
    '-X',
    'stream',
    '-c',
    'fast',
  )
  appendFileSync(
    join(data_dir, 'postgresql.auto.conf'),
    `unix_socket_directories = '${standby.folder}'\nprimary_conninfo = '${source}'\nprimary_slot_name = '${slot}'\n`,
  )
  await standby.start()
}

function asAccount(program: string, ...args: string[]): string[] {
  return [
    'setpriv',
    '--reuid',
    'postgres',
    '--regid',
    'postgres',
    '--init-groups',
    '--',
    join(PROGRAMS, program),
    ...args,
  ]
}

async function asPostgres(program: string, ...args: string[]): Promise<void> {
  const [tool = '', ...rest] = asAccount(program, ...args)
  await run(tool, rest, { cwd: '/', timeout: 60_000 })
}

function accountOf(): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}
