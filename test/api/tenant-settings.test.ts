// What is set of a tenant over HTTP: its status, its account mode, where its users sign in.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, control, NOBODY } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
let ticking: NodeJS.Timeout

before(async () => {
  lab = await startLab({ time: 'step', addresses: true, config: { compute: { tenants_poll_ms: 200 } } })
  ticking = setInterval(() => lab.platform.step(), 20)
})
after(async () => {
  clearInterval(ticking)
  await lab?.close()
})
beforeEach(async () => {
  lab.platform.reset()
  await until('acme is known and active', async () => {
    const { body } = await lab.call('GET', `/admin/tenants/${ACME}`)
    return body.flag === null && body.is_active === true
  })
})
afterEach(() => assertNoUnknownParameters(lab))

const ACME = wellKnown.domains.acme
const tables = () => lab.platform.state.tables

function must<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined)
  return value
}

test('deactivating locks the accounts and leaves machines running; activating restores', async () => {
  const running = () =>
    tables()
      .vms.by('account', wellKnown.accounts.acme)
      .filter((vm) => vm.state === 'Running').length
  const ran = running()
  assert.ok(ran > 0)
  const off = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: false })
  assert.equal(off.status, 200, off.text)
  assert.deepEqual([off.body.is_active, off.body.tenant_id], [false, ACME])
  assert.match(off.body.message, /locked/)
  assert.equal(tables().accounts.get(wellKnown.accounts.acme)?.state, 'locked')
  assert.equal(running(), ran)
  const on = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: true })
  assert.equal(on.status, 200, on.text)
  assert.equal(tables().accounts.get(wellKnown.accounts.acme)?.state, 'enabled')
})

test('an account that the platform only pretends to enable is named, and the tenant stays deactivated', async () => {
  await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: false })
  await control(lab, 'pretend', { command: 'enableAccount', times: 1 })
  const on = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: true })
  assert.deepEqual([on.status, on.body.code], [500, 'CHANGE_NOT_SEEN'], on.text)
  assert.equal(on.body.detail, 'The compute platform shows the account acme as locked still.')
  assert.equal((await lab.call('GET', `/admin/tenants/${ACME}`)).body.is_active, false)
  const again = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: true })
  assert.equal(again.status, 200, again.text)
})

test('with stop_instances the machines stop, and activating names them and starts none', async () => {
  const ran = tables()
    .vms.by('account', wellKnown.accounts.acme)
    .filter((vm) => vm.state === 'Running' && vm.projectid === null)
    .map((vm) => vm.id)
  const off = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: false, stop_instances: true })
  assert.equal(off.status, 200, off.text)
  assert.equal(tables().accounts.get(wellKnown.accounts.acme)?.state, 'disabled')
  assert.deepEqual(off.body.stopped_virtual_machine_ids.toSorted(), ran.toSorted())
  assert.ok(ran.every((id) => tables().vms.get(id)?.state === 'Stopped'))
  const on = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: true })
  assert.equal(on.status, 200, on.text)
  assert.deepEqual(on.body.stopped_virtual_machine_ids.toSorted(), ran.toSorted())
  assert.ok(ran.every((id) => tables().vms.get(id)?.state === 'Stopped'))
})

test('an account that was disabled before stays so; a status change that the platform refuses is reported', async () => {
  const extra = must(tables().accounts.get(wellKnown.accounts.acme))
  tables().accounts.put({ ...extra, id: NOBODY.replace('4000', '4002'), name: 'left', state: 'disabled' })
  await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: false })
  await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: true })
  assert.equal(tables().accounts.get(NOBODY.replace('4000', '4002'))?.state, 'disabled')
  await control(lab, 'fail', { command: 'disableAccount', times: 1, code: 431, text: 'planted rejection' })
  const reply = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: false })
  assert.deepEqual([reply.status, reply.body.code], [400, 'COMPUTE_REJECTED'], reply.text)
  assert.match(reply.body.detail, /account acme could not be changed/)
  const odd = await lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: true, stop_instances: true })
  assert.equal(odd.status, 400)
})

