// Creating a tenant is all or nothing: killed at any point it is finished or undone by the next process, and the platform
// never keeps a domain, an account or a range that no tenant stands for. Deleting one goes on to its end.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { wellKnown } from '../../lab/site.ts'
import { bindJob } from '#src/jobs/define.ts'
import { createLog } from '#src/kernel/log.ts'
import { type TenantInput, tenantCreateJob } from '#src/modules/tenants/create.job.ts'
import { tenantDeleteJob } from '#src/modules/tenants/delete.job.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { changeTenant, claimTenant, findTenant } from '#src/store/tenants.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { startWalkPlatform, type WalkPlatform } from '../support/walk-platform.ts'

interface Fixture {
  platform: CloudStackLab
  database: Database
  input: TenantInput
  vlans: number
}

/** One database of tenants and one platform serve all walks: every run makes a tenant of its own. */
let site: WalkPlatform
let test_database: TestDatabase
let database: Database
before(async () => {
  site = await startWalkPlatform()
  test_database = await createTestDatabase()
  database = openDatabase({ connection: test_database.connection, pool_size: 4, log: createLog({ level: 'silent' }) })
})
after(async () => {
  await database?.close()
  await test_database?.drop()
  await site?.close()
})

let made = 0

async function make(existing: boolean) {
  const { platform, cloudstack } = site
  const name = `walk-${(made += 1)}`
  const id = randomUUID()
  const second = made % 250
  const range = {
    zone_id: wellKnown.zone,
    start_ip: `198.18.${second}.16`,
    end_ip: `198.18.${second}.19`,
    gateway: `198.18.${second}.1`,
    netmask: '255.255.255.0',
  }
  if (existing) {
    const args = {
      zoneid: range.zone_id,
      startip: range.start_ip,
      endip: range.end_ip,
      vlan: '77',
      forvirtualnetwork: true,
    }
    await cloudstack.call('createVlanIpRange', { ...args, gateway: range.gateway, netmask: range.netmask })
  }
  const input: TenantInput = {
    id,
    name,
    range,
    account: name,
    username: `${name}-admin`,
    password: 'planted-Password-1',
  }
  const claim = { id, name, description: '', network_domain: null, created_by: 'test' }
  const account = { admin_account: name, admin_username: input.username, admin_password: 'encrypted' }
  assert.ok(await claimTenant(database.db, { ...claim, ...account }))
  const fixture: Fixture = { platform, database, input, vlans: platform.state.tables.vlans.size }
  return { fixture, bound: bindJob(tenantCreateJob, { cloudstack, database }), input }
}

function walk(existing: boolean): Walk<Fixture> {
  return {
    make: () => make(existing),
    async completed({ platform, database, input, vlans }, _job, where) {
      const { tables } = platform.state
      assert.equal(tables.domains.filter((one) => one.name === input.name).length, 1, where)
      assert.equal(tables.accounts.filter((one) => one.domainid === input.id).length, 1, where)
      assert.equal(tables.vlans.filter((one) => one.domainid === input.id).length, 1, where)
      assert.equal(tables.vlans.size, existing ? vlans : vlans + 1, where)
      const row = await findTenant(database.db, input.id)
      assert.deepEqual([row?.stage, row?.range_start_ip], ['ready', input.range?.start_ip], where)
    },
    async failed({ platform, database, input, vlans }, job, where) {
      const { tables } = platform.state
      assert.equal(job.job_status, 'failed', where)
      assert.equal(tables.domains.filter((one) => one.name === input.name || one.id === input.id).length, 0, where)
      assert.equal(tables.accounts.filter((one) => one.name === input.name).length, 0, where)
      assert.equal(tables.users.filter((one) => one.username === input.username).length, 0, where)
      assert.equal(tables.vlans.filter((one) => one.domainid === input.id).length, 0, where)
      assert.equal(tables.vlans.size, vlans, where)
      assert.equal(await findTenant(database.db, input.id), undefined, where)
    },
  }
}

for (const existing of [false, true]) {
  const which = existing ? 'an existing range' : 'a new range'
  test(`a tenant with ${which}, its process killed at any point, is made once by the next process`, async () => {
    const points = await crashEverywhere(walk(existing))
    const range = existing ? 'dedicatePublicIpRange' : 'createVlanIpRange'
    for (const command of ['createDomain', 'createAccount', range])
      assert.ok(points.includes(`${command}:sent`), command)
  })
  test(`a tenant with ${which} leaves nothing behind, whichever step fails`, async () => {
    assert.equal(await failEverywhere(walk(existing)), 4)
  })
}

test('every step of creating a tenant may run twice', () => repeatEverywhere(walk(false)))

