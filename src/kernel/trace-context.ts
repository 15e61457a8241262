// The header `traceparent` of W3C trace context.
import { randomBytes } from 'node:crypto'

export interface TraceContext {
  trace_id: string
  span_id: string
  /** 1: recorded. */
  flags: number
}

/** Undefined for what is no trace context of version 00; all zeros name nothing. */
export function parseTraceparent(header: string | string[] | undefined): TraceContext | undefined {
  const match = typeof header === 'string' ? /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header) : null
  if (match === null) return undefined
  const [, trace_id = '', span_id = '', flags = ''] = match
  if (/^0+$/.test(trace_id) || /^0+$/.test(span_id)) return undefined
  return { trace_id, span_id, flags: Number.parseInt(flags, 16) }
}

export function traceparentOf({ trace_id, span_id, flags }: TraceContext): string {
  return `00-${trace_id}-${span_id}-${flags.toString(16).padStart(2, '0')}`
}

/** The caller's trace goes on with a span of ours; without one a new trace begins. */
export function childTrace(incoming: string | string[] | undefined): string {
  const caller = parseTraceparent(incoming)
  return traceparentOf({
    trace_id: caller?.trace_id ?? randomBytes(16).toString('hex'),
    span_id: randomBytes(8).toString('hex'),
    flags: caller?.flags ?? 0,
  })
}
