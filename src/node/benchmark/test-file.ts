// The private file a directory is benchmarked with: made exclusively, without a name from the first moment on.
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'

const PREFIX = '.groundplane-benchmark-'

/**
 * The name lives only between two system calls; afterwards the descriptor is all there is, so the kernel frees the
 * space as soon as tool and agent are gone, however they went.
 */
export async function openTestFile(folder: string): Promise<FileHandle> {
  const path = join(folder, `${PREFIX}${process.pid}-${await startTime(process.pid)}-${randomBytes(8).toString('hex')}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

/** Removes files whose maker died between making and unlinking; the answer names them. */
export async function removeLeftovers(folders: readonly string[]): Promise<string[]> {
  const removed: string[] = []
  for (const folder of folders) {
    for (const name of await readdir(folder).catch(() => [])) {
      const owner = new RegExp(`^${PREFIX.replaceAll('.', '\\.')}(\\d+)-(\\d+)-[0-9a-f]{16}$`).exec(name)
      if (owner === null || (await startTime(Number(owner[1]))) === owner[2]) continue
      await unlink(join(folder, name)).catch(() => {})
      removed.push(join(folder, name))
    }
  }
  return removed
}

/** With the process number it names one process for ever: a later one of the same number has another time. */
async function startTime(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
}
