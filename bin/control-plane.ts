// Builds the control plane from its configuration: what exists, in the order it starts, and how it stops.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import packageJson from '../package.json' with { type: 'json' }
import { areas } from '#src/contract/index.ts'
import { openApiDocument } from '#src/contract/openapi.ts'
import { createAddressServers } from './address-servers.ts'
import { createCeph } from '#src/drivers/ceph/client.ts'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { createFrigateClients } from '#src/drivers/frigate/client.ts'
import { createEngine, type Engine } from '#src/jobs/engine.ts'
import { createBackground } from '#src/kernel/background.ts'
import { jobRetention } from '#src/jobs/lookup.ts'
import { type Config, ConfigError, secretValues } from '#src/kernel/config.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import type { MountServices } from '#src/kernel/http/mount.ts'
import { createServer, type Server } from '#src/kernel/http/serve.ts'
import { linuxHost } from '#src/kernel/host.ts'
import { createLog, type Log } from '#src/kernel/log.ts'
import { createMetrics, type Metrics } from '#src/kernel/metrics.ts'
import { openKeyring } from '#src/kernel/keyring.ts'
import type { Telemetry, TelemetryOptions } from '#src/kernel/telemetry.ts'
import { createAuthenticator } from '#src/modules/auth/authenticator.ts'
import { createCredentialCache, followRevocations } from '#src/modules/auth/credential-cache.ts'
import { createOpenCredentials, type OpenCredentials } from '#src/modules/auth/open-credentials.ts'
import { createOidcTokens } from '#src/modules/auth/oidc-tokens.ts'
import { createSignInCode, ensureFirstAdminToken, readOrCreateAdminToken } from '#src/modules/auth/first-admin.ts'
import type { Parts, Watcher } from '#src/modules/module.ts'
import { createBmcAccess } from '#src/modules/bmc-access.ts'
import { createNodeAgents } from '#src/modules/node-agents.ts'
import { createForward } from '#src/modules/nodes/target.ts'
import { createAuditLog } from '#src/store/audit.ts'
import { createCaStore } from '#src/store/ca.ts'
import { type Database, openDatabase, type DatabaseOptions } from '#src/store/database.ts'
import { createIdempotency } from '#src/store/idempotency.ts'
import { createListener, type Listener } from '#src/store/listener.ts'
import { migrate } from '#src/store/migrate.ts'
import { createReplica, type Replica } from '#src/store/replicas.ts'
import { createStream } from '#src/store/stream.ts'
import { isTenantActive } from '#src/store/tenants.ts'
import { createMaintenance } from '#src/store/maintenance.ts'
import { mountModules } from './modules.ts'
import { createOwnNode } from './own-node.ts'
import { createPeerListener } from './peer-listener.ts'
import { readinessChecks } from './readiness.ts'
import { createStartUp } from './start-up.ts'

export interface ControlPlaneOptions {
  /** The embedded database instead of `database.url`. */
  connection?: DatabaseOptions['connection']
  log?: Log
  /** Checks every answer against its schema: the lab and tests. */
  validate_answers?: boolean
  /** The lab wants a token that works at every start; production prints one at its very first. */
  admin_token: 'first-start' | 'always'
  /** Ends the wait for a database that is away; what was thrown then is its reason. */
  signal?: AbortSignal
  /** Factor on every pause that other systems are given; tests make it small. */
  wait_factor?: number
  /** Test hook of the job harness. */
  at?: (point: string) => void
}

export interface ControlPlane {
  url: string
  server: Server
  admin_token: string | undefined
  /** Opens one console session with the rights of that token. */
  sign_in_code: string | undefined
  log: Log
  close(): Promise<void>
}

export async function startControlPlane(config: Config, options: ControlPlaneOptions): Promise<ControlPlane> {
  const log = options.log ?? createLog({ level: config.log.level, hide: secretValues(config) })
  // What was opened is closed in reverse, at the end or when the start fails half-way.
  const opened = new AsyncDisposableStack()
  try {
    const draining = new AbortController()
    const started = await start(config, options, log, opened, draining.signal)
    const all = opened.move()
    const stop = async (): Promise<void> => {
      draining.abort()
      await pause(config.listen.drain_seconds * 1000)
      await all.disposeAsync()
      log.info({}, 'control plane stopped')
    }
    let stopped: Promise<void> | undefined
    return { ...started, log, close: () => (stopped ??= stop()) }
  } catch (error) {
    await opened.disposeAsync().catch((err: unknown) => log.warn({ err }, 'not everything could be closed'))
    throw error
  }
}

