// The whole published document against a running lab, by a program that knows nothing of us but the document: no answer that
// it does not declare, and no failure that a caller can cause.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startLab, type Lab } from '../support/start-lab.ts'

/** Where scripts/install-peers puts it. */
const PROGRAM = '/opt/groundplane-peers/schemathesis-4.32.5/bin/schemathesis'
const CHECKS = ['status_code_conformance', 'content_type_conformance', 'response_schema_conformance', 'response_headers_conformance']
const MAX_SECONDS = 150
/** Nodes are registered, but have no agents here; nothing that a request says can change that. */
const NOT_THE_CALLER = new Set(['AGENT_UNAVAILABLE'])

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

test('every answer is declared, has its declared form, and no request makes the service fail', { skip: missing, timeout: 230_000 }, async () => {
  const { status, output } = await run([
    'run', `${lab.url}/openapi.json`, '--header', `Authorization: Bearer ${lab.token}`, '--checks', CHECKS.join(),
    '--phases', 'examples,coverage,fuzzing', '--max-examples', '6', '--seed', '20261120', '--generation-deterministic',
    '--generation-database', 'none', '--workers', '2', '--request-timeout', '20', '--max-time', String(MAX_SECONDS), '--no-color',
    // Answers for as long as one listens.
    '--exclude-operation-id', 'eventStream', '--exclude-operation-id', 'authLogout', '--suppress-health-check', 'all', '--no-shrink', '--continue-on-failure',
  ]) // biome-ignore format: a command line
  assert.equal(status, 0, output.slice(-60_000))
  assert.deepEqual(serverErrors(lab.logs()), [])
})

async function run(args: readonly string[]): Promise<{ status: number | null; output: string }> {
  const child = spawn(PROGRAM, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, output: Buffer.concat(chunks).toString() }
}

/** `operation code` of every answer from 500 that a request caused. */
function serverErrors(logs: string): string[] {
  const found = new Set<string>()
  for (const line of logs.split('\n')) {
    if (!line.includes('"msg":"request"')) continue
    const { status, operation, code } = JSON.parse(line) as { status: number; operation: string; code?: string }
    if (status >= 500 && !NOT_THE_CALLER.has(code ?? '')) found.add(`${operation} ${code}`)
  }
  return [...found].toSorted()
}
