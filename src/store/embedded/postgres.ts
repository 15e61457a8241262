// Supervises a real PostgreSQL for the lab and the tests: one call starts it, and it never outlives this program.
import path from 'node:path'
import type { Account } from './account.ts'
import { chooseAccount } from './account.ts'
import { DATABASE, DATABASE_USER, ensureCluster } from './cluster.ts'
import { EmbeddedPostgresError } from './error.ts'
import { endLeftovers } from './leftovers.ts'
import { usableSetpriv } from './programs.ts'
import { prepareRuntimeTree } from './runtime-tree.ts'
import type { Exit, ServerProcess } from './server-process.ts'
import { startServer } from './server-process.ts'
import { PORT, makeSocketDir, removeSocketDir } from './socket-dir.ts'
import type { StateFolder } from './state-folder.ts'
import { holdStateFolder } from './state-folder.ts'

export interface EmbeddedOptions {
  /** made when missing; as root it must be reachable by the account of the server */
  state_dir: string
  /** receives the server's own log, line by line */
  log: (line: string) => void
  /** false trades durability for speed; for tests */
  fsync?: boolean
  /** account of the server when this program is root; left out: the owner of the data, `postgres`, or else `nobody` */
  user?: string
  /** program that ties the server to us; where it is missing a pipe watchdog serves */
  setpriv?: string
}

export interface EmbeddedPostgres {
  url: string
  connection: { host: string; port: number; user: string; database: string }
  /** ends sessions and stops; calling it again is harmless */
  stop: () => Promise<void>
  /** settles when the server ended, asked or not */
  exited: Promise<Exit>
}

export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  try {
    const account = chooseAccount(options.user, path.resolve(options.state_dir, 'data'))
    const folder = await holdStateFolder(options.state_dir, account)
    try {
      return await startIn(folder, account, options)
    } catch (error) {
      folder.release()
      throw error
    }
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause
    throw new EmbeddedPostgresError(`embedded PostgreSQL could not start in ${options.state_dir}`, { cause })
  }
}

async function startIn(folder: StateFolder, account: Account, options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const fsync = options.fsync ?? true
  const setpriv = await usableSetpriv(options.setpriv ?? 'setpriv')
  await endLeftovers(path.join(folder.dir, 'data'))
  const runtime = prepareRuntimeTree(folder.dir, account)
  const data_dir = await ensureCluster({ state_dir: folder.dir, runtime, account, fsync, setpriv })
  const socket_dir = makeSocketDir(folder.dir, account)
  const server = await startServer({
    postgres: runtime.postgres,
    data_dir,
    socket_dir,
    account,
    fsync,
    setpriv,
    log: options.log,
  }).catch((error: unknown) => {
    removeSocketDir(socket_dir)
    throw error
  })
  return {
    // The host parameter overrules the host of the URL in every client; the URL needs one to be a URL at all.
    url: `postgres://${DATABASE_USER}@localhost:${PORT}/${DATABASE}?host=${encodeURIComponent(socket_dir)}`,
    connection: { host: socket_dir, port: PORT, user: DATABASE_USER, database: DATABASE },
    exited: server.exited,
    stop: stopOnce(server, folder, socket_dir),
  }
}

function stopOnce(server: ServerProcess, folder: StateFolder, socket_dir: string): () => Promise<void> {
  let stopping: Promise<void> | undefined
  const stop = async () => {
    try {
      await server.stop()
      removeSocketDir(socket_dir)
    } finally {
      folder.release()
    }
  }
  return () => (stopping ??= stop())
}
