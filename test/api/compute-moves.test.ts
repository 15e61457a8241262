// Migration, scaling, recovery, restoring and snapshots of machines over HTTP.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { seededId, wellKnown } from '../../lab/site.ts'
import { LOCKS } from '#src/store/locks.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
const api = vmApi(() => lab)

const { vms, service_offerings: offerings } = wellKnown
const machine = (id: string) => {
  const vm = lab.platform.state.tables.vms.get(id)
  assert.ok(vm !== null)
  return vm
}
const WEB = vms['web-01']
const CUSTOM = vms.gitlab
const otherHost = (id: string) =>
  [...lab.platform.state.tables.hosts.values()].find(
    (host) => host.id !== machine(id).hostid && host.clusterid === wellKnown.clusters['cluster-a'],
  )?.id ?? ''
const migrate = (body: object) => api.post('/compute/vms/migrate', { virtual_machine_id: WEB, ...body })

test('candidates are listed with what speaks against them', async () => {
  const reply = await api.post('/compute/vms/migrate/candidates', { virtual_machine_id: WEB, page_size: 3 })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.count, reply.body.hosts.length], [5, 3])
  assert.ok(reply.body.hosts.every((host: { id: string }) => host.id !== machine(WEB).hostid))
  assert.ok(reply.body.hosts.every((host: { suitable: unknown }) => typeof host.suitable === 'boolean'))
  api.refused(
    await api.post('/compute/vms/migrate/candidates', { virtual_machine_id: vms['legacy-crm'] }),
    'VM_STATE',
    /Stopped; this needs Running/,
  )
  api.refused(await api.post('/compute/vms/migrate/candidates', { virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
})

test('a running machine moves to the host named, or to one the platform chooses', async () => {
  const host_id = otherHost(WEB)
  const moved = await api.done('POST', '/compute/vms/migrate', { virtual_machine_id: WEB, host_id })
  assert.equal(moved.status, 200, moved.text)
  assert.deepEqual([moved.body.host_id, moved.body.state, machine(WEB).hostid], [host_id, 'Running', host_id])
  const chosen = await api.done('POST', '/compute/vms/migrate', { virtual_machine_id: WEB, auto_select: true })
  assert.notEqual(chosen.body.host_id, host_id, chosen.text)
})

test('a stopped machine moves its disks', async () => {
  const storage_id = wellKnown.storage_pools['nfs-primary']
  const reply = await api.done('POST', '/compute/vms/migrate', { virtual_machine_id: vms['legacy-crm'], storage_id })
  assert.equal(reply.status, 200, reply.text)
  assert.ok(
    lab.platform.state.tables.volumes.by('vm', vms['legacy-crm']).every((volume) => volume.storageid === storage_id),
  )
})

test('migration is refused before the platform is asked', async () => {
  api.refused(await migrate({}), 'INVALID_REQUEST', /exactly one/)
  api.refused(await migrate({ host_id: NOBODY, auto_select: true }), 'INVALID_REQUEST')
  api.refused(await migrate({ host_id: NOBODY }), 'HOST_NOT_FOUND')
  api.refused(await migrate({ host_id: machine(WEB).hostid }), 'COMPUTE_CONFLICT')
  api.refused(await migrate({ virtual_machine_id: NOBODY, auto_select: true }), 'VM_NOT_FOUND')
  api.refused(
    await migrate({ storage_id: wellKnown.storage_pools['nfs-primary'] }),
    'VM_STATE',
    /Running; this needs Stopped/,
  )
  api.refused(
    await migrate({ virtual_machine_id: vms['legacy-crm'], auto_select: true }),
    'VM_STATE',
    /Stopped; this needs Running/,
  )
  api.refused(await migrate({ virtual_machine_id: vms['render-gpu'], auto_select: true }), 'VM_HAS_GPU')
  const host_id = otherHost(WEB)
  await api.put('hosts', host_id, { resourcestate: 'Maintenance' })
  api.refused(await migrate({ host_id }), 'HOST_STATE', /Maintenance/)
  assert.equal((await api.calls('migrateVirtualMachine')).length, 0)
  api.refused(
    await migrate({ virtual_machine_id: vms['legacy-crm'], storage_id: NOBODY }),
    'RESOURCE_NOT_FOUND',
    /Storage \S+ not found/,
  )
})

test('a stopped machine takes another offering, and a custom one its own numbers', async () => {
  const id = vms['legacy-crm']
  const scale = (body: object) => api.done('POST', '/compute/vms/scale', { virtual_machine_id: id, ...body })
  const other = machine(id).serviceofferingid === offerings.large ? offerings.medium : offerings.large
  const fixed = await scale({ service_offering_id: other })
  assert.equal(fixed.body.service_offering_id, other, fixed.text)
  const custom = await scale({ service_offering_id: offerings.custom, cpu_cores: 6, memory_mb: 6144 })
  assert.deepEqual([custom.body.cpu_cores, custom.body.memory_mb], [6, 6144], custom.text)
  const smaller = await scale({ cpu_cores: 2 })
  assert.deepEqual([smaller.body.cpu_cores, smaller.body.memory_mb], [2, 6144], smaller.text)
  assert.deepEqual([machine(id).cpunumber, machine(id).memory], [2, 6144])
})

test('a running machine grows live when everything allows it', async () => {
  const reply = await api.done('POST', '/compute/vms/settings/compute', { virtual_machine_id: CUSTOM, cpu_cores: 8 })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.state, reply.body.cpu_cores, machine(CUSTOM).memory], ['Running', 8, 8192])
})

