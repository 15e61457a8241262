// Makes the database cluster once; a crash in the middle leaves nothing that the next start would take for finished.
import fs from 'node:fs'
import path from 'node:path'
import type { Account } from './account.ts'
import { EmbeddedPostgresError } from './error.ts'
import { endMakers } from './leftovers.ts'
import { runProgram } from './programs.ts'
import type { RuntimeTree } from './runtime-tree.ts'

export const DATABASE = 'groundplane'
export const DATABASE_USER = 'groundplane'

const UNFINISHED = 'data-unfinished-'

export interface Cluster {
  state_dir: string
  runtime: RuntimeTree
  account: Account
  fsync: boolean
  setpriv: string | null
}

/** The data folder appears under its name only when initdb and the creation of the database are both complete. */
export async function ensureCluster(cluster: Cluster): Promise<string> {
  const data_dir = path.join(cluster.state_dir, 'data')
  for (const name of fs.readdirSync(cluster.state_dir)) {
    if (!name.startsWith(UNFINISHED)) continue
    const unfinished = path.join(cluster.state_dir, name)
    await endMakers(unfinished)
    fs.rmSync(unfinished, { recursive: true, maxRetries: 10 })
  }
  if (!fs.existsSync(data_dir)) await createCluster(cluster, data_dir)
  requireOwner(data_dir, cluster.account)
  requireSameMajor(data_dir, cluster.runtime)
  return data_dir
}

async function createCluster(cluster: Cluster, data_dir: string): Promise<void> {
  const { runtime, account, fsync, setpriv } = cluster
  const unfinished = fs.mkdtempSync(path.join(cluster.state_dir, UNFINISHED))
  if (account.switched) fs.lchownSync(unfinished, account.uid, account.gid)
  await runProgram({
    account,
    setpriv,
    argv: [
      runtime.initdb,
      '-D',
      unfinished,
      `--username=${DATABASE_USER}`,
      '--auth=trust',
      '--encoding=UTF8',
      // The package brings an ICU of its own: collations must not depend on it (they would break on an update).
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C.UTF-8',
      ...(fsync ? [] : ['--no-sync']),
    ],
  })
  await runProgram({
    account,
    setpriv,
    argv: [runtime.postgres, '--single', '-D', unfinished, '-c', `fsync=${fsync ? 'on' : 'off'}`, 'postgres'],
    input: `CREATE DATABASE ${DATABASE}\n`,
  })
  fs.renameSync(unfinished, data_dir)
  if (fsync) syncFolder(cluster.state_dir)
}

function syncFolder(dir: string): void {
  const fd = fs.openSync(dir, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

function requireSameMajor(data_dir: string, runtime: RuntimeTree): void {
  const version_file = path.join(data_dir, 'PG_VERSION')
  const major = fs.existsSync(version_file) ? fs.readFileSync(version_file, 'utf8').trim() : 'none'
  if (major !== runtime.major) {
    throw new EmbeddedPostgresError(
      `${data_dir} is of PostgreSQL version ${major}, this program brings ${runtime.major}: move the folder away`,
    )
  }
}

function requireOwner(data_dir: string, account: Account): void {
  const { uid } = fs.lstatSync(data_dir)
  if (uid === account.uid) return
  throw new EmbeddedPostgresError(`${data_dir} belongs to uid ${uid}, the server runs as ${account.name}`)
}
