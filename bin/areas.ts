// Every area of the API with the handlers that serve it: the one table of what is mounted.
import { appEvents } from '#src/contract/app-events.ts'
import { auth } from '#src/contract/auth.ts'
import { jobs } from '#src/contract/jobs.ts'
import { service } from '#src/contract/service.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Engine } from '#src/jobs/engine.ts'
import type { Config } from '#src/kernel/config.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Metrics } from '#src/kernel/metrics.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { CredentialCache } from '#src/modules/auth/credential-cache.ts'
import type { AuthDeps } from '#src/modules/auth/deps.ts'
import { authHandlers } from '#src/modules/auth/index.ts'
import { createOidcSignIn } from '#src/modules/auth/oidc-sign-in.ts'
import { createPasswords } from '#src/modules/auth/passwords.ts'
import { eventHandlers } from '#src/modules/events/index.ts'
import type { Background } from '#src/kernel/background.ts'
import { jobHandlers } from '#src/modules/jobs/index.ts'
import { type Check, serviceHandlers } from '#src/modules/service/index.ts'
import { createReferencePage } from '#src/modules/service/reference-page.ts'
import type { Database } from '#src/store/database.ts'
import type { Listener } from '#src/store/listener.ts'
import type { Replica } from '#src/store/replicas.ts'
import type { Stream } from '#src/store/stream.ts'
import { mountCompute } from './compute-areas.ts'
import { mountPlatform } from './platform-areas.ts'
import { mountNodes } from './node-areas.ts'
import { mountTenants } from './tenant-areas.ts'

/** Everything that areas are made of. */
export interface Parts {
  config: Config
  database: Database
  keyring: Keyring
  stream: Stream
  engine: Engine
  cloudstack: CloudStack
  log: Log
  metrics: Metrics
  background: Background
  /** What is told of each call to this subsystem: metrics, and traces where they are on. */
  observed(subsystem: string): (operation: string, seconds: number, outcome: string, traceparent?: string) => void
  cache: CredentialCache
  replica: Replica
  listener: Listener
  version: string
  document: string
  checks: () => Promise<Check[]>
}

/** Something that must stay true, kept up in the background. */
export interface Watcher {
  start(): void
  stop(): Promise<void>
}

const HOUR_MS = 3_600_000

export function mountAreas(server: Server, services: MountServices, parts: Parts): Watcher[] {
  const { config, database, stream, engine, cloudstack, replica } = parts
  const change = { database, replica_id: replica.id }
  const page = createReferencePage()
  const named = () => [...subsystems(cloudstack), ...failingTasks(parts.background)]
  const { archive_after_days } = config.events

  mountArea(server, service, serviceHandlers({ ...parts, replica_id: replica.id, page, subsystems: named }), services)
  mountArea(server, auth, authHandlers(authDeps(parts)), services)
  mountArea(server, jobs, jobHandlers({ db: database.db, jobs: engine }), services)
  mountArea(server, appEvents, eventHandlers({ ...change, stream, cloudstack, archive_after_days }), services)
  mountPlatform(server, services, parts)
  return [
    ...mountCompute(server, services, parts),
    ...mountTenants(server, services, parts),
    ...mountNodes(server, services, parts),
  ]
}

function authDeps({ config, database, replica, cache, keyring }: Parts): AuthDeps {
  const { public_url } = config
  const { oidc, session_hours } = config.auth
  return {
    database,
    replica_id: replica.id,
    cache,
    passwords: createPasswords(),
    session_ms: session_hours * HOUR_MS,
    public_url,
    oidc: oidc === undefined ? undefined : createOidcSignIn({ config: oidc, public_url, database, keyring }),
  }
}

function failingTasks(background: Background): Check[] {
  return background.failing().map(({ task, failures }) => ({
    name: `background ${task}`,
    ok: false,
    detail: `failed ${failures} times in a row`,
  }))
}

function subsystems(cloudstack: CloudStack): Check[] {
  if (!cloudstack.configured) return [{ name: 'compute', ok: false, detail: 'not configured (compute.url)' }]
  const open = cloudstack.state() === 'open'
  return [{ name: 'compute', ok: !open, detail: open ? 'does not answer' : 'in use' }]
}
