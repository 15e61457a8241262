import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
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

test('a time of the platform is the same instant in UTC, whatever its offset', () => {
  const minutes = fc.integer({ min: -12 * 60, max: 14 * 60 })
  const instant = fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(instant, fc.oneof(minutes, fc.constantFrom(0, 60, 120, -300)), (date, offset) => {
      const at_ms = Math.floor(date.getTime() / 1000) * 1000
      const local = new Date(at_ms + offset * 60_000).toISOString().slice(0, 19)
      const two = (value: number) => String(value).padStart(2, '0')
      const size = Math.abs(offset)
      const text = `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}${two(size % 60)}`
      assert.equal(timeOf({ at: text }, 'at'), new Date(at_ms).toISOString(), text)
    }),
  )
  assert.equal(timeOf({ at: '2025-13-41T12:00:00+0200' }, 'at'), null)
})
