// The life of the NVR over HTTP: from its order to a camera that sends frames, its password, further cameras, its end, and what a
// person is told when a part of it fails.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Job } from '#src/contract/jobs.ts'
import type { CamInstance } from '#src/contract/cam/instance.ts'
import { type CameraLab, startCamera } from '../../lab/camera/server.ts'
import { addCameraSite, type CameraSite } from '../../lab/nvr/camera-site.ts'
import { type NvrMachines, runNvrMachines } from '../../lab/nvr/machines.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { onDatabase } from '../support/test-database.ts'

const CAMERA_PASSWORD = 'p %@:/{}é"\'#'
let lab: Lab
let site: CameraSite
let machines: NvrMachines
let camera: CameraLab
const TEMPLATE = 'groundplane-nvr'

before(async () => {
  lab = await startLab({
    time: 'auto',
    config: {
      cam: {
        camera_networks: ['127.0.0.0/9', '192.0.2.0/24'],
        watch_ms: 100,
        template_url: 'http://192.0.2.1/nvr.qcow2',
      },
    },
  })
  const subnet = `127.${20 + (process.pid % 40)}.${Math.floor(process.pid / 40) % 250}`
  site = addCameraSite(lab.platform.state, { template: TEMPLATE, subnet })
  // The tests register it themselves.
  const { templates } = lab.platform.state.tables
  for (const { id } of templates.filter(({ name }) => name === TEMPLATE)) templates.remove(id)
  camera = await startCamera({
    address: `${site.subnet}.201`,
    username: 'viewer',
    password: CAMERA_PASSWORD,
    lock_after: 3,
  })
  machines = runNvrMachines(lab.platform, { template: TEMPLATE, restart: { down_ms: 100, starting_ms: 100 } })
})
after(async () => {
  await machines.close()
  await camera.close()
  await lab.close()
})

const order = (change: Record<string, unknown> = {}) => ({
  camera_ip: camera.address, username: 'viewer', password: CAMERA_PASSWORD, network_id: site.network_id, vgpu_profile_id: '', cores: 2, memory_mb: 4096,
  gpu_count: 0, recording_disk_gb: 50, ...change,
}) // biome-ignore format: one record

const current = async (): Promise<CamInstance | null> => (await lab.call('GET', '/cam/current')).body
const rowsOf = <R extends object>(text: string): Promise<R[]> =>
  onDatabase(lab.database.connection, async (client) => (await client.query<R>(text)).rows)
const job = async (id: string): Promise<Job> => {
  let found: Job | undefined
  await until(
    `job ${id} to end`,
    async () => {
      found = (await lab.call('GET', `/jobs/${id}`)).body as Job
      return found.job_status !== 'running'
    },
    60_000,
  )
  if (found === undefined) throw new Error('no job')
  return found
}

test('without an NVR there is nothing to be shown, retried or deleted', async () => {
  assert.deepEqual([(await lab.call('GET', '/cam/current')).status, await current()], [200, null])
  assert.equal((await lab.call('POST', '/cam/current/retry')).status, 404)
  assert.equal((await lab.call('DELETE', '/cam/current?confirm=x&disks=keep')).status, 404)
  assert.equal((await lab.call('POST', '/cam/current/admin-password/ack')).status, 404)
  const create = await lab.call('POST', '/cam/cameras', {
    id: 'yard',
    camera_ip: `${site.subnet}.250`,
    username: 'a',
    password: 'b',
  })
  assert.deepEqual([create.status, create.body.code], [404, 'CAM_NOT_INITIALIZED'])
  assert.equal((await lab.call('DELETE', '/cam/cameras/yard')).status, 404)
})

