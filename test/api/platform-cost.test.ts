// What reading costs the platform: which commands with which parameters, no walk where a count or a filter exists, and no
// question that waits for another one without need.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, callsOf, control, tokenFor } from '../support/platform-calls.ts'
import { impatiently, type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
const NEVER_MS = 3_600_000
before(async () => {
  // Watchers read once at the start and are silent then, so that every call is one of the request.
  const never = { events_poll_ms: NEVER_MS, states_poll_ms: NEVER_MS, tenants_poll_ms: NEVER_MS }
  lab = await startLab({ config: { compute: never, nodes: { health_poll_ms: NEVER_MS } } })
  for (const command of ['listEvents', 'listVirtualMachines', 'listAccounts', 'listHosts', 'listGpuDevices'])
    await until(`${command} was called`, async () => (await callsOf(lab, command)).length > 0)
  // Each tenant's domain is read once more by itself, after the list.
  const tenants = [wellKnown.domains.acme, wellKnown.domains.globex]
  await until('each tenant was read', async () => {
    const ids = (await callsOf(lab, 'listDomains')).map(({ id }) => id)
    return tenants.every((id) => ids.includes(id))
  })
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())
afterEach(() => assertNoUnknownParameters(lab))

interface Call {
  command: string
  params: Record<string, string>
}

async function callsDuring(work: () => Promise<unknown>): Promise<Call[]> {
  const all = async (): Promise<Call[]> => {
    const answer: unknown = await (await fetch(`${lab.platform.control_url}/calls`)).json()
    return (answer as { calls: Call[] }).calls
  }
  const earlier = (await all()).length
  await work()
  return (await all()).slice(earlier)
}

/** Command and what tells its calls apart. */
function asked(calls: readonly Call[], ...names: string[]): string[] {
  const words = ({ command, params }: Call) =>
    [command, ...names.flatMap((name) => (params[name] === undefined ? [] : `${name}=${params[name]}`))].join(' ')
  return calls.map(words).toSorted()
}

/** Free addresses in a range of their own, dedicated to a tenant or to nobody. */
function manyFree(range: string, count: number, domainid: string | null): string[] {
  const { tables } = lab.platform.state
  const seeded = tables.vlans.get(wellKnown.public_range)
  const address = tables.addresses.get(seededId('address', '203.0.113.60'))
  assert.ok(seeded !== null && address !== null)
  tables.vlans.put({ ...seeded, id: range, vlan: `vlan://${range.slice(0, 2)}`, domainid })
  const ids: string[] = []
  for (let number = 0; number < count; number += 1) {
    const id = seededId('address', `${range} ${number}`)
    tables.addresses.put({ ...address, id, vlanid: range, ipaddress: `198.18.${number >> 8}.${number & 255}` })
    ids.push(id)
  }
  return ids
}

const OF_ACME = ['61000000-0000-4000-8000-000000000001', '62000000-0000-4000-8000-000000000002'] as const
const OF_NOBODY = '63000000-0000-4000-8000-000000000003'

test('statistics of the network read what is allocated, count the rest, and ask everything at once', async () => {
  manyFree(OF_NOBODY, 1200, null)
  const { tables } = lab.platform.state
  const reply = await lab.call('POST', '/network/stats')
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.public_ips_by_state.total, tables.addresses.size)
  const calls = await callsDuring(() => lab.call('POST', '/network/stats'))
  assert.deepEqual(asked(calls, 'allocatedonly', 'retrieveonlyresourcecount', 'type'), [
    'listCapacity type=4',
    'listNetworks',
    'listPublicIpAddresses allocatedonly=false retrieveonlyresourcecount=true',
    'listPublicIpAddresses allocatedonly=true',
    'listVirtualMachinesMetrics',
  ])
  await control(lab, 'silent', { command: 'listNetworks', times: 1 })
  const others = await callsDuring(() => impatiently(lab.config.compute, () => lab.call('POST', '/network/stats')))
  assert.deepEqual(
    [...new Set(others.map(({ command }) => command))].toSorted(),
    [...new Set(calls.map(({ command }) => command))].toSorted(),
  )
})

test('the free addresses of a tenant are those of its own ranges: counted there, and only the rows of the page are read', async () => {
  manyFree(OF_NOBODY, 700, null)
  const own = [...manyFree(OF_ACME[0], 30, wellKnown.domains.acme), ...manyFree(OF_ACME[1], 45, wellKnown.domains.acme)]
  const token = await tokenFor(lab, 'viewer', wellKnown.domains.acme)
  const seen: string[] = []
  for (const page of [1, 2, 3, 4, 5]) {
    const calls = await callsDuring(async () => {
      const path = `/ddi/public-ips?state=Released&page=${page}&page_size=20`
      const { status, body, text } = await lab.call('GET', path, undefined, { token })
      assert.deepEqual([status, body.count], [200, own.length], text)
      seen.push(...body.data.map((one: { id: string }) => one.id))
    })
    const rows = calls.filter(({ params }) => params.pagesize !== undefined && params.state === 'Free')
    assert.ok(rows.length <= 3 && rows.every(({ params }) => params.pagesize === '20'), JSON.stringify(rows))
    const [ranges, ...addresses] = calls
    assert.equal(ranges?.command, 'listVlanIpRanges')
    assert.ok(addresses.every(({ params }) => OF_ACME.some((range) => range === params.vlanid)))
  }
  assert.deepEqual(seen, own)
})

test('a tenant without ranges of its own has no free addresses, and none are looked for', async () => {
  const token = await tokenFor(lab, 'viewer', wellKnown.domains.globex)
  const calls = await callsDuring(async () => {
    const { status, body, text } = await lab.call('GET', '/ddi/public-ips?state=Released', undefined, { token })
    assert.deepEqual([status, body.count, body.data], [200, 0, []], text)
  })
  assert.deepEqual(asked(calls), ['listVlanIpRanges'])
})

test('room for a machine is asked of all clusters at once, one question each', async () => {
  const { hosts } = lab.platform.state.tables
  // Less memory than the machines that are there take.
  for (const host of hosts.values()) hosts.put({ ...host, memory_bytes: 2 ** 30 })
  const order = {
    name: 'roomy',
    zone_id: wellKnown.zone,
    template_id: wellKnown.templates['Debian 12'],
    service_offering_id: wellKnown.service_offerings.custom,
    network_ids: [wellKnown.networks['acme-net']],
    cpu_cores: 32,
    memory_mb: 131_072,
  }
  const calls = await callsDuring(async () => {
    const { status, body, text } = await lab.call('POST', '/compute/vms/provision', order)
    assert.deepEqual([status, body.code], [409, 'CAPACITY_EXCEEDED'], text)
  })
  const clusters = lab.platform.state.tables.clusters.filter(() => true).map(({ id }) => id)
  const capacity = calls.filter(({ command, params }) => command === 'listCapacity' && params.clusterid !== undefined)
  assert.deepEqual(capacity.map(({ params }) => params.clusterid ?? '').toSorted(), clusters.toSorted())
  await control(lab, 'silent', { command: 'listCapacity', times: 1 })
  const others = await callsDuring(() =>
    impatiently(lab.config.compute, () => lab.call('POST', '/compute/vms/provision', order)),
  )
  assert.equal(others.filter(({ command }) => command === 'listCapacity').length, clusters.length)
})

test('whether an address of a NIC is in use is asked of its network alone, rules and static NAT at once', async () => {
  const vm_id = wellKnown.vms['web-01']
  const { nics } = (await lab.call('POST', '/compute/vms/nic/list', { virtual_machine_id: vm_id })).body
  const options = { headers: { prefer: 'wait=60' } }
  const body = { virtual_machine_id: vm_id, nic_id: nics[0].id }
  const added = await lab.call('POST', '/compute/vms/nic/ip/add', body, options)
  assert.equal(added.status, 200, added.text)
  const removal = { virtual_machine_id: vm_id, secondary_ip_id: added.body.id }
  await control(lab, 'silent', { command: 'listPortForwardingRules', times: 1 })
  const calls = await callsDuring(() =>
    impatiently(lab.config.compute, () => lab.call('POST', '/compute/vms/nic/ip/remove', removal)),
  )
  const network = `etworkid=${nics[0].network_id}`
  assert.deepEqual(
    asked(calls, 'networkid', 'associatednetworkid', 'isstaticnat').filter((one) => one.includes('list')),
    [
      `listPortForwardingRules n${network}`,
      `listPublicIpAddresses associatedn${network} isstaticnat=true`,
      'listVirtualMachines',
    ],
  )
})

test('the newest alert that matches is the first of one page', async () => {
  const calls = await callsDuring(async () => {
    const { status, text } = await lab.call('POST', '/alerts/get-id', { keyword: 'a' })
    assert.equal(status, 200, text)
  })
  assert.deepEqual(asked(calls, 'page', 'pagesize'), ['listAlerts page=1 pagesize=1'])
})
