// Firewall and load-balancer rules over HTTP: what they say, what is refused before the platform is asked, tenants kept apart.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import { eventOf } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
const api = vmApi(() => lab)

const network_id = wellKnown.networks['acme-net']
const [public_ip_id, vpc_ip_id, nat_ip_id, loose_ip_id, free_ip_id] = [60, 61, 62, 63, 64].map((last) =>
  seededId('address', `203.0.113.${last}`),
) as [string, string, string, string, string]
const tables = () => lab.platform.state.tables

beforeEach(() => {
  const give = (id: string, set: object): void => {
    const address = tables().addresses.get(id)
    assert.ok(address !== null)
    tables().addresses.put({ ...address, state: 'Allocated', accountid: wellKnown.accounts.acme, ...set })
  }
  give(public_ip_id, { associatednetworkid: network_id })
  give(vpc_ip_id, { vpcid: seededId('vpc', 'acme-vpc') })
  give(nat_ip_id, { associatednetworkid: network_id, isstaticnat: true })
  give(loose_ip_id, {})
})

const FIREWALL = '/network/firewall-rules'
const firewall = (body: object, token?: string) => api.done('POST', FIREWALL, body, token)
const remove = (base: string, id: string) => lab.call('DELETE', `${base}/${id}`)

test('an ingress rule lets the named sources in, is listed at its address, and is deleted', async () => {
  const source_cidrs = ['198.51.100.0/24', '192.0.2.7/32']
  const made = await firewall({ public_ip_id, protocol: 'tcp', start_port: 8000, end_port: 8010, source_cidrs })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(made.body, {
    id: made.body.id, direction: 'ingress', action: 'allow', protocol: 'tcp', start_port: 8000, end_port: 8010, icmp_type: null,
    icmp_code: null, source_cidrs, destination_cidrs: [], public_ip_id, public_ip_address: '203.0.113.60', network_id, state: 'Active',
  }) // biome-ignore format: one record
  const listed = await api.post(`${FIREWALL}/list`, { public_ip_id })
  assert.deepEqual([listed.body.count, listed.body.firewall_rules], [1, [made.body]])
  const planned = (sentence: RegExp, affected: string[]) =>
    api.planned('DELETE', `${FIREWALL}/${made.body.id}`, undefined, sentence, ['public_ip 203.0.113.60', ...affected])
  const cut_off = 'From 198\\.51\\.100\\.0/24, 192\\.0\\.2\\.7/32 it lets nothing in any more; this touches'
  await planned(
    new RegExp(`the ingress rule of tcp ports 8000 to 8010 of 203\\.0\\.113\\.60\\. ${cut_off} no virtual`),
    [],
  )
  const [forwarded] = tables().rules.values()
  assert.ok(forwarded !== undefined)
  const to = tables().vms.get(forwarded.virtualmachineid)?.name
  const rule = { ...forwarded, ipaddressid: public_ip_id, accountid: wellKnown.accounts.acme, protocol: 'tcp' }
  tables().rules.put({ ...rule, publicport: 8010, publicendport: 8020 })
  await planned(new RegExp(`${cut_off} ${to}\\.`), [`virtual_machine ${to}`])
  tables().rules.put({ ...rule, publicport: 8011, publicendport: 8020 })
  const web = (await balancer({ public_port: 8005 })).body
  const vm = running((networks) => networks.includes(network_id))
  await api.done('POST', `${BALANCERS}/${web.id}/machines`, { virtual_machine_id: vm.id })
  await planned(new RegExp(`${cut_off} ${vm.name}\\.`), [`virtual_machine ${vm.name}`])
  assert.equal((await api.calls('deleteFirewallRule')).length, 0)

  const deleted = await remove(FIREWALL, made.body.id)
  assert.equal((await api.ended(deleted)).job_status, 'completed')
  assert.equal(tables().firewallrules.get(made.body.id), null)
  const { status, description } = await eventOf(lab, deleted.body.correlation_id)
  assert.deepEqual(
    [status, description],
    ['SUCCESS', 'The ingress rule of tcp ports 8000 to 8010 of 203.0.113.60 is deleted.'],
  )
})

