// Files that are the old one or the new one at every moment, and never half, whatever ends the process or the machine.
import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface FileAttributes {
  mode: number
  /** Of the owner; left out: this process. */
  uid?: number
  gid?: number
}

/** What a crash leaves beside the target has this beginning and may be removed. */
export const TEMPORARY_PREFIX = '.groundplane-'

/** Writes beside the target, syncs, renames over it, syncs the folder. `at` names where a test crashes. */
export async function replaceFile(
  path: string,
  text: string,
  attributes: FileAttributes,
  at: (point: string) => void = () => {},
): Promise<void> {
  const temporary = join(dirname(path), `${TEMPORARY_PREFIX}${randomUUID()}`)
  // Exclusive: nobody can have put a link there.
  const file = await open(temporary, 'wx', 0o600)
  try {
    await fill(file, text, attributes, at)
    at('temporary written')
    await rename(temporary, path)
  } catch (error) {
    if (!(error instanceof CrashError)) await rm(temporary, { force: true })
    throw error
  }
  at('renamed')
  await syncPath(dirname(path))
}

/** The same beside a name of the caller's, which whoever cleans up after a crash knows, too. A uid below 0 leaves the owner. */
export async function writeDurably(
  path: string,
  temporary: string,
  text: string | Buffer,
  { mode, uid, gid }: { mode: number; uid: number; gid: number } = { mode: 0o600, uid: -1, gid: -1 },
): Promise<void> {
  const file = await open(temporary, 'w', 0o600)
  await fill(file, text, { mode: mode & 0o7777, ...(uid < 0 ? {} : { uid, gid }) })
  await rename(temporary, path)
  await syncPath(dirname(path))
}

/** Thrown by tests in place of the end of the process: nothing is cleaned up after it. */
export class CrashError extends Error {}

async function fill(
  file: FileHandle,
  text: string | Buffer,
  { mode, uid, gid }: FileAttributes,
  at: (point: string) => void = () => {},
): Promise<void> {
  try {
    at('temporary created')
    await file.writeFile(text)
    if (uid !== undefined && gid !== undefined) await file.chown(uid, gid)
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

export async function syncPath(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
