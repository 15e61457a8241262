// The cameras of the NVR: what they are and do at the moment, and the switches of each.
import { type Static, Type } from 'typebox'
import { Closed, NullableInteger, NullableNumber, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'
import { CameraParams, Media } from './common.ts'
import { CAM_AREA } from './area.ts'

export const Camera = Type.Object(
  {
    id: Type.String({ description: 'Goes into the paths of this module.' }),
    name: Type.String({ description: 'Name for people; the id where there is none.' }),
    enabled: Type.Boolean({ description: 'Whether the NVR uses the camera at all.' }),
    detect_enabled: Type.Boolean({ description: 'Object detection.' }),
    motion_enabled: Type.Boolean({ description: 'Motion detection.' }),
    record_enabled: Type.Boolean({ description: 'Recording.' }),
    record_configured: Type.Boolean({
      description: 'Recording as the configuration says: what holds after the next restart.',
    }),
    audio_enabled: Type.Boolean({ description: 'Audio detection.' }),
    audio_configured: Type.Boolean({ description: 'Whether the camera has a stream that audio detection can use.' }),
    snapshots_enabled: Type.Boolean({ description: 'Whether events get a snapshot.' }),
    detect_width: NullableInteger('Width of the image that objects are detected in.'),
    detect_height: NullableInteger('Height of that image.'),
    detect_fps: NullableInteger('Frames a second that are wanted for detection.'),
    zones: Type.Array(Type.String(), { description: 'Names of the zones of the image.' }),
    labels: Type.Array(Type.String(), { description: 'Objects that are tracked.' }),
    live_source: OneOf(['main', 'reencoded'], {
      description: 'What the live view shows: the main stream, or one re-encoded to H.264.',
    }),
    camera_fps: NullableNumber('Frames a second that arrive; 0: the camera sends nothing. Null until it was counted.'),
    process_fps: NullableNumber('Frames a second that are processed.'),
    skipped_fps: NullableNumber('Frames a second that are left out because the NVR is too slow.'),
    detection_fps: NullableNumber('Detections a second.'),
  },
  { title: 'Camera' },
)
export type Camera = Static<typeof Camera>

/** Not required, as the documents have it; without it the answer is 400. */
const CameraToggle = Closed(
  { enabled: Type.Optional(Type.Boolean({ description: 'What is wanted.' })) },
  { title: 'CameraToggle' },
)

const switches = {
  id: Type.String({ description: 'Id of the camera.' }),
  detect_enabled: Type.Boolean(),
  motion_enabled: Type.Boolean(),
  record_enabled: Type.Boolean(),
  audio_enabled: Type.Boolean(),
}
export const CameraToggleResult = Type.Object(switches, {
  title: 'CameraToggleResult',
  description: 'All switches of the camera after the change.',
})
export type CameraToggleResult = Static<typeof CameraToggleResult>

export const CameraRecordingResult = Type.Object(
  {
    ...switches,
    record_enabled: Type.Boolean({ description: 'What is wanted: it holds when the NVR has restarted.' }),
    restarting: Type.Boolean({
      description:
        'The NVR restarts: its streams drop for about 30 seconds. False: nothing had to change, or it is back.',
    }),
    status: OneOf(['IN_PROGRESS', 'SUCCESS'], { description: 'IN_PROGRESS until the stream is back.' }),
    job_id: Type.Union([Type.String(), Type.Null()], {
      description: 'Follow it with GET /jobs/{id}; null when nothing had to change.',
    }),
    correlation_id: Type.String({ description: 'Correlation id of the application event.' }),
  },
  { title: 'CameraRecordingResult' },
)
export type CameraRecordingResult = Static<typeof CameraRecordingResult>

const camera: Camera = {
  id: 'front', name: 'Front door', enabled: true, detect_enabled: true, motion_enabled: true, record_enabled: true, record_configured: true,
  audio_enabled: false, audio_configured: false, snapshots_enabled: true, detect_width: 640, detect_height: 360, detect_fps: 5, zones: ['gate'],
  labels: ['person', 'car'], live_source: 'main', camera_fps: 5, process_fps: 5, skipped_fps: 0, detection_fps: 1.2,
} // biome-ignore format: one record
const after = { id: 'front', detect_enabled: true, motion_enabled: true, record_enabled: true, audio_enabled: false }

const toggle = {
  method: 'POST',
  access: 'operator',
  params: CameraParams,
  body: CameraToggle,
  errors: [400, 502],
  event: { resource_type: 'CAMERA' },
} as const
const example = { params: { id: 'front' }, body: { enabled: true }, answer: after }

export const cameras = defineArea({
  ...CAM_AREA,
  name: 'cameras',
  description: 'The cameras of the NVR and their switches.',
  routes: {
    cameraList: {
      method: 'GET',
      path: '/cam/cameras',
      summary: 'List cameras with switches and live counters',
      access: 'viewer',
      ok: { 200: Type.Array(Camera) },
      errors: [502],
      example: { answer: [camera] },
    },
    cameraAudioSet: {
      ...toggle,
      path: '/cam/cameras/{id}/audio',
      summary: 'Set audio detection of camera',
      description:
        'Until the next restart of the NVR. Refused where the camera has no stream for it (`audio_configured`).',
      ok: { 200: CameraToggleResult },
      example,
    },
    cameraDetectSet: {
      ...toggle,
      path: '/cam/cameras/{id}/detect',
      summary: 'Set object detection of camera',
      description:
        'Until the next restart of the NVR. The NVR turns motion detection on by itself when object detection goes on.',
      ok: { 200: CameraToggleResult },
      example,
    },
    cameraMotionSet: {
      ...toggle,
      path: '/cam/cameras/{id}/motion',
      summary: 'Set motion detection of camera',
      description: 'Until the next restart of the NVR. It cannot be turned off while object detection is on.',
      ok: { 200: CameraToggleResult },
      example,
    },
    cameraRecordingSet: {
      ...toggle,
      path: '/cam/cameras/{id}/recording',
      summary: 'Set recording of camera',
      description:
        'Writes the configuration and restarts the NVR: all its streams drop for about 30 seconds, and GET /cam/current says `restarting`. Answers at once; the job and its event go on until the stream is back.',
      ok: { 200: CameraRecordingResult },
      example: {
        params: { id: 'front' },
        body: { enabled: true },
        answer: { ...after, restarting: true, status: 'IN_PROGRESS', job_id: '0193a5d2-5c7e-7a11-8a55-1f6b2f0c9d11', correlation_id: '0193a5d2-5c7e-7a11-8a55-1f6b2f0c9d11' },
      }, // biome-ignore format: one record
    },
    cameraLatestGet: {
      method: 'GET',
      path: '/cam/cameras/{id}/latest',
      summary: 'Get most recent frame of camera',
      description:
        'While the camera sends nothing, the NVR draws a frame that says so: `camera_fps` of GET /cam/cameras tells.',
      access: 'viewer',
      kind: 'bytes',
      params: CameraParams,
      ok: { 200: Media('image/jpeg', 'The most recent processed frame.') },
      errors: [400, 502],
      example: { params: { id: 'front' } },
    },
  },
})
