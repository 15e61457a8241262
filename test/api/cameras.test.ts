// Cameras of a real driver against the simulated NVR: the list, switches, frames, recording with its restart, and what callers
// get while the NVR is not what it should be.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { areas } from '#src/contract/index.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { type CameraLab, startCameraLab } from '../support/camera-lab.ts'
import type { Reply } from '../support/http.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let lab: CameraLab
before(async () => {
  lab = await startCameraLab()
})
after(() => lab?.close())
afterEach(async () => {
  await lab.nvrControl('phase', { phase: 'ready' })
  await lab.nvrControl('reset')
})

const post = (path: string, body?: unknown): Promise<Reply> => lab.call('POST', `/cam/cameras/${path}`, body)

function refused({ status, body, text }: Reply, expected: number, code: string): void {
  assert.deepEqual([status, body?.code], [expected, code], text)
}

async function shown(id: string): Promise<Record<string, unknown>> {
  const { body } = await lab.call('GET', '/cam/cameras')
  return body.find((camera: { id: string }) => camera.id === id)
}

test('the list shows each camera with its switches, its counters, and the stream that the live view uses', async () => {
  const { status, body, text } = await lab.call('GET', '/cam/cameras')
  assert.equal(status, 200, text)
  assert.deepEqual(body.map((camera: { id: string }) => camera.id), ['gate', 'yard', 'depot']) // biome-ignore format: one line
  const [gate, yard, depot] = body
  assert.deepEqual([gate.detect_enabled, gate.motion_enabled, gate.record_enabled], [true, true, true])
  assert.deepEqual([gate.audio_configured, yard.audio_configured], [true, false])
  assert.deepEqual([gate.live_source, depot.live_source], ['main', 'reencoded'])
  assert.deepEqual([gate.detect_width, gate.detect_height], [640, 360])
  assert.ok(gate.camera_fps > 0, text)
  assert.ok(!text.includes('rtsp:'), 'no stream address')
})

test('a switch holds when it is answered, and detection takes motion with it as the NVR does', async () => {
  const off = await post('gate/detect', { enabled: false })
  assert.deepEqual([off.status, off.body.detect_enabled, off.body.motion_enabled], [200, false, true], off.text)
  assert.equal((await post('gate/motion', { enabled: false })).body.motion_enabled, false)
  assert.equal((await shown('gate')).motion_enabled, false)
  const on = await post('gate/detect', { enabled: true })
  assert.deepEqual([on.body.detect_enabled, on.body.motion_enabled], [true, true])
  const audio = await post('gate/audio', { enabled: false })
  assert.deepEqual([audio.status, audio.body.audio_enabled], [200, false], audio.text)
  assert.equal((await post('gate/audio', { enabled: true })).body.audio_enabled, true)
  // The same once more changes nothing.
  assert.equal((await post('gate/audio', { enabled: true })).status, 200)
})

test('a switch that the NVR would refuse in silence is 400 with the reason, and so is one it does refuse', async () => {
  const motion = await post('gate/motion', { enabled: false })
  refused(motion, 400, 'CAM_TOGGLE_REFUSED')
  assert.match(motion.body.detail, /gate.*object detection is on/)
  const audio = await post('yard/audio', { enabled: true })
  refused(audio, 400, 'CAM_TOGGLE_REFUSED')
  assert.match(audio.body.detail, /yard.*no stream/)
})

test('a switch without a wish, or of a camera that the NVR does not have, is 400', async () => {
  for (const name of ['audio', 'detect', 'motion', 'recording']) {
    refused(await post(`gate/${name}`, {}), 400, 'CAM_INVALID_REQUEST_PAYLOAD')
    const unknown = await post(`ghost/${name}`, { enabled: true })
    refused(unknown, 400, 'CAM_CAMERA_NOT_FOUND')
    assert.match(unknown.body.detail, /ghost.*gate, yard, depot/)
  }
})

test('the newest frame is a JPEG, and an unknown camera is never asked for', async () => {
  const frame = await fetch(`${lab.url}/cam/cameras/gate/latest`, { headers: { authorization: `Bearer ${lab.token}` } })
  const bytes = Buffer.from(await frame.arrayBuffer())
  assert.deepEqual([frame.status, frame.headers.get('content-type')], [200, 'image/jpeg'])
  assert.deepEqual([...bytes.subarray(0, 3)], [0xff, 0xd8, 0xff])
  refused(await lab.call('GET', '/cam/cameras/ghost/latest'), 400, 'CAM_CAMERA_NOT_FOUND')
  refused(await lab.call('GET', '/cam/cameras/..%2Fconfig/latest'), 400, 'CAM_INVALID_REQUEST_PAYLOAD')
})

