// What never reaches a log.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { checkConfig, secretValues } from './config.ts'
import { createLog } from './log.ts'

function memory(): { destination: Writable; text: () => string } {
  const lines: string[] = []
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    },
  })
  return { destination, text: () => lines.join('') }
}

test('a field with the name of a secret is blotted out at any depth, and the logged object stays as it was', () => {
  const { destination, text } = memory()
  const fields = { user: 'mira', nested: { deeper: [{ password: 'planted-1' }] }, token: 'planted-2' }
  createLog({ level: 'info', destination }).info(fields, 'signed in')
  assert.doesNotMatch(text(), /planted/)
  assert.match(text(), /mira/)
  assert.equal(fields.nested.deeper[0]?.password, 'planted-1')
})

test('a configured secret is blotted out of any text, also one that a subsystem quoted back', () => {
  const config = checkConfig({
    compute: { secret_key: 'planted-secret-key' },
    database: { url: 'postgres://u:planted@h/d' },
  })
  const { destination, text } = memory()
  const log = createLog({ level: 'info', destination, hide: secretValues(config) })
  log.warn({ err: new Error('unable to verify planted-secret-key') }, 'refused postgres://u:planted@h/d')
  assert.doesNotMatch(text(), /planted/)
  assert.match(text(), /unable to verify \[redacted\]/)
})
