// The service itself: whether it lives, whether it is ready, what it measures, and the document you may be reading.
import { Type } from 'typebox'
import { OneOf } from './common.ts'
import { defineArea } from './route.ts'

const Check = Type.Object({
  name: Type.String(),
  ok: Type.Boolean(),
  detail: Type.String(),
})

export const service = defineArea({
  name: 'service',
  description: 'Health, metrics and documentation of the service itself.',
  routes: {
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
      access: 'public',
      extension: true,
      kind: 'bytes',
      ok: { 200: Type.Unknown({ description: 'OpenAPI 3.1 document of this service.' }) },
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
      ok: { 200: Type.String({ contentMediaType: 'text/html' }) },
      errors: [500],
      example: {},
    },
    docsScript: {
      method: 'GET',
      path: '/docs/reference.js',
      summary: 'Get script of API reference',
      access: 'public',
      extension: true,
      kind: 'bytes',
      ok: { 200: Type.String({ contentMediaType: 'text/javascript' }) },
      errors: [500],
      example: {},
    },
  },
})
