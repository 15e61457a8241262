/** What the simulated NVR stores: its file, switches, users, what was looked at, faces, and when it did not record. */
import { randomBytes } from 'node:crypto'
import {
  DEFAULT_TIMETABLE,
  type Scenery,
  sceneryOf,
  type Pass,
  passById,
  passesBetween,
  type Timetable,
} from './cameras.ts'
import { type Reading, readConfigFile, type Release } from './config-file.ts'
import { type FaceLibrary, initialFaces } from './face-library.ts'
import { at, type Json, type JsonObject, objectAt } from './json.ts'

export const VERSIONS: Readonly<Record<Release, string>> = { '0.17': '0.17.2-3d4dd3a', '0.16': '0.16.4-4131252' }
/** Recordings exist by definition: so far back from now. */
const HISTORY_S = 2 * 24 * 3600

export const SWITCHES = ['enabled', 'detect', 'motion', 'recordings', 'audio', 'snapshots', 'review_alerts', 'review_detections'] as const // biome-ignore format: one line
export type Switch = (typeof SWITCHES)[number]

/** `down`: connections are refused. `starting`: nginx answers alone, with errors. */
export type Phase = 'ready' | 'starting' | 'down'

export interface CameraState {
  id: string
  scenery: Scenery
  /** What it sends; the frames of an H.265 camera are drawn in H.264 all the same. */
  codec: 'H264' | 'H265'
  detect: { width: number; height: number; frames_per_s: number }
  /** As they are now; a restart sets them back to the file. */
  switches: Record<Switch, boolean>
  /** What the file said at the start. */
  in_config: Record<Switch, boolean>
  /** The camera does not answer: no frames, no recordings. */
  offline: boolean
}

export interface User {
  name: string
  role: string
  password: string
  password_changed_s: number
}

interface Gap {
  camera: string
  from_s: number
  /** Null while it lasts. */
  to_s: number | null
}

export interface NvrOptions {
  release?: Release
  /** The configuration file; a lab of three cameras by default. */
  config_file: string
  admin_password?: string
  users?: readonly { name: string; role: string; password: string }[]
  timetable?: Partial<Timetable>
}

export class NvrState {
  readonly users = new Map<string, User>()
  readonly jwt_secret = randomBytes(32)
  readonly timetable: Timetable
  /** Lines of the program's own log. */
  readonly log_lines: string[] = []
  /** Who looked at which review item: user and id. */
  reviewed = new Set<string>()
  faces: FaceLibrary = initialFaces(Date.now() / 1000)
  release: Release
  file: string
  reading: Reading
  cameras = new Map<string, CameraState>()
  /** The file or a password was changed. */
  onStored: () => void = () => {}
  started_s = 0
  #gaps: Gap[] = []

  constructor(options: NvrOptions) {
    this.release = options.release ?? '0.17'
    this.timetable = { ...DEFAULT_TIMETABLE, ...options.timetable }
    this.file = options.config_file
    this.reading = readConfigFile(this.file, this.release)
    for (const user of options.users ?? []) this.users.set(user.name, { ...user, password_changed_s: 0 })
    this.boot()
    this.#firstUser(options.admin_password)
  }

  /** Reads the file again, as every start of the program does. */
  boot(): void {
    this.reading = readConfigFile(this.file, this.release)
    this.started_s = Date.now() / 1000
    const before = this.cameras
    this.cameras = new Map()
    const cameras = Object.entries(objectAt(this.config(), 'cameras'))
    for (const [index, [id, camera]] of cameras.entries()) {
      const in_config = switchesOf(camera)
      this.cameras.set(id, {
        id,
        scenery: sceneryOf(index),
        // Whoever wrote the file asked the camera, and re-encodes what browsers do not show.
        codec: at(this.config(), 'go2rtc', 'streams', `${id}_live`) === undefined ? 'H264' : 'H265',
        detect: sizeOf(camera),
        switches: { ...in_config },
        in_config,
        offline: before.get(id)?.offline ?? false,
      })
      // A camera that was never recorded has no history.
      this.setRecording(id, in_config.recordings, before.size === 0 ? 0 : this.started_s)
    }
  }

