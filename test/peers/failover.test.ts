// A real pair of keepalived with our configuration and scripts: events arrive in order, and the virtual address is on one node
// at most at every moment, however its holder leaves.
import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type Pair, PAIR_SECRET, pairRefused, type PairNode, startPair } from '../support/failover-pair.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

interface Event {
  action: string
  counter: number
  occurred_at: string
  received_at: string
}

suite('keepalived pair', { skip: pairRefused() }, () => {
  let database: TestDatabase
  let pair: Pair
  let first: PairNode
  let second: PairNode
  before(async () => {
    database = await createTestDatabase()
    pair = await startPair(database)
    ;({ first, second } = pair)
    await first.startControl()
    await second.startControl()
    for (const [node, bmc_ip, priority] of [
      [first, '10.9.0.1', 130],
      [second, '10.9.0.2', 120],
    ] as const) {
      assert.equal((await first.call('POST', '/configure/nodes', { bmc_ip, role: 'management' })).status, 201)
      const member = { address: node.address, interface: 'eth1', priority }
      const set = await first.call('PUT', `/ha/members/${bmc_ip}`, member)
      assert.equal(set.status, 200, JSON.stringify(set.body))
    }
  })
  after(async () => {
    await pair?.close()
    await database?.drop()
  })

  /** Oldest first. */
  const eventsOf = async (asked: PairNode, of: PairNode): Promise<Event[]> => {
    const { body } = await asked.call('GET', `/ha/events?resource_uuid=${of.address}&limit=500`)
    return body.events.toReversed()
  }
  const actionsOf = async (asked: PairNode, of: PairNode) => (await eventsOf(asked, of)).map(({ action }) => action)
  const lastIs = (asked: PairNode, of: PairNode, action: string) =>
    until(`${of.address} reported ${action}`, async () => (await actionsOf(asked, of)).at(-1) === action)
  const holds = (node: PairNode) => until(`${node.address} holds the address`, () => node.holdsVip())

  test('after the start the first member holds the address, the other stands by, and both said so in order', async () => {
    await first.start()
    await holds(first)
    await second.start()
    await lastIs(second, first, 'HA_PROMOTED')
    await lastIs(first, second, 'HA_DEMOTED')
    const events = await eventsOf(first, first)
    const counters = events.map(({ counter }) => counter)
    assert.deepEqual(
      counters,
      counters.toSorted((one, other) => one - other),
    )
    const arrived = events.map(({ received_at }) => received_at)
    assert.deepEqual(arrived, arrived.toSorted(), 'they arrive in the order in which they happened')
    const { members } = (await second.call('GET', '/ha/members')).body
    assert.deepEqual(
      members.map(({ state }: { state: string }) => state),
      ['HA_PROMOTED', 'HA_DEMOTED'],
    )
  })

  test('a holder that leaves cleanly hands the address on, and does not take it again when it comes back', async () => {
    await first.stop('SIGTERM')
    assert.equal(await first.holdsVip(), false)
    await holds(second)
    await lastIs(first, first, 'HA_STOPPED')
    await lastIs(first, second, 'HA_PROMOTED')
    await first.start()
    await lastIs(first, first, 'HA_DEMOTED')
    assert.deepEqual([await first.holdsVip(), await second.holdsVip()], [false, true])
  })

  test('a holder that is killed keeps nothing: its unit takes the address off before the other takes it', async () => {
    await second.stop('SIGKILL')
    assert.equal(await second.holdsVip(), false)
    await holds(first)
    await lastIs(first, first, 'HA_PROMOTED')
    await second.start()
    await lastIs(first, second, 'HA_DEMOTED')
  })

  test('scripts that were opened and edited under the running daemon are restored, and it reads them again', async () => {
    const script = join(first.scripts_dir, 'check-api.sh')
    const released = readFileSync(script, 'utf8')
    writeFileSync(script, '#!/bin/sh\nexit 1\n')
    chmodSync(script, 0o777)
    chmodSync(join(first.scripts_dir, 'notify.sh'), 0o777)
    const { status, body } = await first.call('POST', '/internal/scripts/reconcile')
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(
      [body.restored.map((one: { name: string; reason: string }) => [one.name, one.reason]), body.reloaded],
      [
        [
          ['check-api.sh', 'content'],
          ['notify.sh', 'mode'],
        ],
        true,
      ],
    )
    assert.deepEqual([readFileSync(script, 'utf8'), statSync(script).mode & 0o7777], [released, 0o755])
    const again = await first.call('POST', '/internal/scripts/reconcile')
    assert.deepEqual([again.body.ok.length, again.body.restored, again.body.reloaded], [3, [], false])
    await until('it is an event', async () => (await actionsOf(second, first)).includes('SCRIPT_RESTORED'))
    await until('one node holds the address', async () => (await first.holdsVip()) !== (await second.holdsVip()))
  })

  test('a node whose API is down gives the address up, and what it had to say arrives when the API is back', async () => {
    const holder = (await first.holdsVip()) ? first : second
    const other = holder === first ? second : first
    const before_stop = (await eventsOf(other, holder)).length
    await holder.stopControl()
    await holds(other)
    await until('it no longer holds it', async () => !(await holder.holdsVip()))
    const newActions = async () => (await actionsOf(other, holder)).slice(before_stop)
    assert.ok(!(await newActions()).includes('HA_FAULT'), 'nobody could take it')
    await holder.startControl()
    const events = await until('it arrived', async () => {
      const all = (await eventsOf(other, holder)).slice(before_stop)
      return all.some(({ action }) => action === 'HA_FAULT') ? all : undefined
    })
    const fault = events.find(({ action }) => action === 'HA_FAULT')
    assert.ok((fault?.occurred_at ?? '') < (fault?.received_at ?? ''))
    await lastIs(other, holder, 'HA_DEMOTED')
    const spool = join(holder.scripts_dir, '../data/ha/spool')
    await until('nothing waits any more', () => readdirSync(spool).every((name) => !name.endsWith('.json')))
  })

  test('the secret of the cluster is taken from the own machine alone: another node is turned away by its address', async () => {
    const event = { action: 'HA_FAULT', resource_uuid: first.address }
    const before_both = (await eventsOf(first, first)).length
    const to = { address: first.address, token: PAIR_SECRET }
    const reply = await second.call('POST', '/internal/ha/events/ingest', event, to)
    assert.deepEqual([reply.status, reply.body.code], [403, 'FORBIDDEN'], JSON.stringify(reply.body))
    const says = `The cluster secret is taken from this machine alone, not from ${second.address}.`
    assert.ok(reply.body.detail.startsWith(says), reply.body.detail)
    assert.equal((await eventsOf(first, first)).length, before_both)
  })

  test('at no moment did both nodes have the address', () => {
    assert.equal(pair.mostHolders(), 1)
  })
})