async function stateOf(): Promise<string> {
  const state = await onDatabase(lab.database.connection, (client) =>
    client.query<{ state: string }>('select state from cam_instance'),
  )
  return state.rows[0]?.state ?? 'none'
}

async function jobOf(id: string): Promise<Record<string, unknown>> {
  return (await lab.call('GET', `/jobs/${id}`)).body
}

test('recording off is answered at once and is a restart that the event follows until the stream is back', async () => {
  const { status, body, text } = await post('yard/recording', { enabled: false })
  assert.deepEqual([status, body.restarting, body.record_enabled, body.status], [200, true, false, 'IN_PROGRESS'], text)
  assert.equal(await stateOf(), 'restarting')
  refused(await post('gate/recording', { enabled: false }), 400, 'CAM_JOB_RUNNING')
  await until('the NVR is away', () => lab.nvr.phase() === 'down')
  refused(await lab.call('GET', '/cam/cameras'), 502, 'NVR_UNAVAILABLE')
  await lab.nvrControl('phase', { phase: 'starting' })
  refused(await lab.call('GET', '/cam/stats'), 502, 'NVR_ERROR')
  assert.equal((await jobOf(body.job_id)).job_status, 'running')
  await lab.nvrControl('phase', { phase: 'ready' })
  await until('the job has ended', async () => (await jobOf(body.job_id)).job_status === 'completed')
  assert.equal(await stateOf(), 'running')
  const yard = await shown('yard')
  assert.deepEqual([yard.record_enabled, yard.record_configured], [false, false])
  const { body: events } = await lab.call('POST', '/events/app-events', { action: 'cameraRecordingSet' })
  const event = events.app_events.find((row: { correlation_id: string }) => row.correlation_id === body.job_id)
  assert.deepEqual([event.status, event.progress, event.resource_uuid], ['SUCCESS', 100, 'yard'])
  // What is so already needs no restart.
  const again = await post('yard/recording', { enabled: false })
  assert.deepEqual([again.status, again.body.restarting, again.body.status], [200, false, 'SUCCESS'], again.text)
})

test('whoever waits for recording learns that the NVR refuses the configuration, and everything is as before', async () => {
  const fault = { command: '/api/config/set', code: 400, text: 'Error parsing config.', times: 1 }
  await lab.nvrControl('fail', fault)
  const headers = { prefer: 'wait=60' }
  const reply = await lab.call('POST', '/cam/cameras/gate/recording', { enabled: false }, { headers })
  refused(reply, 400, 'CAM_CONFIG_REJECTED')
  assert.match(reply.body.detail, /gate does not record/)
  assert.ok(!reply.text.includes('Error parsing'))
  assert.equal(await stateOf(), 'running')
  assert.deepEqual([lab.nvr.phase(), (await shown('gate'))['record_enabled']], ['ready', true])
})

test('a login that expires is renewed once for all calls, and nobody notices', async () => {
  assert.equal((await lab.call('GET', '/cam/stats')).status, 200)
  await lab.nvrControl('expire-sessions')
  const replies = await Promise.all(Array.from({ length: 20 }, () => lab.call('GET', '/cam/cameras')))
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  const calls = ((await (await fetch(`${lab.nvr.control_url}/calls`)).json()) as { calls: { command: string }[] }).calls
  const logins = calls.filter(({ command }) => command === '/api/login').length
  assert.ok(logins >= 1 && logins <= 2, `${logins} logins`)
  await lab.nvrControl('expire-sessions')
  assert.equal((await post('gate/detect', { enabled: true })).status, 200)
})

const READS = areas
  .filter(({ name }) => ['cameras', 'camera-recordings', 'camera-events', 'camera-faces'].includes(name))
  .flatMap(({ routes }) => Object.entries<RouteSpec>(routes))