  /** The running configuration; without cameras in safe mode. */
  config(): JsonObject {
    if (this.reading.outcome === 'runs') return this.reading.config
    const empty = readConfigFile('mqtt: {enabled: false}\ncameras: {}\n', this.release)
    if (empty.outcome !== 'runs') throw new Error('an empty configuration is valid')
    return { ...empty.config, safe_mode: true }
  }

  camera(id: string): CameraState | undefined {
    return this.cameras.get(id)
  }

  faceRecognition(): boolean {
    return at(this.config(), 'face_recognition', 'enabled') === true
  }

  setRecording(camera: string, on: boolean, since_s: number): void {
    const open = this.#gaps.find((gap) => gap.camera === camera && gap.to_s === null)
    if (on && open !== undefined) open.to_s = since_s
    if (!on && open === undefined) this.#gaps.push({ camera, from_s: since_s, to_s: null })
  }

  /** The program was away: nobody recorded. */
  addGap(from_s: number, to_s: number): void {
    for (const camera of this.cameras.keys()) this.#gaps.push({ camera, from_s, to_s })
  }

  /** Whether this camera was recorded during all of the time. */
  recorded(camera: string, from_s: number, to_s: number): boolean {
    const now_s = Date.now() / 1000
    if (!this.cameras.has(camera) || from_s < now_s - HISTORY_S || to_s > now_s) return false
    return !this.#gaps.some((gap) => gap.camera === camera && gap.from_s < to_s && (gap.to_s ?? now_s) > from_s)
  }

  historyStart_s(): number {
    return Date.now() / 1000 - HISTORY_S
  }

  /** What was detected between two moments, as far as the history goes. */
  passes(camera: string, from_s: number, to_s: number): Pass[] {
    if (!this.cameras.has(camera)) return []
    const now_s = Date.now() / 1000
    const [start_s, end_s] = [Math.max(from_s, this.historyStart_s()), Math.min(to_s, now_s)]
    if (start_s > end_s) return []
    return passesBetween(camera, start_s, end_s, this.timetable).filter((pass) => pass.start_s <= now_s)
  }

  passById(id: string): Pass | null {
    const pass = passById([...this.cameras.keys()], id, this.timetable)
    return pass !== null && pass.start_s <= Date.now() / 1000 && pass.end_s >= this.historyStart_s() ? pass : null
  }

  /** The first start of all makes the user `admin`, and prints the password once. */
  #firstUser(password: string | undefined): void {
    if (this.users.size > 0 && password === undefined) return
    const made = password ?? randomBytes(16).toString('hex')
    this.users.set('admin', { name: 'admin', role: 'admin', password: made, password_changed_s: 0 })
    if (password !== undefined) return
    const stars = '*'.repeat(56)
    this.log_lines.push(
      stars,
      '***    Auth is enabled, but no users exist.          ***',
      '***    Created a default user:                       ***',
      '***    User: admin                                   ***',
      `***    Password: ${made}   ***`,
      stars,
    )
  }
}

function switchesOf(camera: Json): Record<Switch, boolean> {
  const on = (...path: string[]): boolean => at(camera, ...path) === true
  return {
    enabled: on('enabled'),
    detect: on('detect', 'enabled'),
    motion: on('motion', 'enabled'),
    recordings: on('record', 'enabled'),
    audio: on('audio', 'enabled'),
    snapshots: on('snapshots', 'enabled'),
    review_alerts: on('review', 'alerts', 'enabled'),
    review_detections: on('review', 'detections', 'enabled'),
  }
}

function sizeOf(camera: Json): CameraState['detect'] {
  const number = (name: string, fallback: number): number => {
    const value = at(camera, 'detect', name)
    return typeof value === 'number' ? value : fallback
  }
  return { width: number('width', 1280), height: number('height', 720), frames_per_s: number('fps', 5) }
}
