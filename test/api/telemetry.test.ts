// Traces, as a collector gets them: a fake one that keeps every span it is sent.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { type Lab, startLab } from '../support/start-lab.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

interface Collector {
  url: string
  paths: string[]
  bodies: string[]
  spans(): Span[]
  close(): void
}

interface Export {
  resourceSpans: { resource: { attributes: Span['attributes'] }; scopeSpans: { spans: Span[] }[] }[]
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function startCollector(): Promise<Collector> {
  const bodies: string[] = []
  const paths: string[] = []
  const server: Server = createServer((request, response) => {
    paths.push(request.url ?? '')
    void text(request).then((body) => {
      bodies.push(body)
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  const port = await portOf(server)
  return {
    url: `http://127.0.0.1:${port}`,
    paths,
    bodies,
    spans: () =>
      bodies.flatMap((body) =>
        (JSON.parse(body) as Export).resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    close: () => server.close(),
  }
}

const attribute = (span: Span | undefined, name: string): unknown => {
  const value = span?.attributes.find(({ key }) => key === name)?.value
  return value === undefined ? undefined : Object.values(value)[0]
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const traced = (trace: string, flags: string) => ({ headers: { traceparent: `00-${trace}-${CALLER}-${flags}` } })

let collector: Collector
let lab: Lab
before(async () => {
  collector = await startCollector()
  lab = await startLab({ config: { telemetry: { otlp_url: collector.url } } })
})
after(async () => {
  await lab.close()
  collector.close()
})

test('the span of a request continues the trace of its caller, and calls to the platform are below it', async () => {
  const other = 'a'.repeat(32)
  const found = await lab.call('POST', '/compute/vms/list?page=1', { name: 'confidential' }, traced(TRACE, '01'))
  assert.equal(found.status, 200, found.text)
  assert.equal((await lab.call('GET', '/no/such/secret', undefined, traced(TRACE, '01'))).status, 404)
  assert.equal((await lab.call('GET', '/auth/me', undefined, traced(other, '00'))).status, 200)
  // What is waiting is sent when the service stops.
  await lab.control.close()

  assert.deepEqual(new Set(collector.paths), new Set(['/v1/traces']))
  const spans = collector.spans()
  const request = spans.find(({ name }) => name === 'vmList')
  assert.deepEqual([request?.traceId, request?.parentSpanId, request?.kind], [TRACE, CALLER, 2])
  assert.equal(attribute(request, 'http.response.status_code'), 200)
  assert.equal(attribute(request, 'http.route'), '/compute/vms/list')
  const upstream = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId)
  assert.ok(
    upstream.some(({ name, kind }) => name === 'compute listVirtualMachines' && kind === 3),
    'the call is there',
  )
  for (const span of upstream) {
    assert.equal(span.traceId, TRACE)
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))
  }
  const missing = spans.find((span) => attribute(span, 'error.type') === 'ROUTE_NOT_FOUND')
  assert.equal(attribute(missing, 'http.response.status_code'), 404)
  assert.equal(
    spans.some(({ traceId }) => traceId === other),
    false,
    'the caller asked not to record this one',
  )
  assert.doesNotMatch(collector.bodies.join(), /confidential|secret/)
  await lab.restart()
})

test('a collector that never answers holds up neither requests nor the stop', async () => {
  const silent = createServer(() => {})
  const port = await portOf(silent)
  const deaf = await startLab({ config: { telemetry: { otlp_url: `http://127.0.0.1:${port}/v1/traces` } } })
  assert.equal((await deaf.call('GET', '/auth/me')).status, 200)
  const stopping = performance.now()
  await deaf.control.close()
  assert.ok(performance.now() - stopping < 9000)
  await deaf.close()
  assert.match(deaf.logs(), /telemetry/)
  silent.closeAllConnections()
  silent.close()
})

test('an address that is no URL is refused at the start', async () => {
  await assert.rejects(startLab({ config: { telemetry: { otlp_url: 'collector' } } }), /telemetry\.otlp_url/)
})
