import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SYSTEM } from '#src/kernel/http/context.ts'
import type { LiveCredential } from '#src/store/credentials.ts'
import { createCredentialCache } from './credential-cache.ts'

const credential = (remaining_ms: number | null): LiveCredential => ({
  caller: SYSTEM,
  credential: { kind: 'token', key: 'a', expires_at_ms: null },
  remaining_ms,
  csrf_hash: undefined,
})

test('requests that come together ask the database once', async () => {
  const cache = createCredentialCache()
  let loads = 0
  const load = async () => {
    loads += 1
    return credential(null)
  }
  await Promise.all([cache.fetch('a', load), cache.fetch('a', load)])
  assert.equal(loads, 1)
  assert.equal(cache.get('a')?.caller, SYSTEM)
})

for (const [what, revoke] of [
  ['revoked', (cache: ReturnType<typeof createCredentialCache>) => cache.drop('a')],
  ['perhaps revoked, because notices were lost,', (cache: ReturnType<typeof createCredentialCache>) => cache.clear()],
] as const) {
  test(`a credential that is ${what} while it is looked up is not cached`, async () => {
    const cache = createCredentialCache()
    const gate = Promise.withResolvers<LiveCredential>()
    const first = cache.fetch('a', () => gate.promise)
    revoke(cache)
    const second = cache.fetch('a', async () => credential(5000))
    gate.resolve(credential(null))
    await first
    assert.equal((await second).remaining_ms, 5000)
    assert.equal(cache.get('a')?.remaining_ms, 5000)
    revoke(cache)
    assert.equal(cache.get('a'), undefined)
  })
}

test('what is not found, and what is about to expire, is not cached', async () => {
  const cache = createCredentialCache()
  await assert.rejects(
    cache.fetch('a', () => Promise.reject(new Error('unknown'))),
    /unknown/,
  )
  assert.equal((await cache.fetch('a', async () => credential(0.5))).remaining_ms, 0.5)
  assert.equal(cache.get('a'), undefined)
})
