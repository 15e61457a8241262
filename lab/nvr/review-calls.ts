/** Calls about reviews: items to be reviewed, marks that somebody did, and how much moved when. */
import { reviewItem } from './activity.ts'
import type { Pass } from './cameras.ts'
import { mayRead, requireCamera } from './camera-access.ts'
import { type Answer, type Call, failure, json, jsonBody, missingField, queryFloat, queryInteger, type Route, route, uncaught, unprocessable } from './http-call.ts' // biome-ignore format: one line
import { isObject, type Json, type JsonObject } from './json.ts'
import { type Segment, segmentsBetween } from './recordings.ts'
import type { NvrState } from './state.ts'

const DAY_S = 24 * 3600
const HOUR_S = 3600

export function reviewRoutes(): Route[] {
  return [
    route('GET', '/review', 'anyone', list),
    route('POST', '/reviews/viewed', 'anyone', markViewed),
    route('DELETE', '/review/:review/viewed', 'anyone', ({ nvr, params, caller }) => {
      const id = params['review'] ?? ''
      if (reviewOf(nvr, id) === null) throw failure(404, `Review ${id} not found`)
      nvr.reviewed.delete(`${caller.name} ${id}`)
      return json({ success: true, message: `Set Review ${id} as not viewed` })
    }),
    route('GET', '/review/activity/motion', 'anyone', motion),
    route('GET', '/review/:review', 'anyone', ({ nvr, params }) => {
      const pass = reviewOf(nvr, params['review'] ?? '')
      if (pass === null) throw failure(404, 'Review item not found')
      return json(reviewItem(pass, Date.now() / 1000))
    }),
  ]
}

function reviewOf(nvr: NvrState, id: string): Pass | null {
  const pass = nvr.passById(id)
  return pass?.review_id === id ? pass : null
}

function list(call: Call): Answer {
  const { nvr, query, caller } = call
  const now_s = Date.now() / 1000
  const limit = queryInteger(call, 'limit', -1)
  const [after, before] = [queryFloat(call, 'after', now_s - DAY_S), queryFloat(call, 'before', now_s)]
  const severity = query.get('severity')
  if (severity !== null && severity !== 'alert' && severity !== 'detection') {
    throw unprocessable('enum', ['query', 'severity', 'str-enum[SeverityEnum]'], "Input should be 'alert' or 'detection'", severity) // biome-ignore format: one line
  }
  const fits = (name: string, value: string): boolean => {
    const text = query.get(name) ?? 'all'
    return text === 'all' || text.split(',').includes(value)
  }
  const shown = reviewedFilter(call)
  const items = [...nvr.cameras.keys()]
    .filter((id) => mayRead(nvr, caller, id) && fits('cameras', id))
    // An item is longer than its event.
    .flatMap((id) => nvr.passes(id, after - 3, before + 3))
    .filter((pass) => fits('labels', pass.label) && fits('zones', ''))
    .map((pass) => ({
      ...reviewItem(pass, now_s),
      has_been_reviewed: nvr.reviewed.has(`${caller.name} ${pass.review_id}`),
    }))
    .map((item): JsonObject => item)
    .filter(
      (item) => Number(item['start_time']) < before && (item['end_time'] === null || Number(item['end_time']) > after),
    )
    .filter((item) => (severity === null || item['severity'] === severity) && shown(item['has_been_reviewed'] === true))
    .toSorted((a, b) => Number(b['start_time']) - Number(a['start_time']))
  return json(limit < 0 ? items : items.slice(0, limit))
}

/** 0.17: absent is all, 0 and 1 as they say. 0.16: absent is unreviewed only, and 1 is all. */
function reviewedFilter(call: Call): (reviewed: boolean) => boolean {
  const wanted = queryInteger(call, 'reviewed', null)
  if (call.nvr.release === '0.16') return (reviewed) => wanted === 1 || !reviewed
  if (wanted !== 0 && wanted !== 1) return () => true
  return (reviewed) => reviewed === (wanted === 1)
}

