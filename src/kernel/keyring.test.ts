import assert from 'node:assert/strict'
import { chownSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../test/support/until.ts'
import { KEY_FILE_POLL_MS, openKeyring, rotateKey } from './keyring.ts'
import { tempFolder } from '../../test/support/temp-folder.ts'

const folder = tempFolder('gp-keyring-')

test('an encrypted text is read only with its own associated data, and the key file is for its owner alone', () => {
  const file = join(folder, 'folder', 'keys')
  const keyring = openKeyring(file)
  const encrypted = keyring.encrypt('a word', 'job:1')
  assert.equal(keyring.decrypt(encrypted, 'job:1'), 'a word')
  assert.throws(() => keyring.decrypt(encrypted, 'job:2'))
  assert.equal(encrypted.includes('a word'), false)
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('after a rotation old texts are still read, and fingerprints stay the same', () => {
  const file = join(folder, 'rotated')
  const before = openKeyring(file)
  const [encrypted, print] = [before.encrypt('old', 'x'), before.fingerprint('text')]
  rotateKey(file)
  const keyring = openKeyring(file)
  assert.equal(keyring.decrypt(encrypted, 'x'), 'old')
  assert.deepEqual(keyring.fingerprint('text'), print)
  assert.equal(encrypted.startsWith(keyring.prefix()), false)
  assert.equal(keyring.encrypt('new', 'x').startsWith(keyring.prefix()), true)
})

test('a process that was running at the rotation reads what the new key encrypted, at once', () => {
  const file = join(folder, 'running')
  const running = openKeyring(file)
  rotateKey(file)
  const encrypted = openKeyring(file).encrypt('new', 'x')
  assert.equal(running.decrypt(encrypted, 'x'), 'new')
})

test('a process that was running at the rotation soon encrypts with the new key', async () => {
  const file = join(folder, 'encrypting')
  const running = openKeyring(file)
  rotateKey(file)
  const { prefix } = openKeyring(file)
  await until('the new key is used', () => running.encrypt('text', 'x').startsWith(prefix()), 2 * KEY_FILE_POLL_MS)
})

test('a rotation by root leaves the file to its owner', { skip: process.getuid?.() !== 0 }, () => {
  const file = join(folder, 'owned')
  openKeyring(file)
  chownSync(file, 12_345, 12_346)
  rotateKey(file)
  const { uid, gid, mode } = statSync(file)
  assert.deepEqual([uid, gid, mode & 0o777], [12_345, 12_346, 0o600])
})

test('a text whose key is in no file is refused', () => {
  const stranger = openKeyring(join(folder, 'stranger')).encrypt('text', 'x')
  assert.throws(() => openKeyring(join(folder, 'own')).decrypt(stranger, 'x'), /key is not in the key file/)
})
