// Secrets stay secret: what is planted here is never found in clear in a table, a log line, an error, a stream or a job.
import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startCamera } from '../../lab/camera/server.ts'
import { type RedfishLab, startRedfish } from '../../lab/redfish/server.ts'
import { wellKnown } from '../../lab/site.ts'
import { secretValues } from '#src/kernel/config.ts'
import { seedNvr } from '../support/camera-lab.ts'
import { enrolmentToken, enrolNode, sendEnrolment } from '../support/fake-agent.ts'
import { type CallOptions, type Reply } from '../support/http.ts'
import { oidcClient, type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'
import { control } from '../support/platform-calls.ts'
import { secretFields } from '../support/secret-fields.ts'
import { openStream, type SseReader } from '../support/sse-client.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'planted-password-c41f7a'
const NEW_PASSWORD = 'planted-new-password-5be02d'
const WRONG_PASSWORD = 'planted-wrong-password-77aa'
const OTHER_PASSWORD = 'planted-other-password-19c4'
const USER_DATA = '#cloud-config planted-user-data-8d11c3'
const CLUSTER_SECRET = 'planted-cluster-secret-0b7e'
const HOOK_SECRET = 'planted-hook-secret-e91a'
/** What is not secret and must be found: the search itself works. */
const MARKER = 'marker-vm-01'

let lab: Lab
let provider: OidcProvider
let stream: SseReader | undefined
/** Fields of the contract that something was planted in. */
const planted = new Set<string>()
const answers: { path: string; status: number; text: string }[] = []
const secrets = new Map<string, string>()

before(async () => {
  provider = await startOidcProvider()
  lab = await startLab({
    config: {
      public_url: 'http://localhost',
      compute: { hook_secret: HOOK_SECRET },
      cam: { camera_networks: ['127.0.77.32/32'] },
      bmc: { allowed_networks: ['127.0.77.31'], timeout_ms: 3000 },
      auth: {
        cluster_secret: CLUSTER_SECRET,
        oidc: { issuer: provider.issuer, ...oidcClient, roles: { ops: 'operator' }, allow_http: true },
      },
    },
  })
  stream = await openStream(`${lab.url}/events/sse`, lab.token)
  secrets
    .set('admin token', lab.token)
    .set('wrong password', WRONG_PASSWORD)
    .set('cluster secret', CLUSTER_SECRET)
    .set('hook secret', HOOK_SECRET)
    .set('platform API key', lab.platform.api_key)
    .set('platform secret key', lab.platform.secret_key)
    .set('OIDC client secret', oidcClient.client_secret)
  assert.deepEqual(
    [...secretValues(lab.config)].filter((value) => ![...secrets.values()].includes(value)),
    [],
  )
})
after(async () => {
  stream?.close()
  await lab?.close()
  await provider?.close()
})

async function ask(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply> {
  const reply = await lab.call(method, path, body, options)
  answers.push({ path, status: reply.status, text: reply.text })
  return reply
}

function plant(name: string, value: unknown): string {
  assert.ok(typeof value === 'string' && value.length >= 12, `${name} is something to look for`)
  secrets.set(name, value)
  return value
}

/** The same for a field of the contract, which is then known to be tried. */
function plantAt(field: string, value: unknown): string {
  planted.add(field)
  return plant(field, value)
}

/** A text as it could stand in a table, a log or a body: as it is, escaped, and in the usual encodings. */
function forms(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ]
}

function found(text: string, except: readonly string[] = []): string[] {
  return [...secrets]
    .filter(([name, value]) => !except.includes(name) && forms(value).some((form) => text.includes(form)))
    .map(([name]) => name)
}

/** Every row of every table, whoever made it, as text. */
async function rows(): Promise<{ table: string; text: string }[]> {
  return onDatabase(lab.database.connection, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    )
    const all: { table: string; text: string }[] = []
    for (const { name } of tables) {
      const { rows: texts } = await client.query<{ text: string }>(`select t::text as text from ${name} t`)
      all.push(...texts.map(({ text }) => ({ table: name, text })))
    }
    return all
  })
}

