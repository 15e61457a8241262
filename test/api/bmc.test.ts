// BMCs over the API against simulated ones of five kinds: what each operation answers, and every answer it documents.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SimulatedBmc } from '../../lab/redfish/server.ts'
import { BMC_CALLS, type BmcSite, codeOf, ISO_FILE, startBmcSite } from '../support/bmc-site.ts'
import type { Reply } from '../support/http.ts'
import { until } from '../support/until.ts'

let site: BmcSite
let generic: SimulatedBmc
let old: SimulatedBmc
let recent: SimulatedBmc
let newest: SimulatedBmc
let minimal: SimulatedBmc
before(async () => {
  site = await startBmcSite()
  generic = site.bmcs['generic-2023']
  old = site.bmcs['idrac9-5']
  recent = site.bmcs['idrac9-7']
  newest = site.bmcs.idrac10
  minimal = site.bmcs.minimal
})
after(() => site?.close())

async function jobEnds(reply: Reply): Promise<{
  job_status: string
  status: string
  failure_code: string | null
  steps: { name: string; status: string }[]
}> {
  const id: string = reply.body.correlation_id
  return until(`job ${id} ends`, async () => {
    const { body } = await site.lab.call('GET', `/jobs/${id}`)
    return body.job_status === 'running' ? undefined : body
  })
}

test('the power of every kind of BMC is read and changed, and the job verifies what came about', async () => {
  for (const bmc of Object.values(site.bmcs)) {
    const state = await site.ask(bmc, 'powerstate', { include_options: true })
    assert.deepEqual([state.status, state.body.power_on], [200, true], state.text)
    assert.ok(state.body.power_options.includes('ForceOff'))
    const off = await site.ask(bmc, 'poweraction', { reset_type: 'off' }, { headers: { prefer: 'wait=60' } })
    assert.deepEqual([off.status, off.body.status], [200, 'completed'], off.text)
    assert.equal(bmc.state.power, 'Off')
    const again = await site.ask(bmc, 'poweraction', { reset_type: 'ForceOff' })
    assert.deepEqual([again.status, again.body.status], [200, 'unchanged'], again.text)
    const on = await site.ask(bmc, 'bios/restart', {}, { headers: { prefer: 'wait=60' } })
    assert.deepEqual([on.status, on.body.status], [200, 'completed'], on.text)
    assert.equal(bmc.state.power, 'On')
  }
})

test('a reset type that a BMC does not take is refused with those it does, and nothing is sent', async () => {
  const before_calls = site.asked(generic).filter((line) => line.startsWith('POST')).length
  const reply = await site.ask(generic, 'poweraction', { reset_type: 'forceoff' })
  assert.equal(codeOf(reply), '400 INVALID_REQUEST')
  assert.match(reply.body.detail, /On, ForceOff.*did you mean ForceOff/)
  assert.equal(site.asked(generic).filter((line) => line.startsWith('POST')).length, before_calls)
})

test('an accepted action that does not come about fails its job with the next thing to do', async () => {
  generic.state.habits.hang_shutdown = true
  const accepted = await site.ask(generic, 'poweraction', { reset_type: 'GracefulShutdown' })
  assert.deepEqual([accepted.status, accepted.body.status], [200, 'accepted'], accepted.text)
  const second = await site.ask(generic, 'poweraction', { reset_type: 'ForceOff' })
  assert.equal(codeOf(second), '409 BMC_JOB_CONFLICT')
  assert.equal(codeOf(await site.ask(generic, 'bios/restart')), '409 BMC_JOB_CONFLICT')
  const job = await jobEnds(accepted)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'BMC_CHANGE_FAILED'])
  assert.match(job.status, /Switch it off with ForceOff/)
  const forced = await site.ask(
    generic,
    'bios/restart',
    { force_after_timeout: true },
    { headers: { prefer: 'wait=60' } },
  )
  assert.deepEqual([forced.status, forced.body.status], [200, 'completed'], forced.text)
  generic.state.habits.hang_shutdown = false
})

