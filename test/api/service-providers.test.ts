// Network service providers over HTTP: add, make the element, configure it, enable; and every rejection on the way.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import {
  assertNoUnknownParameters,
  callsOf,
  control,
  ended,
  eventOf,
  NOBODY,
  tokenFor,
} from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())
afterEach(() => assertNoUnknownParameters(lab))

const BASE = '/network/service-providers'
const physical_network_id = wellKnown.physical_network
const providerId = (name: string) => seededId('provider', name)
const elements = () => [...lab.platform.state.tables.elements.values()]
const held = (id: string) => lab.platform.state.tables.providers.get(id)

/** Removes a seeded provider and its element, as a fresh physical network has none. */
function without(name: string): void {
  const { providers, elements: all } = lab.platform.state.tables
  for (const one of elements()) if (one.nspid === providerId(name)) all.remove(one.id)
  providers.remove(providerId(name))
}

test('a provider is added, gets its element, and is enabled: the whole chain', async () => {
  without('InternalLbVm')
  const added = await lab.call('POST', BASE, { physical_network_id, name: 'InternalLbVm' })
  assert.equal(added.status, 201, added.text)
  const job = await ended(lab, added.body.job_id)
  const id = job.resource_id ?? ''
  assert.deepEqual([job.job_status, held(id)?.state], ['completed', 'Disabled'])
  assert.equal((await eventOf(lab, added.body.correlation_id)).action, 'serviceProviderAdd')

  const early = await lab.call('PUT', BASE, { id, state: 'Enabled' })
  assert.deepEqual([early.status, early.body.code], [400, 'PROVIDER_STATE'])
  assert.match(early.body.detail, /has no element/)

  const created = await lab.call('POST', `${BASE}/InternalLbVm`, { nsp_id: id })
  assert.equal(created.status, 201, created.text)
  const element_id = (await ended(lab, created.body.job_id)).resource_id ?? ''
  const still = await lab.call('PUT', BASE, { id, state: 'Enabled' })
  assert.match(still.body.detail, /not enabled/)
  const again = await lab.call('POST', `${BASE}/InternalLbVm`, { nsp_id: id })
  assert.deepEqual([again.status, again.body.code], [400, 'PROVIDER_ELEMENT_EXISTS'])

  const configured = await lab.call('POST', `${BASE}/InternalLbVm/configure`, { id: element_id, enabled: true })
  assert.equal(configured.status, 200, configured.text)
  assert.equal((await ended(lab, configured.body.job_id)).job_status, 'completed')
  const element = await lab.call('POST', `${BASE}/InternalLbVm/get`, { id: element_id })
  assert.deepEqual(element.body, { id: element_id, nsp_id: id, type: 'InternalLbVm', enabled: true })

  const enabled = await lab.call('PUT', BASE, { id, state: 'Enabled' })
  assert.equal((await ended(lab, enabled.body.job_id)).job_status, 'completed', enabled.text)
  assert.equal(held(id)?.state, 'Enabled')
})

test('with Prefer: wait the answer is the provider as it then is', async () => {
  const timer = setInterval(() => lab.platform.step(), 50)
  const reply = await lab
    .call(
      'PUT',
      BASE,
      { id: providerId('SecurityGroupProvider'), state: 'Enabled' },
      { headers: { prefer: 'wait=60' } },
    )
    .finally(() => clearInterval(timer))
  assert.deepEqual(
    [reply.status, reply.body.name, reply.body.state],
    [200, 'SecurityGroupProvider', 'Enabled'],
    reply.text,
  )
})

test('providertype is never sent, for either kind of router', async () => {
  const { elements: all } = lab.platform.state.tables
  for (const name of ['VirtualRouter', 'VpcVirtualRouter']) {
    for (const one of elements()) if (one.nspid === providerId(name)) all.remove(one.id)
    const reply = await lab.call('POST', `${BASE}/${name}`, { nsp_id: providerId(name) })
    assert.equal(reply.status, 201, reply.text)
    assert.equal((await ended(lab, reply.body.job_id)).job_status, 'completed')
  }
  const sent = await callsOf(lab, 'createVirtualRouterElement')
  assert.equal(sent.length, 2)
  assert.ok(sent.every((params) => params.providertype === undefined))
})

