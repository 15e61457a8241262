// Numbers that are given by hand: two of one number, from two branches, are noticed by nobody else.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { LOCKS } from '#src/store/locks.ts'

const repeated = <T>(all: readonly T[]): T[] => all.filter((one, at) => all.indexOf(one) !== at)

test('every migration has a number of its own', () => {
  const numbers = readdirSync('migrations').map(
    (name) => /^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1] ?? `no number: ${name}`,
  )
  assert.ok(numbers.length > 10)
  assert.deepEqual(repeated(numbers), [])
  assert.deepEqual(
    numbers.filter((number) => number.startsWith('no number')),
    [],
  )
})

test('every advisory lock has a number of its own', () => {
  const numbers = Object.values<number>(LOCKS)
  assert.ok(numbers.length > 10)
  assert.deepEqual(repeated(numbers), [])
})