test('callers come and go: tokens, passwords, sessions, tickets and the sign-in of the identity provider', async () => {
  const keyed = { headers: { 'idempotency-key': 'planted-token' } }
  const made = await ask('POST', '/auth/tokens', { name: 'planted', role: 'operator' }, keyed)
  const again = await ask('POST', '/auth/tokens', { name: 'planted', role: 'operator' }, keyed)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal(plantAt('tokenCreate answer.token', made.body.token), again.body.token)

  const user = await ask(
    'POST',
    '/auth/users',
    { username: 'mira', password: plantAt('userCreate body.password', PASSWORD), role: 'admin' },
    { headers: { 'idempotency-key': 'planted-user' } },
  )
  assert.equal(user.status, 201, user.text)
  await ask('POST', '/auth/login', { username: 'mira', password: WRONG_PASSWORD }, { token: null })
  await ask('POST', '/auth/login', { username: 'mira', password: PASSWORD, otp: PASSWORD }, { token: null })
  const password = plantAt('authLogin body.password', PASSWORD)
  const login = await ask('POST', '/auth/login', { username: 'mira', password }, { token: null })
  assert.equal(login.status, 200, login.text)
  const [cookie = ''] = (login.headers.get('set-cookie') ?? '').split(';')
  plant('session cookie', cookie.slice(cookie.indexOf('=') + 1))
  const csrf = plantAt('authLogin answer.csrf_token', login.body.csrf_token)
  const session = { token: null, headers: { cookie, 'x-csrf-token': csrf } }
  const by_token = await ask('POST', '/auth/sessions', { token: made.body.token }, { token: null })
  assert.equal(by_token.status, 201, by_token.text)
  planted.add('sessionCreate body.token')
  plantAt('sessionCreate answer.csrf_token', by_token.body.csrf_token)
  const code = plantAt('sessionCreate body.code', 'gpl_planted-code')
  assert.equal((await ask('POST', '/auth/sessions', { code }, { token: null })).status, 401)
  const changed = await ask(
    'POST',
    '/auth/me/password',
    {
      current_password: plantAt('passwordChange body.current_password', PASSWORD),
      new_password: plantAt('passwordChange body.new_password', NEW_PASSWORD),
    },
    session,
  )
  assert.equal(changed.status, 200, changed.text)
  const me = await ask('GET', '/auth/me', undefined, session)
  assert.equal(plantAt('callerGet answer.csrf_token', me.body.csrf_token), csrf)
  const other = await ask('PUT', `/auth/users/${user.body.id}`, {
    password: plantAt('userUpdate body.password', OTHER_PASSWORD),
  })
  assert.equal(other.status, 200, other.text)
  const ticket = await ask('POST', '/auth/tickets', undefined, { token: made.body.token })
  assert.ok(ticket.status < 300, ticket.text)
  plantAt('ticketCreate answer.ticket', ticket.body.ticket)
  const with_ticket = await openStream(`${lab.url}/events/sse?ticket=${ticket.body.ticket}`, null)
  assert.equal(with_ticket.status, 200)
  with_ticket.close()
  const player = await ask('POST', '/auth/tickets', { path: '/cam/cameras' }, { token: made.body.token })
  const ticket_of_player = plantAt('cameraHlsGet query.ticket', player.body.ticket)
  const playlist = `/cam/cameras/front/recording/hls/master.m3u8?ticket=${ticket_of_player}`
  assert.notEqual((await ask('GET', playlist, undefined, { token: null })).status, 401)
  await signInByProvider()
})

async function signInByProvider(): Promise<void> {
  provider.person = { sub: 'p-7', id_token: { groups: ['ops'], preferred_username: 'nils' }, userinfo: {} }
  const start = await ask('GET', '/auth/oidc/start?return_to=/', undefined, { token: null })
  const location = new URL(start.headers.get('location') ?? '')
  plant('OIDC state', location.searchParams.get('state'))
  plant('OIDC nonce', location.searchParams.get('nonce'))
  const back = await fetch(location, { redirect: 'manual' })
  const callback = new URL(back.headers.get('location') ?? '')
  plant('OIDC code', callback.searchParams.get('code'))
  const cookies = start.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const signed = await ask('GET', `/auth/oidc/callback${callback.search}`, undefined, {
    token: null,
    headers: { cookie: cookies },
  })
  assert.ok(signed.status === 302 || signed.status === 303, signed.text)
  const token = plant('access token', await provider.accessToken({ sub: 'p-7', groups: ['ops'] }))
  assert.equal((await ask('GET', '/version', undefined, { token })).status, 200)
  plant('forged access token', await provider.forgedToken({ sub: 'p-7', groups: ['ops'] }))
  assert.equal(
    (await ask('GET', '/version', undefined, { token: secrets.get('forged access token') ?? '' })).status,
    401,
  )
}

