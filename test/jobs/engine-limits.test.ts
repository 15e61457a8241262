// Limits of jobs over all replicas: those of node lifecycles as data (one job a node, one decommission a cluster, four set-ups).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { bindJob, defineJob } from '#src/jobs/define.ts'
import type { ApiError } from '#src/kernel/errors.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import { ended } from '../support/job-harness.ts'
import { admit, type JobProcess } from '../support/job-process.ts'
import { replicasOfFile, waiting } from '../support/toy-jobs.ts'
import { until } from '../support/until.ts'

const replica = replicasOfFile()
const finish = { name: 'finish', payload: Type.Null() }

interface Fixture {
  started: string[]
  setups: number
}

const setup = defineJob<Fixture>()({
  type: 'node.setup',
  resource_type: 'NODE',
  input: Type.Object({ node: Type.String(), cluster: Type.String(), management: Type.Boolean() }),
  limits: [
    { of: ({ node }) => `node ${node}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
    { of: ({ cluster }) => `the cluster ${cluster}`, most: 2 },
    { of: ({ management }) => (management ? 'management roles' : undefined), most: 1 },
    { of: () => 'set-ups of nodes', most: ({ setups }) => setups },
  ],
  steps: [
    {
      name: 'install',
      title: 'Install',
      async run(run) {
        if (run.attempt === 1) run.deps.started.push(run.input.node)
        await run.signalled(finish)
      },
    },
  ],
})

const order = (node: string, cluster = node, management = false) => ({ node, cluster, management })

/** Ids in the order of admission. */
async function admitAll(process: JobProcess, inputs: unknown[], bound: Parameters<typeof admit>[1]): Promise<string[]> {
  const ids: string[] = []
  for (const input of inputs) ids.push((await admit(process, bound, input)).id)
  return ids
}

test('a second job of a node is refused while one runs, whichever replica is asked, and the rejection names that job', async () => {
  const bound = bindJob({ ...setup, type: 'node.refused' }, { started: [], setups: 9 })
  const [first, second] = [await replica([bound]), await replica([bound])]
  const tries = await Promise.allSettled([first, second, first, second].map((one) => admit(one, bound, order('n1'))))
  const admitted = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value.id] : []))
  const refused = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason as ApiError] : []))
  assert.equal(admitted.length, 1)
  for (const error of refused) {
    assert.equal(error.code, 'NODE_JOB_RUNNING')
    assert.equal(error.message, `Job ${admitted[0]} is running for node n1; wait for its end or cancel it.`)
  }
  const end = async (id: string): Promise<void> => {
    await second.engine.signal(id, finish, null)
    assert.equal((await ended(second, id)).job_status, 'completed')
  }
  await end((await admit(first, bound, order('n2', 'n1'))).id)
  await end(admitted[0] ?? '')
  await end((await admit(second, bound, order('n1'))).id)
})

test('jobs beyond a limit wait, are seen to wait, and start in order when a place is free, over two replicas', async () => {
  const fixture: Fixture = { started: [], setups: 4 }
  const bound = bindJob({ ...setup, type: 'node.queued' }, fixture)
  const [first, second] = [await replica([bound]), await replica([bound])]
  const nodes = ['q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7']
  const ids = await admitAll(first, nodes.map((node) => order(node)), bound) // biome-ignore format: one line
  for (const id of ids.slice(0, 4)) await waiting(second, id)
  assert.deepEqual(fixture.started.toSorted(), nodes.slice(0, 4))
  const queued = await first.engine.find(ids[4] ?? '')
  assert.equal(queued?.status, 'Waiting for a free place: at most 4 at once for set-ups of nodes.')
  // A waiting job keeps its place; one that waits for a place is cancelled without acting.
  await second.engine.cancel(ids[5] ?? '', SYSTEM)
  assert.equal((await ended(first, ids[5] ?? '')).failure_code, 'JOB_CANCELLED')
  for (const [index, next] of [[2, 'q5'], [0, 'q7']] as const) {
    await first.engine.signal(ids[index] ?? '', finish, null)
    await until(`${next} starts`, () => fixture.started.at(-1) === next)
  } // biome-ignore format: pairs
  assert.equal(fixture.started.length, 6)
})

test('the limit of a resource holds beside those of its kind, and later jobs of others pass', async () => {
  const fixture: Fixture = { started: [], setups: 9 }
  const bound = bindJob({ ...setup, type: 'node.resource' }, fixture)
  const process = await replica([bound])
  const inputs = [order('r1', 'c'), order('r2', 'c'), order('r3', 'c'), order('r4', 'd', true), order('r5', 'd', true)]
  const ids = await admitAll(process, inputs, bound)
  await until('those with places have started', () => fixture.started.length === 3)
  assert.deepEqual(fixture.started.toSorted(), ['r1', 'r2', 'r4'])
  assert.match((await process.engine.find(ids[4] ?? ''))?.status ?? '', /management roles/)
  await process.engine.signal(ids[1] ?? '', finish, null)
  await until('the next of the cluster starts', () => fixture.started.at(-1) === 'r3')
  await process.engine.signal(ids[3] ?? '', finish, null)
  await until('the next management role starts', () => fixture.started.at(-1) === 'r5')
})
