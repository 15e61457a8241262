/** The simulated cameras as the product probes them, and the machines of the simulated platform that become NVRs. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Agent, fetch } from 'undici'
import { probeCamera } from '#src/drivers/onvif/probe.ts'
import { describeStream } from '#src/drivers/rtsp/describe.ts'
import { ADDRESS_PLACEHOLDER, userData } from '#src/modules/cam/instance/user-data.ts'
import { orderNvr } from '../../bin/lab-cameras.ts'
import { type CameraLab, type CameraOptions, startCamera } from '../../lab/camera/server.ts'
import { startCloudStack } from '../../lab/cloudstack/server.ts'
import { addCameraSite } from '../../lab/nvr/camera-site.ts'
import { selfSigned } from '../../lab/nvr/certificate.ts'
import { defaultConfig } from '../../lab/nvr/default-config.ts'
import { runNvrMachines } from '../../lab/nvr/machines.ts'
import { wellKnown } from '../../lab/site.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

/** Own addresses of loopback, because cameras and NVRs have well-known ports. */
const SUBNET = `127.${30 + (process.pid % 30)}.${Math.floor(process.pid / 30) % 250}`
const LOGIN = { username: 'ad&min', password: 'p %@:/{}é"&<' }
const closes: (() => Promise<unknown>)[] = []
after(async () => {
  for (const close of closes) await close()
})

let last_host = 10
async function camera(options: Partial<CameraOptions> = {}): Promise<CameraLab & { ip: string }> {
  const ip = `${SUBNET}.${(last_host += 1)}`
  const started = await startCamera({ address: ip, ...LOGIN, ...options })
  closes.push(() => started.close())
  return { ...started, ip }
}

test('a probe reads a camera whose clock is wrong, whose logins are digests, and that names a wrong address', async () => {
  for (const options of [{ clock_skew_ms: -3_600_000 }, { auth: 'digest' as const }, { reported_host: '10.9.9.9' }]) {
    const { ip, logins } = await camera(options)
    const result = await probeCamera({ ip, ...LOGIN })
    assert.deepEqual([result.manufacturer, result.model, result.firmware_version], ['ACME & Co', '1080', '5.10'])
    assert.deepEqual(result.profiles.map(({ codec, width }) => [codec, width]), [['H264', 1920], ['H264', 640]]) // biome-ignore format: one line
    assert.ok(new URL(result.main_stream_url).host.startsWith(ip), result.main_stream_url)
    assert.equal(logins.failures, 0)
    assert.equal((await describeStream(result.main_stream_url, { login: LOGIN })).video_codec, 'H264')
  }
})

test('a wrong login costs a camera one failure, and after the last one no login is right', async () => {
  const { ip, logins } = await camera({ lock_after: 1 })
  await assert.rejects(probeCamera({ ip, ...LOGIN, password: 'wrong' }))
  assert.equal(logins.failures, 1)
  await assert.rejects(probeCamera({ ip, ...LOGIN }))
})

test('what is no camera and what has no streams is told apart from a camera', async () => {
  for (const mode of ['html', 'no-media'] as const) {
    const { ip } = await camera({ mode })
    await assert.rejects(probeCamera({ ip, ...LOGIN }))
  }
})

test('the RTSP port says what a stream is once, wants a login, and ends what it does not understand', async () => {
  const profiles = [
    { token: 'main', codec: 'H265' as const, width: 1920, height: 1080, frames_per_s: 25, path: '/main' },
  ]
  const { ip, model } = await camera({ profiles })
  const url = `rtsp://${ip}:${model.rtsp_port}`
  assert.equal((await describeStream(`${url}/main`, { login: LOGIN })).video_codec, 'H265')
  await assert.rejects(describeStream(`${url}/other`, { login: LOGIN }))
  await assert.rejects(describeStream(`${url}/main`, { login: { ...LOGIN, password: 'wrong' } }))
  const socket = connect(model.rtsp_port, ip)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const answered: Buffer[] = []
  socket.on('data', (part: Buffer) => answered.push(part))
  await new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
  assert.deepEqual(answered, [])
})

