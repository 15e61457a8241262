// Disks and ISO images over HTTP: every precondition is refused before anything is sent, and the platform holds what was asked.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
const api = vmApi(() => lab)

const { vms, disk_offerings, isos, snapshots } = { ...wellKnown, snapshots: { db: seededId('snapshot', 'db-01') } }
const root = (vm: string) => seededId('volume', `${vm}/ROOT`)
const data = (vm: string) => seededId('volume', `${vm}/DATADISK`)
const volume = (id: string) => lab.platform.state.tables.volumes.get(id)
const ofVm = (id: string) => lab.platform.state.tables.volumes.by('vm', id)
const DB = vms['db-01']
const GIB = 1024 ** 3

async function detached(): Promise<string> {
  const reply = await api.done('POST', '/compute/vms/detach-disk', { volume_id: data(DB) })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.virtual_machine_id, null)
  return data(DB)
}

test('volumes are listed, filtered and paged in our words', async () => {
  const all = await api.post('/compute/volumes/list', { page_size: 500 })
  assert.equal(all.status, 200, all.text)
  assert.equal(all.body.count, lab.platform.state.tables.volumes.size)
  const two = await api.post('/compute/volumes/list', { virtual_machine_id: DB, page: 2, page_size: 1 })
  assert.deepEqual([two.body.count, two.body.volumes.length, two.body.page], [2, 1, 2])
  const [disk] = (await api.post('/compute/volumes/list', { virtual_machine_id: DB, type: 'DATADISK' })).body.volumes
  assert.deepEqual(
    [disk.id, disk.size_bytes, disk.device_id, disk.virtual_machine_name],
    [data(DB), 100 * GIB, 1, 'db-01'],
  )
})

test('a volume is detached and attached to a chosen slot', async () => {
  const id = await detached()
  assert.equal(volume(id)?.virtualmachineid, null)
  const reply = await api.done('POST', '/compute/vms/attach-disk', {
    volume_id: id,
    virtual_machine_id: DB,
    device_id: 5,
  })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.virtual_machine_id, reply.body.device_id], [DB, 5])
  assert.deepEqual([volume(id)?.virtualmachineid, volume(id)?.deviceid], [DB, 5])
})

test('a volume is detached by the slot of its machine', async () => {
  const reply = await api.done('POST', '/compute/vms/detach-disk', { virtual_machine_id: DB, device_id: 1 })
  assert.equal(reply.body.id, data(DB), reply.text)
  api.refused(await api.post('/compute/vms/detach-disk', { virtual_machine_id: DB, device_id: 9 }), 'VOLUME_NOT_FOUND')
  api.refused(await api.post('/compute/vms/detach-disk', { virtual_machine_id: DB }), 'INVALID_REQUEST')
})

