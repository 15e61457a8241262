// A process of its own that runs small jobs: started by the test of several replicas, told by messages what to do.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { Type } from 'typebox'
import { bindJob, defineJob } from '#src/jobs/define.ts'
import type { Database } from '#src/store/database.ts'
import { openKeyring } from '#src/kernel/keyring.ts'
import { admit, type JobProcess, startJobProcess } from './job-process.ts'

const ACT_MS = 30
const STEPS = ['one', 'two', 'three']

const { connection, keys, slots } = JSON.parse(process.argv[2] ?? '{}')
const fixture: { database?: Database; engine?: JobProcess['engine'] } = {}

/** Each act leaves a row that says which process did it, and how many jobs it ran then. */
const bound = bindJob(
  defineJob<typeof fixture>()({
    type: 'test.spread',
    resource_type: 'TEST',
    input: Type.Object({}),
    steps: STEPS.map((name) => ({
      name,
      title: `Do ${name}`,
      holds: async ({ deps, job_id }) => {
        const { rows } = await sql`select from act where job_id = ${job_id} and step = ${name}`.execute(db(deps))
        return rows.length > 0
      },
      run: async ({ deps, job_id, signal }) => {
        await pause(ACT_MS, undefined, { signal })
        const running = deps.engine?.running() ?? 0
        await sql`insert into act values (${job_id}, ${name}, ${process.pid}, ${running})`.execute(db(deps))
      },
    })),
  }),
  fixture,
)

function db({ database }: typeof fixture): Database['db'] {
  if (database === undefined) throw new Error('the worker has not started')
  return database.db
}

const worker = await startJobProcess({ connection, keyring: openKeyring(keys), bound: [bound], slots })
Object.assign(fixture, { database: worker.database, engine: worker.engine })
async function admitMany(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await admit(worker, bound, {})
}
process.on('message', (count: number) => void admitMany(count))
process.on('disconnect', () => void worker.stop().then(() => process.exit()))
process.send?.('ready')
