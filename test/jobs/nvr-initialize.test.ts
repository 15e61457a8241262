// Making the NVR when it fails, in every way: never two machines, never a lost password, nothing that nobody knows of, and a retry
// goes on. Its process killed at every point: test/peers/nvr-crash-walk.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { bindJob, type BoundJob } from '#src/jobs/define.ts'
import { nvrInitializeJob } from '#src/modules/cam/instance/initialize.job.ts'
import { failEverywhere, repeatEverywhere } from '../support/job-harness.ts'
import { goesOn, isRunning, made, make, run, shared, TEMPLATE, walk } from '../support/nvr-walk.ts'
import { until } from '../support/until.ts'

test('whichever step fails, nothing is left that nobody knows of, and a retry goes on with the same machine', async () => {
  assert.equal(await failEverywhere(walk), nvrInitializeJob.steps.length)
})

test('every step of making an NVR may run twice', () => repeatEverywhere(walk))

test('a machine that cannot be made, and a network without addresses, leave no machine that nobody knows of', async () => {
  const { deps, platform } = await shared
  const { fixture, bound, ...more } = await make()
  const { hosts } = platform.state.tables
  const up = [...hosts.values()]
  for (const host of up) hosts.put({ ...host, resourcestate: 'Disabled' })
  const failed = await run(bound, fixture.id, more)
  for (const host of up) hosts.put(host)
  assert.deepEqual([failed.job_status, failed.failed_step], ['failed', 'machine'])
  assert.deepEqual(await made(), [])
  await goesOn(fixture, failed, 'a machine that finds no host')
  const other = await make({ network_id: wellKnown.networks['storage-l2'] })
  const without = await run(other.bound, other.fixture.id, other)
  assert.deepEqual([without.failed_step, without.failure_code], ['address', 'CAM_ADDRESS_UNKNOWN'])
  const row = await deps.cam_store.instance()
  assert.deepEqual(
    (await made()).map(({ id }) => id),
    [row?.vm_id],
  )
  const full = await make()
  const network = platform.state.tables.networks.get((await shared).site.network_id)
  if (network === null) throw new Error('no network')
  platform.state.tables.networks.put({ ...network, guestvmcidr: '192.0.2.0/31' })
  const refused = await run(full.bound, full.fixture.id, full)
  platform.state.tables.networks.put(network)
  assert.equal(refused.failed_step, 'machine')
  await goesOn(full.fixture, refused, 'a network that is full')
})

test('an NVR in safe mode is a failure that a retry passes once the file is right; a camera that is gone is none', async () => {
  const { machines, deps } = await shared
  const { fixture, bound, ...more } = await make()
  const broken = withBefore(bound, 'verify', async () => {
    const [nvr] = machines.running.values()
    if (nvr === undefined) throw new Error('no NVR')
    nvr.state.file = `unknown_key: 1\n${nvr.state.file}`
    nvr.state.boot()
  })
  const failed = await run(broken, fixture.id, more)
  assert.deepEqual([failed.failed_step, failed.failure_code], ['verify', 'CAM_CONFIG_REJECTED'])
  const [nvr] = machines.running.values()
  if (nvr === undefined) throw new Error('no NVR')
  nvr.state.file = nvr.state.file.replace('unknown_key: 1\n', '')
  nvr.state.boot()
  await goesOn(fixture, failed, 'safe mode')
  const gone = await make()
  const dark = withBefore(gone.bound, 'frames', async () => {
    const camera = [...machines.running.values()][0]?.state.cameras.get('gate')
    if (camera !== undefined) camera.offline = true
  })
  const job = await withBootTime(0.05, () => run(dark, gone.fixture.id, gone))
  assert.match(job.status, /sends no frames/)
  const row = await deps.cam_store.instance()
  assert.equal(row?.state, 'running')
  assert.match(row?.next_action ?? '', /Check camera gate at 127\./)
})

