// Public IPs over HTTP: real handlers, real jobs, the lab's platform.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, control, NOBODY } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
let ticking: NodeJS.Timeout

before(async () => {
  lab = await startLab({ time: 'step' })
  ticking = setInterval(() => lab.platform.step(), 20)
})
after(async () => {
  clearInterval(ticking)
  await lab?.close()
})
beforeEach(() => lab.platform.reset())
afterEach(() => assertNoUnknownParameters(lab))

const zone_id = wellKnown.zone
const network_id = wellKnown.networks['acme-net']
const IPS = '/ddi/public-ips'

const tables = () => lab.platform.state.tables

async function sent(command: string): Promise<number> {
  const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string }[]
  }
  return calls.filter((one) => one.command === command).length
}

function must<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined)
  return value
}

/** A machine in acme's own network that no address leads to. */
function machine(): string {
  const taken = new Set(
    tables()
      .addresses.filter((one) => one.isstaticnat)
      .map((one) => one.virtualmachineid),
  )
  const [vm] = tables().vms.filter(
    (one) =>
      one.nics.some((nic) => nic.networkid === network_id) &&
      !taken.has(one.id) &&
      ['Running', 'Stopped'].includes(one.state),
  )
  return must(vm).id
}

const acquired = async (body: Record<string, unknown> = {}) => {
  const reply = await lab.call('POST', IPS, { zone_id, network_id, ...body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body.data
}

function machineOfOthers(): string {
  const [vm] = tables().vms.filter(
    (one) => one.nics.every((nic) => nic.networkid !== network_id) && one.state === 'Running',
  )
  return must(vm).id
}

test('an address is acquired for a network, and is there, owned and associated when the answer comes', async () => {
  const reply = await lab.call('POST', IPS, { zone_id, network_id })
  assert.equal(reply.status, 200, reply.text)
  const { data, success } = reply.body
  assert.deepEqual(
    [success, data.state, data.network_id, data.account, data.associated],
    [true, 'Associated', network_id, 'acme', false],
  )
  assert.equal(tables().addresses.get(data.id)?.state, 'Allocated')
  const job = await lab.call('GET', `/jobs/${reply.headers.get('x-correlation-id')}`)
  assert.deepEqual([job.body.job_status, job.body.resource_name], ['completed', data.ip_address])
  const platform_job = tables().jobs.get(reply.headers.get('x-correlation-id'))
  assert.ok(platform_job !== null, 'the platform’s job carries our id')
  assert.equal((await lab.call('GET', `${IPS}/${data.id}`)).body.data.id, data.id)
})

test('this very address is acquired when it is free, and refused when it is not', async () => {
  const [free] = tables().addresses.filter((one) => one.state === 'Free')
  const ip_address = must(free).ipaddress
  assert.equal((await acquired({ ip_address })).ip_address, ip_address)
  const again = await lab.call('POST', IPS, { zone_id, network_id, ip_address })
  assert.deepEqual([again.status, again.body.code, again.body.success], [400, 'PUBLIC_IP_UNAVAILABLE', false])
  const of_others = await lab.call('POST', IPS, { zone_id, network_id, ip_address: '192.0.2.250' })
  assert.deepEqual([of_others.status, of_others.body.code], [400, 'PUBLIC_IP_UNAVAILABLE'])
})

test('the owner’s only isolated network is found, and without owner or network the field is named', async () => {
  const own = await lab.call('POST', IPS, { zone_id, domain_id: wellKnown.domains.acme, account: 'acme' })
  assert.deepEqual([own.status, own.body.data?.network_id], [200, network_id], own.text)
  const none = await lab.call('POST', IPS, { zone_id })
  assert.deepEqual([none.status, none.body.code], [400, 'INVALID_REQUEST'])
  assert.match(none.text, /network_id/)
})

test('the same idempotency key acquires once', async () => {
  const headers = { 'idempotency-key': 'one-address' }
  const first = await lab.call('POST', IPS, { zone_id, network_id }, { headers })
  const second = await lab.call('POST', IPS, { zone_id, network_id }, { headers })
  assert.deepEqual(second.body, first.body)
  assert.equal(await sent('associateIpAddress'), 1)
})

test('with associate_to_vm static NAT leads to the machine, and is given up in one call', async () => {
  const vm_id = machine()
  const data = await acquired({ associate_to_vm: true, vm_id })
  assert.deepEqual([data.vm_id, data.associated, data.state], [vm_id, true, 'Associated'])
  const off = await lab.call('POST', `${IPS}/${data.id}/disassociate`)
  assert.deepEqual([off.status, off.body.success], [200, true], off.text)
  assert.equal(tables().addresses.get(data.id)?.isstaticnat, false)
  const again = await lab.call('POST', `${IPS}/${data.id}/disassociate`)
  assert.deepEqual([again.status, again.body.code], [400, 'PUBLIC_IP_NOT_ASSOCIATED'])
})

test('when static NAT fails after the address came, the address is released', async () => {
  const owned = tables().addresses.filter((one) => one.state !== 'Free').length
  await control(lab, 'fail', { command: 'enableStaticNat', times: 1, code: 537, text: 'planted conflict' })
  const reply = await lab.call('POST', IPS, { zone_id, network_id, associate_to_vm: true, vm_id: machine() })
  assert.deepEqual([reply.status, reply.body.code], [400, 'COMPUTE_CONFLICT'], reply.text)
  assert.equal(tables().addresses.filter((one) => one.state !== 'Free').length, owned)
  assert.equal(await sent('disassociateIpAddress'), 1)
})

test('an answer of the platform that is lost acquires one address all the same', async () => {
  const owned = tables().addresses.filter((one) => one.state !== 'Free').length
  await control(lab, 'lose-answer', { command: 'associateIpAddress', times: 1 })
  await acquired()
  assert.equal(tables().addresses.filter((one) => one.state !== 'Free').length, owned + 1)
})

for (const [what, body, code] of [
  ['an unknown zone', { zone_id: NOBODY, network_id }, 'RESOURCE_NOT_FOUND'],
  ['an unknown network', { zone_id, network_id: NOBODY }, 'RESOURCE_NOT_FOUND'],
  ['an unknown VPC', { zone_id, vpc_id: NOBODY }, 'RESOURCE_NOT_FOUND'],
  ['an unknown project', { zone_id, project_id: NOBODY }, 'RESOURCE_NOT_FOUND'],
  ['an unknown machine', { zone_id, network_id, associate_to_vm: true, vm_id: NOBODY }, 'VM_NOT_FOUND'],
  ['associate_to_vm without a machine', { zone_id, network_id, associate_to_vm: true }, 'INVALID_REQUEST'],
  ['a machine without associate_to_vm', { zone_id, network_id, vm_id: NOBODY }, 'INVALID_REQUEST'],
  ['an account without its tenant', { zone_id, network_id, account: 'acme' }, 'INVALID_REQUEST'],
  ['create_dns without a host name', { zone_id, network_id, create_dns: true }, 'INVALID_REQUEST'],
] as const) {
  test(`acquiring with ${what} is 400 ${code} and acquires nothing`, async () => {
    const reply = await lab.call('POST', IPS, body)
    assert.deepEqual([reply.status, reply.body.code, reply.body.success], [400, code, false], reply.text)
    assert.equal(await sent('associateIpAddress'), 0)
  })
}

test('a machine of another network is refused before anything is acquired', async () => {
  const reply = await lab.call('POST', IPS, { zone_id, network_id, associate_to_vm: true, vm_id: machineOfOthers() })
  assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'], reply.text)
  assert.equal(await sent('associateIpAddress'), 0)
})

test('a network of another owner than the request names is refused by its name and tenant', async () => {
  const acme_net = wellKnown.networks['acme-net']
  for (const owner of [
    { domain_id: wellKnown.domains.globex },
    { domain_id: wellKnown.domains.acme, account: 'globex' },
    { project_id: wellKnown.project },
  ]) {
    const reply = await lab.call('POST', IPS, { zone_id, network_id: acme_net, ...owner })
    assert.deepEqual([reply.status, reply.body.code], [400, 'COMPUTE_REJECTED'], reply.text)
    assert.match(
      reply.body.message,
      /^Network acme-net belongs to tenant acme: acquire the address with `domain_id` and `account`/,
    )
  }
  assert.equal(await sent('associateIpAddress'), 0)
  const made = await lab.call('POST', IPS, { zone_id, network_id: acme_net, domain_id: wellKnown.domains.acme })
  assert.equal(made.body.success, true, made.text)
})

test('without free addresses or above the limit the code says which', async () => {
  await control(lab, 'fail', {
    command: 'associateIpAddress',
    times: 1,
    code: 533,
    text: 'Insufficient address capacity',
  })
  const none = await lab.call('POST', IPS, { zone_id, network_id })
  assert.deepEqual([none.status, none.body.code], [400, 'PUBLIC_IP_UNAVAILABLE'], none.text)
  await control(lab, 'fail', {
    command: 'associateIpAddress',
    times: 1,
    code: 535,
    text: 'Maximum amount of resources of Type = public_ip is exceeded',
  })
  const full = await lab.call('POST', IPS, { zone_id, network_id })
  assert.deepEqual([full.status, full.body.code], [400, 'QUOTA_EXCEEDED'], full.text)
})

test('every filter narrows, and pages hold together', async () => {
  const vm_id = machine()
  const natted = await acquired({ associate_to_vm: true, vm_id })
  await acquired()
  const list = async (query: string) => (await lab.call('GET', `${IPS}?${query}`)).body
  const all = await list('page_size=500')
  assert.equal(all.count, tables().addresses.filter((one) => one.state !== 'Free').length)
  const ids = (body: { data: { id: string }[] }) => body.data.map((one) => one.id)
  assert.deepEqual(ids(await list(`vm_id=${vm_id}`)), [natted.id])
  assert.deepEqual(ids(await list(`ip_address=${natted.ip_address}`)), [natted.id])
  const of_network = await list(`network_id=${network_id}&page_size=500`)
  assert.ok(
    of_network.count >= 2 && of_network.data.every((one: { network_id: string }) => one.network_id === network_id),
  )
  assert.equal((await list(`network_id=${NOBODY}`)).count ?? 0, 0)
  assert.ok(
    (await list('state=Associated&page_size=500')).data.every((one: { state: string }) => one.state === 'Associated'),
  )
  assert.ok(
    (await list('state=Allocated&page_size=500')).data.every((one: { state: string }) => one.state === 'Allocated'),
  )
  const free = await list('state=Released&page_size=500')
  assert.equal(free.count, tables().addresses.filter((one) => one.state === 'Free').length)
  const second = await list('page=2&page_size=1')
  assert.deepEqual([ids(second), second.page, second.count], [[ids(all)[1]], 2, all.count])
  const filtered_second = await list(`state=Associated&network_id=${network_id}&page=2&page_size=1`)
  assert.deepEqual(ids(filtered_second), [
    ids(await list(`state=Associated&network_id=${network_id}&page_size=500`))[1],
  ])
  assert.equal((await lab.call('GET', `${IPS}?state=Gone`)).status, 400)
})

test('an unknown address is 404 where it is read or released, 400 where it is changed', async () => {
  for (const id of [NOBODY, 'not-an-id']) {
    for (const [method, path, body, status] of [
      ['GET', '', undefined, 404],
      ['DELETE', '', undefined, 404],
      ['POST', '/associate', { vm_id: machine() }, 400],
      ['POST', '/disassociate', undefined, 400],
    ] as const) {
      const reply = await lab.call(method, `${IPS}/${id}${path}`, body)
      assert.deepEqual(
        [reply.status, reply.body.code],
        [status, 'PUBLIC_IP_NOT_FOUND'],
        `${method} ${path} ${reply.text}`,
      )
    }
  }
})

test('associating leads to the machine, a second time changes nothing, another machine must wait', async () => {
  const vm_id = machine()
  const { id } = await acquired()
  const reply = await lab.call('POST', `${IPS}/${id}/associate`, { vm_id })
  assert.deepEqual([reply.status, reply.body.success], [200, true], reply.text)
  assert.equal(tables().addresses.get(id)?.virtualmachineid, vm_id)
  const again = await lab.call('POST', `${IPS}/${id}/associate`, { vm_id })
  assert.equal(again.status, 200, again.text)
  assert.equal(await sent('enableStaticNat'), 1)
  const other = await lab.call('POST', `${IPS}/${id}/associate`, { vm_id: machine() })
  assert.deepEqual([other.status, other.body.code], [400, 'PUBLIC_IP_STATE'], other.text)
  const second = await acquired()
  const twice = await lab.call('POST', `${IPS}/${second.id}/associate`, { vm_id })
  assert.deepEqual([twice.status, twice.body.code], [400, 'COMPUTE_CONFLICT'], twice.text)
})

test('another address of the machine may have a static NAT of its own', async () => {
  const vm_id = machine()
  const [first, second] = [await acquired(), await acquired()]
  const nic = must(
    tables()
      .vms.get(vm_id)
      ?.nics.find((one) => one.networkid === network_id),
  )
  const wait = { headers: { prefer: 'wait=60' } }
  const added = await lab.call('POST', '/compute/vms/nic/ip/add', { virtual_machine_id: vm_id, nic_id: nic.id }, wait)
  assert.equal(added.status, 200, added.text)
  const [secondary] = must(
    tables()
      .vms.get(vm_id)
      ?.nics.find((one) => one.id === nic.id),
  ).secondaryips
  const plain = await lab.call('POST', `${IPS}/${first.id}/associate`, { vm_id })
  assert.equal(plain.status, 200, plain.text)
  const vm_guest_ip = must(secondary).ipaddress
  const own = await lab.call('POST', `${IPS}/${second.id}/associate`, { vm_id, vm_guest_ip })
  assert.deepEqual([own.status, own.body.success], [200, true], own.text)
  assert.equal(tables().addresses.get(second.id)?.vmipaddress, vm_guest_ip)
})

test('associating a source NAT, a ruled or a free address, or nothing, is refused by state', async () => {
  const vm_id = machine()
  const { id } = await acquired()
  const set = (change: object) => tables().addresses.put({ ...must(tables().addresses.get(id)), ...change })
  set({ issourcenat: true })
  const source = await lab.call('POST', `${IPS}/${id}/associate`, { vm_id })
  assert.deepEqual([source.status, source.body.code], [400, 'PUBLIC_IP_STATE'], source.text)
  const undeleted = await lab.call('DELETE', `${IPS}/${id}`)
  assert.deepEqual([undeleted.status, undeleted.body.code], [400, 'PUBLIC_IP_STATE'], undeleted.text)
  set({ issourcenat: false })
  assert.equal((await lab.call('POST', `${IPS}/${id}/associate`, {})).body.code, 'INVALID_REQUEST')
  assert.equal((await lab.call('POST', `${IPS}/${id}/associate`, { vm_id: NOBODY })).body.code, 'VM_NOT_FOUND')
  const [free] = tables().addresses.filter((one) => one.state === 'Free')
  const released = await lab.call('POST', `${IPS}/${must(free).id}/associate`, { vm_id })
  assert.deepEqual([released.status, released.body.code], [400, 'PUBLIC_IP_STATE'], released.text)
  assert.equal(await sent('enableStaticNat'), 0)
})

test('a lost answer to static NAT is read back', async () => {
  const vm_id = machine()
  const { id } = await acquired()
  await control(lab, 'lose-answer', { command: 'enableStaticNat', times: 1 })
  const reply = await lab.call('POST', `${IPS}/${id}/associate`, { vm_id })
  assert.equal(reply.status, 200, reply.text)
})

test('releasing frees the address; a dry run names what leads through it', async () => {
  const { id } = await acquired()
  const vm_id = machine()
  await lab.call('POST', `${IPS}/${id}/associate`, { vm_id })
  const opening = { public_ip_id: id, protocol: 'tcp', start_port: 22 }
  const opened = await lab.call('POST', '/network/firewall-rules', opening, { headers: { prefer: 'wait=100' } })
  assert.equal(opened.status, 201, opened.text)
  const plan = await lab.call('DELETE', `${IPS}/${id}?dry_run=true`)
  assert.match(
    plan.body.message,
    /^Would release public IP .* with firewall rule tcp 22; virtual machine .* would be reached by it no more\.$/,
  )
  const [{ id: target }, { kind }] = plan.body.affected
  assert.deepEqual([target, kind, tables().addresses.get(id)?.state], [vm_id, 'firewall_rule', 'Allocated'])
  const reply = await lab.call('DELETE', `${IPS}/${id}`)
  assert.deepEqual([reply.status, reply.body.success], [200, true], reply.text)
  assert.equal(tables().addresses.get(id)?.state, 'Free')
  const again = await lab.call('DELETE', `${IPS}/${id}`)
  assert.deepEqual([again.status, again.body.code], [400, 'PUBLIC_IP_STATE'])
})

test('without DNS an acquired address says that its name was not made, and changing one is 500 DNS_NOT_CONFIGURED', async () => {
  const reply = await lab.call('POST', IPS, {
    zone_id,
    network_id,
    create_dns: true,
    hostname: 'www',
    dns_zone: 'acme.example',
  })
  assert.deepEqual([reply.status, reply.body.data?.dns_created], [200, false], reply.text)
  assert.match(reply.body.message, /not configured/)
  const { id } = reply.body.data
  const read = await lab.call('GET', `${IPS}/${id}?include_dns=true`)
  assert.deepEqual([read.body.data.dns_created, read.body.data.dns_name], [null, null])
  assert.match(read.body.message, /not configured/)
  const change = await lab.call('PUT', `${IPS}/${id}/dns`, {
    action: 'create',
    hostname: 'www',
    dns_zone: 'acme.example',
  })
  assert.deepEqual([change.status, change.body.code, change.body.success], [500, 'DNS_NOT_CONFIGURED', false])
  for (const body of [
    { action: 'create' },
    { action: 'create', hostname: 'x', record_id: 'y' },
    { action: 'delete', public_ip_id: NOBODY },
    { action: 'drop' },
  ]) {
    const refused = await lab.call('PUT', `${IPS}/${id}/dns`, body)
    assert.deepEqual([refused.status, refused.body.code], [400, 'INVALID_REQUEST'], refused.text)
  }
})

test('an address that the platform does not answer for is 500 in the envelope', async () => {
  await control(lab, 'fail', { command: 'listPublicIpAddresses', times: 1, code: 530, text: 'planted' })
  const reply = await lab.call('GET', `${IPS}/${seededId('address', '203.0.113.20')}`)
  assert.deepEqual([reply.status, reply.body.code, reply.body.success], [500, 'COMPUTE_ERROR', false])
})
