// What the control plane asks the agent of a node about its GPUs: node-to-node calls, left out of the published document.
import { type Static, Type } from 'typebox'
import { Closed, Nullable, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'

export const PCI_ADDRESS = '^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$'
const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
/** Becomes part of a path of /sys, so it holds nothing but these. */
const TYPE_ID = '^[A-Za-z0-9_-]{1,64}$'

export const PciAddress = Type.String({
  pattern: PCI_ADDRESS,
  description: 'PCI address with its domain: 0000:3b:00.0.',
})
const Whole = (description: string) => Nullable(Type.Integer({ description }))

export const GpuVgpuType = Type.Object(
  {
    type: Type.String({ description: 'What the driver calls it: nvidia-558, or a number.' }),
    name: Nullable(Type.String({ description: 'Name of the vGPU profile.' })),
    available: Whole('How many can be made now.'),
    max_instances: Whole('How many fit on an empty GPU.'),
    video_ram_mb: Whole('Memory of one.'),
    max_heads: Whole('Screens of one.'),
    max_resolution_x: Whole('Width of one.'),
    max_resolution_y: Whole('Height of one.'),
  },
  { title: 'NodeVgpuType' },
)
export type GpuVgpuType = Static<typeof GpuVgpuType>

/** A vGPU that is set up: on the GPU itself or on one of its virtual functions. */
export const GpuInstance = Closed(
  {
    bus_address: PciAddress,
    uuid: Nullable(
      Type.String({ pattern: UUID, description: 'Of a mediated device; null where the virtual function is the vGPU.' }),
    ),
    type: Type.String({ pattern: TYPE_ID }),
  },
  { title: 'NodeVgpu' },
)
export type GpuInstance = Static<typeof GpuInstance>

export const GPU_MODES = ['passthrough', 'vgpu', 'host', 'none'] as const

export const NodeGpu = Type.Object(
  {
    bus_address: PciAddress,
    vendor_id: Type.String(),
    device_id: Type.String(),
    driver: Nullable(Type.String({ description: 'Driver that holds it; null when none does.' })),
    mode: OneOf([...GPU_MODES], {
      description:
        'passthrough: given to machines whole. vgpu: can be cut. host: its own driver, not cut. none: no driver.',
    }),
    console: Type.Boolean({ description: 'Shows the console of the node; it is never converted.' }),
    numa_node: Whole('Memory it is near to.'),
    iommu_group: Nullable(Type.String()),
    virtual_functions: Type.Array(PciAddress),
    max_virtual_functions: Whole('Null when it has none.'),
    vgpu_kind: Nullable(
      OneOf(['mdev', 'vendor'], { description: 'How the driver makes vGPUs; null when it cannot at present.' }),
    ),
    vgpu_types: Type.Array(GpuVgpuType),
    vgpus: Type.Array(GpuInstance),
  },
  { title: 'NodeGpu' },
)
export type NodeGpu = Static<typeof NodeGpu>

export const NodeGpus = Type.Object({ gpus: Type.Array(NodeGpu) })
export type NodeGpus = Static<typeof NodeGpus>

/** Public conversions know two modes; `host` is what an undone conversion may have to go back to. */
export const AgentGpuConvert = Closed({
  bus_addresses: Type.Array(PciAddress, { minItems: 1, maxItems: 64, uniqueItems: true }),
  mode: OneOf(['passthrough', 'vgpu', 'host']),
})
export type AgentGpuConvert = Static<typeof AgentGpuConvert>

export const AgentGpuAssign = Closed({
  bus_address: PciAddress,
  vgpus: Type.Array(GpuInstance, {
    maxItems: 512,
    description: 'The whole wanted set; others of this GPU are removed.',
  }),
})
export type AgentGpuAssign = Static<typeof AgentGpuAssign>

const shared = { access: 'cluster', hidden: true, extension: true, runs_on: 'node', timeout_ms: 180_000 } as const

export const agentGpu = defineArea({
  name: 'agent-gpu',
  description: 'GPUs of one node, as its agent answers the control plane.',
  routes: {
    agentGpuList: {
      ...shared,
      method: 'GET',
      path: '/internal/node/gpus',
      summary: 'List GPUs of this node',
      ok: { 200: NodeGpus },
      errors: [500],
      example: { answer: { gpus: [] } },
    },
    agentGpuConvert: {
      ...shared,
      method: 'POST',
      path: '/internal/node/gpus/convert',
      summary: 'Convert GPUs of this node',
      description: 'What is so already stays untouched.',
      body: AgentGpuConvert,
      ok: { 200: NodeGpus },
      errors: [400, 404, 409, 500],
      example: { body: { bus_addresses: ['0000:3b:00.0'], mode: 'vgpu' }, answer: { gpus: [] } },
    },
    agentGpuAssign: {
      ...shared,
      method: 'POST',
      path: '/internal/node/gpus/vgpus',
      summary: 'Set vGPUs of GPU of this node',
      description: 'What is so already stays untouched.',
      body: AgentGpuAssign,
      ok: { 200: NodeGpus },
      errors: [400, 404, 409, 500],
      example: { body: { bus_address: '0000:3b:00.0', vgpus: [] }, answer: { gpus: [] } },
    },
  },
})