test('an NVR that does not answer within its time is a failure with its address, and a retry waits for it once more', async () => {
  const { machines, deps } = await shared
  const { fixture, bound, ...more } = await make()
  const running = () => until('the machine to have its NVR', () => [...machines.running.values()][0])
  const silent = withBefore(bound, 'login', async () => (await running()).setPhase('down'))
  const failed = await withBootTime(0.01, () => run(silent, fixture.id, more))
  assert.deepEqual([failed.failed_step, failed.failure_code], ['login', 'NVR_TIMEOUT'])
  const row = await deps.cam_store.instance()
  assert.ok(
    failed.failure_reason?.includes(`The NVR at ${row?.vm_ip_address} did not answer`),
    `${failed.failure_reason}`,
  )
  await (await running()).setPhase('ready')
  await goesOn(fixture, failed, 'an NVR that did not answer')
})

test('what is gone or not as ordered when its step begins is named by the failure', async () => {
  const { machines, deps, platform, database } = await shared
  const running = () => until('the machine to have its NVR', () => [...machines.running.values()][0])
  const failing = async (step: string, happens: (id: string) => unknown): Promise<unknown[]> => {
    const { fixture, bound, ...more } = await make()
    const job = await run(
      withBefore(bound, step, async () => void (await happens(fixture.id))),
      fixture.id,
      more,
    )
    return [job.failed_step, job.failure_code, job.failure_reason]
  }
  const machine = async () => (await deps.cam_store.instance()) ?? assert.fail('no NVR')
  const forgotten = await failing('machine', () => database.db.deleteFrom('cam_camera').execute())
  assert.deepEqual(forgotten, ['machine', 'CAM_CAMERA_NOT_FOUND', 'The NVR has no camera to begin with.'])
  let name = ''
  const lost = await failing('address', async () => {
    const row = await machine()
    name = row.name
    platform.state.tables.vms.remove(row.vm_id ?? '')
  })
  assert.deepEqual(lost, ['address', 'VM_NOT_FOUND', `The virtual machine ${name} is gone.`])
  let at = ''
  const unset = await withBootTime(0.01, () =>
    failing('login', async () => {
      at = (await machine()).vm_ip_address ?? ''
      const admin = (await running()).state.users.get('admin') ?? assert.fail('no admin')
      admin.password = 'of somebody else'
    }),
  )
  const says = `The NVR at ${at} runs, but its first boot did not set the admin password.`
  assert.deepEqual(unset, ['login', 'CAM_AUTH_FAILED', says])
  const blind = await failing('verify', async () => {
    const { state } = await running()
    state.file = state.file.replaceAll(/\bgate\b/g, 'barn')
    state.boot()
  })
  assert.deepEqual(blind, ['verify', 'CAM_CONFIG_REJECTED', 'The NVR runs without camera gate.'])
  const deleted = await failing('address', (id) => database.transact((trx) => deps.cam_store.delete(trx, id)))
  assert.deepEqual(deleted, ['address', 'CAM_NOT_INITIALIZED', 'The NVR was deleted meanwhile.'])
})

/** Only where waiting in vain is what is tested: otherwise a busy machine would not be given its time. */
async function withBootTime<T>(minutes: number, act: () => Promise<T>): Promise<T> {
  const { cam } = (await shared).deps.config
  const usual = cam.boot_minutes
  cam.boot_minutes = minutes
  try {
    return await act()
  } finally {
    cam.boot_minutes = usual
  }
}

/** Something happens just before the act of the step. */
function withBefore(bound: BoundJob, name: string, happens: () => Promise<void>): BoundJob {
  const steps = bound.definition.steps.map((step) =>
    step.name === name
      ? { ...step, run: async (one: Parameters<typeof step.run>[0]) => happens().then(() => step.run(one)) }
      : step,
  )
  return bindJob({ ...bound.definition, steps }, bound.deps)
}

test('the template is waited for while it is downloaded', async () => {
  const { platform } = await shared
  const { tables } = platform.state
  const { fixture, bound, ...more } = await make()
  const [template] = tables.templates.filter(({ name }) => name === TEMPLATE)
  if (template === undefined) throw new Error('no template')
  tables.templates.put({ ...template, isready: false, status: '42% Downloaded', downloadstate: 'DOWNLOAD_IN_PROGRESS' })
  const job = run(bound, fixture.id, more)
  const { database } = await shared
  await until('the job to wait without a process', async () => {
    const jobs = database.db.selectFrom('job').select('wake_at').where('job_status', '=', 'running')
    return (await jobs.where('epoch', '>', 1).executeTakeFirst())?.wake_at instanceof Date
  })
  tables.templates.put(template)
  await isRunning(fixture, await job, 'a template that arrives')
})