test('machines come with user data and passwords, and the platform fails in every way', async () => {
  const order = {
    zone_id: wellKnown.zone,
    // One that has the platform set a password.
    template_id: wellKnown.templates['Windows Server 2022'],
    service_offering_id: wellKnown.service_offerings.small,
    network_ids: [wellKnown.networks['office-shared']],
    user_data: Buffer.from(plantAt('vmProvision body.user_data', USER_DATA)).toString('base64'),
  }
  const wait = { prefer: 'wait=60', 'idempotency-key': 'planted-vm' }
  const made = await ask('POST', '/compute/vms/provision', { ...order, name: MARKER }, { headers: wait })
  assert.equal(made.status, 200, made.text)
  plantAt('vmProvision answer.initial_password', made.body.initial_password)
  const again = await ask('POST', '/compute/vms/provision', { ...order, name: MARKER }, { headers: wait })
  assert.equal(again.text, made.text)
  await control(lab, 'fail', {
    command: 'deployVirtualMachine',
    code: 530,
    text: 'planted failure',
    at: 'job',
    times: 1,
  })
  await ask('POST', '/compute/vms/provision', { ...order, name: 'refused-01' }, { headers: { prefer: 'wait=60' } })
  const garbage = ['html200', 'cut', 'json'].map(async (kind) => {
    await control(lab, 'garbage', { command: 'deployVirtualMachine', kind, times: 1 })
    await ask(
      'POST',
      '/compute/vms/provision',
      { ...order, name: `garbage-${kind}` },
      { headers: { prefer: 'wait=1' } },
    )
  })
  await Promise.all(garbage)
  for (const body of [
    { ...order, name: 7 },
    { ...order, user_data: [USER_DATA] },
    { ...order, user_date: USER_DATA },
  ]) {
    assert.equal((await ask('POST', '/compute/vms/provision', body)).status, 400)
  }
  assert.equal((await ask('POST', '/auth/tokens', { name: 'x', role: 'nobody', password: PASSWORD })).status, 400)
  assert.equal((await ask('POST', '/auth/users', `{"password":"${PASSWORD}"`)).status, 400)
  for (const token of [`gp_${'p'.repeat(43)}`, 'planted-garbage-token']) {
    plant(`refused token ${token.length}`, token)
    assert.equal((await ask('GET', '/version', undefined, { token })).status, 401)
  }
  await until('all jobs have ended', async () => (await ask('GET', '/jobs?job_status=running')).body.count === 0)
})

test('an SSH key that is made and the credentials of a tenant admin are shown once, and user data never', async () => {
  const keyed = { headers: { 'idempotency-key': 'planted-key' } }
  const made = await ask('POST', '/compute/ssh-keys/create', { name: 'planted' }, keyed)
  assert.equal(made.status, 200, made.text)
  // Its lines: in JSON they are never together.
  const [, , , line] = String(made.body.private_key).split('\n')
  plantAt('sshKeyCreate answer.private_key', line)
  const { body: tenant } = await ask('POST', '/admin/tenants', { name: 'planted-reset' })
  const reset = await ask('POST', `/admin/tenants/${tenant.id}/admin-credentials`)
  assert.equal(reset.status, 200, reset.text)
  plantAt('tenantAdminCredentialsReset answer.password', reset.body.password)
  const text = plantAt('userDataCreate body.user_data', '#cloud-config planted-registered-data-2e61')
  const stored = { name: 'planted', user_data: Buffer.from(text).toString('base64') }
  assert.equal((await ask('POST', '/compute/user-data/create', stored)).status, 200)
  assert.equal((await ask('POST', '/compute/user-data/create', stored)).status, 400)
})

