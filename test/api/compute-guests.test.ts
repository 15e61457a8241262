// Affinity groups, user data, console, firmware, and what stands beside machines, over HTTP.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { seededId, wellKnown } from '../../lab/site.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
const api = vmApi(() => lab)

const { vms } = wellKnown
const machine = (id: string) => {
  const vm = lab.platform.state.tables.vms.get(id)
  assert.ok(vm !== null)
  return vm
}
const STOPPED = vms['legacy-crm']
const WEB = vms['web-01']
const GROUP = seededId('affinitygroup', 'kafka-apart')

test('affinity groups are set as a whole and cleared', async () => {
  const id = vms['kafka-03']
  const path = '/compute/vms/update-affinity'
  const cleared = await api.done('POST', path, { virtual_machine_id: id, affinity_group_ids: [] })
  assert.deepEqual(cleared.body.affinity_groups, [], cleared.text)
  assert.deepEqual(machine(id).affinitygroupids, [])
  const set = await api.done('POST', path, { virtual_machine_id: id, affinity_group_ids: [GROUP] })
  assert.deepEqual(set.body.affinity_groups, [{ id: GROUP, name: 'kafka-apart' }], set.text)
  assert.deepEqual(machine(id).affinitygroupids, [GROUP])
})

test('an affinity group is made, listed with its machines, and deleted once it has none', async () => {
  const create = { name: 'web-apart', type: 'host anti-affinity', description: 'No two on one host' }
  const made = await api.done('POST', '/compute/affinity-groups/create', create)
  assert.equal(made.status, 200, made.text)
  assert.deepEqual([made.body.name, made.body.type, made.body.virtual_machine_ids], [create.name, create.type, []])
  api.refused(await api.post('/compute/affinity-groups/create', create), 'COMPUTE_CONFLICT', /web-apart already exists/)
  const list = async (body: object) => (await api.post('/compute/affinity-groups/list', body)).body.affinity_groups
  assert.deepEqual(await list({ id: made.body.id }), [made.body])
  const [kafka] = await list({ virtual_machine_id: vms['kafka-03'] })
  assert.deepEqual([kafka.id, kafka.virtual_machine_ids.includes(vms['kafka-03'])], [GROUP, true])
  const remove = (affinity_group_id: string) => api.post('/compute/affinity-groups/delete', { affinity_group_id })
  api.refused(await remove(GROUP), 'AFFINITY_GROUP_IN_USE', /kafka-apart has \d+ virtual machines/)
  api.refused(await remove(NOBODY), 'RESOURCE_NOT_FOUND')
  const body = { affinity_group_id: made.body.id }
  await api.planned('POST', '/compute/affinity-groups/delete', body, /Would delete affinity group web-apart/)
  assert.equal((await api.calls('deleteAffinityGroup')).length, 0)
  assert.equal((await api.ended(await remove(made.body.id))).job_status, 'completed')
  assert.equal(lab.platform.state.tables.affinitygroups.get(made.body.id), null)
})

test('an affinity group belongs to the tenant that is named, and to the own one of a tenant-scoped caller', async () => {
  const { acme, globex } = wellKnown.domains
  const create = (body: object, token?: string) =>
    api.done('POST', '/compute/affinity-groups/create', { name: 'apart', type: 'host affinity', ...body }, token)
  assert.equal((await create({ domain_id: globex })).body.tenant_id, globex)
  const token = await api.tokenOf(acme)
  assert.equal((await create({}, token)).body.tenant_id, acme)
  api.refused(await create({ account: 'acme' }), 'INVALID_REQUEST', /domain_id/)
  const refused = await create({ domain_id: globex }, token)
  assert.deepEqual([refused.status, refused.body.code], [403, 'TENANT_SCOPE'], refused.text)
})

