// A storage cluster in a private folder on loopback, for tests that need the real tools.
import { type ExecFileOptions, execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freeTcpPort } from './free-port.ts'
import { until } from './until.ts'
import { tempFolder } from './temp-folder.ts'

const exec = promisify(execFile)

export interface CephCluster {
  /** Private folder of the cluster. */
  dir: string
  /** Process of one of its daemons. */
  pid(daemon: 'mon.a' | 'mgr.x' | `osd.${number}`): Promise<number>
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
export const ON_DISK = 'osd_objectstore = bluestore\nbluestore_block_size = 4294967296\nbluestore_block_create = true\n'

export interface CephOptions {
  osd_settings?: string
  /** Names of the machines that the storage daemons are on, one each; left out: one daemon on this machine. */
  hosts?: readonly string[]
  /** Of each piece of data, each on another of these machines. */
  copies?: number
}

export async function startCeph(
  pool: string,
  { osd_settings = MEMORY, hosts = [''], copies = 1 }: CephOptions = {},
): Promise<CephCluster> {
  const dir = tempFolder('gp-ceph-')
  const [v2, v1] = [await freeTcpPort(), await freeTcpPort()]
  const fsid = randomUUID()
  const conf = join(dir, 'ceph.conf')
  const address = `[v2:127.0.0.1:${v2},v1:127.0.0.1:${v1}]`
  const one_each = hosts.length > 1 ? 'osd_crush_chooseleaf_type = 1' : 'osd_crush_chooseleaf_type = 0'
  await writeFile(
    conf,
    `${configuration(dir, fsid, address)}[global]\nosd_pool_default_size = ${copies}\n${one_each}\n[osd]\n${osd_settings}`,
  )
  for (const name of ['mon', 'mgr', ...hosts.map((_host, at) => `osd.${at}`)]) await mkdir(join(dir, name))
  const args = ['--conf', conf]
  const run = async (tool: string, ...rest: string[]): Promise<string> => {
    const options: ExecFileOptions = { timeout: 120_000 }
    return String((await exec(tool, [...rest, ...args], options)).stdout)
  }
  const pid: CephCluster['pid'] = async (daemon) => Number(await readFile(join(dir, `${daemon}.pid`), 'utf8'))
  const cluster: CephCluster = { dir, pid, args, run, stop: () => stop(dir) }
  try {
    await startDaemons({ dir, fsid, address, run })
    for (const [id, host] of hosts.entries()) await startStorage({ dir, run }, id, host)
    const all_up = new RegExp(`\\b${hosts.length} up`)
    await until('each OSD is up', async () => all_up.test(await run('ceph', 'osd', 'stat')))
    await run('ceph', 'osd', 'pool', 'create', pool, '8')
    await run('rbd', 'pool', 'init', pool)
    await until('the cluster has figures of the pool', async () => (await run('ceph', 'df')).includes(`${pool} `))
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
}

/** A daemon tells the name of its machine: one with a name of its own is started where that is the machine's. */
async function startStorage({ dir, run }: Pick<Parts, 'dir' | 'run'>, id: number, host: string): Promise<void> {
  const uuid = randomUUID()
  const secret = (await exec('ceph-authtool', ['--gen-print-key'])).stdout.trim()
  await writeFile(join(dir, 'secret.json'), JSON.stringify({ cephx_secret: secret }))
  await run('ceph', 'osd', 'new', uuid, String(id), '-i', join(dir, 'secret.json'))
  await writeFile(join(dir, `osd.${id}`, 'keyring'), `[osd.${id}]\n\tkey = ${secret}\n`)
  await run('ceph-osd', '-i', String(id), '--mkfs', '--osd-uuid', uuid, '--no-mon-config')
  if (host === '') await run('ceph-osd', '-i', String(id))
  else await run('unshare', '--uts', 'sh', '-c', 'hostname "$0"; exec ceph-osd "$@"', host, '-i', String(id))
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
pid_file = ${dir}/$name.pid
mon_allow_pool_size_one = true
osd_pool_default_pg_autoscale_mode = off
mon_warn_on_pool_no_redundancy = false
mon_data_avail_warn = 5
mon_data_avail_crit = 1
[mon]
mon_data = ${dir}/mon/data
auth_allow_insecure_global_id_reclaim = false
[mgr]
mgr_data = ${dir}/mgr
keyring = ${dir}/mgr/keyring
[osd]
osd_data = ${dir}/osd.$id
keyring = ${dir}/osd.$id/keyring
`
}

async function stop(dir: string): Promise<void> {
  const found = await readdir(dir).catch(() => [])
  // The monitor last: the others tell it that they end.
  const files = ['osd.', 'mgr.', 'mon.'].flatMap((kind) =>
    found.filter((name) => name.startsWith(kind) && name.endsWith('.pid')),
  )
  for (const file of files) {
    const pid = Number(await readFile(join(dir, file), 'utf8').catch(() => ''))
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
