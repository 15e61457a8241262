import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#src/kernel/errors.ts'
import { createPasswords } from './passwords.ts'

test('a password matches its own hash only, and two hashes of it differ', async () => {
  const passwords = createPasswords()
  const [one, two] = [await passwords.hash('pässwörd of twelve'), await passwords.hash('pässwörd of twelve')]
  assert.match(one, /^\$scrypt\$ln=16,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(one, two)
  assert.equal(await passwords.matches('pässwörd of twelve', one), true)
  assert.equal(await passwords.matches('pässwörd of twelvE', one), false)
  assert.equal(await passwords.matches('pässwörd of twelve', undefined), false)
})

test('the Unicode form in which a password arrives does not matter', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash('caf\u00e9 of the corner')
  assert.equal(await passwords.matches('cafe\u0301 of the corner', stored), true)
})

test('a hash keeps its own cost, and one that cannot be read is an error, not a wrong password', async () => {
  const passwords = createPasswords()
  // RFC 7914, section 12: scrypt("pleaseletmein", "SodiumChloride", 16384, 8, 1), cut to 32 bytes.
  const known = '$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI'
  assert.equal(await passwords.matches('pleaseletmein', known), true)
  await assert.rejects(passwords.matches('x', 'plain text'), /cannot be read/)
})

test('more sign-ins than can wait are refused with the time to come back', async () => {
  const passwords = createPasswords({ max_waiting: 1 })
  const all = await Promise.allSettled([1, 2, 3, 4].map(() => passwords.hash('long enough password')))
  const refused = all.filter((one) => one.status === 'rejected').map((one): unknown => one.reason)
  assert.equal(refused.length, 1)
  assert.ok(refused[0] instanceof ApiError && refused[0].code === 'RATE_LIMITED' && refused[0].retry_after_s === 5)
})