test('guests, external hosts, directories of tenants and agents bring secrets of their own', async () => {
  const list = await ask('POST', '/compute/vms/list', { page_size: 100 })
  const vms = list.body.virtual_machines as { id: string; name: string; state: string }[]
  const running = vms.find(({ name }) => name === MARKER)?.id ?? ''
  const stopped = vms.find(({ state }) => state === 'Stopped')?.id ?? ''
  const sent = (field: string, text: string) => Buffer.from(plantAt(field, text)).toString('base64')
  const reset = await ask('POST', '/compute/vms/userdata/reset', {
    virtual_machine_id: stopped,
    user_data: sent('vmUserDataReset body.user_data', '#cloud-config planted-reset-data-5521'),
  })
  assert.equal(reset.status, 200, reset.text)
  const update = await ask('POST', '/compute/vms/update', {
    virtual_machine_id: stopped,
    user_data: sent('vmUpdate body.user_data', '#cloud-config planted-update-data-90ad'),
  })
  assert.equal(update.status, 200, update.text)
  const console_answer = await ask('POST', '/compute/vms/create-console', {
    virtual_machine_id: running,
    token: plantAt('vmConsoleCreate body.token', 'planted-console-word-3c1e'),
  })
  assert.equal(console_answer.status, 200, console_answer.text)
  plantAt('vmConsoleCreate answer.websocket.token', console_answer.body.websocket.token)
  plant('console address', console_answer.body.url)

  const candidates = {
    zone_id: wellKnown.zone,
    host: '192.0.2.9',
    username: 'root',
    password: plantAt('importCandidateList body.password', 'planted-host-password-6fe0'),
  }
  await ask('POST', '/compute/vms/list-for-import', candidates)
  const misread = await ask('POST', '/compute/vms/list-for-import', { ...candidates, host: undefined, cluster_id: 'x' })
  assert.equal(misread.status, 400)

  const ldap = {
    hostname: 'ldap.acme.example',
    base_dn: 'dc=acme,dc=example',
    bind_dn: 'cn=reader',
    bind_password: plantAt('tenantAuthSourceSet body.ldap.bind_password', 'planted-bind-password-d2b8'),
    group: 'cn=cloud,dc=acme,dc=example',
  }
  const source = `/tenants/${wellKnown.domains.acme}/auth-source`
  const linked = await ask('POST', source, { auth_source: 'ldap', ldap }, { headers: { 'idempotency-key': 'ldap' } })
  assert.equal(linked.status, 200, linked.text)
  await control(lab, 'fail', { command: 'addLdapConfiguration', code: 530, text: 'planted failure', times: 1 })
  await ask('POST', source, { auth_source: 'ldap', ldap: { ...ldap, hostname: 'two.acme.example' } })

  await enrolNode(lab, '192.0.2.40')
  const [used, unused] = [await enrolmentToken(lab, '192.0.2.40'), await enrolmentToken(lab, '192.0.2.40')]
  plantAt('nodeEnrolmentTokenCreate answer.token', unused)
  const late = await sendEnrolment(lab, plantAt('nodeEnrol body.token', used))
  answers.push({ path: '/configure/nodes/enrol', status: late.reply.status, text: late.reply.text })
  assert.ok(late.reply.status >= 400, 'a token is void once there is a newer one')
  assert.equal((await sendEnrolment(lab, unused)).reply.status, 200)
})

