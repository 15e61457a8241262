/** Calls about the NVR itself: version, configuration, restart, statistics, its log. */
import { isMap, parseDocument } from 'yaml'
import { readConfigFile } from './config-file.ts'
import { type Answer, type Call, failure, json, jsonBody, missingField, Rejection, type Route, route, uncaught, unprocessable } from './http-call.ts' // biome-ignore format: one line
import { at, isObject, type Json, type JsonObject, objectAt } from './json.ts'
import { changePassword, login, profile } from './sessions.ts'
import { type CameraState, type NvrState, VERSIONS } from './state.ts'

const SAVED = { success: true, message: 'Config successfully updated, restart to apply' }
const INVALID = 'Error parsing config. Check logs for error message.'

export function systemRoutes(restart: () => void): Route[] {
  const restarting = (message: string): Answer => {
    restart()
    return json({ success: true, message })
  }
  return [
    route('GET', '/', 'everybody', () => text('Frigate is running. Alive and healthy!')),
    route('POST', '/login', 'everybody', login),
    route('GET', '/auth/first_time_login', 'everybody', ({ nvr }) => {
      if (nvr.release === '0.16') throw new Rejection(404, { detail: 'Not Found' })
      return json({ admin_first_time_login: false })
    }),
    route('GET', '/profile', 'anyone', profile),
    route('PUT', '/users/:user/password', 'anyone', changePassword),
    route('GET', '/users', 'admin', ({ nvr }) =>
      json([...nvr.users.values()].map(({ name, role }) => ({ username: name, role }))),
    ),
    route('GET', '/version', 'anyone', ({ nvr }) => text(VERSIONS[nvr.release])),
    route('GET', '/config', 'anyone', ({ nvr }) => json(liveConfig(nvr))),
    route('GET', '/config/raw', 'admin-since-0.17', ({ nvr }) => ({ ...text(JSON.stringify(nvr.file)) })),
    route('PUT', '/config/set', 'admin', setConfig),
    route('POST', '/config/save', 'admin', async (call) => saveConfig(call, restarting)),
    route('POST', '/restart', 'admin', () => restarting('Restarting (this can take up to one minute)...')),
    route('GET', '/stats', 'anyone', ({ nvr }) => json(stats(nvr))),
    route('GET', '/logs/:service', 'anyone', log),
  ]
}

/** The configuration with the switches as they are now, which may differ from the file. */
function liveConfig(nvr: NvrState): JsonObject {
  const config = nvr.config()
  const cameras: JsonObject = {}
  for (const [id, camera] of Object.entries(objectAt(config, 'cameras'))) {
    const state = nvr.camera(id)
    if (state === undefined || !isObject(camera)) continue
    const { switches } = state
    cameras[id] = {
      ...camera,
      enabled: switches.enabled,
      detect: { ...objectAt(camera, 'detect'), enabled: switches.detect },
      motion: { ...objectAt(camera, 'motion'), enabled: switches.motion },
      audio: { ...objectAt(camera, 'audio'), enabled: switches.audio },
      record: { ...objectAt(camera, 'record'), enabled: switches.recordings },
      snapshots: { ...objectAt(camera, 'snapshots'), enabled: switches.snapshots },
    }
  }
  return { ...config, cameras }
}

/** Changes single values of the file. The file is checked as a whole, and stays as it is when it would not be valid. */
async function setConfig(call: Call): Promise<Answer> {
  const { nvr, query } = call
  const body = await jsonBody(call)
  if (!isObject(body)) throw missingField(['body'], body)
  const wanted = body['requires_restart'] ?? 1
  if (!/^\d+$/.test(String(wanted))) {
    const message = 'Input should be a valid integer, unable to parse string as an integer'
    throw unprocessable('int_parsing', ['body', 'requires_restart'], message, wanted)
  }
  const changes = [...query].map(([key, value]): [string[], Json] => [key.split('.'), pythonLiteral(value)])
  const from_body = nvr.release === '0.17' && changes.length === 0 ? leaves(objectAt(body, 'config_data'), []) : []
  const all = [...changes, ...from_body].filter(([path]) => path.join('') !== '')
  if (from_body.some(([, value]) => value === null)) throw failure(400, INVALID)
  if (all.length === 0 && nvr.release === '0.17') throw failure(400, 'No configuration data provided')
  const keys = all.map(([path]) => path.join('.'))
  const file = parseDocument(nvr.file)
  for (const [path, value] of all) {
    if (value === '') file.deleteIn(path)
    else file.setIn(path, value)
  }
  const changed = file.toString()
  if (new Set(keys).size < keys.length || readConfigFile(changed, nvr.release).outcome !== 'runs') {
    throw failure(400, INVALID)
  }
  nvr.file = changed
  nvr.onStored()
  return json(SAVED)
}

