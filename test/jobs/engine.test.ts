// What the engine guarantees to every job, shown on small jobs that act on a fixture of their own.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Type } from 'typebox'
import { bindJob, type BoundJob, defineJob } from '#src/jobs/define.ts'
import { type ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import { JOB_NOTIFY } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import { crashEverywhere, ended, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** A house of named things; building one that stands is a mistake that the fixture would notice. */
interface Fixture {
  things: Set<string>
  built: string[]
}

const building = (on_failure: 'stop' | 'undo') =>
  defineJob<Fixture>()({
    type: 'test.build',
    resource_type: 'TEST',
    input: Type.Object({ secret: Type.String() }),
    on_failure,
    steps: ['floor', 'wall', 'roof'].map((name) => ({
      name,
      title: `Build the ${name}`,
      holds: async ({ deps }) => deps.things.has(name),
      async run(run) {
        await run.save({ [name]: 'planned' })
        if (run.deps.things.has(name)) return
        run.deps.things.add(name)
        run.deps.built.push(name)
      },
      undo: async ({ deps }) => void deps.things.delete(name),
    })),
    done: () => 'The house stands.',
  })

function walk(on_failure: 'stop' | 'undo'): Walk<Fixture> {
  return {
    make: async () => {
      const fixture: Fixture = { things: new Set(), built: [] }
      return { fixture, bound: bindJob(building(on_failure), fixture), input: { secret: 'planted-secret-7' } }
    },
    completed: (fixture, job, where) => {
      assert.deepEqual([...fixture.things].sort(), ['floor', 'roof', 'wall'], where)
      assert.deepEqual(fixture.built, ['floor', 'wall', 'roof'], where)
      assert.equal(job.progress, 100, where)
    },
    failed: (fixture, job, where) => {
      if (on_failure === 'undo') assert.deepEqual([...fixture.things], [], where)
      assert.equal(job.job_status, 'failed', where)
    },
  }
}

let database: TestDatabase
before(async () => {
  database = await createTestDatabase()
})
after(() => database.drop())

test('a job killed at any point is finished by another process, and nothing is built twice', async () => {
  assert.ok((await crashEverywhere(walk('stop'))).length >= 10)
})

test('a job that undoes itself leaves nothing behind, whichever step fails', async () => {
  assert.equal(await failEverywhere(walk('undo')), 3)
})

test('a process with two jobs of one type does not start', async () => {
  const { bound } = await walk('stop').make()
  const starting = startJobProcess({ connection: database.connection, keyring: testKeyring(), bound: [bound, bound] })
  await assert.rejects(starting, /two jobs are of the type test\.build; rename one of them/)
})

test('every step may run twice', () => repeatEverywhere(walk('stop')))

test('a frozen process that wakes up writes nothing: the job belongs to the one that took it over', async () => {
  const keyring = testKeyring()
  let release = (): void => {}
  const frozen = new Promise<void>((resolve) => {
    release = resolve
  })
  const acted: string[] = []
  const slow = (who: string): BoundJob =>
    bindJob(
      defineJob<string>()({
        type: 'test.slow',
        resource_type: 'TEST',
        input: Type.Object({}),
        steps: [
          {
            name: 'act',
            title: 'Act',
            async run(run) {
              acted.push(run.deps)
              if (run.deps === 'first') await frozen
              await run.save({ by: run.deps })
            },
          },
        ],
      }),
      who,
    )
  const { connection } = database
  const first = await startJobProcess({ connection, keyring, bound: [slow('first')] })
  const { id } = await admit(first, slow('first'), {})
  await until('the first process acts', () => acted.includes('first'))
  await first.database.db.deleteFrom('replica').where('id', '=', first.replica_id).execute()
  await first.database.db.updateTable('job').set({ executor: null }).where('id', '=', id).execute()
  const second = await startJobProcess({ connection, keyring, bound: [slow('second')] })
  const job = await ended(second, id)
  release()
  await until('the first process lets go', () => first.engine.running() === 0)
  assert.equal(job.job_status, 'completed')
  assert.equal((await second.engine.find(id))?.epoch, job.epoch)
  assert.deepEqual(acted, ['first', 'second'])
  await first.stop()
  await second.stop()
})

test('a job that is admitted while its process takes others is run once', async () => {
  let acts = 0
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const bound = bindJob(
    defineJob<null>()({
      type: 'test.admitted-while-taking',
      resource_type: 'TEST',
      input: Type.Object({}),
      steps: [
        {
          name: 'act',
          title: 'Act',
          async run() {
            acts += 1
            await held
          },
        },
      ],
    }),
    null,
  )
  const process = await startJobProcess({ connection: database.connection, keyring: testKeyring(), bound: [bound] })
  const { db } = process.database
  const takersWaiting = async (): Promise<number> => {
    const { rows } = await sql<{ waiting: number }>`select count(*)::int as waiting from pg_locks
      where locktype = 'advisory' and objid = ${LOCKS.job_claims} and not granted
        and database = (select oid from pg_database where datname = current_database())`.execute(db)
    return rows[0]?.waiting ?? 0
  }
  const id = await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${LOCKS.job_claims})`.execute(trx)
    await sql`select pg_notify(${JOB_NOTIFY}, '')`.execute(db)
    await until('the process is about to take jobs', async () => (await takersWaiting()) === 1)
    const job = await admit(process, bound, {})
    await until('the job runs', () => acts === 1)
    return job.id
  })
  await until('the process has looked for jobs', async () => (await takersWaiting()) === 0)
  await sql`select pg_notify(${JOB_NOTIFY}, '')`.execute(db)
  release()
  const job = await ended(process, id)
  await process.stop()
  assert.deepEqual([job.job_status, job.epoch, acts], ['completed', 1, 1])
})

test('a cancelled job ends failed with the reason, undoes what it did, and cannot be cancelled twice', async () => {
  const fixture: Fixture = { things: new Set(), built: [] }
  const definition = building('undo')
  const [floor, wall] = definition.steps
  assert.ok(floor && wall)
  const hanging = {
    ...wall,
    run: (run: Parameters<typeof wall.run>[0]) =>
      new Promise<void>((_resolve, reject) => run.signal.addEventListener('abort', () => reject(new Error('aborted')))),
  }
  const bound = bindJob({ ...definition, type: 'test.cancel', steps: [floor, hanging] }, fixture)
  const process = await startJobProcess({ connection: database.connection, keyring: testKeyring(), bound: [bound] })
  const { id } = await admit(process, bound, { secret: 'x' })
  await until('the floor is built', () => fixture.things.has('floor'))
  await process.engine.cancel(id, SYSTEM)
  const job = await ended(process, id)
  assert.equal(job.failure_code, 'JOB_CANCELLED')
  assert.equal(job.failure_reason, 'cancelled')
  assert.deepEqual([...fixture.things], [])
  await assert.rejects(process.engine.cancel(id, SYSTEM), (error: ApiError) => error.code === 'JOB_NOT_CANCELLABLE')
  await process.stop()
})

test('an error that may pass is tried again by itself; one that will not fails at once', async () => {
  const tried = { passing: 0, lasting: 0 }
  const failing = (kind: 'passing' | 'lasting'): BoundJob =>
    bindJob(
      defineJob<null>()({
        type: `test.${kind}`,
        resource_type: 'TEST',
        input: Type.Object({}),
        steps: [
          {
            name: 'try',
            title: 'Try',
            async run() {
              tried[kind] += 1
              const options = { upstream: 'COMPUTE', operation: 'x', failure: 'unavailable' } as const
              if (kind === 'lasting' || tried.passing < 3)
                throw new UpstreamError({ ...options, retryable: kind === 'passing' })
            },
          },
        ],
      }),
      null,
    )
  const bound = [failing('passing'), failing('lasting')]
  const process = await startJobProcess({ connection: database.connection, keyring: testKeyring(), bound })
  const passed = await ended(process, (await admit(process, bound[0] as BoundJob, {})).id)
  const failed = await ended(process, (await admit(process, bound[1] as BoundJob, {})).id)
  await process.stop()
  assert.deepEqual([passed.job_status, tried.passing], ['completed', 3])
  assert.deepEqual([failed.job_status, failed.failure_code, tried.lasting], ['failed', 'COMPUTE_UNAVAILABLE', 1])
})

test('a job whose connection to the database ends goes on where it was, and undoes nothing', async () => {
  const did: string[] = []
  const bound = bindJob(
    defineJob<null>()({
      type: 'test.cut',
      resource_type: 'TEST',
      input: Type.Object({}),
      on_failure: 'undo',
      steps: [
        {
          name: 'act',
          title: 'Act',
          async run(run) {
            did.push(`act ${run.attempt}`)
            const cut = run.attempt > 1 ? sql`select 1` : sql`select pg_terminate_backend(pg_backend_pid())`
            await run.fenced((trx) => cut.execute(trx))
          },
          undo: async () => void did.push('undo'),
        },
      ],
    }),
    null,
  )
  const process = await startJobProcess({ connection: database.connection, keyring: testKeyring(), bound: [bound] })
  const job = await ended(process, (await admit(process, bound, {})).id)
  await process.stop()
  assert.deepEqual([job.job_status, job.failure_reason, did], ['completed', null, ['act 1', 'act 2']])
})

test('what a job was given and what it saved is encrypted in the database', async () => {
  const { make } = walk('stop')
  const { bound, input } = await make()
  const process = await startJobProcess({ connection: database.connection, keyring: testKeyring(), bound: [bound] })
  const { id } = await admit(process, bound, input)
  await ended(process, id)
  const row = await process.engine.find(id)
  await process.stop()
  assert.doesNotMatch(JSON.stringify(row), /planted-secret-7/)
})

test('a once step that was interrupted and whose outcome cannot be told ends failed, and is not repeated', async () => {
  let acts = 0
  const bound = bindJob(
    defineJob<null>()({
      type: 'test.once',
      resource_type: 'TEST',
      input: Type.Object({}),
      steps: [
        {
          name: 'fire',
          title: 'Fire',
          kind: 'once',
          holds: async () => 'unknown' as const,
          outstanding: 'Look whether it burns.',
          async run() {
            acts += 1
          },
        },
      ],
    }),
    null,
  )
  const keyring = testKeyring()
  const { connection } = database
  const { crashAt } = await import('../support/job-process.ts')
  const first = await startJobProcess({ connection, keyring, bound: [bound], crash: crashAt(2) })
  const { id } = await admit(first, bound, {})
  await until('the planted crash', () => first.engine.running() === 0)
  await first.die()
  const second = await startJobProcess({ connection, keyring, bound: [bound] })
  const job = await ended(second, id)
  await second.stop()
  assert.deepEqual([acts, job.job_status, job.failure_code], [1, 'failed', 'JOB_INTERRUPTED'])
})
