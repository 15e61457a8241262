// Builds the control plane from its configuration: what exists, in the order it starts, and how it stops.
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { areas } from '#src/contract/index.ts'
import { openApiDocument } from '#src/contract/openapi.ts'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { createEngine } from '#src/jobs/engine.ts'
import type { Config } from '#src/kernel/config.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import type { MountServices } from '#src/kernel/http/mount.ts'
import { createServer, type Server } from '#src/kernel/http/serve.ts'
import { createLog, type Log } from '#src/kernel/log.ts'
import { createMetrics, type Metrics } from '#src/kernel/metrics.ts'
import { openSecretBox } from '#src/kernel/secrets.ts'
import { createAuthenticator } from '#src/modules/auth/authenticator.ts'
import { createCredentialCache, followRevocations } from '#src/modules/auth/credential-cache.ts'
import { createOidcTokens } from '#src/modules/auth/oidc-tokens.ts'
import { ensureFirstAdminToken, readOrCreateAdminToken } from '#src/modules/auth/first-admin.ts'
import { createAuditLog } from '#src/store/audit.ts'
import { openDatabase, type DatabaseOptions } from '#src/store/database.ts'
import { createIdempotency } from '#src/store/idempotency.ts'
import { createListener } from '#src/store/listener.ts'
import { migrate } from '#src/store/migrate.ts'
import { createReplica } from '#src/store/replicas.ts'
import { createStream } from '#src/store/stream.ts'
import { createUpkeep } from '#src/store/upkeep.ts'
import { mountAreas, type Parts } from './areas.ts'
import { readinessChecks } from './readiness.ts'

export interface ControlPlaneOptions {
  /** The embedded database instead of `database.url`. */
  connection?: DatabaseOptions['connection']
  log?: Log
  /** Checks every answer against its schema: the lab and tests. */
  validate_answers?: boolean
  /** The lab wants a token that works at every start; production prints one at its very first. */
  admin_token: 'first-start' | 'always'
  /** Test hook of the job harness. */
  at?: (point: string) => void
}

export interface ControlPlane {
  url: string
  server: Server
  admin_token: string | undefined
  log: Log
  close(): Promise<void>
}

export async function startControlPlane(config: Config, options: ControlPlaneOptions): Promise<ControlPlane> {
  const log = options.log ?? createLog({ level: config.log.level })
  const connection = options.connection ?? databaseUrl(config)
  const metrics = createMetrics()
  const database = openDatabase({ connection, pool_size: config.database.pool_size, log })
  const migrated = await migrate(database.db)
  if (migrated.length > 0) log.info({ migrations: migrated }, 'database schema updated')
  const secrets = openSecretBox(join(config.data_dir, 'keys'))
  const replica = createReplica(database, log)
  const listener = createListener(connection, log)
  const stream = createStream(database, listener, log)
  const cache = createCredentialCache()
  const at = options.at === undefined ? {} : { at: options.at }
  const engine = createEngine({ database, secrets, replica, stream, log, metrics, ...at })
  const cloudstack = createCloudStack(config.compute, {
    log,
    observe: (operation, seconds, outcome) => metrics.upstream('compute', operation, outcome, seconds),
  })
  const { trust_proxy } = config.listen
  const server = createServer({ log, metrics, trust_proxy, validate_answers: options.validate_answers ?? false })
  const parts = { config, database, secrets, replica, listener, stream, engine, cloudstack, cache, log, metrics }
  const watchers = mountAreas(server, mountServices(parts), {
    ...parts,
    version: packageJson.version,
    document: JSON.stringify(openApiDocument(areas, { version: packageJson.version })),
    checks: readinessChecks(database, server.stopping),
  })
  const upkeep = createUpkeep(database, stream, config.events.replay_hours, log)
  measure(metrics, server, parts)

  followRevocations(cache, listener)
  await replica.start()
  await stream.start()
  await listener.start()
  await engine.start()
  const admin_token =
    options.admin_token === 'always'
      ? await readOrCreateAdminToken({ database }, config.data_dir)
      : await ensureFirstAdminToken({ database }, config.data_dir)
  const url = await server.listen(config.listen.host, config.listen.port)
  upkeep.start()
  for (const watcher of watchers) watcher.start()
  log.info({ url, version: packageJson.version, replica_id: replica.id }, 'control plane ready')

  async function close(): Promise<void> {
    for (const watcher of watchers) await watcher.stop()
    await server.close()
    upkeep.stop()
    await engine.stop()
    await listener.close()
    await replica.stop()
    await cloudstack.close()
    await database.close()
    log.info({}, 'control plane stopped')
  }
  return { url, server, admin_token, log, close }
}

type Foundation = Pick<Parts, 'config' | 'database' | 'secrets' | 'replica' | 'engine' | 'cache' | 'log'>

function mountServices({ config, database, secrets, replica, cache, log }: Foundation): MountServices {
  const { oidc, cluster_secret } = config.auth
  const { per_second, burst, login_per_minute } = config.rate_limit
  return {
    authenticator: createAuthenticator({
      db: database.db,
      cache,
      log,
      cluster_secret,
      oidc: oidc === undefined ? undefined : createOidcTokens(oidc, log),
      public_url: config.public_url,
    }),
    audit: createAuditLog(database.db),
    idempotency: createIdempotency(database, replica.id, secrets),
    limiter: createRateLimiter(per_second, burst),
    login_limiter: createRateLimiter(login_per_minute / 60, Math.ceil(login_per_minute)),
  }
}

function measure(metrics: Metrics, server: Server, { engine, database }: Foundation): void {
  metrics.gauge('groundplane_stream_clients', 'Connected event streams.', () => server.streams.count())
  metrics.gauge('groundplane_jobs_running', 'Jobs this replica runs.', () => engine.running())
  metrics.gauge('groundplane_database_connections', 'Open database connections.', () => database.pool.totalCount)
  metrics.gauge('groundplane_database_waiting', 'Requests waiting for a connection.', () => database.pool.waitingCount)
}

function databaseUrl(config: Config): string {
  const { url } = config.database
  if (url === undefined) throw new Error('no database is configured: set database.url or DATABASE_URL')
  return url
}
