// A job has one executor: what was frozen and wakes, what was interrupted at an act that must happen once, and what goes on
// under another version of the service.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Type } from 'typebox'
import { bindJob, type BoundJob, defineJob, type Run } from '#src/jobs/define.ts'
import { FencedError } from '#src/jobs/rows.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { createJobFence } from '#src/node/job-fence.ts'
import { ended } from '../support/job-harness.ts'
import { admit } from '../support/job-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { crashOnceAt, replicasOfFile, waiting } from '../support/toy-jobs.ts'
import { until } from '../support/until.ts'

const replica = replicasOfFile()

test('of two executors of one job the frozen one that wakes does nothing more: not here, not at agents, and no further step', async () => {
  const fence = createJobFence(join(tempFolder('gp-fence-'), 'epochs.json'))
  const acts: string[] = []
  const refused: string[] = []
  let thaw = (): void => {}
  const frozen = new Promise<void>((resolve) => (thaw = resolve))
  const tried = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
      acts.push(`late ${what}`)
    } catch (error) {
      assert.ok(error instanceof FencedError || (error instanceof ApiError && error.code === 'JOB_SUPERSEDED'), what)
      refused.push(what)
    }
  }
  const attempts = (run: Run<string, unknown>): [string, () => Promise<unknown>][] => [
    ['save', () => run.save({})],
    ['fenced', () => run.fenced(async () => {})],
    ['note', () => run.note('INFO', 'late')],
    ['reached', () => run.reached('submitted')],
    ['about', () => run.about({ name: 'late' })],
    ['agent', () => fence.admit(run)],
  ]
  const bound = (who: string): BoundJob =>
    bindJob(
      defineJob<string>()({
        type: 'test.two',
        resource_type: 'TEST',
        input: Type.Object({}),
        steps: [
          {
            name: 'reset',
            title: 'Reset the node',
            kind: 'once',
            holds: async () => acts.includes('reset'),
            async run(run) {
              await fence.admit(run)
              acts.push('reset')
              if (run.deps !== 'first') return
              await frozen
              for (const [what, work] of attempts(run)) await tried(what, work)
            },
          },
          {
            name: 'next',
            title: 'Go on',
            async run(run) {
              await fence.admit(run)
              acts.push(`next by ${run.deps}`)
            },
          },
        ],
      }),
      who,
    )
  const first = await replica([bound('first')])
  const { id } = await admit(first, bound('first'), {})
  await until('the first process has acted', () => acts.includes('reset'))
  const { pool } = first.database
  // As after a freeze: no heartbeat for longer than a replica may be silent.
  await pool.query('update job set executor = gen_random_uuid() where id = $1', [id])
  const second = await replica([bound('second')])
  const job = await ended(second, id)
  thaw()
  await until('the first process lets go', () => first.engine.running() === 0)
  await until('the first process has tried everything', () => refused.length === 6)
  assert.equal(job.job_status, 'completed')
  assert.deepEqual(acts, ['reset', 'next by second'])
  assert.deepEqual(await second.engine.find(id), job)
})

test('a process that lost a job stops the step that it is at, without waiting for its next write', async () => {
  const fixture: { aborted?: unknown } = {}
  const bound = (hangs: boolean): BoundJob =>
    bindJob(
      defineJob<typeof fixture>()({
        type: 'test.lost',
        resource_type: 'TEST',
        input: Type.Object({}),
        steps: [
          {
            name: 'long',
            title: 'Take long',
            run: ({ signal, deps }) =>
              hangs
                ? new Promise((_resolve, reject) => {
                    signal.addEventListener('abort', () => {
                      deps.aborted = signal.reason
                      reject(new Error('aborted'))
                    })
                  })
                : Promise.resolve(),
          },
        ],
      }),
      fixture,
    )
  const first = await replica([bound(true)])
  const { id } = await admit(first, bound(true), {})
  await until('it runs', async () => (await first.engine.find(id))?.status === 'Take long')
  await first.database.pool.query('update job set executor = gen_random_uuid() where id = $1', [id])
  const second = await replica([bound(false)])
  assert.equal((await ended(second, id)).job_status, 'completed')
  await until('the first process stops', () => fixture.aborted !== undefined && first.engine.running() === 0)
})

test('an act that must happen once and failed is not repeated when the process dies before the job has ended', async () => {
  let acts = 0
  const bound = bindJob(
    defineJob<null>()({
      type: 'test.failed-once',
      resource_type: 'TEST',
      input: Type.Object({}),
      steps: [
        {
          name: 'promote',
          title: 'Promote the database',
          kind: 'once',
          async run() {
            acts += 1
            throw new ApiError('COMPUTE_ERROR', 'Half of it was done.')
          },
        },
      ],
    }),
    null,
  )
  const crash = crashOnceAt('promote:ended')
  const first = await replica([bound], crash)
  const { id } = await admit(first, bound, {})
  await until('the planted crash', () => crash.crashed() && first.engine.running() === 0)
  await first.die()
  const job = await ended(await replica([bound]), id)
  assert.deepEqual([acts, job.job_status, job.failure_reason], [1, 'failed', 'Half of it was done.'])
})

test('a job goes on under a version whose steps stand elsewhere in the list: by name, none is repeated or left out', async () => {
  const done: string[] = []
  const go = { name: 'go', payload: Type.Null() }
  const version = (names: string[]): BoundJob =>
    bindJob(
      defineJob<null>()({
        type: 'test.upgraded',
        resource_type: 'TEST',
        input: Type.Object({}),
        on_failure: 'undo',
        steps: names.map((name) => ({
          name,
          title: name,
          async run(run) {
            if (name === 'wait') await run.signalled(go)
            done.push(name)
          },
          undo: async () => void done.push(`undo ${name}`),
        })),
      }),
      null,
    )
  const older = await replica([version(['claim', 'make', 'wait', 'last'])])
  const { id } = await admit(older, version(['claim', 'make', 'wait', 'last']), {})
  await waiting(older, id)
  await older.stop()
  const newer = await replica([version(['make', 'wait', 'check', 'last'])])
  await newer.engine.signal(id, go, null)
  assert.equal((await ended(newer, id)).job_status, 'completed')
  assert.deepEqual(done, ['claim', 'make', 'wait', 'check', 'last'])
})

test('what the admission wrote is undone last of all, also when the process dies at it', async () => {
  const undone: string[] = []
  const bound = bindJob(
    defineJob<null>()({
      type: 'test.admission',
      resource_type: 'TEST',
      input: Type.Object({}),
      on_failure: 'undo',
      undo: async (run) => void undone.push(`admission under ${run.epoch}`),
      steps: [
        { name: 'one', title: 'One', run: async () => {}, undo: async () => void undone.push('one') },
        { name: 'two', title: 'Two', run: () => Promise.reject(new ApiError('COMPUTE_ERROR', 'no')) },
      ],
    }),
    null,
  )
  const crash = crashOnceAt('admission:undone')
  const first = await replica([bound], crash)
  const { id } = await admit(first, bound, {})
  await until('the planted crash', () => crash.crashed() && first.engine.running() === 0)
  await first.die()
  const job = await ended(await replica([bound]), id)
  assert.deepEqual(undone, ['one', 'admission under 1', 'admission under 2'])
  assert.equal(job.failure_reason, 'no')
  assert.equal(job.status, 'no Everything done before was undone.')
})
