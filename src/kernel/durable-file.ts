// Replaces a file so that it is the old one or the new one at every moment, whatever crashes.
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
  { mode, uid, gid }: FileAttributes,
  at: (point: string) => void = () => {},
): Promise<void> {
  const temporary = join(dirname(path), `${TEMPORARY_PREFIX}${randomUUID()}`)
  // Exclusive: nobody can have put a link there.
  const file = await open(temporary, 'wx', 0o600)
  try {
    await fill(file, text, at, { mode, ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) })
    at('temporary written')
    await rename(temporary, path)
  } catch (error) {
    if (!(error instanceof CrashError)) await rm(temporary, { force: true })
    throw error
  }
  at('renamed')
  await syncFolder(dirname(path))
}

/** Thrown by tests in place of the end of the process: nothing is cleaned up after it. */
export class CrashError extends Error {}

async function fill(
  file: FileHandle,
  text: string,
  at: (point: string) => void,
  { mode, uid, gid }: FileAttributes,
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

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