test('BMCs: stored and given credentials, right and wrong, and the addresses of images', async () => {
  const password = 'planted-bmc-password-2c8e'
  const redfish: RedfishLab = await startRedfish({
    bmcs: [{ name: 'one', profile: 'idrac9-7', host: '127.0.77.31', password }],
  })
  const { one } = redfish.bmcs
  assert.ok(one !== undefined)
  const { host: bmc_ip, port, username } = one
  const stored = await ask('PUT', `/vendora-inventory/bmcs/${bmc_ip}`, {
    username,
    password: plantAt('bmcPut body.password', password),
    port,
  })
  assert.equal(stored.status, 200, stored.text)
  const calls: Record<string, [string, object]> = {
    bmcPowerGet: ['powerstate', {}],
    bmcBiosGet: ['bios', {}],
    bmcBiosPendingGet: ['bios/pending', {}],
    bmcBiosSet: ['bios/patch', { attributes: { BootMode: 'Legacy' } }],
    bmcInventoryCollect: ['collect', {}],
    bmcJobsList: ['jobs/list', {}],
    bmcJobsDelete: ['jobs/deleteall', {}],
    bmcPowerSet: ['poweraction', { reset_type: 'Nmi' }],
    bmcRestart: ['bios/restart', {}],
    bmcFirmwareUpdate: ['bios/update', { image_uri: 'http://10.0.0.5/bios.exe' }],
    bmcIsoMount: ['iso/mount', { control_node_ip: '127.0.0.1', iso_file: 'x.iso' }],
  }
  for (const [operation, [path, body]] of Object.entries(calls)) {
    const given = { bmc_ip, username, password: plantAt(`${operation} body.password`, password) }
    await ask('POST', `/vendora-inventory/${path}`, { ...body, ...given })
    await ask('POST', `/vendora-inventory/${path}`, { ...body, ...given, password: WRONG_PASSWORD })
  }
  const capability = plantAt('bootImageGet params.capability', 'planted-capability-91d0')
  assert.equal((await ask('GET', `/boot/${capability}/x.iso`, undefined, { token: null })).status, 401)
  await redfish.close()
})

test('cameras and their NVR: passwords in probes and orders, right and wrong, and in what admins are shown', async () => {
  const [ip, username, password] = ['127.0.77.32', 'viewer', 'planted-camera-password-4e1b']
  const camera = await startCamera({ address: ip, username, password })
  const probe = { ip, username, password: plantAt('cameraProbe body.password', password) }
  const { status, body, text } = await ask('POST', '/cam/cameras/probe', probe)
  assert.equal(status, 200, text)
  plantAt('cameraProbe answer.main_stream_url', body.main_stream_url)
  plantAt('cameraProbe answer.sub_stream_url', body.sub_stream_url)
  plantAt('cameraProbe answer.profiles[].uri', body.profiles[0].uri)
  // The camera's own name of a profile; only its field is called like a secret.
  planted.add('cameraProbe answer.profiles[].token')
  assert.equal((await ask('POST', '/cam/cameras/probe', { ...probe, password: WRONG_PASSWORD })).status, 401)
  await camera.close()
  const login = { camera_ip: ip, username, password }
  const nvr_password = 'planted-nvr-password-93ac'
  const size = { cores: 2, memory_mb: 2048, gpu_count: 0, vgpu_profile_id: '', recording_disk_gb: 10 }
  const orders: [string, string, object][] = [
    ['cameraCreate body.password', '/cam/cameras', { id: 'planted', ...login, password: plantAt('cameraCreate body.password', password) }],
    ['nvrInitialize body.password', '/cam/initialize', { ...login, ...size, network_id: 'nowhere', password: plantAt('nvrInitialize body.password', password) }],
    ['nvrPasswordRotate body.new_password', '/cam/current/admin-password', { new_password: plantAt('nvrPasswordRotate body.new_password', nvr_password) }],
    ['nvrPasswordVerify body.password', '/cam/current/admin-password/verify', { password: plantAt('nvrPasswordVerify body.password', nvr_password) }],
  ] // biome-ignore format: a table
  for (const [field, path, sent] of orders) assert.ok((await ask('POST', path, sent)).status >= 400, field)
  await seedNvr(lab, { url: 'https://127.0.77.33:1', ca: 'none', admin_password: nvr_password })
  const shown = await ask('GET', '/cam/current')
  assert.equal(plantAt('nvrGet answer.nvr_admin_password', shown.body.nvr_admin_password), nvr_password)
  assert.equal((await ask('GET', '/cam/stats')).status, 502)
})

