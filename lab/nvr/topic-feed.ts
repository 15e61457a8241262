/** The topic socket `/ws`: switches, the state of the cameras, and what is detected, to everybody who is connected. */
import type { WebSocket } from 'ws'
import { reviewItem, trackedObject } from './activity.ts'
import type { Pass } from './cameras.ts'
import type { Caller } from './http-call.ts'
import { isObject, type Json, type JsonObject, parseJson } from './json.ts'
import { type CameraState, type NvrState, SWITCHES, type Switch } from './state.ts'
import { stats } from './system-calls.ts'

const TICK_MS = 500
const STATS_EVERY_MS = 60_000
/** What the parts of the program say to each other; since 0.17.2 no client may. */
const INTERNAL_TOPICS = ['insert_many_recordings', 'request_region_grid', 'insert_preview', 'upsert_review_segment', 'clear_ongoing_review_segments', 'update_camera_activity', 'update_audio_activity', 'expire_audio_activity', 'update_event_description', 'update_review_description', 'update_model_state', 'update_embeddings_reindex_progress', 'update_birdseye_layout'] // biome-ignore format: one line
/** What anybody may ask for, and with which topic it is answered. */
const QUESTIONS: Readonly<Record<string, string>> = {
  modelState: 'model_state',
  embeddingsReindexProgress: 'embeddings_reindex_progress',
  birdseyeLayout: 'birdseye_layout',
}

export interface TopicFeed {
  connect(socket: WebSocket, caller: Caller): void
  publish(topic: string, payload: Json): void
  /** Frames to all that no program would send. */
  sendRaw(text: string): void
  close(): void
}

export function createTopicFeed(nvr: NvrState, restart: () => void): TopicFeed {
  const clients = new Map<WebSocket, Caller>()
  let timers: NodeJS.Timeout[] = []
  const sendRaw = (text: string): void => {
    for (const socket of clients.keys()) socket.send(text)
  }
  const publish = (topic: string, payload: Json): void => {
    sendRaw(JSON.stringify({ topic, payload }))
  }
  const stop = (): void => {
    for (const timer of timers) clearInterval(timer)
    timers = []
  }
  const start = (): void => {
    const detections = createDetections(nvr, publish)
    detections.tick()
    timers = [
      setInterval(() => detections.tick(), TICK_MS).unref(),
      setInterval(() => publish('stats', JSON.stringify(stats(nvr))), STATS_EVERY_MS).unref(),
    ]
  }
  return {
    publish,
    sendRaw,
    connect: (socket, caller) => {
      clients.set(socket, caller)
      if (timers.length === 0) start()
      socket.on('message', (data) => {
        // The program's own exceptions cut the connection, without a close frame.
        if (!receive({ nvr, publish, restart }, caller, String(data))) socket.terminate()
      })
      socket.on('close', () => {
        clients.delete(socket)
        if (clients.size === 0) stop()
      })
      socket.on('error', () => socket.terminate())
    },
    close: () => {
      stop()
      for (const socket of clients.keys()) socket.terminate()
      clients.clear()
    },
  }
}

interface Receiver {
  nvr: NvrState
  publish(topic: string, payload: Json): void
  restart(): void
}

/** False when the message ends the connection. */
function receive(receiver: Receiver, caller: Caller, text: string): boolean {
  const { nvr, publish, restart } = receiver
  const message = parseJson(text)?.value
  if (!isObject(message)) return true
  const { topic, payload = null } = message
  if (typeof topic !== 'string') return false
  if (!mayPublish(nvr, caller, topic)) return true
  const parts = topic.split('/')
  if (topic.endsWith('set')) return setSwitch(receiver, parts, payload)
  if (topic === 'onConnect') announce(nvr, publish)
  else if (topic === 'restart') restart()
  else if (topic === 'audioTranscriptionState' && nvr.release === '0.17') publish('audio_transcription_state', '"idle"')
  else if (QUESTIONS[topic] !== undefined && (nvr.release === '0.17' || topic !== 'birdseyeLayout')) {
    publish(QUESTIONS[topic], '{}')
  } else if (INTERNAL_TOPICS.includes(topic)) return topic !== 'insert_preview'
  else if (parts.at(-1) !== 'ptz') publish(topic, payload)
  return true
}

function mayPublish({ release }: NvrState, { role }: Caller, topic: string): boolean {
  if (release === '0.16') return true
  if (INTERNAL_TOPICS.includes(topic)) return false
  if (role === 'admin' || topic === 'onConnect' || topic === 'audioTranscriptionState') return true
  return QUESTIONS[topic] !== undefined || /^[^/]+\/ptz$/.test(topic)
}

