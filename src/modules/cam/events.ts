// What the NVR has detected: events with their images and clips, motion over time, and statistics.
import type { DetectionEvent, cameraEvents } from '#src/contract/cam/events.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import pLimit from 'p-limit'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import type { EventRow } from '#src/drivers/frigate/shapes.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { openClip } from './clips.ts'
import type { CamDeps } from './deps.ts'
import { reviewHandlers } from './reviews.ts'
import { statsOf } from './stats.ts'
import { nameList, windowOf } from './windows.ts'

type Routes = typeof cameraEvents.routes

const MOST_ROWS = 500
const MOST_THUMBNAILS = 100
const THUMBNAILS_AT_ONCE = 8

export function eventHandlers(deps: CamDeps): Handlers<Routes, RequestContext> {
  const { currentNvr } = deps
  return {
    ...reviewHandlers(deps),
    cameraEventList: async ({ query }, { signal }) => listEvents(await currentNvr(), query, signal),
    async cameraEventGet({ params: { id } }, { signal }) {
      const row = await (await currentNvr()).event(id, signal)
      if (row === undefined) throw eventNotFound(id, 'event')
      return eventOf(row)
    },
    async cameraEventClipGet({ params: { id } }, { signal }) {
      const clip = await openClip(await currentNvr(), `/api/events/${id}/clip.mp4`, signal)
      if (clip === undefined) throw eventNotFound(id, 'clip')
      return clip
    },
    cameraEventSnapshotGet: async ({ params: { id } }, { signal }) =>
      imageOf(await currentNvr(), id, 'snapshot', signal),
    cameraEventThumbnailGet: async ({ params: { id } }, { signal }) =>
      imageOf(await currentNvr(), id, 'thumbnail', signal),
    async cameraMotionList({ query }, { signal }) {
      const { scale = 30 } = query
      const cameras = nameList(query.cameras)
      const rows = await (await currentNvr()).motion({ ...windowOf(query), scale, cameras }, signal)
      return rows.map(({ start_time, motion, camera }) => ({ start_time, motion, camera }))
    },
    cameraStatsGet: async (_input, { signal }) => statsOf(await (await currentNvr()).stats({ signal })),
  }
}

async function listEvents(
  nvr: Frigate,
  query: Input<Routes['cameraEventList']>['query'],
  signal: AbortSignal,
): Promise<DetectionEvent[]> {
  const { limit = 100, after, before, has_snapshot, has_clip, include_thumbnails } = query
  const with_thumbnails = include_thumbnails === 1
  const rows = await nvr.events(
    {
      limit: Math.min(limit, with_thumbnails ? MOST_THUMBNAILS : MOST_ROWS),
      after, before, has_snapshot, has_clip,
      cameras: nameList(query.cameras), labels: nameList(query.labels), zones: nameList(query.zones),
    },
    signal,
  ) // biome-ignore format: a list of filters
  if (!with_thumbnails) return rows.map(eventOf)
  // The NVR keeps them as files, and its own list has none.
  const limiter = pLimit(THUMBNAILS_AT_ONCE)
  return Promise.all(
    rows.map((row) =>
      limiter(async () => {
        const image = await nvr.image('thumbnail', `/api/events/${encodeURIComponent(row.id)}/thumbnail.jpg`, signal)
        return { ...eventOf(row), thumbnail: image?.toString('base64') ?? null }
      }),
    ),
  )
}

async function imageOf(nvr: Frigate, id: string, what: 'snapshot' | 'thumbnail', signal: AbortSignal) {
  const image = await nvr.image(what, `/api/events/${id}/${what}.jpg`, signal)
  if (image === undefined) throw eventNotFound(id, what)
  return { media_type: 'image/jpeg', body: image }
}

function eventNotFound(id: string, what: 'event' | 'clip' | 'snapshot' | 'thumbnail'): ApiError {
  const sentence = what === 'event' ? `Event ${id} not found.` : `Event ${id} not found, or it has no ${what}.`
  return new ApiError('CAM_EVENT_NOT_FOUND', sentence)
}

function eventOf(row: EventRow): DetectionEvent {
  const { box, score, top_score, type, ...data } = row.data ?? {}
  return {
    id: row.id,
    camera: row.camera,
    label: row.label,
    sub_label: nameOf(row.sub_label),
    zones: row.zones ?? [],
    start_time: row.start_time,
    end_time: row.end_time ?? null,
    has_clip: row.has_clip ?? false,
    has_snapshot: row.has_snapshot ?? false,
    score: numberOf(score),
    top_score: numberOf(top_score) ?? row.top_score ?? null,
    box: Array.isArray(box) && box.every((side) => typeof side === 'number') ? box : null,
    kind: typeof type === 'string' ? type : null,
    retain_indefinitely: row.retain_indefinitely ?? false,
    data,
  }
}

/** A name, or a name with its score. */
function nameOf(sub_label: unknown): string | null {
  const name: unknown = Array.isArray(sub_label) ? sub_label[0] : sub_label
  return typeof name === 'string' && name !== '' ? name : null
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
