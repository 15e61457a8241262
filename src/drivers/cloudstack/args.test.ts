import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#src/kernel/errors.ts'
import { encodeArgs } from './args.ts'
import { flagOf, numberOf, timeOf } from './fields.ts'

test('lists stand in one value, maps under index 0, lists of maps under an index each', () => {
  assert.deepEqual(
    encodeArgs({
      ids: ['a', 'b'],
      none: [],
      gone: undefined,
      details: { x: 1, y: undefined },
      nets: [{ id: 'n1' }, { id: 'n2', ip: '10.0.0.1' }],
    }),
    { ids: 'a,b', none: '', 'details[0].x': '1', 'nets[0].id': 'n1', 'nets[1].id': 'n2', 'nets[1].ip': '10.0.0.1' },
  )
})

test('an element with a comma cannot become two', () => {
  assert.throws(() => encodeArgs({ ids: ['a,b'] }), ApiError)
})

test('a number never passes as the identifier of a resource, but names a device', () => {
  assert.throws(() => encodeArgs({ id: '42' }), ApiError)
  assert.throws(() => encodeArgs({ networkids: ['7'] }), ApiError)
  assert.deepEqual(encodeArgs({ deviceid: 3, page: 2 }), { deviceid: '3', page: '2' })
})

test('numbers and times are read whatever form they come in', () => {
  const raw = { cpuused: '12,5%', size: '4', odd: 'many', at: '2025-08-12T12:00:42+0200', ok: 'true' }
  assert.equal(numberOf(raw, 'cpuused'), 12.5)
  assert.equal(numberOf(raw, 'size'), 4)
  assert.equal(numberOf(raw, 'odd'), null)
  assert.equal(numberOf(raw, 'missing'), null)
  assert.equal(timeOf(raw, 'at'), '2025-08-12T10:00:42.000Z')
  assert.equal(flagOf(raw, 'ok'), true)
  assert.equal(flagOf(raw, 'missing'), null)
})
