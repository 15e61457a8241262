// The sign-in area served over real HTTP, as one or two replicas over one database, with nothing else around it.
import { randomUUIDv7 } from 'node:crypto'
import { join } from 'node:path'
import { Type } from 'typebox'
import { auth } from '#src/contract/auth.ts'
import { defineArea } from '#src/contract/route.ts'
import { checkConfig, type Config } from '#src/kernel/config.ts'
import { mountArea } from '#src/kernel/http/mount.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import { createServer, type Server } from '#src/kernel/http/serve.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { openKeyring } from '#src/kernel/keyring.ts'
import { createAuthenticator } from '#src/modules/auth/authenticator.ts'
import { createCredentialCache, followRevocations } from '#src/modules/auth/credential-cache.ts'
import { ensureFirstAdminToken } from '#src/modules/auth/first-admin.ts'
import { authHandlers } from '#src/modules/auth/handlers.ts'
import { createOidcSignIn } from '#src/modules/auth/oidc-sign-in.ts'
import { createOpenCredentials } from '#src/modules/auth/open-credentials.ts'
import { createOidcTokens } from '#src/modules/auth/oidc-tokens.ts'
import { createPasswords } from '#src/modules/auth/passwords.ts'
import { createAuditLog } from '#src/store/audit.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { createListener } from '#src/store/listener.ts'
import { isTenantActive } from '#src/store/tenants.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'
import { tempFolder } from './temp-folder.ts'

export interface AuthDatabase {
  connection: TestDatabase['connection']
  database: Database
  data_dir: string
  stop(): Promise<void>
}

/** A database of its own with the schema in it, and the data folder of a service. */
export async function startAuthDatabase(): Promise<AuthDatabase> {
  const { connection, drop } = await createTestDatabase()
  const folder = tempFolder('gp-auth-')
  const log = createLog({ level: 'error', destination: { write: () => {} } })
  const database = openDatabase({ connection, pool_size: 5, log })
  return {
    connection,
    database,
    data_dir: join(folder, 'data'),
    async stop() {
      await database.close()
      await drop()
    },
  }
}

export interface AuthService {
  url: string
  admin_token: string
  database: Database
  data_dir: string
  /** Everything the replicas logged. */
  logged(): string
  /** Addresses of further replicas over the same database. */
  addReplica(): Promise<string>
  stop(): Promise<void>
}

/** Routes that stand for the rest of the service: one of every tenant scope, a stream that ends, and one that does not. */
const probe = defineArea({
  name: 'probe',
  description: 'Routes of the test.',
  routes: {
    probeGlobal: {
      method: 'GET', path: '/probe/global', summary: 'Probe', access: 'viewer', ok: { 200: Type.Object({}) }, errors: [], example: {},
    },
    probeCluster: {
      method: 'GET', path: '/probe/cluster', summary: 'Probe', access: 'cluster', ok: { 200: Type.Object({}) }, errors: [], example: {},
    },
    probeStream: {
      method: 'GET', path: '/probe/stream', summary: 'Probe', access: 'viewer', tenant: 'own', kind: 'sse',
      ok: { 200: Type.String({ contentMediaType: 'text/event-stream' }) }, errors: [], example: {},
    },
    probeFollow: {
      method: 'GET', path: '/probe/follow', summary: 'Probe', access: 'viewer', tenant: 'own', kind: 'sse',
      ok: { 200: Type.String({ contentMediaType: 'text/event-stream' }) }, errors: [], example: {},
    },
    probeSocket: {
      method: 'GET', path: '/probe/socket', summary: 'Probe', access: 'viewer', tenant: 'own', kind: 'ws',
      ok: { 101: Type.Unknown() }, errors: [], example: {},
    },
  },
}) // biome-ignore format: a table

export async function startAuthService(raw: {
  auth?: Record<string, unknown>
  public_url?: string
  login_per_minute?: number
}): Promise<AuthService> {
  const auth_database = await startAuthDatabase()
  const { database, data_dir } = auth_database
  const config = checkConfig({
    auth: raw.auth ?? {},
    ...(raw.public_url === undefined ? {} : { public_url: raw.public_url }),
  })
  const admin_token = (await ensureFirstAdminToken({ database }, data_dir)) ?? ''
  const lines: string[] = []
  const stops: (() => Promise<void>)[] = []
  const addReplica = async (): Promise<string> => {
    const replica = await startReplica(auth_database, config, lines, raw.login_per_minute ?? 6000)
    stops.push(replica.stop)
    return replica.url
  }
  return {
    url: await addReplica(),
    admin_token,
    database,
    data_dir,
    logged: () => lines.join(''),
    addReplica,
    async stop() {
      for (const stop of stops) await stop()
      await auth_database.stop()
    },
  }
}

async function startReplica(
  { connection, database, data_dir }: AuthDatabase,
  config: Config,
  lines: string[],
  login_per_minute: number,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const log = createLog({ level: 'debug', destination: { write: (line: string) => lines.push(line) } })
  const listener = createListener(connection, log)
  const cache = createCredentialCache()
  const open = createOpenCredentials({ db: database.db, cache, log })
  followRevocations(cache, open, listener)
  await listener.start()
  const { oidc, cluster_secret } = config.auth
  const keyring = openKeyring(join(data_dir, 'keys'))
  const { public_url } = config
  const authenticator = createAuthenticator({
    db: database.db,
    cache,
    open,
    log,
    cluster_secret,
    oidc: oidc === undefined ? undefined : createOidcTokens(oidc, database.db, log),
    public_url,
  })
  const handlers = authHandlers({
    database,
    replica_id: randomUUIDv7(),
    cache,
    passwords: createPasswords({ cost: { ln: 8, r: 8, p: 1 } }),
    session_ms: config.auth.session_hours * 3_600_000,
    public_url,
    oidc: oidc === undefined ? undefined : createOidcSignIn({ config: oidc, public_url, database, keyring }),
  })
  const services = {
    authenticator,
    isTenantActive: (id: string) => isTenantActive(database.db, id),
    audit: createAuditLog(database.db),
    limiter: createRateLimiter(10_000, 10_000),
    login_limiter: createRateLimiter(login_per_minute / 60, Math.max(1, login_per_minute / 6)),
  }
  const server: Server = createServer({ log, metrics: createMetrics(), validate_answers: true })
  mountArea(server, auth, handlers, services)
  const nothing = () => ({})
  const stream = { open: (client: { end: (text: string) => void }) => { client.end('event: hello\ndata: {}\n\n'); return nothing } } // biome-ignore format: short
  const silent = { open: () => nothing }
  const deaf = { open: () => ({ message: () => {}, closed: () => {} }) }
  mountArea(
    server,
    probe,
    {
      probeGlobal: nothing,
      probeCluster: nothing,
      probeStream: () => stream,
      probeFollow: () => silent,
      probeSocket: () => deaf,
    },
    services,
  )
  return {
    url: await server.listen('127.0.0.1', 0),
    async stop() {
      await server.close()
      await listener.close()
    },
  }
}
