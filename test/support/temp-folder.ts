// Temporary folders of a test file: removed when its process ends, however the tests in it went.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []

export function tempFolder(prefix: string): string {
  if (made.length === 0) process.once('exit', removeAll)
  const folder = mkdtempSync(join(tmpdir(), prefix))
  made.push(folder)
  return folder
}

function removeAll(): void {
  // A program that has just been killed may write its last file meanwhile.
  for (const folder of made) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}
