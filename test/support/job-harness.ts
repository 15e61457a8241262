// The walk that every kind of job passes: a crash at every point, a failure at every step, every step run twice. After
// each the next process must bring the job to its end, and everything must be as one clean run leaves it. Points are what
// the engine has written, and, where the fixture is made with `withSentPoints`, each change between its sending and its answer.
import assert from 'node:assert/strict'
import type { BoundJob, Run, Step } from '#src/jobs/define.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import { createLog } from '#src/kernel/log.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import {
  admit,
  type Crash,
  crashAgain,
  crashAtNew,
  type JobProcess,
  startJobProcess,
  testKeyring,
} from './job-process.ts'
import { type Connection, createTestDatabase, type TestDatabase } from './test-database.ts'
import { until } from './until.ts'

export interface Walk<Fixture> {
  /** A fresh fixture and the job that acts on it; with a connection where the job writes to its database, too. */
  make(): Promise<Made<Fixture>>
  /** Throws unless the fixture is as one clean, completed run leaves it. */
  completed(fixture: Fixture, job: JobRow, where: string): Promise<void> | void
  /** Throws unless the fixture is as a failed (and, where so defined, undone) run may leave it. */
  failed(fixture: Fixture, job: JobRow, where: string): Promise<void> | void
  /**
   * Where it is worth being killed, for jobs of very many steps: what the engine writes at the start and the end of a step
   * is walked by others. Everywhere when left out.
   */
  points?: RegExp
  /** Steps that are worth failing, where another walk fails the rest. All of them when left out. */
  steps?: readonly string[]
  /** Why a job whose process was killed may fail. Left out: it must complete, for a kill is no reason to undo anything. */
  may_fail?: string
}

interface Made<Fixture> {
  fixture: Fixture
  bound: BoundJob
  input: unknown
  /** Kinds of jobs that it starts as its children. */
  children?: readonly BoundJob[]
  /** The database for the job; one of its own when left out. */
  connection?: Connection
}

const END_MS = 120_000
const POOL_SIZE = 4
const SILENT = createLog({ level: 'silent' })

/** Of the process that is to be killed. */
let walking: Crash | undefined

/**
 * The same object, with a point of the walk after each change that the other side has carried out and before its answer is
 * read. `nameOf` names the calls that change something.
 */
export function withSentPoints<T extends object>(
  target: T,
  nameOf: (method: string, args: readonly unknown[]) => string | undefined,
): T {
  return new Proxy(target, {
    get(_target, property) {
      const member: unknown = Reflect.get(target, property, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const name = nameOf(String(property), args)
        const call = (): unknown => Reflect.apply(member, target, args)
        return name === undefined ? call() : send(name, call)
      }
    },
  })
}

const READ = /^(list|get|query|find)/

/** Changes of the platform's client: every command that is no read. */
export function platformChanges(method: string, [command]: readonly unknown[]): string | undefined {
  return method === 'call' && !READ.test(String(command)) ? String(command) : undefined
}

/** One change with its point; a process that is dead sends nothing. */
export async function send<T>(name: string, call: () => T | Promise<T>): Promise<T> {
  walking?.requireAlive()
  const answer = await call()
  walking?.at(`${name}:sent`)
  return answer
}

/** Kills the process at each point in turn; another one finishes. Answers the points. */
export async function crashEverywhere<Fixture>(walk: Walk<Fixture>): Promise<string[]> {
  const points: string[] = []
  const died_at = new Set<string>()
  await using database = databaseOfWalk()
  for (;;) {
    const { fixture, bound, input, children = [], ...made } = await walk.make()
    const place = { ...(await database.of(made)), keyring: testKeyring(), bound: [bound, ...children] }
    const crash = crashAtNew(died_at, walk.points)
    const first = await startJobProcess({ ...place, crash })
    walking = crash
    const { id } = await admit(first, bound, input)
    await until('the planted crash, or the end', async () =>
      crash.point === undefined ? isOver(await first.engine.find(id)) : first.engine.running() === 0,
    )
    const { point } = crash
    if (point === undefined) {
      walking = undefined
      const job = await lastOf(first, id)
      await check(walk, fixture, job, 'no crash')
      return points
    }
    await first.die()
    walking = undefined
    const second = await startJobProcess(place)
    const job = await lastOf(second, id)
    await check(walk, fixture, job, `crash at ${point}`)
    points.push(point)
  }
}

/**
 * Kills at each point in turn within one and the same job: every process but the last one dies, and each goes on where the one
 * before it died. For jobs whose fixture is dear. Answers the points.
 */
