// The walk that every kind of job passes: a crash at every point, a failure at every step, every step run twice. After
// each the next process must bring the job to its end, and everything must be as one clean run leaves it.
import type { BoundJob, Run, Step } from '#src/jobs/define.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { admit, crashAt, type JobProcess, startJobProcess, testKeyring } from './job-process.ts'
import { type Connection, createTestDatabase, type TestDatabase } from './test-database.ts'

export interface Walk<Fixture> {
  /** A fresh fixture and the job that acts on it; with a connection where the job writes to its database, too. */
  make(): Promise<Made<Fixture>>
  /** Throws unless the fixture is as one clean, completed run leaves it. */
  completed(fixture: Fixture, job: JobRow, where: string): Promise<void> | void
  /** Throws unless the fixture is as a failed (and, where so defined, undone) run may leave it. */
  failed(fixture: Fixture, job: JobRow, where: string): Promise<void> | void
}

interface Made<Fixture> {
  fixture: Fixture
  bound: BoundJob
  input: unknown
  /** The database for the job; one of its own when left out. */
  connection?: Connection
}

const END_MS = 20_000

/** Names of the points that one clean run passes. */
export async function pointsOf<Fixture>(walk: Walk<Fixture>): Promise<string[]> {
  const counter = crashAt(0)
  await runOnce(walk, counter.at, async (process, bound, input) =>
    ended(process, (await admit(process, bound, input)).id),
  )
  return counter.seen
}

/** Kills the process at each point in turn; another one finishes. */
export async function crashEverywhere<Fixture>(walk: Walk<Fixture>): Promise<number> {
  const points = await pointsOf(walk)
  for (const [index, point] of points.entries()) {
    const { fixture, bound, input, ...made } = await walk.make()
    const database = await databaseFor(made)
    const keyring = testKeyring()
    const { connection } = database
    const first = await startJobProcess({ connection, keyring, bound: [bound], at: crashAt(index + 1).at })
    const { id } = await admit(first, bound, input)
    await waitUntilLetGo(first)
    await first.die()
    const second = await startJobProcess({ connection, keyring, bound: [bound] })
    const job = await ended(second, id)
    await second.stop()
    await database.drop()
    if (job.job_status === 'completed') await walk.completed(fixture, job, `crash at ${point}`)
    else await walk.failed(fixture, job, `crash at ${point}`)
  }
  return points.length
}

/** Makes each step's act fail in turn, for good. */
export async function failEverywhere<Fixture>(walk: Walk<Fixture>): Promise<number> {
  const { bound: model } = await walk.make()
  for (const { name } of model.definition.steps) {
    const { fixture, bound, ...made } = await walk.make()
    const broken = withStep(bound, name, (step) => ({
      ...step,
      async run(run: Run<unknown, unknown>) {
        await step.run(run)
        throw new ApiError('INTERNAL_ERROR', `planted failure of ${name}`)
      },
    }))
    await runOnce(
      { ...walk, make: async () => ({ ...made, fixture, bound: broken }) },
      undefined,
      async (process, job_bound, job_input) => {
        const job = await ended(process, (await admit(process, job_bound, job_input)).id)
        if (job.job_status === 'completed') await walk.completed(fixture, job, `failure of ${name}`)
        else await walk.failed(fixture, job, `failure of ${name}`)
        return job
      },
    )
  }
  return model.definition.steps.length
}

/** Runs every step's act twice in a row: it must be safe to repeat. */
export async function repeatEverywhere<Fixture>(walk: Walk<Fixture>): Promise<void> {
  const { fixture, bound, ...made } = await walk.make()
  let twice = bound
  for (const { name } of bound.definition.steps) {
    twice = withStep(twice, name, (step) => ({
      ...step,
      async run(run: Run<unknown, unknown>) {
        await step.run(run)
        await step.run(run)
      },
    }))
  }
  await runOnce(
    { ...walk, make: async () => ({ ...made, fixture, bound: twice }) },
    undefined,
    async (process, job_bound, job_input) => {
      const job = await ended(process, (await admit(process, job_bound, job_input)).id)
      await walk.completed(fixture, job, 'every step twice')
      return job
    },
  )
}

function withStep(
  bound: BoundJob,
  name: string,
  change: (step: Step<unknown, unknown>) => Step<unknown, unknown>,
): BoundJob {
  const steps = bound.definition.steps.map((step) => (step.name === name ? change(step) : step))
  return bindJob({ ...bound.definition, steps }, bound.deps)
}

async function runOnce<Fixture>(
  walk: Walk<Fixture>,
  at: ((point: string) => void) | undefined,
  work: (process: JobProcess, bound: BoundJob, input: unknown) => Promise<JobRow>,
): Promise<JobRow> {
  const { bound, input, ...made } = await walk.make()
  const database = await databaseFor(made)
  const process = await startJobProcess({
    connection: database.connection, keyring: testKeyring(), bound: [bound], ...(at === undefined ? {} : { at }),
  }) // biome-ignore format: short names
  try {
    return await work(process, bound, input)
  } finally {
    await process.stop()
    await database.drop()
  }
}

async function databaseFor({ connection }: { connection?: Connection }): Promise<TestDatabase> {
  return connection === undefined ? createTestDatabase() : { connection, drop: () => Promise.resolve() }
}

export async function ended(process: JobProcess, id: string): Promise<JobRow> {
  const job = await process.engine.wait(id, { timeout_ms: END_MS })
  if (job.job_status === 'running') throw new Error(`the job did not end: ${job.status}`)
  return job
}

async function waitUntilLetGo(process: JobProcess): Promise<void> {
  const { until } = await import('./until.ts')
  await until('the planted crash', () => process.engine.running() === 0)
}
