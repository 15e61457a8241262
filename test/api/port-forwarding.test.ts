// Port forwarding over HTTP: the two ways to name ports, the firewall that stays shut, and tenants kept apart.
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
afterEach(() => assertNoUnknownParameters(lab))

const BASE = '/network/port-forwarding'
const network_id = wellKnown.networks['acme-net']
const public_ip_id = seededId('address', '203.0.113.60')
const vpc_ip_id = seededId('address', '203.0.113.61')
const nat_ip_id = seededId('address', '203.0.113.62')
const globex_ip_id = seededId('address', '203.0.113.63')
const free_ip_id = seededId('address', '203.0.113.64')
let virtual_machine_id = ''
let outside_vm_id = ''

beforeEach(() => {
  lab.platform.reset()
  const { addresses, vms, rules: seeded, firewallrules } = lab.platform.state.tables
  for (const one of seeded.values()) seeded.remove(one.id)
  for (const one of firewallrules.values()) firewallrules.remove(one.id)
  const give = (id: string, set: object): void => {
    const address = addresses.get(id)
    if (address === null) throw new Error('the address is seeded')
    addresses.put({ ...address, state: 'Allocated', accountid: wellKnown.accounts.acme, ...set })
  }
  give(public_ip_id, { associatednetworkid: network_id })
  give(vpc_ip_id, { vpcid: seededId('vpc', 'acme-vpc') })
  give(nat_ip_id, { associatednetworkid: network_id, isstaticnat: true })
  give(globex_ip_id, { accountid: wellKnown.accounts.globex })
  const all = [...vms.values()].filter((vm) => vm.state === 'Running')
  virtual_machine_id = all.find((vm) => vm.nics.some((nic) => nic.networkid === network_id))?.id ?? ''
  outside_vm_id = all.find((vm) => vm.nics.every((nic) => nic.networkid !== network_id))?.id ?? ''
})

const order = (set: object = {}) => ({
  protocol: 'tcp',
  public_ip_id,
  virtual_machine_id,
  public_port: 8443,
  private_port: 443,
  ...set,
})
const range = (set: object = {}) => {
  const { public_port: _public, private_port: _private, ...rest } = order()
  return {
    ...rest,
    public_port_start: 9000,
    public_port_end: 9010,
    private_port_start: 9000,
    private_port_end: 9010,
    ...set,
  }
}
const rules = () => [...lab.platform.state.tables.rules.values()]
const firewall = () => [...lab.platform.state.tables.firewallrules.values()]