test('BIOS settings: options with types and allowed values, dependencies, hidden ones only when asked for', async () => {
  const { body, status } = await site.ask(recent, 'bios')
  assert.equal(status, 200)
  const option = (key: string) => body.bios_options.find((one: { key: string }) => one.key === key)
  assert.deepEqual(option('BootMode').allowed_values, ['Uefi', 'Legacy'])
  assert.deepEqual(option('SriovGlobalEnable').allowed_values, ['true', 'false'])
  assert.deepEqual([option('ProcCores').lower_bound, option('ProcCores').upper_bound], [2, 16])
  assert.equal(option('SriovGlobalEnable').read_only, true, 'while virtualization is off')
  assert.equal(option('SerialNumber').read_only, true)
  assert.equal(option('UefiVars'), undefined)
  assert.equal(body.bios_settings.ProcVirtualization, 'Disabled')
  const all = await site.ask(recent, 'bios', { include_hidden: true })
  assert.ok(all.body.bios_options.some((one: { key: string }) => one.key === 'UefiVars'))
})

test('a BIOS change is refused as a whole with a reason for each value, and nothing is sent', async () => {
  const wrong = {
    bootmode: 'Uefi',
    BootMode: 'Fast',
    ProcCores: 5,
    SerialNumber: 'X',
    SriovGlobalEnable: 'maybe',
    AssetTag: 'far too long',
  }
  const reply = await site.ask(recent, 'bios/patch', { attributes: wrong })
  assert.equal(codeOf(reply), '400 INVALID_REQUEST')
  const reasons = Object.fromEntries(
    reply.body.errors.map(({ path, message }: { path: string; message: string }) => [path.split('.').at(-1), message]),
  )
  assert.match(reasons.bootmode, /did you mean BootMode/)
  assert.match(reasons.BootMode, /one of Uefi, Legacy/)
  assert.match(reasons.ProcCores, /multiple of 2/)
  assert.match(reasons.SerialNumber, /read-only/)
  assert.match(reasons.SriovGlobalEnable, /true or false|read-only/)
  assert.match(reasons.AssetTag, /0 to 10 characters/)
  assert.deepEqual(recent.state.bios_pending, {})
})

for (const profile of ['generic-2023', 'idrac9-5', 'idrac9-7'] as const) {
  test(`${profile}: a BIOS change waits as pending, is applied by the restart, and its job ends when it is in force`, async () => {
    const bmc = site.bmcs[profile]
    bmc.state.habits.pending_as_current = true
    const changed = await site.ask(bmc, 'bios/patch', {
      attributes: { ProcVirtualization: 'Enabled', ProcCores: '8', SetupPassword: 'planted-setup-1' },
    })
    assert.equal(changed.status, 200, changed.text)
    assert.equal(changed.body.job_id, bmc.state.jobs.at(-1)?.id)
    assert.deepEqual(changed.body.attributes, { ProcVirtualization: 'Enabled', ProcCores: 8, SetupPassword: '' })
    const running = await site.lab.call('GET', `/jobs/${changed.body.correlation_id}`)
    assert.equal(running.body.job_status, 'running', 'values that are shown as current before they are do not end it')
    const second = await site.ask(bmc, 'bios/patch', { attributes: { BootMode: 'Legacy' } })
    assert.equal(codeOf(second), '409 BMC_JOB_CONFLICT')
    bmc.state.habits.pending_as_current = false
    const pending = await site.ask(bmc, 'bios/pending')
    assert.equal(pending.body.attributes.ProcCores, 8)
    assert.equal((await site.ask(bmc, 'bios/restart')).status, 200)
    const job = await jobEnds(changed)
    assert.equal(job.job_status, 'completed', job.status)
    assert.equal(bmc.state.bios.ProcCores, 8)
    const none = await site.ask(bmc, 'bios/patch', { attributes: { ProcCores: 8 } })
    assert.deepEqual([none.status, none.body.job_id], [200, ''], none.text)
  })
}

