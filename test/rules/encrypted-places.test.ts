// What is encrypted must be known to the rotation of the key, or it would stay under the old one for ever.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** Files that encrypt, each with the place in store/encrypted-places.ts that it fills. */
const ENCRYPTERS = [
  'src/jobs/ledger.ts',
  'src/modules/auth/oidc-sign-in.ts',
  'src/modules/bmc/records.ts',
  'src/modules/tenants/auth-source.ts',
  'src/modules/tenants/create.ts',
  'src/store/ca.ts',
  'src/store/cam-instance.ts',
  'src/store/encrypted-places.ts',
  'src/store/idempotency.ts',
]

test('every file that encrypts is one whose texts the rotation of the key knows', () => {
  const encrypting = globSync('src/**/*.ts').filter((file) => {
    return !file.endsWith('.test.ts') && /keyring\.encrypt\(/.test(readFileSync(file, 'utf8'))
  })
  assert.deepEqual(encrypting.sort(), ENCRYPTERS)
})