test('a probe answers the streams with the login inside, and tells apart what it cannot probe', async () => {
  const probe = (ip: string, password: string) =>
    lab.call('POST', '/cam/cameras/probe', { ip, username: 'viewer', password })
  const { status, body } = await probe(camera.address, CAMERA_PASSWORD)
  assert.deepEqual([status, body.model, body.profiles.length], [200, '1080', 2])
  assert.ok(
    body.main_stream_url.startsWith(`rtsp://viewer:p%20%25%40%3A%2F%7B%7D%C3%A9%22%27%23@${camera.address}:8554/`),
  )
  const wrong = await probe(camera.address, 'wrong')
  assert.deepEqual([wrong.status, wrong.body.code], [401, 'CAM_ONVIF_CREDS_REJECTED'])
  assert.ok(!wrong.text.includes('viewer') && camera.logins.failures === 1)
  camera.model.mode = 'no-media'
  assert.deepEqual([(await probe(camera.address, 'x')).status, camera.logins.failures], [422, 1])
  camera.model.mode = 'normal'
  const nobody = await probe(`${site.subnet}.250`, 'x')
  assert.deepEqual([nobody.status, nobody.body.code], [502, 'CAM_ONVIF_UNREACHABLE'])
})

test('an order that cannot be carried out is refused before anything is made', async () => {
  const refused = async (change: Record<string, unknown>) => {
    const { status, body } = await lab.call('POST', '/cam/initialize', order(change))
    return [status, body.code]
  }
  for (const camera_ip of ['169.254.169.254', '127.200.0.1', '8.8.8.8', '::1', '::ffff:169.254.169.254']) {
    assert.deepEqual(await refused({ camera_ip }), [400, 'CAM_ADDRESS_REFUSED'], camera_ip)
    const probe = await lab.call('POST', '/cam/cameras/probe', { ip: camera_ip, username: 'a', password: 'b' })
    assert.deepEqual([probe.status, probe.body.code], [400, 'CAM_ADDRESS_REFUSED'], camera_ip)
  }
  assert.deepEqual(await refused({ main_stream_url: 'rtsp://8.8.8.8/x' }), [400, 'CAM_ADDRESS_REFUSED'])
  for (const main_stream_url of ['exec:ls', 'rtsp://camera.example/x', 'rtsp://127.0.0.1/a b']) {
    assert.deepEqual(await refused({ main_stream_url }), [400, 'CAM_INVALID_REQUEST_PAYLOAD'], main_stream_url)
  }
  assert.deepEqual(await refused({ network_id: 'none' }), [400, 'NETWORK_NOT_FOUND'])
  assert.deepEqual(await refused({ gpu_count: 1 }), [400, 'CAM_INVALID_REQUEST_PAYLOAD'])
  assert.deepEqual(await refused({ gpu_count: 7, vgpu_profile_id: 'none' }), [400, 'SERVICE_OFFERING_NOT_FOUND'])
  assert.equal(await current(), null)
})

