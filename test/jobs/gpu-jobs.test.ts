// The GPU jobs survive a crash at every point, a failure of every step, and every step run twice: node and pool are whole.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import type { GpuInstance } from '#src/contract/nodes/agent-gpu.ts'
import { bindJob, type BoundJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import type { ChangeDeps } from '#src/modules/gpu/change-steps.ts'
import { gpuDeviceConvertJob } from '#src/modules/gpu/convert.job.ts'
import { vgpuProfileSyncJob } from '#src/modules/gpu/profile-sync.job.ts'
import { gpuDeviceRepinJob } from '#src/modules/gpu/repin.job.ts'
import { assignVgpus } from '#src/node/gpu/assign.ts'
import { convertGpus } from '#src/node/gpu/convert.ts'
import { readGpus } from '#src/node/gpu/inventory.ts'
import { type GpuKernel, gpuKernel } from '../support/gpu-kernel.ts'
import { crashInTurn, ended, failEverywhere, repeatEverywhere, send, type Walk } from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { createTestDatabase } from '../support/test-database.ts'
import { startWalkPlatform, type WalkPlatform } from '../support/walk-platform.ts'

const A = '0000:3b:00.0'
const host = { id: wellKnown.hosts['kvm-01'], name: 'kvm-01', ip_address: '10.0.0.11' }

interface Fixture {
  kernel: GpuKernel
  platform: CloudStackLab
  before_vgpus: GpuInstance[]
}

let platform_site: WalkPlatform
const kernels: GpuKernel[] = []
before(async () => {
  platform_site = await startWalkPlatform()
})
after(async () => {
  await platform_site?.close()
  for (const kernel of kernels) kernel.remove()
})

/** A site with one card of one host: the platform's simulator, and the node's code on a folder that looks like /sys. */
async function site(driver: 'vfio-pci' | 'nvidia'): Promise<{ fixture: Fixture; deps: ChangeDeps }> {
  const { platform, cloudstack } = platform_site
  platform.reset()
  for (const one of platform.state.tables.gpudevices.by('host', host.id))
    platform.state.tables.gpudevices.put({ ...one, state: 'Free', virtualmachineid: null })
  const kernel = gpuKernel([{ bus_address: A, driver, own_driver: 'nvidia', kind: 'mdev' }])
  kernels.push(kernel)
  const list = async () => readGpus(kernel.host)
  const deps: ChangeDeps = {
    cloudstack,
    nodes: {
      list,
      convert: async (_host, change) => {
        await send('convert', () => convertGpus(kernel.host, change))
        return list()
      },
      assign: async (_host, change) => {
        await send('assign', () => assignVgpus(kernel.host, change))
        return list()
      },
    },
  }
  return { fixture: { kernel, platform, before_vgpus: [] }, deps }
}

function assertPoolWhole({ platform }: Fixture, where: string): void {
  const devices = platform.state.tables.gpudevices.by('host', host.id)
  assert.deepEqual(
    devices.map(({ managedstate }) => managedstate).filter((one) => one !== 'Managed'),
    [],
    where,
  )
  assert.ok(
    devices.some(({ id }) => id === seededId('gpudevice', 'kvm-01/3b:00.0')),
    where,
  )
}

async function modeOf({ kernel }: Fixture): Promise<string | undefined> {
  return (await readGpus(kernel.host))[0]?.mode
}

const converting: Walk<Fixture> = {
  make: async () => {
    const { fixture, deps } = await site('vfio-pci')
    return { fixture, bound: bindJob(gpuDeviceConvertJob, deps), input: { host, bus_addresses: [A], mode: 'vgpu' } }
  },
  completed: async (fixture, job, where) => {
    assert.equal(await modeOf(fixture), 'vgpu', where)
    assert.equal(job.failure_code, null, where)
    assertPoolWhole(fixture, where)
  },
  failed: async (fixture, job, where) => {
    assert.equal(job.job_status, 'failed', where)
    assert.equal(await modeOf(fixture), 'passthrough', where)
    assertPoolWhole(fixture, where)
  },
}

const vgpus = async ({ kernel }: Fixture): Promise<GpuInstance[]> => (await readGpus(kernel.host))[0]?.vgpus ?? []

const repinning: Walk<Fixture> = {
  make: async () => {
    const { fixture, deps } = await site('nvidia')
    const one = { bus_address: A, uuid: '30000000-0000-4000-8000-000000000001', type: 'nvidia-559' }
    await assignVgpus(fixture.kernel.host, { bus_address: A, vgpus: [one] })
    fixture.before_vgpus = [one]
    const profile = { profile_id: wellKnown.vgpu_profiles['NVIDIA A16-4Q'], profile_name: 'NVIDIA A16-4Q' }
    return {
      fixture,
      bound: bindJob(gpuDeviceRepinJob, deps),
      input: { host, bus_addresses: [A], count: 3, ...profile },
    }
  },
  completed: async (fixture, _job, where) => {
    assert.deepEqual(
      (await vgpus(fixture)).map(({ type }) => type),
      ['nvidia-558', 'nvidia-558', 'nvidia-558'],
      where,
    )
    assertPoolWhole(fixture, where)
  },
  failed: async (fixture, job, where) => {
    assert.equal(job.job_status, 'failed', where)
    assert.deepEqual(await vgpus(fixture), fixture.before_vgpus, where)
    assertPoolWhole(fixture, where)
  },
}

const syncing: Walk<Fixture> = {
  make: async () => {
    const { fixture, deps } = await site('nvidia')
    return { fixture, bound: bindJob(vgpuProfileSyncJob, deps), input: { host } }
  },
  completed: ({ platform }, _job, where) => {
    const names = [...platform.state.tables.vgpuprofiles.values()].map(({ name }) => name)
    assert.deepEqual(
      names.filter((name) => name.endsWith('A16-8Q')),
      ['GRID A16-8Q'],
      where,
    )
  },
  failed: (_fixture, job, where) => assert.equal(job.job_status, 'failed', where),
}

test('a node that stops showing the GPU loses no record of it', async () => {
  const { fixture, deps } = await site('nvidia')
  const list = deps.nodes.list
  let asked = 0
  // The check, the probe before the act, and the verification after it see the card; then /sys is gone.
  deps.nodes.list = async (...args) => ((asked += 1) <= 3 ? list(...args) : [])
  const profile = { profile_id: wellKnown.vgpu_profiles['NVIDIA A16-4Q'], profile_name: 'NVIDIA A16-4Q' }
  const input = { host, bus_addresses: [A], count: 1, ...profile }
  const job = await runToEnd(bindJob(gpuDeviceRepinJob, deps), input)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'GPU_DEVICE_NOT_FOUND'], job.status)
  assertPoolWhole(fixture, 'after the failure')
})

async function runToEnd(bound: BoundJob, input: unknown): Promise<JobRow> {
  const database = await createTestDatabase()
  const process = await startJobProcess({ connection: database.connection, keyring: testKeyring(), bound: [bound] })
  try {
    return await ended(process, (await admit(process, bound, input)).id)
  } finally {
    await process.stop()
    await database.drop()
  }
}

for (const [name, walk, ...sent] of [
  ['conversion', converting, 'unmanageGpuDevice', 'convert'],
  ['repin', repinning, 'unmanageGpuDevice', 'assign'],
  ['profile sync', syncing, 'createVgpuProfile'],
] as const) {
  test(`a ${name} that crashes at any point is finished by the next process, or put back`, async () => {
    const points = await crashInTurn(walk)
    for (const point of sent) assert.ok(points.includes(`${point}:sent`), `${point} of ${points.join()}`)
  })
  test(`a ${name} whose steps fail in turn is put back`, async () => {
    assert.ok((await failEverywhere(walk)) >= 2)
  })
  test(`every step of a ${name} may run twice`, () => repeatEverywhere(walk))
}
