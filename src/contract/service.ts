// The service itself: whether it lives, whether it is ready, what it measures, and the document you may be reading.
import { Type } from 'typebox'
import { OneOf } from './common.ts'
import { defineArea } from './route.ts'

const Check = Type.Object({
  name: Type.String(),
  ok: Type.Boolean(),
  detail: Type.String(),
})

const NotChanged = Type.Null({ description: 'What the client has, as its If-None-Match says, is still the same.' })

export const service = defineArea({
  name: 'service',
  description: 'Health, metrics and documentation of the service itself.',
  routes: {
    rootPage: {
      method: 'GET',
      path: '/',
      summary: 'Go to console or API reference',
      description:
        'For people who open the address of the service: a browser is sent to the console, another program to the reference.',
      access: 'public',
      extension: true,
      kind: 'redirect',
      ok: { 302: Type.Null({ description: 'To /console or /docs.' }) },
      errors: [500],
      example: {},
    },
    healthGet: {
      method: 'GET',
      path: '/healthz',
      summary: 'Check liveness',
      description: 'Answers as long as the process does; asks nothing else.',
      access: 'public',
      extension: true,
      ok: { 200: Type.Object({ status: OneOf(['ok']) }) },
      errors: [500],
      example: { answer: { status: 'ok' } },
    },
    readinessGet: {
      method: 'GET',
      path: '/readyz',
      summary: 'Check readiness',
      description:
        '200 when this replica can serve: database reached, schema current, notices of other replicas heard, not stopping. Subsystems that are down are named but do not make it unready.',
      access: 'public',
      extension: true,
      ok: { 200: Type.Object({ status: OneOf(['ready']), checks: Type.Array(Check) }) },
      errors: [503],
      example: { answer: { status: 'ready', checks: [{ name: 'database', ok: true, detail: 'answers' }] } },
    },
    versionGet: {
      method: 'GET',
      path: '/version',
      summary: 'Get version',
      description: 'Of the service and of Node, and the id of the replica that answers.',
      access: 'viewer',
      tenant: 'own',
      extension: true,
      ok: { 200: Type.Object({ version: Type.String(), node: Type.String(), replica_id: Type.String() }) },
      errors: [500],
      example: { answer: { version: '0.1.0', node: 'v24.21.0', replica_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d00' } },
    },
    metricsGet: {
      method: 'GET',
      path: '/metrics',
      summary: 'Get metrics',
      description: 'Prometheus text: requests by operation, calls by subsystem, jobs, streams, database, process.',
      access: 'viewer',
      extension: true,
      kind: 'bytes',
      ok: { 200: Type.String({ contentMediaType: 'text/plain' }) },
      errors: [500],
      example: {},
    },
    openapiGet: {
      method: 'GET',
      path: '/openapi.json',
      summary: 'Get OpenAPI document',
      description: 'What clients and the reference page are made from. Carries an ETag.',
      access: 'public',
      extension: true,
      kind: 'bytes',
      ok: { 200: Type.Unknown({ description: 'OpenAPI 3.1 document of this service.' }), 304: NotChanged },
      errors: [500],
      example: {},
    },
    docsPage: {
      method: 'GET',
      path: '/docs',
      summary: 'Show API reference',
      description: 'An offline page over the OpenAPI document.',
      access: 'public',
      extension: true,
      kind: 'bytes',
      ok: { 200: Type.String({ contentMediaType: 'text/html' }), 304: NotChanged },
      errors: [500],
      example: {},
    },
    docsScript: {
      method: 'GET',
      path: '/docs/reference.js',
      summary: 'Get script of API reference',
      description: 'What the page at /docs runs; served from here, so that it works without the Internet.',
      access: 'public',
      extension: true,
      kind: 'bytes',
      ok: { 200: Type.String({ contentMediaType: 'text/javascript' }), 304: NotChanged },
      errors: [500],
      example: {},
    },
  },
})
