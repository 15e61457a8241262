// Where the lab keeps its database when nobody names a folder: one folder for each checkout, outside of it.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export interface StateDirInput {
  uid: number
  /** null when the account has no home folder */
  home: string | null
  xdg_state_home: string | undefined
  checkout: string
}

/** Pure apart from the one question it may ask of the machine, which tests answer themselves. */
export function defaultStateDir(
  input: StateDirInput,
  isWritable: (folder: string) => boolean = nearestIsWritable,
): string {
  const name = `lab-${createHash('sha256').update(path.resolve(input.checkout)).digest('hex').slice(0, 8)}`
  if (input.uid === 0) return path.join('/var/lib/groundplane', name)
  for (const base of userStateFolders(input)) {
    if (isWritable(base)) return path.join(base, 'groundplane', name)
  }
  // The user id is part of the name: the temporary folder belongs to everybody.
  return path.join(os.tmpdir(), `groundplane-${input.uid}-${name}`)
}

function userStateFolders(input: StateDirInput): string[] {
  const folders: string[] = []
  // The XDG base directory specification asks to ignore a relative path.
  if (input.xdg_state_home !== undefined && path.isAbsolute(input.xdg_state_home)) folders.push(input.xdg_state_home)
  if (input.home !== null && path.isAbsolute(input.home)) folders.push(path.join(input.home, '.local', 'state'))
  return folders
}

/** A folder that does not exist yet can be made when its nearest existing ancestor is writable. */
function nearestIsWritable(folder: string): boolean {
  try {
    fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK)
    return fs.statSync(folder).isDirectory()
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return missing && folder !== path.dirname(folder) && nearestIsWritable(path.dirname(folder))
  }
}
