import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPages, type ListCall, PAGE_SIZE } from './lists.ts'

/** A list of so many rows, whose pages are answered when the test says so. */
function heldList(total: number, counts: 'all' | 'of the page') {
  const waiting = new Map<number, () => void>()
  const call: ListCall = (_command, { page }) => {
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>()
    const first = (Number(page) - 1) * PAGE_SIZE
    const vm = Array.from({ length: Math.max(0, Math.min(PAGE_SIZE, total - first)) }, (_row, at) => ({
      id: String(first + at),
    }))
    waiting.set(Number(page), () => resolve({ count: counts === 'all' ? total : vm.length, vm }))
    return promise
  }
  const answer = (page: number): void => {
    waiting.get(page)?.()
    waiting.delete(page)
  }
  return { call, answer, asked: () => [...waiting.keys()] }
}

test('a long list is read three pages at a time, in order, and never beyond its count', async () => {
  const total = 5 * PAGE_SIZE + 7
  const list = heldList(total, 'all')
  const pages = listPages(list.call, 'listVirtualMachines', {}, 'vm')
  const ids: unknown[] = []
  const asked: number[][] = []
  for (let page = 1; page <= 6; page += 1) {
    const next = pages.next()
    asked.push(list.asked())
    list.answer(page)
    ids.push(...((await next).value ?? []).map(({ id }: { id?: unknown }) => id))
  }
  assert.deepEqual(asked, [[1], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6], [6]])
  assert.deepEqual(
    ids,
    Array.from({ length: total }, (_id, at) => String(at)),
  )
  assert.equal((await pages.next()).done, true)
})

test('where the count is that of the page, one page is asked for ahead', async () => {
  const list = heldList(2 * PAGE_SIZE, 'of the page')
  const pages = listPages(list.call, 'listEvents', {}, 'vm')
  const asked: number[][] = []
  for (let page = 1; page <= 3; page += 1) {
    const next = pages.next()
    asked.push(list.asked())
    list.answer(page)
    await next
  }
  assert.deepEqual(asked, [[1], [2], [3]])
  assert.equal((await pages.next()).done, true)
})