test('attaching is refused before the platform is asked to', async () => {
  const attach = (body: object) =>
    api.post('/compute/vms/attach-disk', { volume_id: data(DB), virtual_machine_id: vms['web-01'], ...body })
  api.refused(await attach({}), 'VOLUME_ATTACHED', /db-01/)
  api.refused(await attach({ volume_id: NOBODY }), 'VOLUME_NOT_FOUND')
  api.refused(await attach({ virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
  api.refused(await attach({ device_id: 3 }), 'INVALID_REQUEST', /CD drive/)
  const id = await detached()
  api.refused(
    await attach({ virtual_machine_id: vms['elastic-02'] }),
    'VM_STATE',
    /Error; this needs Running or Stopped/,
  )
  api.refused(await attach({ virtual_machine_id: vms['web-02'] }), 'VM_HAS_SNAPSHOTS')
  await api.put('volumes', id, { state: 'Migrating' })
  api.refused(await attach({}), 'VOLUME_STATE', /Migrating; this needs Allocated or Ready or Uploaded/)
  await api.put('volumes', id, { state: 'Ready', zoneid: NOBODY })
  api.refused(await attach({}), 'VOLUME_ZONE')
  assert.equal((await api.calls('attachVolume')).length, 0)
})

test('what the platform refuses in its job is the failure of ours', async () => {
  const id = await detached()
  // Another owner: only the platform compares them.
  const reply = await api.post('/compute/vms/attach-disk', { volume_id: id, virtual_machine_id: vms['web-03'] })
  const job = await api.ended(reply)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'RESOURCE_NOT_FOUND'])
})

test('detaching is refused for what is loose, for the root disk of a running machine, and for the wrong machine', async () => {
  const detach = (body: object) => api.post('/compute/vms/detach-disk', body)
  api.refused(await detach({ volume_id: root(DB) }), 'VM_STATE', /Running; this needs Stopped or Destroyed/)
  api.refused(await detach({ volume_id: data(DB), virtual_machine_id: vms['web-01'] }), 'VOLUME_NOT_ATTACHED')
  api.refused(await detach({ volume_id: root(vms['web-02']) }), 'VM_STATE')
  await api.put('vms', vms['web-02'], { state: 'Stopped' })
  api.refused(await detach({ volume_id: root(vms['web-02']) }), 'VM_HAS_SNAPSHOTS')
  const id = await detached()
  api.refused(await detach({ volume_id: id }), 'VOLUME_NOT_ATTACHED')
})

test('one request makes one volume, attached, of the machine’s owner', async () => {
  const before = ofVm(DB).length
  const reply = await api.done('POST', '/compute/vms/create-and-attach-disk', {
    virtual_machine_id: DB,
    name: 'more',
    disk_offering_id: disk_offerings['custom-ssd'],
    size_gb: 30,
  })
  assert.equal(reply.status, 200, reply.text)
  const made = ofVm(DB).filter((one) => one.name === 'more')
  assert.deepEqual([ofVm(DB).length, made.length], [before + 1, 1])
  assert.deepEqual([made[0]?.id, made[0]?.size_bytes, made[0]?.state], [reply.body.id, 30 * GIB, 'Ready'])
  assert.equal(made[0]?.accountid, lab.platform.state.tables.vms.get(DB)?.accountid)
})

test('a disk of a project’s machine belongs to the project', async () => {
  const id = vms['shop-api']
  const reply = await api.done('POST', '/compute/vms/create-and-attach-disk', {
    virtual_machine_id: id,
    disk_offering_id: disk_offerings['ssd-20'],
  })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(volume(reply.body.id)?.projectid, wellKnown.project)
})

test('a disk is made from a snapshot', async () => {
  const reply = await api.done('POST', '/compute/vms/create-and-attach-disk', {
    virtual_machine_id: DB,
    snapshot_id: snapshots.db,
  })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(volume(reply.body.id)?.snapshotid, snapshots.db)
})

test('a volume that cannot be attached is deleted again', async () => {
  const count = lab.platform.state.tables.volumes.size
  await api.control('fail', { command: 'attachVolume', code: 530, text: 'hypervisor said no', at: 'job', times: 1 })
  const reply = await api.post('/compute/vms/create-and-attach-disk', {
    virtual_machine_id: DB,
    disk_offering_id: disk_offerings['ssd-20'],
  })
  const job = await api.ended(reply)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'COMPUTE_ERROR'])
  assert.equal(lab.platform.state.tables.volumes.size, count)
})

test('a lost answer while the volume is made does not make a second one', async () => {
  await api.control('lose-answer', { command: 'createVolume', times: 1 })
  const count = lab.platform.state.tables.volumes.size
  const reply = await api.done('POST', '/compute/vms/create-and-attach-disk', {
    virtual_machine_id: DB,
    disk_offering_id: disk_offerings['ssd-20'],
  })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(lab.platform.state.tables.volumes.size, count + 1)
  assert.equal(reply.body.virtual_machine_id, DB)
})

