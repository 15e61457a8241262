// Runs the one-shot programs around the server (initdb, single-user mode) as the account and ends them with us.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Account } from './account.ts'
import { credentials } from './account.ts'
import { EmbeddedPostgresError } from './error.ts'

export const TOOL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Nothing of the caller's environment: PGDATA, PGOPTIONS or a locale would change what the server does. */
export const SERVER_ENV = { PATH: TOOL_PATH, LC_ALL: 'C', TZ: 'UTC' }

const TIMEOUT_MS = 120_000

export interface Program {
  argv: readonly [string, ...string[]]
  account: Account
  /** ends the program with us; null where setpriv cannot */
  setpriv: string | null
  input?: string
}

export async function runProgram(program: Program): Promise<void> {
  const tether = program.setpriv === null ? [] : [program.setpriv, '--pdeathsig', 'KILL', '--']
  const [command = '', ...args] = [...tether, ...program.argv]
  const child = spawn(command, args, {
    ...credentials(program.account),
    cwd: '/',
    env: SERVER_ENV,
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  let output = ''
  const collect = (chunk: string) => {
    output = (output + chunk).slice(-4_000)
  }
  child.stdout.setEncoding('utf8').on('data', collect)
  child.stderr.setEncoding('utf8').on('data', collect)
  // A program that ends without reading breaks the pipe; its exit code says what happened.
  child.stdin.on('error', () => undefined)
  child.stdin.end(program.input ?? '')
  const [code, signal] = await once(child, 'close')
  if (code !== 0) throw new EmbeddedPostgresError(`${program.argv[0]} failed (${code ?? signal}): ${output.trim()}`)
}

/** The setpriv that can tie the life of a program to ours, or null; the one of busybox cannot. */
export async function usableSetpriv(setpriv: string): Promise<string | null> {
  const child = spawn(setpriv, ['--pdeathsig', 'INT', 'true'], { stdio: 'ignore', env: SERVER_ENV, timeout: 10_000 })
  try {
    const [code] = await once(child, 'exit')
    return code === 0 ? setpriv : null
  } catch {
    return null
  }
}