test('the account mode is kept', async () => {
  const reply = await lab.call('POST', `/tenants/${ACME}/account-mode`, { account_mode: 'departmental' })
  assert.deepEqual([reply.status, reply.body.account_mode], [200, 'departmental'], reply.text)
  assert.equal((await lab.call('GET', `/admin/tenants/${ACME}`)).body.account_mode, 'departmental')
  assert.equal((await lab.call('POST', `/tenants/${ACME}/account-mode`, { account_mode: 'x' })).status, 400)
})

const LDAP = {
  hostname: 'ldap.acme.example', port: 636, base_dn: 'dc=acme,dc=example', bind_dn: 'cn=reader', bind_password: 'planted-bind-secret-9',
  group: 'cn=cloud,dc=acme,dc=example',
} // biome-ignore format: one record

test('ldap is set up for the tenant alone, its password is encrypted, and local takes it down again', async () => {
  const reply = await lab.call('POST', `/tenants/${ACME}/auth-source`, { auth_source: 'ldap', ldap: LDAP })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.settings.has_bind_password, true)
  assert.equal(tables().ldaplinks.get(ACME)?.['ldapdomain'], LDAP.group)
  const directories = () => tables().ldap.filter((one) => one['domainid'] === ACME)
  assert.deepEqual(
    directories().map((one) => [one['hostname'], one['port']]),
    [[LDAP.hostname, LDAP.port]],
  )
  assert.ok(!reply.text.includes(LDAP.bind_password))
  assert.ok(!lab.logs().includes(LDAP.bind_password))
  const moved = await lab.call('POST', `/tenants/${ACME}/auth-source`, {
    auth_source: 'ldap',
    ldap: { ...LDAP, hostname: 'two.acme.example' },
  })
  assert.equal(moved.status, 200, moved.text)
  assert.deepEqual(
    directories().map((one) => one['hostname']),
    ['two.acme.example'],
  )
  const local = await lab.call('POST', `/tenants/${ACME}/auth-source`, { auth_source: 'local' })
  assert.deepEqual([local.status, directories().length], [200, 0], local.text)
})

test('when linking the directory is refused the server that was added is taken away again', async () => {
  await control(lab, 'fail', { command: 'linkDomainToLdap', times: 1, code: 530, text: 'planted' })
  const reply = await lab.call('POST', `/tenants/${ACME}/auth-source`, { auth_source: 'ldap', ldap: LDAP })
  assert.equal(reply.status, 500, reply.text)
  assert.equal(tables().ldap.filter((one) => one['domainid'] === ACME).length, 0)
})

test('saml needs the platform to have it, then switches users and back', async () => {
  const off = await lab.call('POST', `/tenants/${ACME}/auth-source`, { auth_source: 'saml' })
  assert.deepEqual([off.status, off.body.code], [500, 'IDENTITY_NOT_CONFIGURED'], off.text)
  const setting = must(tables().configurations.by('name', 'saml2.enabled')[0] ?? null)
  tables().configurations.put({ ...setting, value: 'true' })
  const on = await lab.call('POST', `/tenants/${ACME}/auth-source`, {
    auth_source: 'saml',
    saml: { identity_provider_id: 'https://idp.example' },
  })
  assert.equal(on.status, 200, on.text)
  const users = () =>
    tables()
      .users.by('account', wellKnown.accounts.acme)
      .map((one) => one.usersource)
  assert.deepEqual(users(), ['saml2'])
  await lab.call('POST', `/tenants/${ACME}/auth-source`, { auth_source: 'local' })
  assert.deepEqual(users(), ['native'])
})

