// State folders, programs and questions to the machine for the tests of the embedded database.
import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { after } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { tempFolder } from '../support/temp-folder.ts'

export const IS_ROOT = process.geteuid?.() === 0
export const NEEDS_ROOT = IS_ROOT ? false : 'only root can change to another account'
export const NOBODY = 65_534

export interface Connection {
  host: string
  port: number
  user: string
  database: string
}

/**
 * Makes folders that every account may pass, and removes them when all tests of the file are over: hooks of one test
 * run in the order of their registration, so one of these would run while the server still uses the folder.
 */
export function testFolders(): () => string {
  const root = tempFolder('groundplane-test-')
  fs.chmodSync(root, 0o755)
  after(() => fs.rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  return () => {
    const folder = fs.mkdtempSync(path.join(root, 'f-'))
    fs.chmodSync(folder, 0o755)
    return folder
  }
}

export async function query(connection: Connection, sql: string): Promise<unknown[]> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 90_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`never came true: ${what}`)
    await delay(10)
  }
}

/** The processes of the server on a state folder, by the folder they work in. */
export function serverPids(state_dir: string): number[] {
  const data_dir = path.join(fs.realpathSync(state_dir), 'data')
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && linkTarget(`/proc/${name}/cwd`) === data_dir)
    .map(Number)
}

function linkTarget(link: string): string | null {
  try {
    return fs.readlinkSync(link)
  } catch {
    return null
  }
}

export interface Program {
  child: ChildProcessByStdio<null, Readable, Readable>
  /** everything it wrote to its error stream so far */
  errors: () => string
  connection: () => Promise<Connection>
}

export interface ProgramOptions {
  state_dir: string
  file?: string
  uid?: number
  setpriv?: string
}

export function startProgram(t: TestContext, options: ProgramOptions): Program {
  const file = options.file ?? path.join(import.meta.dirname, 'embedded-program.ts')
  const args = [file, options.state_dir, ...(options.setpriv === undefined ? [] : [options.setpriv])]
  const account = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }
  const child = spawn(process.execPath, args, { ...account, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  let socket_dir: string | undefined
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    // A killed program cannot remove the folder of its socket; the next start on the same state would.
    if (socket_dir !== undefined) fs.rmSync(socket_dir, { recursive: true, force: true })
  })
  const connection = async () => {
    const answer = await readConnection(child, () => errors)
    socket_dir = answer.host
    return answer
  }
  return { child, errors: () => errors, connection }
}

async function readConnection(child: Program['child'], errors: () => string): Promise<Connection> {
  const line = await Promise.race([
    once(child.stdout, 'data').then(([chunk]) => String(chunk)),
    once(child, 'close').then(() => null),
  ])
  if (line === null) throw new Error(`the program ended: ${errors()}`)
  const { host, port, user, database }: Record<string, unknown> = JSON.parse(line)
  if (typeof host !== 'string' || typeof port !== 'number') throw new Error(`not a connection: ${line}`)
  return { host, port, user: String(user), database: String(database) }
}

/** SIGKILL, waited for: nothing of the program can run after this. */
export async function killHard(program: Program): Promise<void> {
  const ended = once(program.child, 'exit')
  program.child.kill('SIGKILL')
  await ended
}