test('a BIOS job that the BMC fails, or that somebody deletes, ends ours with what to do', async () => {
  newest.state.habits.fail_jobs = true
  const changed = await site.ask(newest, 'bios/patch', { attributes: { BootMode: 'Legacy' } })
  assert.equal((await site.ask(newest, 'bios/restart', {}, { headers: { prefer: 'wait=60' } })).status, 200)
  const failed = await jobEnds(changed)
  assert.deepEqual([failed.job_status, failed.failure_code], ['failed', 'BMC_CHANGE_FAILED'])
  newest.state.habits.fail_jobs = false
  newest.state.bios_pending = {}
  newest.state.jobs = []
  const waiting = await site.ask(newest, 'bios/patch', { attributes: { AssetTag: 'A1' } })
  assert.equal((await site.ask(newest, 'jobs/deleteall')).body.status, 'completed')
  const deleted = await jobEnds(waiting)
  assert.deepEqual([deleted.job_status, deleted.failure_code], ['failed', 'BMC_CHANGE_FAILED'])
  assert.match(deleted.status, /Send the settings again/)
})

test('firmware is updated by the BMC, and the job ends when the version has changed', async () => {
  const before_version = recent.state.bios_version
  recent.state.habits.hold_updates = true
  const started = await site.ask(recent, 'bios/update', { image_uri: 'http://10.0.0.5/bios.exe' })
  assert.deepEqual([started.status, started.body.status], [200, 'accepted'], started.text)
  assert.equal(started.body.job_id, recent.state.jobs.at(-1)?.id)
  assert.equal(
    codeOf(await site.ask(recent, 'bios/update', { image_uri: 'http://10.0.0.5/bios.exe' })),
    '409 BMC_JOB_CONFLICT',
  )
  assert.equal(codeOf(await site.ask(recent, 'poweraction', { reset_type: 'ForceOff' })), '409 BMC_JOB_CONFLICT')
  assert.equal(codeOf(await site.ask(recent, 'iso/mount', BMC_CALLS['iso/mount'])), '409 BMC_JOB_CONFLICT')
  assert.equal(codeOf(await site.ask(recent, 'jobs/deleteall')), '409 BMC_JOB_CONFLICT')
  recent.state.habits.hold_updates = false
  const job = await jobEnds(started)
  assert.equal(job.job_status, 'completed', job.status)
  assert.notEqual(recent.state.bios_version, before_version)
})

test('an update whose BMC restarts in the middle, asks for a restart, has no effect or fails is said to have done so', async () => {
  const update = async (): Promise<Awaited<ReturnType<typeof jobEnds>>> =>
    jobEnds(await site.ask(old, 'bios/update', { image_uri: 'http://10.0.0.5/bios.exe' }))
  const { habits } = old.state
  habits.restart_in_update = true
  assert.equal((await update()).job_status, 'completed')
  habits.restart_in_update = false
  habits.update_needs_reset = true
  const needs_reset = await site.ask(
    old,
    'bios/update',
    { image_uri: 'http://10.0.0.5/bios.exe' },
    { headers: { prefer: 'wait=60' } },
  )
  assert.equal(needs_reset.body.status, 'completed_needs_reset', needs_reset.text)
  habits.update_needs_reset = false
  old.state.jobs = []
  habits.update_without_effect = true
  const without = await update()
  assert.deepEqual([without.job_status, without.steps.at(-1)?.status], ['completed', 'unverified'])
  habits.update_without_effect = false
  habits.fail_jobs = true
  const failed = await update()
  assert.deepEqual([failed.job_status, failed.failure_code], ['failed', 'BMC_CHANGE_FAILED'])
  assert.match(failed.status, /Check the image/)
  habits.fail_jobs = false
})

test('an image for an update must be one that the BMC can fetch, without credentials in its address', async () => {
  for (const image_uri of [
    'ftp://10.0.0.5/x.exe',
    'http://root:secret@10.0.0.5/x.exe',
    'http://127.0.0.1/x.exe',
    'no address',
  ]) {
    assert.equal(codeOf(await site.ask(recent, 'bios/update', { image_uri })), '400 INVALID_REQUEST', image_uri)
  }
})

