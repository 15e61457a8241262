// A route that the server cannot serve as the contract says is noticed when it is mounted, not when it is called.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { type Area, defineArea, type RouteSpec } from '#src/contract/route.ts'
import { openApiDocument } from '#src/contract/openapi.ts'
import { mountToys } from '../support/toy-server.ts'

function toyArea(route: Partial<RouteSpec>): Area {
  const area = defineArea({
    name: 'toy',
    description: 'For this test.',
    routes: {
      toyGet: {
        method: 'GET', path: '/toy', summary: 'Get toy', access: 'viewer', ok: { 200: Type.Unknown() }, errors: [], example: {},
        ...route,
      },
    },
  }) // biome-ignore format: a toy
  return area as unknown as Area
}

for (const [what, route, message] of [
  [
    'of kind ws with another method than GET',
    { kind: 'ws', method: 'POST' },
    /toyGet is of kind ws, which must be GET/,
  ],
  ['of kind proxy with another method than GET', { kind: 'proxy', method: 'PUT' }, /of kind proxy, which must be GET/],
  ['of kind ws that runs on a node', { kind: 'ws', runs_on: 'node' }, /which cannot be forwarded to a node/],
  ['of kind multipart with another method than POST', { kind: 'multipart' }, /of kind multipart, which must be POST/],
] as const) {
  test(`a route ${what} fails at start`, () => {
    assert.throws(() => mountToys(toyArea(route), { toyGet: () => null }), message)
  })
}

test('a WebSocket is published with its protocol, its ticket, its messages and the answer to plain requests', () => {
  const area = toyArea({
    kind: 'ws',
    ok: { 101: Type.Unknown() },
    messages: { frame: Type.Object({ n: Type.Integer() }) },
  })
  const document = openApiDocument([area], { version: '1' }) as unknown as {
    paths: Record<string, { get: Record<string, unknown> & { responses: Record<string, Record<string, unknown>> } }>
    components: { parameters: object }
  }
  const operation = document.paths['/toy']?.get
  assert.equal(operation?.['x-protocol'], 'websocket')
  assert.deepEqual(Object.keys(document.components.parameters), ['ticket'])
  assert.deepEqual(Object.keys(operation?.responses['101']?.['x-messages'] as object), ['frame'])
  assert.equal(operation?.responses['101']?.content, undefined)
  assert.ok(operation?.responses['426'] !== undefined)
})
