// Hardware settings over HTTP: the platform's map afterwards is exactly the intended one, whatever it was and whatever is asked.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { startControlPlane } from '../../bin/control-plane.ts'
import { wellKnown } from '../../lab/site.ts'
import { createLog } from '#src/kernel/log.ts'
import { callerFor } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab()
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
const CUSTOM = vms.gitlab
const update = (body: object, id = STOPPED) =>
  api.post('/compute/vms/settings/update', { virtual_machine_id: id, ...body })
const get = (id = STOPPED) => api.post('/compute/vms/settings/get', { virtual_machine_id: id })
const DETAILS = { keyboard: 'us', 'vendor.id': '42', leaseexpirydate: 'hidden' }

test('settings are read: curated, raw, hypervisor configuration, and what the machine can scale to', async () => {
  await api.put('vms', CUSTOM, {
    details: { ...machine(CUSTOM).details, ...DETAILS, UEFI: 'SECURE' },
    extraconfig: { 'extraconfig-1': '<cpu/>' },
  })
  const { status, body, text } = await get(CUSTOM)
  assert.equal(status, 200, text)
  assert.deepEqual([body.settings.boot, body.settings.keyboard, body.settings.tpm_model], ['SECURE', 'us', null])
  assert.deepEqual(body.details, { cpuNumber: '4', memory: '8192', keyboard: 'us', 'vendor.id': '42', UEFI: 'SECURE' })
  assert.deepEqual(body.extra_config, { 1: '<cpu/>' })
  assert.deepEqual([body.compute.is_custom, body.compute.live_scale, body.compute.cpu_cores], [true, true, 4])
  assert.ok(body.compute.offering_count > 1 && body.compute.offerings.length === body.compute.offering_count)
  const stopped = (await get()).body.compute
  assert.equal(stopped.live_scale, false)
  assert.match(stopped.live_scale_obstacles.join(' '), /does not run/)
  api.refused(await get(NOBODY), 'VM_NOT_FOUND')
})

test('allowed values are keyed by setting and by detail; an empty list is free', async () => {
  const { status, body, text } = await api.post('/compute/vms/settings/detail-options', {
    virtual_machine_id: STOPPED,
  })
  assert.equal(status, 200, text)
  assert.deepEqual(
    [body.settings.boot, body.details.UEFI, body.settings.video_ram],
    [['LEGACY', 'SECURE'], ['LEGACY', 'SECURE'], []],
  )
  api.refused(await api.post('/compute/vms/settings/detail-options', { virtual_machine_id: NOBODY }), 'VM_NOT_FOUND')
})

test('curated edits change what they name and nothing else', async () => {
  await api.put('vms', STOPPED, { details: DETAILS })
  const { status, body, text } = await update({
    settings: { nic_adapter: 'virtio', keyboard: null },
    display_name: 'Old CRM',
    group: 'old',
  })
  assert.equal(status, 200, text)
  assert.deepEqual([body.settings.nic_adapter, body.settings.keyboard], ['virtio', null])
  assert.deepEqual(machine(STOPPED).details, { 'vendor.id': '42', leaseexpirydate: 'hidden', nicAdapter: 'virtio' })
  assert.deepEqual([machine(STOPPED).displayname, machine(STOPPED).group], ['Old CRM', 'old'])
})

test('a whole map replaces the map; what the server keeps and what scaling owns survives', async () => {
  await api.put('vms', CUSTOM, { state: 'Stopped', details: { ...machine(CUSTOM).details, ...DETAILS } })
  const reply = await update({ details: { other: 'x' } }, CUSTOM)
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(machine(CUSTOM).details, { cpuNumber: '4', memory: '8192', other: 'x', leaseexpirydate: 'hidden' })
  const emptied = await update({ details: {} }, CUSTOM)
  assert.equal(emptied.status, 200, emptied.text)
  assert.deepEqual(machine(CUSTOM).details, { cpuNumber: '4', memory: '8192', leaseexpirydate: 'hidden' })
  api.refused(await update({ details: { cpuNumber: '9' } }, CUSTOM), 'SETTING_FORBIDDEN', /settings\/compute/)
  api.refused(await update({ details: { cpuNumber: '9' } }), 'SETTING_FORBIDDEN')
})

test('an empty map is written with the platform’s own word for it', async () => {
  await api.put('vms', STOPPED, { details: { keyboard: 'us' } })
  assert.equal((await update({ details: {} })).status, 200)
  assert.deepEqual(machine(STOPPED).details, {})
  const [call] = await api.calls('updateVirtualMachine')
  assert.equal(call?.cleanupdetails, 'true')
})

test('what changes nothing is not written', async () => {
  await api.put('vms', STOPPED, { details: DETAILS })
  assert.equal((await update({ settings: { keyboard: 'us' } })).status, 200)
  assert.equal((await api.calls('updateVirtualMachine')).length, 0)
})