test('a provisioning without a template says so, and goes on when the template is there', async () => {
  const template = async (method = 'GET') => (await lab.call(method, '/cam/template')).body
  assert.equal((await template()).state, 'missing')
  const login = { username: 'viewer', password: CAMERA_PASSWORD }
  const probed = await lab.call('POST', '/cam/cameras/probe', { ip: camera.address, ...login })
  const { main_stream_url, sub_stream_url } = probed.body
  const accepted = await lab.call('POST', '/cam/initialize', order({ main_stream_url, sub_stream_url }))
  assert.equal(accepted.status, 202, accepted.text)
  assert.deepEqual([accepted.body.state, accepted.body.status], ['provisioning', 'IN_PROGRESS'])
  assert.equal((await job(accepted.body.job_id)).job_status, 'failed')
  const failed = await current()
  assert.equal(failed?.state, 'failed')
  assert.match(failed?.error_message ?? '', /no template groundplane-nvr/)
  assert.match(failed?.next_action ?? '', /POST \/cam\/template/)
  assert.equal((await lab.call('POST', '/cam/initialize', order())).body.code, 'CAM_ALREADY_INITIALIZED')
  const { tables } = lab.platform.state
  for (const [kind, says] of [
    ['zones', 'The platform has no zone.'],
    ['ostypes', 'The platform knows no operating system Debian GNU/Linux 12 (64-bit) (cam.template_os).'],
  ] as const) {
    const rows = [...tables[kind].values()]
    for (const { id } of rows) tables[kind].remove(id)
    const refused = await lab.call('POST', '/cam/template')
    for (const row of rows) tables[kind].put(row as never)
    assert.deepEqual([refused.body.code, refused.body.detail], ['RESOURCE_NOT_FOUND', says], refused.text)
  }
  assert.equal((await template('POST')).state, 'downloading')
  const { template_id } = await template('POST')
  assert.equal(tables.templates.filter(({ name }) => name === 'groundplane-nvr').length, 1)
  const broken = tables.templates.get(template_id)
  if (broken !== null)
    tables.templates.put({ ...broken, status: 'Connection refused', downloadstate: 'DOWNLOAD_ERROR' })
  assert.equal((await template()).state, 'failed')
  const again = await template('POST')
  assert.deepEqual([again.state, again.template_id === template_id], ['downloading', false])
  const retried = await lab.call('POST', '/cam/current/retry')
  assert.equal(retried.status, 202, retried.text)
  assert.equal((await lab.call('POST', '/cam/current/retry')).body.code, 'CAM_STATE')
  assert.equal((await lab.call('DELETE', `/cam/current?confirm=${failed?.id}&disks=keep`)).body.code, 'CAM_JOB_RUNNING')
  const ended = await job(retried.body.job_id)
  assert.equal(ended.job_status, 'completed', ended.status)
  const running = await current()
  assert.deepEqual(
    [running?.state, running?.error_message, running?.next_action, running?.nvr_version, running?.job_id],
    ['running', '', '', '0.17.2', null],
  )
  assert.match(running?.vm_ip_address ?? '', new RegExp(`^${site.subnet}`))
  assert.equal((await template()).state, 'ready')
})

test('the passwords of camera and NVR are in the NVR alone, and shown to admins alone', async () => {
  const [nvr] = machines.running.values()
  assert.ok(nvr?.state.file.includes('rtsp://viewer:p%20%25%40%3A%2F%7B%7D%C3%A9%22%27%23@'))
  assert.ok(nvr?.state.file.includes('camera-1_live') === false, 'H.264 is shown as it is')
  const row = await current()
  const password = row?.nvr_admin_password ?? ''
  assert.equal(password, nvr?.state.users.get('admin')?.password)
  const { body } = await lab.call('POST', '/auth/tokens', { name: 'watch', role: 'viewer' })
  const seen = await lab.call('GET', '/cam/current', undefined, { token: body.token })
  assert.equal(seen.body.nvr_admin_password, null)
  const audit = await lab.call('GET', '/auth/audit?operation=nvrGet')
  assert.ok(audit.body.count > 0)
  const rows = await rowsOf<{ text: string }>(
    "select coalesce(string_agg(t::text, ' '), '') as text from (select j::text as t from job j union all select s::text from job_step s union all select e::text from app_event e union all select l::text from job_event l union all select c::text from cam_camera c union all select i::text from cam_instance i) t",
  )
  const written = `${rows[0]?.text} ${lab.logs()}`
  for (const secret of [CAMERA_PASSWORD, 'p%20%25%40', password]) assert.ok(!written.includes(secret), secret)
})

test('a password that the NVR refuses changes nothing; a new one with all kinds of characters is stored and used', async () => {
  const rotate = (new_password: string) => lab.call('POST', '/cam/current/admin-password', { new_password })
  assert.deepEqual([(await rotate('short')).status, (await rotate('short')).body.code], [400, 'CAM_PASSWORD_INVALID'])
  // Twelve for us and six for the NVR, which counts them in another way.
  const refused = await rotate('\u{1F512}'.repeat(6))
  const says = 'The NVR does not accept this password; choose another.'
  assert.deepEqual([refused.status, refused.body.code, refused.body.detail], [400, 'CAM_PASSWORD_INVALID', says])
  const before = (await current())?.nvr_admin_password
  assert.equal((await lab.call('POST', '/cam/current/admin-password/ack')).status, 200)
  const rotated = await rotate(`${CAMERA_PASSWORD}-long`)
  assert.deepEqual([rotated.status, rotated.body], [200, { admin_password_acknowledged: true }], rotated.text)
  assert.notEqual((await current())?.nvr_admin_password, before)
  const [nvr] = machines.running.values()
  assert.equal(nvr?.state.users.get('admin')?.password, `${CAMERA_PASSWORD}-long`)
  const verify = (password: string) => lab.call('POST', '/cam/current/admin-password/verify', { password })
  assert.deepEqual([(await verify('wrong')).status, (await verify('wrong')).body.code], [401, 'CAM_PASSWORD_REJECTED'])
  const admin = nvr?.state.users.get('admin')
  if (admin !== undefined) admin.password = 'changed by hand %1'
  assert.equal((await verify('changed by hand %1')).status, 200)
  assert.equal((await current())?.nvr_admin_password, 'changed by hand %1')
})

