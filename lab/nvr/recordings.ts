/** What was recorded: segments of ten seconds that exist by definition, and their video, drawn when somebody wants it. */
import { setImmediate as breathe } from 'node:timers/promises'
import { noise } from '../site.ts'
import { FRAMES_PER_S, type Pass, seedOf } from './cameras.ts'
import type { JsonObject } from './json.ts'
import { FRAMES_PER_GROUP } from './live-stream.ts'
import { createScene } from './scene.ts'
import type { CameraState, NvrState } from './state.ts'
import { createEncoder, type EncodedFrame, type Encoder } from './video/h264.ts'
import { box, fragment, TICKS_PER_S } from './video/mp4.ts'

const SEGMENT_S = 10
/** A segment is moved to the disk a moment after its end. */
const WRITTEN_AFTER_S = 2

export interface Segment {
  start_s: number
  end_s: number
  motion: number
  objects: number
}

/** A part of a recording that is played in one go. */
export interface Piece {
  from_s: number
  to_s: number
}

/** Segments that touch the time, oldest first. */
export function segmentsBetween(nvr: NvrState, camera: string, from_s: number, to_s: number): Segment[] {
  const start_s = Math.max(from_s, nvr.historyStart_s())
  const end_s = Math.min(to_s, Date.now() / 1000 - WRITTEN_AFTER_S)
  const segments: Segment[] = []
  if (!(start_s <= end_s)) return segments
  const passes = nvr.passes(camera, start_s - SEGMENT_S, end_s + SEGMENT_S)
  const seed = seedOf(camera)
  let first = 0
  for (
    let at_s = Math.floor(start_s / SEGMENT_S) * SEGMENT_S;
    at_s + SEGMENT_S <= end_s + SEGMENT_S;
    at_s += SEGMENT_S
  ) {
    const until_s = at_s + SEGMENT_S
    if (until_s > Date.now() / 1000 - WRITTEN_AFTER_S || !nvr.recorded(camera, at_s, until_s)) continue
    // Passes are sorted; those that ended long before are left behind.
    while ((passes[first]?.end_s ?? Infinity) < at_s - SEGMENT_S) first++
    segments.push(segment(at_s, until_s, passes, first, noise(seed, at_s)))
  }
  return segments
}

/** Whether any segment of the time is on the disk. */
export function hasRecording(nvr: NvrState, camera: string, from_s: number, to_s: number): boolean {
  const written_s = Date.now() / 1000 - WRITTEN_AFTER_S
  for (let at_s = Math.floor(from_s / SEGMENT_S) * SEGMENT_S; at_s <= to_s; at_s += SEGMENT_S) {
    if (at_s + SEGMENT_S <= written_s && nvr.recorded(camera, at_s, at_s + SEGMENT_S)) return true
  }
  return false
}

function segment(start_s: number, end_s: number, passes: readonly Pass[], first: number, chance: number): Segment {
  let objects = 0
  for (let index = first; index < passes.length; index++) {
    const pass = passes[index]
    if (pass === undefined || pass.start_s >= end_s) break
    if (pass.end_s > start_s) objects++
  }
  return {
    start_s,
    end_s,
    objects,
    motion: objects > 0 ? objects * 200 + Math.floor(chance * 600) : Math.floor(chance * 6),
  }
}

export function segmentRow({ start_s, end_s, motion, objects }: Segment): JsonObject {
  return {
    id: `${start_s}.0-${(start_s % 1_000_000).toString(36).padStart(6, '0')}`,
    start_time: start_s,
    end_time: end_s,
    segment_size: 0.2,
    motion,
    objects,
    duration: end_s - start_s,
  }
}

/** What of a time was recorded, in the pieces in which it lies on the disk. */
export function piecesBetween(nvr: NvrState, camera: string, from_s: number, to_s: number): Piece[] {
  return segmentsBetween(nvr, camera, from_s, to_s)
    .map(({ start_s, end_s }) => ({ from_s: Math.max(start_s, from_s), to_s: Math.min(end_s, to_s) }))
    .filter((piece) => piece.to_s > piece.from_s || from_s === to_s)
}

export function recordingEncoder({ scenery }: CameraState): Encoder {
  return createEncoder(scenery.width, scenery.height, FRAMES_PER_S)
}

