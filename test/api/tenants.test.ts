// Tenants over HTTP: real handlers, real jobs, the lab's platform.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { seededId, wellKnown, ZONE_NAME } from '../../lab/site.ts'
import { assertNoUnknownParameters, control, NOBODY } from '../support/platform-calls.ts'
import { impatiently, type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
let ticking: NodeJS.Timeout

before(async () => {
  lab = await startLab({ time: 'step', config: { compute: { tenants_poll_ms: 200 } } })
  ticking = setInterval(() => lab.platform.step(), 20)
})
after(async () => {
  clearInterval(ticking)
  await lab?.close()
})
beforeEach(async () => {
  lab.platform.reset()
  await known('acme')
})
afterEach(() => assertNoUnknownParameters(lab))

const ACME = wellKnown.domains.acme
const GLOBEX = wellKnown.domains.globex
const PUBLIC = publicRange()
const NEW_RANGE = {
  zone_id: wellKnown.zone, start_ip: '198.51.100.16', end_ip: '198.51.100.31', gateway: '198.51.100.1', netmask: '255.255.255.0',
} // biome-ignore format: one record
let number = 0
const fresh = (): string => `tenant-${process.pid}-${(number += 1)}`

function publicRange() {
  return { id: wellKnown.public_range, zone_id: seededId('zone', ZONE_NAME) }
}

interface TenantLike {
  id: string
  name: string
  flag: string | null
  source: string
  is_active: boolean
  path: string
}

async function tenantNamed(name: string): Promise<TenantLike | undefined> {
  const { body } = await lab.call('GET', `/admin/tenants?name=${encodeURIComponent(name)}`)
  return body.tenants.find((one: TenantLike) => one.flag !== 'REMOVED_ELSEWHERE')
}

/** The reconciler has seen the platform as it now is. */
function known(name: string): Promise<TenantLike> {
  return until(`tenant ${name} is known`, async () => {
    const found = await tenantNamed(name)
    return found?.flag === null ? found : undefined
  })
}

const tables = () => lab.platform.state.tables

/** Without the moment at which the reconciler saw it last: it sees it again between any two requests. */
const unseen = ({ last_seen_at: _last_seen_at, ...rest }: Record<string, unknown>) => rest

async function calls(command: string): Promise<Record<string, string>[]> {
  const answer = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string; params: Record<string, string> }[]
  }
  return answer.calls.filter((one) => one.command === command).map((one) => one.params)
}

function seededRange(): Record<string, string> {
  const range = tables().vlans.get(PUBLIC.id)
  assert.ok(range !== null)
  return {
    zone_id: range.zoneid,
    start_ip: range.startip,
    end_ip: range.endip,
    gateway: range.gateway,
    netmask: range.netmask,
  }
}

function freeSeededRange(): void {
  for (const address of tables().addresses.filter((one) => one.vlanid === PUBLIC.id && one.state !== 'Free'))
    tables().addresses.put({ ...address, state: 'Free' })
}

test('a tenant is created with its domain, its admin and a range of its own, and no password leaves the service', async () => {
  const name = fresh()
  const reply = await lab.call('POST', '/admin/tenants', {
    name, network_domain: 'initech.example', description: 'Paper', ...NEW_RANGE,
  }) // biome-ignore format: one record
  assert.equal(reply.status, 200, reply.text)
  const domain = tables().domains.get(reply.body.id)
  assert.deepEqual([domain?.name, domain?.level, domain?.networkdomain], [name, 1, 'initech.example'])
  const [account] = tables().accounts.filter((one) => one.domainid === reply.body.id)
  assert.deepEqual([account?.name, account?.accounttype], [name, 2])
  const [range] = tables().vlans.filter((one) => one.domainid === reply.body.id)
  assert.deepEqual([range?.startip, range?.endip], ['198.51.100.16', '198.51.100.31'])
  assert.deepEqual(
    [reply.body.dedicated_vlan_id, reply.body.dedicated_ip_start, reply.body.flag, reply.body.source],
    [range?.id, '198.51.100.16', null, 'service'],
  )
  const [user] = tables().users.by('account', account?.id ?? '')
  const password = user?.password ?? ''
  assert.ok(password.length > 20)
  assert.ok(!lab.logs().includes(password))
  assert.ok(!reply.text.includes(password))
  const job = await lab.call('GET', `/jobs/${reply.headers.get('x-correlation-id')}`)
  assert.equal(job.body.job_status, 'completed')
  assert.ok(!job.text.includes(password))
  assert.deepEqual(unseen((await lab.call('GET', `/admin/tenants/${reply.body.id}`)).body), unseen(reply.body))
})

