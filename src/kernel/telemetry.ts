// OpenTelemetry traces: one span a request and one below it for each call to a subsystem. Loaded only when a collector is
// named in `telemetry.otlp_url`; without it nothing of it is in memory and no hook is registered.
import {
  type Context,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, ParentBasedSampler, AlwaysOnSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import type { RequestEnd, RequestSpan, RequestTracing } from './http/tracing.ts'
import type { Log } from './log.ts'
import { parseTraceparent, traceparentOf } from './trace-context.ts'

export interface TelemetryOptions {
  otlp_url: string
  version: string
  /** Tells replicas apart. */
  instance_id: string
  log: Log
}

export interface Telemetry {
  requests: RequestTracing
  /** A call to a subsystem that has ended. One that belongs to no request (`traceparent` undefined) is not told. */
  upstream(
    subsystem: string,
    operation: string,
    outcome: string,
    seconds: number,
    traceparent: string | undefined,
  ): void
  /** Sends what is left, for a few seconds at the most. */
  stop(): Promise<void>
}

const EXPORT_MS = 3000
const TRACES_PATH = '/v1/traces'

export function startTelemetry({ otlp_url, version, instance_id, log }: TelemetryOptions): Telemetry {
  const toLog = (text: string): void => log.warn({ detail: text }, 'telemetry')
  diag.setLogger(
    { error: toLog, warn: toLog, info: () => {}, debug: () => {}, verbose: () => {} },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const exporter = new OTLPTraceExporter({ url: tracesUrl(otlp_url), timeoutMillis: EXPORT_MS })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'groundplane',
      'service.version': version,
      'service.instance.id': instance_id,
    }),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_MS })],
  })
  const tracer = provider.getTracer('groundplane', version)
  return {
    requests: { begin: (method, traceparent) => beginRequest(tracer, method, traceparent) },
    upstream(subsystem, operation, outcome, seconds, traceparent) {
      const parent = parentContext(traceparent)
      if (parent === undefined) return
      const end = Date.now()
      const attributes = { 'groundplane.subsystem': subsystem, 'groundplane.outcome': outcome }
      const startTime = end - seconds * 1000
      const span = tracer.startSpan(
        `${subsystem} ${operation}`,
        { kind: SpanKind.CLIENT, startTime, attributes },
        parent,
      )
      if (outcome !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome })
      span.end(end)
    },
    async stop() {
      await provider.shutdown().catch((err: unknown) => log.warn({ err }, 'telemetry not sent'))
      diag.disable()
    },
  }
}

function beginRequest(tracer: Tracer, method: string, traceparent: string | undefined): RequestSpan {
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, parentContext(traceparent) ?? ROOT_CONTEXT)
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceparent: traceparentOf({ trace_id: traceId, span_id: spanId, flags: traceFlags }),
    end({ operation, route, status, code, complete }: RequestEnd) {
      span.updateName(operation ?? method)
      span.setAttributes({ 'http.request.method': method, 'http.response.status_code': status })
      if (route !== undefined) span.setAttribute('http.route', route)
      if (code !== null) span.setAttribute('error.type', code)
      if (!complete) span.setAttribute('groundplane.client_gone', true)
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

function parentContext(traceparent: string | undefined): Context | undefined {
  const parsed = parseTraceparent(traceparent)
  if (parsed === undefined) return undefined
  const { trace_id, span_id, flags } = parsed
  return trace.setSpanContext(ROOT_CONTEXT, { traceId: trace_id, spanId: span_id, traceFlags: flags, isRemote: true })
}

/** The base URL of a collector, or the whole address where it keeps traces elsewhere. */
function tracesUrl(otlp_url: string): string {
  const url = new URL(otlp_url)
  if (url.pathname === '/' || url.pathname === '') url.pathname = TRACES_PATH
  return url.href
}