test('cameras are added and removed while what people wrote into the configuration stays', async () => {
  const [nvr] = machines.running.values()
  if (nvr === undefined) throw new Error('no NVR')
  nvr.state.file = nvr.state.file.replace('mqtt:', '# by hand\nmqtt:')
  const yard = {
    id: 'yard',
    name: 'Yard: "é"',
    camera_ip: `${site.subnet}.250`,
    username: 'viewer',
    password: CAMERA_PASSWORD,
    camera_manufacturer: 'AXIS Communications',
  }
  assert.equal((await lab.call('POST', '/cam/cameras', { ...yard, id: '__proto__' })).status, 400)
  assert.equal((await lab.call('POST', '/cam/cameras', { ...yard, id: 'x_sub' })).status, 400)
  assert.equal(
    (await lab.call('POST', '/cam/cameras', { ...yard, camera_ip: '127.200.0.1' })).body.code,
    'CAM_ADDRESS_REFUSED',
  )
  const added = await lab.call('POST', '/cam/cameras', yard)
  assert.equal(added.status, 202, added.text)
  assert.equal((await job(added.body.job_id)).job_status, 'completed')
  assert.ok(nvr.state.file.includes('# by hand') && nvr.state.file.includes('.250/axis-media/media.amp'))
  assert.deepEqual([...nvr.state.cameras.keys()], ['camera-1', 'yard'])
  assert.equal((await lab.call('POST', '/cam/cameras', yard)).body.code, 'CAM_CAMERA_EXISTS')
  const removed = await lab.call('DELETE', '/cam/cameras/yard')
  assert.equal((await job(removed.body.job_id)).job_status, 'completed')
  assert.deepEqual([...nvr.state.cameras.keys()], ['camera-1'])
  assert.equal((await lab.call('DELETE', '/cam/cameras/yard')).body.code, 'CAM_CAMERA_NOT_FOUND')
  assert.ok(nvr.state.file.includes('# by hand') && !nvr.state.file.includes('yard'))
})

test('a configuration that the NVR does not accept leaves it as it was', async () => {
  const [nvr] = machines.running.values()
  if (nvr === undefined) throw new Error('no NVR')
  const good = nvr.state.file
  nvr.state.file = good.replace('mqtt:', 'unknown_key: 1\nmqtt:')
  const added = await lab.call('POST', '/cam/cameras', {
    id: 'yard',
    camera_ip: `${site.subnet}.250`,
    username: 'a',
    password: 'b',
  })
  const ended = await job(added.body.job_id)
  assert.equal(ended.job_status, 'failed')
  assert.match(ended.status, /does not accept its configuration/)
  assert.ok(!nvr.state.file.includes('yard'))
  nvr.state.file = good
  const rows = await rowsOf<{ id: string }>('select id from cam_camera')
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['camera-1'],
  )
})