async function made(body: object): Promise<string> {
  const reply = await lab.call('POST', BASE, body)
  assert.equal(reply.status, 201, reply.text)
  const job = await ended(lab, reply.body.job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  return job.resource_id ?? ''
}

test('one port is forwarded, and the firewall stays shut', async () => {
  const id = await made(order())
  const rule = rules().find((one) => one.id === id)
  assert.deepEqual(
    [rule?.publicport, rule?.publicendport, rule?.privateport, rule?.privateendport, rule?.state],
    [8443, 8443, 443, 443, 'Active'],
  )
  assert.deepEqual(firewall(), [])
  assert.equal((await callsOf(lab, 'createPortForwardingRule'))[0]?.openfirewall, 'false')
  const list = await lab.call('POST', `${BASE}/list`, { public_ip_id })
  assert.equal(list.status, 200, list.text)
  const [listed] = list.body.port_forwarding_rules
  assert.deepEqual(
    [list.body.count, listed.id, listed.public_port_start, listed.private_port_end, listed.public_ip_address],
    [1, id, 8443, 443, '203.0.113.60'],
  )
})

test('the firewall is opened when asked for, for the sources named', async () => {
  await made(order({ open_firewall: true, cidrlist: ['198.51.100.0/24', '192.0.2.7/32'] }))
  assert.deepEqual(
    firewall().map((one) => [one.startport, one.cidrlist]),
    [[8443, ['198.51.100.0/24', '192.0.2.7/32']]],
  )
})

test('with Prefer: wait the rule is the answer', async () => {
  const timer = setInterval(() => lab.platform.step(), 50)
  const reply = await lab
    .call('POST', BASE, range({ protocol: 'udp' }), { headers: { prefer: 'wait=60' } })
    .finally(() => clearInterval(timer))
  assert.equal(reply.status, 201, reply.text)
  const { protocol, public_port_start, public_port_end, private_port_start, private_port_end, state } = reply.body
  assert.deepEqual(
    [protocol, public_port_start, public_port_end, private_port_start, private_port_end, state],
    ['udp', 9000, 9010, 9000, 9010, 'Active'],
  )
})

for (const [what, body] of [
  ['no ports', () => order({ public_port: undefined, private_port: undefined })],
  ['one of the single ports', () => order({ private_port: undefined })],
  ['both ways at once', () => order({ public_port_start: 1 })],
  ['a range that lacks an end', () => range({ private_port_end: undefined })],
  ['a range that runs backwards', () => range({ public_port_start: 9011 })],
  ['ranges of unequal width', () => range({ private_port_end: 9011 })],
  ['port 0', () => order({ public_port: 0 })],
  ['port 65536', () => order({ private_port: 65_536 })],
  ['another protocol', () => order({ protocol: 'icmp' })],
  ['a source that is no range', () => order({ cidrlist: ['10.0.0.1'] })],
  ['a source with too long a prefix', () => order({ cidrlist: ['10.0.0.0/33'] })],
  ['a machine outside of the network', () => order({ virtual_machine_id: outside_vm_id })],
  ['an address without a network, and none named', () => order({ public_ip_id: vpc_ip_id })],
  ['an open firewall inside a VPC', () => order({ public_ip_id: vpc_ip_id, network_id, open_firewall: true })],
  ['a network outside of the address’s VPC', () => order({ public_ip_id: vpc_ip_id, network_id })],
] as const) {
  test(`${what}: 400 and no rule`, async () => {
    const reply = await lab.call('POST', BASE, body())
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'], reply.text)
    assert.deepEqual([rules(), await callsOf(lab, 'createPortForwardingRule')], [[], []])
  })
}

for (const [what, body, code] of [
  ['an address that is not there', () => order({ public_ip_id: NOBODY }), 'PUBLIC_IP_NOT_FOUND'],
  ['an address that nobody has', () => order({ public_ip_id: free_ip_id }), 'PUBLIC_IP_STATE'],
  ['an address with static NAT', () => order({ public_ip_id: nat_ip_id }), 'PUBLIC_IP_STATE'],
  ['a machine that is not there', () => order({ virtual_machine_id: NOBODY }), 'VM_NOT_FOUND'],
  ['a network that is not there', () => order({ public_ip_id: vpc_ip_id, network_id: NOBODY }), 'NETWORK_NOT_FOUND'],
] as const) {
  test(`${what} is 400 ${code}`, async () => {
    const reply = await lab.call('POST', BASE, body())
    assert.deepEqual([reply.status, reply.body.code], [400, code], reply.text)
  })
}

test('inside a VPC the named tier gets the rule, and open_firewall is sent as false', async () => {
  const { networks } = lab.platform.state.tables
  const network = networks.get(network_id)
  assert.ok(network !== null)
  networks.put({ ...network, vpcid: seededId('vpc', 'acme-vpc') })
  const id = await made(order({ public_ip_id: vpc_ip_id, network_id }))
  assert.equal(rules().find((one) => one.id === id)?.networkid, network_id)
  assert.equal((await callsOf(lab, 'createPortForwardingRule'))[0]?.openfirewall, 'false')
})

test('a destroyed machine is no target', async () => {
  const { vms } = lab.platform.state.tables
  const vm = vms.get(virtual_machine_id)
  assert.ok(vm !== null)
  vms.put({ ...vm, state: 'Destroyed' })
  const reply = await lab.call('POST', BASE, order())
  assert.deepEqual([reply.status, reply.body.code], [400, 'VM_STATE'])
})

test('ports that another rule has are a conflict; the other protocol is free', async () => {
  const id = await made(range())
  const reply = await lab.call('POST', BASE, order({ public_port: 9005 }))
  assert.deepEqual([reply.status, reply.body.code], [400, 'PORT_FORWARDING_CONFLICT'])
  assert.ok(reply.body.detail.includes(id))
  await made(order({ public_port: 9005, protocol: 'udp' }))
  await made(order({ public_port: 9011 }))
})

test('a conflict that the platform alone can see is ours to explain', async () => {
  await control(lab, 'fail', {
    command: 'createPortForwardingRule',
    code: 537,
    text: 'The range specified conflicts with rule 17',
    times: 1,
  })
  const reply = await lab.call('POST', BASE, order())
  assert.deepEqual([reply.status, reply.body.code], [400, 'COMPUTE_CONFLICT'])
  assert.equal((await eventOf(lab, reply.headers.get('x-correlation-id') ?? '')).status, 'FAILED')
})

test('the private ports of a rule change, in its own mode and width', async () => {
  const single = await made(order())
  const reply = await lab.call('PUT', BASE, { id: single, private_port: 8080 })
  assert.equal((await ended(lab, reply.body.job_id)).job_status, 'completed', reply.text)
  assert.deepEqual(
    rules().map((one) => [one.privateport, one.privateendport]),
    [[8080, 8080]],
  )
  const wide = await made(range())
  const moved = await lab.call('PUT', BASE, { id: wide, private_port_start: 7000, private_port_end: 7010 })
  assert.equal((await ended(lab, moved.body.job_id)).job_status, 'completed', moved.text)
  assert.deepEqual(
    rules()
      .filter((one) => one.id === wide)
      .map((one) => [one.privateport, one.privateendport]),
    [[7000, 7010]],
  )
  for (const body of [
    { id: wide, private_port: 80 },
    { id: wide, private_port_start: 1, private_port_end: 2 },
    { id: wide, private_port_start: 1 },
    { id: wide, private_port: 80, private_port_start: 80 },
    { id: single },
  ]) {
    const refused = await lab.call('PUT', BASE, body)
    assert.deepEqual([refused.status, refused.body.code], [400, 'INVALID_REQUEST'], refused.text)
  }
  assert.equal((await callsOf(lab, 'updatePortForwardingRule')).length, 2)
})

test('a rule that is being revoked is not changed, but can be removed', async () => {
  const id = await made(order({ open_firewall: true }))
  const { rules: table } = lab.platform.state.tables
  const rule = table.get(id)
  assert.ok(rule !== null)
  table.put({ ...rule, state: 'Revoke' })
  const refused = await lab.call('PUT', BASE, { id, private_port: 1 })
  assert.deepEqual([refused.status, refused.body.code], [400, 'PORT_FORWARDING_STATE'])
  assert.match(refused.body.detail, /Revoke; this needs Active/)
  const plan = await lab.call('DELETE', `${BASE}/${id}?dry_run=true`)
  assert.match(plan.body.message, /^Would delete the rule of tcp .*: they would lead to \S+ no more\.$/)
  const [address, machine] = plan.body.affected
  assert.deepEqual([address.id, machine.id], [rule.ipaddressid, rule.virtualmachineid])
  const removed = await lab.call('DELETE', `${BASE}/${id}`)
  assert.equal((await ended(lab, removed.body.job_id)).job_status, 'completed', removed.text)
  assert.deepEqual([rules(), firewall()], [[], []])
})

test('a rule that is not there is 400 PORT_FORWARDING_NOT_FOUND; an address that is not there too', async () => {
  for (const reply of [
    await lab.call('PUT', BASE, { id: NOBODY, private_port: 1 }),
    await lab.call('DELETE', `${BASE}/${NOBODY}`),
  ]) {
    assert.deepEqual([reply.status, reply.body.code], [400, 'PORT_FORWARDING_NOT_FOUND'], reply.text)
  }
  const list = await lab.call('POST', `${BASE}/list`, { public_ip_id: NOBODY })
  assert.deepEqual([list.status, list.body.code], [400, 'PUBLIC_IP_NOT_FOUND'])
})

test('a failing platform is 500 in our words', async () => {
  await control(lab, 'fail', { command: 'listPortForwardingRules', code: 530, text: 'secret-db-4 broke', times: 1 })
  const reply = await lab.call('POST', `${BASE}/list`, { public_ip_id })
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'])
  assert.ok(!reply.text.includes('secret-db-4'))
})

test('the rules of an address are paged', async () => {
  for (const public_port of [1, 2, 3]) await made(order({ public_port }))
  const page = await lab.call('POST', `${BASE}/list`, { public_ip_id, page: 2, page_size: 2 })
  assert.deepEqual([page.body.count, page.body.port_forwarding_rules.length, page.body.page], [3, 1, 2])
})

test('a tenant touches its own addresses, machines and rules alone', async () => {
  const acme = { token: await tokenFor(lab, 'operator', wellKnown.domains.acme) }
  const globex = { token: await tokenFor(lab, 'operator', wellKnown.domains.globex) }
  const { vms } = lab.platform.state.tables
  const own = [...vms.values()].find(
    (vm) =>
      vm.accountid === wellKnown.accounts.acme &&
      vm.projectid === null &&
      vm.nics.some((nic) => nic.networkid === network_id) &&
      vm.state === 'Running',
  )
  assert.ok(own !== undefined)
  const mine = await lab.call('POST', BASE, order({ virtual_machine_id: own.id }), acme)
  assert.equal(mine.status, 201, mine.text)
  const { resource_id } = await ended(lab, mine.body.job_id)
  const rejections = [
    [await lab.call('POST', BASE, order({ public_ip_id: globex_ip_id }), acme), 'PUBLIC_IP_NOT_FOUND'],
    [await lab.call('POST', BASE, order({ public_ip_id: free_ip_id }), acme), 'PUBLIC_IP_NOT_FOUND'],
    [await lab.call('POST', BASE, order({ public_port: 2 }), globex), 'PUBLIC_IP_NOT_FOUND'],
    [
      await lab.call('POST', BASE, order({ public_ip_id: globex_ip_id, virtual_machine_id: own.id }), globex),
      'VM_NOT_FOUND',
    ],
    [await lab.call('POST', `${BASE}/list`, { public_ip_id }, globex), 'PUBLIC_IP_NOT_FOUND'],
    [await lab.call('PUT', BASE, { id: resource_id, private_port: 1 }, globex), 'PORT_FORWARDING_NOT_FOUND'],
    [await lab.call('DELETE', `${BASE}/${resource_id}`, undefined, globex), 'PORT_FORWARDING_NOT_FOUND'],
  ] as const
  for (const [reply, code] of rejections) assert.deepEqual([reply.status, reply.body.code], [400, code], reply.text)
  assert.equal(rules().length, 1)
  assert.equal((await lab.call('DELETE', `${BASE}/${resource_id}`, undefined, acme)).status, 200)
})