function setSwitch({ nvr, publish }: Receiver, parts: string[], payload: Json): boolean {
  const [id = '', name = ''] = parts
  if (parts.length === 2) {
    if (id === 'notifications') publish('notifications/state', payload)
    return id === 'notifications'
  }
  const camera = nvr.camera(id)
  const known = SWITCHES.find((one) => one === name)
  if (parts.length !== 3 || camera === undefined || known === undefined) return true
  if (payload === 'ON' && !mayTurnOn(camera, known)) return true
  if (payload === 'OFF' && known === 'motion' && camera.switches.detect) return true
  if (payload === 'ON' && known === 'detect' && !camera.switches.motion) {
    camera.switches.motion = true
    publish(`${id}/motion/state`, 'ON')
  }
  if (payload === 'ON' || payload === 'OFF') {
    camera.switches[known] = payload === 'ON'
    if (known === 'recordings') nvr.setRecording(id, payload === 'ON', Date.now() / 1000)
  }
  // Whatever was sent comes back as the state, also what changed nothing.
  publish(`${id}/${name}/state`, payload)
  return true
}

/** Some switches can only be turned on when the file has them on; otherwise the program logs an error and stays silent. */
function mayTurnOn({ in_config }: CameraState, name: Switch): boolean {
  return !['recordings', 'audio', 'enabled', 'review_alerts', 'review_detections'].includes(name) || in_config[name]
}

function announce(nvr: NvrState, publish: Receiver['publish']): void {
  const activity: JsonObject = {}
  for (const camera of nvr.cameras.values()) activity[camera.id] = cameraActivity(nvr, camera)
  publish('camera_activity', JSON.stringify(activity))
  publish('model_state', '{}')
  publish('embeddings_reindex_progress', '{}')
  if (nvr.release === '0.16') return
  publish('birdseye_layout', '{}')
  publish('audio_detections', '{}')
}

function cameraActivity(nvr: NvrState, camera: CameraState): JsonObject {
  const { switches } = camera
  const now_s = Date.now() / 1000
  const active = detectedNow(nvr, camera, now_s)
  const newer = { audio_transcription: false, object_descriptions: false, review_descriptions: false }
  return {
    motion: active.length > 0,
    objects: active.map((pass) => {
      const { id, label, stationary, area, ratio, score, sub_label, current_zones } = trackedObject(pass, camera, now_s)
      return { id, label, stationary, area, ratio, score, sub_label, current_zones } as JsonObject // none is missing
    }),
    config: {
      detect: switches.detect,
      enabled: switches.enabled,
      snapshots: switches.snapshots,
      record: switches.recordings,
      audio: switches.audio,
      notifications: false,
      notifications_suspended: 0,
      autotracking: false,
      alerts: switches.review_alerts,
      detections: switches.review_detections,
      ...(nvr.release === '0.17' ? newer : {}),
    },
  }
}

function detectedNow(nvr: NvrState, camera: CameraState, now_s: number): Pass[] {
  if (!camera.switches.enabled || !camera.switches.detect || camera.offline) return []
  return nvr.passes(camera.id, now_s, now_s)
}

/** Compares who is there with who was there at the tick before, and publishes the difference. */
function createDetections(nvr: NvrState, publish: Receiver['publish']): { tick(): void } {
  let before = new Map<string, { pass: Pass; message: JsonObject }>()
  const counts = new Map<string, number>()
  const publishChange = (topic: string, count: number, payload: Json): void => {
    if ((counts.get(topic) ?? 0) === count) return
    counts.set(topic, count)
    publish(topic, payload)
  }
  const publishCounts = (camera: CameraState, active: readonly Pass[]): void => {
    for (const label of ['person', 'car']) {
      const count = active.filter((pass) => pass.label === label).length
      publishChange(`${camera.id}/${label}`, count, count)
      publishChange(`${camera.id}/${label}/active`, count, count)
    }
    publishChange(`${camera.id}/all`, active.length, active.length)
    publishChange(`${camera.id}/all/active`, active.length, active.length)
    publishChange(`${camera.id}/motion`, active.length, active.length > 0 ? 'ON' : 'OFF')
    const status = active.some(({ label }) => label === 'person') ? 'ALERT' : 'DETECTION'
    publishChange(`${camera.id}/review_status`, active.length, active.length > 0 ? status : 'NONE')
  }
  const publishBoth = (type: string, was: JsonObject, pass: Pass, is: JsonObject, now_s: number): void => {
    publish('events', JSON.stringify({ type, before: was, after: is }))
    if (type === 'update') return
    const review = reviewItem(pass, now_s)
    publish('reviews', JSON.stringify({ type, before: review, after: review }))
  }
  return {
    tick: () => {
      const now_s = Date.now() / 1000
      const now = new Map<string, { pass: Pass; message: JsonObject }>()
      for (const camera of nvr.cameras.values()) {
        // The frame that was looked at last: detection sees fewer frames than there are.
        const frame_s = Math.floor(now_s * camera.detect.frames_per_s) / camera.detect.frames_per_s
        const active = detectedNow(nvr, camera, frame_s)
        for (const pass of active) {
          const message = trackedObject(pass, camera, frame_s)
          const was = before.get(pass.id)?.message
          publishBoth(was === undefined ? 'new' : 'update', was ?? message, pass, message, now_s)
          now.set(pass.id, { pass, message })
        }
        publishCounts(camera, active)
      }
      for (const [id, { pass, message }] of before) {
        const camera = nvr.camera(pass.camera)
        if (now.has(id) || camera === undefined) continue
        publishBoth('end', message, pass, trackedObject(pass, camera, pass.end_s + 1), now_s + 10)
      }
      before = now
    },
  }
}
