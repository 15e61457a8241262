import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BenchmarkResult } from '#src/contract/storage/benchmark.ts'
import { UNKNOWN_IO } from './figures.ts'
import { createFileHistory } from './history.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

function result(at: number, change: Partial<BenchmarkResult> = {}): BenchmarkResult {
  return {
    id: randomUUID(),
    profile: 'seq-read-1m',
    raw_output: 'text',
    started_at: new Date(at).toISOString(),
    target: '/srv',
    type: 'disk',
    error: '',
    duration_seconds: 1,
    status: 'completed',
    read: UNKNOWN_IO,
    write: UNKNOWN_IO,
    unavailable: [],
    ...change,
  }
}

test('the history keeps the newest results, never drops a running one, and survives a restart', async () => {
  const folder = tempFolder('gp-history-')
  const history = await createFileHistory(folder, 3)
  const rows = [1, 2, 3, 4, 5].map((at) => result(at * 1000, at === 1 ? { status: 'running' } : {}))
  for (const row of rows) await history.save(row)
  await writeFile(join(folder, `${randomUUID()}.json`), '{"half":')
  const again = await createFileHistory(folder, 3)
  const { results, count } = await again.list({ page: 1, page_size: 10 })
  assert.deepEqual(
    results.map(({ id }) => id),
    [rows[4], rows[3], rows[2], rows[0]].map((row) => row?.id),
  )
  assert.equal(count, 4)
  assert.equal(results[0]?.raw_output, '')
  assert.deepEqual(await again.byId(rows[4]?.id ?? ''), rows[4])
  assert.equal(await again.byId('../../etc/passwd'), null)
  assert.equal((await again.list({ status: 'running', page: 1, page_size: 1 })).count, 1)
  assert.ok((await readdir(folder)).every((name) => name.endsWith('.json')))
})

test('a run that ends while its beginning is still written stays ended', async () => {
  const folder = tempFolder('gp-history-')
  const history = await createFileHistory(folder)
  const ended = Array.from({ length: 20 }, (_none, at) => result(at))
  await Promise.all(
    ended.flatMap((row) => [
      history.save({ ...row, status: 'running' }),
      history.save({ ...row, status: 'completed' }),
    ]),
  )
  for (const { id } of ended) assert.equal((await history.byId(id))?.status, 'completed')
})