test('all ports and kinds of ICMP messages are told apart, and everybody is let in where no source is named', async () => {
  for (const [body, expected] of [
    [{ protocol: 'udp' }, [null, null, null, null]],
    [{ protocol: 'icmp' }, [null, null, null, null]],
    [{ protocol: 'icmp', icmp_type: 3, icmp_code: 4 }, [null, null, 3, 4]],
  ] as const) {
    const { status, body: rule, text } = await firewall({ public_ip_id, ...body })
    assert.equal(status, 201, text)
    assert.deepEqual([rule.start_port, rule.end_port, rule.icmp_type, rule.icmp_code], expected, text)
    assert.deepEqual(rule.source_cidrs, ['0.0.0.0/0'])
  }
})

test('an egress rule is an exception from what its network does with packets that leave it', async () => {
  const destination_cidrs = ['192.0.2.0/24']
  const made = await firewall({ network_id, protocol: 'tcp', start_port: 443, destination_cidrs })
  assert.equal(made.status, 201, made.text)
  const { direction, action, source_cidrs, public_ip_id: none } = made.body
  assert.deepEqual([direction, action, source_cidrs, none], ['egress', 'allow', ['10.10.0.0/24'], null])
  assert.deepEqual(made.body.destination_cidrs, destination_cidrs)
  assert.equal((await firewall({ network_id, protocol: 'all', source_cidrs: ['10.10.0.128/25'] })).status, 201)

  const inside = tables().vms.find((vm) => vm.nics.some((nic) => nic.networkid === network_id))
  const plan = await lab.call('DELETE', `${FIREWALL}/${made.body.id}?dry_run=true`)
  assert.match(
    plan.body.message,
    /egress rule of tcp port 443 of network acme-net\. What leaves 10\.10\.0\.0\/24 for 192\.0\.2\.0\/24 is allowed by it no more/,
  )
  const [network_of, ...machines] = plan.body.affected
  assert.equal(network_of.name, 'acme-net')
  assert.ok(
    machines.some((one: { id: string }) => one.id === inside?.id),
    plan.text,
  )

  const { networkofferings, networks } = tables()
  const offering = networkofferings.get(networks.get(network_id)?.networkofferingid)
  assert.ok(offering !== null)
  networkofferings.put({ ...offering, egressdefaultpolicy: true })
  const { body } = await api.post(`${FIREWALL}/list`, { network_id, page_size: 1 })
  assert.deepEqual([body.count, body.firewall_rules.length, body.firewall_rules[0].action], [2, 1, 'deny'])
  const network = await api.post('/network/guest-networks/list', { id: network_id })
  const [{ egress_default, tenant_name }] = network.body.guest_networks
  assert.deepEqual([egress_default, tenant_name], ['allow', 'acme'])

  const deleted = await api.ended(await remove(FIREWALL, made.body.id))
  assert.equal(deleted.job_status, 'completed', deleted.failure_reason)
  assert.equal((await api.calls('deleteEgressFirewallRule')).length, 1)
})

test('a rule that says what another says already is refused with its id and words; other sources may have the same ports', async () => {
  const first = await firewall({ public_ip_id, protocol: 'tcp', start_port: 8000, end_port: 8010 })
  const range = new RegExp(`${first.body.id} has tcp ports 8000 to 8010 of 203\\.0\\.113\\.60 already`)
  api.refused(await firewall({ public_ip_id, protocol: 'tcp', start_port: 8005 }), 'FIREWALL_RULE_CONFLICT', range)
  const ping = await firewall({ public_ip_id, protocol: 'icmp', icmp_type: 8 })
  assert.equal(ping.status, 201, ping.text)
  api.refused(
    await firewall({ public_ip_id, protocol: 'icmp', icmp_type: 8 }),
    'FIREWALL_RULE_CONFLICT',
    /has icmp type 8 of 203\.0\.113\.60 already/,
  )
  const all = await firewall({ network_id, protocol: 'all' })
  assert.equal(all.status, 201, all.text)
  api.refused(
    await firewall({ network_id, protocol: 'all', source_cidrs: ['0.0.0.0/0'] }),
    'FIREWALL_RULE_CONFLICT',
    /has all packets of network acme-net already/,
  )
  const others = { public_ip_id, protocol: 'tcp', start_port: 8005, source_cidrs: ['192.0.2.0/24'] }
  assert.equal((await firewall(others)).status, 201)
  assert.equal((await firewall({ public_ip_id, protocol: 'udp', start_port: 8005 })).status, 201)
  assert.equal((await api.calls('createFirewallRule')).length, 4)
})