test('a range that exists is dedicated instead of made again', async () => {
  freeSeededRange()
  const before_count = tables().vlans.size
  const reply = await lab.call('POST', '/admin/tenants', { name: fresh(), ...seededRange() })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(tables().vlans.size, before_count)
  assert.equal(tables().vlans.get(PUBLIC.id)?.domainid, reply.body.id)
  assert.equal(reply.body.dedicated_vlan_id, PUBLIC.id)
})

test('a tenant takes the id of a domain of another region', async () => {
  const domain_uuid = '4b0d3f52-9c1e-4a76-8a53-d2c6f0b1e977'
  const reply = await lab.call('POST', '/admin/tenants', { name: fresh(), domain_uuid })
  assert.deepEqual([reply.status, reply.body.id], [200, domain_uuid], reply.text)
  const again = await lab.call('POST', '/admin/tenants', { name: fresh(), domain_uuid })
  assert.deepEqual([again.status, again.body.code], [409, 'TENANT_EXISTS'])
})

test('of two creates of one name at once one wins, the other is 409, and one domain stands', async () => {
  const name = fresh()
  const replies = await Promise.all(
    [name, name.toUpperCase()].map((one) => lab.call('POST', '/admin/tenants', { name: one })),
  )
  assert.deepEqual(
    replies.map((one) => one.status).toSorted((a, b) => a - b),
    [200, 409],
    replies.map((one) => one.text).join(),
  )
  assert.equal(replies.find((one) => one.status === 409)?.body.code, 'TENANT_EXISTS')
  assert.equal(tables().domains.filter((one) => one.name.toLowerCase() === name).length, 1)
})

test('the name of a domain that stands on the platform is 409 TENANT_EXISTS', async () => {
  const reply = await lab.call('POST', '/admin/tenants', { name: 'ACME' })
  assert.deepEqual([reply.status, reply.body.code], [409, 'TENANT_EXISTS'])
})

