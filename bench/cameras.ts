// (j) 200 viewers of one camera: what the bridge adds to each frame's way, what it costs beside the relay, and what a viewer that
// does not read costs; and a clip of one GB.
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { createLog } from '#src/kernel/log.ts'
import { openKeyring } from '#src/kernel/keyring.ts'
import { createCamStore } from '#src/store/cam-instance.ts'
import { openDatabase } from '#src/store/database.ts'
import { NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import { type Program, startProgram } from './processes.ts'
import { type BenchResult, median } from './result.ts'
import { startTestBed, type TestBed } from './test-bed.ts'

const VIEWERS = 200
const DIRECT = 5
const PAUSED = 20
const MEASURE_MS = 20_000
/** The NVR draws a frame at each of these moments of the clock. */
const FRAME_EVERY_MS = 100

export async function run(): Promise<BenchResult[]> {
  const nvr = await startProgram(join(import.meta.dirname, '../lab/nvr/main.ts'), ['--port', '0', '--exit-with-stdin'])
  const { hostname, port } = new URL(nvr.ready.url ?? '')
  const bed = await startTestBed(1, { GROUNDPLANE_CAM_NVR_PORT: port })
  const sockets: WebSocket[] = []
  try {
    await storeInstance(bed, {
      vm_ip_address: hostname,
      admin_password: nvr.ready.admin_password ?? '',
      ca_certificate: nvr.ready.ca ?? '',
    })
    const clip = await measureClip(bed, nvr)
    return [...clip, ...(await measureViewers(bed, nvr, sockets)), ...(await measurePaused(bed, nvr, sockets))]
  } finally {
    for (const socket of sockets) socket.terminate()
    await bed.stop()
    await nvr.stop()
  }
}

/** Memory of a control plane that has done nothing else yet while a clip passes through it. */
async function measureClip(bed: TestBed, nvr: Program): Promise<BenchResult[]> {
  await setFaults(nvr, { padding_bytes: 20_000_000 })
  const before = bed.control.memory_bytes()
  let most = before
  const length = await readClip(bed, 110, () => {
    most = Math.max(most, bed.control.memory_bytes())
  })
  await setFaults(nvr, { padding_bytes: 0 })
  return [
    {
      name: 'memory that a clip of one GB needs',
      value: (most - before) / 1e6,
      unit: 'MB',
      limit: 30,
      against: `${(length / 1e6).toFixed(0)} MB passed; the control plane had ${(before / 1e6).toFixed(0)} MB before`,
    },
  ]
}

async function readClip(bed: TestBed, seconds: number, read: () => void): Promise<number> {
  const start = Math.floor(Date.now() / 1000) - 3600
  const path = `/cam/cameras/yard/recording/clip?start=${start}&end=${start + seconds}`
  const { body } = await fetch(`${bed.url}${path}`, { headers: bed.headers })
  let length = 0
  for await (const chunk of body ?? []) {
    // Of the many pieces, each 50 MB is soon enough to look.
    if (Math.floor(length / 50e6) < Math.floor((length + chunk.length) / 50e6)) read()
    length += chunk.length
  }
  return length
}

async function setFaults(nvr: Program, faults: { padding_bytes: number }): Promise<void> {
  await fetch(`${nvr.ready.control_url}/relay`, { method: 'POST', body: JSON.stringify(faults) })
}

async function measureViewers(bed: TestBed, nvr: Program, sockets: WebSocket[]): Promise<BenchResult[]> {
  const token = await logIn(nvr)
  // What the relay needs for as many viewers, and the service for none.
  for (let n = 0; n < VIEWERS; n += 1) sockets.push(await watchDirect(nvr, token, []))
  const unbridged = await measureProcessor(bed, nvr, [])
  for (const socket of sockets.splice(0)) socket.terminate()

  const [bridged, direct]: [number[], number[]] = [[], []]
  for (let n = 0; n < VIEWERS; n += 1) sockets.push(await watchBridged(bed, bridged))
  for (let n = 0; n < DIRECT; n += 1) sockets.push(await watchDirect(nvr, token, direct))
  const { control_us, nvr_us } = await measureProcessor(bed, nvr, [bridged, direct])
  for (const socket of sockets.splice(0)) socket.terminate()
  const frames = (VIEWERS * MEASURE_MS) / FRAME_EVERY_MS
  const added_us = control_us - unbridged.control_us
  return [
    {
      name: 'frames that did not come',
      value: Math.max(0, frames - bridged.length - VIEWERS),
      unit: `of ${frames}`,
      limit: 0,
      against: `${VIEWERS} viewers of one camera, 10 frames a second`,
    },
    {
      name: 'what the bridge adds to the way of a frame, median',
      value: median(bridged) - median(direct),
      unit: 'ms',
      limit: 10,
      against: `${median(direct).toFixed(1)} ms from the moment it is drawn to ${DIRECT} viewers of the relay itself, in the same run`,
    },
    {
      name: 'processor of the bridge, of what the relay needs for as many viewers',
      value: (added_us / unbridged.nvr_us) * 100,
      unit: '%',
      limit: 25,
      against: `bridge ${percentOfCore(added_us)} of a core more than without viewers; relay alone ${percentOfCore(unbridged.nvr_us)}, behind the bridge ${percentOfCore(nvr_us)}`,
    },
  ]
}

/** What both programs use once all viewers are served; what `delays` noted before is forgotten. */
async function measureProcessor(
  bed: TestBed,
  nvr: Program,
  delays: number[][],
): Promise<{ control_us: number; nvr_us: number }> {
  await delay(5_000)
  for (const list of delays) list.length = 0
  const [control_before, nvr_before] = [bed.control.cpu_us(), nvr.cpu_us()]
  await delay(MEASURE_MS)
  return { control_us: bed.control.cpu_us() - control_before, nvr_us: nvr.cpu_us() - nvr_before }
}

async function measurePaused(bed: TestBed, nvr: Program, sockets: WebSocket[]): Promise<BenchResult[]> {
  // Frames of a better camera: 2 MB a second.
  await setFaults(nvr, { padding_bytes: 200_000 })
  const alone: number[] = []
  sockets.push(await watchBridged(bed, alone))
  await delay(3_000)
  const before = bed.control.memory_bytes()
  const alone_ms = median(alone)
  for (let n = 0; n < PAUSED; n += 1) {
    const socket = await watchBridged(bed, [])
    socket.pause()
    sockets.push(socket)
  }
  alone.length = 0
  let most = before
  // Until shortly before they are cut off.
  for (let second = 0; second < 12; second += 1) {
    await delay(1_000)
    most = Math.max(most, bed.control.memory_bytes())
  }
  return [
    {
      name: 'memory of a viewer that does not read',
      value: (most - before) / PAUSED / 1e6,
      unit: 'MB',
      limit: 8,
      against: `${PAUSED} of them, each sent 2 MB a second for 12 s`,
    },
    {
      name: 'what they add to the way of a frame to another viewer, median',
      value: median(alone) - alone_ms,
      unit: 'ms',
      limit: 10,
      against: `${alone_ms.toFixed(1)} ms without them`,
    },
  ]
}

const percentOfCore = (cpu_us: number): string => `${((cpu_us / 1000 / MEASURE_MS) * 100).toFixed(1)} %`

function watchBridged(bed: TestBed, delays: number[]): Promise<WebSocket> {
  return watch(
    new WebSocket(`${bed.url.replace('http', 'ws')}/cam/cameras/yard/live`, { headers: bed.headers }),
    delays,
  )
}

function watchDirect(nvr: Program, token: string, delays: number[]): Promise<WebSocket> {
  const { url = '', ca = '' } = nvr.ready
  const address = `${url.replace('https', 'wss')}/live/mse/api/ws?src=yard`
  const options = { ca, servername: NVR_SERVER_NAME, headers: { authorization: `Bearer ${token}` } }
  return watch(new WebSocket(address, [], options), delays)
}

/** Notes how long after its moment of the clock each frame came. */
async function watch(socket: WebSocket, delays: number[]): Promise<WebSocket> {
  await once(socket, 'open')
  socket.on('message', (_data, is_binary) => {
    if (is_binary) delays.push((performance.timeOrigin + performance.now()) % FRAME_EVERY_MS)
  })
  socket.send('{"type":"mse","value":"avc1.640029"}')
  return socket
}

async function logIn({ ready: { url = '', admin_password, ca } }: Program): Promise<string> {
  const { Agent, request } = await import('undici')
  const dispatcher = new Agent({ connect: { ca: ca ?? '', servername: NVR_SERVER_NAME } })
  const body = JSON.stringify({ user: 'admin', password: admin_password })
  const headers = { 'content-type': 'application/json', 'x-csrf-token': '1' }
  const answer = await request(`${url}/api/login`, { method: 'POST', headers, body, dispatcher })
  await answer.body.dump()
  await dispatcher.close()
  return /=([^;]+)/.exec(String(answer.headers['set-cookie']))?.[1] ?? ''
}

async function storeInstance(
  { connection, data_dir }: TestBed,
  reached: { vm_ip_address: string; admin_password: string; ca_certificate: string },
): Promise<void> {
  const database = openDatabase({ connection, pool_size: 1, log: createLog({ level: 'error' }) })
  const store = createCamStore(database, openKeyring(join(data_dir, 'keys')))
  const id = '0193a5d2-4b1d-7c3e-9f00-5d2c8e1f0a77'
  const size = { cores: 4, memory_mb: 8192, gpu_count: 0, vgpu_profile_id: '', recording_disk_gb: 200 }
  await database.transact((trx) =>
    store.create(trx, { id, name: 'nvr', network_id: 'bench', camera_ip: '192.0.2.11', ...size }),
  )
  await store.change(id, { state: 'running', ...reached })
  await database.close()
}
