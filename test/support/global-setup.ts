// Runs once before and after all test files: the one PostgreSQL that they share, the recorder of answers where it is asked
// for, and a temporary folder of the run in which nothing may be left: that fails a run of all files.
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ANSWERS_VARIABLE } from './answer-recorder.ts'
import { processesOf } from './processes.ts'
import { SERVER_VARIABLE, startTestServer, type TestServer } from './test-database.ts'
import { until } from './until.ts'

/** Node's own, of tools that turn it on (tsc); it goes with the folder. */
const COMPILE_CACHE = 'node-compile-cache'
/** A database that follows a killed program writes what it has first. */
const GONE_WITHIN_MS = 60_000

let server: TestServer | undefined
let folder: string | undefined

export async function globalSetup(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'gp-run-'))
  // The account of an embedded database must be able to pass.
  chmodSync(folder, 0o755)
  process.env['TMPDIR'] = folder
  server = await startTestServer()
  process.env[SERVER_VARIABLE] = JSON.stringify(server.connection)
  if (process.env[ANSWERS_VARIABLE] !== undefined) loadRecorder()
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
  if (folder === undefined) return
  const run = folder
  const left = readdirSync(run).filter((name) => name !== COMPILE_CACHE)
  const programs = await until(
    'programs of the tests have ended',
    () => processesOf(run).length === 0,
    GONE_WITHIN_MS,
  ).then(
    () => [],
    () => processesOf(run).map(({ pid, command }) => `${pid} ${command}`),
  )
  rmSync(run, { recursive: true, force: true })
  if (left.length + programs.length === 0) return
  const error = new Error(`the tests left behind: ${[...left, ...programs].join(', ')}. See support/temp-folder.ts.`)
  // The runner ends with an error for what is thrown here, and does not print it.
  console.error(error.message)
  if (process.env[ANSWERS_VARIABLE] !== undefined) throw error
}

/** Into the test files and whatever programs of ours they start. */
function loadRecorder(): void {
  const { href } = new URL('answer-recorder.ts', import.meta.url)
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${href}`.trim()
}
