// GPUs on a folder that looks like /sys: what is written, in which order, and what is refused before anything is.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type GpuKernel, gpuKernel, type PlantedGpu } from '../../../test/support/gpu-kernel.ts'
import { assignVgpus } from './assign.ts'
import { convertGpus } from './convert.ts'
import { gpuNodeHandlers } from './index.ts'
import { parseCreatable, parseDescription, readGpu, readGpus } from './inventory.ts'

const A = '0000:3b:00.0'
const kernels: GpuKernel[] = []
after(() => {
  for (const kernel of kernels) kernel.remove()
})

function kernelWith(
  gpu: Partial<PlantedGpu> = {},
  more: PlantedGpu[] = [],
  options: { vfio?: boolean } = {},
): GpuKernel {
  const kernel = gpuKernel(
    [{ bus_address: A, driver: 'nvidia', own_driver: 'nvidia', kind: 'mdev', ...gpu }, ...more],
    options,
  )
  kernels.push(kernel)
  return kernel
}

const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
const mdev = (number: number, type: string) => ({ bus_address: A, uuid: uuid(number), type })

test('a GPU is read with its driver, mode and the vGPU types of its driver', async () => {
  const { host } = kernelWith()
  const gpus = await readGpus(host)
  assert.equal(gpus.length, 1)
  const [gpu] = gpus
  assert.deepEqual(
    [gpu?.driver, gpu?.mode, gpu?.vgpu_kind, gpu?.numa_node, gpu?.iommu_group],
    ['nvidia', 'vgpu', 'mdev', null, '3b'],
  )
  assert.deepEqual(gpu?.vgpu_types[0], {
    type: 'nvidia-558', name: 'GRID A16-4Q', available: 4, max_instances: 4, video_ram_mb: 4096, max_heads: 4, max_resolution_x: 7680, max_resolution_y: 4320,
  }) // biome-ignore format: one record
})

test('what the driver does not say is null', () => {
  const nothing = {
    max_instances: null,
    video_ram_mb: null,
    max_heads: null,
    max_resolution_x: null,
    max_resolution_y: null,
  }
  assert.deepEqual(parseDescription(''), nothing)
  assert.deepEqual(parseCreatable('ID    : vGPU Name\n  558 : NVIDIA A16-4Q\n\n'), [
    { ...nothing, available: null, type: '558', name: 'NVIDIA A16-4Q' },
  ])
  assert.deepEqual(parseCreatable(null), [])
})

test('to passthrough: prefer, take away, give; each verified before the next', async () => {
  const kernel = kernelWith()
  await convertGpus(kernel.host, { bus_addresses: [A], mode: 'passthrough' })
  assert.deepEqual(kernel.writes, [
    `devices/${A}/driver_override vfio-pci`,
    `drivers/nvidia/unbind ${A}`,
    `drivers_probe ${A}`,
  ])
  assert.equal((await readGpu(kernel.host, A))?.mode, 'passthrough')
})

test('and back to its own driver', async () => {
  const kernel = kernelWith({ driver: 'vfio-pci' })
  await convertGpus(kernel.host, { bus_addresses: [A], mode: 'vgpu' })
  assert.deepEqual(kernel.writes, [
    `devices/${A}/driver_override `,
    `drivers/vfio-pci/unbind ${A}`,
    `drivers_probe ${A}`,
  ])
  assert.equal((await readGpu(kernel.host, A))?.mode, 'vgpu')
})

test('what is so already is not written', async () => {
  const kernel = kernelWith({ driver: 'vfio-pci' })
  await convertGpus(kernel.host, { bus_addresses: [A], mode: 'passthrough' })
  assert.deepEqual(kernel.writes, [])
})