/**
 * The frames of a piece in groups, each of which begins with a key frame. Other work of the process goes on between them,
 * and nothing is drawn for a reader who left.
 */
export async function* groupsOf(
  nvr: NvrState,
  camera: CameraState,
  encoder: Encoder,
  piece: Piece,
): AsyncGenerator<EncodedFrame[]> {
  const scene = createScene(camera.scenery, camera.scenery)
  const passes = nvr.passes(camera.id, piece.from_s - 1, piece.to_s + 1)
  const first = Math.ceil(piece.from_s * FRAMES_PER_S)
  const end = Math.max(first + 1, Math.ceil(piece.to_s * FRAMES_PER_S))
  for (let start = first; start < end; ) {
    const next = Math.min(end, (Math.floor(start / FRAMES_PER_GROUP) + 1) * FRAMES_PER_GROUP)
    const group: EncodedFrame[] = []
    for (let number = start; number < next; number++) {
      const time_s = number / FRAMES_PER_S
      const nearby = passes.filter((pass) => pass.start_s <= time_s && pass.end_s >= time_s)
      group.push(encoder.encode(scene.draw(time_s, nearby), number === start))
    }
    yield group
    start = next
    await breathe()
  }
}

/** Fragments of MP4 with the frames of pieces one after the other; gaps between them are left out. */
export async function* fragmentsOf(
  nvr: NvrState,
  camera: CameraState,
  encoder: Encoder,
  pieces: readonly Piece[],
  options: { start_ticks: number; padding_bytes: number },
): AsyncGenerator<Buffer> {
  let at_ticks = options.start_ticks
  let sequence = 1
  for (const piece of pieces) {
    for await (const group of groupsOf(nvr, camera, encoder, piece)) {
      yield fragment(encoder, sequence++, at_ticks, group)
      if (options.padding_bytes > 0) yield box('free', Buffer.alloc(options.padding_bytes))
      at_ticks += (group.length * TICKS_PER_S) / FRAMES_PER_S
    }
  }
}

/** Days and hours in the zone of the reader, the newest first. */
export function summary(nvr: NvrState, camera: string, zone: string): JsonObject[] {
  const days = new Map<string, Map<string, { events: number; motion: number; objects: number; duration: number }>>()
  const hourOf = hoursIn(zone)
  const rowAt = (time_s: number) => {
    const { day, hour } = hourOf(time_s)
    const hours =
      days.get(day) ?? new Map<string, { events: number; motion: number; objects: number; duration: number }>()
    days.set(day, hours)
    const row = hours.get(hour) ?? { events: 0, motion: 0, objects: 0, duration: 0 }
    hours.set(hour, row)
    return row
  }
  const segments = segmentsBetween(nvr, camera, 0, Infinity)
  for (const { start_s, end_s, motion, objects } of segments) {
    const row = rowAt(start_s)
    row.motion += motion
    row.objects += objects
    row.duration += end_s - start_s
  }
  for (const pass of nvr.passes(camera, segments[0]?.start_s ?? Infinity, segments.at(-1)?.start_s ?? 0)) {
    rowAt(pass.start_s).events++
  }
  return [...days].toReversed().map(([day, hours]) => ({
    day,
    events: [...hours.values()].reduce((all, { events }) => all + events, 0),
    hours: [...hours].toReversed().map(([hour, row]) => ({ hour, ...row })),
  }))
}

/** The day and the hour of a moment; the difference to UTC is asked for once an hour. Throws for an unknown zone. */
function hoursIn(zone: string): (time_s: number) => { day: string; hour: string } {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const offsets = new Map<number, number>()
  const offsetAt = (hour: number): number => {
    const known = offsets.get(hour)
    if (known !== undefined) return known
    const [day, month, year, ...time] =
      format
        .format(hour * 3_600_000)
        .match(/\d+/g)
        ?.map(Number) ?? []
    const local_ms = Date.UTC(year ?? 0, (month ?? 1) - 1, day ?? 1, time[0] ?? 0, time[1] ?? 0)
    const offset_s = local_ms / 1000 - hour * 3600
    offsets.set(hour, offset_s)
    return offset_s
  }
  return (time_s) => {
    const local = new Date((time_s + offsetAt(Math.floor(time_s / 3600))) * 1000).toISOString()
    return { day: local.slice(0, 10), hour: local.slice(11, 13) }
  }
}
