// Runs the command line as a child process, the way a person or a script does. What needs no process of its own: in-process.ts.
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface CliResult {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunningCli {
  child: ChildProcess
  stdout(): string
  stderr(): string
  done: Promise<CliResult>
}

export interface CliOptions {
  /** Folder of the stored contexts. */
  config_home?: string
  env?: Record<string, string>
  stdin?: string
  /** Program to run; the sample areas by default. */
  program?: string
}

const SAMPLE = join(import.meta.dirname, 'sample-program.ts')
/** Starting fifty programs is quicker with code that is compiled already; a full run has it from other runs. */
const COMPILE_CACHE = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'node-compile-cache')

export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const child = spawn(process.execPath, [options.program ?? SAMPLE, ...args], {
    env: {
      PATH: process.env.PATH,
      TZ: 'UTC',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      XDG_CONFIG_HOME: options.config_home ?? '/nonexistent',
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => undefined).end(options.stdin ?? '')
  const too_late = setTimeout(() => child.kill('SIGKILL'), 150_000)
  const done = new Promise<CliResult>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(too_late)
      resolve({ code, stdout, stderr })
    })
  })
  return { child, stdout: () => stdout, stderr: () => stderr, done }
}

export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, options).done
}

/** Waits until a condition holds; fails after a minute and a half. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 90_000
  while (!holds()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in time')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
