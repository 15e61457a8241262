// What jobs leave to a person is closed by itself only by an answer that is newer than the job's last run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { bindJob, defineJob } from '#src/jobs/define.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { ended } from '../support/job-harness.ts'
import { admit } from '../support/job-process.ts'
import { replicasOfFile } from '../support/toy-jobs.ts'
import { until } from '../support/until.ts'

const replica = replicasOfFile()

const CLEAN = 'Look whether the disk is empty.'

interface Disk {
  /** Null: nobody can tell. */
  is_empty: boolean | null
  /** Called when the disk was read, before the answer is used. */
  afterRead: () => Promise<void>
}

/** Leaves a disk to a person, then fails once; a retry writes to the disk. */
const disk_job = defineJob<Disk>()({
  type: 'test.disk',
  resource_type: 'TEST',
  input: Type.Object({ fails: Type.Boolean(), asks: Type.Array(Type.String()) }),
  steps: [
    {
      name: 'wipe',
      title: 'Wipe the disk',
      async holds({ deps }) {
        const { is_empty } = deps
        await deps.afterRead()
        return is_empty ?? 'unknown'
      },
      run: async () => {},
      outstanding: async ({ input }) => input.asks,
    },
    {
      name: 'write',
      title: 'Write to the disk',
      async run({ deps, input }) {
        if (input.fails) throw new ApiError('NODE_STATE', 'The disk is locked.')
        deps.is_empty = false
      },
    },
  ],
})

async function leftBehind() {
  const disk: Disk = { is_empty: null, afterRead: async () => {} }
  const bound = bindJob(disk_job, disk)
  const process = await replica([bound])
  const { engine, database } = process
  const { id } = await admit(process, bound, { fails: true, asks: [CLEAN] })
  const job = await ended(process, id)
  assert.equal(job.job_status, 'failed', job.status)
  return {
    disk,
    recheck: () => engine.recheckOutstanding(AbortSignal.timeout(60_000)),
    left: async () => (await readJobFacts(database.db, id)).outstanding,
    async retry(asks: string[]) {
      await engine.retry(id, disk_job, { input: { fails: false, asks } })
      const again = await ended(process, id)
      assert.equal(again.job_status, 'completed', again.status)
    },
  }
}

test('an answer from before a retry closes nothing: the retry may have changed what it was about', async () => {
  const { disk, recheck, left, retry } = await leftBehind()
  let goOn = (): void => {}
  let is_read = false
  disk.is_empty = true
  disk.afterRead = () =>
    new Promise((resolve) => {
      is_read = true
      goOn = resolve
    })
  const checked = recheck()
  await until('the disk was read', () => is_read)
  await retry([CLEAN])
  goOn()
  await checked
  assert.deepEqual(await left(), [CLEAN])
  disk.afterRead = async () => {}
  await recheck()
  assert.deepEqual(await left(), [CLEAN], 'it is not empty any more')
  disk.is_empty = true
  await recheck()
  assert.deepEqual(await left(), [])
})

test('what a retry does not ask for any more stays with the person until it has come true', async () => {
  const { disk, recheck, left, retry } = await leftBehind()
  await retry([])
  await recheck()
  assert.deepEqual(await left(), [CLEAN])
  disk.is_empty = true
  await recheck()
  assert.deepEqual(await left(), [])
})

test('what a retry says in other words takes the place of what was left before', async () => {
  const { recheck, left, retry } = await leftBehind()
  await retry(['Look at the disk: it was not wiped.'])
  await recheck()
  assert.deepEqual(await left(), ['Look at the disk: it was not wiped.'])
})
