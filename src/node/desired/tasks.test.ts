// Tasks of an agent: the same order joins, another one of the area waits, and an end is remembered.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#src/kernel/errors.ts'
import { createLog } from '#src/kernel/log.ts'
import { createTasks } from './tasks.ts'

const open = () => createTasks(createLog({ level: 'fatal' }), () => Date.UTC(2026, 10, 20))
const order = { area: 'hypervisor', action: 'apply', hash: 'a' } as const

test('the same order while it runs is the same task, another one is refused, and another area is not held up', async () => {
  const tasks = open()
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = tasks.start(order, () => promise)
  assert.equal(tasks.start(order, () => Promise.reject(new Error('never begun'))).id, first.id)
  for (const other of [{ ...order, hash: 'b' }, { ...order, action: 'remove', hash: null } as const]) {
    assert.throws(
      () => tasks.start(other, () => promise),
      (error) => error instanceof ApiError && error.code === 'DESIRED_AREA_BUSY' && error.message.includes(first.id),
    )
  }
  const base = tasks.start({ ...order, area: 'base' }, () => Promise.resolve('Applied.'))
  assert.equal((await tasks.ended(base.id, 60_000)).status, 'completed')
  assert.equal((await tasks.ended(first.id, 1)).status, 'running', 'an answer does not wait for what takes long')
  resolve('Applied.')
  assert.deepEqual(
    [(await tasks.ended(first.id, 60_000)).message, tasks.get(first.id).status],
    ['Applied.', 'completed'],
  )
  assert.notEqual(tasks.start(order, () => Promise.resolve('again')).id, first.id)
})

test('a failure is remembered with its code, and a defect without its cause', async () => {
  const tasks = open()
  const conflict = tasks.start(order, () => Promise.reject(new ApiError('DESIRED_CONFLICT', 'In the way.')))
  const { status, code, message } = await tasks.ended(conflict.id, 60_000)
  assert.deepEqual([status, code, message], ['failed', 'DESIRED_CONFLICT', 'In the way.'])
  const defect = tasks.start(order, () => Promise.reject(new Error('secret')))
  const ended = await tasks.ended(defect.id, 60_000)
  assert.deepEqual([ended.code, ended.message.includes('secret')], ['DESIRED_FAILED', false])
})