test('what does not go together is refused by name, and nothing is sent', async () => {
  const tcp = { public_ip_id, protocol: 'tcp' }
  for (const [body, sentence] of [
    [{ protocol: 'tcp' }, /needs `public_ip_id`, for what an address lets in, or `network_id`/],
    [{ ...tcp, network_id }, /network_id: excludes public_ip_id/],
    [{ ...tcp, start_port: 90, end_port: 80 }, /90 is greater than end_port 80/],
    [{ ...tcp, end_port: 80 }, /end_port: needs start_port/],
    [{ ...tcp, start_port: 65_536 }, /65536/],
    [{ ...tcp, icmp_type: 8 }, /icmp_type: does not go with protocol tcp/],
    [{ public_ip_id, protocol: 'icmp', start_port: 1 }, /start_port: does not go with protocol icmp/],
    [{ public_ip_id, protocol: 'icmp', icmp_code: 1 }, /icmp_code: needs icmp_type/],
    [{ network_id, protocol: 'all', icmp_type: 1 }, /icmp_type: does not go with protocol all/],
    [{ public_ip_id, protocol: 'all' }, /all goes with network_id alone; give tcp, udp or icmp/],
    [{ ...tcp, destination_cidrs: ['192.0.2.0/24'] }, /destination_cidrs: goes with network_id alone/],
    [{ ...tcp, source_cidrs: ['10.0.0.0/33'] }, /source_cidrs\.0: 10\.0\.0\.0\/33 is not a range/],
    [{ network_id, protocol: 'tcp', source_cidrs: ['10.99.0.0/24'] }, /10\.99\.0\.0\/24 is not inside 10\.10\.0\.0\/24, the range of network acme-net/],
    [{ ...tcp, public_ip_id: vpc_ip_id }, /203\.0\.113\.61 belongs to a VPC, whose networks have access lists/],
    [{ ...tcp, public_ip_id: loose_ip_id }, /203\.0\.113\.63 belongs to no network yet/],
    [{ network_id: wellKnown.networks['storage-l2'], protocol: 'all' }, /storage-l2 is a network of type L2 without a firewall/],
  ] as const) api.refused(await firewall(body), 'INVALID_REQUEST', sentence) // biome-ignore format: a table
  const network = tables().networks.get(network_id)
  assert.ok(network !== null)
  tables().networks.put({ ...network, vpcid: seededId('vpc', 'acme-vpc') })
  api.refused(await firewall({ network_id, protocol: 'all' }), 'INVALID_REQUEST', /acme-net belongs to a VPC/)
  tables().networks.put({ ...network, state: 'Destroy' })
  api.refused(await firewall({ network_id, protocol: 'all' }), 'NETWORK_STATE', /acme-net is Destroy/)
  api.refused(await firewall({ ...tcp, public_ip_id: free_ip_id }), 'PUBLIC_IP_STATE', /203\.0\.113\.64 is Free/)
  api.refused(await firewall({ ...tcp, public_ip_id: NOBODY }), 'PUBLIC_IP_NOT_FOUND')
  api.refused(await api.post(`${FIREWALL}/list`, { network_id: NOBODY }), 'NETWORK_NOT_FOUND')
  api.refused(await remove(FIREWALL, NOBODY), 'RESOURCE_NOT_FOUND', new RegExp(`Firewall rule ${NOBODY} not found`))
  assert.deepEqual([await api.calls('createFirewallRule'), await api.calls('createEgressFirewallRule')], [[], []])
})

