// Jobs that wait for a signal, a time or a child: without a process, across restarts, and not for ever.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { bindJob, defineJob } from '#src/jobs/define.ts'
import type { ApiError } from '#src/kernel/errors.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import { ended } from '../support/job-harness.ts'
import { admit, type JobProcess } from '../support/job-process.ts'
import { crashOnceAt, replicasOfFile, testClock, waiting } from '../support/toy-jobs.ts'
import { until } from '../support/until.ts'

const replica = replicasOfFile()

const wiped = { name: 'wiped', payload: Type.Object({ report: Type.String() }) }

/** Wipes a disk and waits for the report. */
function wipe(fixture: { seen: string[] }, type: string, more: { outstanding?: string } = {}) {
  return bindJob(
    defineJob<typeof fixture>()({
      type,
      resource_type: 'TEST',
      input: Type.Object({}),
      steps: [
        { name: 'boot', title: 'Boot', run: async ({ deps }) => void deps.seen.push('boot') },
        {
          name: 'report',
          title: 'Wait for the report',
          timeout_ms: 60 * 60_000,
          ...more,
          async run(run) {
            const { report } = await run.signalled(wiped)
            run.deps.seen.push(report)
          },
        },
      ],
      on_failure: 'undo',
      undo: async ({ deps }) => void deps.seen.push('undone'),
    }),
    fixture,
  )
}

test('a job waits for a signal without a process or a slot, across a restart, and gets what the signal says', async () => {
  const fixture = { seen: [] as string[] }
  const bound = wipe(fixture, 'test.wipe')
  const first = await replica([bound], { slots: 1 })
  const one = await admit(first, bound, {})
  const two = await admit(first, bound, {})
  // Both came to wait, though there is one slot.
  await waiting(first, one.id)
  await waiting(first, two.id)
  await first.stop()
  const second = await replica([bound], { slots: 1 })
  assert.equal(await second.engine.signal(one.id, wiped, { report: 'clean' }), true)
  assert.equal((await ended(second, one.id)).job_status, 'completed')
  assert.deepEqual(fixture.seen, ['boot', 'boot', 'clean'])
  await second.engine.signal(two.id, wiped, { report: 'planted-report-8' })
  const { rows } = await second.database.pool.query('select payload from job_signal where job_id = $1', [two.id])
  assert.doesNotMatch(JSON.stringify(rows), /planted-report-8/)
  await ended(second, two.id)
  assert.equal(await second.engine.signal(two.id, wiped, { report: 'late' }), false)
  await assert.rejects(
    second.engine.signal('01a200ad-0000-7000-8000-000000000000', wiped, { report: '' }),
    ({ code }: ApiError) => code === 'JOB_NOT_FOUND',
  )
})

test('a signal that comes before the job waits for it is not lost, and a repeated one counts once', async () => {
  const fixture = { seen: [] as string[] }
  const bound = wipe(fixture, 'test.early')
  const process = await replica([bound], { slots: 0 })
  const other = await replica([bound])
  const { id } = await process.engine.admit(bound.definition, {
    operation: { operation: 'testRun', operation_id: '01a200ad-1111-7000-8000-000000000000', caller: SYSTEM, idempotency_key: null, named_ids: [] },
    input: {},
    description: 'Early.',
    // Rolled back with its transaction, stored with its transaction.
    also: async (trx) => {
      assert.equal(await process.engine.signal('01a200ad-1111-7000-8000-000000000000', wiped, { report: 'first' }, trx), true)
      assert.equal(await process.engine.signal('01a200ad-1111-7000-8000-000000000000', wiped, { report: 'second' }, trx), false)
    },
  }) // biome-ignore format: ids
  assert.equal((await ended(other, id)).job_status, 'completed')
  assert.deepEqual(fixture.seen, ['boot', 'first'])
})

test('a signal that comes while the job is being let go wakes it', async () => {
  const fixture = { seen: [] as string[] }
  const bound = wipe(fixture, 'test.race')
  const sent: Promise<boolean>[] = []
  let send = (): void => {}
  const process = await replica([bound], { at: (point) => point === 'report:waits' && send() })
  for (let turn = 0; turn < 10; turn += 1) {
    let id = ''
    send = () => void sent.push(process.engine.signal(id, wiped, { report: 'x' }))
    id = (await admit(process, bound, {})).id
    assert.equal((await ended(process, id)).job_status, 'completed')
  }
  assert.equal((await Promise.all(sent)).filter(Boolean).length, 10)
})

