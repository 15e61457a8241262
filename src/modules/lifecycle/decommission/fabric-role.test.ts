// Roles of routers, told from the sessions of a fabric.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fabricRole, type Router } from './fabric-role.ts'

const router = (name: string, peers: string[]): Router => ({ name, addresses: new Set([`ip-${name}`]), peers })

test('a leaf of a fabric with two reflectors is needed by nobody', () => {
  const leaves = ['ip-a', 'ip-b', 'ip-self']
  const others = [router('a', ['ip-r1', 'ip-r2']), router('r1', leaves), router('r2', leaves)]
  assert.equal(fabricRole(router('self', ['ip-r1', 'ip-r2']), others), 'leaf')
})

test('a reflector whose clients share another one can go with a warning, the last one not', () => {
  const self = router('self', ['ip-a', 'ip-b'])
  assert.equal(fabricRole(self, [router('a', ['ip-self', 'spine']), router('b', ['ip-self', 'spine'])]), 'reflector')
  assert.equal(fabricRole(self, [router('a', ['ip-self']), router('b', ['ip-self'])]), 'last_reflector')
})

test('in a full mesh nobody is needed, and a node without sessions has no role', () => {
  const mesh = [router('a', ['ip-b', 'ip-self']), router('b', ['ip-a', 'ip-self'])]
  assert.equal(fabricRole(router('self', ['ip-a', 'ip-b']), mesh), 'leaf')
  assert.equal(fabricRole(router('self', []), []), 'none')
})
