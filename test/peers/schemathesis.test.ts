// The whole published document against a running lab, by a program that knows nothing of us but the document: no answer that
// it does not declare, and no failure that a caller can cause.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { areas } from '#src/contract/index.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

/** Where scripts/install-peers puts it. */
const PROGRAM = '/opt/groundplane-peers/schemathesis-4.32.5/bin/schemathesis'
const CHECKS = [
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'response_headers_conformance',
]
/** So long on a busy machine; a quiet one takes a third. */
const MAX_SECONDS = 300
const FIRST_HALF = '^/(compute|network|infrastructure|cam)/'
/**
 * What no request can change: nodes have no agents here, nothing but the platform is configured, and the NVR that one of the
 * requests orders never gets an address.
 */
const NOT_THE_CALLER = /AGENT_UNAVAILABLE|_NOT_CONFIGURED$|NVR_UNAVAILABLE$|^benchmark\w+ STORE_UNAVAILABLE/
/** A stream answers for as long as one listens, the next would end the run's own session, a disk is measured for a minute. */
const EXCLUDED = ['eventStream', 'authLogout', 'benchmarkDiskRun']

let lab: Lab
let folder: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gp-schemathesis-'))
  lab = await startLab()
})
after(async () => {
  await lab?.close()
  rmSync(folder, { recursive: true, force: true })
})

const missing = existsSync(PROGRAM) ? false : `${PROGRAM} is not installed: scripts/install-peers could not reach PyPI`

test('every answer is declared, has its declared form, and no request makes the service fail', {
  skip: missing,
  timeout: 400_000,
}, async () => {
  // Two programs with one worker each: with two threads that compile, Python 3.11 may end the run with an error of its own.
  const halves = await Promise.all([run('--include-path-regex', FIRST_HALF), run('--exclude-path-regex', FIRST_HALF)])
  for (const { status, output } of halves) assert.equal(status, 0, output.slice(-60_000))
  const answered = answersIn(lab.logs())
  const failed = answered.filter(({ status, said }) => status >= 500 && !NOT_THE_CALLER.test(said))
  assert.deepEqual([...new Set(failed.map(({ said }) => said))], [])
  const seen = new Set(answered.map(({ operation }) => operation))
  const published = areas.flatMap(({ routes }) => Object.entries(routes).filter(([, route]) => route.hidden !== true))
  const never = published.map(([operation]) => operation).filter((name) => !seen.has(name) && !EXCLUDED.includes(name))
  assert.deepEqual(never, [], 'operations that were not called')
})

async function run(...selection: string[]): Promise<{ status: number | null; output: string }> {
  const args = [
    'run', `${lab.url}/openapi.json`, '--header', `Authorization: Bearer ${lab.token}`, '--checks', CHECKS.join(),
    '--phases', 'examples,coverage,fuzzing', '--max-examples', '3', '--seed', '20261120', '--generation-deterministic',
    '--workers', '1', '--request-timeout', '20', '--max-time', String(MAX_SECONDS), '--no-color',
    '--suppress-health-check', 'all', '--no-shrink', '--continue-on-failure', ...selection,
    ...EXCLUDED.flatMap((operation) => ['--exclude-operation-id', operation]),
  ] // biome-ignore format: a command line
  const child = spawn(PROGRAM, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, output: Buffer.concat(chunks).toString() }
}

interface Answered {
  status: number
  operation: string
  /** Operation and error code. */
  said: string
}

function answersIn(logs: string): Answered[] {
  return logs
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => {
      const { status, operation, code } = JSON.parse(line) as { status: number; operation: string; code?: string }
      return { status, operation, said: `${operation} ${code}` }
    })
}
