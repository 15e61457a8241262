// What all jobs of nodes share: the state of the node, the job that follows a failed one, and the audit log.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { test } from 'node:test'
import { Type } from 'typebox'
import { brokenLine, chainHead, logTail, noteFrom } from '#src/jobs/audit-log.ts'
import { bindJob, defineJob, followUp } from '#src/jobs/define.ts'
import { lastJob } from '#src/jobs/lookup.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { nodeJobStatusOf, readNodeJob } from '#src/modules/lifecycle/job-view.ts'
import type { Database } from '#src/store/database.ts'
import { holdAddress, heldAddresses, moveNode } from '#src/store/node-lifecycle.ts'
import { findNode, insertNode } from '#src/store/nodes.ts'
import { ended } from '../support/job-harness.ts'
import { admit, type JobProcess } from '../support/job-process.ts'
import { crashOnceAt, replicasOfFile } from '../support/toy-jobs.ts'
import { until } from '../support/until.ts'

const replica = replicasOfFile()
const Input = Type.Object({ bmc_ip: Type.String() })
const one_job = {
  of: ({ bmc_ip }: { bmc_ip: string }) => `node ${bmc_ip}`,
  most: 1,
  refuse: 'NODE_JOB_RUNNING',
} as const
const finish = { name: 'finish', payload: Type.Null() }

const rollback = defineJob<object>()({
  type: 'node.rollback',
  input: Input,
  resource_type: 'NODE',
  limits: [one_job],
  steps: [
    {
      name: 'leave',
      title: 'Leave the node',
      async run(run) {
        await run.signalled(finish)
        await run.fenced((trx) => moveNode(trx, run.input.bmc_ip, 'rolling_back', 'discovered', run.job_id))
      },
    },
  ],
  done: () => 'The node is free.',
})

const setup = defineJob<object>()({
  type: 'node.setup',
  input: Input,
  resource_type: 'NODE',
  limits: [one_job],
  steps: [
    {
      name: 'apply',
      title: 'Apply',
      async run(run) {
        await run.note('INFO', 'Line one\nline two', { password: 'swordfish', b: 1, a: { d: 2, c: 3 } })
        throw new ApiError('AGENT_ERROR', 'The agent refused.')
      },
    },
  ],
  async failed(run, trx) {
    const { bmc_ip } = run.input
    await moveNode(trx, bmc_ip, 'configuring', 'rolling_back', run.job_id)
    return followUp('rollback', rollback, 'nodeRollback', {
      input: { bmc_ip },
      description: `Rolling node ${bmc_ip} back`,
      node_ip: bmc_ip,
    })
  },
})

const no_address = { node_ip: null, fqdn: null, hostname: null, role: null, zone: null, registered_by: 'test' }

async function addNode({ db }: Database, bmc_ip: string): Promise<void> {
  await db.transaction().execute((trx) => insertNode(trx, { id: randomUUIDv7(), bmc_ip, ...no_address }))
}

async function failedSetup(process: JobProcess, bmc_ip: string) {
  await addNode(process.database, bmc_ip)
  const { db } = process.database
  await db.transaction().execute((trx) => moveNode(trx, bmc_ip, 'discovered', 'configuring', randomUUIDv7()))
  return ended(process, (await admit(process, bindJob(setup, {}), { bmc_ip })).id)
}

test('a failed setup and the rollback that follows it are one transaction: no other job of the node comes in between', async () => {
  const bound = [bindJob(setup, {}), bindJob(rollback, {})]
  const crash = crashOnceAt('apply:ended')
  const doomed = await replica(bound, crash)
  await addNode(doomed.database, '10.9.0.1')
  await doomed.database.db
    .transaction()
    .execute((trx) => moveNode(trx, '10.9.0.1', 'discovered', 'configuring', randomUUIDv7()))
  const { id } = await admit(doomed, bound[0] ?? assert.fail(), { bmc_ip: '10.9.0.1' })
  await until('the planted crash', () => crash.crashed() && doomed.engine.running() === 0)
  await doomed.die()
  const second = await replica(bound)
  const { db } = second.database
  const job = await ended(second, id)
  assert.equal(job.failure_reason, 'The agent refused.')
  const next = (await lastJob(db, { types: ['node.rollback'], node_ip: '10.9.0.1' })) ?? assert.fail()
  assert.equal(next.parent_id, id)
  assert.equal((await findNode(db, '10.9.0.1'))?.provision_status, 'rolling_back')
  await assert.rejects(admit(second, bound[0] ?? assert.fail(), { bmc_ip: '10.9.0.1' }), { code: 'NODE_JOB_RUNNING' })
  const facts = { ...(await readNodeJob(db, job)), row: { ...job, node_ip: '10.9.0.1' } }
  assert.deepEqual(
    { next: nodeJobStatusOf(facts).next_action, recoverable: nodeJobStatusOf(facts).recoverable },
    { next: 'wait: The node is being rolled back.', recoverable: true },
  )
  await second.engine.signal(next.id, finish, null)
  assert.equal((await ended(second, next.id)).job_status, 'completed')
  assert.equal((await findNode(db, '10.9.0.1'))?.provision_status, 'discovered')
  const events = await db.selectFrom('app_event').select(['action', 'status']).where('correlation_id', 'in', [id, next.id]).orderBy('created_at').execute() // biome-ignore format: one query
  assert.deepEqual(events, [
    { action: 'testRun', status: 'FAILED' },
    { action: 'nodeRollback', status: 'SUCCESS' },
  ])
})