/** Values of a query are read as Python reads literals; what is none stays a text. */
function pythonLiteral(text: string): Json {
  if (text === 'True') return true
  if (text === 'False') return false
  if (text === 'None') return null
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function leaves(value: Json, path: string[]): [string[], Json][] {
  if (!isObject(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]))
}

async function saveConfig(call: Call, restarting: (message: string) => Answer): Promise<Answer> {
  const { nvr, query, headers } = call
  const option = query.get('save_option')
  if (option === null) throw missingField(['query', 'save_option'], null)
  const body = (await call.body()).toString('utf8')
  if (body === '') throw missingField(['body'], null)
  if (!headers['content-type']?.startsWith('text/')) {
    await jsonBody({ ...call, headers: { ...headers, 'content-type': 'application/json' } })
    throw uncaught()
  }
  const reading = readConfigFile(body, nvr.release)
  const document = parseDocument(body)
  if (reading.outcome !== 'runs' || !isMap(document.contents)) {
    const errors = reading.outcome === 'invalid' ? reading.errors : ['Traceback']
    const lines = errors.map((error) => `Line Unknown: ${error}`).join('\n')
    const help = 'See the official documentation at docs.frigate.video.'
    throw failure(400, `Your configuration is invalid.\n${help}\n\n${lines}`)
  }
  nvr.file = body
  nvr.onStored()
  if (option !== 'restart') return json({ success: true, message: 'Config successfully saved.' })
  return restarting('Config successfully saved, restarting (this can take up to one minute)...')
}

export function stats(nvr: NvrState): JsonObject {
  const cameras = [...nvr.cameras.values()]
  const rows = Object.fromEntries(cameras.map((camera) => [camera.id, cameraStats(camera)]))
  const sum = (name: string): number =>
    Math.round(cameras.reduce((all, { id }) => all + Number(at(rows[id], name) ?? 0), 0) * 100) / 100
  const totals =
    nvr.release === '0.17'
      ? { camera_fps: sum('camera_fps'), process_fps: sum('process_fps'), skipped_fps: sum('skipped_fps') }
      : {}
  const disk = { total: 258_019.6, used: 29_466.1, free: 63_796.8, mount_type: 'ext4' }
  return {
    cameras: rows,
    detectors: { cpu: { inference_speed: 12.3, detection_start: 0, pid: 400 } },
    ...totals,
    detection_fps: sum('detection_fps'),
    embeddings: {},
    cpu_usages: { 'frigate.full_system': { cpu: '12.5', mem: '17.4' } },
    service: {
      uptime: Math.floor(Date.now() / 1000 - nvr.started_s),
      version: VERSIONS[nvr.release],
      latest_version: '0.17.2',
      storage: {
        '/media/frigate/recordings': disk,
        '/media/frigate/clips': disk,
        '/tmp/cache': disk,
        '/dev/shm': { total: 256, used: 2.1, free: 253.9, mount_type: 'tmpfs' },
      },
      temperatures: {},
      last_updated: Math.floor(Date.now() / 1000),
    },
    processes: { recording: { pid: 401 } },
  }
}

function cameraStats({ switches, detect, offline }: CameraState): JsonObject {
  const runs = switches.enabled && !offline
  const fps = runs ? detect.frames_per_s : 0
  return {
    camera_fps: fps,
    process_fps: fps,
    skipped_fps: 0,
    detection_fps: runs && switches.detect ? Math.round(fps * 50) / 100 : 0,
    detection_enabled: switches.detect,
    pid: 410,
    capture_pid: 411,
    ffmpeg_pid: 412,
    audio_rms: switches.audio && runs ? 12.3 : 0,
    audio_dBFS: switches.audio && runs ? -41.2 : 0,
  }
}

function log({ nvr, params }: Call): Answer {
  const { service = '' } = params
  if (!['frigate', 'nginx', 'go2rtc'].includes(service)) throw failure(404, 'Not a valid service')
  const lines = service === 'frigate' ? nvr.log_lines : []
  return json({ totalLines: lines.length, lines })
}

function text(value: string): Answer {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, bytes: Buffer.from(value) }
}

export function cameraOf({ nvr, params }: Call): CameraState {
  const camera = nvr.camera(params['camera'] ?? '')
  if (camera === undefined) throw failure(404, 'Camera not found')
  return camera
}
