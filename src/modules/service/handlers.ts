// The operations of the area `service`.
import type { service } from '#src/contract/service.ts'
import type { Handlers } from '#src/contract/route.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Metrics } from '#src/kernel/metrics.ts'
import type { Check } from '../module.ts'
import type { ReferencePage } from './reference-page.ts'

export interface ServiceDeps {
  version: string
  replica_id: string
  metrics: Metrics
  /** The published document, ready to send. */
  /** Bytes, because a text would be copied for every caller. */
  document: () => Buffer
  page: ReferencePage
  /** What must hold before this replica may serve. */
  checks: () => Promise<Check[]>
  /** Named for people; a subsystem that is down does not make the service unready. */
  subsystems: () => Promise<Check[]>
}

/** A browser, and no program. */
function wantsPage({ headers }: RequestContext): boolean {
  return String(headers.accept ?? '').includes('text/html')
}

export function serviceHandlers(deps: ServiceDeps): Handlers<typeof service.routes, RequestContext> {
  return {
    rootPage: (_input, ctx) => ({ location: wantsPage(ctx) ? '/console' : '/docs' }),
    healthGet: () => ({ status: 'ok' }),
    async readinessGet() {
      const checks = await deps.checks()
      const failed = checks.filter((check) => !check.ok)
      if (failed.length > 0) {
        throw new ApiError('NOT_READY', failed.map((check) => `${check.name}: ${check.detail}`).join('; '))
      }
      return { status: 'ready', checks: [...checks, ...(await deps.subsystems())] }
    },
    versionGet: () => ({ version: deps.version, node: process.version, replica_id: deps.replica_id }),
    metricsGet: async () => ({ media_type: deps.metrics.content_type, body: await deps.metrics.text() }),
    openapiGet: () => ({
      media_type: 'application/json; charset=utf-8',
      body: deps.document(),
      headers: { 'cache-control': 'no-cache' },
    }),
    docsPage: () => deps.page.html(),
    docsScript: () => deps.page.script(),
  }
}
