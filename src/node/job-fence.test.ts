// Calls of jobs to an agent, over HTTP to the real routes: a process that lost its job changes nothing any more.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, suite, test } from 'node:test'
import { agentBridges, type BridgeSpec } from '#src/contract/nodes/agent-bridges.ts'
import { claimHeaders } from '#src/kernel/job-claim.ts'
import { mountArea } from '#src/kernel/http/mount.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import { createServer, type Server } from '#src/kernel/http/serve.ts'
import { type Caller, SYSTEM } from '#src/kernel/http/context.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { createJobFence, fencedHandlers } from './job-fence.ts'
import { tempFolder } from '../../test/support/temp-folder.ts'

const SPEC: BridgeSpec = { bridge: 'gn7', kind: 'vlan', segment_id: 7, nic: 'bond0' }

suite('calls of jobs', () => {
  const folder = tempFolder('gp-fence-')
  const file = join(folder, 'node', 'job-epochs.json')
  const servers: Server[] = []
  let made: string[] = []
  let url = ''
  /** As after a restart of the agent. */
  async function start(): Promise<void> {
    const log = createLog({ level: 'error', destination: new Writable({ write: (_chunk, _encoding, done) => done() }) })
    const server = createServer({ log, metrics: createMetrics() })
    const act = (verb: string) => ({ body: { bridge } }: { body: BridgeSpec }) => {
      made.push(verb)
      return { bridge, present: true, problems: [], members: [] }
    } // biome-ignore format: one function
    const handlers = {
      agentBridgeCreate: act('create'),
      agentBridgeDelete: act('delete'),
      agentBridgeCheck: act('check'),
    }
    const limiter = createRateLimiter(1000, 1000)
    const caller: Caller = { ...SYSTEM, kind: 'cluster', role: 'cluster' }
    const authenticator = { authenticate: () => ({ caller }) }
    const services = { authenticator, limiter, login_limiter: limiter }
    mountArea(server, agentBridges, fencedHandlers(agentBridges, handlers, createJobFence(file)), services)
    url = await server.listen('127.0.0.1', 0)
    servers.push(server)
  }
  before(start)
  after(async () => {
    for (const server of servers) await server.close()
  })
  async function call(verb: string, headers: Record<string, string>): Promise<{ status: number; code: string }> {
    const answer = await fetch(`${url}/internal/node/bridges/${verb}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(SPEC),
    })
    const body: unknown = await answer.json()
    const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : ''
    return { status: answer.status, code }
  }
  const under = (epoch: number, job_id = 'job-1') => claimHeaders({ job_id, epoch, step: 'nodes' })
  const REFUSED = { status: 409, code: 'JOB_SUPERSEDED' }

  test('after a call of the process that took over, the one before it changes nothing, also after a restart', async () => {
    assert.equal((await call('create', under(1))).status, 200)
    assert.equal((await call('create', under(1))).status, 200)
    assert.equal((await call('delete', under(2))).status, 200)
    assert.deepEqual(await call('create', under(1)), REFUSED)
    await start()
    assert.deepEqual(await call('create', under(1)), REFUSED)
    assert.equal((await call('create', under(2))).status, 200)
    assert.deepEqual(made, ['create', 'create', 'delete', 'create'])
  })

  test('other jobs, people and reads are not held up', async () => {
    assert.equal((await call('create', under(1, 'job-2'))).status, 200)
    assert.equal((await call('create', {})).status, 200)
    assert.equal((await call('check', under(1))).status, 200)
  })

  test('half a claim, and one that is none, are refused before anything is done', async () => {
    made = []
    const wrong = [{ 'x-epoch': '1' }, { 'x-job-id': 'j' }, { 'x-job-id': '../j', 'x-epoch': '1' }]
    for (const headers of [...wrong, { 'x-job-id': 'j', 'x-epoch': '0' }, { 'x-job-id': 'j', 'x-epoch': '1e9' }]) {
      assert.equal((await call('create', headers)).code, 'INVALID_REQUEST')
    }
    assert.deepEqual(made, [])
  })

  test('many calls at once remember each job once, and the file stays small', async () => {
    const jobs = Array.from({ length: 40 }, (_none, at) => `many-${at}`)
    await Promise.all(jobs.flatMap((job) => [call('create', under(1, job)), call('create', under(2, job))]))
    const stored = JSON.parse(readFileSync(file, 'utf8')) as [string, number][]
    const epochs = stored.filter(([job]) => job.startsWith('many-')).map(([, epoch]) => epoch)
    assert.deepEqual([epochs.length, new Set(epochs)], [40, new Set([2])])
    writeFileSync(file, JSON.stringify(Array.from({ length: 1500 }, (_none, at) => [`old-${at}`, 1])))
    await start()
    await call('create', under(3))
    assert.equal((JSON.parse(readFileSync(file, 'utf8')) as unknown[]).length, 1000)
  })
})