test('a firewall rule that the platform alone knows to be there already is a conflict in our words', async () => {
  const body = { public_ip_id, protocol: 'tcp', start_port: 80 }
  for (const [code, text] of [
    [537, 'There is already a firewall rule specified with protocol = tcp and no ports'],
    [431, 'New rule conflicts with existing rule: FirewallRule {"id":9}'],
  ] as const) {
    await api.control('fail', { command: 'createFirewallRule', code, text, times: 1 })
    api.refused(
      await firewall(body),
      'COMPUTE_CONFLICT',
      /A firewall rule for the same packets of tcp from port 80 exists already/,
    )
  }
})

const BALANCERS = '/network/load-balancers'
const order = (set: object = {}) => ({
  name: 'web', public_ip_id, public_port: 443, private_port: 8443, algorithm: 'roundrobin', ...set,
}) // biome-ignore format: one record
const balancer = (set: object = {}, token?: string) => api.done('POST', BALANCERS, order(set), token)
const running = (test: (networks: string[]) => boolean) => {
  const found = tables().vms.find((vm) => vm.state === 'Running' && test(vm.nics.map((nic) => nic.networkid)))
  assert.ok(found !== null)
  return found
}

test('a load-balancer rule is made, changed, served by machines with their state, and deleted', async () => {
  const made = await balancer({ open_firewall: true, source_cidrs: ['198.51.100.0/24', '192.0.2.0/24'] })
  assert.equal(made.status, 201, made.text)
  const { id, machines, ...rule } = made.body
  assert.deepEqual(rule, {
    name: 'web', description: null, algorithm: 'roundrobin', protocol: 'tcp', public_port: 443, private_port: 8443, public_ip_id,
    public_ip_address: '203.0.113.60', network_id, source_cidrs: ['198.51.100.0/24', '192.0.2.0/24'], state: 'Add',
    tenant_id: wellKnown.domains.acme, tenant_name: 'acme', account: 'acme', project_id: null,
  }) // biome-ignore format: one record
  assert.deepEqual(machines, [])
  assert.equal(tables().firewallrules.by('address', public_ip_id).length, 1)

  const vm = running((networks) => networks.includes(network_id))
  const assign = () => api.done('POST', `${BALANCERS}/${id}/machines`, { virtual_machine_id: vm.id })
  const served = await assign()
  assert.equal(served.status, 200, served.text)
  const ip_address = vm.nics.find((nic) => nic.networkid === network_id)?.ipaddress
  assert.deepEqual(
    [served.body.state, served.body.machines],
    [
      'Active',
      [{ virtual_machine_id: vm.id, virtual_machine_name: vm.name, ip_address, state: 'Running', service_state: 'UP' }],
    ],
  )
  assert.deepEqual((await assign()).body, served.body, 'assigning again changes nothing')
  assert.equal((await api.calls('assignToLoadBalancerRule')).length, 1)

  const changed = await api.done('PUT', BALANCERS, {
    id,
    name: 'shop',
    algorithm: 'leastconn',
    description: 'The shop',
  })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual(
    [changed.body.name, changed.body.algorithm, changed.body.description],
    ['shop', 'leastconn', 'The shop'],
  )
  const list = async (body: object) => (await api.post(`${BALANCERS}/list`, body)).body
  const { machines: _machines, ...shown } = changed.body
  assert.deepEqual((await list({ virtual_machine_id: vm.id })).load_balancers, [shown])
  assert.deepEqual((await list({ name: 'web' })).count, 0)

  const port = 'port 443 of 203\\.0\\.113\\.60'
  const machine = `virtual_machine ${vm.name}`
  await api.planned(
    'DELETE', `${BALANCERS}/${id}`, undefined,
    new RegExp(`load-balancer rule shop, which 1 virtual machine serves: ${port} would lead nowhere`), ['public_ip 203.0.113.60', machine],
  ) // biome-ignore format: one call
  const taken = new RegExp(`${vm.name} from load-balancer rule shop: .* nobody would serve ${port} then`)
  await api.planned('DELETE', `${BALANCERS}/${id}/machines/${vm.id}`, undefined, taken, [machine])
  assert.deepEqual([await api.calls('deleteLoadBalancerRule'), await api.calls('removeFromLoadBalancerRule')], [[], []])
  const take = () => api.done('DELETE', `${BALANCERS}/${id}/machines/${vm.id}`, undefined)
  assert.deepEqual((await take()).body.machines, [])
  assert.deepEqual((await take()).body.machines, [], 'removing again changes nothing')
  await api.planned(
    'DELETE',
    `${BALANCERS}/${id}/machines/${vm.id}`,
    undefined,
    /does not serve .* nothing would be sent/,
  )
  assert.equal((await api.calls('removeFromLoadBalancerRule')).length, 1)
  const deleted = await remove(BALANCERS, id)
  assert.match(deleted.body.message, /shop, which no virtual machines serve/)
  assert.equal((await api.ended(deleted)).job_status, 'completed')
  assert.deepEqual([tables().loadbalancers.size, tables().firewallrules.by('address', public_ip_id)], [0, []])
})