test('a kind of element that is not known is 400, naming those that are', async () => {
  for (const [method, path, body] of [
    ['POST', 'Netscaler', { nsp_id: NOBODY }],
    ['POST', 'netscaler/configure', { id: NOBODY, enabled: true }],
    ['POST', 'virtualrouter/get', { id: NOBODY }],
    ['POST', 'x/list', {}],
  ] as const) {
    const reply = await lab.call(method, `${BASE}/${path}`, body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'], reply.text)
    assert.match(reply.body.detail, /VirtualRouter, VpcVirtualRouter, InternalLbVm, Ovs/)
  }
  const ovs = await lab.call('POST', `${BASE}/Ovs`, { nsp_id: providerId('Ovs') })
  assert.deepEqual([ovs.status, ovs.body.code], [400, 'INVALID_REQUEST'])
  assert.match(ovs.body.detail, /VirtualRouter, VpcVirtualRouter, InternalLbVm can/)
})

test('each kind lists its own elements alone, although one command lists both kinds of router', async () => {
  for (const name of ['VirtualRouter', 'VpcVirtualRouter', 'InternalLbVm']) {
    const reply = await lab.call('POST', `${BASE}/${name}/list`, { page_size: 10 })
    assert.equal(reply.status, 200, reply.text)
    const expected = elements().filter((one) => one.nspid === providerId(name))
    assert.deepEqual(
      [reply.body.count, reply.body.elements.map((one: { id: string }) => one.id)],
      [expected.length, expected.map((one) => one.id)],
    )
  }
  const router = elements().find((one) => one.nspid === providerId('VirtualRouter'))
  const of_others = await lab.call('POST', `${BASE}/VpcVirtualRouter/get`, { id: router?.id })
  assert.deepEqual([of_others.status, of_others.body.code], [400, 'PROVIDER_ELEMENT_NOT_FOUND'])
})

test('providers are listed, filtered and paged', async () => {
  const all = await lab.call('POST', `${BASE}/list`)
  assert.equal(all.status, 200, all.text)
  const one = await lab.call('POST', `${BASE}/list`, { name: 'ConfigDrive', physical_network_id })
  assert.deepEqual([one.body.count, one.body.service_providers[0].can_enable_individual_service], [1, true])
  const page = await lab.call('POST', `${BASE}/list`, { state: 'Enabled', page: 2, page_size: 1 })
  assert.equal(page.body.service_providers.length, 1)
  assert.ok(page.body.count < all.body.count)
})

for (const [what, method, path, body, code] of [
  ['a provider that is there', 'POST', '', { physical_network_id, name: 'VirtualRouter' }, 'PROVIDER_EXISTS'],
  [
    'a provider of no name the platform knows',
    'POST',
    '',
    { physical_network_id, name: 'Teleporter' },
    'COMPUTE_REJECTED',
  ],
  ['a network that is not there', 'POST', '', { physical_network_id: NOBODY, name: 'Nsx' }, 'RESOURCE_NOT_FOUND'],
  [
    'a part of services that go together',
    'POST',
    '',
    { physical_network_id, name: 'PaloAlto', service_list: ['Firewall'] },
    'COMPUTE_REJECTED',
  ],
  ['an update of nobody', 'PUT', '', { id: NOBODY, state: 'Enabled' }, 'PROVIDER_NOT_FOUND'],
  ['an update of nothing', 'PUT', '', { id: seededId('provider', 'Ovs') }, 'INVALID_REQUEST'],
  [
    'services chosen where they go together',
    'PUT',
    '',
    { id: seededId('provider', 'VirtualRouter'), service_list: ['Dns'] },
    'INVALID_REQUEST',
  ],
  ['the state Shutdown', 'PUT', '', { id: seededId('provider', 'Ovs'), state: 'Shutdown' }, 'INVALID_REQUEST'],
  ['an element for nobody', 'POST', '/VirtualRouter', { nsp_id: NOBODY }, 'PROVIDER_NOT_FOUND'],
  [
    'an element for a provider of another kind',
    'POST',
    '/VirtualRouter',
    { nsp_id: seededId('provider', 'InternalLbVm') },
    'INVALID_REQUEST',
  ],
  [
    'a second element',
    'POST',
    '/VirtualRouter',
    { nsp_id: seededId('provider', 'VirtualRouter') },
    'PROVIDER_ELEMENT_EXISTS',
  ],
  [
    'configuring nobody',
    'POST',
    '/VirtualRouter/configure',
    { id: NOBODY, enabled: true },
    'PROVIDER_ELEMENT_NOT_FOUND',
  ],
  ['reading nobody', 'POST', '/VirtualRouter/get', { id: NOBODY }, 'PROVIDER_ELEMENT_NOT_FOUND'],
] as const) {
  test(`${what} is 400 ${code}`, async () => {
    const reply = await lab.call(method, `${BASE}${path}`, body)
    assert.deepEqual([reply.status, reply.body.code], [400, code], reply.text)
  })
}

test('services that may be chosen one by one are changed', async () => {
  const id = providerId('ConfigDrive')
  const reply = await lab.call('PUT', BASE, { id, service_list: ['UserData'] })
  assert.equal((await ended(lab, reply.body.job_id)).job_status, 'completed', reply.text)
  assert.deepEqual(held(id)?.servicelist, ['UserData'])
})

test('what the platform says in its job fails the job in our words', async () => {
  await control(lab, 'fail', {
    command: 'updateNetworkServiceProvider',
    code: 530,
    text: 'Provider is not ready, cannot Enable the provider secret-7',
    at: 'job',
    times: 1,
  })
  const reply = await lab.call('PUT', BASE, { id: providerId('SecurityGroupProvider'), state: 'Enabled' })
  const job = await ended(lab, reply.body.job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'COMPUTE_REJECTED'])
  assert.match(job.failure_reason, /element must exist and be enabled/)
})

test('a failing platform is 500 in our words', async () => {
  await control(lab, 'fail', { command: 'listNetworkServiceProviders', code: 530, text: 'secret-db-4 broke', times: 1 })
  const reply = await lab.call('POST', `${BASE}/list`)
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'])
  assert.ok(!reply.text.includes('secret-db-4'))
})

test('providers belong to no tenant', async () => {
  const token = await tokenFor(lab, 'operator', wellKnown.domains.acme)
  const reply = await lab.call('POST', `${BASE}/list`, {}, { token })
  assert.deepEqual([reply.status, reply.body.code], [403, 'TENANT_SCOPE'])
})