async function start(
  config: Config,
  options: ControlPlaneOptions,
  log: Log,
  opened: AsyncDisposableStack,
  draining: AbortSignal,
): Promise<Omit<ControlPlane, 'log' | 'close'>> {
  const { version } = packageJson
  const connection = options.connection ?? databaseUrl(config)
  const metrics = createMetrics({ with_process: true })
  const database = openDatabase({ connection, pool_size: config.database.pool_size, log })
  opened.defer(() => database.close())
  const keyring = openKeyring(keyFileOf(config))
  const background = createBackground(log, metrics)
  const replica = createReplica(database, background)
  const telemetry = await openTelemetry(config, { version, instance_id: replica.id, log })
  if (telemetry !== undefined) opened.defer(() => telemetry.stop())
  const observed = observer(metrics, telemetry)
  const { at, wait_factor = 1 } = options
  const cloudstack = createCloudStack(config.compute, { log, wait_factor, observe: observed('compute') })
  opened.defer(() => cloudstack.close())
  const { dhcp: dhcp_server, dns: dns_server, ipam: ipam_store, ...addresses } = createAddressServers(config, log)
  opened.defer(() => addresses.close())
  const ceph = createCeph(config.ceph, linuxHost())
  const nvr_clients = createFrigateClients(observed('nvr'))
  opened.defer(() => nvr_clients.close())
  const listener = createListener(connection, log)
  const stream = createStream(database, listener, log)
  const cache = createCredentialCache()
  const open = createOpenCredentials({ db: database.db, cache, log })
  const engine = createEngine({
    database, keyring, replica, stream, listener, background, log, metrics, wait_factor, ...(at && { at }),
  }) // biome-ignore format: short names
  const server = createServer({
    log,
    metrics,
    trusted_proxies: config.listen.trust_proxy ? config.listen.proxies : 0,
    validate_answers: options.validate_answers ?? false,
    ...(telemetry === undefined ? {} : { tracing: telemetry.requests }),
  })
  const ca = createCaStore(database, keyring)
  const { offline_after_ms } = config.nodes
  const agents = createNodeAgents({ ca, offline_after_ms, observe: observed('agent') })
  opened.defer(() => agents.close())
  const bmcs = createBmcAccess({
    config: config.bmc, database, keyring, log, observe: observed('bmc'), observeKvm: observed('kvm'),
  }) // biome-ignore format: short names
  opened.defer(() => bmcs.close())
  const own_node = createOwnNode({ config, database, version, log })
  const start_up = createStartUp()
  let url: string | undefined
  const parts = {
    config, database, replica_id: replica.id, keyring, ca, stream, jobs: engine, cloudstack, dhcp_server, dns_server, ipam_store, ceph, nvr_clients, agents, bmcs, own_node, cache, background,
    log, metrics, version, document: publishedDocument(version),
    listening: () => (url === undefined ? undefined : Number(new URL(url).port)),
    checks: readinessChecks(database, listener, { starting: start_up.state, draining }),
  } // biome-ignore format: a list of names
  const services = { ...mountServices(parts, open), starting: start_up.state }
  const mounted = mountModules(server, services, parts)
  const peer_listener = createPeerListener({ config, ca, background, log, metrics, mount: mounted.mountForPeers })
  const watchers = [...mounted.watchers, own_node, peer_listener]
  measure(metrics, server, parts)
  followRevocations(cache, open, listener)
  opened.defer(() => server.close())
  url = await server.listen(config.listen.host, config.listen.port)
  log.info({ url, version, replica_id: replica.id }, 'control plane listens')
  await start_up.waitForDatabase(database, log, options.signal)
  const tokens = await startParts({ ...parts, replica, listener, server, watchers }, options, opened)
  start_up.done()
  log.info({ url, version, replica_id: replica.id }, 'control plane ready')
  return { url, server, ...tokens }
}

interface Startable extends Pick<Parts, 'config' | 'database' | 'stream' | 'background' | 'log'> {
  jobs: Engine
  replica: Replica
  listener: Listener
  server: Server
  watchers: readonly Watcher[]
}

/** Made when it is first asked for: it takes longer than the rest of the start. */
function publishedDocument(version: string): () => Buffer {
  let document: Buffer | undefined
  return () => (document ??= Buffer.from(JSON.stringify(openApiDocument(areas, { version }))))
}