test('a wait that takes longer than the step may fails it, or ends it unverified with what a person must check', async () => {
  const clock = testClock()
  const fixture = { seen: [] as string[] }
  const outstanding = 'Look whether the disk is empty.'
  const bound = [wipe(fixture, 'test.overdue'), wipe(fixture, 'test.unverified', { outstanding })] as const
  const first = await replica([...bound], { clock: clock.now })
  const failing = await admit(first, bound[0], {})
  const unverified = await admit(first, bound[1], {})
  await waiting(first, failing.id)
  await waiting(first, unverified.id)
  clock.advance(50 * 60_000)
  await first.stop()
  const second = await replica([...bound], { clock: clock.now })
  // Woken by something else, it waits on, and no longer than it was told first.
  await second.engine.signal(failing.id, { name: 'other', payload: Type.Null() }, null)
  await until('it has looked', async () => ((await second.engine.find(failing.id))?.epoch ?? 0) > 3)
  assert.equal((await waiting(second, failing.id)).job_status, 'running')
  clock.advance(11 * 60_000)
  const job = await ended(second, failing.id)
  assert.deepEqual([job.job_status, job.failure_code, job.failed_step], ['failed', 'WAIT_TIMEOUT', 'report'])
  assert.match(job.failure_reason ?? '', /Wait for the report/)
  assert.equal((await ended(second, unverified.id)).job_status, 'completed')
  const { rows } = await second.database.pool.query('select text from job_outstanding where job_id = $1', [
    unverified.id,
  ])
  assert.deepEqual(rows, [{ text: outstanding }])
})

test('a waiting job is cancelled: it undoes what it did and ends', async () => {
  const fixture = { seen: [] as string[] }
  const bound = wipe(fixture, 'test.cancelled')
  const [first, second] = [await replica([bound], { slots: 0 }), await replica([bound])]
  const { id } = await admit(first, bound, {})
  await waiting(second, id)
  await first.engine.cancel(id, SYSTEM)
  assert.equal((await ended(first, id)).failure_code, 'JOB_CANCELLED')
  assert.deepEqual(fixture.seen, ['boot', 'undone'])
})

test('a job waits for a time, and asks again at intervals, without a process', async () => {
  const clock = testClock()
  const start = clock.now().getTime()
  const asked: number[] = []
  const bound = bindJob(
    defineJob<null>()({
      type: 'test.times',
      resource_type: 'TEST',
      input: Type.Object({}),
      steps: [
        {
          name: 'night',
          title: 'Wait for the night',
          timeout_ms: 86_400_000,
          run: (run) => run.waitUntil(new Date(start + 3_600_000)),
        },
        {
          name: 'poll',
          title: 'Poll',
          async run(run) {
            asked.push(Math.round((clock.now().getTime() - start) / 3_600_000))
            if (asked.length < 2) await run.repeatAfter(600_000)
          },
        },
      ],
    }),
    null,
  )
  const process = await replica([bound], { clock: clock.now })
  const { id } = await admit(process, bound, {})
  const { wake_at } = await waiting(process, id)
  assert.equal(wake_at?.getTime(), start + 3_600_000)
  clock.advance(3_600_000)
  await until('it polls', () => asked.length === 1)
  await waiting(process, id)
  clock.advance(600_000)
  assert.equal((await ended(process, id)).job_status, 'completed')
  assert.deepEqual(asked, [1, 1])
})

test('a job that asks again after a moment goes on after that moment, not with the next regular look', async () => {
  const fixture = { asked: 0 }
  const bound = bindJob(
    defineJob<typeof fixture>()({
      type: 'test.often',
      resource_type: 'TEST',
      input: Type.Object({}),
      steps: [
        {
          name: 'poll',
          title: 'Poll',
          async run({ deps, repeatAfter }) {
            deps.asked += 1
            // 50 ms here; more often than there are regular looks while the test waits.
            if (deps.asked < 32) await repeatAfter(50_000)
          },
        },
      ],
    }),
    fixture,
  )
  const process = await replica([bound])
  assert.equal((await ended(process, (await admit(process, bound, {})).id)).job_status, 'completed')
  assert.equal(fixture.asked, 32)
})

test('a step that must happen once cannot wait: its act would begin again', async () => {
  const bound = bindJob(
    defineJob<null>()({
      type: 'test.waiting-once',
      resource_type: 'TEST',
      input: Type.Object({}),
      steps: [{ name: 'fire', title: 'Fire', kind: 'once', run: (run) => run.repeatAfter(1) }],
    }),
    null,
  )
  const process = await replica([bound])
  assert.equal((await ended(process, (await admit(process, bound, {})).id)).failure_code, 'INTERNAL_ERROR')
})

