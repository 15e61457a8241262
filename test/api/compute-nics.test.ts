// NICs and their addresses over HTTP.
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

const { vms, networks } = wellKnown
const machine = (id: string) => {
  const vm = lab.platform.state.tables.vms.get(id)
  assert.ok(vm !== null)
  return vm
}
const nicOf = (id: string, at = 0) => {
  const nic = machine(id).nics[at]
  assert.ok(nic !== undefined)
  return nic
}
const free = (last: number): string => {
  const first = nicOf(WEB).ipaddress ?? ''
  return `${first.split('.').slice(0, 3).join('.')}.${last}`
}
/** Has one NIC, in acme's own network. */
const WEB = vms['web-01']
/** Has two: the second in the storage network. */
const TWO = vms['db-01']

async function addTo(id: string, body: object = {}) {
  const reply = await api.done('POST', '/compute/vms/nic/ip/add', { nic_id: nicOf(id).id, ...body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

test('a NIC is added, with an address and a MAC address of choice', async () => {
  const reply = await api.done('POST', '/compute/vms/nic/add', {
    virtual_machine_id: WEB,
    network_id: networks['storage-l2'],
    mac_address: '02:00:4c:9f:aa:01',
  })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.nics.length, 2)
  const made = machine(WEB).nics.find((nic) => nic.networkid === networks['storage-l2'])
  assert.deepEqual([made?.macaddress, made?.isdefault], ['02:00:4c:9f:aa:01', false])
})

test('adding a NIC is refused before the platform is asked', async () => {
  const add = (body: object) =>
    api.post('/compute/vms/nic/add', { virtual_machine_id: WEB, network_id: networks['storage-l2'], ...body })
  api.refused(await add({ network_id: nicOf(WEB).networkid }), 'NIC_EXISTS')
  api.refused(await add({ virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
  api.refused(await add({ virtual_machine_id: vms['elastic-02'] }), 'VM_STATE')
  api.refused(await add({ virtual_machine_id: vms['web-02'] }), 'VM_HAS_SNAPSHOTS')
  api.refused(await add({ ip_address: '10.1.1' }), 'INVALID_REQUEST', /ip_address/)
  api.refused(await add({ network_id: NOBODY }), 'RESOURCE_NOT_FOUND', new RegExp(NOBODY))
  const { tables } = lab.platform.state
  const acme_net = tables.networks.get(networks['acme-net'])
  assert.ok(acme_net !== null)
  const globex_net = { ...acme_net, id: seededId('network', 'globex-net'), name: 'globex-net' }
  tables.networks.put({ ...globex_net, accountid: wellKnown.accounts.globex })
  const to_globex = await add({ network_id: globex_net.id })
  api.refused(to_globex, 'COMPUTE_REJECTED', /Network globex-net belongs to tenant globex, and virtual machine web-01 /)
  assert.equal((await api.calls('addNicToVirtualMachine')).length, 0)
})

test('NICs are paged and filtered by us, because the platform does neither', async () => {
  const all = await api.post('/compute/vms/nic/list', { virtual_machine_id: TWO })
  assert.equal(all.status, 200, all.text)
  assert.deepEqual([all.body.count, all.body.nics.length], [2, 2])
  assert.ok(all.body.nics.every((nic: { virtual_machine_id: string }) => nic.virtual_machine_id === TWO))
  const second = await api.post('/compute/vms/nic/list', { virtual_machine_id: TWO, page: 2, page_size: 1 })
  assert.deepEqual([second.body.count, second.body.nics.map((nic: { id: string }) => nic.id)], [2, [nicOf(TWO, 1).id]])
  const count = async (filter: object) =>
    (await api.post('/compute/vms/nic/list', { virtual_machine_id: TWO, ...filter })).body.count
  assert.equal(await count({ nic_id: nicOf(TWO).id }), 1)
  assert.equal(await count({ network_id: networks['storage-l2'] }), 1)
  assert.equal(await count({ nic_id: nicOf(TWO).id, keyword: nicOf(TWO, 1).macaddress }), 0)
  assert.equal(await count({ keyword: nicOf(TWO, 1).macaddress.toUpperCase() }), 1)
  api.refused(await api.post('/compute/vms/nic/list', { virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
})

test('another NIC becomes the default one', async () => {
  const set = (nic_id: string, id = TWO) => ({ virtual_machine_id: id, nic_id })
  const reply = await api.done('POST', '/compute/vms/nic/set-default', set(nicOf(TWO, 1).id))
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(
    machine(TWO).nics.map((nic) => nic.isdefault),
    [false, true],
  )
  const path = '/compute/vms/nic/set-default'
  api.refused(await api.post(path, set(nicOf(TWO, 1).id)), 'NIC_IS_DEFAULT')
  api.refused(await api.post(path, set(nicOf(WEB).id)), 'NIC_NOT_FOUND')
  await api.put('vms', TWO, { state: 'Migrating' })
  api.refused(await api.post(path, set(nicOf(TWO).id)), 'VM_STATE', /Migrating; this needs Running or Stopped/)
})

test('a secondary address is added and removed by its id', async () => {
  const picked = await addTo(WEB)
  const chosen = await addTo(WEB, { ip_address: free(222), virtual_machine_id: WEB })
  assert.equal(chosen.ip_address, free(222))
  assert.deepEqual(
    nicOf(WEB).secondaryips.map((one) => one.id),
    [picked.id, chosen.id],
  )
  const removed = await api.post('/compute/vms/nic/ip/remove', { secondary_ip_id: picked.id })
  assert.equal((await api.ended(removed)).job_status, 'completed')
  assert.deepEqual(
    nicOf(WEB).secondaryips.map((one) => one.id),
    [chosen.id],
  )
  api.refused(await api.post('/compute/vms/nic/ip/remove', { secondary_ip_id: picked.id }), 'SECONDARY_IP_NOT_FOUND')
})

test('a taken address, an unknown NIC and a wrong state are refused', async () => {
  const add = (body: object) => api.post('/compute/vms/nic/ip/add', { nic_id: nicOf(WEB).id, ...body })
  api.refused(await add({ ip_address: nicOf(WEB).ipaddress }), 'COMPUTE_CONFLICT')
  api.refused(await add({ nic_id: NOBODY }), 'NIC_NOT_FOUND')
  api.refused(await add({ nic_id: nicOf(TWO).id, virtual_machine_id: WEB }), 'NIC_NOT_FOUND')
  api.refused(await add({ ip_address: 'x.y' }), 'INVALID_REQUEST')
  await api.put('vms', WEB, { state: 'Error' })
  api.refused(await add({}), 'VM_STATE')
})

test('an address that forwards is not removed, and the reason is said', async () => {
  const rule = [...lab.platform.state.tables.rules.values()][0]
  assert.ok(rule !== undefined)
  const made = await addTo(rule.virtualmachineid ?? '')
  await api.put('rules', rule.id, { vmguestip: made.ip_address })
  api.refused(
    await api.post('/compute/vms/nic/ip/remove', { secondary_ip_id: made.id }),
    'SECONDARY_IP_IN_USE',
    /port-forwarding/,
  )
  const [address] = lab.platform.state.tables.addresses.filter((one) => one.isstaticnat)
  const nat = await addTo(address?.virtualmachineid ?? '')
  await api.put('addresses', address?.id ?? '', { vmipaddress: nat.ip_address })
  api.refused(
    await api.post('/compute/vms/nic/ip/remove', { secondary_ip_id: nat.id }),
    'SECONDARY_IP_IN_USE',
    /Static NAT/,
  )
  assert.equal((await api.calls('removeIpFromNic')).length, 0)
})

test('the primary address changes while the machine is stopped', async () => {
  const update = (body: object) => ({ nic_id: nicOf(WEB).id, ...body })
  const path = '/compute/vms/nic/ip/update'
  api.refused(await api.post(path, update({ ip_address: free(99) })), 'VM_STATE', /Running; this needs Stopped/)
  await api.put('vms', WEB, { state: 'Stopped' })
  const reply = await api.done('POST', path, update({ ip_address: free(99) }))
  assert.equal(reply.status, 200, reply.text)
  assert.equal(nicOf(WEB).ipaddress, free(99))
  assert.equal(reply.body.nics[0].ip_address, free(99))
  const picked = await api.done('POST', path, update({ virtual_machine_id: WEB }))
  assert.equal(picked.body.nics[0].ip_address, nicOf(WEB).ipaddress, picked.text)
  api.refused(await api.post(path, update({ ip_address: 'fd00::1' })), 'INVALID_REQUEST')
  api.refused(await api.post(path, update({ nic_id: NOBODY })), 'NIC_NOT_FOUND')
})

test('a primary address that another NIC of the network has is refused as the caller’s mistake', async () => {
  const { networkid } = nicOf(WEB)
  const [taken] = lab.platform.state.tables.vms
    .filter((vm) => vm.id !== WEB)
    .flatMap((vm) => vm.nics.filter((nic) => nic.networkid === networkid))
  assert.ok(taken !== undefined)
  await api.put('vms', WEB, { state: 'Stopped' })
  const body = { nic_id: nicOf(WEB).id, ip_address: taken.ipaddress }
  const reply = await api.done('POST', '/compute/vms/nic/ip/update', body)
  assert.deepEqual([reply.status, reply.body.code], [400, 'COMPUTE_CONFLICT'], reply.text)
})

test('a caller of one tenant reaches NICs of its own machines alone', async () => {
  const domain = lab.platform.state.tables.accounts.get(machine(WEB).accountid)?.domainid
  const token = await api.tokenOf(domain === wellKnown.domains.acme ? wellKnown.domains.globex : wellKnown.domains.acme)
  api.refused(await api.post('/compute/vms/nic/ip/add', { nic_id: nicOf(WEB).id }, token), 'NIC_NOT_FOUND')
  api.refused(await api.post('/compute/vms/nic/list', { virtual_machine_id: WEB }, token), 'VM_NOT_FOUND')
  api.refused(
    await api.post('/compute/vms/nic/set-default', { virtual_machine_id: WEB, nic_id: nicOf(WEB).id }, token),
    'VM_NOT_FOUND',
  )
  const made = await addTo(WEB)
  api.refused(
    await api.post('/compute/vms/nic/ip/remove', { secondary_ip_id: made.id }, token),
    'SECONDARY_IP_NOT_FOUND',
  )
  api.refused(await api.post('/compute/vms/nic/ip/update', { nic_id: nicOf(WEB).id }, token), 'NIC_NOT_FOUND')
})
