// Which account PostgreSQL runs as: it refuses to run as root, and initdb refuses a uid without a passwd entry.
import fs from 'node:fs'
import os from 'node:os'
import { EmbeddedPostgresError } from './error.ts'

export interface Account {
  name: string
  uid: number
  gid: number
  /** true when this program is root and its children change to the account */
  switched: boolean
}

/** Data that is there already stays with its owner, unless another account is asked for by name (then it is refused). */
export function chooseAccount(wanted: string | undefined, data_dir: string): Account {
  const uid = process.geteuid?.()
  if (uid === undefined) throw new EmbeddedPostgresError('embedded PostgreSQL runs on Linux only')
  return uid === 0 ? accountForRoot(wanted, data_dir) : ownAccount(uid, wanted)
}

/** What `spawn` needs to run a program as the account. */
export function credentials(account: Account): { uid?: number; gid?: number } {
  return account.switched ? { uid: account.uid, gid: account.gid } : {}
}

function ownAccount(uid: number, wanted: string | undefined): Account {
  const name = nameOf(uid)
  if (wanted !== undefined && wanted !== name) {
    throw new EmbeddedPostgresError(`only root can run embedded PostgreSQL as ${wanted}; this is ${name}`)
  }
  return { name, uid, gid: process.getegid?.() ?? uid, switched: false }
}

function nameOf(uid: number): string {
  try {
    return os.userInfo().username
  } catch (cause) {
    throw new EmbeddedPostgresError(`initdb needs a passwd entry for uid ${uid}, and there is none`, { cause })
  }
}

function accountForRoot(wanted: string | undefined, data_dir: string): Account {
  const accounts = readAccounts()
  const owner_uid = fs.lstatSync(data_dir, { throwIfNoEntry: false })?.uid
  if (wanted === undefined && owner_uid !== undefined) {
    const owner = accounts.find((account) => account.uid === owner_uid)
    if (owner !== undefined) return owner
    throw new EmbeddedPostgresError(`${data_dir} belongs to uid ${owner_uid}, which /etc/passwd does not know`)
  }
  const names = wanted === undefined ? ['postgres', 'nobody'] : [wanted]
  for (const name of names) {
    const found = accounts.find((account) => account.name === name)
    if (found !== undefined) return found
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root, and /etc/passwd has no account ${names.join(' or ')}`,
  )
}

function readAccounts(): Account[] {
  return fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid), switched: true }))
    .filter(({ uid, gid }) => Number.isInteger(uid) && Number.isInteger(gid) && uid > 0)
}
