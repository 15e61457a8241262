import assert from 'node:assert/strict'
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../../test/support/until.ts'
import { KEY_FILE_LOOK_MS, openSecretBox, rotateKey } from './secrets.ts'

const folder = mkdtempSync(join(tmpdir(), 'gp-secrets-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('a sealed text opens only in its own context, and the key file is for its owner alone', () => {
  const file = join(folder, 'context', 'keys')
  const box = openSecretBox(file)
  const sealed = box.seal('a word', 'job:1')
  assert.equal(box.open(sealed, 'job:1'), 'a word')
  assert.throws(() => box.open(sealed, 'job:2'))
  assert.equal(sealed.includes('a word'), false)
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('after a rotation old texts still open, and fingerprints stay the same', () => {
  const file = join(folder, 'rotated')
  const before = openSecretBox(file)
  const [sealed, print] = [before.seal('old', 'x'), before.fingerprint('text')]
  rotateKey(file)
  const box = openSecretBox(file)
  assert.equal(box.open(sealed, 'x'), 'old')
  assert.deepEqual(box.fingerprint('text'), print)
  assert.equal(sealed.startsWith(box.prefix()), false)
  assert.equal(box.seal('new', 'x').startsWith(box.prefix()), true)
})

test('a process that was running at the rotation opens what the new key sealed, at once', () => {
  const file = join(folder, 'running')
  const running = openSecretBox(file)
  rotateKey(file)
  const sealed = openSecretBox(file).seal('new', 'x')
  assert.equal(running.open(sealed, 'x'), 'new')
})

test('a process that was running at the rotation soon seals with the new key', async () => {
  const file = join(folder, 'sealing')
  const running = openSecretBox(file)
  rotateKey(file)
  const { prefix } = openSecretBox(file)
  await until('the new key is used', () => running.seal('text', 'x').startsWith(prefix()), 2 * KEY_FILE_LOOK_MS)
})

test('a rotation by root leaves the file to its owner', { skip: process.getuid?.() !== 0 }, () => {
  const file = join(folder, 'owned')
  openSecretBox(file)
  chownSync(file, 12_345, 12_346)
  rotateKey(file)
  const { uid, gid, mode } = statSync(file)
  assert.deepEqual([uid, gid, mode & 0o777], [12_345, 12_346, 0o600])
})

test('a text whose key is in no file is refused', () => {
  const stranger = openSecretBox(join(folder, 'stranger')).seal('text', 'x')
  assert.throws(() => openSecretBox(join(folder, 'own')).open(stranger, 'x'), /key is not in the key file/)
})
