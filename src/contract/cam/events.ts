// What the NVR has detected: events, review segments, motion over time, and how the NVR does.
import { type Static, Type } from 'typebox'
import { Closed, NullableNumber, NullableText, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'
import { CAM_AREA } from './area.ts'
import { EventId, EventParams, EXAMPLE_EVENT_ID, Limit500, Media, NameList, WindowQuery } from './common.ts'

export const DetectionEvent = Type.Object(
  {
    id: Type.String(),
    camera: Type.String({ description: 'Camera id.' }),
    label: Type.String({ description: 'What was detected: person, car, …' }),
    sub_label: NullableText('Which one: the name of a known face.'),
    zones: Type.Array(Type.String(), { description: 'Zones that it entered.' }),
    start_time: Type.Number({ description: 'Unix seconds.' }),
    end_time: NullableNumber('Unix seconds; null while it goes on.'),
    has_clip: Type.Boolean(),
    has_snapshot: Type.Boolean(),
    score: NullableNumber('Certainty, 0 to 1.'),
    top_score: NullableNumber('Highest certainty, 0 to 1.'),
    box: Type.Union([Type.Array(Type.Number()), Type.Null()], {
      description: 'x, y, width and height as parts of the image, 0 to 1; null where it was not noted.',
    }),
    kind: NullableText('object, audio or manual.'),
    retain_indefinitely: Type.Boolean({ description: 'Whether retention leaves it alone.' }),
    thumbnail: Type.Optional(NullableText('JPEG in Base64, with include_thumbnails=1; null where there is none.')),
    data: Type.Record(Type.String(), Type.Unknown(), { description: 'What else the NVR noted about it.' }),
  },
  { title: 'DetectionEvent' },
)
export type DetectionEvent = Static<typeof DetectionEvent>

export const ReviewSegment = Type.Object(
  {
    id: Type.String(),
    camera: Type.String({ description: 'Camera id.' }),
    start_time: Type.Number({ description: 'Unix seconds.' }),
    end_time: NullableNumber('Unix seconds; null while it goes on.'),
    severity: Type.String({ description: 'alert or detection.' }),
    has_been_reviewed: Type.Boolean({ description: 'Of all users together: the NVR sees this service as one.' }),
    thumb_path: Type.String({ description: 'Path of this API: under /cam/clips.' }),
    objects: Type.Array(Type.String()),
    zones: Type.Array(Type.String()),
    detections: Type.Array(Type.String(), { description: 'Ids of its events.' }),
    data: Type.Record(Type.String(), Type.Unknown(), { description: 'What else the NVR noted about it.' }),
  },
  { title: 'ReviewSegment' },
)
export type ReviewSegment = Static<typeof ReviewSegment>

export const MotionBucket = Type.Object(
  {
    start_time: Type.Number({ description: 'Unix seconds.' }),
    motion: Type.Number({ description: '0 to 100, relative to the rest of its hour in this answer.' }),
    camera: Type.String({ description: 'Ids of the cameras that moved, separated by commas; empty for none.' }),
  },
  { title: 'MotionBucket' },
)
export type MotionBucket = Static<typeof MotionBucket>

const Figures = (what: string) =>
  Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), { description: what })
export const NvrStats = Type.Object(
  {
    cameras: Figures('By camera id: frames a second and processes.'),
    detectors: Figures('By detector: inference_speed in milliseconds.'),
    processes: Figures('By name: pid.'),
    cpu_usages: Figures('By process id: processor and memory, in percent.'),
    gpu_usages: Figures('By GPU.'),
    storage: Figures('Of recordings, clips, cache and shm: total, used and free in MB.'),
    uptime_s: NullableNumber('Since the last restart of the NVR.'),
    nvr_version: NullableText('Version of the NVR software.'),
    updated_at: NullableNumber('When the NVR counted, unix seconds.'),
  },
  { title: 'NvrStats' },
)
export type NvrStats = Static<typeof NvrStats>

const flags = { minimum: 0, maximum: 1 }
const filters = {
  cameras: NameList('Camera ids'),
  labels: NameList('Labels'),
  zones: NameList('Zones; None for outside of all'),
}
const shared = { method: 'GET', access: 'viewer', errors: [502] } as const

const event: DetectionEvent = {
  id: EXAMPLE_EVENT_ID, camera: 'front', label: 'person', sub_label: null, zones: ['gate'], start_time: 1763610000.123456, end_time: 1763610012.5,
  has_clip: true, has_snapshot: true, score: 0.81, top_score: 0.86, box: [0.1, 0.2, 0.15, 0.4], kind: 'object', retain_indefinitely: false, data: {},
} // biome-ignore format: one record
const params = { id: EXAMPLE_EVENT_ID }

