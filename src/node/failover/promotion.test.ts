// When the database standby of a node is promoted: each condition by itself keeps it from that. Against real servers:
// test/peers/failover-database.test.ts.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '#src/kernel/log.ts'
import { type ScriptedHost, scriptedHost } from '../../../test/support/scripted-host.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { createPromotion, type PromotionSettings } from './promotion.ts'

const SETTINGS: PromotionSettings = {
  virtual_addresses: ['10.60.0.100'],
  peers: [['10.60.0.1', '10.70.0.1']],
  witnesses: ['10.60.0.254', '10.60.0.253'],
  max_lag_bytes: 1000,
  account: 'postgres',
  socket_dir: '/var/run/postgresql',
  port: 5432,
}

interface Site {
  /** As psql prints the state of the standby. */
  database: string | null
  own: string[]
  answering: string[]
  /** Whose database answers though the machine does not answer to ping. */
  database_answers: string[]
  devices: Record<string, string>
  promoted: boolean
}

/** The primary is gone, and everything else allows a promotion. */
const LOST: Site = {
  database: "t|f|0|user=replicator host=10.60.0.1 port=5432 application_name='mgmt 2'",
  own: ['10.60.0.2', '10.60.0.100'],
  answering: ['10.60.0.253'],
  database_answers: [],
  devices: { '10.60.0.1': 'bond0', '10.70.0.1': 'bond1' },
  promoted: true,
}

function hostOf(site: Site): ScriptedHost {
  let { database } = site
  return scriptedHost({
    run(tool, args) {
      const target = args.at(-1) ?? ''
      if (tool === 'ping') return { exit_code: site.answering.includes(target) ? 0 : 1 }
      if (tool === 'pg_isready') return { exit_code: site.database_answers.includes(args[2] ?? '') ? 0 : 2 }
      if (tool === 'ip' && args.includes('route')) return { stdout: JSON.stringify([{ dev: site.devices[target] }]) }
      if (tool === 'ip')
        return { stdout: JSON.stringify([{ ifname: 'bond0', addr_info: site.own.map((local) => ({ local })) }]) }
      if (tool !== 'setpriv' || database === null) return { exit_code: 2 }
      if (target.includes('pg_promote')) {
        if (site.promoted) database = 'f|f|0|'
        return { stdout: 't\n' }
      }
      return { stdout: `${database}\n` }
    },
  })
}

async function judged(change: Partial<Site>, settings: Partial<PromotionSettings> = {}) {
  const spool_dir = join(tempFolder('gp-promotion-'), 'spool')
  const host = hostOf({ ...LOST, ...change })
  const log = createLog({ level: 'silent' })
  const spool = { spool_dir, node_ip: '10.60.0.2' }
  const round = createPromotion({ host, settings: { ...SETTINGS, ...settings }, log, spool })
  const acts = []
  for (let at = 0; at < 4; at += 1) acts.push(await round())
  const files = readdirSync(join(spool_dir, '..')).includes('spool') ? readdirSync(spool_dir).sort() : []
  const events = files.map((name) => JSON.parse(readFileSync(join(spool_dir, name), 'utf8')))
  const asked = host.ran.filter((line) => line.includes('pg_promote')).length
  return { acts: acts.map(({ act }) => act), last: acts.at(-1), asked, events }
}

test('a standby whose primary is gone is promoted in the third round, once, and says so', async () => {
  const { acts, asked, events } = await judged({})
  assert.deepEqual([acts, asked], [['wait', 'wait', 'promote', 'wait'], 1])
  assert.deepEqual(
    events.map(({ action, status, level }) => [action, status, level]),
    [
      ['DB_PROMOTION', 'IN_PROGRESS', 'WARN'],
      ['DB_PROMOTION', 'COMPLETED', 'INFO'],
    ],
  )
  assert.ok(events.every(({ resource_uuid }) => resource_uuid === '10.60.0.2'))
  assert.ok(events[0].counter < events[1].counter)
})

const WAITS: Record<string, Partial<Site>> = {
  'it streams': { database: 't|t|0|host=10.60.0.1' },
  'it is a primary': { database: 'f|f|0|' },
  'the database of the node does not answer': { database: null },
  'psql prints something else': { database: 'Warning: x' },
  'the node does not hold the virtual address': { own: ['10.60.0.2'] },
}
for (const [title, change] of Object.entries(WAITS)) {
  test(`nothing is done and nothing is said while ${title}`, async () => {
    const { acts, asked, events } = await judged(change)
    assert.deepEqual([acts, asked, events], [Array(4).fill('wait'), 0, []])
  })
}

const LEFT_TO_A_PERSON: Record<string, { change?: Partial<Site>; settings?: Partial<PromotionSettings>; reason: RegExp }> = {
  'the machine of the primary answers in one network': { change: { answering: ['10.70.0.1', '10.60.0.254'] }, reason: /still answers at 10\.70\.0\.1/ },
  'the database of the primary answers': { change: { database_answers: ['10.60.0.1'] }, reason: /still answers at 10\.60\.0\.1/ },
  'both addresses go over one network': { change: { devices: { '10.60.0.1': 'bond0', '10.70.0.1': 'bond0' } }, reason: /over one network/ },
  'no witness answers': { change: { answering: [] }, reason: /cut off itself/ },
  'too much is not replayed': { change: { database: 't|f|1001|host=10.60.0.1' }, reason: /1001 bytes/ },
  'the primary is nobody that is known': { change: { database: "t|f|0|host='10.99.0.1'" }, reason: /none of the peers/ },
  'the database does not take it': { change: { promoted: false }, reason: /did not become a primary/ },
} // biome-ignore format: one a line
for (const [title, { change = {}, settings, reason }] of Object.entries(LEFT_TO_A_PERSON)) {
  test(`a person decides when ${title}`, async () => {
    const { acts, last, asked, events } = await judged(change, settings)
    assert.deepEqual(acts, ['wait', 'wait', 'person', 'person'])
    assert.match(last?.act === 'person' ? last.reason : '', reason)
    const failed = events.filter(({ status }) => status === 'FAILED')
    assert.match(failed[0].message, reason)
    assert.equal(events.at(-1).status, 'FAILED')
    assert.equal(failed.length, 1, 'it is said once')
    assert.equal(asked, change.promoted === false ? 1 : 0)
  })
}

test('a tool that is missing is no silence', async () => {
  const host = hostOf(LOST)
  const without: ScriptedHost = {
    ...host,
    run: (tool, args, options) =>
      host
        .run(tool === 'ping' ? 'setpriv' : tool, args, options)
        .then((end) => (tool === 'ping' ? { ...end, outcome: 'missing' } : end)),
  }
  const spool = { spool_dir: undefined, node_ip: undefined }
  const round = createPromotion({
    host: without,
    settings: SETTINGS,
    log: createLog({ level: 'silent' }),
    spool,
    silent_rounds: 1,
  })
  await assert.rejects(round(), /ping is not installed/)
})
