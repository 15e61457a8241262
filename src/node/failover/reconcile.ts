// Puts the managed scripts of the failover daemon as the release has them: content, owner, mode and kind of file. Each is the
// old one or the new one at every moment, and a second run finds nothing to do.
import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { chmod, chown, link, lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ScriptsReport } from '#src/contract/ha/ha.ts'
import { CrashError, replaceFile, syncPath, TEMPORARY_PREFIX } from '#src/kernel/durable-file.ts'
import { type FailoverScript, failoverScripts } from '#src/kernel/failover-scripts.ts'

export interface ReconcileOptions {
  /** Whose they must be; left out: this process, which is root in an agent. */
  uid?: number
  gid?: number
  /** Where a test crashes. */
  at?: (point: string) => void
}

type Reason = ScriptsReport['restored'][number]['reason']
type Outcome = Omit<ScriptsReport, 'reloaded'> & {
  /** Something was so that the daemon may have switched scripts off. */
  unsafe: boolean
}

const MODE = 0o755
const PERMISSIONS = 0o7777

export async function reconcileScripts(folder: string, options: ReconcileOptions = {}): Promise<Outcome> {
  const site: Site = { folder, owner: ownerOf(options), at: options.at ?? (() => {}) }
  const scripts = failoverScripts()
  const folder_changed = await prepareFolder(site)
  const outcome: Outcome = {
    checked: scripts.length,
    ok: [],
    restored: [],
    failed: [],
    unknown: [],
    unsafe: folder_changed,
  }
  for (const script of scripts) await reconcileOne(site, script, outcome)
  outcome.unknown = await othersIn(folder, scripts)
  return outcome
}

interface Site {
  folder: string
  owner: { uid: number; gid: number }
  at: (point: string) => void
}

function ownerOf({ uid = process.geteuid?.() ?? 0, gid = process.getegid?.() ?? 0 }: ReconcileOptions): Site['owner'] {
  return { uid, gid }
}

/** True when it could be changed by others before. */
async function prepareFolder({ folder, owner }: Site): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: MODE })
  const there = await lstat(folder)
  if (!there.isDirectory()) throw new Error(`${folder} is no folder`)
  if (there.uid === owner.uid && (there.mode & 0o022) === 0) return false
  await chown(folder, owner.uid, owner.gid)
  await chmod(folder, MODE)
  return true
}

async function reconcileOne(site: Site, script: FailoverScript, outcome: Outcome): Promise<void> {
  const { name } = script
  try {
    const path = join(site.folder, name)
    const there = await lstat(path).catch(ifMissing)
    const text =
      there?.isFile() === true ? await readFile(path, { flag: constants.O_RDONLY | constants.O_NOFOLLOW }) : undefined
    const previous_sha256 = text === undefined ? null : createHash('sha256').update(text).digest('hex')
    const reason = faultOf(there, previous_sha256, script, site)
    if (reason === undefined) return void outcome.ok.push(name)
    await restore(site, script, there, previous_sha256)
    outcome.restored.push({ name, reason, previous_sha256 })
    outcome.unsafe ||= isUnsafe(there, site)
  } catch (error) {
    if (error instanceof CrashError) throw error
    outcome.failed.push({ name, error: error instanceof Error ? error.message : String(error) })
  }
}

function faultOf(
  there: Stats | undefined,
  hash: string | null,
  { sha256 }: FailoverScript,
  { owner }: Site,
): Reason | undefined {
  if (there === undefined) return 'missing'
  if (there.isSymbolicLink()) return 'symlink'
  if (!there.isFile()) return 'kind'
  // A second name of the file is a way to change it that no permission of the folder forbids.
  if (there.nlink !== 1) return 'links'
  if (hash !== sha256) return 'content'
  if (there.uid !== owner.uid || there.gid !== owner.gid) return 'owner'
  return (there.mode & PERMISSIONS) === MODE ? undefined : 'mode'
}

/** The daemon switches off scripts that it cannot run, or that others than root can change (enable_script_security). */
function isUnsafe(there: Stats | undefined, { owner }: Site): boolean {
  return there?.isFile() !== true || there.uid !== owner.uid || (there.mode & PERMISSIONS) !== MODE
}

/** Renamed over what stands there, so that the name is never missing; only a folder must be out of the way first. */
async function restore(
  site: Site,
  { name, content, sha256 }: FailoverScript,
  there: Stats | undefined,
  previous_sha256: string | null,
): Promise<void> {
  if (there?.isDirectory() === true) await quarantine(site, name, `${Date.now()}`, rename)
  else if (previous_sha256 !== null && previous_sha256 !== sha256) await quarantine(site, name, previous_sha256, link)
  await replaceFile(join(site.folder, name), content, { mode: MODE, ...site.owner }, site.at)
}

/** Beside the folder and not in it, so that the daemon runs nothing of it. */
export const quarantineOf = (folder: string): string => `${folder}.quarantine`

/** Shows later who changed what. The same content is kept once. */
async function quarantine(
  { folder, owner, at }: Site,
  name: string,
  mark: string,
  move: (from: string, to: string) => Promise<void>,
): Promise<void> {
  const aside = quarantineOf(folder)
  await mkdir(aside, { recursive: true, mode: 0o700 })
  await chown(aside, owner.uid, owner.gid)
  const target = join(aside, `${name}.${mark}`)
  await rm(target, { recursive: true, force: true })
  await move(join(folder, name), target)
  await syncPath(aside)
  at('in quarantine')
}

/** Left alone, apart from what a crash of ours left. */
async function othersIn(folder: string, scripts: readonly FailoverScript[]): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => scripts.every((script) => script.name !== name))
  const left = names.filter((name) => name.startsWith(TEMPORARY_PREFIX))
  await Promise.all(left.map((name) => rm(join(folder, name), { force: true })))
  return names.filter((name) => !left.includes(name)).sort()
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