export const cameraEvents = defineArea({
  ...CAM_AREA,
  name: 'camera-events',
  description: 'Detections, review segments, motion, and statistics of the NVR.',
  routes: {
    cameraEventList: {
      ...shared,
      path: '/cam/events',
      summary: 'List detection events',
      description: 'The newest first.',
      query: Type.Object({
        limit: Limit500,
        after: Type.Optional({ ...WindowQuery.after, description: 'Only events that began after this. Unix seconds.' }),
        before: Type.Optional({ ...WindowQuery.before, description: 'Only events that began before this. Unix seconds.' }),
        ...filters,
        has_snapshot: Type.Optional(Type.Integer({ enum: [0, 1], ...flags, description: '1: only with, 0: only without a snapshot.' })),
        has_clip: Type.Optional(Type.Integer({ ...flags, 'x-known-values': [1], description: '1: only with a clip.' })),
        include_thumbnails: Type.Optional(
          Type.Integer({ ...flags, 'x-known-values': [1], description: '1: adds thumbnails in Base64, and 100 rows at most.' }),
        ),
      }), // biome-ignore format: a list of fields
      ok: { 200: Type.Array(DetectionEvent) },
      example: { query: { limit: 10, labels: 'person' }, answer: [event] },
    },
    cameraEventGet: {
      ...shared,
      path: '/cam/events/{id}',
      summary: 'Get detection event',
      params: EventParams,
      ok: { 200: DetectionEvent },
      errors: [400, 502],
      example: { params, answer: event },
    },
    cameraEventClipGet: {
      ...shared,
      path: '/cam/events/{id}/clip',
      summary: 'Get clip of detection event',
      kind: 'bytes',
      params: EventParams,
      ok: { 200: Media('video/mp4', 'MP4 of the event.') },
      example: { params },
    },
    cameraEventSnapshotGet: {
      ...shared,
      path: '/cam/events/{id}/snapshot',
      summary: 'Get snapshot of detection event',
      kind: 'bytes',
      params: EventParams,
      ok: { 200: Media('image/jpeg', 'The snapshot.') },
      errors: [404, 502],
      example: { params },
    },
    cameraEventThumbnailGet: {
      ...shared,
      path: '/cam/events/{id}/thumbnail',
      summary: 'Get thumbnail of detection event',
      description: 'Also of events that go on.',
      kind: 'bytes',
      params: EventParams,
      ok: { 200: Media('image/jpeg', 'About 175 pixels wide.') },
      example: { params },
    },
    cameraReviewList: {
      ...shared,
      path: '/cam/review',
      summary: 'List review segments',
      description: 'Those that overlap the window, the newest first.',
      query: Type.Object({
        limit: Limit500,
        ...WindowQuery,
        ...filters,
        severity: Type.Optional(OneOf(['alert', 'detection', 'significant_motion'])),
        reviewed: Type.Optional(Type.Integer({ enum: [0, 1], ...flags, description: '0: not yet reviewed, 1: reviewed; both where left out.' })),
      }), // biome-ignore format: a list of fields
      ok: { 200: Type.Array(ReviewSegment) },
      example: {
        query: { severity: 'alert' },
        answer: [{
          id: EXAMPLE_EVENT_ID, camera: 'front', start_time: 1763610000, end_time: 1763610020, severity: 'alert', has_been_reviewed: false,
          thumb_path: `/cam/clips/review/thumb-front-${EXAMPLE_EVENT_ID}.webp`, objects: ['person'], zones: ['gate'], detections: [EXAMPLE_EVENT_ID], data: {},
        }],
      }, // biome-ignore format: one record
    },
    cameraReviewViewedSet: {
      method: 'POST',
      access: 'operator',
      path: '/cam/reviews/viewed',
      summary: 'Mark review segments as reviewed or not',
      body: Closed({
        ids: Type.Optional(
          Type.Array(EventId, { maxItems: 500, description: 'Ids of review segments; one at least.' }),
        ),
        reviewed: Type.Optional(Type.Boolean({ description: 'True where left out.' })),
      }),
      ok: {
        200: Type.Object({ ids: Type.Array(Type.String()), reviewed: Type.Boolean() }, { title: 'ReviewsViewed' }),
      },
      errors: [400, 502],
      event: { resource_type: 'REVIEW' },
      example: {
        body: { ids: [EXAMPLE_EVENT_ID], reviewed: true },
        answer: { ids: [EXAMPLE_EVENT_ID], reviewed: true },
      },
    },
    cameraMotionList: {
      ...shared,
      path: '/cam/review/activity/motion',
      summary: 'List motion over time',
      query: Type.Object({
        ...WindowQuery,
        scale: Type.Optional(
          Type.Integer({ default: 30, minimum: 15, maximum: 3600, description: 'Seconds a bucket.' }),
        ),
        cameras: NameList('Camera ids'),
      }),
      ok: { 200: Type.Array(MotionBucket) },
      errors: [400, 502],
      example: { query: { scale: 30 }, answer: [{ start_time: 1763610000, motion: 42.5, camera: 'front' }] },
    },
    cameraStatsGet: {
      ...shared,
      path: '/cam/stats',
      summary: 'Get statistics of NVR',
      ok: { 200: NvrStats },
      example: {
        answer: {
          cameras: { front: { camera_fps: 5 } }, detectors: { cpu1: { inference_speed: 12.5 } }, processes: {}, cpu_usages: {}, gpu_usages: {},
          storage: { recordings: { total: 100000, used: 40000, free: 60000 } }, uptime_s: 3600, nvr_version: '0.17.2', updated_at: 1763610000,
        },
      }, // biome-ignore format: one record
    },
  },
})
