// What is read from the NVR, in its own words. Who calls has checked ids and windows.
import { Type } from 'typebox'
import { UpstreamError } from '#src/kernel/errors.ts'
import {
  EventRow,
  FaceLibrary,
  MotionRow,
  NvrConfig,
  PreviewRow,
  reader,
  ReviewRow,
  SegmentRow,
  StatsAnswer,
  SummaryDay,
} from './shapes.ts'
import type { NvrRequest, NvrTransport } from './transport.ts'

type Options = Pick<NvrRequest, 'signal' | 'no_cache'>
type Query = NonNullable<NvrRequest['query']>

const readers = {
  config: reader(NvrConfig),
  stats: reader(StatsAnswer),
  events: reader(Type.Array(EventRow)),
  event: reader(EventRow),
  review: reader(Type.Array(ReviewRow)),
  segments: reader(Type.Array(SegmentRow)),
  summary: reader(Type.Array(SummaryDay)),
  previews: reader(Type.Array(PreviewRow)),
  frames: reader(Type.Array(Type.String())),
  motion: reader(Type.Array(MotionRow)),
  faces: reader(FaceLibrary),
}

const NOT_FOUND = 404

export type FrigateReads = ReturnType<typeof readsOf>

/** A time as the NVR takes it in paths: a decimal without an exponent. */
export function decimal(seconds: number): string {
  return Number.isInteger(seconds) ? String(seconds) : seconds.toFixed(6)
}

export function readsOf(transport: NvrTransport) {
  const json = async <Name extends keyof typeof readers>(name: Name, path: string, request?: NvrRequest) => {
    const { bytes } = await transport.call(name, path, request)
    return readers[name](name, bytes) as ReturnType<(typeof readers)[Name]>
  }
  const window = (camera: string, from: number, to: number): string =>
    `/api/preview/${camera}/start/${decimal(from)}/end/${decimal(to)}`
  return {
    /** `0.17.2-3d4dd3a`; another one after an upgrade, which nobody announces. */
    async version(signal?: AbortSignal): Promise<string> {
      const { bytes } = await transport.call('version', '/api/version', { signal })
      const [text] = /^\d+\.\d+[\w.+-]*/.exec(bytes.toString('latin1', 0, 100).trim()) ?? []
      if (text !== undefined) return text
      throw new UpstreamError({ upstream: 'NVR', operation: 'version', failure: 'error', detail: 'no version' })
    },
    config: (options: Options = {}) => json('config', '/api/config', options),
    stats: (options: Options = {}) => json('stats', '/api/stats', options),
    events: (query: Query, signal: AbortSignal) =>
      json('events', '/api/events', { query: { include_thumbnails: 0, ...query }, signal }),
    /** Undefined: there is none. */
    async event(id: string, signal: AbortSignal) {
      const { status, bytes } = await transport.call('event', `/api/events/${id}`, { signal, accept: [NOT_FOUND] })
      return status === NOT_FOUND ? undefined : readers.event('event', bytes)
    },
    review: (query: Query, signal: AbortSignal) => json('review', '/api/review', { query, signal, no_cache: true }),
    segments: (camera: string, query: Query, signal: AbortSignal) =>
      json('segments', `/api/${camera}/recordings`, { query, signal }),
    summary: (camera: string, query: Query, signal: AbortSignal) =>
      json('summary', `/api/${camera}/recordings/summary`, { query, signal }),
    async previews(camera: string, from: number, to: number, signal: AbortSignal) {
      const request = { signal, accept: [NOT_FOUND] }
      const { status, bytes } = await transport.call('previews', window(camera, from, to), request)
      return status === NOT_FOUND ? [] : readers.previews('previews', bytes)
    },
    frames: (camera: string, from: number, to: number, signal: AbortSignal) =>
      json('frames', `${window(camera, from, to)}/frames`, { signal }),
    motion: (query: Query, signal: AbortSignal) => json('motion', '/api/review/activity/motion', { query, signal }),
    faces: (signal: AbortSignal) => json('faces', '/api/faces', { signal, no_cache: true }),
    /** An image; undefined: there is none. */
    async image(operation: string, path: string, signal: AbortSignal): Promise<Buffer | undefined> {
      const { status, headers, bytes } = await transport.call(operation, path, { signal, accept: [NOT_FOUND] })
      if (status === NOT_FOUND) return undefined
      if (String(headers['content-type']).startsWith('image/') && bytes.length > 0) return bytes
      throw new UpstreamError({ upstream: 'NVR', operation, failure: 'error', detail: 'the answer is no image' })
    },
  }
}

/** Whether the NVR is of this version or a later one: `0.17`. */
export function isAtLeast(version: string, wanted: `${number}.${number}`): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [wanted_major = 0, wanted_minor = 0] = wanted.split('.').map(Number)
  return major > wanted_major || (major === wanted_major && minor >= wanted_minor)
}
