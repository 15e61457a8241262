// A real primary and its standby: a slot is made, read from and dropped for the node it is of alone; and a standby is promoted only
// when its primary is gone for good, without losing a row that was acknowledged.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { createLog } from '#src/kernel/log.ts'
import { createPromotion, type Verdict } from '#src/node/failover/promotion.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { dropSlot, ensureSlot, replicationSlots, SlotInUseError } from '#src/store/replication.ts'
import { type StandbyPair, standbyPairRefused, startStandbyPair, WITNESS } from '../support/standby-pair.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const SLOT = 'mgmt_2'
const VIP = '10.61.0.100'
const DROP = { patience_ms: 20_000, signal: new AbortController().signal }
const log = createLog({ level: 'silent' })

suite('database of management nodes', { skip: standbyPairRefused() }, () => {
  let pair: StandbyPair
  let primary: Database
  const spool_dir = join(tempFolder('gp-promotion-'), 'spool')
  const rows = (client: pg.Client | pg.ClientConfig) => {
    const count = async (one: pg.Client) =>
      (await one.query('select id from written order by id')).rows.map(({ id }) => Number(id))
    return client instanceof pg.Client ? count(client) : onDatabase(client, count)
  }
  const connectionOf = ({ host, port, user, database }: pg.ClientConfig) => ({
    host: String(host),
    port: Number(port),
    user: String(user),
    database: String(database),
  })
  before(async () => {
    pair = await startStandbyPair()
    primary = openDatabase({ connection: connectionOf(pair.primary.connection), pool_size: 2, log })
  })
  after(async () => {
    await primary?.close().catch(() => {})
    await pair?.close()
  })
  const slotNow = async () => (await replicationSlots(primary.db)).find(({ name }) => name === SLOT)
  const streams = () => until('the standby streams', async () => (await slotNow())?.active === true)

  test('a standby joins by a copy and its slot, and the slot is of its address alone', async () => {
    const { standby } = pair
    await ensureSlot(primary.db, SLOT, standby.addresses[0])
    await ensureSlot(primary.db, SLOT, standby.addresses[0])
    assert.deepEqual([(await slotNow())?.active, (await slotNow())?.wal_status], [false, 'reserved'])
    await pair.join(SLOT)
    await streams()
    assert.equal((await slotNow())?.client_address, standby.addresses[0])
    await onDatabase(pair.primary.connection, (client) => client.query('create table written (id bigint primary key)'))
    await until('it is there', () => rows(standby.connection))
    await assert.rejects(ensureSlot(primary.db, SLOT, '10.61.0.77'), SlotInUseError)
    await assert.rejects(dropSlot(primary.db, SLOT, '10.61.0.77', DROP), SlotInUseError)
    assert.equal((await slotNow())?.active, true, 'the standby goes on')
  })

  test('a slot whose standby is gone keeps log for ever, and none once it is dropped; dropping it again is fine', async () => {
    const { standby } = pair
    await standby.kill()
    await until('the primary has noticed', async () => (await slotNow())?.active === false)
    await onDatabase(pair.primary.connection, async (client) => {
      await client.query('create table bulk as select repeat(md5(i::text), 60) from generate_series(1, 15000) i')
      await client.query('checkpoint')
    })
    const retained = (await slotNow())?.retained_bytes ?? 0
    assert.ok(retained > 10_000_000, `${retained} bytes are retained`)
    await dropSlot(primary.db, SLOT, standby.addresses[0], DROP)
    await dropSlot(primary.db, SLOT, standby.addresses[0], DROP)
    assert.deepEqual(await replicationSlots(primary.db), [])
    const oldest = (): string =>
      readdirSync(join(pair.primary.folder, 'data/pg_wal'))
        .filter((name) => /^[0-9A-F]{24}$/.test(name))
        .sort()[0] ?? ''
    const before_writing = oldest()
    await onDatabase(pair.primary.connection, async (client) => {
      for (let round = 0; round < 3; round += 1) {
        await client.query('insert into bulk select repeat(md5(i::text), 60) from generate_series(1, 15000) i')
        await client.query('checkpoint')
      }
    })
    assert.ok(oldest() > before_writing, 'old log goes')
  })

  test('a slot that is dropped under a running standby ends its connection alone; made again, it goes on', async () => {
    const { standby } = pair
    await ensureSlot(primary.db, SLOT, standby.addresses[0])
    await pair.join(SLOT)
    await streams()
    await dropSlot(primary.db, SLOT, standby.addresses[0], DROP)
    assert.equal(await slotNow(), undefined)
    await ensureSlot(primary.db, SLOT, standby.addresses[0])
    await streams()
  })

  const promotion = (change: object = {}, silent_rounds = 1): (() => Promise<Verdict>) => {
    const { host, folder, addresses } = pair.standby
    const settings = {
      virtual_addresses: [VIP], peers: [[...pair.primary.addresses]], witnesses: [WITNESS], max_lag_bytes: 1_000_000, account: 'postgres',
      socket_dir: folder, port: 5432, ...change,
    } // biome-ignore format: one record
    return createPromotion({ host, settings, log, silent_rounds, spool: { spool_dir, node_ip: addresses[0] } })
  }
  const reasonOf = async (change?: object): Promise<string> => {
    const verdict = await promotion(change)()
    return verdict.act === 'person' ? verdict.reason : verdict.act
  }
  const inRecovery = () =>
    onDatabase(
      pair.standby.connection,
      async (client) => (await client.query('select pg_is_in_recovery() as yes')).rows[0].yes,
    )

  test('a standby is not promoted while anything is uncertain, and an event says what', async () => {
    assert.equal(await reasonOf(), 'wait', 'its primary streams')
    await pair.standby.ip('address', 'add', `${VIP}/24`, 'dev', 'eth1')
    assert.equal(await reasonOf(), 'wait', 'its primary streams')
    const { addresses } = pair.primary
    const acknowledged = await writeUntilKilled(pair)
    await pair.standby.ip('address', 'del', `${VIP}/24`, 'dev', 'eth1')
    assert.equal(await reasonOf(), 'wait', 'it does not hold the address')
    await pair.standby.ip('address', 'add', `${VIP}/24`, 'dev', 'eth1')
    assert.match(
      await reasonOf(),
      /still answers at 10\.61\.0\.1 and 10\.62\.0\.1/,
      'the machine is there, its database may come back',
    )
    await pair.primary.ip('link', 'set', 'eth1', 'down')
    assert.match(await reasonOf(), /still answers at 10\.62\.0\.1/, 'one network is broken')
    await pair.primary.ip('link', 'set', 'eth2', 'down')
    assert.match(await reasonOf({ peers: [[addresses[0], '10.61.0.9']] }), /over one network/)
    assert.match(await reasonOf({ peers: [['10.61.0.8', '10.62.0.8']] }), /none of the peers/)
    await pair.witness('down')
    assert.match(await reasonOf(), /may be cut off itself/)
    await pair.witness('up')
    // A device that was switched on carries a moment later.
    await until('the witness answers', async () => /not replayed yet/.test(await reasonOf({ max_lag_bytes: -1 })))
    assert.equal(await inRecovery(), true)
    const round = promotion({}, 3)
    const acts = [(await round()).act, (await round()).act, (await round()).act]
    assert.deepEqual(acts, ['wait', 'wait', 'promote'], 'a short silence is no loss')
    assert.equal(await inRecovery(), false)
    const written = await rows(pair.standby.connection)
    const lost = acknowledged.filter((id) => !written.includes(id))
    assert.ok(acknowledged.length > 10, `${acknowledged.length} rows were acknowledged`)
    assert.deepEqual(lost, [], 'every acknowledged row is there')
    await onDatabase(pair.standby.connection, (client) => client.query('insert into written values (-1)'))
    assert.equal(await reasonOf(), 'wait', 'it is a primary now')
  })

  test('each decision is an event of the spool, in order', () => {
    const names = readdirSync(spool_dir).sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    const events = names.map((name) => JSON.parse(readFileSync(join(spool_dir, name), 'utf8')))
    assert.ok(events.every(({ action }) => action === 'DB_PROMOTION'))
    const statuses = events.map(({ status }) => status)
    assert.deepEqual(statuses.slice(-2), ['IN_PROGRESS', 'COMPLETED'])
    assert.deepEqual([...new Set(statuses.slice(0, -2))], ['FAILED'])
  })
})

/** A client that waits for each commit, until the primary dies under it. What it was told is what must not be lost. */
async function writeUntilKilled({ primary, standby }: StandbyPair): Promise<number[]> {
  const client = new pg.Client(primary.connection)
  await client.connect()
  await client.query(`alter system set synchronous_standby_names = '${SLOT}'`)
  await client.query('select pg_reload_conf()')
  await until('commits wait for the standby', async () => {
    const { rows } = await client.query(`select sync_state from pg_stat_replication`)
    return rows[0]?.sync_state === 'sync'
  })
  const acknowledged: number[] = []
  let killed: Promise<void> | undefined
  client.on('error', () => {})
  try {
    for (let id = 1; ; id += 1) {
      await client.query('insert into written values ($1)', [id])
      acknowledged.push(id)
      if (id === 50) killed = primary.kill()
    }
  } catch {
    await killed
  }
  await until('the standby has noticed', () =>
    onDatabase(
      standby.connection,
      async (one) => (await one.query('select count(*)::int as n from pg_stat_wal_receiver')).rows[0].n === 0,
    ),
  )
  return acknowledged
}