test('local takes down what an interrupted change has left on the platform, although the tenant is recorded as local', async () => {
  assert.equal((await lab.call('POST', `/tenants/${ACME}/auth-source`, { auth_source: 'local' })).status, 200)
  const { ldap, users } = tables()
  ldap.put({ id: randomUUID(), hostname: LDAP.hostname, port: LDAP.port, domainid: ACME })
  const [user] = users.by('account', wellKnown.accounts.acme)
  users.put({ ...must(user), usersource: 'saml2' })
  const local = await lab.call('POST', `/tenants/${ACME}/auth-source`, { auth_source: 'local' })
  assert.equal(local.status, 200, local.text)
  assert.equal(ldap.filter((one) => one['domainid'] === ACME).length, 0)
  assert.equal(users.get(must(user).id)?.usersource, 'native')
})

for (const [what, body, code, status] of [
  ['ldap without settings', { auth_source: 'ldap' }, 'INVALID_REQUEST', 400],
  ['settings that do not belong', { auth_source: 'local', ldap: LDAP }, 'INVALID_REQUEST', 400],
  ['saml settings that do not belong', { auth_source: 'local', saml: { entity_id: 'x' } }, 'INVALID_REQUEST', 400],
  [
    'a URL as directory server',
    { auth_source: 'ldap', ldap: { ...LDAP, hostname: 'ldap://x/y' } },
    'INVALID_REQUEST',
    400,
  ],
  [
    'a reader without password',
    { auth_source: 'ldap', ldap: { ...LDAP, bind_password: undefined } },
    'INVALID_REQUEST',
    400,
  ],
  ['oidc without an issuer', { auth_source: 'oidc' }, 'IDENTITY_NOT_CONFIGURED', 500],
] as const) {
  test(`auth-source with ${what} is ${status} ${code}`, async () => {
    const reply = await lab.call('POST', `/tenants/${ACME}/auth-source`, body)
    assert.deepEqual([reply.status, reply.body.code], [status, code], reply.text)
  })
}

async function newTenant(): Promise<{ id: string; name: string }> {
  const { status, body, text } = await lab.call('POST', '/admin/tenants', { name: `ends-${randomUUID().slice(0, 8)}` })
  assert.equal(status, 200, text)
  return body
}

/** A machine with a disk, a network and an address, a user, a token and an SSH key. */
async function filled({ id, name }: { id: string; name: string }) {
  const { vms, volumes, networks, addresses, accounts, sshkeypairs } = tables()
  const owner = { accountid: must(accounts.find((one) => one.domainid === id)).id, projectid: null }
  const vm = must(vms.by('account', wellKnown.accounts.acme).find((one) => one.projectid === null))
  const vm_id = randomUUID()
  vms.put({ ...vm, id: vm_id, name: `${name}-web`, nics: [], ...owner })
  volumes.put({
    ...must([...volumes.values()][0]),
    id: randomUUID(),
    name: `${name}-disk`,
    virtualmachineid: null,
    ...owner,
  })
  const network = must(networks.get(wellKnown.networks['acme-net']))
  const network_id = randomUUID()
  networks.put({ ...network, id: network_id, name: `${name}-net`, ...owner })
  const address = must(addresses.find((one) => one.state === 'Free'))
  addresses.put({ ...address, state: 'Allocated', ...owner })
  sshkeypairs.put({ id: randomUUID(), name: `${name}-key`, publickey: 'ssh-ed25519 AAAA', fingerprint: '00', ...owner })
  const user = { username: `${name}-user`, password: 'planted-Password-77', role: 'operator', tenant_id: id }
  assert.equal((await lab.call('POST', '/auth/users', user)).status, 201)
  const token = await lab.call('POST', '/auth/tokens', { name: `${name}-token`, role: 'operator', tenant_id: id })
  return {
    token: String(token.body.token), address: address.ipaddress, address_id: address.id, network_id, vm_id, vm_name: `${name}-web`,
  } // biome-ignore format: one record
}

const remove = (id: string, query: string) =>
  lab.call('DELETE', `/admin/tenants/${id}?${query}`, undefined, { headers: { prefer: 'wait=100' } })