test('an SSH key is made with its private key shown once, or imported; machines are made with it by name', async () => {
  const create = (body: object) => api.post('/compute/ssh-keys/create', body)
  const made = await create({ name: 'deploy' })
  assert.equal(made.status, 200, made.text)
  const { private_key, public_key, ...key } = made.body
  assert.match(private_key, /^-----BEGIN OPENSSH PRIVATE KEY-----\n/)
  assert.match(public_key, /^ssh-ed25519 \S+ deploy$/)
  const [sent] = await api.calls('registerSSHKeyPair')
  assert.equal(sent?.['publickey'], public_key)
  assert.ok(!JSON.stringify(sent).includes('PRIVATE'), 'the platform never has the private key')
  const list = async (body: object) => (await api.post('/compute/ssh-keys/list', body)).body.ssh_keys
  assert.deepEqual(await list({ id: key.id }), [key])

  const imported = await create({ name: 'laptop', public_key })
  assert.deepEqual([imported.body.private_key, imported.body.fingerprint], [null, key.fingerprint], imported.text)
  assert.deepEqual((await list({ fingerprint: key.fingerprint })).map(({ name }: { name: string }) => name).sort(), [
    'deploy',
    'laptop',
  ])
  api.refused(await create({ name: 'deploy' }), 'COMPUTE_CONFLICT', /SSH key named deploy already exists/)
  const pasted = await create({ name: 'wrong', public_key: private_key })
  api.refused(pasted, 'INVALID_REQUEST', /public_key/)
  assert.ok(!pasted.text.includes('PRIVATE'))

  const order = {
    zone_id: wellKnown.zone, template_id: wellKnown.templates['Debian 12'], service_offering_id: wellKnown.service_offerings.small,
    network_ids: [wellKnown.networks['office-shared']],
  } // biome-ignore format: one record
  const machine_of = await api.done('POST', '/compute/vms/provision', {
    ...order,
    name: 'keyed-01',
    key_pairs: ['deploy'],
  })
  assert.equal(machine_of.status, 200, machine_of.text)
  assert.deepEqual(machine(machine_of.body.id).keypairs, ['deploy'])

  const remove = (ssh_key_id: string) => api.post('/compute/ssh-keys/delete', { ssh_key_id })
  await api.planned('POST', '/compute/ssh-keys/delete', { ssh_key_id: key.id }, /Would delete SSH key deploy;/)
  assert.equal((await api.calls('deleteSSHKeyPair')).length, 0)
  const deleted = await remove(key.id)
  assert.deepEqual([deleted.status, deleted.body], [200, { message: 'Deleted SSH key deploy.' }])
  api.refused(await remove(key.id), 'RESOURCE_NOT_FOUND', new RegExp(`SSH key ${key.id} not found`))
  assert.deepEqual(
    (await list({})).map(({ name }: { name: string }) => name),
    ['laptop'],
  )
})

test('user data is stored under a name, used by machines, never shown, and deleted once none uses it', async () => {
  const text = Buffer.from('#cloud-config registered-9c2e\n').toString('base64')
  const create = (body: object, token?: string) =>
    api.post('/compute/user-data/create', { user_data: text, ...body }, token)
  const made = await create({ name: 'base' })
  assert.deepEqual([made.status, made.body.name], [200, 'base'], made.text)
  const list = async (body: object, token?: string) => api.post('/compute/user-data/list', body, token)
  const listed = await list({ keyword: 'bas' })
  assert.deepEqual(listed.body.user_data, [made.body])
  assert.ok(!(made.text + listed.text + lab.logs()).includes(text))
  api.refused(await create({ name: 'base' }), 'COMPUTE_CONFLICT', /named base/)
  api.refused(await create({ name: 'twin' }), 'COMPUTE_CONFLICT', /this content \(base\)/)
  api.refused(await create({ name: 'odd', user_data: '#!/bin/sh' }), 'INVALID_REQUEST', /user_data/)

  const user_data_id = made.body.id
  const reset = await api.post('/compute/vms/userdata/reset', { virtual_machine_id: STOPPED, user_data_id })
  assert.equal(reset.status, 200, reset.text)
  const remove = (token?: string) => api.post('/compute/user-data/delete', { user_data_id }, token)
  api.refused(await remove(), 'USER_DATA_IN_USE', /User data base is used by legacy-crm/)
  await api.put('vms', STOPPED, { userdataid: null })
  const token = await api.tokenOf(wellKnown.domains.acme)
  const others = await create({ name: 'others', domain_id: wellKnown.domains.globex })
  assert.equal(others.body.tenant_id, wellKnown.domains.globex, others.text)
  assert.deepEqual((await list({ id: others.body.id }, token)).body.user_data, [])
  api.refused(await remove(token), 'RESOURCE_NOT_FOUND')
  await api.planned('POST', '/compute/user-data/delete', { user_data_id }, /Would delete user data base/)
  assert.equal((await api.calls('deleteUserData')).length, 0)
  const deleted = await remove()
  assert.deepEqual([deleted.status, deleted.body], [200, { message: 'Deleted user data base.' }])
  api.refused(await remove(), 'RESOURCE_NOT_FOUND', new RegExp(`User data ${user_data_id} not found`))
})

