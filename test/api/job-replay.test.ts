// Repeats of keyed requests whose process died after it had admitted the job: answered as the first would have been.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { wellKnown } from '../../lab/site.ts'
import { control } from '../support/platform-calls.ts'
import { type Fate, type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
let proxy: PlatformProxy
let client: pg.Client
before(async () => {
  lab = await startLab({
    between: async (url) => {
      proxy = await startPlatformProxy(url)
      return proxy.url
    },
  })
  client = new pg.Client(lab.database.connection)
  await client.connect()
})
after(async () => {
  await client.end()
  await lab.close()
  await proxy.close()
})

/** What the database holds of a request whose process was killed before it could store the answer. */
async function forgetAnswer(key: string): Promise<void> {
  await client.query(
    'update idempotency set status = null, headers = null, body = null, replica_id = $2 where key = $1',
    [key, randomUUID()],
  )
}

const jobs = async (): Promise<number> => (await lab.call('GET', '/jobs')).body.count

async function askedTwice(path: string, body: object, headers: Record<string, string> = {}) {
  const key = randomUUID()
  const ask = () => lab.call('POST', path, body, { headers: { ...headers, 'idempotency-key': key } })
  const first = await ask()
  const admitted = await jobs()
  await forgetAnswer(key)
  const second = await ask()
  assert.equal(await jobs(), admitted, 'a second job was admitted')
  assert.equal(second.status, first.status, second.text)
  assert.equal(second.headers.get('x-correlation-id'), first.headers.get('x-correlation-id'))
  assert.equal(second.headers.get('idempotency-replayed'), 'true')
  return { first, second, third: await ask() }
}

test('a tenant is answered again as the tenant', async () => {
  const { first, second, third } = await askedTwice('/admin/tenants', { name: 'replayed' })
  assert.ok(first.body.id, first.text)
  assert.deepEqual(second.body, first.body)
  assert.deepEqual(third.body, first.body)
})

test('a machine is answered again as the machine, with the password that the platform told once', async () => {
  const order = {
    name: 'replayed-01',
    zone_id: wellKnown.zone,
    template_id: wellKnown.templates['Windows Server 2022'],
    service_offering_id: wellKnown.service_offerings.small,
    network_ids: [wellKnown.networks['office-shared']],
  }
  const { first, second } = await askedTwice('/compute/vms/provision', order, { prefer: 'wait=60' })
  assert.equal(typeof first.body.initial_password, 'string', first.text)
  assert.equal(second.body.id, first.body.id)
  assert.equal(second.body.initial_password, first.body.initial_password)
})

test('what is answered as accepted is answered again as accepted, and what failed with its error', async () => {
  const { body } = await lab.call('POST', '/compute/vms/list', { state: 'Running' })
  const [vm] = body.virtual_machines
  const { second } = await askedTwice('/compute/vms/stop', { virtual_machine_id: vm.id })
  assert.equal(second.body.resource_id, vm.id)
  await control(lab, 'fail', { command: 'createDomain', code: 431, text: 'Invalid network domain name', times: 1 })
  const refused = await askedTwice('/admin/tenants', { name: 'refused' })
  assert.equal(refused.first.body.code, 'COMPUTE_REJECTED', refused.first.text)
  assert.deepEqual(refused.second.body.code, refused.first.body.code)
})

test('a request that stopped waiting while its job went on is answered, sent again, by what became of the job', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let holds = 0
  proxy.behave(async (command): Promise<Fate> => {
    if (command === 'createDomain') {
      holds += 1
      await held
    }
    return 'pass'
  })
  const key = randomUUID()
  const ask = (signal?: AbortSignal) =>
    lab.call(
      'POST',
      '/admin/tenants',
      { name: 'waited' },
      { headers: { 'idempotency-key': key }, ...(signal && { signal }) },
    )
  const leaves = new AbortController()
  const left = ask(leaves.signal)
  await until('the job is under way', () => holds > 0)
  leaves.abort()
  await assert.rejects(left)
  await until('the first request has ended', async () => {
    const { body } = await lab.call('GET', '/auth/audit?operation=tenantCreate&status=500&page_size=50')
    return body.records.some(({ code }: { code: string | null }) => code === 'WAIT_TIMEOUT')
  })
  release()
  const again = await ask()
  assert.equal(again.status, 200, again.text)
  assert.equal(again.body.name, 'waited')
  assert.equal(holds, 1)
})
