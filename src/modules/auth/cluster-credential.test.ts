import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANONYMOUS } from '#src/kernel/http/context.ts'
import { createClusterAuthenticator } from './cluster-credential.ts'

const request = (authorization: string | undefined, certificate_name?: string) => ({
  method: 'GET',
  headers: authorization === undefined ? {} : { authorization },
  ticket: undefined,
  path: '/probe',
  is_stream: false,
  remote_address: '192.0.2.1',
  certificate_name,
})

test('an agent knows nodes by certificate or secret, and nobody else', async () => {
  const agent = createClusterAuthenticator('s3cret-of-the-cluster')
  const { caller: byName } = await agent.authenticate(request(undefined, 'node-7'))
  assert.deepEqual([byName.role, byName.id], ['cluster', 'cluster:node-7'])
  assert.equal((await agent.authenticate(request('Bearer s3cret-of-the-cluster'))).caller.role, 'cluster')
  assert.equal((await agent.authenticate(request(undefined))).caller, ANONYMOUS)
  assert.throws(() => agent.authenticate(request('Bearer s3cret-of-the-cluste')), { code: 'UNAUTHENTICATED' })
  assert.throws(() => agent.authenticate(request(`Bearer gp_${'A'.repeat(43)}`)), { code: 'UNAUTHENTICATED' })
})

test('without a secret no bearer token is a node', () => {
  const agent = createClusterAuthenticator(undefined)
  for (const token of ['undefined', 'x', '']) {
    assert.throws(() => agent.authenticate(request(`Bearer ${token}`)), { code: 'UNAUTHENTICATED' }, token)
  }
})
