// The rollout's walk: killed at every point, failed at every step, every step twice, over nodes that keep what they were
// told, revert by themselves, and refuse what is not theirs to do.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import type { MtuNodeApplyResult } from '#src/contract/network/mtu.ts'
import { bindJob } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { createLog } from '#src/kernel/log.ts'
import { mtuDeclareJob, type RolloutInput } from '#src/modules/network/mtu-rollout.job.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { declaredMtus, declareMtu } from '#src/store/mtu-declarations.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { crashEverywhere, failEverywhere, lastOf, repeatEverywhere, send, type Walk } from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'

interface FakeNode {
  live: number
  carries: number
  persisted: number
  pending: { mtu: number; old: number; used: boolean } | null
}

interface Fixture {
  nodes: Map<string, FakeNode>
  /** A node that used more than another one carries. */
  narrow: string[]
}

const IDS = [randomUUID(), randomUUID(), randomUUID()]

suite('MTU rollout job', () => {
  let test_database: TestDatabase
  let database: Database
  before(async () => {
    test_database = await createTestDatabase()
    const log = createLog({ level: 'silent' })
    database = openDatabase({ connection: test_database.connection, pool_size: 2, log })
    for (const [at, id] of IDS.entries()) {
      await database.db
        .insertInto('node')
        .values({ id, bmc_ip: `10.0.0.${at + 1}`, registered_by: 'test' } as never)
        .execute()
    }
  })
  after(async () => {
    await database.close()
    await test_database.drop()
  })

  const make = async (mtu: number, hole: boolean) => {
    await database.transact((trx) => declareMtu(trx, { role: 'management', mtu, bridges: ['br0'] }, 'test'))
    const fixture: Fixture = {
      nodes: new Map(IDS.map((id) => [id, { live: 1500, carries: 1500, persisted: 1500, pending: null }])),
      narrow: [],
    }
    const input: RolloutInput = {
      nodes: IDS.map((node_id, at) => ({
        node_id, name: `n${at}`,
        bridges: [{ bridge: 'br0', role: 'management', old_mtu: 1500, mtu, addresses: [`10.1.0.${at}`], mac: null }],
      })),
      probes: IDS.map((from, at) => ({
        from, to: IDS[(at + 1) % 3] ?? '', bridge: 'br0', peer_bridge: 'br0', target: `10.1.0.${(at + 1) % 3}`, mtu,
      })),
      before: [{ role: 'management', mtu: 1500, bridges: ['br0'] }],
      roles: [{ role: 'management', mtu }],
      declared_by: 'test',
      window_secs: 60,
    } // biome-ignore format: records
    const deps = { database, agents: fakeAgents(fixture, hole) }
    return { fixture, bound: bindJob(mtuDeclareJob, deps), input, connection: test_database.connection }
  }

  const walk = (mtu: number, hole = false): Walk<Fixture> => ({
    make: () => make(mtu, hole),
    async completed(fixture, job, where) {
      assert.equal(hole, false, where)
      await same(fixture, job, where, mtu)
    },
    failed: (fixture, job, where) => same(fixture, job, where, 1500),
  })
  async function same({ nodes, narrow }: Fixture, _job: JobRow, where: string, mtu: number): Promise<void> {
    for (const node of nodes.values())
      assert.deepEqual([node.live, node.persisted, node.pending], [mtu, mtu, null], where)
    assert.deepEqual(narrow, [], where)
    assert.deepEqual(
      (await declaredMtus(database.db)).map((one) => one.mtu),
      [mtu],
      where,
    )
  }

  test('killed at any point, all nodes end alike', async () => {
    const points = await crashEverywhere(walk(9000))
    for (const phase of ['prepare', 'use', 'commit']) assert.ok(points.includes(`${phase}:sent`), phase)
  })
  test('a step that fails leaves every node and the declaration as before', async () => {
    await failEverywhere(walk(9000))
  })
  test('every step may run twice, upwards and downwards', async () => {
    for (const mtu of [9000, 1300]) await repeatEverywhere({ ...walk(mtu), failed: () => assert.fail('it failed') })
  })
  test('a way that cannot be verified undoes everything, however often the process dies meanwhile', async () => {
    await crashEverywhere({ ...walk(9000, true), may_fail: 'the way carries no frames of this size' })
  })
  test('two nodes that verify their way to a third by frames wait until its bridge listens to nobody else', async () => {
    const { fixture, input, connection } = await make(9000, false)
    const [, , third = ''] = IDS
    const [way] = input.probes
    assert.ok(way !== undefined)
    const probes = IDS.slice(0, 2).map((from) => ({ ...way, from, to: third, target: '10.1.0.2' }))
    const bound = bindJob(mtuDeclareJob, { database, agents: framesOnly(fakeAgents(fixture, false)) })
    const process = await startJobProcess({ connection, keyring: testKeyring(), bound: [bound] })
    const job = await lastOf(process, (await admit(process, bound, { ...input, probes })).id)
    await same(fixture, job, job.status, 9000)
  })
})

