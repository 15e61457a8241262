// The jobs on BMCs survive a crash at every point, a failure of every step, and every step run twice: what must happen once has
// happened once, and nothing is left in the drive.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, before, test } from 'node:test'
import { closeServer, listenOn } from '../../lab/control.ts'
import { type RedfishLab, type SimulatedBmc, startRedfish } from '../../lab/redfish/server.ts'
import { createRedfish, type Redfish } from '#src/drivers/redfish/connections.ts'
import { bindJob, type BoundJob } from '#src/jobs/define.ts'
import { createLog } from '#src/kernel/log.ts'
import { bmcBiosSetJob } from '#src/modules/bmc/bios.job.ts'
import { bmcJobsDeleteJob } from '#src/modules/bmc/clear.job.ts'
import { bmcFirmwareUpdateJob } from '#src/modules/bmc/firmware.job.ts'
import type { BmcJobDeps } from '#src/modules/bmc/job-parts.ts'
import { bmcIsoMountJob } from '#src/modules/bmc/mount.job.ts'
import { bmcPowerSetJob } from '#src/modules/bmc/power.job.ts'
import { openDatabase, type Database } from '#src/store/database.ts'
import { FAST } from '../support/bmc-site.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
const log = createLog({ level: 'silent' })
let redfish: Redfish
let database: Database
let test_database: TestDatabase
let image_server: Server
let image_url: string
const labs: RedfishLab[] = []

before(async () => {
  redfish = createRedfish({ allowed_networks: ['127.0.79.0/24'], timeout_ms: 15_000, retry_ms: 20, log })
  test_database = await createTestDatabase()
  database = openDatabase({ connection: test_database.connection, pool_size: 2, log })
  image_server = createServer((_request, response) => response.end('an image'))
  image_url = `${await listenOn(image_server, { host: '127.0.0.1', port: 0 })}/boot/secret/small.iso`
})
after(async () => {
  await redfish.close()
  await Promise.all(labs.map((lab) => lab.close()))
  await closeServer(image_server)
  await database.close()
  await test_database.drop()
})

interface Fixture {
  bmc: SimulatedBmc
  lab: RedfishLab
}

/** A BMC of its own for every run of a walk. */
async function fixture(
  profile: 'idrac9-7' | 'generic-2023' = 'idrac9-7',
  speed = FAST,
): Promise<{ fixture: Fixture; deps: BmcJobDeps; bmc_ip: string }> {
  const host = `127.0.79.${(labs.length % 250) + 1}`
  const lab = await startRedfish({ bmcs: [{ name: 'one', profile, host }], speed })
  labs.push(lab)
  const { one: bmc } = lab.bmcs
  assert.ok(bmc !== undefined)
  const { port, username, password } = bmc
  const open: BmcJobDeps['bmcs']['open'] = async () =>
    redfish.open({
      bmc_ip: host,
      port,
      system_id: null,
      credentials: { username, password },
      tls: { mode: 'insecure' },
    })
  const deps = { bmcs: { open }, database, follow_ms: 10, patience_ms: 600, silence_ms: 900_000, timeout_ms: 15_000 }
  return { fixture: { bmc, lab }, deps, bmc_ip: host }
}

const MAY_FAIL = 'nothing tells whether what was about to be sent was sent, and it must not be sent twice'

const count = ({ lab }: Fixture, pattern: RegExp): number =>
  lab.calls.list().filter(({ command }) => pattern.test(command)).length

/** Fails to say so: an outcome that cannot be told after a crash ends the job, with the reason. */
function ended(job: { job_status: string; failure_code: string | null }, where: string): void {
  assert.equal(job.job_status, 'failed', where)
  assert.ok(
    ['JOB_INTERRUPTED', 'INTERNAL_ERROR', 'BMC_CHANGE_FAILED', 'BMC_JOB_CONFLICT'].includes(job.failure_code ?? ''),
    `${where}: ${job.failure_code}`,
  )
}

async function walkAll(walk: Walk<Fixture>): Promise<void> {
  await crashEverywhere(walk)
  await failEverywhere(walk)
  await repeatEverywhere(walk)
}

const made = (parts: Awaited<ReturnType<typeof fixture>>, bound: BoundJob, input: object) => ({
  fixture: parts.fixture,
  bound,
  input: { bmc_ip: parts.bmc_ip, by: 'test', ...input },
})

test('a restart is sent once', async () => {
  await walkAll({
    may_fail: MAY_FAIL,
    make: async () => {
      const parts = await fixture()
      return made(parts, bindJob(bmcPowerSetJob, parts.deps), { plan: ['ForceRestart'], force_off: false })
    },
    completed: (one, _job, where) => assert.equal(count(one, /ComputerSystem.Reset$/), 1, where),
    failed: (one, job, where) => {
      ended(job, where)
      assert.ok(count(one, /ComputerSystem.Reset$/) <= 1, where)
    },
  })
})

