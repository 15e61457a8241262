// Storage benchmarks of a node: disk or directory, pool, block image; presets and history (Part 3, 4.11).
import { type Static, Type } from 'typebox'
import { Closed, Id, ListOf, Nullable, OneOf, PageFields, Time, Unavailable } from '../common.ts'
import { defineArea } from '../route.ts'

export const DURATION_MAX_S = 300
export const TEST_SIZE_MAX_BYTES = 64 * 2 ** 30
export const READ_WRITE = ['read', 'write', 'randread', 'randwrite', 'rw', 'randrw'] as const
export const IO_ENGINES = ['libaio', 'io_uring', 'psync'] as const

const Duration = Type.Integer({ minimum: 1, maximum: DURATION_MAX_S, description: 'Seconds, 300 at most.' })
const Figure = (description: string) => Nullable(Type.Number({ minimum: 0, description }))
const Size = (description: string) => Type.String({ pattern: '^[0-9]{1,15}[BbKkMmGgTt]?$', maxLength: 16, description })

export const BenchmarkIo = Type.Object(
  {
    bandwidth_kbps: Figure('KiB a second.'),
    bandwidth_mbps: Figure('MiB a second.'),
    iops: Figure('Operations a second.'),
    latency_avg_us: Figure('Mean latency in microseconds.'),
    latency_p50_us: Figure('Median latency.'),
    latency_p99_us: Figure('99th percentile.'),
    latency_p999_us: Figure('99.9th percentile.'),
    total_ios: Nullable(Type.Integer({ minimum: 0, description: 'Operations completed.' })),
  },
  {
    title: 'BenchmarkIo',
    description: 'A figure is null while it is not known; `unavailable` of the result says why.',
  },
)
export type BenchmarkIo = Static<typeof BenchmarkIo>

export const BENCHMARK_TYPES = ['disk', 'pool', 'blockimage'] as const
export const BENCHMARK_STATES = ['running', 'completed', 'failed'] as const

export const BenchmarkResult = Type.Object(
  {
    id: Type.String(),
    profile: Type.String({ description: 'Preset id, `custom`, or what the tool was asked to do.' }),
    raw_output: Type.String({ description: 'Output of the tool, cut to 1 MiB.' }),
    started_at: Time,
    target: Type.String(),
    type: OneOf([...BENCHMARK_TYPES]),
    error: Type.String({ description: 'Empty unless the run failed.' }),
    duration_seconds: Type.Number({ minimum: 0, description: 'Measured.' }),
    status: OneOf([...BENCHMARK_STATES]),
    read: BenchmarkIo,
    write: BenchmarkIo,
    unavailable: Type.Array(Unavailable, { 'x-extension': true }),
  },
  { title: 'BenchmarkResult' },
)
export type BenchmarkResult = Static<typeof BenchmarkResult>

export const BenchmarkProfile = Type.Object(
  {
    block_size: Type.String(),
    description: Type.String(),
    id: Type.String(),
    io_engine: Type.String(),
    name: Type.String(),
    read_write: Type.String(),
    test_size: Type.String(),
    direct: Type.Integer({ description: '1 bypasses the page cache.' }),
    io_depth: Type.Integer(),
    num_jobs: Type.Integer(),
    runtime_sec: Type.Integer(),
    rw_mix_read: Type.Optional(Type.Integer({ description: 'Percent of reads; only for mixed read-write.' })),
  },
  { title: 'BenchmarkProfile' },
)
export type BenchmarkProfile = Static<typeof BenchmarkProfile>

export const CustomProfile = Closed(
  {
    block_size: Type.Optional(Size('Block size: 512 bytes to 16M, a multiple of 512.')),
    description: Type.Optional(Type.String({ maxLength: 200 })),
    id: Type.Optional(Type.String({ maxLength: 64 })),
    io_engine: Type.Optional(OneOf([...IO_ENGINES])),
    name: Type.Optional(Type.String({ maxLength: 64 })),
    read_write: Type.Optional(OneOf([...READ_WRITE])),
    test_size: Type.Optional(Size('Part of the target that is used: 1M to 64G.')),
    direct: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 })),
    io_depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
    num_jobs: Type.Optional(Type.Integer({ minimum: 1, maximum: 32 })),
    runtime_sec: Type.Optional(Duration),
    rw_mix_read: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  },
  { title: 'CustomProfile', description: 'The fields of a profile; those given override the preset.' },
)
export type CustomProfile = Static<typeof CustomProfile>

export const DiskBenchmarkRequest = Closed(
  {
    profile_id: Type.Optional(
      Type.String({ maxLength: 64, description: 'Preset; when empty custom_profile is used.' }),
    ),
    custom_profile: Type.Optional(CustomProfile),
    duration_sec: Type.Optional(Duration),
    target: Type.Optional(
      Type.String({
        maxLength: 4096,
        description:
          'Path of a whole block device, or a directory in which a private test file is made. Empty: the folder of the ' +
          'product for temporary files.',
      }),
    ),
    confirm_serial: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Serial number of the blank device that a writing profile may overwrite.',
        'x-extension': true,
      }),
    ),
  },
  { title: 'DiskBenchmarkRequest' },
)
export type DiskBenchmarkRequest = Static<typeof DiskBenchmarkRequest>

/** The documents mark neither pool nor image as required; a request without them is refused with 400 all the same. */
const CephName = Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9._][A-Za-z0-9._-]*$' })