test('a port that is balanced or forwarded already, a machine elsewhere and a network without load balancing are refused by name', async () => {
  const { body: web } = await balancer()
  const { rules, addresses } = tables()
  const [forwarded] = rules.values()
  assert.ok(forwarded !== undefined)
  rules.put({ ...forwarded, ipaddressid: public_ip_id, protocol: 'udp', publicport: 8000, publicendport: 8010 })
  const again = await balancer({ name: 'other', protocol: 'udp' })
  api.refused(
    again,
    'LOAD_BALANCER_CONFLICT',
    new RegExp(`Port 443 of 203\\.0\\.113\\.60 is taken by load-balancer rule web \\(${web.id}\\)`),
  )
  api.refused(
    await balancer({ public_port: 8005 }),
    'LOAD_BALANCER_CONFLICT',
    new RegExp(`taken by port-forwarding rule ${forwarded.id}`),
  )

  const elsewhere = running((networks) => !networks.includes(network_id))
  const assign = (id: string, virtual_machine_id: string) =>
    api.post(`${BALANCERS}/${id}/machines`, { virtual_machine_id })
  api.refused(
    await assign(web.id, elsewhere.id),
    'INVALID_REQUEST',
    new RegExp(`${elsewhere.name} has no NIC in network ${network_id}`),
  )
  const inside = running((networks) => networks.includes(network_id))
  tables().vms.put({ ...inside, state: 'Destroyed' })
  api.refused(await assign(web.id, inside.id), 'VM_STATE', new RegExp(`${inside.name} is Destroyed`))
  api.refused(await assign(web.id, NOBODY), 'VM_NOT_FOUND')
  api.refused(await assign(NOBODY, inside.id), 'RESOURCE_NOT_FOUND', /Load-balancer rule .* not found/)
  api.refused(await lab.call('DELETE', `${BALANCERS}/${web.id}/machines/${NOBODY}`), 'VM_NOT_FOUND')

  const address = addresses.get(loose_ip_id)
  assert.ok(address !== null)
  addresses.put({ ...address, associatednetworkid: wellKnown.networks['office-shared'] })
  for (const [body, code, sentence] of [
    [{ public_ip_id: loose_ip_id }, 'INVALID_REQUEST', /network office-shared, which offers no load balancing/],
    [{ public_ip_id: vpc_ip_id }, 'INVALID_REQUEST', /network_id: is required/],
    [{ public_ip_id: vpc_ip_id, open_firewall: true }, 'INVALID_REQUEST', /open_firewall: cannot be true/],
    [{ source_cidrs: ['everywhere'] }, 'INVALID_REQUEST', /source_cidrs\.0: everywhere is not a range/],
    [{ algorithm: 'fastest' }, 'INVALID_REQUEST', /roundrobin/],
    [{ public_ip_id: nat_ip_id }, 'PUBLIC_IP_STATE', /203\.0\.113\.62 has static NAT/],
    [{ public_ip_id: free_ip_id }, 'PUBLIC_IP_STATE', /203\.0\.113\.64 is Free/],
    [{ public_ip_id: NOBODY }, 'PUBLIC_IP_NOT_FOUND', /./],
  ] as const) api.refused(await balancer({ public_port: 81, ...body }), code, sentence) // biome-ignore format: a table
  assert.equal((await api.calls('createLoadBalancerRule')).length, 1)
  api.refused(await lab.call('PUT', BALANCERS, { id: web.id }), 'INVALID_REQUEST', /names nothing to change/)
  for (const reply of [
    await lab.call('PUT', BALANCERS, { id: NOBODY, name: 'x' }),
    await lab.call('GET', `${BALANCERS}/${NOBODY}`),
    await remove(BALANCERS, NOBODY),
  ])
    api.refused(reply, 'RESOURCE_NOT_FOUND')
  api.refused(await api.post(`${BALANCERS}/list`, { name: '' }), 'INVALID_REQUEST')
})

