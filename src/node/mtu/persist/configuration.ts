// Finds out what manages the bridge of this node and plans the file changes that make an MTU survive a reboot (linux-node.md 4.3).
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConfigFile, DeviceMtu, PersistAdapter } from './change.ts'
import { ifupdown } from './ifupdown.ts'
import { netplan } from './netplan.ts'
import { networkManager } from './network-manager.ts'
import { networkd } from './networkd.ts'
import { OWN_FOLDER, ownFilePath, ownFileText, parseOwnFile } from './own-file.ts'

/** netplan comes first: it writes the files of the others. */
const ADAPTERS: readonly PersistAdapter[] = [netplan, networkManager, networkd, ifupdown]

/** A file to write: where it really stands (links followed), and what was in it. */
export interface FileChange {
  path: string
  /** Null: the file does not exist yet. */
  old_text: string | null
  new_text: string
}

export interface PersistPlan {
  /** Name of the network manager, or `own` when none names the bridge. */
  manager: string
  changes: FileChange[]
}

export async function planPersist(root: string, bridge: string, devices: readonly DeviceMtu[]): Promise<PersistPlan> {
  let manager = 'own'
  let uncovered = [...devices]
  const edits: ConfigFile[] = []
  const known: ConfigFile[] = []
  for (const adapter of ADAPTERS) {
    const files = await readSources(root, adapter)
    if (!adapter.owns(files, bridge)) continue
    const plan = adapter.plan(files, bridge, devices)
    manager = adapter.name
    uncovered = plan.uncovered
    edits.push(...plan.changes)
    known.push(...files)
    break
  }
  const own = ownFilePath(bridge)
  const own_text = await readFile(join(root, own), 'utf8').catch(() => null)
  if (own_text !== null) known.push({ path: own, text: own_text })
  if (uncovered.length > 0 || own_text !== null) edits.push({ path: own, text: ownFileText(uncovered) })
  const changes = await Promise.all(edits.map((edit) => changeOf(root, edit, known)))
  return { manager, changes: changes.filter(({ old_text, new_text }) => old_text !== new_text) }
}

/** Devices of all own files: what the agent sets when it starts. */
export async function ownDevices(root: string): Promise<DeviceMtu[]> {
  const names = await readdir(join(root, OWN_FOLDER)).catch(() => [])
  const texts = await Promise.all(
    names.filter((name) => name.endsWith('.conf')).map((name) => readFile(join(root, OWN_FOLDER, name), 'utf8')),
  )
  return texts.flatMap(parseOwnFile)
}

async function changeOf(root: string, edit: ConfigFile, known: readonly ConfigFile[]): Promise<FileChange> {
  const at = join(root, edit.path)
  return {
    path: await realpath(at).catch(() => at),
    old_text: known.find(({ path }) => path === edit.path)?.text ?? null,
    new_text: edit.text,
  }
}

export async function readSources(root: string, adapter: Pick<PersistAdapter, 'sources'>): Promise<ConfigFile[]> {
  const files: ConfigFile[] = []
  for (const { path, ending } of adapter.sources) {
    const kind = await stat(join(root, path)).catch(() => null)
    if (kind === null) continue
    const names = kind.isDirectory()
      ? (await readdir(join(root, path))).sort().map((name) => `${path}/${name}`)
      : [path]
    for (const name of names) {
      // A name that begins with a dot is another program's unfinished file.
      if (!name.endsWith(ending) || name.includes('/.')) continue
      const text = await readFile(join(root, name), 'utf8').catch(() => null)
      if (text !== null) files.push({ path: name, text })
    }
  }
  return files
}