test('a dry run names everything in a tenant, and deletes nothing', async () => {
  const tenant = await newTenant()
  const { address } = await filled(tenant)
  const { status, body, text } = await remove(tenant.id, 'dry_run=true')
  assert.equal(status, 200, text)
  const one = (kind: string, name: string) => ({ kind, count: 1, names: [name] })
  assert.deepEqual(body.things, [
    one('virtual_machine', `${tenant.name}-web`),
    one('volume', `${tenant.name}-disk`),
    one('network', `${tenant.name}-net`),
    one('public_ip', address),
    one('ssh_key', `${tenant.name}-key`),
    one('account', tenant.name),
    one('account_user', `${tenant.name}-admin`),
    one('user', `${tenant.name}-user`),
    one('token', `${tenant.name}-token`),
  ])
  assert.match(body.message, new RegExp(`Would delete tenant ${tenant.name} with 1 virtual machine, 1 volume,`))
  assert.equal((await lab.call('GET', `/admin/tenants/${tenant.id}`)).body.flag, null)
  assert.ok(tables().domains.get(tenant.id) !== null)
})

test('a tenant is deleted with everything in it once its name is repeated; its users and tokens end with it', async () => {
  const tenant = await newTenant()
  const { token, vm_name } = await filled(tenant)
  assert.equal((await lab.call('GET', '/auth/me', undefined, { token })).status, 200)
  for (const query of ['', 'confirm=acme']) {
    const refused = await remove(tenant.id, query)
    assert.deepEqual([refused.status, refused.body.code], [400, 'INVALID_REQUEST'], refused.text)
    assert.match(refused.body.detail, new RegExp(`must be ${tenant.name}`))
  }
  const machine = must(tables().vms.find((one) => one.name === vm_name))
  tables().vms.put({ ...machine, deleteprotection: true })
  const guarded = await remove(tenant.id, `confirm=${tenant.name}`)
  assert.deepEqual([guarded.status, guarded.body.code], [409, 'TENANT_STATE'], guarded.text)
  assert.match(guarded.body.detail, new RegExp(`protected from being deleted: ${vm_name}`))
  tables().vms.put(machine)

  const reply = await remove(tenant.id, `confirm=${tenant.name}`)
  assert.deepEqual([reply.status, reply.body.status], [200, 'SUCCESS'], reply.text)
  const job = await lab.call('GET', `/jobs/${reply.body.job_id}`)
  assert.deepEqual(
    [job.body.job_status, job.body.status],
    ['completed', `Tenant ${tenant.name} and everything in it are deleted.`],
  )
  assert.deepEqual([tables().domains.get(tenant.id), tables().vms.find((one) => one.name === vm_name)], [null, null])
  const gone = await lab.call('GET', `/admin/tenants/${tenant.id}`)
  assert.deepEqual([gone.status, gone.body.code], [404, 'TENANT_NOT_FOUND'])
  assert.equal((await lab.call('GET', '/auth/me', undefined, { token })).status, 401)
  const users = await lab.call('GET', `/auth/users?username=${tenant.name}-user`)
  assert.deepEqual(users.body.users, [], users.text)
  const { body: audit } = await lab.call('GET', '/auth/audit?operation=tenantDelete&status=200')
  assert.equal(audit.records[0]?.operation, 'tenantDelete', JSON.stringify(audit))
  const again = await remove(tenant.id, `confirm=${tenant.name}`)
  assert.deepEqual([again.status, again.body.code], [404, 'TENANT_NOT_FOUND'])
})