for (const path of ['/compute/vms/scale', '/compute/vms/settings/compute']) {
  test(`${path} says what stands against a new size`, async () => {
    const scale = (body: object, id = CUSTOM) => api.post(path, { virtual_machine_id: id, ...body })
    api.refused(await scale({}), 'INVALID_REQUEST', /no new size/)
    api.refused(await scale({ cpu_cores: 2 }), 'VM_STATE', /this needs Stopped. A running machine grows only/)
    api.refused(await scale({ cpu_cores: 4 }), 'VM_STATE', /one must rise/)
    api.refused(await scale({ cpu_cores: 64 }), 'INVALID_REQUEST', /1 to 32/)
    api.refused(await scale({ cpu_cores: 8, cpu_speed_mhz: 3000 }), 'INVALID_REQUEST', /cpu_speed_mhz/)
    api.refused(await scale({ service_offering_id: NOBODY }), 'SERVICE_OFFERING_NOT_FOUND')
    api.refused(
      await scale({ service_offering_id: offerings.xlarge, cpu_cores: 2 }),
      'INVALID_REQUEST',
      /fixes the size/,
    )
    api.refused(
      await scale({ service_offering_id: offerings.xlarge }, WEB),
      'VM_STATE',
      /fixed size. It is not dynamically scalable/,
    )
    api.refused(
      await scale({ service_offering_id: machine(vms['legacy-crm']).serviceofferingid }, vms['legacy-crm']),
      'SCALE_REFUSED',
      /already/,
    )
    api.refused(await scale({ cpu_cores: 8 }, vms['old-test']), 'VM_STATE', /Destroyed; this needs Running or Stopped/)
    api.refused(await scale({ cpu_cores: 8 }, NOBODY), 'VM_NOT_FOUND')
    await api.put('vms', CUSTOM, { isdynamicallyscalable: false })
    api.refused(await scale({ cpu_cores: 8 }), 'VM_STATE', /not dynamically scalable/)
    assert.equal((await api.calls('scaleVirtualMachine')).length, 0)
  })
}

/** The lock on the settings of one machine is waited for. */
const someoneWaits = (client: pg.Client) =>
  until('somebody waits for the lock', async () => {
    const text = `select 1 from pg_locks where locktype = 'advisory' and classid = ${LOCKS.vm_settings} and not granted
      and database = (select oid from pg_database where datname = current_database())`
    return (await client.query(text)).rows.length > 0
  })