test('of two jobs that move a node from one state, one does; the same job may repeat it; the other is told the state', async () => {
  const { database } = await replica([])
  await addNode(database, '10.9.0.2')
  const ids = [randomUUIDv7(), randomUUIDv7()]
  const move = (id: string) =>
    database.db.transaction().execute((trx) => moveNode(trx, '10.9.0.2', ['discovered'], 'configuring', id))
  const tries = await Promise.allSettled(ids.map(move))
  const winner = tries.findIndex(({ status }) => status === 'fulfilled')
  assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.equal((await move(ids[winner] ?? '')).provision_status, 'configuring')
  await assert.rejects(move(ids[1 - winner] ?? ''), {
    code: 'NODE_STATE',
    message: 'Node 10.9.0.2 is configuring; this needs a node that is discovered.',
  })
})

test('an address that a job holds stands once, with its newest holder, until it is dropped', async () => {
  const { database } = await replica([])
  await addNode(database, '10.9.0.3')
  const { node_id } = (await findNode(database.db, '10.9.0.3')) ?? assert.fail()
  const holders = [randomUUIDv7(), randomUUIDv7()]
  for (const [index, job_id] of holders.entries()) {
    const held = { address: '10.2.0.3', kind: 'storage', ipam_id: index } as const
    await database.db.transaction().execute((trx) => holdAddress(trx, node_id, job_id, held))
  }
  const rows = await heldAddresses(database.db, node_id)
  assert.deepEqual(rows.map(({ address, ipam_id, job_id }) => [address, ipam_id, job_id]), [['10.2.0.3', 1, holders[1]]]) // biome-ignore format: one row
})

test('the audit log is one line an entry, without secrets, and its last hash stands in the event that ends the job', async () => {
  const process = await replica([bindJob(setup, {}), bindJob(rollback, {})])
  const { db } = process.database
  const { id } = await failedSetup(process, '10.9.0.4')
  const { content, truncated } = await logTail(db, id)
  assert.equal(truncated, false)
  assert.deepEqual(
    content.split('\n').map((line) => line.replace(/^\S+ {2}/, '')),
    [
      'INFO  apply  #1  Line one\\nline two  {"a":{"c":3,"d":2},"b":1,"password":"[redacted]"}',
      'ERROR  apply  #1  The agent refused.  {"code":"AGENT_ERROR"}',
      '',
    ],
  )
  const event = await db
    .selectFrom('app_event')
    .select('audit_head')
    .where('correlation_id', '=', id)
    .executeTakeFirst()
  assert.equal(event?.audit_head, await chainHead(db, id))
  assert.equal(event?.audit_head?.length, 64)
})

test('a line that is changed or removed after it was written breaks the chain there', async () => {
  const process = await replica([bindJob(setup, {}), bindJob(rollback, {})])
  const { db } = process.database
  const { id } = await failedSetup(process, '10.9.0.5')
  const line = (text: string) => ({ level: 'WARN', step: '', attempt: 0, actor: 'admin', text }) as const
  for (const text of ['third', 'fourth']) await db.transaction().execute((trx) => noteFrom(trx, id, line(text)))
  assert.equal(await brokenLine(db, id), undefined)
  const lines = db.updateTable('job_event').where('job_id', '=', id)
  await lines.set({ actor: 'system' }).where('seq', '=', 3).execute()
  assert.equal(await brokenLine(db, id), 3)
  await lines.set({ actor: 'admin' }).where('seq', '=', 3).execute()
  assert.equal(await brokenLine(db, id), undefined)
  await db.deleteFrom('job_event').where('job_id', '=', id).where('seq', '=', 2).execute()
  assert.equal(await brokenLine(db, id), 3)
})

test('the tail of a log is cut at the start of a line, and what comes before it can be read', async () => {
  const process = await replica([bindJob(setup, {}), bindJob(rollback, {})])
  const { db } = process.database
  const { id } = await failedSetup(process, '10.9.0.6')
  await db.transaction().execute(async (trx) => {
    for (let number = 1; number <= 90; number += 1) {
      await noteFrom(trx, id, { level: 'INFO', step: 'drain', attempt: 1, text: `${number} ${'x'.repeat(1500)}` })
    }
  })
  const { content, truncated, first_seq } = await logTail(db, id)
  assert.equal(truncated, true)
  assert.ok(Buffer.byteLength(content) <= 65_536 && Buffer.byteLength(content) > 63_000)
  assert.match(content, /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}INFO {2}drain {2}#1 {2}\d+ x/)
  assert.match(content, / 90 x+\n$/)
  const before = await logTail(db, id, { before_seq: first_seq ?? 0, bytes: 1_000_000 })
  assert.equal(before.truncated, false)
  assert.equal(content.split('\n').length + before.content.split('\n').length, 94)
})
