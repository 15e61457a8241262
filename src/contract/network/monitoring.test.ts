import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { agentNetwork } from '../nodes/agent-network.ts'
import { nodeNics } from '../nodes/nics.ts'
import { firstStatus, type RouteSpec } from '../route.ts'
import { eligibleNics } from './eligible-nics.ts'
import { monitoring } from './monitoring.ts'

for (const area of [monitoring, eligibleNics, nodeNics, agentNetwork]) {
  for (const [name, route] of Object.entries<RouteSpec>(area.routes)) {
    test(`the example of ${name} is an answer and a request that the route accepts`, () => {
      const schema = route.ok[firstStatus(route)]
      assert.ok(schema !== undefined && route.example.answer !== undefined)
      assert.deepEqual(Compile(schema).Errors(route.example.answer), [])
      for (const part of ['params', 'query', 'body'] as const) {
        const given = route.example[part]
        const accepted = route[part]
        if (given !== undefined && accepted !== undefined) assert.deepEqual(Compile(accepted).Errors(given), [])
      }
    })
  }
}

test('a mistyped field of a request is refused', () => {
  const blink = Compile(nodeNics.routes.nodeNicBlink.body)
  assert.equal(blink.Check({ interfaceName: 'eth0', duration: 61 }), false)
  assert.equal(blink.Check({ interfaceName: 'eth0', seconds: 5 }), false)
  assert.equal(blink.Check({ interfaceName: '../eth0' }), false)
  assert.equal(blink.Check({ interfaceName: '-p' }), false)
  assert.equal(blink.Check({ interfaceName: 'bond0.100' }), true)
})