test('scaling and a change of the settings wait for each other, and neither undoes the other', async () => {
  const client = new pg.Client(lab.database.connection)
  await client.connect()
  try {
    await api.put('vms', CUSTOM, { state: 'Stopped', details: { cpuNumber: '4', memory: '8192', keyboard: 'us' } })
    const scaled = await api.post('/compute/vms/scale', { virtual_machine_id: CUSTOM, cpu_cores: 6 })
    assert.deepEqual([scaled.status, scaled.body.status], [200, 'IN_PROGRESS'], scaled.text)
    const body = { virtual_machine_id: CUSTOM, settings: { nic_adapter: 'virtio' } }
    const updating = api.post('/compute/vms/settings/update', body)
    await someoneWaits(client)
    assert.equal((await api.calls('updateVirtualMachine')).length, 0)
    assert.equal((await api.ended(scaled)).job_status, 'completed')
    const updated = await updating
    assert.equal(updated.status, 200, updated.text)
    const details = { cpuNumber: '6', memory: '8192', keyboard: 'us', nicAdapter: 'virtio' }
    assert.deepEqual(machine(CUSTOM).details, details)

    await client.query('select pg_advisory_lock($1::int, hashtext($2))', [LOCKS.vm_settings, CUSTOM])
    const scaling = api.done('POST', '/compute/vms/scale', { virtual_machine_id: CUSTOM, cpu_cores: 4 })
    await someoneWaits(client)
    assert.equal((await api.calls('scaleVirtualMachine')).length, 1)
    await client.query('select pg_advisory_unlock_all()')
    const again = await scaling
    assert.deepEqual([again.status, again.body.cpu_cores], [200, 4], again.text)
  } finally {
    await client.end()
  }
})

test('a destroyed machine comes back, another does not', async () => {
  const reply = await api.post('/compute/vms/recover', { virtual_machine_id: vms['old-test'] })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.state, machine(vms['old-test']).state], ['Stopped', 'Stopped'])
  api.refused(
    await api.post('/compute/vms/recover', { virtual_machine_id: vms['elastic-02'] }),
    'VM_STATE',
    /Error; this needs Destroyed/,
  )
  api.refused(await api.post('/compute/vms/recover', { virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
})

test('a quota that is full refuses the recovery', async () => {
  await api.control('fail', {
    command: 'recoverVirtualMachine',
    code: 535,
    text: 'amount of resources of Type is exceeded',
    times: 1,
  })
  api.refused(await api.post('/compute/vms/recover', { virtual_machine_id: vms['old-test'] }), 'QUOTA_EXCEEDED')
})

const restore = (body: object, token?: string) => api.post('/compute/vms/restore', body, token)
const backup_id = seededId('backup', 'db-01')
const disk_snapshot = seededId('snapshot', 'db-01')
const vm_snapshot = seededId('vmsnapshot', 'web-02')

test('restoring from a template recreates the root disk', async () => {
  const template_id = wellKnown.templates['Ubuntu 24.04']
  const body = { source: 'template', virtual_machine_id: WEB, template_id, root_disk_size_gb: 33 }
  const reply = await api.done('POST', '/compute/vms/restore', body)
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.template_id, template_id)
  const [root] = lab.platform.state.tables.volumes.by('vm', WEB).filter((one) => one.type === 'ROOT')
  assert.deepEqual([root?.templateid, root?.size_bytes], [template_id, 33 * 1024 ** 3])
})

test('restoring from a backup, a snapshot of the machine and one of a volume', async () => {
  await api.put('vms', vms['db-01'], { state: 'Stopped' })
  const done = async (body: object) => {
    const reply = await api.done('POST', '/compute/vms/restore', body)
    assert.equal(reply.status, 200, reply.text)
    return reply.body.id
  }
  assert.equal(await done({ source: 'backup', backup_id }), vms['db-01'])
  assert.equal(
    await done({ source: 'volume_snapshot', snapshot_id: disk_snapshot, virtual_machine_id: vms['db-01'] }),
    vms['db-01'],
  )
  assert.equal(await done({ source: 'vm_snapshot', snapshot_id: vm_snapshot }), vms['web-02'])
  for (const command of ['restoreBackup', 'revertSnapshot', 'revertToVMSnapshot'])
    assert.equal((await api.calls(command)).length, 1)
})