test('creating a disk is refused before anything is made', async () => {
  const create = (body: object) =>
    api.post('/compute/vms/create-and-attach-disk', {
      virtual_machine_id: DB,
      disk_offering_id: disk_offerings['ssd-20'],
      ...body,
    })
  api.refused(await create({ size_gb: 5 }), 'INVALID_REQUEST', /size_gb/)
  api.refused(await create({ disk_offering_id: disk_offerings['custom-ssd'] }), 'INVALID_REQUEST', /size_gb/)
  api.refused(await create({ disk_offering_id: NOBODY }), 'DISK_OFFERING_NOT_FOUND')
  api.refused(await create({ disk_offering_id: undefined }), 'INVALID_REQUEST', /disk_offering_id/)
  api.refused(await create({ snapshot_id: NOBODY }), 'SNAPSHOT_NOT_FOUND')
  api.refused(await create({ zone_id: NOBODY }), 'INVALID_REQUEST', /zone/)
  api.refused(await create({ virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
  api.refused(await create({ virtual_machine_id: vms['old-test'] }), 'VM_STATE')
  api.refused(await create({ virtual_machine_id: vms['web-02'] }), 'VM_HAS_SNAPSHOTS')
  assert.equal((await api.calls('createVolume')).length, 0)
})

test('a volume changes its offering and grows', async () => {
  const changed = await api.done('PUT', '/compute/vms/update-disksize', {
    volume_id: data(DB),
    disk_offering_id: disk_offerings['archive-500'],
  })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual([changed.body.size_bytes, changed.body.disk_offering_id], [500 * GIB, disk_offerings['archive-500']])
  assert.equal((await api.calls('changeOfferingForVolume')).length, 1)
  const grown = await api.done('PUT', '/compute/vms/update-disksize', { volume_id: root(DB), size_gb: 64 })
  assert.equal(grown.body.size_bytes, 64 * GIB, grown.text)
  assert.equal(volume(root(DB))?.size_bytes, 64 * GIB)
})

test('a smaller size needs agreement, and a fixed one is fixed', async () => {
  const resize = (body: object) => lab.call('PUT', '/compute/vms/update-disksize', body)
  api.refused(await resize({ volume_id: root(DB), size_gb: 5 }), 'INVALID_REQUEST', /shrink_ok/)
  api.refused(await resize({ volume_id: data(DB), size_gb: 200 }), 'INVALID_REQUEST', /fixes the size/)
  api.refused(await resize({ volume_id: root(DB) }), 'INVALID_REQUEST')
  api.refused(
    await resize({ volume_id: root(DB), size_gb: 40, min_iops: 9, max_iops: 1 }),
    'INVALID_REQUEST',
    /min_iops/,
  )
  api.refused(await resize({ volume_id: data(DB), disk_offering_id: NOBODY }), 'DISK_OFFERING_NOT_FOUND')
  api.refused(await resize({ volume_id: NOBODY, size_gb: 5 }), 'VOLUME_NOT_FOUND')
  await api.put('volumes', root(DB), { state: 'Snapshotting' })
  api.refused(
    await resize({ volume_id: root(DB), size_gb: 64 }),
    'VOLUME_STATE',
    /Snapshotting; this needs Ready or Allocated/,
  )
  assert.equal((await api.calls('resizeVolume')).length, 0)
  await api.put('volumes', root(DB), { state: 'Ready' })
  const shrunk = await api.done('PUT', '/compute/vms/update-disksize', {
    volume_id: root(DB),
    size_gb: 5,
    shrink_ok: true,
  })
  assert.equal(shrunk.body.size_bytes, 5 * GIB, shrunk.text)
})

test('an ISO image goes in and out', async () => {
  const id = vms['web-01']
  const put = await api.done('POST', '/compute/vms/attachiso', {
    iso_id: isos['debian-12-netinst'],
    virtual_machine_id: id,
  })
  assert.deepEqual([put.body.iso_id, put.body.iso_name], [isos['debian-12-netinst'], 'debian-12-netinst'], put.text)
  assert.equal(lab.platform.state.tables.vms.get(id)?.isoid, isos['debian-12-netinst'])
  const out = await api.done('POST', '/compute/vms/detachiso', { virtual_machine_id: id })
  assert.equal(out.body.iso_id, null, out.text)
  api.refused(await api.post('/compute/vms/detachiso', { virtual_machine_id: id }), 'ISO_NOT_ATTACHED')
})

test('ISO images are refused: unknown, not ready, wrong state', async () => {
  const attach = (body: object) =>
    api.post('/compute/vms/attachiso', { iso_id: isos['virtio-win'], virtual_machine_id: vms['web-01'], ...body })
  api.refused(await attach({ iso_id: NOBODY }), 'ISO_NOT_FOUND')
  api.refused(await attach({ virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
  api.refused(await attach({ virtual_machine_id: vms['elastic-02'] }), 'VM_STATE')
  api.refused(await api.post('/compute/vms/detachiso', { virtual_machine_id: vms['elastic-02'] }), 'VM_STATE')
  await api.put('templates', isos['virtio-win'], { isready: false })
  api.refused(await attach({}), 'ISO_NOT_READY')
})

test('a snapshot of a volume is made while its machine runs, listed, reverted to, made a disk of, and deleted', async () => {
  const made = await api.done('POST', '/compute/volumes/snapshots/create', { volume_id: data(DB), name: 'before' })
  assert.equal(made.status, 200, made.text)
  const { id, name, state, volume_id, volume_type, size_bytes } = made.body
  assert.deepEqual(
    [name, state, volume_id, volume_type, size_bytes],
    ['before', 'BackedUp', data(DB), 'DATADISK', 100 * GIB],
  )
  const list = await api.post('/compute/volumes/snapshots/list', { volume_id: data(DB) })
  assert.deepEqual([list.body.count, list.body.volume_snapshots[0]], [1, made.body], list.text)
  assert.equal((await api.post('/compute/volumes/snapshots/list')).body.count, 2)
  const revert = () => api.post('/compute/volumes/snapshots/revert', { snapshot_id: id })
  api.refused(await revert(), 'VM_STATE', /Running; this needs Stopped/)
  await api.put('vms', DB, { state: 'Stopped' })
  const sentence = /Would revert volume .* to snapshot before; what was written since \d{4}-.* would be lost/
  await api.planned('POST', '/compute/volumes/snapshots/revert', { snapshot_id: id }, sentence)
  assert.equal((await api.calls('revertSnapshot')).length, 0)
  const back = await revert()
  assert.equal(back.body.resource_id, data(DB), back.text)
  assert.equal((await api.ended(back)).job_status, 'completed')
  const order = { virtual_machine_id: DB, snapshot_id: id }
  assert.equal((await api.done('POST', '/compute/vms/create-and-attach-disk', order)).body.snapshot_id, id)
  await detached()
  assert.equal((await api.ended(await revert())).job_status, 'completed', 'of a volume without a machine')
  const [path, body] = ['/compute/volumes/snapshots/delete', { snapshot_id: id }]
  await api.planned('POST', path, body, /Would delete snapshot before of volume .*; the volume would stay/)
  assert.equal((await api.calls('deleteSnapshot')).length, 0)
  const gone = await api.post(path, body)
  assert.equal((await api.ended(gone)).job_status, 'completed')
  assert.equal(lab.platform.state.tables.snapshots.get(id), null)
  assert.equal(volume(data(DB))?.state, 'Ready')
})

test('snapshots of volumes are refused in the wrong state, before the platform is asked', async () => {
  const post = (path: string, body: object) => api.post(`/compute/volumes/snapshots/${path}`, body)
  api.refused(await post('create', { volume_id: NOBODY }), 'VOLUME_NOT_FOUND')
  await api.put('volumes', data(DB), { state: 'Allocated' })
  api.refused(await post('create', { volume_id: data(DB) }), 'VOLUME_STATE', /Allocated; this needs Ready/)
  await api.put('snapshots', snapshots.db, { state: 'BackingUp' })
  for (const path of ['revert', 'delete']) {
    api.refused(await post(path, { snapshot_id: NOBODY }), 'SNAPSHOT_NOT_FOUND')
    api.refused(
      await post(path, { snapshot_id: snapshots.db }),
      'SNAPSHOT_STATE',
      /db-01_ROOT is BackingUp; this needs/,
    )
  }
  for (const command of ['createSnapshot', 'revertSnapshot', 'deleteSnapshot'])
    assert.equal((await api.calls(command)).length, 0)
})

test('a volume is deleted once it is attached to nothing, and its snapshots stay', async () => {
  const remove = () => api.post('/compute/volumes/delete', { volume_id: data(DB) })
  api.refused(await remove(), 'VOLUME_ATTACHED', /db-01; detach it first/)
  const id = await detached()
  await api.put('snapshots', snapshots.db, { volumeid: id })
  await api.put('volumes', id, { state: 'Migrating' })
  api.refused(await remove(), 'VOLUME_STATE', /Migrating/)
  await api.put('volumes', id, { state: 'Ready' })
  await api.planned(
    'POST',
    '/compute/volumes/delete',
    { volume_id: id },
    /volume .* of 100 GiB; what is on it would be lost/,
  )
  assert.equal((await api.calls('deleteVolume')).length, 0)
  const gone = await remove()
  assert.deepEqual([gone.status, gone.body.message], [200, `Deleted volume ${id}.`], gone.text)
  assert.deepEqual([volume(id), lab.platform.state.tables.snapshots.get(snapshots.db)?.volumeid], [null, id])
  api.refused(await remove(), 'VOLUME_NOT_FOUND')
})

test('a caller of one tenant sees and touches its own volumes alone', async () => {
  const { tables } = lab.platform.state
  const other_tenant_vm =
    tables.vms.get(DB)?.accountid === wellKnown.accounts.acme ? wellKnown.domains.globex : wellKnown.domains.acme
  const token = await api.tokenOf(other_tenant_vm)
  const seen = await api.post('/compute/volumes/list', { page_size: 500 }, token)
  assert.ok(seen.body.volumes.length > 0)
  assert.ok(seen.body.volumes.every((one: { tenant_id: string }) => one.tenant_id === other_tenant_vm))
  api.refused(await api.post('/compute/vms/detach-disk', { volume_id: data(DB) }, token), 'VOLUME_NOT_FOUND')
  api.refused(
    await lab.call('PUT', '/compute/vms/update-disksize', { volume_id: data(DB), size_gb: 3 }, { token }),
    'VOLUME_NOT_FOUND',
  )
  const body = { virtual_machine_id: DB, disk_offering_id: disk_offerings['ssd-20'] }
  api.refused(await api.post('/compute/vms/create-and-attach-disk', body, token), 'VM_NOT_FOUND')
  api.refused(
    await api.post('/compute/vms/attachiso', { iso_id: isos['virtio-win'], virtual_machine_id: DB }, token),
    'VM_NOT_FOUND',
  )
  const of_others = await api.post('/compute/volumes/list', { domain_id: wellKnown.domains.ROOT }, token)
  assert.deepEqual([of_others.status, of_others.body.code], [403, 'TENANT_SCOPE'])
})
