// The whole published document against a running lab, by a program that knows nothing of us but the document: no answer that
// it does not declare, and no failure that a caller can cause.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
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
/** Each operation is called in every way that the document gives: how long that takes must not decide what is called. */
const EVERY_OPERATION = ['--phases', 'examples,coverage']
/** What is made up beyond that has no end of its own. */
const FUZZING_SECONDS = 60
const FUZZING = ['--phases', 'fuzzing', '--max-examples', '3', '--max-time', String(FUZZING_SECONDS)]
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
  timeout: 1_200_000,
}, async (t) => {
  await bothHalves(t, EVERY_OPERATION)
  const seen = new Set(answersIn(lab.logs()).map(({ operation }) => operation))
  const published = areas.flatMap(({ routes }) => Object.entries(routes).filter(([, route]) => route.hidden !== true))
  const never = published.map(([operation]) => operation).filter((name) => !seen.has(name) && !EXCLUDED.includes(name))
  assert.deepEqual(never, [], 'operations that were not called')
  await bothHalves(t, FUZZING)
  const failed = answersIn(lab.logs()).filter(({ status, said }) => status >= 500 && !NOT_THE_CALLER.test(said))
  assert.deepEqual([...new Set(failed.map(({ said }) => said))], [])
})

/** Two programs with one worker each: with two threads that compile, Python 3.11 may end the run with an error of its own. */
async function bothHalves(t: TestContext, phases: readonly string[]): Promise<void> {
  const begun = performance.now()
  const halves = [
    ['--include-path-regex', FIRST_HALF],
    ['--exclude-path-regex', FIRST_HALF],
  ].map((selection) => run(...phases, ...selection))
  for (const { status, output } of await Promise.all(halves)) assert.equal(status, 0, output.slice(-60_000))
  t.diagnostic(`${phases.join(' ')}: ${Math.round((performance.now() - begun) / 1000)} s`)
}

async function run(...selection: string[]): Promise<{ status: number | null; output: string }> {
  const args = [
    'run', `${lab.url}/openapi.json`, '--header', `Authorization: Bearer ${lab.token}`, '--checks', CHECKS.join(),
    '--seed', '20261120', '--generation-deterministic', '--workers', '1', '--request-timeout', '20', '--no-color',
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