test('virtual functions are made for vGPU and taken away for passthrough, before the driver goes', async () => {
  const kernel = kernelWith({ kind: 'vendor', max_virtual_functions: 4 })
  assert.equal((await readGpu(kernel.host, A))?.mode, 'host')
  await convertGpus(kernel.host, { bus_addresses: [A], mode: 'vgpu' })
  const cut = await readGpu(kernel.host, A)
  assert.deepEqual([cut?.mode, cut?.virtual_functions.length, cut?.vgpu_kind], ['vgpu', 4, 'vendor'])
  assert.equal((await readGpus(kernel.host)).length, 1)
  kernel.writes.length = 0
  await convertGpus(kernel.host, { bus_addresses: [A], mode: 'passthrough' })
  assert.equal(kernel.writes[0], `devices/${A}/sriov_numvfs 0`)
  const whole = await readGpu(kernel.host, A)
  assert.deepEqual([whole?.mode, whole?.virtual_functions], ['passthrough', []])
})

test('the sound of the card goes with it, and first', async () => {
  const sound = {
    bus_address: '0000:3b:00.1',
    driver: 'snd',
    own_driver: 'snd',
    kind: 'mdev',
    class: '0x040300',
  } as const
  const kernel = kernelWith({}, [sound])
  await convertGpus(kernel.host, { bus_addresses: [A], mode: 'passthrough' })
  assert.equal(
    kernel.writes.findIndex((one) => one === 'drivers_probe 0000:3b:00.1') <
      kernel.writes.findIndex((one) => one === `drivers_probe ${A}`),
    true,
  )
  assert.match((await kernel.host.link('/sys/bus/pci/devices/0000:3b:00.1/driver')) ?? '', /vfio-pci$/)
})

const outsider = {
  bus_address: '0000:af:00.0',
  driver: 'nvidia',
  own_driver: 'nvidia',
  kind: 'mdev',
  group: '3b',
} as const
for (const [what, make, code] of [
  ['the GPU of the console', () => kernelWith({ console: true }), 'GPU_MODE_UNSUPPORTED'],
  ['a node without vfio-pci', () => kernelWith({}, [], { vfio: false }), 'GPU_MODE_UNSUPPORTED'],
  ['a group shared with another slot', () => kernelWith({}, [outsider]), 'GPU_MODE_UNSUPPORTED'],
  ['what is no GPU', () => kernelWith({ class: '0x020000' }), 'GPU_DEVICE_NOT_FOUND'],
] as const) {
  test(`${what} is refused before anything is written`, async () => {
    const kernel = make()
    await assert.rejects(convertGpus(kernel.host, { bus_addresses: [A], mode: 'passthrough' }), { code })
    assert.deepEqual(kernel.writes, [])
  })
}

test('a GPU with vGPUs on it is not taken away', async () => {
  const kernel = kernelWith()
  await assignVgpus(kernel.host, { bus_address: A, vgpus: [mdev(1, 'nvidia-558')] })
  kernel.writes.length = 0
  await assert.rejects(convertGpus(kernel.host, { bus_addresses: [A], mode: 'passthrough' }), {
    code: 'GPU_DEVICE_IN_USE',
  })
  assert.deepEqual(kernel.writes, [])
})

test('a driver that offers no vGPUs fails the conversion', async () => {
  const kernel = kernelWith({ driver: 'vfio-pci', own_driver: 'nouveau', kind: 'vendor' })
  await assert.rejects(convertGpus(kernel.host, { bus_addresses: [A], mode: 'vgpu' }), { code: 'GPU_CHANGE_FAILED' })
})

test('a rejection of the kernel names the order and not a path', async () => {
  const kernel = kernelWith()
  kernel.refuse('/unbind')
  await assert.rejects(
    convertGpus(kernel.host, { bus_addresses: [A], mode: 'passthrough' }),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'GPU_CHANGE_FAILED')
      assert.match(error.message, /take 0000:3b:00\.0 from nvidia \(EBUSY\)/)
      return true
    },
  )
})