for (const [what, body, path] of [
  ['a name with a slash', { name: 'a/b' }, 'name'],
  ['an empty name', { name: '' }, 'name'],
  ['the name of the root', { name: 'Root' }, 'body.name'],
  ['a bad network domain', { name: 'x1', network_domain: '-bad-' }, 'network_domain'],
  ['a range without its gateway', { name: 'x2', ...NEW_RANGE, gateway: undefined }, 'body.gateway'],
  ['only a zone', { name: 'x3', zone_id: wellKnown.zone }, 'body.start_ip'],
  ['a range that ends before it starts', { name: 'x4', ...NEW_RANGE, end_ip: '198.51.100.2' }, 'body.end_ip'],
  ['a gateway of another network', { name: 'x5', ...NEW_RANGE, gateway: '192.0.2.1' }, 'body.gateway'],
  ['a netmask with a hole', { name: 'x6', ...NEW_RANGE, netmask: '255.0.255.0' }, 'body.netmask'],
  ['an unknown field', { name: 'x7', domainid: 'x' }, 'domainid'],
] as const) {
  test(`creating with ${what} is 400 and changes nothing`, async () => {
    const before_count = tables().domains.size
    const reply = await lab.call('POST', '/admin/tenants', body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'], reply.text)
    assert.match(JSON.stringify(reply.body.errors), new RegExp(path))
    assert.equal(tables().domains.size, before_count)
  })
}

test('creating in an unknown zone is 404 RESOURCE_NOT_FOUND', async () => {
  const reply = await lab.call('POST', '/admin/tenants', { name: fresh(), ...NEW_RANGE, zone_id: NOBODY })
  assert.deepEqual([reply.status, reply.body.code], [404, 'RESOURCE_NOT_FOUND'])
})

test('creating with a range of another tenant is 409 and leaves nothing', async () => {
  tables().vlans.put({ ...must(tables().vlans.get(PUBLIC.id)), domainid: GLOBEX })
  const name = fresh()
  const reply = await lab.call('POST', '/admin/tenants', { name, ...seededRange() })
  assert.deepEqual([reply.status, reply.body.code], [409, 'IP_RANGE_IN_USE'])
  assert.equal(await tenantNamed(name), undefined)
})

for (const [command, times] of [
  ['createDomain', 1],
  ['createAccount', 1],
  ['createVlanIpRange', 1],
] as const) {
  test(`when the platform refuses ${command} nothing stays, and the name is free again`, async () => {
    const name = fresh()
    const before_vlans = tables().vlans.size
    await control(lab, 'fail', { command, times, code: 431, text: 'planted rejection' })
    const reply = await lab.call('POST', '/admin/tenants', { name, ...NEW_RANGE })
    assert.deepEqual([reply.status, reply.body.code], [400, 'COMPUTE_REJECTED'], reply.text)
    assert.equal(tables().domains.filter((one) => one.name === name).length, 0)
    assert.equal(tables().accounts.filter((one) => one.name === name).length, 0)
    assert.equal(tables().vlans.size, before_vlans)
    assert.equal(await tenantNamed(name), undefined)
    const again = await lab.call('POST', '/admin/tenants', { name })
    assert.equal(again.status, 200, again.text)
  })
  test(`when the answer of ${command} is lost its work is found again and done once`, async () => {
    const name = fresh()
    await control(lab, 'lose-answer', { command, times: 1 })
    const reply = await lab.call('POST', '/admin/tenants', { name, ...NEW_RANGE })
    assert.equal(reply.status, 200, reply.text)
    assert.equal(tables().domains.filter((one) => one.name === name).length, 1)
    assert.equal(tables().accounts.filter((one) => one.name === name).length, 1)
    assert.equal(tables().vlans.filter((one) => one.domainid === reply.body.id).length, 1)
    assert.equal((await calls(command)).length, 1)
  })
}

test('a domain that cannot be removed again stays listed with a flag', async () => {
  const name = fresh()
  await control(lab, 'fail', { command: 'createAccount', times: 1, code: 431, text: 'planted rejection' })
  await control(lab, 'fail', { command: 'deleteDomain', times: 9, code: 530, text: 'planted failure' })
  const reply = await lab.call('POST', '/admin/tenants', { name })
  assert.equal(reply.status, 400, reply.text)
  const left = await tenantNamed(name)
  assert.equal(left?.flag, 'CREATE_FAILED')
  const refused = await lab.call('GET', `/admin/tenants/${left?.id}/limits`)
  assert.deepEqual([refused.status, refused.body.code], [409, 'TENANT_STATE'])
})

test('a domain made on the platform appears, a renamed one is followed, a removed one is flagged and frees its name', async () => {
  const name = fresh()
  const id = '5f1c7f38-2a0b-4e66-b1de-7a4e6c9d0b21'
  const acme = must(tables().domains.get(ACME))
  tables().domains.put({ ...acme, id, name, path: `ROOT/${name}` })
  const found = await known(name)
  assert.deepEqual([found.id, found.source], [id, 'platform'])
  tables().domains.put({ ...acme, id, name: `${name}-two`, path: `ROOT/${name}-two` })
  assert.equal((await known(`${name}-two`)).id, id)
  tables().domains.remove(id)
  await until(
    'the removal is seen',
    async () => (await lab.call('GET', `/admin/tenants/${id}`)).body.flag === 'REMOVED_ELSEWHERE',
  )
  const limits = await lab.call('GET', `/admin/tenants/${id}/limits`)
  assert.deepEqual([limits.status, limits.body.code], [409, 'TENANT_STATE'])
  const again = await lab.call('POST', '/admin/tenants', { name: `${name}-two` })
  assert.equal(again.status, 200, again.text)
  assert.notEqual(again.body.id, id)
})

test('the list pages and filters', async () => {
  const all = await lab.call('GET', '/admin/tenants?flag=NONE&page_size=500')
  assert.equal(all.body.count, all.body.tenants.length)
  const second = await lab.call('GET', '/admin/tenants?flag=NONE&page=2&page_size=1')
  assert.deepEqual(second.body.tenants.map(unseen), [unseen(all.body.tenants[1])])
  const some = await lab.call('GET', '/admin/tenants?keyword=LOB&flag=NONE')
  assert.deepEqual(
    some.body.tenants.map((one: TenantLike) => one.id),
    [GLOBEX],
  )
  assert.equal((await lab.call('GET', '/admin/tenants?page_size=501')).status, 400)
})

test('an unknown tenant is 404 TENANT_NOT_FOUND on every route that names one', async () => {
  for (const [method, path, body] of [
    ['GET', `/admin/tenants/${NOBODY}`, undefined],
    ['GET', `/admin/tenants/${NOBODY}/limits`, undefined],
    ['PUT', `/admin/tenants/${NOBODY}/limits`, { cpus: 1 }],
    ['GET', `/admin/tenants/${NOBODY}/network`, undefined],
    ['POST', `/admin/tenants/${NOBODY}/network`, NEW_RANGE],
    ['PUT', `/admin/tenants/${NOBODY}/status`, { is_active: false }],
    ['POST', `/tenants/${NOBODY}/account-mode`, { account_mode: 'flat' }],
    ['POST', `/tenants/${NOBODY}/auth-source`, { auth_source: 'local' }],
  ] as const) {
    const reply = await lab.call(method, path, body)
    assert.deepEqual([reply.status, reply.body.code], [404, 'TENANT_NOT_FOUND'], `${method} ${path}`)
  }
})

test('limits are read in our units, changed fields alone are sent, and the answer is what the platform holds', async () => {
  const before_put = await lab.call('GET', `/admin/tenants/${ACME}/limits`)
  assert.equal(before_put.status, 200, before_put.text)
  assert.deepEqual(
    [before_put.body.instances, before_put.body.memory, before_put.body.primary_storage],
    [60, 819_200, 20_000],
  )
  const reply = await lab.call('PUT', `/admin/tenants/${ACME}/limits`, {
    cpus: 12,
    instances: 60,
    memory: 4096,
    vpcs: -1,
  })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(reply.body, { ...before_put.body, cpus: 12, memory: 4096, vpcs: -1 })
  const sent = (await calls('updateResourceLimit')).map((one) => `${one.resourcetype}=${one.max}`).sort()
  assert.deepEqual(sent, ['8=12', '9=4096', '7=-1'].filter((one) => one !== `7=${before_put.body.vpcs}`).sort())
  assert.equal(tables().limits.get(`${ACME}/8`)?.max, 12)
})

test('limits out of range are 400, and when one is refused the answer says which were set', async () => {
  assert.equal((await lab.call('PUT', `/admin/tenants/${ACME}/limits`, { cpus: -2 })).status, 400)
  await lab.call('PUT', `/admin/tenants/${ACME}/limits`, { cpus: 11 })
  await control(lab, 'fail', { command: 'updateResourceLimit', times: 0, code: 431, text: 'x' })
  // The first call passes, the second is refused.
  const reply = await refusedSecond()
  assert.equal(reply.status, 400, reply.text)
  assert.match(reply.body.detail, /Set before it: cpus = 21/)
  assert.match(reply.body.detail, /Not tried: networks = 3/)
  assert.equal(tables().limits.get(`${ACME}/8`)?.max, 21)
})

/** The platform refuses the memory alone: a parent's limit does that. */
async function refusedSecond() {
  const acme = must(tables().domains.get(ACME))
  tables().domains.put({
    ...acme,
    id: NOBODY.replace('4000', '4001'),
    name: 'parent',
    path: 'ROOT/parent',
    parentid: acme.parentid,
  })
  tables().domains.put({ ...acme, parentid: NOBODY.replace('4000', '4001') })
  tables().limits.put({
    id: `${NOBODY.replace('4000', '4001')}/9`,
    owner: 'domain',
    ownerid: NOBODY.replace('4000', '4001'),
    resourcetype: 9,
    max: 100,
  })
  for (const type of [8, 6])
    tables().limits.put({
      id: `${NOBODY.replace('4000', '4001')}/${type}`,
      owner: 'domain',
      ownerid: NOBODY.replace('4000', '4001'),
      resourcetype: type,
      max: -1,
    })
  return lab.call('PUT', `/admin/tenants/${ACME}/limits`, { cpus: 21, memory: 5000, networks: 3 })
}

test('a lost answer to a limit is read back, and the change succeeds', async () => {
  await control(lab, 'lose-answer', { command: 'updateResourceLimit', times: 1 })
  const reply = await lab.call('PUT', `/admin/tenants/${ACME}/limits`, { cpus: 17 })
  assert.deepEqual([reply.status, reply.body.cpus], [200, 17], reply.text)
})

test('a tenant without a range is 404; a range is dedicated once, shown, and noticed when it is released elsewhere', async () => {
  freeSeededRange()
  const none = await lab.call('GET', `/admin/tenants/${GLOBEX}/network`)
  assert.deepEqual([none.status, none.body.code], [404, 'TENANT_NETWORK_NOT_FOUND'])
  const reply = await lab.call('POST', `/admin/tenants/${GLOBEX}/network`, seededRange())
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(
    [reply.body.vlan_range_id, reply.body.status, reply.body.tenant_name],
    [PUBLIC.id, 'DEDICATED', 'globex'],
  )
  assert.equal(tables().vlans.get(PUBLIC.id)?.domainid, GLOBEX)
  assert.deepEqual((await lab.call('GET', `/admin/tenants/${GLOBEX}/network`)).body, reply.body)
  const again = await lab.call('POST', `/admin/tenants/${GLOBEX}/network`, seededRange())
  assert.deepEqual(again.body, reply.body)
  assert.equal((await calls('dedicatePublicIpRange')).length, 1)
  const other = await lab.call('POST', `/admin/tenants/${ACME}/network`, seededRange())
  assert.deepEqual([other.status, other.body.code], [409, 'IP_RANGE_IN_USE'])
  tables().vlans.put({ ...must(tables().vlans.get(PUBLIC.id)), domainid: null })
  assert.equal((await lab.call('GET', `/admin/tenants/${GLOBEX}/network`)).body.status, 'RELEASED_ELSEWHERE')
  const back = await lab.call('POST', `/admin/tenants/${GLOBEX}/network`, seededRange())
  assert.deepEqual([back.status, back.body.status], [200, 'DEDICATED'], back.text)
})

test('dedicating a range that is unknown, in use, or a second one is refused by code', async () => {
  const unknown = await lab.call('POST', `/admin/tenants/${ACME}/network`, NEW_RANGE)
  assert.deepEqual([unknown.status, unknown.body.code], [400, 'IP_RANGE_NOT_FOUND'])
  for (const [set, sentence] of [
    [{ end_ip: '198.51.100.15' }, /end_ip: 198\.51\.100\.15 is below start_ip 198\.51\.100\.16/],
    [{ end_ip: '198.51.101.3' }, /end_ip: 198\.51\.101\.3 is outside the network of start_ip/],
    [{ netmask: '255.0.255.0' }, /netmask: 255\.0\.255\.0 is no netmask/],
    [{ gateway: '203.0.113.1' }, /gateway: 203\.0\.113\.1 is outside the network of start_ip/],
    [{ gateway: '198.51.100.20' }, /gateway: 198\.51\.100\.20 stands inside the range 198\.51\.100\.16 to/],
  ] as const) {
    const refused = await lab.call('POST', `/admin/tenants/${ACME}/network`, { ...NEW_RANGE, ...set })
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.body.detail, sentence)
  }
  const nowhere = await lab.call('POST', `/admin/tenants/${ACME}/network`, { ...NEW_RANGE, zone_id: NOBODY })
  assert.deepEqual([nowhere.status, nowhere.body.detail], [404, `Zone ${NOBODY} not found.`])
  const range = must(tables().vlans.get(PUBLIC.id))
  tables().vlans.put({ ...range, forsystemvms: true })
  const of_platform = await lab.call('POST', `/admin/tenants/${GLOBEX}/network`, seededRange())
  assert.deepEqual([of_platform.status, of_platform.body.code], [409, 'IP_RANGE_IN_USE'], of_platform.text)
  assert.match(of_platform.body.detail, /for the machines of the platform itself/)
  tables().vlans.put(range)
  const created = await lab.call('POST', '/admin/tenants', { name: fresh(), ...NEW_RANGE })
  assert.equal(created.status, 200, created.text)
  const [address] = tables().addresses.filter((one) => one.vlanid === PUBLIC.id && one.state === 'Free')
  tables().addresses.put({ ...must(address ?? null), state: 'Allocated', accountid: wellKnown.accounts.acme })
  const used = await lab.call('POST', `/admin/tenants/${GLOBEX}/network`, seededRange())
  assert.deepEqual([used.status, used.body.code], [409, 'IP_RANGE_IN_USE'], used.text)
  const second = await lab.call('POST', `/admin/tenants/${created.body.id}/network`, seededRange())
  assert.deepEqual([second.status, second.body.code], [409, 'TENANT_NETWORK_EXISTS'], second.text)
})