test('machines that are installed or wiped: the password of the system, and the tokens of their images', async () => {
  const os_password = plantAt('kvmProvision body.os_password', 'planted-os-password-7d20')
  const disks = { pool_type: 'stripe', selected_disks: ['S1'], selected_nic_mac: '02:00:00:00:00:01', prefix_id: 1 }
  const order = { bmc_ip: '192.0.2.77', os_password, ...disks }
  assert.ok((await ask('POST', '/remotekvm-inventory/provision', order)).status >= 400)
  // One that is made is shown once, and looked for in test/api/kvm-provision.test.ts, where a machine is installed.
  planted.add('kvmProvision answer.os_password')
  const token = plantAt('nodePhoneHome body.token', `planted-phone-home-${'t'.repeat(24)}`)
  const call = { token, phase: 'live-booted', boot_id: 'b1', macs: ['02:00:00:00:00:01'] }
  const refused = await ask('POST', '/configure/nodes/phone-home', call, { token: null })
  assert.equal(refused.status, 401, refused.text)
  const report = { all_verified: 1, success: 1, disks: [{ name: 'sda', verified: true, wiped: true }], macs: call.macs }
  const wiped = await ask(
    'POST',
    '/configure/decommission/wipe-result',
    { ...report, token: plantAt('wipeResultReport body.token', 'planted-wipe-token-58be') },
    { token: null },
  )
  assert.equal(wiped.status, 200, wiped.text)
})

test('every field of the contract that carries a secret was tried', () => {
  assert.deepEqual(
    secretFields().filter((field) => !planted.has(field)),
    [],
  )
})

test('no table holds a secret in clear, the queue of jobs and the stored answers included', async () => {
  const all = await rows()
  const tables = new Set(all.map(({ table }) => table))
  for (const name of [
    'public.api_token',
    'public.idempotency',
    'public.job',
    'public.audit',
    'public.app_event',
    'public.stream_event',
  ]) {
    assert.ok(tables.has(name), `${name} has rows`)
  }
  assert.ok(
    all.some(({ text }) => text.includes(MARKER)),
    'the search finds what is not secret',
  )
  const leaks = all.flatMap(({ table, text }) => found(text).map((name) => `${name} in ${table}`))
  assert.deepEqual([...new Set(leaks)], [])
})

test('no line of log holds a secret, down to debug', () => {
  const logs = lab.logs()
  assert.match(logs, /"operation":"vmProvision"/)
  assert.deepEqual(found(logs), [])
})

test('no error tells a secret back to who sent it', () => {
  const errors = answers.filter(({ status }) => status >= 400)
  assert.ok(errors.length >= 8)
  const leaks = errors.flatMap(({ path, status, text }) => found(text).map((name) => `${name} in ${status} of ${path}`))
  assert.deepEqual(leaks, [])
})

test('events on the stream hold no secret', () => {
  const messages = stream?.messages ?? []
  const text = JSON.stringify(messages)
  assert.ok(messages.some(({ event }) => event === 'job') && messages.some(({ event }) => event === 'app-event'))
  assert.ok(text.includes(MARKER), 'the search finds what is not secret')
  assert.deepEqual(found(text), [])
})

test('lists and records of jobs, events, audit, tokens and users hold no secret', async () => {
  const { body } = await ask('GET', '/jobs?page_size=100')
  const reads: [string, string][] = [
    ['GET', '/jobs?page_size=100'], ['GET', '/auth/tokens'], ['GET', '/auth/users'], ['GET', '/auth/audit?page_size=500'],
    ['POST', '/events/app-events'], ['POST', '/events/list'], ['POST', '/compute/vms/list'], ['GET', '/metrics'], ['GET', '/readyz'],
    ['GET', '/auth/sessions'], ['GET', '/configure/nodes'], ['GET', '/admin/tenants'],
    ...body.jobs.map(({ id }: { id: string }): [string, string] => ['GET', `/jobs/${id}`]),
  ] // biome-ignore format: a list of reads
  assert.ok(reads.length > 10)
  for (const [method, path] of reads) {
    const reply = await lab.call(method, path)
    assert.equal(reply.status, 200, `${path}: ${reply.text}`)
    assert.deepEqual(found(reply.text), [], path)
  }
})

test('what must lie in a file lies in private ones: the key and the first token, and no other secret', () => {
  const files = readdirSync(lab.data_dir).filter((name) => !name.startsWith('cloudstack'))
  assert.ok(files.includes('keys') && files.includes('admin-token'))
  for (const name of ['keys', 'admin-token']) assert.equal(statSync(join(lab.data_dir, name)).mode & 0o777, 0o600, name)
})
