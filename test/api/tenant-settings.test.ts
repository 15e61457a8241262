// What is set of a tenant over HTTP: its status, its account mode, where its users sign in.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, control, NOBODY } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
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

for (const [what, body, code, status] of [
  ['ldap without settings', { auth_source: 'ldap' }, 'INVALID_REQUEST', 400],
  ['settings that do not belong', { auth_source: 'local', ldap: LDAP }, 'INVALID_REQUEST', 400],
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