test('a machine of the template becomes an NVR at its address with what its user data says, and keeps its disk', async () => {
  const folder = tempFolder('gp-nvr-machines-')
  const platform = await startCloudStack({ time: 'auto' })
  closes.push(() => platform.close())
  const { tables } = platform.state
  addCameraSite(platform.state, { template: 'nvr', subnet: SUBNET })
  const machines = runNvrMachines(platform, {
    template: 'nvr',
    state_file: join(folder, 'disks.json'),
    restart: 'manual',
  })
  closes.push(() => machines.close())
  const certificate = await selfSigned('nvr.example')
  const boot = { config: defaultConfig(ADDRESS_PLACEHOLDER), certificate: certificate.cert, key: certificate.key, admin_password: 'first-password' } // biome-ignore format: one line
  const userdata = Buffer.from(userData({ ...boot, image: 'nvr', port: 8971, has_gpu: false })).toString('base64')
  const like = tables.vms.get(wellKnown.vms['web-01'])
  const template = tables.templates.filter(({ name }) => name === 'nvr')[0]
  assert.ok(like !== null && template !== undefined)
  const ip = `${SUBNET}.9`
  const nics = like.nics.map((nic) => ({ ...nic, id: `${nic.id}-nvr`, ipaddress: ip }))
  const vm = tables.vms.put({ ...like, id: 'nvr-1', nics, userdata, templateid: template.id, state: 'Running' })
  const dispatcher = new Agent({ connect: { ca: certificate.cert, servername: 'nvr.example' } })
  closes.push(() => dispatcher.destroy())
  const url = `https://${ip}:8971/api`
  const login = (password: string) =>
    fetch(`${url}/login`, { dispatcher, method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user: 'admin', password }) }) // biome-ignore format: one line
  const answers = (password: string) => async () => (await login(password)).status === 200
  await until('the NVR lets its admin in', answers('first-password'))
  assert.match(machines.running.get('nvr-1')?.state.file ?? '', new RegExp(`${ip}:8555`))
  const cookie = (await login('first-password')).headers.get('set-cookie')?.split(';')[0] ?? ''
  const changed = await fetch(`${url}/users/admin/password`, { dispatcher, method: 'PUT', headers: { cookie, 'content-type': 'application/json' }, body: JSON.stringify({ password: 'second-password' }) }) // biome-ignore format: one line
  assert.equal(changed.status, 200)
  tables.vms.put({ ...vm, state: 'Stopped' })
  await until('the NVR is gone with its machine', () => machines.running.size === 0)
  await assert.rejects(login('second-password'))
  tables.vms.put({ ...vm, state: 'Running' })
  await until('the NVR is there again, with its disk', answers('second-password'))
  tables.vms.remove('nvr-1')
  await until('the NVR is gone for good', () => machines.running.size === 0)
})

test('an order that was interrupted goes on with the next start: what is there is not ordered again, what is busy is waited for', async () => {
  // What the API answers to each order; then it is accepted.
  const rejections = ['CAM_ALREADY_INITIALIZED', 'CAM_STATE', 'CAM_JOB_RUNNING', 'CAM_CAMERA_EXISTS']
  const orders: string[] = []
  const api = createServer((request, response) => {
    const code = request.method === 'POST' ? rejections.shift() : undefined
    const answer = code === undefined ? { job_id: 'last', job_status: 'completed' } : { code }
    request.setEncoding('utf8').on('data', (text: string) => orders.push(`${request.url} ${JSON.parse(text).id}`))
    request.on('end', () => response.writeHead(code === undefined ? 202 : 409).end(JSON.stringify(answer)))
    request.resume()
  }).listen(0, '127.0.0.1')
  closes.push(async () => api.close())
  await once(api, 'listening')
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  await orderNvr({ network_id: 'cameras', subnet: SUBNET }, { url, admin_token: 'x' }, AbortSignal.timeout(30_000))
  assert.deepEqual(orders, [
    '/cam/initialize undefined',
    ...['yard', 'yard', 'yard', 'depot'].map((id) => `/cam/cameras ${id}`),
  ])
})