test('restoring is refused before the platform is asked', async () => {
  api.refused(await restore({ source: 'template' }), 'INVALID_REQUEST', /virtual_machine_id/)
  api.refused(
    await restore({ source: 'template', virtual_machine_id: WEB, backup_id }),
    'INVALID_REQUEST',
    /no meaning/,
  )
  api.refused(await restore({ source: 'template', virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
  api.refused(await restore({ source: 'template', virtual_machine_id: vms['web-02'] }), 'VM_HAS_SNAPSHOTS')
  api.refused(await restore({ source: 'template', virtual_machine_id: vms['elastic-02'] }), 'VM_STATE')
  api.refused(
    await restore({ source: 'template', virtual_machine_id: WEB, template_id: NOBODY }),
    'RESOURCE_NOT_FOUND',
    /Template 0{8}-\S+ not found/,
  )
  const template_id = wellKnown.templates['Alpine 3.20 (downloading)']
  api.refused(
    await restore({ source: 'template', virtual_machine_id: WEB, template_id }),
    'COMPUTE_REJECTED',
    /not ready/,
  )
  api.refused(
    await restore({ source: 'template', virtual_machine_id: WEB, disk_offering_id: NOBODY }),
    'DISK_OFFERING_NOT_FOUND',
  )
  api.refused(await restore({ source: 'backup' }), 'INVALID_REQUEST', /backup_id/)
  api.refused(await restore({ source: 'backup', backup_id: NOBODY }), 'BACKUP_NOT_FOUND')
  api.refused(await restore({ source: 'backup', backup_id }), 'VM_STATE', /Running; this needs Stopped or Destroyed/)
  api.refused(await restore({ source: 'backup', backup_id, virtual_machine_id: WEB }), 'INVALID_REQUEST', /copy is of/)
  await api.put('backups', backup_id, { status: 'BackingUp' })
  api.refused(await restore({ source: 'backup', backup_id }), 'BACKUP_STATE', /BackingUp; this needs BackedUp/)
  api.refused(await restore({ source: 'vm_snapshot' }), 'INVALID_REQUEST', /snapshot_id/)
  api.refused(await restore({ source: 'vm_snapshot', snapshot_id: NOBODY }), 'VM_SNAPSHOT_NOT_FOUND')
  await api.put('vms', vms['web-02'], { state: 'Stopped' })
  api.refused(
    await restore({ source: 'vm_snapshot', snapshot_id: vm_snapshot }),
    'VM_STATE',
    /Stopped; this needs Running/,
  )
  api.refused(await restore({ source: 'volume_snapshot' }), 'INVALID_REQUEST', /snapshot_id/)
  api.refused(await restore({ source: 'volume_snapshot', snapshot_id: NOBODY }), 'SNAPSHOT_NOT_FOUND')
  api.refused(
    await restore({ source: 'volume_snapshot', snapshot_id: disk_snapshot }),
    'VM_STATE',
    /Running; this needs Stopped/,
  )
  await api.put('snapshots', disk_snapshot, { state: 'Creating' })
  api.refused(await restore({ source: 'volume_snapshot', snapshot_id: disk_snapshot }), 'SNAPSHOT_STATE')
  await api.put('volumes', seededId('volume', `${vms['db-01']}/ROOT`), { virtualmachineid: null })
  for (const volume of lab.platform.state.tables.volumes.by('vm', vms['db-01']))
    await api.put('volumes', volume.id, { virtualmachineid: null })
  api.refused(await restore({ source: 'volume_snapshot', snapshot_id: disk_snapshot }), 'VOLUME_NOT_ATTACHED')
  for (const command of ['restoreVirtualMachine', 'restoreBackup', 'revertSnapshot', 'revertToVMSnapshot'])
    assert.equal((await api.calls(command)).length, 0)
})

test('a snapshot of a machine is made, listed, reverted to and deleted', async () => {
  const create = { virtual_machine_id: WEB, name: 'before', description: 'first', memory: true }
  const made = await api.done('POST', '/compute/vms/snapshots/create', create)
  assert.equal(made.status, 200, made.text)
  assert.deepEqual([made.body.display_name, made.body.type, made.body.state], ['before', 'DiskAndMemory', 'Ready'])
  const snapshot_id: string = made.body.id
  const list = await api.post('/compute/vms/snapshots/list', { virtual_machine_id: WEB })
  assert.deepEqual(
    list.body.vm_snapshots.map((one: { id: string }) => one.id),
    [snapshot_id],
  )
  assert.equal((await api.post('/compute/vms/snapshots/list')).body.count, 2)
  const [revert, remove] = ['/compute/vms/snapshots/revert', '/compute/vms/snapshots/delete']
  await api.planned('POST', revert, { snapshot_id }, /revert virtual machine .* to snapshot before; what was written/)
  await api.planned('POST', remove, { snapshot_id }, /delete snapshot before of virtual machine .*; the machine would/)
  assert.deepEqual([await api.calls('revertToVMSnapshot'), await api.calls('deleteVMSnapshot')], [[], []])
  const back = await api.done('POST', revert, { snapshot_id })
  assert.equal(back.body.id, WEB, back.text)
  const gone = await api.post(remove, { snapshot_id })
  assert.equal((await api.ended(gone)).job_status, 'completed')
  assert.equal(lab.platform.state.tables.vmsnapshots.get(snapshot_id), null)
})

test('snapshots are refused in the wrong state', async () => {
  const post = (path: string, body: object) => api.post(`/compute/vms/snapshots/${path}`, body)
  api.refused(
    await post('create', { virtual_machine_id: vms['legacy-crm'], memory: true }),
    'VM_STATE',
    /Stopped; this needs Running/,
  )
  api.refused(
    await post('create', { virtual_machine_id: vms['elastic-02'] }),
    'VM_STATE',
    /Error; this needs Running or Stopped/,
  )
  api.refused(await post('create', { virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
  for (const path of ['revert', 'delete'])
    api.refused(await post(path, { snapshot_id: NOBODY }), 'VM_SNAPSHOT_NOT_FOUND')
  await api.put('vmsnapshots', vm_snapshot, { state: 'Creating' })
  for (const path of ['revert', 'delete']) api.refused(await post(path, { snapshot_id: vm_snapshot }), 'SNAPSHOT_STATE')
  await api.put('vms', vms['web-02'], { state: 'Stopped' })
  api.refused(await post('revert', { snapshot_id: vm_snapshot }), 'VM_STATE')
})

test('a caller of one tenant brings back its own machines alone and migrates none', async () => {
  const of = (id: string) => lab.platform.state.tables.accounts.get(machine(id).accountid)?.domainid ?? ''
  const token = await api.tokenOf(
    of(vms['db-01']) === wellKnown.domains.acme ? wellKnown.domains.globex : wellKnown.domains.acme,
  )
  api.refused(await restore({ source: 'backup', backup_id }, token), 'BACKUP_NOT_FOUND')
  api.refused(await restore({ source: 'volume_snapshot', snapshot_id: disk_snapshot }, token), 'SNAPSHOT_NOT_FOUND')
  const not_web2 = await api.tokenOf(
    of(vms['web-02']) === wellKnown.domains.acme ? wellKnown.domains.globex : wellKnown.domains.acme,
  )
  for (const path of ['revert', 'delete'])
    api.refused(
      await api.post(`/compute/vms/snapshots/${path}`, { snapshot_id: vm_snapshot }, not_web2),
      'VM_SNAPSHOT_NOT_FOUND',
    )
  assert.equal((await api.post('/compute/vms/snapshots/list', {}, not_web2)).body.count, 0)
  const moved = await api.post('/compute/vms/migrate', { virtual_machine_id: WEB, auto_select: true }, token)
  assert.deepEqual([moved.status, moved.body.code], [403, 'TENANT_SCOPE'])
})
