// --wait follows the job to its end, whatever happens to the connection, and shows the thing or the reason.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCli, until } from './cli-process.ts'
import { runAt } from './in-process.ts'
import { type FakeService, problem, type Responder, startEvents, startFakeService } from './fake-service.ts'

const ID = '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001'
const JOB = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const VM = { id: ID, name: 'web-1', state: 'Running' }
const ACCEPTED = { job_id: JOB, correlation_id: JOB, status: 'IN_PROGRESS', resource_id: ID, message: 'Starting.' }
const RUNNING = {
  id: JOB,
  job_status: 'running',
  progress: 30,
  status: 'Starting web-1.',
  resource_type: 'VM',
  resource_id: ID,
}
const COMPLETED = { ...RUNNING, job_status: 'completed', progress: 100, status: 'web-1 runs.' }
const FAILED = {
  ...RUNNING,
  job_status: 'failed',
  status: 'failed',
  failure_reason: 'no host has room',
  failure_code: 'CAPACITY_EXCEEDED',
  failed_step: 'submit',
  outstanding_actions: ['Look at host kvm-01.'],
}

type JobAnswer = (asked: number, service: FakeService) => unknown

async function withJob(jobs: JobAnswer, more: Record<string, Responder> = {}): Promise<FakeService> {
  const service: FakeService = await startFakeService({
    'POST /compute/vms/start': () => ({ body: ACCEPTED }),
    'POST /compute/vms/byID': () => ({ body: VM }),
    [`GET /jobs/${JOB}`]: () => {
      const answer = jobs(service.to('GET', `/jobs/${JOB}`).length, service)
      return typeof answer === 'number' ? problem(answer, 'STORE_UNAVAILABLE', 'away') : { body: answer }
    },
    ...more,
  })
  return service
}

test('without --wait the answer is the job and how to follow it', async (t) => {
  const service = await withJob(() => RUNNING)
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'start', ID])
  assert.equal(result.code, 0)
  assert.match(result.stdout, new RegExp(JOB))
  assert.match(result.stderr, new RegExp(`groundplane job follow ${JOB}`))
})

test('with --wait the answer is the machine as it is at the end', async (t) => {
  const service = await withJob((asked) => (asked < 2 ? RUNNING : COMPLETED))
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'start', ID, '--wait', '--json'])
  assert.equal(result.code, 0, result.stderr)
  assert.deepEqual(JSON.parse(result.stdout), VM)
  assert.match(result.stderr, / 30 % Starting web-1\.\n/)
})

test('the stream of events shows progress and ends the wait without polling on', async (t) => {
  let done = false
  const service = await withJob(() => (done ? COMPLETED : RUNNING), {
    'GET /events/sse': ({ query }, raw) => {
      assert.equal(query.get('channels'), 'job')
      const send = startEvents(raw)
      const event = (job: unknown): string => `event: job\ndata: ${JSON.stringify(job)}\n\n`
      send(event({ ...RUNNING, progress: 60, status: 'Booting.' }))
      send(event({ ...COMPLETED, id: 'another job' }))
      setTimeout(() => {
        done = true
        send(event(COMPLETED))
      }, 100)
      return undefined
    },
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'start', ID, '--wait'])
  assert.equal(result.code, 0, result.stderr)
  assert.match(result.stderr, / 60 % Booting\.\n/)
  assert.match(result.stdout, /Running/)
  assert.ok(service.to('GET', `/jobs/${JOB}`).length <= 3)
})

test('a job that fails ends with 1 and says why, where, and what is left to do', async (t) => {
  const service = await withJob(() => FAILED)
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'start', ID, '--wait'])
  assert.equal(result.code, 1)
  assert.equal(result.stdout, '')
  for (const part of [
    'no host has room',
    'failed step: submit',
    'still to do: Look at host kvm-01.',
    'CAPACITY_EXCEEDED',
    JOB,
  ]) {
    assert.ok(result.stderr.includes(part), `${part} is missing in ${result.stderr}`)
  }
})

test('a service that fails for a while does not end the wait', async (t) => {
  const service = await withJob((asked) => (asked < 3 ? 500 : COMPLETED))
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'start', ID, '--wait'])
  assert.equal(result.code, 0, result.stderr)
})

test('a wait that ends before the job has an exit code of its own', async (t) => {
  const service = await withJob(() => RUNNING)
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'start', ID, '--wait', '0.2'])
  assert.equal(result.code, 8)
  assert.match(result.stderr, /still runs[^]*groundplane job wait/)
})

test('Ctrl-C during a wait ends cleanly and leaves the job alone', async (t) => {
  const service = await withJob(() => RUNNING)
  t.after(() => service.close())
  const cli = startCli(['vm', 'start', ID, '--wait'], { env: { GROUNDPLANE_URL: service.url } })
  await until(() => cli.stderr().includes('Starting web-1.'))
  cli.child.kill('SIGINT')
  const result = await cli.done
  assert.equal(result.code, 130)
  assert.ok(!result.stderr.includes('error'))
  assert.ok(service.seen.every((request) => !request.path.endsWith('/cancel')))
})
