// What is sealed must be known to the rotation of the key, or it would stay under the old one for ever.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** Files that seal, each with the place in store/sealed-places.ts that it fills. */
const SEALERS = [
  'src/jobs/ledger.ts',
  'src/modules/auth/oidc-sign-in.ts',
  'src/modules/tenants/auth-source.ts',
  'src/modules/tenants/create.ts',
  'src/store/authority.ts',
  'src/store/idempotency.ts',
  'src/store/sealed-places.ts',
]

test('every file that seals is one whose texts the rotation of the key knows', () => {
  const sealing = globSync('src/**/*.ts').filter((file) => {
    return !file.endsWith('.test.ts') && /secrets\.seal\(/.test(readFileSync(file, 'utf8'))
  })
  assert.deepEqual(sealing.sort(), SEALERS)
})
