// The configuration file of the NVR: the whole of it for the first boot, and a camera more or less in one that is in use.
import { type Document, parseDocument, stringify } from 'yaml'

/** The two forms of the file that there are. */
export type NvrRelease = '0.16' | '0.17'

export interface NvrCamera {
  id: string
  /** For people. */
  name: string
  /** With the login inside, percent-encoded. */
  main_stream_url: string
  /** Empty: the main stream is watched for objects, too. */
  sub_stream_url: string
  /** Empty: none of its own. */
  audio_stream_url: string
  /** The main stream carries sound. */
  has_audio: boolean
  /** Null: nobody could tell; then the live view is re-encoded, as browsers show H.264 alone. */
  is_h264: boolean | null
}

export interface NvrConfigOptions {
  release: NvrRelease
  /** For WebRTC, which goes from the browser to the NVR directly. */
  address: string
  has_gpu: boolean
  cameras: readonly NvrCamera[]
}

/** Days that recordings stay: all of them, those with motion, those of reviews. */
const KEEP_DAYS = { continuous: 7, motion: 14, reviews: 30 }
const RELAY = 'rtsp://127.0.0.1:8554'

export function nvrConfigText({ release, address, has_gpu, cameras }: NvrConfigOptions): string {
  const sections = cameras.map((camera) => cameraSections(camera, { release, has_gpu }))
  return stringify(
    {
      version: `${release}-0`,
      mqtt: { enabled: false },
      auth: { enabled: true },
      tls: { enabled: true },
      go2rtc: {
        streams: Object.assign({}, ...sections.map(({ streams }) => streams)),
        webrtc: { candidates: [`${address}:8555`] },
      },
      ...(has_gpu ? { ffmpeg: { hwaccel_args: 'preset-nvidia' } } : {}),
      record: recording(release),
      snapshots: { enabled: true },
      face_recognition: { enabled: true },
      cameras: Object.fromEntries(sections.map(({ id, camera }) => [id, camera])),
    },
    { lineWidth: 0, aliasDuplicateObjects: false },
  )
}

/** The file with the camera in it; what else people have written stays. Throws for a text that is no such file. */
export function withCamera(
  text: string,
  camera: NvrCamera,
  options: Pick<NvrConfigOptions, 'release' | 'has_gpu'>,
): string {
  const document = documentOf(text)
  const { streams, camera: section } = cameraSections(camera, options)
  for (const [name, source] of Object.entries(streams)) document.setIn(['go2rtc', 'streams', name], source)
  document.setIn(['cameras', camera.id], section)
  return document.toString({ lineWidth: 0 })
}

export function withoutCamera(text: string, id: string): string {
  const document = documentOf(text)
  for (const name of Object.values(streamNames(id))) document.deleteIn(['go2rtc', 'streams', name])
  document.deleteIn(['cameras', id])
  return document.toString({ lineWidth: 0 })
}

export function hasCamera(text: string, id: string): boolean {
  return documentOf(text).hasIn(['cameras', id])
}

function documentOf(text: string): Document {
  const document = parseDocument(text)
  if (document.errors.length > 0 || !document.has('cameras')) throw new Error('this is no configuration of the NVR')
  return document
}

function streamNames(id: string) {
  return { main: id, sub: `${id}_sub`, audio: `${id}_audio`, live: `${id}_live` }
}

interface Input {
  path: string
  input_args: 'preset-rtsp-restream'
  roles: string[]
}

function cameraSections(camera: NvrCamera, { release, has_gpu }: Pick<NvrConfigOptions, 'release' | 'has_gpu'>) {
  const names = streamNames(camera.id)
  const streams: Record<string, string[]> = { [names.main]: [sourceOf(camera.main_stream_url)] }
  const inputs: Input[] = []
  const add = (name: string, roles: string[]) =>
    inputs.push({ path: `${RELAY}/${name}`, input_args: 'preset-rtsp-restream', roles })
  const own_audio = camera.audio_stream_url !== ''
  const main_roles = ['record', ...(camera.has_audio && !own_audio ? ['audio'] : [])]
  if (camera.sub_stream_url === '') add(names.main, [...main_roles, 'detect'])
  else {
    streams[names.sub] = [sourceOf(camera.sub_stream_url)]
    add(names.main, main_roles)
    add(names.sub, ['detect'])
  }
  if (own_audio) {
    streams[names.audio] = [sourceOf(camera.audio_stream_url)]
    add(names.audio, ['audio'])
  }
  const encoded = camera.is_h264 !== true
  if (encoded)
    streams[names.live] = [`ffmpeg:${names.main}#video=h264#audio=aac#audio=opus${has_gpu ? '#hardware' : ''}`]
  const section = {
    ...(release === '0.17' ? { friendly_name: camera.name } : {}),
    ffmpeg: { inputs },
    // Width and height are left out: the NVR reads those of the stream.
    detect: { enabled: true, fps: 5 },
    audio: { enabled: camera.has_audio || own_audio },
    live: { streams: { Main: encoded ? names.live : names.main } },
  }
  return { id: camera.id, streams, camera: section }
}

/** Both programs put values into braces of a URL before they open it. */
function sourceOf(url: string): string {
  return url.replaceAll('{', '%7B').replaceAll('}', '%7D')
}

function recording(release: NvrRelease) {
  const { continuous, motion, reviews } = KEEP_DAYS
  const retain = { retain: { days: reviews, mode: 'motion' } }
  const days =
    release === '0.17'
      ? { continuous: { days: continuous }, motion: { days: motion } }
      : { retain: { days: continuous, mode: 'all' } }
  return { enabled: true, ...days, alerts: retain, detections: retain }
}
