// Cameras of the lab: three simulated ones, the machines that run the simulated NVR, and an order for one by the API, as a person
// would place it.
import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '#src/kernel/log.ts'
import { startCamera } from '../lab/camera/server.ts'
import { DEFAULT_MODEL } from '../lab/camera/model.ts'
import type { CloudStackLab } from '../lab/cloudstack/server.ts'
import { addCameraSite } from '../lab/nvr/camera-site.ts'
import { runNvrMachines } from '../lab/nvr/machines.ts'

const TEMPLATE = 'groundplane-nvr'
const LOGIN = { username: 'viewer', password: 'lab-camera' }
/** The last part of the address of each. */
const CAMERAS = [
  { id: 'gate', host: 201, codec: 'H264' },
  { id: 'yard', host: 202, codec: 'H264' },
  { id: 'depot', host: 203, codec: 'H265' },
] as const
const POLL_MS = 500
const PATIENCE_MS = 5 * 60_000

export interface LabCameras {
  network_id: string
  subnet: string
  /** Once all of them are, whoever deletes the NVR or a camera wants it so. */
  is_ordered: boolean
  markOrdered(): void
  close(): Promise<void>
}

/** Each lab has a range of loopback of its own, so that several do not meet. */
export async function startLabCameras(
  platform: CloudStackLab,
  { data_dir, relay_url, log }: { data_dir: string; relay_url: string | undefined; log: Log },
): Promise<LabCameras> {
  const [a = 0, b = 0] = createHash('sha1').update(data_dir).digest()
  const site = addCameraSite(platform.state, { template: TEMPLATE, subnet: `127.${64 + (a % 128)}.${b}` })
  const started = new AsyncDisposableStack()
  try {
    for (const { host, codec } of CAMERAS) {
      const profiles = DEFAULT_MODEL.profiles.map((profile) =>
        profile.token === 'main' ? { ...profile, codec } : profile,
      )
      const camera = await startCamera({
        address: `${site.subnet}.${host}`,
        ...LOGIN,
        profiles,
        media2: codec === 'H265',
      })
      started.defer(() => camera.close())
    }
    const machines = runNvrMachines(platform, {
      template: TEMPLATE,
      state_file: join(data_dir, 'nvr-machines.json'),
      restart: { down_ms: 1000, starting_ms: 1500 },
      ...(relay_url === undefined ? {} : { relay_url }),
      log: (line) => log.debug({ line }, 'nvr'),
    })
    started.defer(() => machines.close())
  } catch (error) {
    await started.disposeAsync()
    throw error
  }
  const marker = join(data_dir, 'cameras-ordered')
  return {
    ...site,
    is_ordered: existsSync(marker),
    markOrdered: () => writeFileSync(marker, ''),
    close: () => started.disposeAsync(),
  }
}

/** What an earlier process has ordered, or still changes. */
const THERE = ['CAM_ALREADY_INITIALIZED', 'CAM_CAMERA_EXISTS']
const BUSY = ['CAM_JOB_RUNNING', 'CAM_STATE']

/** Orders the NVR with its first camera, then adds the others; goes on where an earlier process was stopped. */
export async function orderNvr(
  { network_id, subnet }: Pick<LabCameras, 'network_id' | 'subnet'>,
  control: { url: string; admin_token: string },
  signal: AbortSignal,
): Promise<void> {
  const call = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${control.url}${path}`, {
      method,
      signal,
      headers: { authorization: `Bearer ${control.admin_token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const value = (await answer.json()) as Record<string, unknown>
    const code = String(value['code'])
    if (!answer.ok && ![...THERE, ...BUSY].includes(code))
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(value)}`)
    return value
  }
  const order = async (path: string, body: unknown): Promise<void> => {
    const until = Date.now() + PATIENCE_MS
    let job_id: unknown
    while (Date.now() < until) {
      const answer = await (job_id === undefined ? call('POST', path, body) : call('GET', `/jobs/${String(job_id)}`))
      const { code, job_status, status } = answer
      if (job_status === 'completed' || THERE.includes(String(code))) return
      if (job_status === 'failed') throw new Error(`the job failed: ${String(status)}`)
      job_id ??= answer['job_id']
      await pause(POLL_MS, undefined, { signal })
    }
    throw new Error(`${path} takes longer than five minutes`)
  }
  const [first, ...more] = CAMERAS
  const size = { vgpu_profile_id: '', cores: 2, memory_mb: 4096, gpu_count: 0, recording_disk_gb: 100 }
  await order('/cam/initialize', { ...cameraAt(`${subnet}.${first.host}`), network_id, ...size })
  for (const { id, host } of more) {
    await order('/cam/cameras', { id, ...cameraAt(`${subnet}.${host}`) })
  }
}

/** Its streams are at no vendor's usual place. */
function cameraAt(camera_ip: string) {
  const [main = '', sub = ''] = DEFAULT_MODEL.profiles.map(
    ({ path }) => `rtsp://${camera_ip}:${DEFAULT_MODEL.rtsp_port}${path}`,
  )
  return { camera_ip, ...LOGIN, main_stream_url: main, sub_stream_url: sub }
}
