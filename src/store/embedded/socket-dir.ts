// A private folder with a short path for the server's socket: the kernel allows 107 bytes, a state path may have more.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Account } from './account.ts'
import { EmbeddedPostgresError, errorCode } from './error.ts'

export const PORT = 5432

const MAX_SOCKET_PATH_BYTES = 106

export function makeSocketDir(state_dir: string, account: Account): string {
  const name = `groundplane-${createHash('sha256').update(state_dir).digest('hex').slice(0, 16)}`
  for (const base of bases(account)) {
    const dir = claim(path.join(base, name), account) ?? claimFresh(base, account)
    if (dir !== null && fits(dir)) return dir
  }
  throw new EmbeddedPostgresError('no folder for the socket of the server: neither the runtime folder nor /tmp serves')
}

export function removeSocketDir(dir: string): void {
  fs.rmSync(dir, { recursive: true, force: true })
}

function fits(dir: string): boolean {
  return Buffer.byteLength(path.join(dir, `.s.PGSQL.${PORT}`)) <= MAX_SOCKET_PATH_BYTES
}

function bases(account: Account): string[] {
  return account.switched ? ['/run', '/tmp'] : [`/run/user/${account.uid}`, '/tmp']
}

/**
 * The name can be guessed, and in /tmp anybody could have made it first. So an existing one is used only when it is a
 * real folder of the right owner; lstat and lchown do not follow a planted link.
 */
function claim(dir: string, account: Account): string | null {
  try {
    fs.mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') return null
    const found = fs.lstatSync(dir)
    const owned = found.uid === account.uid || found.uid === process.geteuid?.()
    if (!found.isDirectory() || !owned || (found.mode & 0o077) !== 0) return null
  }
  return own(dir, account)
}

function claimFresh(base: string, account: Account): string | null {
  try {
    return own(fs.mkdtempSync(path.join(base, 'groundplane-')), account)
  } catch {
    return null
  }
}

function own(dir: string, account: Account): string {
  if (account.switched) fs.lchownSync(dir, account.uid, account.gid)
  // What a killed server left: the socket and its lock name a pid that may belong to another program by now.
  for (const name of fs.readdirSync(dir)) {
    if (name.startsWith('.s.PGSQL.')) fs.rmSync(path.join(dir, name))
  }
  return dir
}
