// A one-node storage cluster in a private folder on loopback, for tests that need the real tools.
import { type ExecFileOptions, execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from './until.ts'
import { tempFolder } from './temp-folder.ts'

const exec = promisify(execFile)

export interface CephCluster {
  /** Private folder of the cluster. */
  dir: string
  /** Process of one of its daemons. */
  pid(daemon: 'mon' | 'mgr' | 'osd'): Promise<number>
  /** Arguments that point any of the tools at this cluster. */
  args: string[]
  run(tool: string, ...args: string[]): Promise<string>
  stop(): Promise<void>
}

/** Why no cluster can be made here, or null when one can. */
export function cephRefused(): string | null {
  if (process.getuid?.() !== 0) return 'needs root'
  try {
    for (const tool of ['ceph-mon', 'ceph-osd', 'ceph-mgr', 'rados', 'rbd'])
      execFileSync(tool, ['--version'], { stdio: 'ignore' })
    return null
  } catch {
    return 'needs ceph-mon, ceph-osd, ceph-mgr and ceph-common'
  }
}

/** Keeps the data in memory: fast, but on no disk. */
const MEMORY = 'osd_objectstore = memstore\nmemstore_device_bytes = 4294967296\n'
/** Keeps the data in a sparse file: the storage daemon then names the disk of that file as its device. */
export const ON_DISK =
  'osd_objectstore = bluestore\nbluestore_block_size = 4294967296\nbluestore_block_create = true\n[mon]\nauth_allow_insecure_global_id_reclaim = false\n'

export async function startCeph(pool: string, osd_settings: string = MEMORY): Promise<CephCluster> {
  const dir = tempFolder('gp-ceph-')
  const [v2, v1] = [await freePort(), await freePort()]
  const fsid = randomUUID()
  const conf = join(dir, 'ceph.conf')
  const address = `[v2:127.0.0.1:${v2},v1:127.0.0.1:${v1}]`
  await writeFile(conf, configuration(dir, fsid, address) + osd_settings)
  for (const name of ['mon', 'mgr', 'osd']) await mkdir(join(dir, name))
  const args = ['--conf', conf]
  const run = async (tool: string, ...rest: string[]): Promise<string> => {
    const options: ExecFileOptions = { timeout: 60_000 }
    return String((await exec(tool, [...rest, ...args], options)).stdout)
  }
  const pid: CephCluster['pid'] = async (daemon) => Number(await readFile(join(dir, `${daemon}.pid`), 'utf8'))
  const cluster: CephCluster = { dir, pid, args, run, stop: () => stop(dir) }
  try {
    await startDaemons({ dir, fsid, address, run })
    await until('an OSD is up', async () => (await run('ceph', 'osd', 'stat')).includes('1 up'), 60_000)
    await run('ceph', 'osd', 'pool', 'create', pool, '8')
    await run('rbd', 'pool', 'init', pool)
    await until(
      'the cluster has figures of the pool',
      async () => (await run('ceph', 'df')).includes(`${pool} `),
      60_000,
    )
    return cluster
  } catch (error) {
    await stop(dir)
    throw error
  }
}

interface Parts {
  dir: string
  fsid: string
  address: string
  run: CephCluster['run']
}

async function startDaemons({ dir, fsid, address, run }: Parts): Promise<void> {
  const keyring = join(dir, 'keyring')
  const caps = (...names: string[]): string[] => names.flatMap((name) => ['--cap', name, 'allow *'])
  await exec('ceph-authtool', [keyring, '--create-keyring', '--gen-key', '-n', 'mon.', ...caps('mon')])
  await exec('ceph-authtool', [keyring, '--gen-key', '-n', 'client.admin', ...caps('mon', 'osd', 'mgr')])
  await exec('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', address, join(dir, 'monmap')])
  await run('ceph-mon', '-i', 'a', '--mkfs', '--monmap', join(dir, 'monmap'), '--keyring', keyring)
  await run('ceph-mon', '-i', 'a')
  const key = await run('ceph', 'auth', 'get-or-create', 'mgr.x', 'mon', 'allow profile mgr', 'osd', 'allow *')
  await writeFile(join(dir, 'mgr', 'keyring'), key)
  await run('ceph-mgr', '-i', 'x')
  const osd = randomUUID()
  const secret = (await exec('ceph-authtool', ['--gen-print-key'])).stdout.trim()
  await writeFile(join(dir, 'secret.json'), JSON.stringify({ cephx_secret: secret }))
  await run('ceph', 'osd', 'new', osd, '0', '-i', join(dir, 'secret.json'))
  await writeFile(join(dir, 'osd', 'keyring'), `[osd.0]\n\tkey = ${secret}\n`)
  await run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osd, '--no-mon-config')
  await run('ceph-osd', '-i', '0')
}

function configuration(dir: string, fsid: string, address: string): string {
  return `[global]
fsid = ${fsid}
mon_host = ${address}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
keyring = ${dir}/keyring
run_dir = ${dir}
log_file = ${dir}/$name.log
admin_socket = ${dir}/$name.asok
pid_file = ${dir}/$type.pid
osd_pool_default_size = 1
mon_allow_pool_size_one = true
osd_crush_chooseleaf_type = 0
mon_warn_on_pool_no_redundancy = false
mon_data_avail_warn = 5
mon_data_avail_crit = 1
[mon]
mon_data = ${dir}/mon/data
[mgr]
mgr_data = ${dir}/mgr
keyring = ${dir}/mgr/keyring
[osd]
osd_data = ${dir}/osd
keyring = ${dir}/osd/keyring
`
}

async function stop(dir: string): Promise<void> {
  for (const daemon of ['osd', 'mgr', 'mon']) {
    const pid = Number(await readFile(join(dir, `${daemon}.pid`), 'utf8').catch(() => ''))
    if (pid > 1) await end(pid)
  }
  await rm(dir, { recursive: true, force: true })
}

async function end(pid: number): Promise<void> {
  const signal = (name: 'SIGTERM' | 'SIGKILL' | 0): boolean => {
    try {
      return process.kill(pid, name)
    } catch {
      return false
    }
  }
  signal('SIGTERM')
  await until(`process ${pid} has ended`, () => !signal(0), 15_000).catch(() => signal('SIGKILL'))
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}