export const PoolBenchmarkRequest = Closed(
  {
    pool_name: Type.Optional(CephName),
    mode: Type.Optional(OneOf(['write', 'seq', 'rand'], { default: 'write' })),
    duration_sec: Type.Optional(Duration),
  },
  { title: 'PoolBenchmarkRequest' },
)
export type PoolBenchmarkRequest = Static<typeof PoolBenchmarkRequest>

export const BlockImageBenchmarkRequest = Closed(
  {
    pool_name: Type.Optional(CephName),
    image_name: Type.Optional(CephName),
    io_pattern: Type.Optional(OneOf(['rand', 'seq'], { default: 'seq', 'x-documented-default': true })),
    io_size: Type.Optional(Size('Bytes, or text with a unit; 4K when left out.')),
    io_threads: Type.Optional(Type.Integer({ minimum: 1, maximum: 256, description: '16 when left out.' })),
    io_total: Type.Optional(Size('Bytes, or text with a unit; 1G when left out.')),
    io_type: Type.Optional(OneOf(['write', 'read', 'readwrite'], { default: 'read' })),
    duration_sec: Type.Optional(Duration),
    confirm_image: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Name of the image again: a write overwrites it. Not needed when the name starts with `bench`.',
        'x-extension': true,
      }),
    ),
  },
  { title: 'BlockImageBenchmarkRequest' },
)
export type BlockImageBenchmarkRequest = Static<typeof BlockImageBenchmarkRequest>

const RUN_NOTES =
  'The answer comes when the run has ended; with `Prefer: respond-async` it comes at once with status running, and the ' +
  'result is read at its id. A client that goes away ends its run.'
const run = {
  method: 'POST' as const,
  access: 'operator' as const,
  ok: { 200: BenchmarkResult },
  errors: [400, 500, 503],
  event: { resource_type: 'BENCHMARK' },
  runs_on: 'node' as const,
  timeout_ms: 900_000,
}

export const benchmarks = defineArea({
  name: 'benchmarks',
  description: 'Storage benchmarks: presets, runs, history.',
  routes: {
    benchmarkDiskRun: {
      ...run,
      path: '/api/v2/storage/benchmark/disk',
      summary: 'Benchmark disk or directory',
      description: `${RUN_NOTES} A writing profile refuses a device that holds anything. One disk run a node.`,
      body: DiskBenchmarkRequest,
      example: { body: { profile_id: 'rand-read-4k', duration_sec: 10 } },
    },
    benchmarkPoolRun: {
      ...run,
      path: '/api/v2/storage/benchmark/pool',
      summary: 'Benchmark pool',
      description: `${RUN_NOTES} Reads write objects first; all objects of the run are removed. One run a pool.`,
      body: PoolBenchmarkRequest,
      example: { body: { pool_name: 'bench', mode: 'write', duration_sec: 10 } },
    },
    benchmarkBlockImageRun: {
      ...run,
      access: 'admin',
      path: '/api/v2/storage/benchmark/blockimage',
      summary: 'Benchmark block image',
      description: `${RUN_NOTES} Writes overwrite the image: it must have no client, and its name be confirmed.`,
      body: BlockImageBenchmarkRequest,
      example: { body: { pool_name: 'bench', image_name: 'bench-1', io_type: 'read', duration_sec: 10 } },
    },
    benchmarkProfileList: {
      method: 'GET',
      path: '/api/v2/storage/benchmark/profiles',
      summary: 'List benchmark profiles',
      access: 'viewer',
      ok: { 200: Type.Object({ profiles: Type.Array(BenchmarkProfile) }) },
      errors: [],
      runs_on: 'node',
      example: {},
    },
    benchmarkResultList: {
      method: 'GET',
      path: '/api/v2/storage/benchmark/results',
      summary: 'List benchmark results',
      description:
        'Newest first, running ones included; raw_output is left empty here and stands in the single result.',
      access: 'viewer',
      query: Type.Object({
        type: Type.Optional(OneOf([...BENCHMARK_TYPES])),
        status: Type.Optional(OneOf([...BENCHMARK_STATES])),
        target: Type.Optional(Type.String({ maxLength: 4096 })),
        ...PageFields,
      }),
      ok: { 200: ListOf('results', BenchmarkResult, 'BenchmarkResults') },
      errors: [400, 500],
      runs_on: 'node',
      extension: true,
      example: {},
    },
    benchmarkResultRead: {
      method: 'GET',
      path: '/api/v2/storage/benchmark/results/{id}',
      summary: 'Read benchmark result',
      access: 'viewer',
      params: Type.Object({ id: Id }),
      ok: { 200: BenchmarkResult },
      errors: [400, 404, 500],
      runs_on: 'node',
      extension: true,
      example: { params: { id: '5c2c4a8e-3f0d-4a58-9a3d-0d6f8a6f1c11' } },
    },
    benchmarkCancel: {
      method: 'POST',
      path: '/api/v2/storage/benchmark/results/{id}/cancel',
      summary: 'Cancel benchmark',
      description:
        'Ends the tool and answers the result as it stands; a run that has ended answers its result unchanged.',
      access: 'operator',
      params: Type.Object({ id: Id }),
      ok: { 200: BenchmarkResult },
      errors: [400, 404, 500],
      event: { resource_type: 'BENCHMARK' },
      runs_on: 'node',
      extension: true,
      example: { params: { id: '5c2c4a8e-3f0d-4a58-9a3d-0d6f8a6f1c11' } },
    },
  },
})
