// The tables of jobs have one owner: what others want to know of jobs is a function of src/jobs.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const TABLE = "'job(_step|_event|_outstanding)?( as \\w+)?'"
const BUILT = new RegExp(`(selectFrom|insertInto|updateTable|deleteFrom|[a-z]+Join)\\(\\s*${TABLE}`)
const RAW = /sql(<[^>]*>)?`[^`]*\b(from|join|into|update)\s+job(_step|_event|_outstanding)?\b/

test('SQL on the tables of jobs stands in src/jobs alone', () => {
  const files = globSync(['src/**/*.ts', 'bin/*.ts', 'tools/**/*.ts']).filter((file) => {
    const text = readFileSync(file, 'utf8')
    return BUILT.test(text) || RAW.test(text)
  })
  assert.ok(files.includes('src/jobs/ledger.ts'), 'the patterns find what they are for')
  assert.deepEqual(
    files.filter((file) => !file.startsWith('src/jobs/')),
    [],
  )
})
