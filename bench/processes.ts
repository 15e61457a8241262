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
  memory_bytes(): number
  peak_memory_bytes(): number
  stop(): Promise<void>
}

const TICK_US = 10_000
/** As in deploy/ and scripts/start: a small young generation keeps thousands of idle streams cheap. */
const PRODUCTION_FLAGS = ['--max-semi-space-size=16']

/** Starts a program of this project and waits for its line of JSON. */
export async function startProgram(
  file: string,
  args: readonly string[],
  options: { env?: Record<string, string>; log_file?: string } = {},
): Promise<Program> {
  const log = options.log_file === undefined ? 'inherit' : openSync(options.log_file, 'a')
  const child = spawn(process.execPath, [...PRODUCTION_FLAGS, file, ...args], {
    stdio: ['pipe', 'pipe', log],
    env: { ...process.env, ...options.env },
  })
  const pid = child.pid ?? 0
  return {
    pid,
    ready: await firstLine(child),
    cpu_us: () => cpuOf(pid),
    memory_bytes: () => statusOf(pid, 'VmRSS'),
    peak_memory_bytes: () => statusOf(pid, 'VmHWM'),
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function firstLine(child: ChildProcess): Promise<Record<string, string>> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  for await (const line of lines) {
    if (line.startsWith('{"ready"') || line.startsWith('{"url"')) return JSON.parse(line) as Record<string, string>
  }
  throw new Error('the program ended before it was ready')
}

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

function statusOf(pid: number, name: string): number {
  const line = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1] ?? 0) * 1024
}