for (const profile of ['generic-2023', 'idrac9-5', 'idrac9-7', 'idrac10'] as const) {
  test(`${profile}: a machine is started once from an image that its BMC fetches from us`, async () => {
    const bmc = site.bmcs[profile]
    const [slot] = bmc.state.media
    if (slot !== undefined && profile === 'idrac9-5') slot.image = 'http://10.0.0.5/left-over.iso'
    const reply = await site.ask(bmc, 'iso/mount', BMC_CALLS['iso/mount'])
    assert.deepEqual([reply.status, reply.body.status], [200, 'completed'], reply.text)
    assert.ok(bmc.state.booted_from.endsWith(`/${ISO_FILE}`), bmc.state.booted_from)
    assert.equal(bmc.state.boot.enabled, 'Disabled', 'the boot device was for one boot')
    assert.ok(reply.body.steps.some((step: string) => /fetches the image/.test(step)))
    assert.equal(
      reply.body.steps.some((step: string) => /ejected/.test(step)),
      profile === 'idrac9-5',
    )
    for (const media of bmc.state.media) media.image = null
  })
}

test('a mount that fails ends with what to do, the drive empty, the boot device reset and the address closed', async () => {
  recent.faults.add({
    kind: 'status',
    match: 'POST .*InsertMedia',
    status: 500,
    message_id: 'IDRAC.2.8.RAC0904',
    text: 'Unable to locate.',
    times: 3,
  })
  const reply = await site.ask(recent, 'iso/mount', BMC_CALLS['iso/mount'])
  assert.equal(reply.status, 500, reply.text)
  const { body } = await site.lab.call('GET', '/jobs?type=bmc.iso_mount&page_size=1')
  assert.match(JSON.stringify(body) + reply.text, /cannot fetch the image|could not mount|subsystem failed/)
  assert.ok(recent.state.media.every(({ image }) => image === null))
  assert.notEqual(recent.state.boot.enabled, 'Once')
})

test('an image that nobody fetches leaves its step unverified, and a service that knows no single boot is reset after it', async () => {
  generic.state.habits.skip_fetch = true
  generic.state.habits.continuous_boot = true
  const reply = await site.ask(generic, 'iso/mount', BMC_CALLS['iso/mount'])
  assert.deepEqual([reply.status, reply.body.status], [200, 'unverified'], reply.text)
  assert.equal(generic.state.boot.enabled, 'Disabled')
  generic.state.habits.skip_fetch = false
  generic.state.habits.continuous_boot = false
  for (const media of generic.state.media) media.image = null
})

test('images are files of the folder, under addresses of this service', async () => {
  const mount = (body: object) => site.ask(generic, 'iso/mount', { ...BMC_CALLS['iso/mount'], ...body })
  assert.equal(codeOf(await mount({ iso_file: 'missing.iso' })), '400 INVALID_REQUEST')
  assert.equal(codeOf(await mount({ iso_file: '../../etc/passwd.iso' })), '400 INVALID_REQUEST')
  assert.equal(codeOf(await mount({ control_node_ip: '192.0.2.9' })), '400 INVALID_REQUEST')
})

test('a boot image is given to who knows the secret of its operation, whole or in parts, and to nobody else', async () => {
  assert.equal(codeOf(await fetchImage('/boot/invented/small.iso')), '401 BOOT_IMAGE_REJECTED')
  assert.equal((await site.ask(newest, 'iso/mount', BMC_CALLS['iso/mount'])).status, 200)
  const path = new URL(newest.state.booted_from).pathname
  const whole = await fetchImage(path)
  assert.deepEqual([whole.status, whole.text.length], [200, 100_000])
  const part = await fetchImage(path, { range: 'bytes=10-19' })
  assert.deepEqual([part.status, part.text.length, part.headers.get('content-range')], [206, 10, 'bytes 10-19/100000'])
  assert.equal((await fetchImage(path, { range: 'bytes=-5' })).text.length, 5)
  assert.equal((await fetchImage(path, { range: 'bytes=100000-' })).status, 416)
  assert.equal((await fetchImage(path.replace(ISO_FILE, 'other.iso'))).status, 401)
  for (const media of newest.state.media) media.image = null
})

