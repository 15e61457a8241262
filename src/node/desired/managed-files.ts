// Files that an area of desired state makes or changes: compared, written whole or not at all, and restored as they were.
import { lstat, mkdir, readFile, readlink, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Static, Type } from 'typebox'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { writeDurably } from '#src/kernel/durable-file.ts'
import { linesOfKeys, restoreKeys, setKeys, withBlock } from './file-text.ts'

interface Common {
  path: string
}

/** What there is of it before the first change decides whether it may be changed at all. */
export type ManagedFile = Common &
  (
    | {
        /** Ours alone. One of others is replaced (and restored on removal) where it says so, else it is a conflict. */
        kind: 'whole'
        text: string
        mode?: number
        replaces?: boolean
      }
    /** Lines of ours at the end of a file of others. */
    | { kind: 'block'; lines: readonly string[] }
    /** Single settings in a file of others. */
    | { kind: 'keys'; values: Readonly<Record<string, string>>; separator: string }
    | { kind: 'link'; target: string }
    /** A value of the running kernel, below /proc/sys. */
    | { kind: 'kernel'; text: string }
  )

/** How it was before the area changed it. */
export const Original = Type.Object({
  path: Type.String(),
  kind: Type.Enum(['whole', 'block', 'keys', 'link', 'kernel']),
  /** Text, link target or kernel value; null: there was nothing. */
  text: Type.Union([Type.String(), Type.Null()]),
  mode: Type.Integer(),
  /** Of `keys`: each key of ours with its line before; null: it was not set. */
  keys: Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()])),
})
export type Original = Static<typeof Original>

export interface Place {
  host: Host
  /** Where /etc stands. */
  root: string
}

/** Null: as it should be. Else one sentence; never with contents, which may be secret. */
export async function differenceOf(place: Place, file: ManagedFile): Promise<string | null> {
  const now = await readNow(place, file)
  if (now === null) return `${file.path} is missing`
  if (file.kind === 'kernel')
    return sameWords(now, file.text) ? null : `${file.path} is ${now.trim()}, not ${file.text}`
  if (now !== wantedText(file, now)) return `${file.path} differs`
  if (file.kind !== 'whole') return null
  const { mode } = await stat(join(place.root, file.path))
  const wanted = file.mode ?? 0o644
  return (mode & 0o7777) === wanted ? null : `${file.path} has mode ${octal(mode & 0o7777)}, not ${octal(wanted)}`
}

/** Throws DESIRED_CONFLICT when it is of others and may not be replaced. */
export async function originalOf(place: Place, file: ManagedFile, known: Original | undefined): Promise<Original> {
  const now = await readNow(place, file)
  if (known !== undefined) {
    const added = file.kind === 'keys' ? linesOfKeys(now ?? '', Object.keys(file.values)) : {}
    return { ...known, keys: { ...added, ...known.keys } }
  }
  if (file.kind === 'whole' && now !== null && now !== file.text && file.replaces !== true) {
    throw new ApiError('DESIRED_CONFLICT', `${file.path} was made by others; move it away first.`)
  }
  const mode = await stat(join(place.root, file.path)).then(
    (found) => found.mode & 0o7777,
    () => 0o644,
  )
  const keys = file.kind === 'keys' ? linesOfKeys(now ?? '', Object.keys(file.values)) : {}
  return { path: file.path, kind: file.kind, text: now, mode, keys }
}

export async function writeManaged(place: Place, file: ManagedFile): Promise<void> {
  if (file.kind === 'kernel') return setKernel(place.host, file.path, file.text)
  const at = join(place.root, file.path)
  await mkdir(dirname(at), { recursive: true })
  if (file.kind === 'link') return putLink(at, file.target)
  const now = await readNow(place, file)
  if (file.kind === 'whole') {
    return writeDurably(at, temporaryOf(at), file.text, { mode: file.mode ?? 0o644, uid: -1, gid: -1 })
  }
  await putText(at, wantedText(file, now ?? ''))
}

/** Safe to repeat. What others have changed since then in a shared file stays. */
export async function restoreManaged(place: Place, original: Original): Promise<void> {
  const { path, kind, text, mode, keys } = original
  const at = join(place.root, path)
  if (kind === 'kernel') return text === null ? undefined : setKernel(place.host, path, text.trim())
  if (kind === 'block' || kind === 'keys') {
    const now = await readFile(at, 'utf8').catch(() => null)
    if (now === null) return
    const next = kind === 'block' ? withBlock(now, []) : restoreKeys(now, keys)
    if (text === null && next.trim() === '') await rm(at, { force: true })
    else if (next !== now) await putText(at, next)
    return
  }
  if (text === null) return rm(at, { force: true })
  if (kind === 'link') return putLink(at, text)
  await writeDurably(at, temporaryOf(at), text, { mode, uid: -1, gid: -1 })
}

async function readNow(
  { host, root }: Place,
  { path, kind }: Pick<ManagedFile, 'path' | 'kind'>,
): Promise<string | null> {
  if (kind === 'kernel') return host.read(path)
  const at = join(root, path)
  if (kind === 'link') return readlink(at).catch(() => null)
  const found = await lstat(at).catch(() => null)
  if (found !== null && !found.isFile() && !found.isSymbolicLink())
    throw new ApiError('DESIRED_CONFLICT', `${path} is no file; move it away first.`)
  return readFile(at, 'utf8').catch(() => null)
}

function wantedText(file: Exclude<ManagedFile, { kind: 'kernel' }>, now: string): string {
  switch (file.kind) {
    case 'whole':
      return file.text
    case 'block':
      return withBlock(now, file.lines)
    case 'keys':
      return setKeys(now, file.values, file.separator)
    case 'link':
      return file.target
  }
}

/** A linked file is changed where it really stands, and keeps its owner and mode. */
async function putText(at: string, text: string): Promise<void> {
  const real = await realpath(at).catch(() => at)
  const like = await stat(real).catch(() => ({ mode: 0o644, uid: -1, gid: -1 }))
  await writeDurably(real, temporaryOf(real), text, like)
}

async function putLink(at: string, target: string): Promise<void> {
  await rm(temporaryOf(at), { force: true })
  await symlink(target, temporaryOf(at))
  await rename(temporaryOf(at), at)
}

async function setKernel(host: Host, path: string, text: string): Promise<void> {
  try {
    await host.write(path, text)
  } catch (cause) {
    throw new ApiError('DESIRED_FAILED', `The kernel does not take ${text} for ${path}; order another value.`, {
      cause,
    })
  }
}

/** The name begins with a dot and stays the same, so that a crash leaves at most one, which the next write takes over. */
function temporaryOf(at: string): string {
  return join(dirname(at), `.${at.slice(dirname(at).length + 1)}.groundplane`)
}

function sameWords(a: string, b: string): boolean {
  return a.trim().split(/\s+/).join(' ') === b.trim().split(/\s+/).join(' ')
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`
}
