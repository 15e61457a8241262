// Answers of the compute areas that need a special site: a tenant that is gone or deactivated, two machines of one name,
// hosts of another kind, addresses of a VPC, conflicts that only the platform sees, operations that are cancelled.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { callsOf } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

const { vms, domains, accounts, networks, zone: zone_id } = wellKnown
const ACME = domains.acme

let lab: Lab
before(async () => {
  lab = await startLab({
    time: 'step',
    config: {
      compute: { tenants_poll_ms: 200 },
      public_url: 'https://cloud.example',
      auth: { oidc: { issuer: 'https://idp.example', audience: 'cloud', client_id: 'cloud', tenant_claim: 'tenant' } },
    },
  })
  await until('acme is known', async () => (await lab.call('GET', `/admin/tenants/${ACME}`)).status === 200)
})
after(() => lab?.close())
const api = vmApi(() => lab)
const tables = () => lab.platform.state.tables

function must<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined)
  return value
}

function machinesOf(account: string) {
  return tables()
    .vms.by('account', account)
    .filter((one) => one.state === 'Running' && one.projectid === null)
}

test('a name that several machines carry is 400 and names their ids; the tenant tells them apart', async () => {
  const [other] = tables().vms.by('account', accounts.globex)
  await api.put('vms', must(other).id, { name: 'web-01' })
  await api.put('vms', vms['web-01'], { accountid: accounts.acme, projectid: null })
  for (const path of ['byName', 'getIdbyName']) {
    const reply = await api.post(`/compute/vms/${path}`, { name: 'web-01' })
    api.refused(reply, 'VM_NAME_AMBIGUOUS', new RegExp(must(other).id))
    const one = await api.post(`/compute/vms/${path}`, { name: 'web-01', domain_id: domains.globex })
    assert.deepEqual([one.status, one.body.id], [200, must(other).id], one.text)
  }
})

test('UEFI is refused where no host of the zone can start it', async () => {
  for (const host of tables().hosts.values()) await api.put('hosts', host.id, { ueficapability: false })
  const reply = await api.post('/compute/vms/configure-tpm', {
    virtual_machine_id: vms['legacy-crm'], boot_type: 'UEFI', secure_boot: false,
  }) // biome-ignore format: one call
  api.refused(reply, 'UEFI_UNSUPPORTED')
  assert.equal((await api.calls('updateVirtualMachine')).length, 0)
})