async function fetchImage(path: string, headers: Record<string, string> = {}): Promise<Reply> {
  return site.lab.call('GET', path, undefined, { token: null, headers })
}

test('the newest five jobs of a BMC are listed by the number in their id, and all are deleted or those left named', async () => {
  const { state } = recent
  const job = (number: bigint) => ({
    id: `JID_${number}`,
    name: 'Configure',
    state: 'Completed',
    percent: 100,
    message: '',
    made_at: '',
  })
  state.jobs = [9n, 732n, 100_000_000_000n, 11n, 12n, 13n].map(job)
  const list = await site.ask(recent, 'jobs/list', { detail: true })
  assert.deepEqual(list.body.jobs, ['JID_100000000000', 'JID_732', 'JID_13', 'JID_12', 'JID_11'])
  assert.equal(list.body.details[0].state, 'Completed')
  state.habits.resist_clear = true
  const partial = await site.ask(recent, 'jobs/deleteall')
  assert.deepEqual(
    [partial.status, partial.body.status, partial.body.remaining.length],
    [200, 'partial', 6],
    partial.text,
  )
  const forced = await site.ask(recent, 'jobs/deleteall', { force: true })
  assert.deepEqual([forced.body.status, forced.body.remaining, state.ready], ['completed', [], true], forced.text)
  state.habits.resist_clear = false
  const other = await site.ask(generic, 'jobs/deleteall')
  assert.deepEqual([other.status, other.body.status], [200, 'completed'], other.text)
})

test('an inventory has every branch, is stored, and says what has changed; a branch that fails loses no other', async () => {
  const first = await site.ask(recent, 'collect')
  assert.deepEqual([first.status, first.body.complete, first.body.changes], [200, true, []], first.text.slice(0, 500))
  const { system, cpu, memory, drives, nics, psu, firmware, manager, capabilities } = first.body
  assert.equal(system.sku, recent.state.serial)
  assert.deepEqual(
    [cpu.length, memory.dimms.length, drives[0].serial, psu.length],
    [2, 2, `D${recent.state.serial}`, 1],
  )
  assert.deepEqual(
    nics.map((nic: { virtual: boolean }) => nic.virtual),
    [false, false, true],
  )
  assert.match(nics[0].mac, /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
  assert.ok(firmware.every(({ id }: { id: string }) => !id.startsWith('Previous')))
  assert.ok(Math.abs(manager.drift_seconds) < 60)
  assert.deepEqual(
    [capabilities.dialect, capabilities.job_source, capabilities.media_slots],
    ['vendora-9', 'oem', ['1', '2']],
  )
  recent.state.bios_version = '9.9.9'
  recent.faults.add({ kind: 'status', match: 'GET .*/Memory$', status: 500, times: 3 })
  const second = await site.ask(recent, 'collect')
  assert.equal(second.body.complete, false)
  assert.equal(second.body.branches.find((one: { name: string }) => one.name === 'memory').status, 'unavailable')
  assert.deepEqual(second.body.changes, [
    'system bios_version: 2.1.1 became 9.9.9',
    'firmware Installed-159 version: 2.1.1 became 9.9.9',
  ])
  assert.equal(second.body.drives.length, 1)
})

test('what a BMC does not have is 422, for every operation that needs it', async () => {
  for (const path of [
    'bios',
    'bios/patch',
    'bios/pending',
    'bios/update',
    'iso/mount',
    'jobs/list',
    'jobs/deleteall',
  ]) {
    assert.equal(codeOf(await site.ask(minimal, path, BMC_CALLS[path])), '422 BMC_UNSUPPORTED', path)
  }
})

test('a secret BIOS value stands in no row of a job, in no event and in no line of log', async () => {
  assert.ok(!site.lab.logs().includes('planted-setup-1'))
  for (const path of ['/jobs?page_size=500', '/events/app-events']) {
    const { text } = await site.lab.call(
      path === '/events/app-events' ? 'POST' : 'GET',
      path,
      path === '/events/app-events' ? {} : undefined,
    )
    assert.ok(!text.includes('planted-setup-1'), path)
  }
})
