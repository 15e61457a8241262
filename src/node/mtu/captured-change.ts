// MTU changes on a captured host: the machine is not there, so its kernel is a memory and its watchdog a timer of ours.
import { copyFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Host, RunResult } from '#src/kernel/host.ts'
import { listOf, parseJson, recordOf } from '../foreign-json.ts'
import type { Journal, JournalEntry } from './journal.ts'
import { type MtuLink, parseLinks } from './links.ts'
import type { Watchdog } from './watchdog.ts'

/**
 * The same captured host, on which `ip link set dev X mtu N` holds: every later `ip -j` and sysfs answer shows it, the
 * kernel's own refusals included. Peers answer pings that fit through the device.
 */
export function rememberMtu(host: Host): Host {
  const live = new Map<string, number>()
  const links = async (): Promise<MtuLink[]> => {
    const run = await host.run('ip', ['-j', '-d', 'link'])
    return (parseLinks(run.stdout) ?? []).map((link) => ({ ...link, mtu: live.get(link.name) ?? link.mtu }))
  }
  const set = async (device: string, mtu: number): Promise<RunResult> => {
    const link = (await links()).find(({ name }) => name === device)
    if (link === undefined) return ended(1, '', `Cannot find device "${device}"\n`)
    if (link.max_mtu !== 0 && mtu > link.max_mtu) return ended(2, '', 'Error: mtu greater than device maximum.\n')
    live.set(device, mtu)
    return ended(0, '', '')
  }
  const ping = async (args: readonly string[]): Promise<RunResult> => {
    const device = args[args.indexOf('-I') + 1]
    const room = (await links()).find(({ name }) => name === device)?.mtu ?? 0
    const size = Number(args[args.indexOf('-s') + 1]) + (args.includes('-6') ? 48 : 28)
    return size <= room ? ended(0, '', '') : ended(1, '', `ping: local error: message too long, mtu=${room}\n`)
  }
  return {
    ...host,
    async read(path) {
      const device = /^\/sys\/class\/net\/([^/]+)\/mtu$/.exec(path)?.[1]
      const known = device === undefined ? undefined : live.get(device)
      return known === undefined ? host.read(path) : `${known}\n`
    },
    async run(tool, args, options) {
      if (tool === 'ping') return ping(args)
      const [verb, noun, , device = '', word, value] = args
      if (tool === 'ip' && verb === 'link' && noun === 'set' && word === 'mtu') return set(device, Number(value))
      if (tool === 'ip' && args.join(' ').endsWith('route flush cache')) return ended(0, '', '')
      const result = await host.run(tool, args, options)
      return tool === 'ip' && live.size > 0 ? { ...result, stdout: withMtus(result.stdout, live) } : result
    },
  }
}

/** Lives and dies with the agent: nothing real is at stake, and no program of this machine is run. */
export function capturedWatchdog(host: Host, journal: Journal): Watchdog {
  const timers = new Map<string, NodeJS.Timeout>()
  const restoreNow = async (bridge: string): Promise<void> => {
    await journal.claim(bridge, 'pending', 'reverting')
    const entry = await journal.entry(bridge)
    if (entry === null || (await journal.marker(bridge)) !== 'reverting') return
    for (const { name, old_mtu } of [...entry.devices].reverse()) {
      await host.run('ip', ['link', 'set', 'dev', name, 'mtu', `${old_mtu}`])
    }
    await putFilesBack(journal, entry)
    await journal.claim(bridge, 'reverting', 'reverted')
  }
  const watch = (entry: JournalEntry): void => {
    const timer = setTimeout(() => void restoreNow(entry.bridge).catch(() => {}), entry.window_ms)
    timer.unref()
    timers.set(entry.run_id, timer)
  }
  return {
    script: () => Promise.resolve(''),
    restoreNow,
    start(entry) {
      watch(entry)
      return Promise.resolve(true)
    },
    isAlive: ({ run_id }) => Promise.resolve(timers.has(run_id)),
    disarm({ run_id }) {
      clearTimeout(timers.get(run_id))
      timers.delete(run_id)
      return Promise.resolve()
    },
  }
}

async function putFilesBack(journal: Journal, entry: JournalEntry): Promise<void> {
  for (const [at, { path, temporary, existed }] of entry.files.entries()) {
    if (existed) {
      await copyFile(join(journal.folderOf(entry.bridge), 'old', `${at}`), temporary)
      await rename(temporary, path)
    } else {
      await rm(path, { force: true })
    }
  }
}

function withMtus(text: string, live: ReadonlyMap<string, number>): string {
  const rows = parseJson(text)
  if (!Array.isArray(rows)) return text
  const patched = listOf(rows).map((row) => {
    const { ifname, mtu } = recordOf(row)
    const known = typeof ifname === 'string' && mtu !== undefined ? live.get(ifname) : undefined
    return known === undefined ? row : { ...recordOf(row), mtu: known }
  })
  return JSON.stringify(patched)
}

function ended(exit_code: number, stdout: string, stderr: string): RunResult {
  return { outcome: 'exited', exit_code, stdout, stderr }
}
