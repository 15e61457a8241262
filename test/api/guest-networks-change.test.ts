// Changes of guest networks, and the statistics over them.
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

const BASE = '/network/guest-networks'
const id = wellKnown.networks['acme-net']
const shared = wellKnown.networks['office-shared']
const held = (network_id = id) => lab.platform.state.tables.networks.get(network_id)

function change(set: object, network_id = id): void {
  const network = held(network_id)
  if (network === null) throw new Error('the network is seeded')
  lab.platform.state.tables.networks.put({ ...network, ...set })
}

test('a network is updated, and the platform holds what was asked for', async () => {
  const reply = await lab.call('PUT', BASE, {
    id,
    name: 'acme-2',
    display_text: 'New',
    dns1: '1.1.1.1',
    public_mtu: 1450,
    guest_vm_cidr: '10.10.0.0/24',
  })
  assert.equal(reply.status, 200, reply.text)
  assert.equal((await ended(lab, reply.body.job_id)).job_status, 'completed')
  assert.deepEqual(
    [held()?.name, held()?.displaytext, held()?.dns1, held()?.publicmtu],
    ['acme-2', 'New', '1.1.1.1', 1450],
  )
  assert.deepEqual(
    [(await eventOf(lab, reply.body.correlation_id)).action, reply.body.resource_id],
    ['guestNetworkUpdate', id],
  )
})

test('with Prefer: wait the network is the answer', async () => {
  const timer = setInterval(() => lab.platform.step(), 50)
  const reply = await lab
    .call('PUT', BASE, { id, display_text: 'Waited' }, { headers: { prefer: 'wait=60' } })
    .finally(() => clearInterval(timer))
  assert.deepEqual([reply.status, reply.body.id, reply.body.display_text], [200, id, 'Waited'], reply.text)
})

for (const [what, body] of [
  ['nothing to change', { id, forced: true }],
  ['a guest range outside of the network', { id, guest_vm_cidr: '10.99.0.0/24' }],
  ['a guest range wider than the network', { id, guest_vm_cidr: '10.10.0.0/16' }],
  ['a guest range that is none', { id, guest_vm_cidr: '10.10.0.0-10' }],
  [
    'another offering for a shared network',
    { id: shared, network_offering_id: wellKnown.network_offerings['isolated-nat'] },
  ],
  ['an MTU below what IPv4 needs', { id, public_mtu: 60 }],
] as const) {
  test(`an update with ${what} is 400 and changes nothing`, async () => {
    const reply = await lab.call('PUT', BASE, body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'], reply.text)
    assert.deepEqual(await callsOf(lab, 'updateNetwork'), [])
  })
}

test('services that would be lost need to be given up expressly', async () => {
  const network_offering_id = wellKnown.network_offerings['vpc-tier']
  const reply = await lab.call('PUT', BASE, { id, network_offering_id })
  // The platform finds out in its job.
  const refused = await ended(lab, reply.body.job_id)
  assert.deepEqual([refused.job_status, refused.failure_code], ['failed', 'COMPUTE_REJECTED'], reply.text)
  assert.match(refused.failure_reason, /offering/i)
  const forced = await lab.call('PUT', BASE, { id, network_offering_id, forced: true })
  assert.equal((await ended(lab, forced.body.job_id)).job_status, 'completed', forced.text)
  assert.equal(held()?.networkofferingid, network_offering_id)
})

test('a network that is not there is 404, one in a wrong state 400 with the states that would do', async () => {
  for (const reply of [
    await lab.call('PUT', BASE, { id: NOBODY, name: 'x' }),
    await lab.call('POST', `${BASE}/${NOBODY}/restart`, {}),
  ]) {
    assert.deepEqual([reply.status, reply.body.code], [404, 'NETWORK_NOT_FOUND'], reply.text)
  }
  change({ state: 'Allocated' })
  const restart = await lab.call('POST', `${BASE}/${id}/restart`)
  assert.deepEqual([restart.status, restart.body.code], [400, 'NETWORK_STATE'])
  assert.match(restart.body.detail, /Allocated; this needs Setup or Implemented/)
  change({ state: 'Implementing' })
  assert.equal((await lab.call('PUT', BASE, { id, name: 'x' })).body.code, 'NETWORK_STATE')
})

test('a restart is one of the network in the path; another id in the body is refused', async () => {
  change({ restartrequired: true })
  const differs = await lab.call('POST', `${BASE}/${id}/restart`, { id: shared })
  assert.deepEqual([differs.status, differs.body.code], [400, 'INVALID_REQUEST'])
  const reply = await lab.call('POST', `${BASE}/${id}/restart`, { id, cleanup: true, make_redundant: true })
  assert.equal((await ended(lab, reply.body.job_id)).job_status, 'completed', reply.text)
  assert.deepEqual([held()?.restartrequired, held()?.redundantrouter], [false, true])
  const bare = await lab.call('POST', `${BASE}/${id}/restart`)
  assert.equal((await ended(lab, bare.body.job_id)).job_status, 'completed', bare.text)
  assert.equal((await callsOf(lab, 'restartNetwork')).at(-1)?.cleanup, 'false')
})

test('a tenant changes its own networks; a shared one it may use is not its own', async () => {
  const acme = { token: await tokenFor(lab, 'operator', wellKnown.domains.acme) }
  const globex = { token: await tokenFor(lab, 'operator', wellKnown.domains.globex) }
  const of_others = await lab.call('PUT', BASE, { id, name: 'x' }, globex)
  assert.deepEqual([of_others.status, of_others.body.code], [404, 'NETWORK_NOT_FOUND'])
  const used = await lab.call('POST', `${BASE}/${shared}/restart`, {}, acme)
  assert.deepEqual([used.status, used.body.code], [404, 'NETWORK_NOT_FOUND'])
  assert.equal((await lab.call('POST', `${BASE}/${id}/restart`, {}, acme)).status, 200)
})

test('a job that the platform fails is failed here', async () => {
  await control(lab, 'fail', {
    command: 'restartNetwork',
    code: 534,
    text: 'router secret-r-9 is down',
    at: 'job',
    times: 1,
  })
  const reply = await lab.call('POST', `${BASE}/${id}/restart`)
  const job = await ended(lab, reply.body.job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'COMPUTE_ERROR'])
  assert.ok(!job.failure_reason.includes('secret-r-9'))
})