export async function crashInTurn<Fixture>(walk: Walk<Fixture>): Promise<string[]> {
  const deaths = new Map<string, number>()
  await using database = databaseOfWalk()
  const { fixture, bound, input, children = [], ...made } = await walk.make()
  const place = { ...(await database.of(made)), keyring: testKeyring(), bound: [bound, ...children] }
  let id: string | undefined
  for (;;) {
    const crash = crashAgain(deaths, walk.points)
    // From the second process on the job is there already, and goes on before the start has ended.
    walking = crash
    const process = await startJobProcess({ ...place, crash })
    const job_id = (id ??= (await admit(process, bound, input)).id)
    await until(
      'the planted crash, or the end',
      async () =>
        crash.point === undefined ? isOver(await process.engine.find(job_id)) : process.engine.running() === 0,
      END_MS,
    )
    if (crash.point === undefined) {
      walking = undefined
      const job = await lastOf(process, job_id)
      await check(walk, fixture, job, `crashes at ${[...deaths.keys()].join()}`)
      return [...deaths.keys()]
    }
    await process.die()
    walking = undefined
  }
}

async function check<Fixture>(walk: Walk<Fixture>, fixture: Fixture, job: JobRow, where: string): Promise<void> {
  if (job.job_status === 'completed') return walk.completed(fixture, job, where)
  const failure = `${where}: the job failed at ${job.failed_step}: ${job.failure_reason}`
  assert.ok(walk.may_fail !== undefined, failure)
  return walk.failed(fixture, job, failure)
}

const isOver = (job: JobRow | undefined): boolean => job !== undefined && job.job_status !== 'running'

/** One database, and one set of connections, for all processes of a walk. */
function databaseOfWalk() {
  let own: TestDatabase | undefined
  let opened: { connection: Connection; database: Database } | undefined
  return {
    async of({ connection }: { connection?: Connection }) {
      if (opened !== undefined) return opened
      own = connection === undefined ? await createTestDatabase() : undefined
      const there = connection ?? own?.connection ?? assert.fail()
      opened = { connection: there, database: openDatabase({ connection: there, pool_size: POOL_SIZE, log: SILENT }) }
      return opened
    },
    async [Symbol.asyncDispose]() {
      await opened?.database.close()
      await own?.drop()
    },
  }
}

/** Makes each step's act fail in turn, for good. */
export async function failEverywhere<Fixture>(walk: Walk<Fixture>): Promise<number> {
  await using database = databaseOfWalk()
  const { bound: model } = await walk.make()
  const names = walk.steps ?? model.definition.steps.map(({ name }) => name)
  for (const name of names) {
    const { fixture, bound, ...made } = await walk.make()
    const broken = withStep(bound, name, (step) => ({
      ...step,
      async run(run: Run<unknown, unknown>) {
        await step.run(run)
        throw new ApiError('INTERNAL_ERROR', `planted failure of ${name}`)
      },
    }))
    const job = await runOnce({ ...made, bound: broken }, database)
    if (job.job_status === 'completed') await walk.completed(fixture, job, `failure of ${name}`)
    else await walk.failed(fixture, job, `failure of ${name}`)
  }
  return names.length
}

/** Runs every step's act twice in a row: it must be safe to repeat. */
export async function repeatEverywhere<Fixture>(walk: Walk<Fixture>): Promise<void> {
  await using database = databaseOfWalk()
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
  const job = await runOnce({ ...made, bound: twice }, database)
  await walk.completed(fixture, job, `every step twice, ${job.job_status}: ${job.failure_reason ?? job.status}`)
}

function withStep(
  bound: BoundJob,
  name: string,
  change: (step: Step<unknown, unknown>) => Step<unknown, unknown>,
): BoundJob {
  const steps = bound.definition.steps.map((step) => (step.name === name ? change(step) : step))
  return bindJob({ ...bound.definition, steps }, bound.deps)
}

/** One run of a job in a process of its own, to its end. */
async function runOnce<Fixture>(
  { bound, input, children = [], ...made }: Omit<Made<Fixture>, 'fixture'>,
  database: ReturnType<typeof databaseOfWalk>,
): Promise<JobRow> {
  const known = [bound, ...children]
  const process = await startJobProcess({ ...(await database.of(made)), keyring: testKeyring(), bound: known })
  try {
    const job = await ended(process, (await admit(process, bound, input)).id)
    // A failed job may be followed by one that sets things right.
    for (const { id } of (await readJobFacts(process.database.db, job.id)).children) await ended(process, id)
    return job
  } finally {
    await process.stop()
  }
}

/** Waits for the end of the job, the last one of this process, and stops the process, however that ends. */
export async function lastOf(process: JobProcess, id: string): Promise<JobRow> {
  try {
    return await ended(process, id)
  } finally {
    await process.stop()
  }
}

export async function ended(process: JobProcess, id: string): Promise<JobRow> {
  const job = await process.engine.wait(id, { timeout_ms: END_MS })
  if (job.job_status === 'running') throw new Error(`the job did not end: ${job.status}`)
  return job
}