test('a process killed while it undoes is followed by one that undoes the rest', async () => {
  const broken: Walk<Fixture> = {
    ...walk(false),
    may_fail: 'its last step always fails',
    completed: () => assert.fail('the last step fails'),
    async make() {
      const { fixture, bound, input } = await make(false)
      const steps = tenantCreateJob.steps.map((step) =>
        step.name === 'record'
          ? { ...step, run: () => Promise.reject(new Error('planted failure of the last step')) }
          : step,
      )
      return { fixture, bound: bindJob({ ...tenantCreateJob, steps }, bound.deps as never), input }
    },
  }
  const points = await crashEverywhere(broken)
  for (const point of ['range:undone', 'deleteDomain:sent', 'domain:undone']) assert.ok(points.includes(point), point)
})

test('a tenant that is gone from the platform before it is recorded fails with its id, and nothing of it stays', async () => {
  const gone: Walk<Fixture> = {
    ...walk(false),
    async completed(fixture, job, where) {
      const says = `Tenant ${fixture.input.id} was made on the compute platform, which does not list it any more.`
      assert.deepEqual([job.failure_code, job.failure_reason?.startsWith(says)], ['COMPUTE_ERROR', true], where)
      await walk(false).failed(fixture, job, where)
    },
    async make() {
      const { fixture, bound, input } = await make(false)
      const steps = tenantCreateJob.steps.map((step) =>
        step.name === 'record'
          ? {
              ...step,
              async run(run: Parameters<typeof step.run>[0]) {
                const { domains } = fixture.platform.state.tables
                if (domains.get(input.id) !== null)
                  await site.cloudstack.call('deleteDomain', { id: input.id, cleanup: true })
                await until('somebody has deleted the domain', () => domains.get(input.id) === null)
                return step.run(run)
              },
            }
          : step,
      )
      return { fixture, bound: bindJob({ ...tenantCreateJob, steps }, bound.deps as never), input }
    },
  }
  await repeatEverywhere(gone)
})

interface Doomed {
  id: string
  range_id: string
}

const deletion: Walk<Doomed> = {
  async make() {
    const { platform, cloudstack } = site
    const name = `doomed-${(made += 1)}`
    const id = randomUUID()
    await cloudstack.call('createDomain', { name, domainid: id })
    const person = { firstname: name, lastname: 'admin', email: 'admin@tenant.invalid', password: 'planted-Password-1' }
    await cloudstack.call('createAccount', { ...person, accounttype: 2, account: name, username: name, domainid: id })
    const net = `198.19.${made % 250}`
    const range = { startip: `${net}.16`, endip: `${net}.19`, gateway: `${net}.1`, netmask: '255.255.255.0' }
    await cloudstack.call('createVlanIpRange', {
      ...range, zoneid: wellKnown.zone, vlan: '78', forvirtualnetwork: true, domainid: id,
    }) // biome-ignore format: one call
    const range_id = platform.state.tables.vlans.find((one) => one.domainid === id)?.id ?? ''
    const account = { admin_account: name, admin_username: name, admin_password: 'encrypted' }
    const claim = { id, name, description: '', network_domain: null, created_by: 'test', ...account }
    assert.ok(await claimTenant(database.db, claim))
    await changeTenant(database.db, id, { stage: 'ready', vlan_range_id: range_id })
    const input = { id, name, range_id }
    return { fixture: { id, range_id }, bound: bindJob(tenantDeleteJob, { cloudstack, database }), input }
  },
  async completed({ id, range_id }, job, where) {
    const { tables } = site.platform.state
    assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
    assert.equal(tables.domains.get(id), null, where)
    assert.equal(tables.accounts.filter((one) => one.domainid === id).length, 0, where)
    assert.equal(tables.vlans.get(range_id)?.domainid, null, where)
    assert.equal(await findTenant(database.db, id), undefined, where)
  },
  async failed({ id }, job, where) {
    assert.equal(job.job_status, 'failed', where)
    const row = await findTenant(database.db, id)
    // Whatever is left of it says so, and nothing of it is open.
    if (site.platform.state.tables.domains.get(id) !== null) assert.ok(row !== undefined, where)
    if (row !== undefined) assert.equal(row.is_active, false, where)
  },
}

test('a tenant whose deletion is killed at any point is deleted in full by the next process', async () => {
  const points = await crashEverywhere(deletion)
  assert.ok(points.includes('deleteDomain:sent'), points.join(' '))
})

test('a tenant whose deletion fails at any step stays closed, and is in the list until it is gone', async () => {
  assert.equal(await failEverywhere(deletion), 4)
})

test('every step of deleting a tenant may run twice', () => repeatEverywhere(deletion))
