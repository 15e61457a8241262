// What was recorded: segments, availability by day, clips, HLS, and previews for a timeline.
import { type Static, Type } from 'typebox'
import { Closed, NullableInteger, NullableNumber } from '../common.ts'
import { defineArea } from '../route.ts'
import { CAM_AREA } from './area.ts'
import { CameraId, CameraParams, Media, NotModified, PartOfMedia, Seconds, WindowQuery } from './common.ts'

export const RecordingSegment = Type.Object(
  {
    id: Type.String(),
    start_time: Type.Number({ description: 'Unix seconds.' }),
    end_time: Type.Number({ description: 'Unix seconds.' }),
    duration: Type.Number({ description: 'Seconds; about 10.' }),
    segment_size_mb: NullableNumber('Size on disk.'),
    motion: NullableInteger('Amount of motion; null where it was not measured.'),
    objects: NullableInteger('Objects that were active; null where it was not measured.'),
  },
  { title: 'RecordingSegment' },
)
export type RecordingSegment = Static<typeof RecordingSegment>

const RecordingHour = Type.Object(
  {
    hour: Type.String({ description: '00 to 23, in the time zone that was asked for.' }),
    events: Type.Integer({ minimum: 0 }),
    motion: NullableInteger('Amount of motion.'),
    objects: NullableInteger('Objects that were active.'),
    duration: Type.Number({ description: 'Seconds recorded.' }),
  },
  { title: 'RecordingHour' },
)
export const RecordingSummaryEntry = Type.Object(
  {
    day: Type.String({ description: 'YYYY-MM-DD in the time zone that was asked for.' }),
    events: Type.Integer({ minimum: 0, description: 'Events that began on this day.' }),
    hours: Type.Array(RecordingHour),
  },
  { title: 'RecordingSummaryEntry' },
)
export type RecordingSummaryEntry = Static<typeof RecordingSummaryEntry>

export const CameraPreview = Type.Object(
  {
    camera: Type.String(),
    src: Type.String({ description: 'Path of this API: under /cam/clips.' }),
    type: Type.String({ description: 'Media type.' }),
    start: Type.Number({ description: 'Unix seconds; may lie before the window.' }),
    end: Type.Number({ description: 'Unix seconds.' }),
  },
  { title: 'CameraPreview' },
)
export type CameraPreview = Static<typeof CameraPreview>

const FRAME = 'preview_front-1763610000.25.webp'
const shared = { method: 'GET', access: 'viewer', errors: [400, 502] } as const
const params = { id: 'front' }
const query = { after: 1763606400, before: 1763610000 }