/** Once the database is there: the schema, then everything that works on it. Answers what to print. */
async function startParts(
  { config, database, replica, stream, listener, jobs, background, log, server, watchers }: Startable,
  options: ControlPlaneOptions,
  opened: AsyncDisposableStack,
): Promise<Pick<ControlPlane, 'admin_token' | 'sign_in_code'>> {
  const migrated = await migrate(database.db)
  if (migrated.length > 0) log.info({ migrations: migrated }, 'database schema updated')
  await replica.start()
  opened.defer(() => replica.stop())
  await stream.start()
  opened.defer(() => listener.close())
  await listener.start()
  opened.defer(() => jobs.stop())
  await jobs.start()
  const tokens = await firstTokens({ database }, options, config.data_dir)
  // Before what its requests need is stopped; the one at its start is for a start that fails.
  opened.defer(() => server.close())
  const periods = { replay_hours: config.events.replay_hours, ...config.retention }
  const retention = { periods, others: [jobRetention(config.retention.job_days)] }
  const maintenance = createMaintenance(database, retention, background, log)
  opened.defer(() => maintenance.stop())
  maintenance.start()
  opened.defer(async () => {
    for (const watcher of watchers) await watcher.stop()
  })
  for (const watcher of watchers) watcher.start?.()
  return tokens
}

async function firstTokens(
  deps: Pick<Parts, 'database'>,
  options: ControlPlaneOptions,
  data_dir: string,
): Promise<Pick<ControlPlane, 'admin_token' | 'sign_in_code'>> {
  if (options.admin_token === 'first-start') {
    return { admin_token: await ensureFirstAdminToken(deps, data_dir), sign_in_code: undefined }
  }
  const admin_token = await readOrCreateAdminToken(deps, data_dir)
  return { admin_token, sign_in_code: await createSignInCode(deps, admin_token) }
}

/** Its packages take a tenth of a second to load, so only where they are wanted. */
async function openTelemetry(
  { telemetry: { otlp_url } }: Config,
  options: Omit<TelemetryOptions, 'otlp_url'>,
): Promise<Telemetry | undefined> {
  if (otlp_url === undefined) return undefined
  if (!URL.canParse(otlp_url) || !/^https?:/.test(otlp_url)) {
    throw new ConfigError(['telemetry.otlp_url: must be an http or https URL'])
  }
  const { startTelemetry } = await import('#src/kernel/telemetry.ts')
  return startTelemetry({ ...options, otlp_url })
}

/** What is told of each call to a subsystem: metrics, and traces where they are on. */
function observer(metrics: Metrics, telemetry: Telemetry | undefined) {
  return (subsystem: string) => (operation: string, seconds: number, outcome: string, traceparent?: string) => {
    metrics.upstream(subsystem, operation, outcome, seconds)
    telemetry?.upstream(subsystem, operation, outcome, seconds, traceparent)
  }
}

function mountServices(
  { config, database, keyring, replica_id, agents, own_node, cache, log }: Omit<Parts, 'jobs'>,
  open: OpenCredentials,
): MountServices {
  const { oidc, cluster_secret } = config.auth
  const { per_second, burst, login_per_minute } = config.rate_limit
  return {
    authenticator: createAuthenticator({
      db: database.db,
      cache,
      open,
      log,
      cluster_secret,
      oidc: oidc === undefined ? undefined : createOidcTokens(oidc, database.db, log),
      public_url: config.public_url,
    }),
    isTenantActive: (id) => isTenantActive(database.db, id),
    audit: createAuditLog(database.db),
    idempotency: createIdempotency(database, replica_id, keyring),
    limiter: createRateLimiter(per_second, burst),
    login_limiter: createRateLimiter(login_per_minute / 60, Math.ceil(login_per_minute)),
    forward: createForward({ db: database.db, agents, own_node }),
  }
}

function measure(metrics: Metrics, server: Server, { jobs, database }: { jobs: Engine; database: Database }): void {
  metrics.gauge('groundplane_stream_clients', 'Connected event streams.', () => server.streams.count())
  metrics.gauge('groundplane_jobs_running', 'Jobs this replica runs.', () => jobs.running())
  metrics.gauge('groundplane_database_connections', 'Open database connections.', () => database.pool.totalCount)
  metrics.gauge('groundplane_database_waiting', 'Requests waiting for a connection.', () => database.pool.waitingCount)
}

/** The keys that encrypt what is secret (kernel/keyring.ts). */
export function keyFileOf(config: Config): string {
  return join(config.data_dir, 'keys')
}

export function databaseUrl(config: Config): string {
  const { url } = config.database
  if (url === undefined) throw new ConfigError(['database.url: is needed (or DATABASE_URL)'])
  if (!URL.canParse(url) || !/^postgres(ql)?:/.test(url)) {
    throw new ConfigError(['database.url: must be postgres://user:password@host/database'])
  }
  return url
}
