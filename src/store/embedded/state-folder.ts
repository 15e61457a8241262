// Makes the state folder and holds it: one supervisor at a time, nothing in it planted by another user.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { type Account, chooseAccount } from './account.ts'
import { EmbeddedPostgresError } from './error.ts'
import { TOOL_PATH } from './programs.ts'

export interface StateFolder {
  /** the resolved path: what the kernel shows as the working folder of the server */
  dir: string
  release: () => void
}

/** For who puts something beside the database before it starts: the account of the server must be able to pass. */
export function makeStateFolder(wanted_dir: string): string {
  const dir = path.resolve(wanted_dir)
  return makeFolder(dir, chooseAccount(undefined, path.join(dir, 'data')))
}

export async function holdStateFolder(wanted_dir: string, account: Account): Promise<StateFolder> {
  const dir = makeFolder(path.resolve(wanted_dir), account)
  return { dir, release: await lockFolder(dir) }
}

function makeFolder(wanted_dir: string, account: Account): string {
  makeParents(path.dirname(wanted_dir), account)
  fs.mkdirSync(wanted_dir, { recursive: true, mode: 0o700 })
  const found = fs.lstatSync(wanted_dir)
  if (!found.isDirectory()) throw new EmbeddedPostgresError(`${wanted_dir} is not a folder`)
  if (found.uid !== process.geteuid?.()) {
    throw new EmbeddedPostgresError(`${wanted_dir} belongs to uid ${found.uid}, not to the user of this program`)
  }
  const dir = fs.realpathSync(wanted_dir)
  // Under another account only the passage is granted; what is inside has modes of its own.
  fs.chmodSync(dir, account.switched ? 0o711 : 0o700)
  if (account.switched) requirePassage(dir, account)
  return dir
}

/** Under a strict umask new parents would be closed to the account; those that were there keep their modes. */
function makeParents(parent: string, account: Account): void {
  const first_made = fs.mkdirSync(parent, { recursive: true })
  if (first_made === undefined || !account.switched) return
  for (let folder = parent; folder.startsWith(first_made); folder = path.dirname(folder)) fs.chmodSync(folder, 0o755)
}

function requirePassage(dir: string, account: Account): void {
  for (let folder = dir; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const { mode, uid, gid } = fs.statSync(folder)
    const needed = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if ((mode & needed) === 0) {
      throw new EmbeddedPostgresError(`user ${account.name} cannot pass ${folder}: choose a state folder outside of it`)
    }
  }
}

/**
 * flock(1) locks the open file that it inherits, so the lock is ours after it ended and the kernel frees it when we
 * end, however that happens. A file with a pid in it could not promise that.
 */
async function lockFolder(dir: string): Promise<() => void> {
  const file = path.join(dir, 'supervisor.lock')
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants
  const fd = fs.openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
  try {
    const child = spawn('flock', ['-n', '3'], {
      stdio: ['ignore', 'ignore', 'ignore', fd],
      env: { PATH: TOOL_PATH },
      timeout: 10_000,
    })
    const code = await exitCode(child)
    if (code === 1) {
      const owner = fs.readFileSync(file, 'utf8').trim()
      throw new EmbeddedPostgresError(`another program (pid ${owner || 'unknown'}) runs the database in ${dir}`)
    }
    if (code !== 0) throw new EmbeddedPostgresError(`the lock on ${dir} could not be taken: flock ended with ${code}`)
    fs.ftruncateSync(fd)
    fs.writeSync(fd, `${process.pid}\n`, 0)
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
  return () => fs.closeSync(fd)
}

async function exitCode(child: ReturnType<typeof spawn>): Promise<number | null> {
  try {
    const [code] = await once(child, 'exit')
    return typeof code === 'number' ? code : null
  } catch (cause) {
    throw new EmbeddedPostgresError('the program flock (package util-linux) is needed and does not start', { cause })
  }
}