test('a machine that is not stopped is refused unless forced', async () => {
  const id = vms['web-01']
  api.refused(await update({ settings: { keyboard: 'us' } }, id), 'VM_STATE', /Running; this needs Stopped/)
  assert.equal((await update({ settings: { keyboard: 'us' }, force: true }, id)).status, 200)
  assert.equal(machine(id).details['keyboard'], 'us')
  api.refused(await update({ settings: { keyboard: 'us' }, force: true }, vms['elastic-02']), 'VM_STATE')
})

test('values that the host would ignore, forbidden names and empty orders are refused, and nothing is written', async () => {
  api.refused(await update({ settings: { nic_adapter: 'e2000' } }), 'SETTING_INVALID', /nic_adapter.*e1000, virtio/)
  api.refused(await update({ settings: { tpm_model: 'tpm-crb', tpm_version: '1.2' } }), 'SETTING_INVALID', /2.0/)
  api.refused(await update({ details: { extraconfig: 'x' } }), 'SETTING_FORBIDDEN')
  api.refused(await update({ details: { 'extraconfig-1': 'x' } }), 'SETTING_FORBIDDEN')
  api.refused(await update({ details: { LeaseExpiryDate: 'x' } }), 'SETTING_FORBIDDEN')
  api.refused(await update({ details: { 'a[0]': 'x' } }), 'INVALID_REQUEST')
  api.refused(await update({ settings: { nicAdapter: 'virtio' } }), 'INVALID_REQUEST')
  api.refused(await update({}), 'INVALID_REQUEST')
  api.refused(await update({ extra_config: { a: 'no xml' } }), 'INVALID_REQUEST', /XML/)
  api.refused(await update({ display_name: 'x' }, NOBODY), 'VM_NOT_FOUND')
  assert.equal((await api.calls('updateVirtualMachine')).length, 0)
})

test('hypervisor configuration is set by name, replaced and removed; the rest stays', async () => {
  await api.put('vms', STOPPED, { details: { keyboard: 'us' }, extraconfig: { 'extraconfig-1': '<features/>' } })
  const xml = '<cputune>\n\n  <shares>10%+2&amp;</shares>\n</cputune>'
  const set = await update({ extra_config: { tune: xml, mem: '<memoryBacking/>' } })
  assert.equal(set.status, 200, set.text)
  assert.deepEqual(machine(STOPPED).extraconfig, {
    'extraconfig-1': '<features/>',
    'extraconfig-tune': '<cputune>\n  <shares>10%+2&amp;</shares>\n</cputune>',
    'extraconfig-mem': '<memoryBacking/>',
  })
  const changed = await update({ extra_config: { tune: null, mem: '<cpu/>', never: null } })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual(changed.body.extra_config, { 1: '<features/>', mem: '<cpu/>' })
  assert.deepEqual(machine(STOPPED).details, { keyboard: 'us' })
  api.refused(await update({ extra_config: { bad: '<hostdev/>' } }), 'COMPUTE_REJECTED', /extra_config.*does not allow/)
})

test('what the platform does not keep is said', async () => {
  const vm = machine(STOPPED)
  const { tables } = lab.platform.state
  const put = tables.vms.put.bind(tables.vms)
  tables.vms.put = (record) =>
    put(record.id === vm.id ? { ...record, details: { ...record.details, video: 'dropped' } } : record)
  try {
    const reply = await update({ settings: { keyboard: 'us' } })
    assert.deepEqual([reply.status, reply.body.code], [500, 'SETTINGS_NOT_KEPT'], reply.text)
    assert.match(reply.body.detail, /video/)
  } finally {
    tables.vms.put = put
  }
})

test('only admins of the whole site read or write settings', async () => {
  const body = { virtual_machine_id: STOPPED }
  const operator = (await lab.call('POST', '/auth/tokens', { name: 'op', role: 'operator' })).body.token
  const scoped = await api.tokenOf(wellKnown.domains.acme, 'admin').catch(() => null)
  for (const path of ['get', 'update', 'detail-options', 'compute']) {
    const reply = await api.post(
      `/compute/vms/settings/${path}`,
      { ...body, ...(path === 'update' ? { display_name: 'x' } : {}) },
      operator,
    )
    assert.deepEqual([reply.status, reply.body.code], [403, 'FORBIDDEN'], path)
    if (scoped === null) continue
    assert.equal((await api.post(`/compute/vms/settings/${path}`, body, scoped)).status, 403)
  }
})

test('a write that never arrives leaves the old map, and one whose answer is lost is read back and answered', async () => {
  await api.put('vms', STOPPED, { details: DETAILS })
  await api.control('fail', { command: 'updateVirtualMachine', code: 530, text: 'deadlock on db-1', times: 1 })
  const failed = await update({ settings: { nic_adapter: 'virtio' } })
  assert.deepEqual([failed.status, failed.body.code], [500, 'COMPUTE_ERROR'], failed.text)
  assert.deepEqual(machine(STOPPED).details, DETAILS)
  await api.control('lose-answer', { command: 'updateVirtualMachine', times: 1 })
  const lost = await update({ settings: { nic_adapter: 'virtio' } })
  assert.deepEqual([lost.status, lost.body.settings?.nic_adapter], [200, 'virtio'], lost.text)
  assert.deepEqual(machine(STOPPED).details, { ...DETAILS, nicAdapter: 'virtio' })
})