test('an SSH key belongs to the tenant that is named, and to the own one of a tenant-scoped caller', async () => {
  const { acme, globex } = wellKnown.domains
  const create = (body: object, token?: string) => api.post('/compute/ssh-keys/create', { name: 'key', ...body }, token)
  assert.equal((await create({ domain_id: globex })).body.tenant_id, globex)
  const token = await api.tokenOf(acme)
  const own = await create({}, token)
  assert.equal(own.body.tenant_id, acme, own.text)
  api.refused(await create({ account: 'acme' }), 'INVALID_REQUEST', /domain_id/)
  assert.equal((await create({ domain_id: globex }, token)).body.code, 'TENANT_SCOPE')
  const deleted = await api.post('/compute/ssh-keys/delete', { ssh_key_id: own.body.id }, token)
  assert.equal(deleted.status, 200, deleted.text)
})

test('an account without its tenant, and beside a project, is refused by all that gets an owner', async () => {
  const user_data = Buffer.from('#cloud-config\n').toString('base64')
  const { acme } = wellKnown.domains
  for (const [path, body] of [
    ['/compute/ssh-keys/create', { name: 'whose' }],
    ['/compute/user-data/create', { name: 'whose', user_data }],
    ['/compute/affinity-groups/create', { name: 'whose', type: 'host affinity' }],
    [
      '/compute/vms/provision',
      {
        zone_id: wellKnown.zone,
        template_id: wellKnown.templates['Debian 12'],
        service_offering_id: wellKnown.service_offerings.small,
      },
    ],
    ['/ddi/public-ips', { zone_id: wellKnown.zone }],
  ] as const) {
    // biome-ignore format: one row each
    const create = (owner: object) => api.post(path, { ...body, ...owner })
    api.refused(await create({ account: 'acme' }), 'INVALID_REQUEST', /account: needs domain_id/)
    const both = { account: 'acme', domain_id: acme, project_id: NOBODY }
    api.refused(await create(both), 'INVALID_REQUEST', /project_id: excludes account/)
  }
})

test('affinity groups are refused for a running machine, and unknown ones', async () => {
  const update = (body: object, token?: string) => api.post('/compute/vms/update-affinity', body, token)
  api.refused(
    await update({ virtual_machine_id: WEB, affinity_group_ids: [] }),
    'VM_STATE',
    /Running; this needs Stopped/,
  )
  api.refused(await update({ virtual_machine_id: NOBODY, affinity_group_ids: [] }), 'VM_NOT_FOUND')
  api.refused(await update({ virtual_machine_id: STOPPED, affinity_group_ids: [NOBODY] }), 'RESOURCE_NOT_FOUND')
  const domain = lab.platform.state.tables.accounts.get(machine(STOPPED).accountid)?.domainid ?? ''
  const token = await api.tokenOf(domain)
  api.refused(
    await update({ virtual_machine_id: STOPPED, affinity_group_ids: [NOBODY] }, token),
    'RESOURCE_NOT_FOUND',
    /Affinity group .* not found/,
  )
})