test('a tenant with names, scopes or addresses on DNS, DHCP and IPAM servers is refused with the list until they are deleted', async () => {
  const tenant = await newTenant()
  const { address, address_id, network_id, vm_id } = await filled(tenant)
  const mac = '02:00:5e:00:53:17'
  const nic = must(tables().vms.find((one) => one.nics.length > 0)?.nics[0])
  tables().vms.put({ ...must(tables().vms.get(vm_id)), nics: [{ ...nic, id: randomUUID(), macaddress: mac }] })
  const zone = `${tenant.name}.example`
  const made = async (method: string, path: string, body: object) => {
    const reply = await lab.call(method, `/ddi/${path}`, body)
    assert.ok(reply.status < 300, `${path} ${reply.text}`)
    return reply.body
  }
  await made('POST', 'dns/zones', { name: zone, type: 'Primary', network_id })
  await made('PUT', `public-ips/${address_id}/dns`, { action: 'create', hostname: 'www', dns_zone: zone })
  const scope = {
    name: tenant.name, network_cidr: '10.77.0.0/24', start_address: '10.77.0.50', end_address: '10.77.0.99', gateway: '10.77.0.1',
    network_id,
  } // biome-ignore format: one record
  await made('POST', 'dhcp/scopes', scope)
  const reservation = { scope_name: tenant.name, mac, ip: '10.77.0.60', hostname: 'web' }
  await made('POST', 'dhcp/reservations', reservation)
  const { data: prefix } = await made('POST', 'ipam/prefixes', { cidr: '10.78.0.0/29' })
  const allocated = async (owner_kind: string, owner_id: string) =>
    (await made('POST', `ipam/prefixes/${prefix.id}/addresses`, { owner_kind, owner_id })).data
  const held = [
    await allocated('public-ip', address_id),
    await allocated('network', network_id),
    await allocated('tenant', tenant.id),
  ]
  const of_another = await allocated('tenant', ACME)

  const left = [
    ['dns_zone', zone],
    ['dns_name', `www.${zone} (${address})`],
    ['dhcp_scope', tenant.name],
    ['dhcp_reservation', `${mac} (10.77.0.60)`],
    ['ipam_address', ...held.map((one) => one.address)],
  ]
  const plan = await remove(tenant.id, 'dry_run=true')
  const listed = plan.body.things.filter(({ kind }: { kind: string }) => left.some(([one]) => one === kind))
  assert.deepEqual(
    listed.map((one: { kind: string; names: string[] }) => [one.kind, ...one.names]),
    left,
  )
  assert.match(plan.body.message, new RegExp(`Refused until these are deleted: DNS zone ${zone}; DNS name www`))
  const refused = await remove(tenant.id, `confirm=${tenant.name}`)
  assert.deepEqual([refused.status, refused.body.code], [409, 'TENANT_STATE'], refused.text)
  for (const name of left.flatMap(([, ...names]) => names)) assert.ok(refused.body.detail.includes(name), refused.text)

  const zone_plan = await made('DELETE', `dns/zones/${zone}?dry_run=true`, {})
  assert.equal(zone_plan.message, `Would delete zone ${zone} with 1 record.`)
  assert.deepEqual(zone_plan.affected, [{ kind: 'dns_record', id: null, name: `www.${zone} A ${address}` }])
  const scope_plan = await made('DELETE', `dhcp/scopes/${tenant.name}?dry_run=true&force=true`, {})
  assert.equal(scope_plan.message, `Would delete scope ${tenant.name} with 1 reservations and 0 active leases.`)
  assert.deepEqual(scope_plan.affected, [{ kind: 'dhcp_reservation', id: mac, name: `${mac} 10.77.0.60` }])
  const in_use = await lab.call('DELETE', `/ddi/dhcp/scopes/${tenant.name}?dry_run=true`)
  assert.equal(in_use.body.code, 'DHCP_SCOPE_IN_USE', in_use.text)
  await made('DELETE', `dns/zones/${zone}?confirm=${zone}`, {})
  await made('DELETE', `dhcp/scopes/${tenant.name}?force=true`, {})
  for (const { id } of held) await made('DELETE', `ipam/addresses/${id}`, {})
  const reply = await remove(tenant.id, `confirm=${tenant.name}`)
  assert.deepEqual([reply.status, reply.body.status], [200, 'SUCCESS'], reply.text)
  const still = await lab.call('GET', `/ddi/ipam/addresses?prefix_id=${prefix.id}`)
  assert.deepEqual(
    still.body.data.addresses.map((one: { address: string }) => one.address),
    [of_another.address],
  )
})