test('changes at the same moment, from two replicas, all stand afterwards', async () => {
  const log = createLog({ level: 'silent' })
  const second = await startControlPlane(lab.config, {
    connection: lab.database.connection,
    log,
    validate_answers: true,
    admin_token: 'first-start',
  })
  try {
    const other = callerFor(second.url, lab.token)
    const edits = [
      { keyboard: 'us' }, { nic_adapter: 'virtio' }, { video_hardware: 'qxl' }, { io_policy: 'native' }, { iothreads: 'enabled' },
      { cpu_mode: 'host-model' }, { video_ram: '16384' }, { nic_multiqueue: '4' },
    ] // biome-ignore format: a list
    await api.control('slow', { command: 'updateVirtualMachine', delay_ms: 60, times: 8 })
    const replies = await Promise.all(
      edits.map((settings, index) =>
        (index % 2 === 0 ? lab.call : other)('POST', '/compute/vms/settings/update', {
          virtual_machine_id: STOPPED,
          settings,
        }),
      ),
    )
    for (const reply of replies) assert.equal(reply.status, 200, reply.text)
    const { settings } = (await get()).body
    for (const edit of edits)
      for (const [name, value] of Object.entries(edit)) assert.equal(settings[name], value, name)
  } finally {
    await second.close()
  }
})

const FREE = fc
  .stringMatching(/^[a-zA-Z][A-Za-z0-9._:-]{0,20}$/)
  .filter((name) => !/^(extraconfig|lease)/i.test(name) && !isKnown(name))
const VALUE = fc
  .string({ minLength: 1, maxLength: 40, unit: 'grapheme' })
  .filter((text) => text.isWellFormed() && Array.from(text).every((one) => one >= ' ' && one !== '\u007f'))
const KNOWN: Record<string, [detail: string, values: string[]]> = {
  boot: ['UEFI', ['LEGACY', 'SECURE']],
  nic_adapter: ['nicAdapter', ['e1000', 'virtio']],
  keyboard: ['keyboard', ['uk', 'us']],
  cpu_mode: ['guest.cpu.mode', ['host-model']],
  video_ram: ['video.ram', ['16384', '65536']],
}
function isKnown(name: string): boolean {
  const taken = [
    'cpuNumber',
    'memory',
    'cpuSpeed',
    'rootDiskController',
    'video.hardware',
    'io.policy',
    'iothreads',
    '__proto__',
    'constructor',
  ]
  return (
    [...Object.values(KNOWN).map(([detail]) => detail), ...taken].includes(name) || /tpm|nic\.|guest\.cpu/.test(name)
  )
}
const KNOWN_MAP = fc.record(
  Object.fromEntries(Object.values(KNOWN).map(([detail, values]) => [detail, fc.constantFrom(...values)])),
  { requiredKeys: [] },
)
const MAP = fc
  .tuple(fc.dictionary(FREE, VALUE, { maxKeys: 6 }), KNOWN_MAP)
  .map(([free, known]) => ({ ...free, ...known }))
const EDIT = fc.record(
  {
    details: MAP,
    settings: fc.record(
      Object.fromEntries(
        Object.entries(KNOWN).map(([name, [, values]]) => [name, fc.option(fc.constantFrom(...values))]),
      ),
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
)

test('over any map and any edit, the platform’s map afterwards is exactly the intended one', async () => {
  await fc.assert(
    fc.asyncProperty(MAP, EDIT, fc.boolean(), async (before, edit, custom) => {
      const id = custom ? CUSTOM : STOPPED
      const own = custom ? { cpuNumber: '4', memory: '8192' } : {}
      const hidden = { leaseexpirydate: 'hidden' }
      await api.put('vms', id, {
        state: 'Stopped',
        details: { ...before, ...own, ...hidden },
        extraconfig: { 'extraconfig-1': '<cpu/>' },
      })
      if (Object.keys(edit).length === 0) return
      const reply = await update(edit, id)
      assert.equal(reply.status, 200, reply.text)
      // Said again, in the simplest words.
      const intended = Object.fromEntries(
        Object.entries(edit.details ?? before).filter((entry): entry is [string, string] => entry[1] !== undefined),
      )
      for (const [name, value] of Object.entries(edit.settings ?? {})) {
        const detail = KNOWN[name]?.[0] ?? ''
        if (value === null) delete intended[detail]
        else if (value !== undefined) intended[detail] = value
      }
      assert.deepEqual(machine(id).details, { ...intended, ...own, ...hidden })
      assert.deepEqual(machine(id).extraconfig, { 'extraconfig-1': '<cpu/>' })
      assert.deepEqual(reply.body.details, { ...intended, ...own })
    }),
    { numRuns: 120 },
  )
})