test('a BIOS change makes one job on the BMC', async () => {
  await walkAll({
    make: async () => {
      const parts = await fixture()
      const { bmc } = parts.fixture
      // Somebody restarts the machine as soon as the change waits.
      const timer = setInterval(() => {
        if (bmc.state.jobs.length === 0) return
        clearInterval(timer)
        Object.assign(bmc.state.bios, bmc.state.bios_pending)
        bmc.state.bios_pending = {}
        for (const job of bmc.state.jobs) Object.assign(job, { state: 'Completed', percent: 100 })
      }, 5)
      timer.unref()
      return made(parts, bindJob(bmcBiosSetJob, parts.deps), { attributes: { BootMode: 'Legacy' }, unseen: [] })
    },
    completed: ({ bmc }, _job, where) => {
      assert.equal(bmc.state.bios.BootMode, 'Legacy', where)
      assert.equal(bmc.state.jobs.length, 1, where)
    },
    failed: ({ bmc }, job, where) => {
      ended(job, where)
      assert.ok(bmc.state.jobs.length <= 1, where)
    },
  })
})

test('an update is submitted once', async () => {
  await walkAll({
    may_fail: MAY_FAIL,
    make: async () => {
      const parts = await fixture()
      return made(parts, bindJob(bmcFirmwareUpdateJob, parts.deps), { image_uri: 'http://10.0.0.5/bios.exe' })
    },
    completed: (one, _job, where) => {
      assert.equal(count(one, /SimpleUpdate$/), 1, where)
      assert.equal(one.bmc.state.bios_version, '2.1.1', where)
    },
    failed: (one, job, where) => {
      ended(job, where)
      assert.ok(count(one, /SimpleUpdate$/) <= 1, where)
    },
  })
})

test('a cleared queue is empty, whatever crashes', async () => {
  await crashEverywhere({
    make: async () => {
      const parts = await fixture()
      parts.fixture.bmc.state.habits.resist_clear = true
      parts.fixture.bmc.state.jobs = [
        { id: 'JID_1', name: 'x', state: 'Completed', percent: 100, message: '', made_at: '' },
      ]
      return made(parts, bindJob(bmcJobsDeleteJob, parts.deps), { force: true })
    },
    completed: ({ bmc }, _job, where) => assert.deepEqual(bmc.state.jobs, [], where),
    failed: (_one, job, where) => ended(job, where),
  })
})

test('a start from an image: inserted and booted once, or the drive is empty and the boot device reset', async () => {
  await walkAll({
    may_fail: MAY_FAIL,
    make: async () => {
      const parts = await fixture()
      return made(parts, bindJob(bmcIsoMountJob, parts.deps), { url: image_url, iso_file: 'small.iso' })
    },
    completed: (one, _job, where) => {
      assert.equal(one.bmc.state.booted_from, image_url, where)
      assert.equal(count(one, /InsertMedia$/), 1, where)
      assert.equal(count(one, /ComputerSystem.Reset$/), 1, where)
    },
    failed: (one, job, where) => {
      ended(job, where)
      assert.ok(
        one.bmc.state.media.every(({ image }) => image === null),
        where,
      )
      assert.notEqual(one.bmc.state.boot.enabled, 'Once', where)
      assert.ok(count(one, /ComputerSystem.Reset$/) <= 1, where)
    },
  })
})

test('an update whose BMC dies in its middle ends failed: it names the BMC and what to look at, and was sent once', async (t) => {
  const { fixture: one, deps, bmc_ip } = await fixture('idrac9-7', { ...FAST, dead_ms: HOUR_MS })
  one.bmc.state.habits.restart_in_update = true
  const bound = bindJob(bmcFirmwareUpdateJob, { ...deps, silence_ms: 50 })
  const process = await startJobProcess({
    connection: test_database.connection,
    keyring: testKeyring(),
    bound: [bound],
  })
  t.after(() => process.stop())
  const { id } = await admit(process, bound, { bmc_ip, by: 'test', image_uri: 'http://10.0.0.5/bios.exe' })
  const job = await until('the job has ended', async () => {
    const row = await process.engine.find(id)
    return row?.job_status !== 'running' && row
  })
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'BMC_UNAVAILABLE'])
  assert.match(job.failure_reason ?? '', new RegExp(`${bmc_ip}.*check its address, its network and that it runs`))
  assert.equal(count(one, /SimpleUpdate$/), 1)
})