const drained = Type.Object({ moved: Type.Integer() })

/** A node is set up by draining two others; each drain waits for a signal. */
function parentAndChild(fixture: { log: string[]; fail?: boolean }, name: string) {
  const go = { name: 'go', payload: Type.Null() }
  const child = defineJob<typeof fixture>()({
    type: `test.${name}-child`,
    resource_type: 'TEST',
    input: Type.Object({ node: Type.String() }),
    result: drained,
    resultOf: ({ input }) => ({ moved: input.node.length }),
    on_failure: 'undo',
    steps: [
      {
        name: 'drain',
        title: 'Drain',
        async run(run) {
          run.deps.log.push(`drain ${run.input.node}`)
          await run.signalled(go)
          if (run.deps.fail === true) throw new Error('broken')
        },
        undo: async (run) => void run.deps.log.push(`undrain ${run.input.node}`),
      },
    ],
  })
  const parent = defineJob<typeof fixture>()({
    type: `test.${name}-parent`,
    resource_type: 'TEST',
    input: Type.Object({}),
    on_failure: 'undo',
    undo: async ({ deps }) => void deps.log.push('parent undone'),
    steps: [
      {
        name: 'drains',
        title: 'Drain the nodes',
        async run(run) {
          for (const node of ['a', 'bb'])
            await run.startChild(node, child, { input: { node }, description: `Drain ${node}.` })
          const results = [await run.childResult('a', child), await run.childResult('bb', child)]
          run.deps.log.push(`moved ${results.map(({ moved }) => moved).join()}`)
        },
      },
    ],
  })
  return { go, bound: [bindJob(parent, fixture), bindJob(child, fixture)] as const }
}

async function childrenOf({ database }: JobProcess, parent: string): Promise<string[]> {
  const { rows } = await database.pool.query('select id from job where parent_id = $1 order by child_name', [parent])
  return rows.map((row) => row.id as string)
}

test('a child is admitted once though its parent crashes, the parent waits without a slot, and gets its results', async () => {
  const fixture = { log: [] as string[] }
  const { go, bound } = parentAndChild(fixture, 'once')
  const crash = crashOnceAt('drains:child')
  const first = await replica([...bound], { slots: 1, ...crash })
  const { id } = await admit(first, bound[0], {})
  await until('the planted crash', crash.crashed)
  await first.die()
  const second = await replica([...bound], { slots: 1 })
  const children = await until('both children', async () => {
    const found = await childrenOf(second, id)
    return found.length >= 2 && found
  })
  assert.equal(children.length, 2)
  for (const child of children) await waiting(second, child)
  for (const child of children) await second.engine.signal(child, go, null)
  assert.equal((await ended(second, id)).job_status, 'completed')
  assert.equal(fixture.log.at(-1), 'moved 1,2')
})

test('the failure of a child fails the step of its parent with its reason, and ends the other children first', async () => {
  const fixture = { log: [] as string[], fail: true }
  const { go, bound } = parentAndChild(fixture, 'failing')
  const process = await replica([...bound])
  const { id } = await admit(process, bound[0], {})
  await until('both drains have begun', () => fixture.log.length >= 2)
  const [failing = '', other = ''] = await childrenOf(process, id)
  await process.engine.signal(failing, go, null)
  const job = await ended(process, id)
  const child = await process.engine.find(failing)
  assert.deepEqual([job.job_status, job.failure_reason], ['failed', child?.failure_reason])
  assert.equal((await process.engine.find(other))?.failure_code, 'JOB_CANCELLED')
  assert.deepEqual(fixture.log.slice(-2).sort(), ['parent undone', 'undrain bb'])
  assert.equal(fixture.log.at(-1), 'parent undone')
})

test('a cancel passes to the children, and the parent undoes what it did when they have ended', async () => {
  const fixture = { log: [] as string[] }
  const { bound } = parentAndChild(fixture, 'cancelled')
  const [first, second] = [await replica([...bound]), await replica([...bound])]
  const { id } = await admit(first, bound[0], {})
  await until('both drains have begun', () => fixture.log.length >= 2)
  await second.engine.cancel(id, SYSTEM)
  assert.equal((await ended(second, id)).failure_code, 'JOB_CANCELLED')
  assert.deepEqual(fixture.log.slice(2).sort(), ['parent undone', 'undrain a', 'undrain bb'])
  assert.equal(fixture.log.at(-1), 'parent undone')
})
