// Runs of the job that makes the NVR, on the lab's platform with its NVRs, and what each must leave: one machine at most, its
// password in the records, and nothing that a retry does not go on with.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { after } from 'node:test'
import { startCloudStack } from '../../lab/cloudstack/server.ts'
import { addCameraSite } from '../../lab/nvr/camera-site.ts'
import { runNvrMachines } from '../../lab/nvr/machines.ts'
import { DEFAULT_SIZE } from '../../lab/site.ts'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { createFrigateClients } from '#src/drivers/frigate/client.ts'
import { bindJob, type BoundJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { createCurrentNvr } from '#src/modules/cam/current-nvr.ts'
import { cameraOrder } from '#src/modules/cam/instance/camera-order.ts'
import { nvrInitializeJob } from '#src/modules/cam/instance/initialize.job.ts'
import { vmProvisionJob } from '#src/modules/compute/provision.job.ts'
import { createCamStore } from '#src/store/cam-instance.ts'
import { openDatabase } from '#src/store/database.ts'
import { ended, platformChanges, type Walk, withSentPoints } from './job-harness.ts'
import { admit, startJobProcess, testKeyring } from './job-process.ts'
import { createTestDatabase } from './test-database.ts'

export const TEMPLATE = 'groundplane-nvr'
const log = createLog({ level: 'error', destination: new Writable({ write: (_chunk, _encoding, done) => done() }) })
const open: (() => Promise<void>)[] = []
after(async () => {
  for (const close of open.reverse()) await close()
})

/** One platform and one database serve all walks: each run makes an NVR of its own, and takes the one before away. */
export const shared = (async () => {
  const platform = await startCloudStack({ time: 'step', port: 0, size: DEFAULT_SIZE })
  const ticking = setInterval(() => platform.step(), 5)
  const subnet = `127.${20 + (process.pid % 40)}.${Math.floor(process.pid / 40) % 250}`
  const site = addCameraSite(platform.state, { template: TEMPLATE, subnet })
  const machines = runNvrMachines(platform, { template: TEMPLATE, restart: 'manual' })
  const test_database = await createTestDatabase()
  const { connection } = test_database
  const database = openDatabase({ connection, pool_size: 4, log })
  const { url, api_key, secret_key } = platform
  const client = createCloudStack(
    { url, api_key, secret_key, algorithm: 'hmac-sha1', timeout_ms: 30_000, read_timeout_ms: 30_000 },
    { log, wait_factor: 0.01 },
  )
  const cloudstack = withSentPoints(client, platformChanges)
  const nvr_clients = createFrigateClients(() => undefined)
  const cam_store = createCamStore(database, testKeyring())
  const { cam } = checkConfig({ cam: { camera_networks: ['127.0.0.0/8'] } })
  const config = { cam }
  const currentNvr = createCurrentNvr({ config, cam_store, nvr_clients })
  open.push(async () => {
    clearInterval(ticking)
    await machines.close()
    await nvr_clients.close()
    await cloudstack.close()
    await database.close()
    await test_database.drop()
    await platform.close()
  })
  const deps = { config, cloudstack, cam_store, currentNvr }
  return { platform, site, machines, connection, database, deps, children: [bindJob(vmProvisionJob, { cloudstack })] }
})()

interface Fixture {
  id: string
}

export async function make(change: { network_id?: string } = {}) {
  const { platform, site, connection, database, deps, children } = await shared
  const { tables } = platform.state
  for (const vm of tables.vms.filter(({ templateid }) => tables.templates.get(templateid)?.name === TEMPLATE)) {
    tables.vms.remove(vm.id)
  }
  const before = await deps.cam_store.instance()
  const id = randomUUID()
  // Nothing listens there: what cannot be read of a camera stops nothing.
  const body = { camera_ip: `${site.subnet}.250`, username: 'viewer', password: 'p %@:/{}é' }
  await database.transact(async (trx) => {
    if (before !== undefined) await deps.cam_store.delete(trx, before.id)
    const size = { cores: 2, memory_mb: 2048, gpu_count: 0, vgpu_profile_id: '', recording_disk_gb: 20 }
    const about = { id, name: `nvr-${id.slice(-8)}`, camera_ip: body.camera_ip, network_id: site.network_id }
    await deps.cam_store.create(trx, { ...about, ...size, ...change })
    await deps.cam_store.saveCamera(
      trx,
      cameraOrder(body, { id: 'gate', name: 'Gate' }, deps.config.cam.camera_networks),
    )
  })
  const bound = bindJob(nvrInitializeJob, deps)
  return { fixture: { id }, bound, input: { instance_id: id }, children, connection }
}

/** Machines that the NVR's template was used for, whatever became of them. */
export async function made() {
  const { platform } = await shared
  const { tables } = platform.state
  return tables.vms.filter(({ templateid }) => tables.templates.get(templateid)?.name === TEMPLATE)
}

export async function isRunning(_fixture: Fixture, job: JobRow, where: string): Promise<void> {
  const { deps, machines } = await shared
  assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
  const row = await deps.cam_store.instance()
  assert.deepEqual([row?.state, row?.error_message], ['running', ''], where)
  assert.deepEqual(
    (await made()).map(({ id, state }) => [id, state]),
    [[row?.vm_id, 'Running']],
    where,
  )
  const nvr = machines.running.get(row?.vm_id ?? '')
  assert.equal(nvr?.state.users.get('admin')?.password, row?.admin_password, where)
}

/** What a failed job has left is known, and the next one goes on with it. */
export async function goesOn({ id }: Fixture, job: JobRow, where: string): Promise<void> {
  const { deps, connection, children } = await shared
  assert.equal(job.job_status, 'failed', where)
  const left = await deps.cam_store.instance()
  const machines = await made()
  assert.ok(
    machines.length <= 1 && machines.every((vm) => vm.id === left?.vm_id),
    `${where}: ${machines.length} machines`,
  )
  const retried = await run(bindJob(nvrInitializeJob, deps), id, { connection, children })
  await isRunning({ id }, retried, `retry after ${where}`)
  const row = await deps.cam_store.instance()
  if (left !== undefined && left.admin_password !== null) assert.equal(row?.admin_password, left?.admin_password, where)
  if (machines.length === 1) assert.equal(row?.vm_id, left?.vm_id, where)
}

export async function run(
  bound: BoundJob,
  instance_id: string,
  { connection, children }: Pick<Awaited<typeof shared>, 'connection' | 'children'>,
): Promise<JobRow> {
  const { database } = await shared
  const process = await startJobProcess({ connection, database, keyring: testKeyring(), bound: [bound, ...children] })
  try {
    return await ended(process, (await admit(process, bound, { instance_id })).id)
  } finally {
    await process.stop()
  }
}

export const walk: Walk<Fixture> = { make, completed: isRunning, failed: goesOn }
