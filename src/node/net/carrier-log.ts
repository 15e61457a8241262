// When the carrier of each device last changed. The kernel counts changes but keeps no time, so the service writes the
// times down itself, in a small file that outlives it; a reboot (another boot id) starts afresh.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Host } from '#src/kernel/host.ts'
import { parseJson } from '../untrusted-json.ts'

export interface LastChange {
  seconds: number
  /** False: no change was seen; the seconds are those since the device was first looked at. */
  seen: boolean
}

export interface CarrierLog {
  /** Reads the file once; later calls do nothing. */
  load(): Promise<void>
  see(links: readonly SeenLink[]): Promise<void>
  lastChange(ifname: string, ifindex: number): LastChange | null
  changes(ifname: string, ifindex: number, window_s: number): number
}

interface SeenLink {
  ifname: string
  ifindex: number
  carrier_changes: number
}

interface Entry extends SeenLink {
  /** Wall clock, for the file; ages are counted from it only after a restart. */
  changed_at: number
  changed_ms: number
  seen: boolean
  recent: { at_ms: number; changes: number }[]
}

/** Changes further back than this are of no use to any threshold. */
const MOST_CHANGES = 100

const Saved = Compile(
  Type.Object({
    boot_id: Type.String(),
    links: Type.Array(
      Type.Object({
        ifname: Type.String(),
        ifindex: Type.Integer(),
        carrier_changes: Type.Integer(),
        changed_at: Type.Number(),
        seen: Type.Boolean(),
      }),
    ),
  }),
)

export function createCarrierLog(host: Host, state_path: string | undefined): CarrierLog {
  const entries = new Map<string, Entry>()
  let boot_id = ''
  let loaded: Promise<void> | undefined
  const readSaved = async (): Promise<void> => {
    boot_id = (await host.read('/proc/sys/kernel/random/boot_id'))?.trim() ?? ''
    if (state_path === undefined) return
    const saved = parseJson(await readFile(state_path, 'utf8').catch(() => ''))
    if (!Saved.Check(saved) || saved.boot_id !== boot_id || boot_id === '') return
    for (const link of saved.links) {
      const age_ms = Math.max(0, host.now() - link.changed_at)
      entries.set(link.ifname, { ...link, changed_ms: host.monotonic() - age_ms, recent: [] })
    }
  }
  const save = async (): Promise<void> => {
    if (state_path === undefined) return
    const links = [...entries.values()].map(({ changed_ms: _age, recent: _recent, ...link }) => link)
    await mkdir(dirname(state_path), { recursive: true })
    await writeFile(`${state_path}.new`, JSON.stringify({ boot_id, links }), { mode: 0o600 })
    await rename(`${state_path}.new`, state_path)
  }
  const entryOf = (ifname: string, ifindex: number): Entry | null => {
    const entry = entries.get(ifname)
    return entry?.ifindex === ifindex ? entry : null
  }
  return {
    load: () => {
      loaded ??= readSaved()
      return loaded
    },
    async see(links) {
      const changed = links.map((link) => note(entries, link, host)).includes(true)
      const gone = [...entries.keys()].filter((name) => !links.some((link) => link.ifname === name))
      for (const name of gone) entries.delete(name)
      if (changed || gone.length > 0) await save()
    },
    lastChange(ifname, ifindex) {
      const entry = entryOf(ifname, ifindex)
      return entry === null ? null : { seconds: (host.monotonic() - entry.changed_ms) / 1000, seen: entry.seen }
    },
    changes(ifname, ifindex, window_s) {
      const since = host.monotonic() - window_s * 1000
      const recent = entryOf(ifname, ifindex)?.recent ?? []
      return recent.filter((one) => one.at_ms >= since).reduce((sum, one) => sum + one.changes, 0)
    },
  }
}

/** Notes one device; true when the file has to be written. */
function note(entries: Map<string, Entry>, link: SeenLink, host: Host): boolean {
  const { ifname, ifindex, carrier_changes } = link
  const known = entries.get(ifname)
  const now = { changed_at: host.now(), changed_ms: host.monotonic() }
  if (known === undefined || known.ifindex !== ifindex || carrier_changes < known.carrier_changes) {
    entries.set(ifname, { ifname, ifindex, carrier_changes, ...now, seen: false, recent: [] })
    return true
  }
  if (carrier_changes === known.carrier_changes) return false
  const changes = carrier_changes - known.carrier_changes
  const recent = [...known.recent, { at_ms: now.changed_ms, changes }].slice(-MOST_CHANGES)
  entries.set(ifname, { ifname, ifindex, carrier_changes, ...now, seen: true, recent })
  return true
}
