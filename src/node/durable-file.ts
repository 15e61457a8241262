// Files that are old or new and never half, whatever ends the process or the machine.
import { createHash } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes beside the target, syncs, renames, syncs the folder. */
export async function writeDurably(
  path: string,
  temporary: string,
  text: string | Buffer,
  like: { mode: number; uid: number; gid: number } = { mode: 0o600, uid: -1, gid: -1 },
): Promise<void> {
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(text)
    if (like.uid >= 0) await file.chown(like.uid, like.gid)
    await file.chmod(like.mode & 0o7777)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncPath(dirname(path))
}

export async function syncPath(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export function sha256(text: string | Buffer | null): string {
  return text === null ? '' : createHash('sha256').update(text).digest('hex')
}