test('the statistics are the sums of what the platform holds', async () => {
  const { networks, addresses } = lab.platform.state.tables
  const address = addresses.get(seededId('address', '203.0.113.60'))
  const busy = addresses.get(seededId('address', '203.0.113.61'))
  assert.ok(address !== null && busy !== null)
  const before_stats = (await lab.call('POST', '/network/stats')).body.public_ips_by_state.segments
  addresses.put({ ...address, state: 'Allocated' })
  addresses.put({ ...busy, state: 'Allocated', associatednetworkid: id })
  change({ state: 'Allocated' }, shared)
  const reply = await lab.call('POST', '/network/stats')
  assert.equal(reply.status, 200, reply.text)
  const { dashboard, guest_networks_by_type, public_ips_by_state, unavailable } = reply.body
  const all = [...networks.values()]
  const used = (state: string) => all.filter((one) => one.state === state).length
  for (const [gauge, state] of [
    ['allocation', 'Allocated'],
    ['implemented', 'Implemented'],
    ['setup', 'Setup'],
  ] as const) {
    assert.deepEqual([dashboard[gauge].total, dashboard[gauge].used], [all.length, used(state)], gauge)
    assert.equal(dashboard[gauge].percentage, Math.round((used(state) / all.length) * 10_000) / 100)
  }
  const received = all.reduce((sum, one) => sum + one.receivedbytes, 0)
  const sent = all.reduce((sum, one) => sum + one.sentbytes, 0)
  const { bandwidth } = dashboard
  assert.deepEqual(
    [bandwidth.received_bytes, bandwidth.sent_bytes, bandwidth.total_bytes],
    [received, sent, received + sent],
  )
  assert.equal(guest_networks_by_type.total, all.length)
  const counts = (segments: { label: string; value: number }[]) =>
    Object.fromEntries(segments.map(({ label, value }) => [label, value]))
  const [was, is] = [counts(before_stats), counts(public_ips_by_state.segments)]
  assert.deepEqual(is, {
    Allocated: (was.Allocated ?? 0) + 1,
    Associated: (was.Associated ?? 0) + 1,
    Released: (was.Released ?? 0) - 2,
  })
  assert.equal(public_ips_by_state.total, addresses.size)
  assert.equal(
    dashboard.ip_usage.total,
    (await lab.call('GET', '/discovery/listCapacity?type=4')).body.capacities[0].total,
  )
  // What cannot be known is null, with the reason.
  assert.deepEqual([bandwidth.total_mbps, bandwidth.percentage, bandwidth.estimated_usage], [null, null, true])
  assert.ok(unavailable.some((one: { field: string }) => one.field === 'dashboard.bandwidth.total_mbps'))
  // Both are rounded from the same figure, each to two digits.
  assert.ok(Math.abs(bandwidth.used_gbps - bandwidth.used_mbps / 1000) < 0.006, JSON.stringify(bandwidth))
})

test('the bandwidth in use is the last sample of the running machines over its length', async () => {
  const aggregate = await lab.call('GET', '/compute/vms/metrics/aggregate')
  const stats = await lab.call('POST', '/network/stats')
  if (aggregate.status === 200) {
    const expected = (aggregate.body.totals.network_kbs_total * 8192) / 60_000 / 1000
    assert.ok(
      Math.abs(stats.body.dashboard.bandwidth.used_mbps - expected) <= 1,
      `${stats.body.dashboard.bandwidth.used_mbps} against ${expected}`,
    )
  } else assert.fail(aggregate.text)
})

test('statistics go over more networks than one page of the platform holds', async () => {
  const network = held()
  assert.ok(network !== null)
  for (let number = 0; number < 520; number += 1) {
    lab.platform.state.tables.networks.put({
      ...network,
      id: `20000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
      name: `n-${number}`,
      vlan: 2000 + number,
    })
  }
  const reply = await lab.call('POST', '/network/stats')
  assert.equal(reply.body.dashboard.setup.total, lab.platform.state.tables.networks.size)
})

test('no networks at all divide by nothing', async () => {
  const { networks } = lab.platform.state.tables
  for (const one of networks.values()) networks.remove(one.id)
  const reply = await lab.call('POST', '/network/stats')
  assert.deepEqual(reply.body.dashboard.setup, { percentage: null, total: 0, used: 0 })
  assert.equal(reply.body.dashboard.bandwidth.received_bytes, null)
})

test('statistics belong to no tenant, and a failing list fails them', async () => {
  const token = await tokenFor(lab, 'viewer', wellKnown.domains.acme)
  assert.equal((await lab.call('POST', '/network/stats', undefined, { token })).body.code, 'TENANT_SCOPE')
  await control(lab, 'fail', { command: 'listPublicIpAddresses', code: 530, text: 'x', times: 1 })
  const reply = await lab.call('POST', '/network/stats')
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'])
})
