// What a module is: it declares the areas it serves, the jobs it has and what it watches. `bin/modules.ts` lists the modules and
// mounts them; a module constructs nothing that another one also needs.
import type { Area, ControlRoutes, Handlers, Routes } from '#src/contract/route.ts'
import type { Ceph } from '#src/drivers/ceph/client.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import type { FrigateClients } from '#src/drivers/frigate/client.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { BoundJob } from '#src/jobs/define.ts'
import type { Background } from '#src/kernel/background.ts'
import type { Config } from '#src/kernel/config.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Metrics } from '#src/kernel/metrics.ts'
import type { CaStore } from '#src/store/ca.ts'
import type { Database } from '#src/store/database.ts'
import type { Stream } from '#src/store/stream.ts'
import type { BmcAccess } from './bmc-access.ts'
import type { CredentialCache } from './auth/credential-cache.ts'
import type { NodeAgents, OwnNode } from './node-agents.ts'
import type { SearchSource } from './search-source.ts'

/** What modules are made of; `bin/control-plane.ts` makes it. */
export interface Parts {
  config: Config
  database: Database
  replica_id: string
  keyring: Keyring
  ca: CaStore
  stream: Stream
  jobs: Jobs
  cloudstack: CloudStack
  /** Undefined where the configuration names none. */
  dhcp_server: DhcpServer | undefined
  dns_server: DnsServer | undefined
  /** The distributed store; undefined where none is configured. */
  ceph: Ceph | undefined
  nvr_clients: FrigateClients
  /** Undefined: our own tables. */
  ipam_store: IpamStore | undefined
  agents: NodeAgents
  bmcs: BmcAccess
  /** The port listened on; undefined before. */
  listening: () => number | undefined
  own_node: OwnNode
  cache: CredentialCache
  background: Background
  log: Log
  metrics: Metrics
  version: string
  /** The published document, ready to send. */
  document: () => Buffer
  /** What must hold before this replica may serve. */
  checks: () => Promise<Check[]>
}

export interface Check {
  name: string
  ok: boolean
  detail: string
}

export interface Module {
  areas: readonly ServedArea[]
  jobs?: readonly BoundJob[]
  watchers?: readonly Watcher[]
  search?: readonly SearchSource[]
}

/** An area of the contract with the handlers of those of its routes that run on the control plane. */
export interface ServedArea {
  area: Area
  handlers: AnyHandlers
}

export type AnyHandlers = Handlers<Routes, RequestContext>

/** Works in the background from the time that the database is there until the process ends. */
export interface Watcher {
  start?(): void
  stop(): void | Promise<void>
}

/** A missing or misspelt handler is a compile error here. */
export function serve<A extends Routes>(
  area: Area<A>,
  handlers: Handlers<ControlRoutes<A>, RequestContext>,
): ServedArea {
  // The types of the single routes have done their work.
  return { area: area as unknown as Area, handlers: handlers as AnyHandlers }
}