test('the state follows the machine and the NVR, and reaches the stream of events', async () => {
  const [nvr] = machines.running.values()
  const row = await current()
  if (nvr === undefined || row === null) throw new Error('no NVR')
  const is = (state: string) => until(`the NVR to be ${state}`, async () => (await current())?.state === state)
  await nvr.setPhase('down')
  await is('unreachable')
  assert.match((await current())?.error_message ?? '', /does not answer/)
  assert.equal((await lab.call('POST', '/cam/current/admin-password/verify', { password: 'x' })).body.code, 'CAM_STATE')
  assert.equal(
    (await lab.call('POST', '/cam/cameras', { id: 'a', camera_ip: '127.0.0.9', username: 'a', password: 'b' })).body
      .code,
    'CAM_STATE',
  )
  const deleted = await lab.call('DELETE', '/cam/cameras/camera-1')
  assert.deepEqual([deleted.status, deleted.body.code], [409, 'CAM_STATE'])
  await nvr.setPhase('ready')
  await is('running')
  await nvr.setPhase('starting')
  await is('restarting')
  await nvr.setPhase('ready')
  await is('running')
  const admin = nvr.state.users.get('admin')
  if (admin !== undefined) admin.password = 'lost by hand 12'
  nvr.state.jwt_secret.fill(7)
  await until('the rejected password to be reported', async () =>
    /rejects the stored password/.test((await current())?.error_message ?? ''),
  )
  assert.equal(
    (await lab.call('POST', '/cam/current/admin-password', { new_password: 'a long enough one' })).body.code,
    'CAM_AUTH_FAILED',
  )
  assert.equal(
    (await lab.call('POST', '/cam/current/admin-password/verify', { password: 'lost by hand 12' })).status,
    200,
  )
  await until('all to be well', async () => (await current())?.error_message === '')
  const stopped = await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: row.vm_id })
  assert.equal(stopped.status, 200, stopped.text)
  await is('stopped')
  await until('the machine to have stopped', () => lab.platform.state.tables.vms.get(row.vm_id)?.state === 'Stopped')
  const started = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: row.vm_id })
  assert.equal(started.status, 200, started.text)
  const rows = await rowsOf<{ data: { new_state: string } }>(
    "select data from stream_event where type = 'nvr-state' order by position",
  )
  for (const state of ['running', 'unreachable', 'restarting', 'stopped'])
    assert.ok(
      rows.some(({ data }) => data.new_state === state),
      state,
    )
})

test('what was seen of the NVR does not replace a state that was written while it was looked at', async () => {
  const is = (state: string) => until(`the NVR to be ${state}`, async () => (await current())?.state === state)
  // The test before this one ends with its start.
  await is('running')
  const [nvr] = machines.running.values()
  if (nvr === undefined) throw new Error('no NVR')
  await onDatabase(lab.database.connection, async (client) => {
    await client.query('begin')
    await client.query('select from cam_instance for update')
    await nvr.setPhase('down')
    await until('the watcher wants to write that nobody answers', async () => {
      const waiting = await rowsOf(`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%cam_instance%'`)
      return waiting.length > 0
    })
    await client.query("update cam_instance set state = 'restarting', changed_at = now() - interval '1 minute'")
    await client.query('commit')
  })
  await nvr.setPhase('ready')
  await is('running')
  const [change] = await rowsOf<{ data: { old_state: string } }>(
    "select data from stream_event where type = 'nvr-state' order by position desc limit 1",
  )
  assert.equal(change?.data.old_state, 'restarting')
})

test('an NVR is deleted once its id is confirmed, and its recordings stay or go as was chosen', async () => {
  const row = await current()
  assert.equal((await lab.call('DELETE', '/cam/current?confirm=other&disks=keep')).status, 400)
  const disks = () =>
    lab.platform.state.tables.volumes.filter(({ name, type }) => type === 'DATADISK' && name.includes('DATA')).length
  const before = disks()
  const removed = await lab.call('DELETE', `/cam/current?confirm=${row?.id}&disks=keep`, undefined, {
    headers: { prefer: 'wait=60' },
  })
  assert.equal(removed.status, 202, removed.text)
  const ended = await job(removed.body.job_id)
  assert.match(ended.status, /recordings stay on/)
  assert.equal(await current(), null)
  assert.deepEqual([disks(), lab.platform.state.tables.vms.get(row?.vm_id ?? '')], [before, null])
})
