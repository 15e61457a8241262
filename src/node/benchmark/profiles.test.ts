import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PRESETS, resolveProfile } from './profiles.ts'

test('every preset resolves, and the request decides over custom fields, and these over the preset', () => {
  for (const { id } of PRESETS) assert.equal(resolveProfile({ profile_id: id }).id, id)
  const custom_profile = { io_depth: 7, runtime_sec: 20 }
  const profile = resolveProfile({ profile_id: 'rand-read-4k', custom_profile, duration_sec: 5 })
  assert.deepEqual([profile.io_depth, profile.num_jobs, profile.runtime_sec, profile.writes], [7, 4, 5, false])
  assert.equal(resolveProfile({ custom_profile: { read_write: 'rw' } }).rw_mix_read, 50)
})

test('what makes no sense is refused by the name of its field', () => {
  const messageOf = (request: Parameters<typeof resolveProfile>[0]): string => {
    try {
      resolveProfile(request)
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
    return 'accepted'
  }
  assert.match(messageOf({ profile_id: 'nope' }), /^profile_id: one of seq-read-1m/)
  assert.match(messageOf({}), /^profile_id: a preset is needed/)
  assert.match(messageOf({ custom_profile: { io_depth: 1 } }), /^custom_profile\.read_write/)
  assert.match(messageOf({ custom_profile: { read_write: 'read', block_size: '700' } }), /block_size/)
  assert.match(messageOf({ custom_profile: { read_write: 'read', block_size: '32M' } }), /block_size/)
  assert.match(messageOf({ custom_profile: { read_write: 'read', test_size: '100T' } }), /test_size/)
  assert.match(messageOf({ custom_profile: { read_write: 'read', test_size: '1M', block_size: '2M' } }), /test_size/)
  assert.match(messageOf({ custom_profile: { read_write: 'read', rw_mix_read: 50 } }), /rw_mix_read/)
})