async function markViewed(call: Call): Promise<Answer> {
  const { nvr, caller } = call
  const body = await jsonBody(call)
  const ids = isObject(body) ? body['ids'] : undefined
  if (ids === undefined) throw missingField(['body', 'ids'], body)
  if (!Array.isArray(ids)) throw unprocessable('list_type', ['body', 'ids'], 'Input should be a valid list', ids)
  const message = 'List should have at least 1 item after validation, not 0'
  if (ids.length === 0) throw unprocessable('too_short', ['body', 'ids'], message, ids)
  const empty = ids.indexOf('')
  if (empty >= 0)
    throw unprocessable('string_too_short', ['body', 'ids', empty], 'String should have at least 1 character', '')
  const reviewed = nvr.release === '0.16' ? true : pythonBoolean(isObject(body) ? body['reviewed'] : undefined)
  const passes = ids.flatMap((id) => (typeof id === 'string' ? (reviewOf(nvr, id) ?? []) : []))
  for (const { camera } of passes) requireCamera(nvr, caller, camera)
  for (const { review_id } of passes) {
    if (reviewed) nvr.reviewed.add(`${caller.name} ${review_id}`)
    else nvr.reviewed.delete(`${caller.name} ${review_id}`)
  }
  const text =
    nvr.release === '0.16'
      ? 'Reviewed multiple items'
      : `Marked multiple items as ${reviewed ? 'reviewed' : 'unreviewed'}`
  return json({ success: true, message: text })
}

function pythonBoolean(value: Json | undefined): boolean {
  if (value === undefined) return true
  const text = String(value).toLowerCase()
  if (value !== null && ['true', 'yes', 'on', '1', 't', 'y'].includes(text)) return true
  if (value !== null && ['false', 'no', 'off', '0', 'f', 'n'].includes(text)) return false
  throw unprocessable('bool_type', ['body', 'reviewed'], 'Input should be a valid boolean', value)
}

function motion(call: Call): Answer {
  const { nvr, query, caller } = call
  const now_s = Date.now() / 1000
  const [after, before] = [queryFloat(call, 'after', now_s - HOUR_S), queryFloat(call, 'before', now_s)]
  const scale = queryInteger(call, 'scale', 30)
  if (scale < 1 || scale > HOUR_S) throw uncaught()
  const wanted = query.get('cameras') ?? 'all'
  const segments = [...nvr.cameras.keys()]
    .filter((id) => mayRead(nvr, caller, id) && (wanted === 'all' || wanted.split(',').includes(id)))
    .flatMap((camera) => segmentsBetween(nvr, camera, after, before).map((one) => ({ ...one, camera })))
    .filter(({ start_s, end_s, motion: moved }) => start_s >= after && end_s <= before && moved > 0)
    .toSorted((a, b) => a.start_s - b.start_s)
  return json(normalised(buckets(segments, scale)))
}

interface Bucket {
  start_s: number
  motion: number
  cameras: Set<string>
}

/** Equal lengths of time without a gap, from the first segment to the last. */
function buckets(segments: readonly (Segment & { camera: string })[], scale: number): Bucket[] {
  const [first, last] = [segments[0], segments.at(-1)]
  if (first === undefined || last === undefined) return []
  const start_s = Math.floor(first.start_s / scale) * scale
  const all = Array.from({ length: Math.floor((last.start_s - start_s) / scale) + 1 }, (_, index): Bucket => {
    return { start_s: start_s + index * scale, motion: 0, cameras: new Set() }
  })
  for (const segment of segments) {
    const bucket = all[Math.floor((segment.start_s - start_s) / scale)]
    if (bucket === undefined) continue
    bucket.motion += segment.motion
    bucket.cameras.add(segment.camera)
  }
  return all
}

/** Within each hour from the first on, the least is 0 and the most is 100. */
function normalised(all: readonly Bucket[]): JsonObject[] {
  const first_s = all[0]?.start_s ?? 0
  const hours = Map.groupBy(all, ({ start_s }) => Math.floor((start_s - first_s) / HOUR_S))
  return [...hours.values()].flatMap((hour) => {
    const values = hour.map(({ motion: moved }) => moved)
    const [low, high] = [Math.min(...values), Math.max(...values)]
    return hour.map(({ start_s, motion: moved, cameras }) => ({
      start_time: start_s,
      motion: high === low ? 0 : ((moved - low) / (high - low)) * 100,
      camera: [...cameras].join(','),
    }))
  })
}
