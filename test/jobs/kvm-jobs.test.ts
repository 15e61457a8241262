// The jobs that start machines through remote KVMs survive a crash at every point, a failure of every step, and every step run
// twice: one clean installation, one press of the button, and nothing left on the KVM.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { closeServer, listenOn, readText } from '../../lab/control.ts'
import { makeInstaller, runXorriso } from '../../lab/installer/xorriso.ts'
import { type PikvmLab, type SimulatedKvm, startPikvm } from '../../lab/pikvm/server.ts'
import { ERRORS } from '#src/contract/errors.ts'
import { createPikvm, type Pikvm } from '#src/drivers/pikvm/connections.ts'
import { allowedNetworks } from '#src/drivers/allowed-networks.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { createLedger } from '#src/jobs/ledger.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { createLog } from '#src/kernel/log.ts'
import { builtInStore } from '#src/modules/ddi/ipam/built-in.ts'
import type { BootInput, KvmJobDeps } from '#src/modules/kvm/boot-parts.ts'
import { nodePhoneHome } from '#src/modules/kvm/phone-home.ts'
import type { ProvisionInput } from '#src/modules/kvm/provision-input.ts'
import { kvmProvisionJob } from '#src/modules/kvm/provision.job.ts'
import { kvmRevealJob } from '#src/modules/kvm/reveal.job.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { insertNode } from '#src/store/nodes.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { testKeyring } from '../support/job-process.ts'
import { FAST_KVM } from '../support/kvm-site.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'

const log = createLog({ level: 'silent' })
let pikvm: Pikvm
let database: Database
let test_database: TestDatabase
let callback: Server
let deps: Omit<KvmJobDeps, 'bmcs'>
let callback_url: string
const labs: PikvmLab[] = []

before(async () => {
  pikvm = createPikvm({ allowed_networks: ['127.0.84.0/24'], timeout_ms: 10_000, retry_ms: 20 })
  test_database = await createTestDatabase()
  database = openDatabase({ connection: test_database.connection, pool_size: 4, log })
  const folder = join(tempFolder('gp-kvm-walk-'), 'tools')
  mkdirSync(folder)
  const { template } = makeInstaller(folder)
  deps = {
    database,
    ipam: builtInStore(database),
    tools: { run: async (args) => runXorriso(args), template, work_dir: join(folder, 'work') },
    node_networks: allowedNetworks(['127.0.85.0/24']),
    callback_ca: null,
    verify_most_bytes: 1024 ** 2,
    poll_ms: 10,
    off_ms: 5000,
    ssh_port: await freeTcpPort(),
  }
  const jobs = createLedger(database, testKeyring(), 'callback')
  const answer = nodePhoneHome({ database, jobs })
  callback = createServer((request, response) => {
    void readText(request).then(async (text) => {
      const body = JSON.parse(text) as Parameters<typeof answer>[0]['body']
      await answer({ body, params: undefined, query: undefined }, { headers: {}, log }).then(
        (reply) => response.end(JSON.stringify(reply)),
        // Asked too often, as far as this test goes: the machine asks again.
        (error: unknown) =>
          response.writeHead(error instanceof ApiError ? Number(ERRORS[error.code].status) : 500).end(),
      )
    })
  })
  callback_url = await listenOn(callback, { host: '127.0.0.1', port: 0 })
})
after(async () => {
  await Promise.all(labs.map((lab) => lab.close()))
  await pikvm.close()
  await closeServer(callback)
  await database.close()
  await test_database.drop()
})

interface Fixture {
  kvm: SimulatedKvm
}

