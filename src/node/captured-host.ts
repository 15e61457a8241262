// A host that answers from a folder of recorded files and command outputs (format: lab/hosts/README.md), so that the
// real collectors run on machines that are not there.
import { readFileSync } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Host, RunningCommand, RunResult } from '#src/kernel/host.ts'
import { advanceFile, advanceJson, type Motion, parseMotion } from './captured-motion.ts'
import { matchCommand, type RecordedCommand, readCommands } from './captured-commands.ts'

export interface CapturedHostOptions {
  /** Wall clock; the machine's own when left out. */
  now?: () => number
  /** Monotonic clock that also drives the counters of motion.json; the machine's own when left out. */
  monotonic?: () => number
}

export function capturedHost(dir: string, options: CapturedHostOptions = {}): Host {
  const now = options.now ?? (() => Date.now())
  const monotonic = options.monotonic ?? (() => performance.now())
  const started = monotonic()
  const recorded = readCommands(dir)
  const links = readLinks(dir)
  const motion = parseMotion(optionalJson(join(dir, 'motion.json')) ?? [])
  const written = new Map<string, string>()
  const seconds = (): number => (monotonic() - started) / 1000
  const spawn = (tool: string, args: readonly string[]): RunningCommand =>
    play(dir, matchCommand(recorded, tool, args), { tool, args, motion, seconds })
  return {
    async read(path) {
      const own = written.get(normalize(path))
      if (own !== undefined) return own
      const text = await readFile(inside(dir, path), 'utf8').catch(() => null)
      return text === null ? null : advanceFile(text, normalize(path), motion, seconds())
    },
    list: (path) => listing(dir, links, path),
    link: (path) => Promise.resolve(links.get(normalize(path)) ?? null),
    async write(path, text) {
      await lstat(inside(dir, path))
      written.set(normalize(path), text)
    },
    run: (tool, args) => spawn(tool, args).ended,
    spawn,
    socketExchange: () => Promise.resolve({ outcome: 'missing', received: Buffer.alloc(0) }),
    now,
    monotonic,
  }
}

/** Reads what host.json says about the machine; the caller parses the part it needs. */
export function capturedAbout(dir: string): unknown {
  return optionalJson(join(dir, 'host.json')) ?? {}
}

function inside(dir: string, path: string): string {
  return join(dir, 'files', normalize(`/${path}`))
}

async function listing(dir: string, links: ReadonlyMap<string, string>, path: string): Promise<string[] | null> {
  const at = normalize(path).replace(/\/$/, '')
  const names = new Set((await readdir(inside(dir, at)).catch(() => [])).map(String))
  for (const link of links.keys()) {
    if (link.startsWith(`${at}/`)) names.add(link.slice(at.length + 1).split('/')[0] ?? '')
  }
  return names.size === 0 ? null : [...names].sort()
}

interface Played {
  tool: string
  args: readonly string[]
  motion: readonly Motion[]
  seconds: () => number
}

function play(dir: string, found: RecordedCommand | 'unknown-tool' | 'unknown-args', played: Played): RunningCommand {
  const cut = new AbortController()
  const answer = async (): Promise<RunResult> => {
    if (found === 'unknown-tool') return { outcome: 'missing', exit_code: null, stdout: '', stderr: '' }
    if (found === 'unknown-args') {
      const stderr = `not recorded: ${played.tool} ${played.args.join(' ')}\n`
      return { outcome: 'exited', exit_code: 1, stdout: '', stderr }
    }
    if (found.lasts_ms > 0) await wait(found.lasts_ms, undefined, { signal: cut.signal, ref: false }).catch(() => {})
    if (found.outcome !== 'exited') return { outcome: found.outcome, exit_code: null, stdout: '', stderr: found.stderr }
    const stdout = await stdoutOf(dir, found, played)
    return { outcome: 'exited', exit_code: found.exit_code, stdout, stderr: found.stderr }
  }
  return { ended: answer(), signal: () => cut.abort() }
}

async function stdoutOf(dir: string, found: RecordedCommand, played: Played): Promise<string> {
  if (found.stdout_json !== undefined) {
    return JSON.stringify(advanceJson(found.stdout_json, found.tool, played.motion, played.seconds()))
  }
  if (found.stdout_file === undefined) return found.stdout
  return readFile(join(dir, normalize(`/${found.stdout_file}`)), 'utf8')
}

function readLinks(dir: string): Map<string, string> {
  const links = new Map<string, string>()
  const raw = optionalJson(join(dir, 'links.json'))
  if (typeof raw !== 'object' || raw === null) return links
  for (const [path, target] of Object.entries(raw)) {
    if (typeof target === 'string') links.set(normalize(path), target)
  }
  return links
}

function optionalJson(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  return JSON.parse(text)
}