test('counts follow what is set: a range, limits and a chosen authentication source make a tenant fully onboarded', async () => {
  const before_all = (await lab.call('GET', '/admin/tenants/stats')).body
  assert.equal(before_all.total, before_all.active + before_all.inactive)
  assert.equal(before_all.total, before_all.fully_onboarded + before_all.partially_onboarded)
  const { body: made } = await lab.call('POST', '/admin/tenants', { name: fresh(), ...NEW_RANGE })
  assert.equal((await lab.call('GET', '/admin/tenants/stats')).body.fully_onboarded, before_all.fully_onboarded)
  await lab.call('PUT', `/admin/tenants/${made.id}/limits`, { cpus: 5 })
  await lab.call('POST', `/tenants/${made.id}/auth-source`, { auth_source: 'local' })
  const full = (await lab.call('GET', '/admin/tenants/stats')).body
  assert.deepEqual([full.fully_onboarded, full.billable], [before_all.fully_onboarded + 1, before_all.billable + 1])
  assert.equal((await lab.call('GET', `/admin/tenants/${made.id}`)).body.onboarding, 'full')
  await lab.call('PUT', `/admin/tenants/${made.id}/status`, { is_active: false })
  assert.equal((await lab.call('GET', '/admin/tenants/stats')).body.billable, before_all.billable)
  assert.deepEqual((await lab.call('GET', '/admin/tenants/is-multi-tenant')).body, true)
})

test('a platform that does not answer is 500, and nothing is claimed', async () => {
  const name = fresh()
  await control(lab, 'silent', { command: 'listDomains', times: 50 })
  const reply = await impatiently(lab.config.compute, () => lab.call('POST', '/admin/tenants', { name }))
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_TIMEOUT'], reply.text)
  assert.equal(await tenantNamed(name), undefined)
})

function must<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined)
  return value
}
