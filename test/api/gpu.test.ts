// GPUs over HTTP: what the platform knows, and changes of a real node's GPUs (on a folder that looks like /sys).
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import type { PlantedGpu } from '../support/gpu-kernel.ts'
import { type GpuNode, joinGpuNode } from '../support/gpu-node.ts'
import {
  assertNoUnknownParameters,
  callsOf,
  control,
  ended,
  eventOf,
  NOBODY,
  tokenFor,
} from '../support/platform-calls.ts'
import { type Fate, type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
let proxy: PlatformProxy
let node: GpuNode | undefined
before(async () => {
  lab = await startLab({
    time: 'step',
    between: async (platform_url) => {
      proxy = await startPlatformProxy(platform_url)
      return proxy.url
    },
    // What is asked for the health of nodes has no part in the faults.
    config: { nodes: { health_poll_ms: 3_600_000 } },
  })
})
after(async () => {
  await lab.close()
  await proxy.close()
})
beforeEach(() => {
  lab.platform.reset()
  for (const one of ofHost())
    lab.platform.state.tables.gpudevices.put({ ...one, state: 'Free', virtualmachineid: null })
})
afterEach(async () => {
  await node?.close().catch(() => {})
  node = undefined
  await assertNoUnknownParameters(lab)
})

const BASE = '/infrastructure/gpu'
const A = '0000:3b:00.0'
const B = '0000:af:00.0'
const host_id = wellKnown.hosts['kvm-01']
const first = seededId('gpudevice', 'kvm-01/3b:00.0')
const second = seededId('gpudevice', 'kvm-01/af:00.0')
const profile_id = wellKnown.vgpu_profiles['NVIDIA A16-4Q']
const card_id = wellKnown.gpu_cards['NVIDIA A16']

const call = (path: string, body?: unknown) => lab.call('POST', `${BASE}/${path}`, body)
const held = (id: string) => lab.platform.state.tables.gpudevices.get(id)
const ofHost = () => lab.platform.state.tables.gpudevices.by('host', host_id)

/** The host's node joins with two cards; their passthrough driver is what the platform's records say. */
async function withNode(driver = 'vfio-pci', more: Partial<PlantedGpu> = {}): Promise<GpuNode> {
  const host = lab.platform.state.tables.hosts.get(host_id)
  const where = { bmc_ip: `10.1.9.${++joined}`, node_ip: host?.ipaddress ?? '', hostname: `gpu-node-${joined}` }
  const planted = [A, B].map(
    (bus_address): PlantedGpu => ({ bus_address, driver, own_driver: 'nvidia', kind: 'mdev', ...more }),
  )
  if (former !== undefined) await lab.call('DELETE', `/configure/nodes/${former}`)
  former = where.bmc_ip
  node = await joinGpuNode(lab, where, planted)
  return node
}
let joined = 0
let former: string | undefined

function use(device_id: string): void {
  const device = held(device_id)
  if (device === null) throw new Error('the device is seeded')
  lab.platform.state.tables.gpudevices.put({
    ...device,
    state: 'Allocated',
    virtualmachineid: wellKnown.vms['render-gpu'],
  })
}

test('cards, devices and profiles are listed in our words, filtered and paged', async () => {
  const cards = await call('cards/list', { active_only: true })
  assert.equal(cards.status, 200, cards.text)
  assert.deepEqual(
    cards.body.gpu_cards.map((one: { name: string }) => one.name),
    ['NVIDIA A2', 'NVIDIA A16'],
  )
  const numbered = await call('cards/list', { device_id: '25b6', vendor_id: '10de', page_size: 1 })
  assert.deepEqual([numbered.body.count, numbered.body.gpu_cards.length], [2, 1])
  // The platform's own search by a keyword is broken SQL.
  const searched = await call('cards/list', { keyword: 'a16' })
  assert.deepEqual([searched.status, searched.body.count, searched.body.gpu_cards[0]?.name], [200, 1, 'NVIDIA A16'])
  const devices = await call('devices/list', { host_id, page: 2, page_size: 1 })
  assert.deepEqual([devices.body.count, devices.body.gpu_devices[0].host_name], [2, 'kvm-01'])
  const one = await call('devices/list', { id: first })
  assert.deepEqual(
    [one.body.gpu_devices[0].type, one.body.gpu_devices[0].managed_state, one.body.gpu_devices[0].virtual_machine_id],
    ['PCI', 'Managed', null],
  )
  const profiles = await call('profiles/list', { name: 'NVIDIA A16-4Q' })
  assert.deepEqual(
    [profiles.body.count, profiles.body.vgpu_profiles[0].video_ram_mb, profiles.body.vgpu_profiles[0].card_name],
    [1, 4096, 'NVIDIA A16'],
  )
})

test('devices leave the pool and come back; each answer is what the platform then holds', async () => {
  const out = await call('devices/unmanage', { ids: [first, second] })
  assert.equal(out.status, 200, out.text)
  assert.deepEqual(
    out.body.gpu_devices.map((one: { managed_state: string }) => one.managed_state),
    ['Unmanaged', 'Unmanaged'],
  )
  assert.equal(held(first)?.managedstate, 'Unmanaged')
  const back = await call('devices/manage', { ids: [first] })
  assert.deepEqual(
    [back.body.count, held(first)?.managedstate, held(second)?.managedstate],
    [1, 'Managed', 'Unmanaged'],
  )
  assert.equal((await eventOf(lab, back.headers.get('x-correlation-id') ?? '')).status, 'SUCCESS')
})

test('a device that a machine has stays in the pool, with all that were named beside it', async () => {
  use(first)
  const reply = await call('devices/unmanage', { ids: [second, first] })
  assert.deepEqual([reply.status, reply.body.code], [400, 'GPU_DEVICE_IN_USE'])
  assert.match(reply.body.detail, /render-gpu/)
  assert.equal(held(second)?.managedstate, 'Managed')
})

test('discovery answers the whole list of the host, which must be Up', async () => {
  lab.platform.state.gpu_hardware.set(host_id, [
    {
      busaddress: 'd8:00.0',
      gpudevicetype: 'PCI',
      gpucardid: card_id,
      vgpuprofileid: profile_id,
      parentbusaddress: null,
    },
  ])
  const reply = await call('devices/discover', { host_id })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(
    [
      reply.body.count,
      reply.body.gpu_devices.map((one: { bus_address: string }) => one.bus_address).includes('d8:00.0'),
    ],
    [3, true],
  )
  const host = lab.platform.state.tables.hosts.get(host_id)
  assert.ok(host !== null)
  lab.platform.state.tables.hosts.put({ ...host, state: 'Down' })
  const down = await call('devices/discover', { host_id })
  assert.deepEqual([down.status, down.body.code], [400, 'HOST_STATE'])
})

test('a profile is created once', async () => {
  const reply = await call('profiles/create', {
    name: 'NVIDIA A16-2Q',
    card_id,
    video_ram_mb: 2048,
    max_vgpu_per_pgpu: 8,
    max_heads: 4,
    max_resolution_x: 7680,
    max_resolution_y: 4320,
  })
  assert.equal(reply.status, 201, reply.text)
  assert.equal(lab.platform.state.tables.vgpuprofiles.get(reply.body.id)?.videoram, 2048)
  const again = await call('profiles/create', { name: 'NVIDIA A16-2Q', card_id })
  assert.deepEqual([again.status, again.body.code], [400, 'VGPU_PROFILE_EXISTS'])
})

for (const [path, body, status, code] of [
  ['devices/manage', { ids: [NOBODY] }, 400, 'GPU_DEVICE_NOT_FOUND'],
  ['devices/unmanage', { ids: [NOBODY] }, 400, 'GPU_DEVICE_NOT_FOUND'],
  ['devices/manage', { ids: [] }, 400, 'INVALID_REQUEST'],
  ['devices/discover', { host_id: NOBODY }, 400, 'HOST_NOT_FOUND'],
  ['devices/list', { host_id: NOBODY }, 400, 'RESOURCE_NOT_FOUND'],
  ['profiles/create', { name: 'x', card_id: NOBODY }, 400, 'GPU_CARD_NOT_FOUND'],
  ['devices/convert', { host_id: NOBODY, mode: 'vgpu' }, 404, 'HOST_NOT_FOUND'],
  ['devices/convert', { host_id, mode: 'other' }, 400, 'INVALID_REQUEST'],
  ['devices/convert', { host_id, mode: 'vgpu', bus_addresses: ['../../etc'] }, 400, 'INVALID_REQUEST'],
  ['devices/repin', { host_id, bus_address: A, vgpu_profile_id: NOBODY }, 404, 'VGPU_PROFILE_NOT_FOUND'],
  ['devices/repin/status', { host_id: NOBODY }, 404, 'HOST_NOT_FOUND'],
  ['profiles/sync', { host_id: NOBODY }, 404, 'HOST_NOT_FOUND'],
] as const) {
  test(`${path} ${JSON.stringify(body)} is ${status} ${code}`, async () => {
    const reply = await call(path, body)
    assert.deepEqual([reply.status, reply.body.code], [status, code], reply.text)
  })
}

test('without a node for the host a change says so, and the status too', async () => {
  for (const reply of [
    await call('devices/convert', { host_id, mode: 'vgpu' }),
    await call('profiles/sync', { host_id }),
  ]) {
    assert.deepEqual([reply.status, reply.body.code], [500, 'AGENT_NOT_CONFIGURED'], reply.text)
    assert.match(reply.body.detail, /kvm-01/)
  }
  const status = await call('devices/repin/status', { host_id })
  assert.deepEqual([status.status, status.body.change, status.body.gpus], [200, null, null], status.text)
  assert.match(status.body.unavailable[0].reason, /No node is registered/)
})

test('a conversion changes the node, and the devices are back in the pool', async () => {
  const { kernel } = await withNode()
  const reply = await call('devices/convert', { host_id, mode: 'vgpu', bus_addresses: [A] })
  assert.equal(reply.status, 200, reply.text)
  const job = await ended(lab, reply.body.job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  assert.deepEqual(kernel.writes, [
    `devices/${A}/driver_override `,
    `drivers/vfio-pci/unbind ${A}`,
    `drivers_probe ${A}`,
  ])
  assert.deepEqual([held(first)?.managedstate, held(second)?.managedstate], ['Managed', 'Managed'])
  assert.equal((await callsOf(lab, 'unmanageGpuDevice'))[0]?.ids, first)
  assert.equal((await callsOf(lab, 'discoverGpuDevices')).length, 1)
  const status = await call('devices/repin/status', { host_id })
  assert.deepEqual(
    [status.body.change.kind, status.body.change.status, status.body.change.target, status.body.change.bus_addresses],
    ['convert', 'SUCCESS', 'vgpu', [A]],
  )
  assert.deepEqual(
    status.body.gpus.map((one: { mode: string }) => one.mode),
    ['vgpu', 'passthrough'],
  )
})

test('a conversion of a host whose devices a machine has is refused, and nothing is touched', async () => {
  const { kernel } = await withNode()
  use(second)
  const reply = await call('devices/convert', { host_id, mode: 'vgpu', bus_addresses: [A] })
  assert.deepEqual([reply.status, reply.body.code], [409, 'GPU_DEVICE_IN_USE'], reply.text)
  assert.deepEqual([kernel.writes, await callsOf(lab, 'unmanageGpuDevice')], [[], []])
})

test('a GPU that the node does not have is 404', async () => {
  await withNode()
  const reply = await call('devices/convert', { host_id, mode: 'vgpu', bus_addresses: ['0000:ff:00.0'] })
  assert.deepEqual([reply.status, reply.body.code], [404, 'GPU_DEVICE_NOT_FOUND'])
})

test('a conversion that the kernel refuses half-way is put back: drivers and pool', async () => {
  const { kernel } = await withNode()
  kernel.refuse(`${B}/driver_override`)
  const reply = await call('devices/convert', { host_id, mode: 'vgpu' })
  const job = await ended(lab, reply.body.job_id)
  assert.deepEqual(
    [job.job_status, job.failed_step, job.failure_code],
    ['failed', 'convert', 'GPU_CHANGE_FAILED'],
    job.failure_reason,
  )
  const status = await call('devices/repin/status', { host_id })
  assert.deepEqual(
    status.body.gpus.map((one: { mode: string }) => one.mode),
    ['passthrough', 'passthrough'],
  )
  assert.deepEqual([held(first)?.managedstate, held(second)?.managedstate], ['Managed', 'Managed'])
  assert.deepEqual([status.body.change.status, status.body.change.failure_code], ['FAILED', 'GPU_CHANGE_FAILED'])
})

test('a device kept out of the pool on purpose stays out', async () => {
  await withNode()
  await call('devices/unmanage', { ids: [first] })
  const reply = await call('devices/convert', { host_id, mode: 'vgpu' })
  assert.equal((await ended(lab, reply.body.job_id)).job_status, 'completed')
  assert.deepEqual([held(first)?.managedstate, held(second)?.managedstate], ['Unmanaged', 'Managed'])
})

test('a repin cuts the GPU into the profile, its records follow, and a second change waits its turn', async () => {
  const { kernel } = await withNode('nvidia')
  lab.platform.state.gpu_hardware.set(host_id, [])
  const reply = await call('devices/repin', { host_id, bus_address: A, vgpu_profile_id: profile_id, count: 2 })
  assert.equal(reply.status, 200, reply.text)
  const job = await ended(lab, reply.body.job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  assert.equal(kernel.writes.filter((one) => one.includes('nvidia-558/create')).length, 2)
  const status = await call('devices/repin/status', { host_id })
  assert.deepEqual(
    status.body.gpus[0].vgpus.map((one: { type: string }) => one.type),
    ['nvidia-558', 'nvidia-558'],
  )
  assert.deepEqual([status.body.change.kind, status.body.change.target], ['repin', 'NVIDIA A16-4Q'])
  assert.deepEqual((await call('devices/repin/inflight', { host_id })).body.gpu_repins, [])
  const full = await call('devices/repin', { host_id, bus_address: A, vgpu_profile_id: profile_id, count: 5 })
  assert.deepEqual([full.status, full.body.code], [400, 'GPU_MODE_UNSUPPORTED'])
})

test('what is discovered new comes into the pool, and records of parts that are gone are removed', async () => {
  await withNode('nvidia')
  const order = { host_id, bus_address: A, vgpu_profile_id: profile_id, count: 2 }
  await ended(lab, (await call('devices/repin', order)).body.job_id)
  const parts = async (): Promise<string[]> =>
    (await call('devices/repin/status', { host_id })).body.gpus[0].vgpus.map((one: { uuid: string }) => one.uuid)
  const find = (uuids: string[]) =>
    lab.platform.state.gpu_hardware.set(
      host_id,
      uuids.map((busaddress) => ({
        busaddress,
        gpudevicetype: 'MDEV' as const,
        gpucardid: card_id,
        vgpuprofileid: profile_id,
        parentbusaddress: '3b:00.0',
      })),
    )
  const before_uuids = await parts()
  find(before_uuids)
  await call('devices/discover', { host_id })
  assert.equal(ofHost().length, 4)
  // The next cut keeps one part and drops the other, whose record goes with it.
  const fewer = await call('devices/repin', { ...order, count: 1 })
  const job = await ended(lab, fewer.body.job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  const [part] = await parts()
  find([])
  assert.deepEqual(new Set(ofHost().map((one) => one.busaddress)), new Set(['3b:00.0', 'af:00.0', part]))
  assert.equal(ofHost().length, 3)
  assert.ok(ofHost().every((one) => one.managedstate === 'Managed'))
})

test('a repin of a GPU that is not cut is refused', async () => {
  await withNode()
  const reply = await call('devices/repin', { host_id, bus_address: A, vgpu_profile_id: profile_id })
  assert.deepEqual([reply.status, reply.body.code], [400, 'GPU_MODE_UNSUPPORTED'])
  assert.match(reply.body.detail, /passthrough/)
  const unknown = await call('devices/repin', {
    host_id,
    bus_address: A,
    vgpu_profile_id: wellKnown.vgpu_profiles['A2 passthrough'],
  })
  assert.equal(unknown.body.code, 'GPU_MODE_UNSUPPORTED')
})

test('a GPU is not cut into what its driver does not offer or count, and the sentence names it, the profile and the way out', async () => {
  await withNode('nvidia')
  const made = await call('profiles/create', { name: 'NVIDIA A16-99Q', card_id })
  assert.equal(made.status, 201, made.text)
  const order = { host_id, bus_address: A, vgpu_profile_id: made.body.id }
  const unoffered = await call('devices/repin', order)
  assert.deepEqual([unoffered.status, unoffered.body.code], [400, 'GPU_MODE_UNSUPPORTED'], unoffered.text)
  assert.match(
    unoffered.body.detail,
    new RegExp(`driver of ${A} offers no NVIDIA A16-99Q now \\(.+\\); give vgpu_type when it only does not list it`),
  )
  const uncounted = await call('devices/repin', { ...order, vgpu_type: 'nvidia-999' })
  assert.deepEqual([uncounted.status, uncounted.body.code], [400, 'GPU_MODE_UNSUPPORTED'], uncounted.text)
  assert.equal(uncounted.body.detail, `The driver of ${A} does not say how many NVIDIA A16-99Q fit; give count.`)
  assert.equal((await callsOf(lab, 'unmanageGpuDevice')).length, 0)
})

test('a host whose GPUs all show a console has none to convert, and is named', async () => {
  await withNode('nvidia', { console: true })
  const reply = await call('devices/convert', { host_id, mode: 'passthrough' })
  assert.deepEqual([reply.status, reply.body.code], [404, 'GPU_DEVICE_NOT_FOUND'], reply.text)
  assert.equal(reply.body.detail, 'Host kvm-01 has no GPU that could be converted.')
})

test('one change of a host at a time; the repin under way is listed', async () => {
  await withNode('nvidia')
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  proxy.behave(async (command): Promise<Fate> => {
    if (command === 'unmanageGpuDevice') await held
    return 'pass'
  })
  const reply = await call('devices/repin', { host_id, bus_address: A, vgpu_profile_id: profile_id })
  const inflight = await call('devices/repin/inflight')
  assert.deepEqual(
    inflight.body.gpu_repins.map((one: { job_id: string; status: string }) => [one.job_id, one.status]),
    [[reply.body.job_id, 'IN_PROGRESS']],
  )
  for (const [path, body] of [
    ['devices/convert', { host_id, mode: 'passthrough' }],
    ['devices/repin', { host_id, bus_address: A, vgpu_profile_id: profile_id }],
    ['profiles/sync', { host_id }],
  ] as const) {
    const other = await call(path, body)
    assert.deepEqual([other.status, other.body.code], [409, 'GPU_JOB_RUNNING'], other.text)
  }
  release()
  assert.equal((await ended(lab, reply.body.job_id)).job_status, 'completed')
})

test('the catalogue of the node becomes profiles, each once, under the card it is for', async () => {
  await withNode('nvidia')
  const count = () => lab.platform.state.tables.vgpuprofiles.size
  const start = count()
  const reply = await call('profiles/sync', { host_id })
  const job = await ended(lab, reply.body.job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  // GRID A16-4Q is the seeded NVIDIA A16-4Q; only A16-8Q is missing.
  assert.equal(count(), start + 1)
  const made = [...lab.platform.state.tables.vgpuprofiles.values()].find((one) => one.name === 'GRID A16-8Q')
  assert.deepEqual([made?.gpucardid, made?.videoram, made?.maxvgpuperphysicalgpu], [card_id, 8192, 2])
  const again = await call('profiles/sync', { host_id })
  assert.equal((await ended(lab, again.body.job_id)).job_status, 'completed')
  assert.equal(count(), start + 1)
})

test('a node whose agent is gone: the change is refused with 500, the status says why it sees nothing', async () => {
  const gone = await withNode()
  await gone.close()
  const reply = await call('devices/convert', { host_id, mode: 'vgpu' })
  assert.deepEqual([reply.status, reply.body.code], [500, 'AGENT_UNAVAILABLE'], reply.text)
  const status = await call('devices/repin/status', { host_id })
  assert.deepEqual([status.status, status.body.gpus], [200, null])
  assert.match(status.body.unavailable[0].reason, /cannot be reached/)
  assert.deepEqual(await callsOf(lab, 'unmanageGpuDevice'), [])
})

test('a failing platform is 500 in our words', async () => {
  for (const [command, path, body] of [
    ['listGpuDevices', 'devices/list', {}],
    ['manageGpuDevice', 'devices/manage', { ids: [first] }],
    ['createVgpuProfile', 'profiles/create', { name: 'x', card_id }],
  ] as const) {
    await control(lab, 'fail', { command, code: 530, text: 'secret-host-3 broke', times: 1 })
    const reply = await call(path, body)
    assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'], command)
    assert.ok(!reply.text.includes('secret-host-3'))
  }
})

test('GPUs belong to no tenant, and what changes a node asks for admin', async () => {
  const token = await tokenFor(lab, 'operator', wellKnown.domains.acme)
  assert.equal((await lab.call('POST', `${BASE}/devices/list`, {}, { token })).body.code, 'TENANT_SCOPE')
  const refused = await lab.call(
    'POST',
    `${BASE}/devices/convert`,
    { host_id, mode: 'vgpu' },
    { token: await tokenFor(lab, 'operator') },
  )
  assert.deepEqual([refused.status, refused.body.code], [403, 'FORBIDDEN'])
})
