// Everything a program answers about the machine it runs on: the handlers of all node-local routes, and the readers in the
// background that they look at.
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { NodeOperations } from '#src/contract/node-areas.ts'
import type { agentBridges } from '#src/contract/nodes/agent-bridges.ts'
import type { NodeFacts } from '#src/contract/nodes/registry.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { Host } from '#src/kernel/host.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import { createBenchmarks } from './benchmark/index.ts'
import { createFileHistory } from './benchmark/history.ts'
import { type Bridges, createBridges } from './bridges/index.ts'
import { cacheKey, createCache } from './cache.ts'
import type { NodeSettings } from './config.ts'
import { nodeFacts } from './facts.ts'
import { desiredAreas } from './desired/areas.ts'
import { createDesired } from './desired/index.ts'
import { createFailover } from './failover/index.ts'
import { createFrrCollector, type FrrCollector } from './frr/node.ts'
import { gpuNodeHandlers } from './gpu/index.ts'
import { createGuardedChanges, type GuardedChanges } from './guarded/changes.ts'
import { mtuNodeHandlers } from './mtu/index.ts'
import { createL2Probe } from './mtu/l2-probe.ts'
import { readLinks } from './mtu/links.ts'
import { createNodeApply } from './mtu/node-apply.ts'
import { readMtuState, underlayMtu } from './mtu/state.ts'
import { netHandlers } from './net/index.ts'
import { createNetSampler } from './net/sampler.ts'
import { storageHandlers } from './storage/index.ts'
import { createStorageMonitor } from './storage/monitor.ts'

export interface NodeOptions {
  host: Host
  settings: NodeSettings
  /** Folder of what must survive a restart: MTU journal, carrier log, benchmark results. */
  state_dir: string
  version: string
  log: Log
}

export interface LocalNode {
  handlers: Handlers<NodeOperations, RequestContext>
  facts(): Promise<NodeFacts>
  stop(): Promise<void>
}

const FACTS = cacheKey<NodeFacts>('facts')
/** Heartbeats come every few seconds and addresses change hardly ever: to start a command costs the agent most. */
const FACTS_TTL_MS = 30_000

/** Finishes what an earlier process left behind, and starts the readers. */
export async function openLocalNode(options: NodeOptions): Promise<LocalNode> {
  const { host, settings, version } = options
  const { net } = settings
  const frr = createFrrCollector(host, {
    ...settings.frr,
    ...(net.fqdn === undefined ? {} : { fqdn: net.fqdn }),
    ...(net.node_ip === undefined ? {} : { ip_address: net.node_ip }),
  })
  const site: Site = { ...options, frr }
  const network = openNetwork(site)
  const [storage, bench, changes, bridges] = await Promise.all([
    openStorage(site),
    openBenchmarks(site),
    openChanges(site),
    openBridges(site),
  ])
  const mtu_part = await openMtu(site, changes)
  const desired = openDesired(site, changes, bridges)
  const failover = createFailover(options)
  failover.start()
  const started_at = new Date().toISOString()
  const cache = createCache(host)
  const facts = (): Promise<NodeFacts> => cache.get(FACTS, FACTS_TTL_MS, () => nodeFacts(host, net, version))
  return {
    handlers: {
      ...network.handlers,
      ...storage.handlers,
      ...bench.handlers,
      ...mtu_part,
      ...bridgeHandlers(bridges),
      ...desired.handlers,
      ...gpuNodeHandlers(host),
      ...failover.handlers,
      agentHealth: () => ({ status: 'ok', version, started_at }),
      agentFacts: facts,
      agentFrr: () => frr.node(),
    },
    facts,
    async stop() {
      changes.stop()
      await Promise.all([network.stop(), storage.stop(), bench.stop(), desired.stop(), failover.stop()])
    },
  }
}

interface Site extends NodeOptions {
  frr: FrrCollector
}

const FIRST_READ_MS = 3000

function openNetwork({ host, settings: { net }, frr, state_dir }: Site) {
  const { time_daemon_address } = net
  const samples = createNetSampler(host, {
    state_path: join(state_dir, 'carrier.json'),
    ...(time_daemon_address === undefined ? {} : { time_daemon_address }),
  })
  const made = netHandlers({ host, config: net, samples, frr: () => frr.node() })
  samples.start()
  const stop = async (): Promise<void> => {
    await made.stop()
    await samples.stop()
  }
  return { handlers: made.handlers, stop }
}

/** The first caller would see nothing but "not read yet", so the first reading is waited for a little. */
async function openStorage({ host, log, settings }: Site) {
  const monitor = createStorageMonitor(host, {
    onDefect: (err) => log.error({ err }, 'reading storage failed'),
    ...(settings.cluster_args === undefined ? {} : { cluster_args: settings.cluster_args }),
  })
  monitor.start()
  await Promise.race([monitor.refresh(), wait(FIRST_READ_MS, undefined, { ref: false })])
  return { handlers: storageHandlers({ monitor }), stop: () => monitor.stop() }
}

async function openBenchmarks({ host, settings, state_dir }: Site) {
  const store = await createFileHistory(join(state_dir, 'benchmarks'))
  const made = createBenchmarks({
    host,
    store,
    temp_folder: join(state_dir, 'benchmark-files'),
    root: settings.root ?? '/',
    ...(settings.tools === undefined ? {} : { tools: settings.tools }),
    ...(settings.cluster_args === undefined ? {} : { cluster_args: settings.cluster_args }),
  })
  await made.recover()
  return { handlers: made.handlers, stop: () => made.close() }
}

async function openChanges({ host, settings, state_dir }: Site): Promise<GuardedChanges> {
  const changes = await createGuardedChanges({
    host,
    // The boot unit of deploy/ names this folder.
    state_dir: join(state_dir, 'mtu'),
    ...(settings.tools === undefined ? {} : { tools: settings.tools }),
  })
  await changes.start()
  return changes
}

async function openMtu({ host, frr, settings }: Site, changes: GuardedChanges) {
  const { roles, uplinks } = settings.net
  const allowed_devices = Object.keys(roles)
  const fabric = () => frr.node()
  const apply = createNodeApply({
    host,
    changes,
    config_root: settings.root ?? '/',
    allowed_devices,
    uplinks,
    underlayLimit: async () => underlayMtu(fabric, (await readLinks(host)) ?? []),
  })
  await apply.start()
  const probe = createL2Probe({ host, allowed_devices })
  const state = { agentMtuRead: () => readMtuState({ host, roles, uplinks, apply, frr: fabric }) }
  return { ...mtuNodeHandlers({ apply, probe }), ...state }
}

function openDesired({ host, settings, state_dir, version, log }: Site, changes: GuardedChanges, bridges: Bridges) {
  const root = settings.root ?? '/'
  return createDesired({
    areas: desiredAreas({ host, root, state_dir, version, changes, bridges }),
    now: () => host.now(),
    log,
  })
}

async function openBridges({ host, settings: { net }, state_dir, log }: Site): Promise<Bridges> {
  const bridges = createBridges({
    host,
    state_dir,
    ...(net.node_ip === undefined ? {} : { local_address: net.node_ip }),
  })
  const failed = await bridges.restore()
  if (failed.length > 0) log.error({ bridges: failed }, 'bridges of guest networks could not be made again')
  return bridges
}

function bridgeHandlers(bridges: Bridges): Handlers<typeof agentBridges.routes, RequestContext> {
  return {
    agentBridgeCreate: ({ body }) => bridges.create(body),
    agentBridgeDelete: ({ body }) => bridges.delete(body),
    agentBridgeCheck: ({ body }) => bridges.check(body),
  }
}