test('user data is reset while the machine is stopped', async () => {
  const user_data = Buffer.from('#cloud-config\n').toString('base64')
  const reset = (body: object) => api.post('/compute/vms/userdata/reset', { virtual_machine_id: STOPPED, ...body })
  const reply = await reset({ user_data })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(machine(STOPPED).userdata, user_data)
  assert.ok(!lab.logs().includes(user_data))
  api.refused(await reset({}), 'INVALID_REQUEST', /exactly one/)
  api.refused(await reset({ user_data, user_data_id: NOBODY }), 'INVALID_REQUEST')
  api.refused(await reset({ user_data, user_data_details: { a: 'b' } }), 'INVALID_REQUEST', /user_data_id/)
  api.refused(await reset({ user_data: 'no base64!' }), 'INVALID_REQUEST')
  api.refused(await reset({ user_data, virtual_machine_id: WEB }), 'VM_STATE', /Running; this needs Stopped/)
  api.refused(await reset({ user_data, virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
  api.refused(await reset({ user_data_id: NOBODY }), 'RESOURCE_NOT_FOUND')
})

test('a console is opened for a running machine, once and with an event', async () => {
  const reply = await api.post('/compute/vms/create-console', { virtual_machine_id: WEB, token: 'my-word' })
  assert.equal(reply.status, 200, reply.text)
  assert.match(reply.body.url, /token=/)
  const { port } = lab.platform.state.console_address ?? {}
  assert.deepEqual([reply.body.websocket.port, reply.body.websocket.extra], [port, 'my-word'])
  const { body } = await lab.call('POST', '/events/app-events', { page_size: 20 })
  const events: { action: string; status: string }[] = body.app_events ?? body.events
  assert.ok(events.some((event) => event.action === 'vmConsoleCreate' && event.status === 'SUCCESS'))
  assert.ok(!lab.logs().includes(reply.body.websocket.token))
})

/** The status of the upgrade, and the first message where there is one. */
async function openScreen(id: string, token = lab.token): Promise<{ status: number; first: string; code: string }> {
  const socket = new WebSocket(`${lab.url.replace('http', 'ws')}/compute/vms/${id}/screen`, ['binary'], {
    headers: { authorization: `Bearer ${token}` },
  })
  const refused = once(socket, 'unexpected-response').then(async ([, given]) => {
    const answer = given as IncomingMessage
    const body = JSON.parse((await answer.toArray()).join('')) as { code: string }
    return { status: answer.statusCode ?? 0, first: '', code: body.code }
  })
  const opened = once(socket, 'message').then(([data]) => ({ status: 101, first: String(data as Buffer), code: '' }))
  opened.catch(() => {})
  socket.on('error', () => {})
  try {
    return await Promise.race([refused, opened])
  } finally {
    socket.terminate()
  }
}

test('the screen of a running machine is passed through with an event, and an error comes before the WebSocket', async () => {
  assert.deepEqual(await openScreen(WEB), { status: 101, first: 'RFB 003.008\n', code: '' })
  const { body } = await lab.call('POST', '/events/app-events', { page_size: 20 })
  const events: { action: string; status: string }[] = body.app_events ?? body.events
  assert.ok(events.some((event) => event.action === 'vmScreenOpen' && event.status === 'SUCCESS'))
  assert.deepEqual(await openScreen(STOPPED), { status: 400, first: '', code: 'VM_STATE' })
  assert.equal((await openScreen(NOBODY)).code, 'VM_NOT_FOUND')
  const { console_address } = lab.platform.state
  // Nobody listens on a port that was free a moment ago.
  lab.platform.state.console_address = { host: '127.0.0.1', port: await freeTcpPort() }
  try {
    assert.deepEqual(await openScreen(WEB), { status: 500, first: '', code: 'COMPUTE_UNAVAILABLE' })
  } finally {
    lab.platform.state.console_address = console_address
  }
})

test('a console that the platform refuses with status 200 is an error', async () => {
  const open = (id: string) => api.post('/compute/vms/create-console', { virtual_machine_id: id })
  api.refused(await open(STOPPED), 'VM_STATE', /Stopped; this needs Running/)
  api.refused(await open(NOBODY), 'VM_NOT_FOUND')
  const proxy = lab.platform.state.tables.systemvms.find((one) => one['systemvmtype'] === 'consoleproxy')
  await api.put('systemvms', proxy?.id ?? '', { state: 'Stopped' })
  const reply = await open(WEB)
  assert.deepEqual([reply.status, reply.body.code], [500, 'CONSOLE_UNAVAILABLE'], reply.text)
  assert.match(reply.body.detail, /few minutes/)
})

const tpm = (body: object, id = STOPPED) => api.post('/compute/vms/configure-tpm', { virtual_machine_id: id, ...body })

test('firmware and TPM are details that come and go, and the other details stay', async () => {
  await api.put('vms', STOPPED, { details: { keyboard: 'us', BIOS: 'LEGACY', leaseexpirydate: 'kept' } })
  const on = await tpm({ boot_type: 'UEFI', secure_boot: true, tpm_model: 'tpm-crb' })
  assert.equal(on.status, 200, on.text)
  assert.deepEqual(
    [on.body.boot_type, on.body.secure_boot, on.body.tpm_model, on.body.tpm_version],
    ['UEFI', true, 'tpm-crb', '2.0'],
  )
  const others = { keyboard: 'us', leaseexpirydate: 'kept' }
  assert.deepEqual(machine(STOPPED).details, {
    ...others,
    UEFI: 'SECURE',
    'virtual.tpm.model': 'tpm-crb',
    'virtual.tpm.version': '2.0',
  })
  await tpm({ boot_type: 'UEFI' })
  assert.equal(machine(STOPPED).details['UEFI'], 'LEGACY')
  await tpm({ tpm_model: 'tpm-tis', tpm_version: '1.2' })
  assert.equal(machine(STOPPED).details['virtual.tpm.version'], '1.2')
  const off = await tpm({ boot_type: 'BIOS', tpm_model: '' })
  assert.deepEqual([off.body.boot_type, off.body.tpm_model, off.body.tpm_version], ['BIOS', null, null], off.text)
  assert.deepEqual(machine(STOPPED).details, others)
})

test('removing the last detail empties the map', async () => {
  await tpm({ boot_type: 'UEFI' })
  assert.deepEqual(machine(STOPPED).details, { UEFI: 'LEGACY' })
  const reply = await tpm({ boot_type: 'BIOS' })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(machine(STOPPED).details, {})
})

test('firmware that cannot be is refused and nothing is written', async () => {
  const before = machine(STOPPED).details
  api.refused(await tpm({}), 'INVALID_REQUEST')
  api.refused(await tpm({ boot_type: 'BIOS', secure_boot: true }), 'INVALID_REQUEST', /UEFI/)
  api.refused(await tpm({ secure_boot: true }), 'INVALID_REQUEST', /BIOS/)
  api.refused(await tpm({ tpm_model: 'tpm-crb', tpm_version: '1.2' }), 'INVALID_REQUEST', /2.0/)
  api.refused(await tpm({ tpm_model: '', tpm_version: '2.0' }), 'INVALID_REQUEST')
  api.refused(await tpm({ tpm_version: '2.0' }), 'INVALID_REQUEST', /no TPM/)
  api.refused(await tpm({ tpm_model: 'tpm-9' }), 'INVALID_REQUEST')
  api.refused(await tpm({ boot_type: 'UEFI' }, WEB), 'VM_STATE', /Running; this needs Stopped/)
  api.refused(await tpm({ boot_type: 'UEFI' }, NOBODY), 'VM_NOT_FOUND')
  assert.deepEqual(machine(STOPPED).details, before)
  await tpm({ tpm_model: 'tpm-crb' })
  api.refused(await tpm({ tpm_version: '1.2' }), 'SETTING_INVALID', /2.0/)
})

test('routers and system machines are listed and filtered', async () => {
  const routers = await api.post('/compute/vms/routers', { state: 'Running' })
  assert.equal(routers.status, 200, routers.text)
  assert.ok(routers.body.count > 0)
  const [one] = routers.body.routers
  assert.ok(one.zone_id === wellKnown.zone && typeof one.guest_network_id === 'string')
  assert.equal(
    (await api.post('/compute/vms/routers', { host_id: wellKnown.hosts['kvm-06'], state: 'Stopped' })).body.count,
    0,
  )
  const all = await api.post('/compute/vms/systemvms')
  const proxies = await api.post('/compute/vms/systemvms', { type: 'consoleproxy' })
  assert.ok(proxies.body.count > 0 && proxies.body.count < all.body.count)
  assert.ok(proxies.body.system_vms.every((vm: { type: string }) => vm.type === 'consoleproxy'))
  const unknown = await api.post('/compute/vms/routers', { zone_id: NOBODY })
  api.refused(unknown, 'RESOURCE_NOT_FOUND', /Zone .* not found/)
  api.refused(await api.post('/compute/vms/systemvms', { type: 'toaster' }), 'INVALID_REQUEST')
})

test('machines that could be imported are listed from a cluster or from an external host', async () => {
  const path = '/compute/vms/list-for-import'
  const here = await api.post(path, { cluster_id: wellKnown.clusters['cluster-a'] })
  assert.equal(here.status, 200, here.text)
  assert.deepEqual(
    [here.body.count, here.body.import_candidates[0].name, here.body.import_candidates[0].disks.length],
    [1, 'old-monitor', 1],
  )
  const password = 'hunter2-secret'
  const there = await api.post(path, { zone_id: wellKnown.zone, host: '192.0.2.9', username: 'root', password })
  assert.equal(there.body.import_candidates[0].name, 'remote-app', there.text)
  assert.ok(!lab.logs().includes(password))
  const past = await api.post(path, { cluster_id: wellKnown.clusters['cluster-a'], page: 2 })
  assert.deepEqual([past.body.count, past.body.import_candidates], [1, []])
  api.refused(await api.post(path, {}), 'INVALID_REQUEST', /either/)
  api.refused(await api.post(path, { host: '192.0.2.9' }), 'INVALID_REQUEST', /zone_id/)
  api.refused(await api.post(path, { host: 'a b', zone_id: wellKnown.zone }), 'INVALID_REQUEST')
  api.refused(await api.post(path, { cluster_id: NOBODY }), 'RESOURCE_NOT_FOUND', /Cluster .* not found/)
})

test('a caller of one tenant sees no routers and opens no console of another', async () => {
  const domain = lab.platform.state.tables.accounts.get(machine(WEB).accountid)?.domainid
  const token = await api.tokenOf(domain === wellKnown.domains.acme ? wellKnown.domains.globex : wellKnown.domains.acme)
  const routers = await api.post('/compute/vms/routers', {}, token)
  assert.deepEqual([routers.status, routers.body.code], [403, 'TENANT_SCOPE'])
  api.refused(await api.post('/compute/vms/create-console', { virtual_machine_id: WEB }, token), 'VM_NOT_FOUND')
  assert.equal((await openScreen(WEB, token)).code, 'VM_NOT_FOUND')
  api.refused(
    await api.post('/compute/vms/configure-tpm', { virtual_machine_id: WEB, boot_type: 'BIOS' }, token),
    'VM_NOT_FOUND',
  )
})