test('a machine that the platform alone knows to serve the rule already is a conflict in our words', async () => {
  const { body: web } = await balancer()
  const vm = running((networks) => networks.includes(network_id))
  const text = 'VM 7 with 10.10.0.7 is already mapped to load balancer.'
  await api.control('fail', { command: 'assignToLoadBalancerRule', code: 431, text, times: 1 })
  const reply = await api.done('POST', `${BALANCERS}/${web.id}/machines`, { virtual_machine_id: vm.id })
  api.refused(reply, 'COMPUTE_CONFLICT', /serves this load-balancer rule already/)
})

test('a rule and its machines belong to their tenant; without a firewall asked for, the port stays shut', async () => {
  const [acme, globex] = [await api.tokenOf(wellKnown.domains.acme), await api.tokenOf(wellKnown.domains.globex)]
  const { body: web, status, text } = await balancer({}, acme)
  assert.equal(status, 201, text)
  assert.deepEqual(
    [await api.calls('createLoadBalancerRule')].flat().map((call) => call.openfirewall),
    ['false'],
  )
  const as = (token: string) => ({ token })
  assert.equal((await lab.call('GET', `${BALANCERS}/${web.id}`, undefined, as(acme))).body.name, 'web')
  api.refused(await lab.call('GET', `${BALANCERS}/${web.id}`, undefined, as(globex)), 'RESOURCE_NOT_FOUND')
  assert.equal((await api.post(`${BALANCERS}/list`, {}, globex)).body.count, 0)
  const [own] = tables().vms.by('account', wellKnown.accounts.globex)
  assert.ok(own !== undefined)
  const rule_of_others = await api.post(`${BALANCERS}/${web.id}/machines`, { virtual_machine_id: own.id }, globex)
  api.refused(rule_of_others, 'RESOURCE_NOT_FOUND')
})

test('network offerings are listed by type, and those that a network can change to; a tenant sees those it may use', async () => {
  const list = async (body: object, token?: string) => (await api.post('/network/offerings/list', body, token)).body
  const isolated = await list({ type: 'isolated', for_vpc: false })
  assert.equal(isolated.count, 2)
  const [first] = isolated.network_offerings
  assert.deepEqual(
    [first.id, first.type, first.state, first.egress_default, first.services.includes('Firewall')],
    [wellKnown.network_offerings['isolated-nat'], 'Isolated', 'Enabled', 'deny', true],
  )
  assert.deepEqual(
    (await list({ network_id: wellKnown.networks['storage-l2'] })).network_offerings.map(
      (one: { type: string }) => one.type,
    ),
    ['L2'],
  )
  api.refused(await api.post('/network/offerings/list', { network_id: NOBODY }), 'NETWORK_NOT_FOUND')
  const { networkofferings } = tables()
  const l2 = networkofferings.get(wellKnown.network_offerings.l2)
  assert.ok(l2 !== null)
  networkofferings.put({ ...l2, domainid: wellKnown.domains.globex })
  assert.equal((await list({ type: 'l2' }, await api.tokenOf(wellKnown.domains.acme))).count, 0)
  assert.equal((await list({ type: 'l2' }, await api.tokenOf(wellKnown.domains.globex))).count, 1)
})