/** A KVM and a node of its own for every run of a walk. */
async function fixture(): Promise<{ kvm: SimulatedKvm; bound_deps: KvmJobDeps; boot: BootInput; address: string }> {
  const number = labs.length + 1
  const host = `127.0.84.${number}`
  const lab = await startPikvm({ kvms: [{ name: 'one', host }], speed: FAST_KVM })
  labs.push(lab)
  const { one: kvm } = lab.kvms
  assert.ok(kvm !== undefined)
  const { port, username, password } = kvm
  const bound_deps: KvmJobDeps = {
    ...deps,
    bmcs: {
      open: () => assert.fail('there is no BMC'),
      openKvm: async () =>
        pikvm.open({ kvm_ip: host, port, tls: { mode: 'insecure' }, credentials: { username, password } }),
    },
  }
  const row = {
    id: crypto.randomUUID(),
    bmc_ip: host,
    node_ip: null,
    fqdn: null,
    hostname: null,
    role: null,
    zone: null,
    registered_by: 'test',
  }
  await database.db.transaction().execute((trx) => insertNode(trx, row))
  await database.db.updateTable('node').set({ provision_status: 'provisioning' }).where('bmc_ip', '=', host).execute()
  const boot: BootInput = {
    kvm_ip: host, bmc_ip: host, by: 'test', mode: 'install', token: `${number}`.padStart(43, 'T'), callback_url, boot_strategy: 'order',
    boot_keys: [], vendor_bmc_ip: null, media: 'cdrom', power_led: true, force: false,
  } // biome-ignore format: a record
  return { kvm, bound_deps, boot, address: `127.0.85.${number}` }
}

/** Nothing is left of the image, whatever became of the job. */
function cleared({ kvm }: Fixture, where: string): void {
  const { images, drive } = kvm.state
  assert.deepEqual([images.size, drive.connected], [0, false], where)
}

async function nodeState({ kvm }: Fixture): Promise<string> {
  const row = await database.db
    .selectFrom('node')
    .select('provision_status')
    .where('bmc_ip', '=', kvm.host)
    .executeTakeFirstOrThrow()
  return row.provision_status
}

const MAY_FAIL = 'whether the button was pressed is not known, and a second press could switch the machine off'

function failedForAReason(job: JobRow, where: string): void {
  assert.equal(job.job_status, 'failed', where)
  assert.ok(
    ['JOB_INTERRUPTED', 'INTERNAL_ERROR'].includes(job.failure_code ?? ''),
    `${where}: ${job.failure_code} ${job.failure_reason}`,
  )
}

test('a machine is installed once, or its KVM and its addresses are as before', async () => {
  const walk: Walk<Fixture> = {
    may_fail: MAY_FAIL,
    make: async () => {
      const { kvm, bound_deps, boot, address } = await fixture()
      const [disk] = kvm.state.machine.disks
      const [nic] = kvm.state.machine.nics
      const input: ProvisionInput = {
        ...boot, hostname: `walk-${kvm.host}`, username: 'admin', password_hash: '$6$x', pool: { type: 'single', disks: [disk?.serial ?? ''] },
        nic: { mac: nic?.mac ?? '', name: null }, static_network: { address: `${address}/24`, gateway: '127.0.85.254', dns: [] },
        prefix_id: null, timezone: 'UTC', wipe_existing: false,
      } // biome-ignore format: a record
      return {
        fixture: { kvm },
        bound: bindJob(kvmProvisionJob, bound_deps),
        input,
        connection: test_database.connection,
      }
    },
    completed: async (one, _job, where) => {
      cleared(one, where)
      assert.deepEqual([await nodeState(one), one.kvm.state.machine.booted_from], ['discovered', 'disk'], where)
      assert.equal(one.kvm.state.presses.filter((press) => press === 'short').length <= 3, true, where)
    },
    failed: async (one, job, where) => {
      failedForAReason(job, where)
      cleared(one, where)
      assert.equal(await nodeState(one), 'provision_failed', where)
    },
  }
  await crashEverywhere(walk)
  await failEverywhere(walk)
  await repeatEverywhere(walk)
})

test('a machine is revealed, and nothing is left on its KVM', async () => {
  // Its steps are those of an installation, so failures and repeats of them are walked there.
  await crashEverywhere({
    may_fail: MAY_FAIL,
    make: async () => {
      const { kvm, bound_deps, boot } = await fixture()
      return {
        fixture: { kvm },
        bound: bindJob(kvmRevealJob, bound_deps),
        input: { ...boot, mode: 'reveal' },
        connection: test_database.connection,
      }
    },
    completed: async (one, job, where) => {
      cleared(one, where)
      assert.match(job.status, /3 disks and 2 NICs/, where)
    },
    failed: (one, job, where) => {
      failedForAReason(job, where)
      cleared(one, where)
    },
  })
})