/** Calls every route of these areas with its example, made fit for this NVR. */
async function callAll(): Promise<Map<string, Reply>> {
  const replies = await Promise.all(
    READS.map(async ([operation, { method, path, kind, example }]) => {
      const params = { ...example.params, ...(example.params?.id === 'front' ? { id: 'gate' } : {}) }
      const filled = path.replace(/\{(\w+)\*?\}/g, (_all, name: string) =>
        String(params[name as keyof typeof params]).replace('preview_front', 'preview_gate'),
      )
      const query = new URLSearchParams(
        Object.entries(example.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
      )
      const url = `${filled}${query.size === 0 ? '' : `?${query.toString()}`}`
      const reply = kind === 'multipart' ? await upload(url) : await lab.call(method, url, example.body)
      return [operation, reply] as const
    }),
  )
  return new Map(replies)
}

const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 1, 2, 3])

async function upload(path: string): Promise<Reply> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(JPEG)]), 'ada.jpg')
  const answer = await fetch(`${lab.url}${path}`, {
    method: 'POST', body: form, headers: { authorization: `Bearer ${lab.token}` },
  }) // biome-ignore format: one record
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, body: text === '' ? null : JSON.parse(text) }
}

for (const [title, prepare, codes] of [
  ['is away', () => lab.nvrControl('phase', { phase: 'down' }), ['NVR_UNAVAILABLE']],
  ['starts', () => lab.nvrControl('phase', { phase: 'starting' }), ['NVR_ERROR', 'NVR_UNAVAILABLE']],
  [
    'answers nonsense',
    () => lab.nvrControl('garbage', { kind: 'html200', times: 500 }),
    ['NVR_ERROR', 'NVR_UNAVAILABLE'],
  ],
] as const) {
  test(`while the NVR ${title}, every route is 502 in bounded time and shows nothing of it`, {
    timeout: 300_000,
  }, async () => {
    await prepare()
    const wrong: string[] = []
    for (const [operation, { status, body, text }] of await callAll()) {
      if (status !== 502 || !(codes as readonly string[]).includes(body?.code))
        wrong.push(`${operation}: ${status} ${text.slice(0, 200)}`)
      if (/frigate|nginx|sign in/i.test(text)) wrong.push(`${operation}: ${text}`)
    }
    assert.deepEqual(wrong, [])
  })
}

test('an NVR that rejects the stored password is 502, and is not asked again and again', async () => {
  await lab.nvrControl('password', { user: 'admin', password: 'another-password' })
  await lab.nvrControl('expire-sessions')
  try {
    await fetch(`${lab.nvr.control_url}/reset`, { method: 'POST' })
    for (let n = 0; n < 10; n += 1) refused(await lab.call('GET', '/cam/stats'), 502, 'NVR_ERROR')
    const calls = ((await (await fetch(`${lab.nvr.control_url}/calls`)).json()) as { calls: { command: string }[] })
      .calls
    assert.ok(calls.filter(({ command }) => command === '/api/login').length <= 2)
  } finally {
    await lab.nvrControl('password', { user: 'admin', password: lab.nvr.admin_password })
  }
  await until('the right one is tried again', async () => (await lab.call('GET', '/cam/stats')).status === 200)
})

test('without an NVR every route says how to get one', async () => {
  await onDatabase(lab.database.connection, (client) => client.query('alter table cam_instance rename to cam_hidden'))
  await onDatabase(lab.database.connection, (client) =>
    client.query('create table cam_instance (like cam_hidden including all)'),
  )
  try {
    const reply = await lab.call('GET', '/cam/cameras')
    refused(reply, 400, 'CAM_NOT_INITIALIZED')
    assert.match(reply.body.detail, /POST \/cam\/initialize/)
  } finally {
    await onDatabase(lab.database.connection, (client) => client.query('drop table cam_instance'))
    await onDatabase(lab.database.connection, (client) => client.query('alter table cam_hidden rename to cam_instance'))
  }
})

test('an NVR whose virtual machine is stopped or has no address is not called, and the answer says so', async () => {
  const set = (columns: string) =>
    onDatabase(lab.database.connection, (client) => client.query(`update cam_instance set ${columns}`))
  await set("state = 'stopped'")
  try {
    const reply = await lab.call('GET', '/cam/cameras')
    refused(reply, 502, 'NVR_UNAVAILABLE')
    assert.match(reply.body.detail, /stopped/)
    await set("state = 'running', vm_ip_address = null")
    const verify = await lab.call('POST', '/cam/current/admin-password/verify', { password: lab.nvr.admin_password })
    refused(verify, 503, 'CAM_ADDRESS_UNKNOWN')
    refused(await lab.call('GET', '/cam/cameras'), 502, 'NVR_UNAVAILABLE')
  } finally {
    await set(`state = 'running', vm_ip_address = '${new URL(lab.nvr.url).hostname}'`)
  }
})
