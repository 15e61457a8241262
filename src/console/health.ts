// What this tab noticed of itself: counts alone, no contents. Nothing is sent anywhere.
import { currentStream, onStream } from './stream/client.ts'

const SLOW_REQUEST_MS = 1000

const counts = {
  long_frames: 0,
  longest_frame_ms: 0,
  slow_requests: 0,
  slowest_request_ms: 0,
  refused_by_policy: 0,
  stream_gaps: 0,
  render_errors: 0,
  other_errors: 0,
}
export type Health = typeof counts & { since: string }
const since = new Date().toISOString()

export const healthNow = (): Health => ({ since, ...counts })

export function noteRenderError(): void {
  counts.render_errors++
}

export function watchHealth(): void {
  observe('longtask', ({ duration }) => {
    counts.long_frames++
    counts.longest_frame_ms = Math.max(counts.longest_frame_ms, Math.round(duration))
  })
  observe('resource', ({ duration, name }) => {
    // The stream is one request that never ends.
    if (duration < SLOW_REQUEST_MS || name.includes('/events/sse')) return
    counts.slow_requests++
    counts.slowest_request_ms = Math.max(counts.slowest_request_ms, Math.round(duration))
  })
  addEventListener('securitypolicyviolation', () => counts.refused_by_policy++)
  addEventListener('error', () => counts.other_errors++)
  addEventListener('unhandledrejection', () => counts.other_errors++)
  let was_lost = false
  onStream(() => {
    const is_lost = currentStream().state === 'lost'
    if (is_lost && !was_lost) counts.stream_gaps++
    was_lost = is_lost
  })
}

/** Browsers without a kind of entry count nothing of it. */
function observe(type: string, note: (entry: PerformanceEntry) => void): void {
  if (!PerformanceObserver.supportedEntryTypes.includes(type)) return
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true })
}
