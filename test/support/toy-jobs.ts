// What the tests of the engine share: replicas over one database that end with the test, planted crashes, a clock.
import { after, before } from 'node:test'
import type { BoundJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { CrashForTest } from '#src/jobs/runner.ts'
import { type JobProcess, type ProcessOptions, startJobProcess, testKeyring } from './job-process.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'
import { until } from './until.ts'

export function replicasOfFile() {
  let database: TestDatabase
  const keyring = testKeyring()
  const started: JobProcess[] = []
  before(async () => {
    database = await createTestDatabase()
  })
  after(async () => {
    await Promise.all(started.map((one) => one.stop().catch(() => {})))
    await database.drop()
  })
  return async (bound: BoundJob[], more: Partial<ProcessOptions> = {}): Promise<JobProcess> => {
    const replica = await startJobProcess({ connection: database.connection, keyring, bound, ...more })
    started.push(replica)
    return replica
  }
}

/**
 * Ends the run at this point as a killed process would; the first time only. The process leaves the job to others for as long as
 * in production, so that it is dead before it would take it up again itself.
 */
export function crashOnceAt(point: string) {
  let crashed = false
  return {
    wait_factor: 1,
    crashed: (): boolean => crashed,
    at(reached: string): void {
      if (crashed || reached !== point) return
      crashed = true
      throw new CrashForTest(point)
    },
  }
}

export function testClock() {
  let ahead_ms = 0
  return { now: () => new Date(Date.now() + ahead_ms), advance: (ms: number) => void (ahead_ms += ms) }
}

/** The job when no process holds it and it is told to wait. */
export function waiting(replica: JobProcess, id: string): Promise<JobRow> {
  return until('the job waits without a process', async () => {
    const row = await replica.engine.find(id)
    return row !== undefined && row.executor === null && row.wake_at !== null && replica.engine.running() === 0 && row
  })
}