test('mediated devices become the wanted set: what is not wanted goes before what is missing comes', async () => {
  const kernel = kernelWith()
  await assignVgpus(kernel.host, { bus_address: A, vgpus: [mdev(1, 'nvidia-558'), mdev(2, 'nvidia-558')] })
  kernel.writes.length = 0
  await assignVgpus(kernel.host, { bus_address: A, vgpus: [mdev(2, 'nvidia-558'), mdev(3, 'nvidia-558')] })
  assert.deepEqual(kernel.writes, [
    `devices/${A}/${uuid(1)}/remove 1`,
    `devices/${A}/mdev_supported_types/nvidia-558/create ${uuid(3)}`,
  ])
  const gpu = await readGpu(kernel.host, A)
  assert.deepEqual(
    gpu?.vgpus.map((one) => one.uuid),
    [uuid(2), uuid(3)],
  )
  kernel.writes.length = 0
  await assignVgpus(kernel.host, { bus_address: A, vgpus: gpu?.vgpus ?? [] })
  assert.deepEqual(kernel.writes, [])
})

test('virtual functions are unpinned before they are pinned again', async () => {
  const kernel = kernelWith({ kind: 'vendor', max_virtual_functions: 2 })
  await convertGpus(kernel.host, { bus_addresses: [A], mode: 'vgpu' })
  const [one = '', two = ''] = (await readGpu(kernel.host, A))?.virtual_functions ?? []
  const pinned = (type: string) => [one, two].map((bus_address) => ({ bus_address, uuid: null, type }))
  await assignVgpus(kernel.host, { bus_address: A, vgpus: pinned('558') })
  kernel.writes.length = 0
  await assignVgpus(kernel.host, { bus_address: A, vgpus: pinned('559') })
  const file = (name: string) => `devices/${name}/nvidia/current_vgpu_type`
  assert.deepEqual(kernel.writes, [`${file(one)} 0`, `${file(two)} 0`, `${file(one)} 559`, `${file(two)} 559`])
  assert.deepEqual((await readGpu(kernel.host, A))?.vgpus, pinned('559'))
})

for (const [what, vgpus, code] of [
  ['a type that the driver does not offer', [mdev(1, 'nvidia-1')], 'GPU_MODE_UNSUPPORTED'],
  ['a mediated device without UUID', [{ bus_address: A, uuid: null, type: 'nvidia-558' }], 'GPU_MODE_UNSUPPORTED'],
  ['a part of another GPU', [{ ...mdev(1, 'nvidia-558'), bus_address: '0000:af:00.0' }], 'GPU_DEVICE_NOT_FOUND'],
] as const) {
  test(`${what} is refused before anything is written`, async () => {
    const kernel = kernelWith()
    await assert.rejects(assignVgpus(kernel.host, { bus_address: A, vgpus: [...vgpus] }), { code })
    assert.deepEqual(kernel.writes, [])
  })
}

test('two changes at once: the second is refused', async () => {
  const { agentGpuConvert } = gpuNodeHandlers(kernelWith().host)
  const input = { params: undefined, query: undefined, body: { bus_addresses: [A], mode: 'passthrough' as const } }
  const first = agentGpuConvert(input, undefined)
  await assert.rejects(async () => agentGpuConvert(input, undefined), { code: 'GPU_JOB_RUNNING' })
  await first
})

test('vGPUs of a GPU that is given through whole are refused with its address and mode, and nothing is written', async () => {
  const { host, writes } = kernelWith({ driver: 'vfio-pci' })
  await assert.rejects(assignVgpus(host, { bus_address: A, vgpus: [mdev(1, 'nvidia-558')] }), {
    code: 'GPU_MODE_UNSUPPORTED',
    message: `${A} is in mode passthrough and offers no vGPUs; convert it to vgpu first.`,
  })
  assert.deepEqual(writes, [])
})

test('an order that the kernel takes and does not carry out is an error that names the order', async () => {
  const { host } = kernelWith()
  let now_ms = 0
  const deaf = { ...host, write: async () => {}, monotonic: () => (now_ms += 20_000) }
  await assert.rejects(assignVgpus(deaf, { bus_address: A, vgpus: [mdev(1, 'nvidia-558')] }), {
    code: 'GPU_CHANGE_FAILED',
    message: /^The kernel took the order to .*nvidia-558.*, but it is not so\.$/,
  })
})