test('a change of settings whose lock is lost writes nothing', async () => {
  await api.control('slow', { command: 'listVirtualMachines', delay_ms: 900, times: 1000 })
  const asked = api.post('/compute/vms/settings/update', {
    virtual_machine_id: vms['legacy-crm'], details: { note: 'x' },
  }) // biome-ignore format: one call
  await until('the lock is held, and lost', () =>
    onDatabase(lab.database.connection, async (client) => {
      const found = await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'groundplane settings' and datname = current_database() and state = 'idle'
           and pid in (select pid from pg_locks where locktype = 'advisory' and granted)`,
      )
      return found.rowCount === 1
    }),
  )
  api.refused(await asked, 'SETTINGS_BUSY')
  assert.equal((await api.calls('updateVirtualMachine')).length, 0)
})

test('a running machine on another hypervisor grows live where that can, and not by way of the settings', async () => {
  const template = must(tables().templates.get(must(tables().vms.get(vms.gitlab)).templateid))
  await api.put('templates', template.id, { hypervisor: 'VMware' })
  const size = { virtual_machine_id: vms.gitlab, cpu_cores: 8 }
  api.refused(
    await api.post('/compute/vms/settings/compute', size),
    'VM_STATE',
    /Machines on VMware cannot grow while they run/,
  )
  const grown = await api.done('POST', '/compute/vms/scale', size)
  assert.deepEqual([grown.status, grown.body.state, grown.body.cpu_cores], [200, 'Running', 8], grown.text)
})

test('a machine moves with its disks to a host that cannot reach them where they are', async () => {
  const vm = must(tables().vms.get(vms['web-01']))
  const target = must(
    tables().hosts.filter((host) => host.id !== vm.hostid && host.clusterid === wellKnown.clusters['cluster-b'])[0],
  )
  for (const volume of tables().volumes.by('vm', vm.id)) {
    const pool = must(tables().storagepools.get(must(volume.storageid)))
    tables().storagepools.put({ ...pool, scope: 'CLUSTER', clusterid: wellKnown.clusters['cluster-a'] })
  }
  const moved = await api.done('POST', '/compute/vms/migrate', { virtual_machine_id: vm.id, host_id: target.id })
  assert.deepEqual([moved.status, moved.body.host_id], [200, target.id], moved.text)
  assert.equal((await api.calls('migrateVirtualMachineWithVolume')).length, 1)
  assert.equal((await api.calls('migrateVirtualMachine')).length, 0)
})

test('a NIC in a network of another tenant is refused for the machine of a third', async () => {
  const [vm] = machinesOf(accounts.globex).filter((one) => tables().vmsnapshots.by('vm', one.id).length === 0)
  const before_nics = must(vm).nics.length
  const reply = await api.done('POST', '/compute/vms/nic/add', {
    virtual_machine_id: must(vm).id, network_id: networks['acme-net'],
  }, await api.tokenOf(domains.globex)) // biome-ignore format: one call
  assert.equal(reply.status, 400, reply.text)
  assert.match(reply.body.code, /_NOT_FOUND$|^COMPUTE_REJECTED$/)
  assert.equal(must(tables().vms.get(must(vm).id)).nics.length, before_nics)
})

test('a tenant signs in at the identity provider of this service once it has a tenant claim', async () => {
  const reply = await api.post(`/tenants/${ACME}/auth-source`, { auth_source: 'oidc' })
  assert.deepEqual([reply.status, reply.body.auth_source, reply.body.settings], [200, 'oidc', null], reply.text)
  assert.match(reply.body.message, /tenant claim/)
  assert.equal((await lab.call('GET', `/admin/tenants/${ACME}`)).body.auth_source, 'oidc')
})

test('an address of a VPC belongs to the VPC, and leads to a machine by the tier of its NIC', async () => {
  const { vpc_id, tier_id, vm_id } = await vpcWithMachine()
  const place = { zone_id, vpc_id }
  const wrong = await api.post('/ddi/public-ips', { ...place, network_id: networks['acme-net'] })
  api.refused(wrong, 'INVALID_REQUEST', /no tier of the VPC/)
  api.refused(await api.post('/ddi/public-ips', { zone_id, vpc_id: NOBODY }), 'RESOURCE_NOT_FOUND')
  const acquired = await api.done('POST', '/ddi/public-ips', { zone_id, network_id: tier_id })
  assert.equal(acquired.status, 200, acquired.text)
  const { id } = acquired.body.data
  assert.deepEqual([acquired.body.data.vpc_id, acquired.body.data.associated], [vpc_id, false])
  const [sent] = await api.calls('associateIpAddress')
  assert.deepEqual([sent?.vpcid, sent?.networkid], [vpc_id, undefined])
  const [other] = machinesOf(accounts.acme).filter((one) => one.id !== vm_id)
  const elsewhere = await api.post(`/ddi/public-ips/${id}/associate`, { vm_id: must(other).id })
  api.refused(elsewhere, 'INVALID_REQUEST', /no NIC in the network/)
  const tied = await api.done('POST', `/ddi/public-ips/${id}/associate`, { vm_id })
  assert.equal(tied.status, 200, tied.text)
  const now = (await lab.call('GET', `/ddi/public-ips/${id}`)).body.data
  assert.deepEqual([now.associated, now.vm_id, now.vpc_id], [true, vm_id, vpc_id])
  assert.equal((await callsOf(lab, 'enableStaticNat')).at(-1)?.networkid, tier_id)
})

/** A VPC of acme with one tier, and a running machine of acme with a NIC in it. */
async function vpcWithMachine(): Promise<{ vpc_id: string; tier_id: string; vm_id: string }> {
  const [vpc_id, tier_id] = [NOBODY.replace('4000', '4a01'), NOBODY.replace('4000', '4a02')]
  const owner = { accountid: accounts.acme, projectid: null }
  tables().vpcs.put({
    id: vpc_id, name: 'acme-vpc', displaytext: 'acme-vpc', zoneid: zone_id, vpcofferingid: must([...tables().vpcofferings.values()][0]).id,
    cidr: '10.60.0.0/16', state: 'Enabled', networkdomain: 'cs.internal', restartrequired: false, created: '2026-11-20T00:00:00+0000', ...owner,
  }) // biome-ignore format: one record
  const net = must(tables().networks.get(networks['acme-net']))
  tables().networks.put({ ...net, id: tier_id, name: 'tier', displaytext: 'tier', vpcid: vpc_id, ...owner })
  const natted = new Set([...tables().addresses.values()].map((address) => address.virtualmachineid))
  const vm = must(machinesOf(accounts.acme).find((one) => !natted.has(one.id)))
  const nic = {
    ...must(vm.nics[0]),
    id: NOBODY.replace('4000', '4a03'),
    networkid: tier_id,
    ipaddress: '10.60.0.7',
    isdefault: false,
    secondaryips: [],
  }
  tables().vms.put({ ...vm, nics: [...vm.nics, nic] })
  return { vpc_id, tier_id, vm_id: vm.id }
}

for (const [what, method, path, body, command] of [
  [
    'changing a network',
    'PUT',
    () => '/network/guest-networks',
    { id: networks['acme-net'], display_text: 'x' },
    'updateNetwork',
  ],
  [
    'restarting a network',
    'POST',
    () => `/network/guest-networks/${networks['acme-net']}/restart`,
    { cleanup: false },
    'restartNetwork',
  ],
  ['setting a limit', 'PUT', () => `/admin/tenants/${ACME}/limits`, { instances: 77 }, 'updateResourceLimit'],
] as const) {
  // biome-ignore format: a table
  test(`${what} against a rule that only the platform knows is 409`, async () => {
    await api.control('fail', { command, code: 536, text: 'conflicts with host kvm-07.internal', times: 1 })
    const reply = await api.done(method, path(), body)
    assert.deepEqual([reply.status, reply.body.code], [409, 'COMPUTE_CONFLICT'], reply.text)
    assert.doesNotMatch(reply.text, /kvm-07/)
  })
}

test('a tenant whose domain is gone is 409 on everything that needs it', async () => {
  const id = NOBODY.replace('4000', '4b01')
  tables().domains.put({ ...must(tables().domains.get(ACME)), id, name: 'gone', path: 'ROOT/gone' })
  // What is found for the first time is looked up once more before it is believed.
  await until('it is known', async () => (await callsOf(lab, 'listDomains')).some((call) => call.id === id))
  await until('it is shown', async () => (await lab.call('GET', `/admin/tenants/${id}`)).status === 200)
  tables().domains.remove(id)
  await until('it is missed', async () => typeof (await lab.call('GET', `/admin/tenants/${id}`)).body.flag === 'string')
  const at = `/admin/tenants/${id}`
  for (const [method, path, body] of [
    ['GET', `${at}/limits`, undefined],
    ['PUT', `${at}/limits`, { instances: 7 }],
    ['GET', `${at}/network`, undefined],
    [
      'POST',
      `${at}/network`,
      { zone_id, gateway: '203.0.113.1', netmask: '255.255.255.0', start_ip: '203.0.113.200', end_ip: '203.0.113.210' },
    ],
    ['PUT', `${at}/status`, { is_active: false }],
    ['POST', `/tenants/${id}/account-mode`, { account_mode: 'departmental' }],
    ['POST', `/tenants/${id}/auth-source`, { auth_source: 'local' }],
  ] as const) {
    const reply = await lab.call(method, path, body)
    assert.deepEqual([reply.status, reply.body.code], [409, 'TENANT_STATE'], `${method} ${path} ${reply.text}`)
  }
})

test('an operation that waits for the platform can be cancelled once, and one that has ended cannot', async () => {
  await api.control('silent', { command: 'listAccounts', times: 1000 })
  const asked = lab.call('PUT', `/admin/tenants/${ACME}/status`, { is_active: false })
  const job = await until('the job runs', async () => {
    const { body } = await lab.call('GET', '/jobs?job_status=running&job_type=status')
    return body.jobs[0]
  })
  const cancelled = await lab.call('POST', `/jobs/${job.id}/cancel`)
  assert.deepEqual([cancelled.status, cancelled.body.id], [200, job.id], cancelled.text)
  const reply = await asked
  assert.deepEqual([reply.status, reply.body.code], [500, 'JOB_CANCELLED'], reply.text)
  const again = await lab.call('POST', `/jobs/${job.id}/cancel`)
  assert.deepEqual([again.status, again.body.code], [409, 'JOB_NOT_CANCELLABLE'], again.text)
  assert.equal((await lab.call('POST', `/jobs/${NOBODY}/cancel`)).status, 404)
})

test('the key of a change that began and never ended is 409, and does the change no second time', async () => {
  const key = { headers: { 'idempotency-key': 'cut-off-1' } }
  const send = () =>
    lab.call('POST', '/compute/vms/update', { virtual_machine_id: vms['legacy-crm'], display_name: 'once' }, key)
  assert.equal((await send()).status, 200)
  const sent = (await api.calls('updateVirtualMachine')).length
  // As its process leaves it when it dies in the middle.
  await onDatabase(lab.database.connection, (client) =>
    client.query(
      `update idempotency set status = null, headers = null, body = null, replica_id = gen_random_uuid() where key = 'cut-off-1'`,
    ),
  )
  const again = await send()
  assert.deepEqual([again.status, again.body.code], [409, 'IDEMPOTENCY_KEY_IN_USE'], again.text)
  assert.equal((await api.calls('updateVirtualMachine')).length, sent)
})
