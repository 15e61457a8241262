// Rights in the whole service: the first token, what is public, and what a restart keeps.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { areas } from '#src/contract/index.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab()
})
after(() => lab.close())

test('the admin token stands in a private file, works after a restart, and was never logged', async () => {
  const file = join(lab.data_dir, 'admin-token')
  assert.equal(readFileSync(file, 'utf8').trim(), lab.token)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  await lab.restart()
  assert.equal((await lab.call('GET', '/auth/me')).body.role, 'admin')
  assert.ok(!lab.logs().includes(lab.token))
})

test('without a credential every route but the public ones and the callbacks is 401', async () => {
  const open: string[] = []
  for (const area of areas) {
    for (const [operation, route] of Object.entries(area.routes)) {
      if (route.access === 'callback') continue
      const path = route.path.replace(/\{\w+\*?\}/g, '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11')
      const signal = AbortSignal.timeout(60_000)
      const { status } = await lab.call(route.method, path, undefined, { token: null, signal })
      if (status !== 401) open.push(operation)
    }
  }
  const declared = areas.flatMap((area) =>
    Object.entries(area.routes).flatMap(([operation, route]) => (route.access === 'public' ? [operation] : [])),
  )
  assert.deepEqual(open, declared)
})

test('a tenant-scoped token meets 403 TENANT_SCOPE on every route that belongs to no tenant', async () => {
  const made = await lab.call('POST', '/auth/tokens', { name: 'scoped', role: 'admin', tenant_id: 'tenant-1' })
  assert.equal(made.status, 201)
  for (const area of areas) {
    for (const [operation, route] of Object.entries(area.routes)) {
      if (route.tenant === 'own' || ['public', 'callback', 'cluster'].includes(route.access)) continue
      const path = route.path.replace(/\{\w+\*?\}/g, '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11')
      const { status, body } = await lab.call(route.method, path, undefined, { token: made.body.token })
      assert.equal(status, 403, operation)
      assert.equal(body.code, 'TENANT_SCOPE', operation)
    }
  }
})