/** Nodes that answer no pings, and listen for one at a time until its frames have come. */
function framesOnly({ client }: Pick<NodeAgents, 'client'>): Pick<NodeAgents, 'client'> {
  const listening = new Map<number, () => void>()
  const listeners = new Set<string>()
  const l2Probe = async (id: string, { mode, token }: { mode: string; token: number }) => {
    if (mode === 'send') {
      listening.get(token)?.()
      return { sent: 20 }
    }
    if (listeners.has(id)) throw new ApiError('MTU_PROBE_RUNNING')
    listeners.add(id)
    await new Promise<void>((resolve) => void listening.set(token, resolve))
    listeners.delete(id)
    return { received: 20 }
  }
  const of = (row: { id: string }) => {
    const node = (client as (one: { id: string }) => { mtuNodeApply: (ask: Ask) => Promise<object> })(row)
    return {
      ...node,
      mtuNodeApply: async (ask: Ask) => {
        const answer = await node.mtuNodeApply(ask)
        return ask.body.phase === 'probe' ? { ...answer, probe_verdict: 'inconclusive', peer_mac: '' } : answer
      },
      mtuL2Probe: ({ body }: { body: { mode: string; token: number } }) => l2Probe(row.id, body),
    }
  }
  return { client: of as unknown as NodeAgents['client'] }
}

interface Ask {
  body: { mtu: number; phase?: string }
}

function fakeAgents({ nodes, narrow }: Fixture, hole: boolean): Pick<NodeAgents, 'client'> {
  const apply = (node: FakeNode, body: { mtu: number; phase?: string }): Partial<MtuNodeApplyResult> => {
    const { pending } = node
    const mine = pending !== null && pending.mtu === body.mtu
    switch (body.phase) {
      case 'prepare':
        if (pending !== null) throw new ApiError('MTU_CHANGE_RUNNING')
        node.pending = { mtu: body.mtu, old: node.live, used: false }
        if (body.mtu > node.live) node.carries = body.mtu
        else node.live = body.mtu
        break
      case 'use':
        if (!mine) throw new ApiError('MTU_NOTHING_PENDING')
        node.live = body.mtu
        node.carries = body.mtu
        pending.used = true
        break
      case 'probe':
        if (!mine) throw new ApiError('MTU_NOTHING_PENDING')
        return { probe_verdict: hole ? 'fail' : 'pass', detail: 'a black hole' }
      case 'commit':
        if (!mine || !pending.used) throw new ApiError('MTU_NOTHING_PENDING')
        node.persisted = body.mtu
        node.pending = null
        break
      case 'revert':
        if (!mine) throw new ApiError('MTU_NOTHING_PENDING')
        Object.assign(node, { live: pending.old, carries: pending.old, pending: null })
        return { reverted: true }
      default:
        if (pending !== null) throw new ApiError('MTU_CHANGE_RUNNING')
        Object.assign(node, { live: body.mtu, carries: body.mtu, persisted: body.mtu })
    }
    // While it goes forward nobody may use more than everybody carries.
    const all = [...nodes.values()]
    if (
      ['prepare', 'use', 'commit'].includes(body.phase ?? '') &&
      all.some((one) => all.some((other) => one.live > other.carries))
    ) {
      narrow.push(`${body.phase} ${body.mtu}`)
    }
    return {}
  }
  const client = (row: { id: string }) => {
    const node = nodes.get(row.id)
    assert.ok(node !== undefined)
    return {
      mtuNodeApply: ({ body }: { body: { mtu: number; phase?: string } }) =>
        send(body.phase ?? 'apply', () => apply(node, body)),
      agentMtuRead: async () => ({
        bridges: [{ bridge: 'br0', mtu: node.live, pending: node.pending }],
        underlay_mtu: null,
      }),
    }
  }
  return { client: client as unknown as NodeAgents['client'] }
}