export const cameraRecordings = defineArea({
  ...CAM_AREA,
  name: 'camera-recordings',
  description: 'Recordings of cameras: availability, clips, HLS and previews.',
  routes: {
    cameraPreviewFrameList: {
      ...shared,
      path: '/cam/cameras/{id}/preview-frames',
      summary: 'List names of preview frames of camera',
      description: 'They exist for the running hour (UTC) alone, and only while the camera records.',
      params: CameraParams,
      query: Type.Object(WindowQuery),
      ok: { 200: Type.Array(Type.String()) },
      example: { params, query, answer: [FRAME] },
    },
    cameraPreviewList: {
      ...shared,
      path: '/cam/cameras/{id}/previews',
      summary: 'List hourly previews of camera',
      params: CameraParams,
      query: Type.Object(WindowQuery),
      ok: { 200: Type.Array(CameraPreview) },
      example: {
        params, query,
        answer: [{ camera: 'front', src: '/cam/clips/previews/front/1763606400.0-1763610000.0.mp4', type: 'video/mp4', start: 1763606400, end: 1763610000 }],
      }, // biome-ignore format: one record
    },
    cameraPreviewFrameGet: {
      ...shared,
      path: '/cam/preview-frames/{filename}',
      summary: 'Get preview frame',
      kind: 'bytes',
      params: Closed({
        filename: Type.String({ maxLength: 120, pattern: '^preview_[A-Za-z0-9_-]+-[0-9.]+\\.webp$', description: 'As the list names it.' }),
      }), // biome-ignore format: one field
      ok: { 200: Media('image/webp', 'The frame, about 180 pixels high.') },
      example: { params: { filename: FRAME } },
    },
    cameraClipGet: {
      ...shared,
      path: '/cam/cameras/{id}/recording/clip',
      summary: 'Get recording of camera as one MP4',
      description:
        'Begins at the key frame before `start`. It is made while it is sent: without length, ranges and seeking; use the HLS route to seek.',
      kind: 'bytes',
      params: CameraParams,
      query: Type.Object({
        start: Type.Optional(Seconds('Start; required.')),
        end: Type.Optional(Seconds('End, after the start; required.')),
        download: Type.Optional(
          Type.String({ maxLength: 8, description: '`1`: an attachment with a file name, of 30 minutes at most.' }),
        ),
      }),
      ok: { 200: Media('video/mp4', 'MP4 of the window; shorter where nothing was recorded.') },
      example: { params, query: { start: 1763606400, end: 1763606460, download: '1' } },
    },
    cameraHlsGet: {
      ...shared,
      path: '/cam/cameras/{id}/recording/hls/{path*}',
      summary: 'Get playlist or segment of recording',
      description:
        'Begin with `start/{unix seconds}/end/{unix seconds}/master.m3u8`; the addresses in the playlists are relative to it. A list ends with what is recorded when it is asked for.',
      kind: 'proxy',
      params: Closed({
        id: CameraId,
        path: Type.String({ minLength: 1, maxLength: 200, description: 'Path below the recording.' }),
      }),
      query: Type.Object({
        ticket: Type.Optional(
          Type.String({
            pattern: '^gpp_[A-Za-z0-9_-]{43}$',
            'x-extension': true,
            description: 'Ticket for a path (POST /auth/tickets): every address in the playlists carries it on.',
          }),
        ),
      }),
      ok: { 200: Media('*/*', 'Playlist, initialisation segment or media segment.'), 206: PartOfMedia('*/*') },
      example: { params: { id: 'front', path: 'start/1763606400/end/1763610000/master.m3u8' } },
    },
    cameraSegmentList: {
      ...shared,
      path: '/cam/cameras/{id}/recording/segments',
      summary: 'List recorded segments of camera',
      params: CameraParams,
      query: Type.Object(WindowQuery),
      ok: { 200: Type.Array(RecordingSegment) },
      example: {
        params, query,
        answer: [{ id: '1763606400.0-x1y2z3', start_time: 1763606400, end_time: 1763606410, duration: 10, segment_size_mb: 2.4, motion: 12, objects: 1 }],
      }, // biome-ignore format: one record
    },
    cameraRecordingSummaryGet: {
      ...shared,
      path: '/cam/cameras/{id}/recording/summary',
      summary: 'Get days and hours with recordings of camera',
      description: 'The newest day first.',
      params: CameraParams,
      query: Type.Object({
        timezone: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 64,
            description: 'IANA name such as Europe/Berlin; UTC where left out.',
          }),
        ),
      }),
      ok: { 200: Type.Array(RecordingSummaryEntry) },
      example: {
        params, query: { timezone: 'Europe/Berlin' },
        answer: [{ day: '2026-11-20', events: 3, hours: [{ hour: '03', events: 3, motion: 120, objects: 4, duration: 3600 }] }],
      }, // biome-ignore format: one record
    },
    cameraFileGet: {
      ...shared,
      path: '/cam/clips/{path*}',
      summary: 'Get file of clips',
      description: 'Previews, thumbnails, snapshots and faces, by the paths that other answers give. Serves ranges.',
      kind: 'proxy',
      headers: Type.Object({ Range: Type.Optional(Type.String({ description: 'Passed on to the NVR.' })) }),
      params: Closed({ path: Type.String({ minLength: 1, maxLength: 500, description: 'Path below clips.' }) }),
      ok: { 200: Media('*/*', 'The file.'), 206: PartOfMedia('*/*'), 304: NotModified },
      example: { params: { path: 'previews/front/1763606400.0-1763610000.0.mp4' } },
    },
  },
})
