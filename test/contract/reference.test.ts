// Holds the published document to the reference: paths, parameters, required flags, enums, defaults, limits, statuses and
// fields, apart from what api-conventions allows everywhere and what is marked `x-extension`.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { areas } from '#src/contract/index.ts'
import { errorStatuses, openApiDocument } from '#src/contract/openapi.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { compareOperation, type Document, type Operation, operationsOf } from './compare.ts'

const reference = parse(readFileSync(new URL('reference.openapi.yaml', import.meta.url), 'utf8')) as Document
const published = openApiDocument(areas, { version: 'test' }) as unknown as Document
const expected = operationsOf(reference)
const ours = operationsOf(published)

test('every published operation is in the reference or marked as an extension', () => {
  const strangers = [...ours].filter(([key, operation]) => !expected.has(key) && operation['x-extension'] !== true)
  assert.deepEqual(
    strangers.map(([key]) => key),
    [],
  )
})

test('nothing of the reference is marked as an extension', () => {
  const marked = [...ours].filter(([key, operation]) => expected.has(key) && operation['x-extension'] === true)
  assert.deepEqual(
    marked.map(([key]) => key),
    [],
  )
})

test('every route of a node says that the node may be silent', () => {
  const local = areas.flatMap(({ routes }) => Object.values<RouteSpec>(routes)).filter((one) => one.runs_on === 'node')
  const silent = local.map(errorStatuses).filter((errors) => errors.every(({ status }) => status !== 500))
  assert.deepEqual(silent, [])
})

for (const [key, operation] of ours) {
  const model: Operation | undefined = expected.get(key)
  if (model === undefined) continue
  test(`${key} equals the reference`, () => {
    assert.deepEqual(compareOperation(model, operation, reference, published), [])
  })
}