test('a tenant whose domain is gone from the platform is forgotten', async () => {
  const tenant = await newTenant()
  for (const user of tables().users.values())
    if (tables().accounts.get(user.accountid)?.domainid === tenant.id) tables().users.remove(user.id)
  for (const account of tables().accounts.filter((one) => one.domainid === tenant.id))
    tables().accounts.remove(account.id)
  tables().domains.remove(tenant.id)
  await until('it is marked', async () => {
    const { body } = await lab.call('GET', `/admin/tenants/${tenant.id}`)
    return body.flag === 'REMOVED_ELSEWHERE'
  })
  const plan = await remove(tenant.id, 'dry_run=true')
  assert.deepEqual(
    [plan.body.message, plan.body.things],
    [`Would delete tenant ${tenant.name} with nothing in it.`, []],
  )
  const reply = await remove(tenant.id, `confirm=${tenant.name}`)
  assert.equal(reply.body.status, 'SUCCESS', reply.text)
  assert.equal((await lab.call('GET', `/admin/tenants/${tenant.id}`)).status, 404)
})

test('the credentials of a tenant admin are reset: shown once, audited, with the old password and keys revoked', async () => {
  const tenant = await newTenant()
  const admin = () => must(tables().users.find((one) => one.username === `${tenant.name}-admin`))
  const reset = (id = tenant.id) => lab.call('POST', `/admin/tenants/${id}/admin-credentials`)
  const before_reset = admin().password
  const first = await reset()
  assert.deepEqual([first.status, first.body.username], [200, `${tenant.name}-admin`], first.text)
  assert.equal(first.body.message, `The old password of ${tenant.name}-admin no longer works.`)
  assert.equal(admin().password, first.body.password)
  assert.notEqual(first.body.password, before_reset)
  tables().users.put({ ...admin(), apikey: 'old-key', secretkey: 'old-secret' })
  const second = await reset()
  assert.match(second.body.message, /and its API keys no longer work/)
  assert.notEqual(admin().apikey, 'old-key')
  assert.notEqual(admin().secretkey, 'old-secret')
  const { text: audit } = await lab.call('GET', '/auth/audit?operation=tenantAdminCredentialsReset')
  assert.ok(audit.includes(tenant.id), audit)
  const { text: events } = await lab.call('POST', '/events/app-events', { resource_uuid: tenant.id })
  assert.match(events, /Credentials of .*-admin, the admin of tenant .*, are reset\./)
  for (const text of [audit, events, lab.logs(), (await lab.call('GET', `/admin/tenants/${tenant.id}`)).text])
    for (const secret of [first.body.password, second.body.password, admin().secretkey])
      assert.ok(!text.includes(secret))

  // One that was found on the platform: its only domain admin is known by that.
  const elsewhere = await reset(ACME)
  assert.deepEqual([elsewhere.status, elsewhere.body.username], [200, 'acme-admin'], elsewhere.text)
  const nobody = await reset(NOBODY)
  assert.deepEqual([nobody.status, nobody.body.code], [404, 'TENANT_NOT_FOUND'])
  await control(lab, 'fail', { command: 'updateUser', code: 530, text: 'x', times: 1 })
  const failed = await reset()
  assert.deepEqual([failed.status, failed.body.code], [500, 'COMPUTE_ERROR'], failed.text)
  tables().users.remove(admin().id)
  const none = await reset()
  assert.deepEqual([none.status, none.body.code], [409, 'TENANT_STATE'], none.text)
  assert.match(none.body.detail, /has no user .*-admin on the compute platform any more/)
})
