// Runs of the jobs that put a camera on the NVR, take one off, and delete the NVR with its machine, and what each must leave.
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import type { NvrLab } from '../../lab/nvr/server.ts'
import { createFrigate, type Frigate, NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import { bindJob, type BoundJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { cameraCreateJob, cameraDeleteJob } from '#src/modules/cam/instance/camera-change.job.ts'
import { cameraOrder, nvrCameraOf } from '#src/modules/cam/instance/camera-order.ts'
import { nvrDeleteJob } from '#src/modules/cam/instance/delete.job.ts'
import type { NvrJobDeps } from '#src/modules/cam/instance/initialize.job.ts'
import { hasCamera, withCamera, withoutCamera } from '#src/modules/cam/instance/nvr-config.ts'
import { createCamStore } from '#src/store/cam-instance.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { startLabNvr } from './camera-lab.ts'
import { ended, send, type Walk, withSentPoints } from './job-harness.ts'
import { admit, startJobProcess, testKeyring } from './job-process.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'
import { startWalkPlatform, type WalkPlatform } from './walk-platform.ts'

const INSTANCE = '0193a5d2-4b1d-7c3e-9f00-5d2c8e1f0a88'
const VM = wellKnown.vms['db-01']
const { cam } = checkConfig({ cam: { camera_networks: ['127.0.0.0/8'] } })
/** Nothing listens there: what cannot be read of a camera stops nothing. */
const ANNEX = cameraOrder(
  { camera_ip: '127.200.0.1', username: 'viewer', password: 'p %@:/{}é' },
  { id: 'annex', name: 'Annex' },
  cam.camera_networks,
)

let site: WalkPlatform
let nvr: NvrLab
let frigate: Frigate
let test_database: TestDatabase
let database: Database
let deps: NvrJobDeps
/** The NVR's file, with what a person wrote into it, without the camera and with it. */
let [without, having] = ['', '']

before(async () => {
  site = await startWalkPlatform()
  nvr = await startLabNvr()
  test_database = await createTestDatabase()
  database = openDatabase({ connection: test_database.connection, pool_size: 4, log: createLog({ level: 'silent' }) })
  const { url: origin, admin_password: password, ca } = nvr
  frigate = createFrigate({ origin, password, tls: { ca, servername: NVR_SERVER_NAME } }, () => undefined)
  const transport = withSentPoints(frigate.transport, (method, [operation]) =>
    method === 'call' && operation === 'config/save' ? 'save' : undefined,
  )
  // Without the time for which it is away: test/api/cam-instance.test.ts waits for that.
  const restart = (): Promise<void> => send('restart', () => nvr.state.boot())
  const changing = { ...frigate, transport, restart }
  const cam_store = createCamStore(database, testKeyring())
  deps = { config: { cam }, cloudstack: site.cloudstack, cam_store, currentNvr: async () => changing }
  const seen = { is_h264: null, has_audio: false }
  having = withCamera(nvr.state.file, nvrCameraOf({ ...ANNEX, created_at: new Date() }, seen), {
    release: '0.17',
    has_gpu: false,
  })
  without = withoutCamera(having, ANNEX.id)
})
after(async () => {
  await frigate.transport.close()
  await nvr.close()
  await database.close()
  await test_database.drop()
  await site.close()
})

async function reset({ has_camera }: { has_camera: boolean }): Promise<void> {
  const { cam_store } = deps
  nvr.state.file = `# by hand\n${has_camera ? having : without}`
  nvr.state.boot()
  await database.transact(async (trx) => {
    await cam_store.delete(trx, INSTANCE)
    const size = { cores: 2, memory_mb: 2048, gpu_count: 0, vgpu_profile_id: '', recording_disk_gb: 20 }
    await cam_store.create(trx, { id: INSTANCE, name: 'nvr', camera_ip: ANNEX.ip, network_id: 'cameras', ...size })
    await cam_store.saveCamera(trx, ANNEX)
  })
}

/** What the file, the running NVR and the records say of the camera. */
async function whereAnnexIs(): Promise<boolean[]> {
  assert.ok(nvr.state.file.startsWith('# by hand\n'))
  const stored = (await deps.cam_store.cameras()).some(({ id }) => id === ANNEX.id)
  return [hasCamera(nvr.state.file, ANNEX.id), nvr.state.camera(ANNEX.id) !== undefined, stored]
}

/** The NVR as these jobs see it, for what goes wrong with it. */
export const nvrLab = (): NvrLab => nvr

export async function forgetCamera(): Promise<void> {
  await database.db.deleteFrom('cam_camera').where('id', '=', ANNEX.id).execute()
}

const change = { instance_id: INSTANCE, camera_id: ANNEX.id }

export const putOn: Walk<void> = {
  async make() {
    await reset({ has_camera: false })
    const { connection } = test_database
    return { fixture: undefined, bound: bindJob(cameraCreateJob, deps), input: { ...change, adds: true }, connection }
  },
  async completed(_fixture, job, where) {
    assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
    assert.deepEqual(await whereAnnexIs(), [true, true, true], where)
    assert.equal((await deps.cam_store.instance())?.state, 'running', where)
  },
  async failed(_fixture, job, where) {
    assert.equal(job.job_status, 'failed', where)
    assert.deepEqual(await whereAnnexIs(), [false, false, false], where)
  },
}

export const takeOff: Walk<void> = {
  async make() {
    await reset({ has_camera: true })
    const { connection } = test_database
    return { fixture: undefined, bound: bindJob(cameraDeleteJob, deps), input: { ...change, adds: false }, connection }
  },
  async completed(_fixture, job, where) {
    assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
    assert.deepEqual(await whereAnnexIs(), [false, false, false], where)
    assert.equal((await deps.cam_store.instance())?.state, 'running', where)
  },
  async failed(_fixture, job, where) {
    assert.equal(job.job_status, 'failed', where)
    await takeOff.completed(undefined, await again(bindJob(cameraDeleteJob, deps), { ...change, adds: false }), where)
  },
}

export const removeAll: Walk<void> = {
  async make() {
    site.platform.reset()
    await reset({ has_camera: true })
    const input = { instance_id: INSTANCE, vm_id: VM, destroys_disks: true }
    const { connection } = test_database
    return { fixture: undefined, bound: bindJob(nvrDeleteJob, deps), input, connection }
  },
  async completed(_fixture, job, where) {
    assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
    assert.match(job.status, /recordings were destroyed with/, where)
    assert.deepEqual(await left(), [0, 0, 0], where)
  },
  async failed(_fixture, job, where) {
    assert.equal(job.job_status, 'failed', where)
    await again(bindJob(nvrDeleteJob, deps), { instance_id: INSTANCE, vm_id: VM, destroys_disks: true })
    assert.deepEqual(await left(), [0, 0, 0], where)
  },
}

/** Machines, disks for data and records of the NVR. */
async function left(): Promise<number[]> {
  const { vms, volumes } = site.platform.state.tables
  const disks = volumes.filter(({ virtualmachineid, type }) => virtualmachineid === VM && type === 'DATADISK')
  const machine = vms.get(VM)
  const is_gone = machine === null || ['Expunging', 'Destroyed'].includes(machine.state)
  return [is_gone ? 0 : 1, disks.length, (await deps.cam_store.instance()) === undefined ? 0 : 1]
}

async function again(bound: BoundJob, input: unknown): Promise<JobRow> {
  const { connection } = test_database
  const process = await startJobProcess({ connection, database, keyring: testKeyring(), bound: [bound] })
  try {
    return await ended(process, (await admit(process, bound, input)).id)
  } finally {
    await process.stop()
  }
}
