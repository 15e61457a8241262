// The disk presets, and how a request, a preset and the defaults become one profile (linux-node.md 8.4).
import type { BenchmarkProfile, DiskBenchmarkRequest } from '#src/contract/storage/benchmark.ts'
import { TEST_SIZE_MAX_BYTES } from '#src/contract/storage/benchmark.ts'
import { invalidField } from '#src/kernel/errors.ts'
import { sizeBytes } from './size-text.ts'

const base = { io_engine: 'libaio', test_size: '1G', direct: 1, runtime_sec: 60 }

export const PRESETS: readonly BenchmarkProfile[] = [
  { ...base, id: 'seq-read-1m', name: 'Sequential read', description: 'Streams large blocks in.', read_write: 'read', block_size: '1M', io_depth: 16, num_jobs: 1 },
  { ...base, id: 'seq-write-1m', name: 'Sequential write', description: 'Streams large blocks out.', read_write: 'write', block_size: '1M', io_depth: 16, num_jobs: 1 },
  { ...base, id: 'rand-read-4k', name: 'Random read', description: 'Small reads from many places at once.', read_write: 'randread', block_size: '4k', io_depth: 32, num_jobs: 4 },
  { ...base, id: 'rand-write-4k', name: 'Random write', description: 'Small writes to many places at once.', read_write: 'randwrite', block_size: '4k', io_depth: 32, num_jobs: 4 },
  { ...base, id: 'randrw-70-30-4k', name: 'Mixed 70/30', description: 'Seven small reads for three small writes, like a busy database.', read_write: 'randrw', block_size: '4k', io_depth: 32, num_jobs: 4, rw_mix_read: 70 },
  { ...base, id: 'latency-4k', name: 'Latency', description: 'One small read at a time: the answer time of the device.', read_write: 'randread', block_size: '4k', io_depth: 1, num_jobs: 1 },
  { ...base, id: 'throughput-128k', name: 'Throughput', description: 'Medium blocks from several readers, like a file server.', read_write: 'read', block_size: '128k', io_depth: 32, num_jobs: 4 },
] // biome-ignore format: a table

const DEFAULTS: BenchmarkProfile = {
  ...base,
  id: 'custom',
  name: 'Custom',
  description: '',
  read_write: 'randread',
  block_size: '4k',
  io_depth: 32,
  num_jobs: 1,
}

export interface DiskProfile extends BenchmarkProfile {
  block_bytes: number
  test_bytes: number
  writes: boolean
  reads: boolean
}

const BLOCK_MIN = 512
const BLOCK_MAX = 16 * 2 ** 20
const TEST_SIZE_MIN = 2 ** 20

export function resolveProfile(request: DiskBenchmarkRequest): DiskProfile {
  const id = request.profile_id ?? ''
  const preset = PRESETS.find((known) => known.id === id)
  if (id !== '' && preset === undefined) {
    throw invalidField('profile_id', `one of ${PRESETS.map((known) => known.id).join(', ')}`)
  }
  if (id === '' && request.custom_profile === undefined) {
    throw invalidField('profile_id', 'a preset is needed when there is no custom_profile')
  }
  if (preset === undefined && request.custom_profile?.read_write === undefined) {
    throw invalidField('custom_profile.read_write', 'needed when no preset is named')
  }
  const merged: BenchmarkProfile = { ...(preset ?? DEFAULTS), ...request.custom_profile }
  const profile = { ...merged, id: preset?.id ?? 'custom', runtime_sec: request.duration_sec ?? merged.runtime_sec }
  return checked(profile)
}

export function profileWrites({ read_write }: BenchmarkProfile): boolean {
  return !['read', 'randread'].includes(read_write)
}

function checked(profile: BenchmarkProfile): DiskProfile {
  const block_bytes = sizeBytes(profile.block_size) ?? 0
  const test_bytes = sizeBytes(profile.test_size) ?? 0
  if (block_bytes < BLOCK_MIN || block_bytes > BLOCK_MAX || block_bytes % BLOCK_MIN !== 0) {
    throw invalidField('custom_profile.block_size', '512 bytes to 16M, a multiple of 512')
  }
  if (test_bytes < TEST_SIZE_MIN || test_bytes > TEST_SIZE_MAX_BYTES) {
    throw invalidField('custom_profile.test_size', '1M to 64G')
  }
  if (test_bytes < block_bytes) throw invalidField('custom_profile.test_size', 'at least one block')
  const mixed = ['rw', 'randrw'].includes(profile.read_write)
  if (profile.rw_mix_read !== undefined && !mixed) {
    throw invalidField('custom_profile.rw_mix_read', 'only with a mixed read_write (rw, randrw)')
  }
  const mix = mixed ? { rw_mix_read: profile.rw_mix_read ?? 50 } : {}
  const writes = profileWrites(profile)
  return { ...profile, ...mix, block_bytes, test_bytes, writes, reads: mixed || !writes }
}
