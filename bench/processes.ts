// Programs that a benchmark measures from outside: started as children, their CPU and memory read from /proc.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export interface Program {
  pid: number
  /** First line of JSON the program printed: where it listens. */
  ready: Record<string, string>
  cpu_us(): number
  /** With that of every command it ran and waited for. */
  cpu_with_children_us(): number
  memory_bytes(): number
  peak_memory_bytes(): number
  stop(): Promise<void>
}

const TICK_US = 10_000
/** As in deploy/ and scripts/start: a small young generation keeps thousands of idle streams cheap. */
export const PRODUCTION_FLAGS = ['--max-semi-space-size=16']

/** Starts a program of this project and waits for its line of JSON. */
export async function startProgram(
  file: string,
  args: readonly string[],
  options: { env?: Record<string, string>; log_file?: string; flags?: readonly string[] } = {},
): Promise<Program> {
  const log = options.log_file === undefined ? 'inherit' : openSync(options.log_file, 'a')
  const child = spawn(process.execPath, [...(options.flags ?? PRODUCTION_FLAGS), file, ...args], {
    stdio: ['pipe', 'pipe', log],
    env: { ...process.env, ...options.env },
  })
  const pid = child.pid ?? 0
  return {
    pid,
    ready: await firstLine(child),
    cpu_us: () => cpuOf(pid, OWN),
    cpu_with_children_us: () => cpuOf(pid, WITH_CHILDREN),
    memory_bytes: () => statusOf(pid, 'VmRSS'),
    peak_memory_bytes: () => statusOf(pid, 'VmHWM'),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function firstLine(child: ChildProcess): Promise<Record<string, string>> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  for await (const line of lines) {
    if (line.startsWith('{"ready"') || line.startsWith('{"url"') || line.includes('"agent ready"'))
      return JSON.parse(line) as Record<string, string>
  }
  throw new Error('the program ended before it was ready')
}

/** Places in /proc/PID/stat after the name: user and system time, and the same of children that were waited for. */
const OWN = [11, 12] as const
const WITH_CHILDREN = [11, 12, 13, 14] as const

function cpuOf(pid: number, places: readonly number[]): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return places.reduce((sum, place) => sum + Number(fields[place]), 0) * TICK_US
}

function statusOf(pid: number, name: string): number {
  const line = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1] ?? 0) * 1024
}
