// Everything a program answers about the machine it runs on: the handlers of all node-local routes, and the readers in the
// background that they look at. The agent opens all parts at its start; the control plane opens each at its first use.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { agent } from '#src/contract/agent.ts'
import { monitoring } from '#src/contract/network/monitoring.ts'
import { mtu } from '#src/contract/network/mtu.ts'
import { agentBridges } from '#src/contract/nodes/agent-bridges.ts'
import type { agentGpu } from '#src/contract/nodes/agent-gpu.ts'
import { agentMtu } from '#src/contract/nodes/agent-mtu.ts'
import { agentNetwork } from '#src/contract/nodes/agent-network.ts'
import type { NodeFacts } from '#src/contract/nodes/registry.ts'
import { benchmarks } from '#src/contract/storage/benchmark.ts'
import { hostStorage } from '#src/contract/storage/host.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { type Host, linuxHost } from '#src/kernel/host.ts'
import type { Log } from '#src/kernel/log.ts'
import { createBenchmarks } from './benchmark/index.ts'
import { createFileHistory } from './benchmark/history.ts'
import { rememberLinks } from './bridges/captured-links.ts'
import { type Bridges, createBridges } from './bridges/index.ts'
import { cacheKey, createCache } from './cache.ts'
import { capturedHost } from './captured-host.ts'
import { netConfigOf, type NodeSettings } from './config.ts'
import { nodeFacts } from './facts.ts'
import { createFrrCollector, type FrrCollector } from './frr/node.ts'
import { gpuNodeHandlers } from './gpu/index.ts'
import { mtuNodeHandlers } from './mtu/index.ts'
import { delayedHandlers, type NodeHandlers } from './mounting.ts'
import { createL2Probe, type L2Probe } from './mtu/l2-probe.ts'
import { rememberMtu } from './mtu/captured-change.ts'
import { readLinks } from './mtu/links.ts'
import { createNodeApply } from './mtu/node-apply.ts'
import { readMtuState, underlayMtu } from './mtu/state.ts'
import type { NodeNetConfig } from './net/config.ts'
import { netHandlers } from './net/index.ts'
import { createNetSampler } from './net/sampler.ts'
import { storageHandlers } from './storage/index.ts'
import { createStorageMonitor } from './storage/monitor.ts'

export interface NodeOptions {
  settings: NodeSettings
  /** Folder of what must survive a restart: MTU journal, carrier log, benchmark results. */
  state_dir: string
  version: string
  log: Log
}

export interface NodeParts {
  monitoring: NodeHandlers<typeof monitoring.routes>
  mtu: NodeHandlers<typeof mtu.routes>
  storage: NodeHandlers<typeof hostStorage.routes>
  benchmarks: NodeHandlers<typeof benchmarks.routes>
  /** Between nodes alone. */
  network: NodeHandlers<typeof agentNetwork.routes>
  mtu_state: NodeHandlers<typeof agentMtu.routes>
  bridges: NodeHandlers<typeof agentBridges.routes>
  gpu: NodeHandlers<typeof agentGpu.routes>
  agent: NodeHandlers<typeof agent.routes>
}

export interface LocalNode {
  handlers: NodeParts
  facts(): Promise<NodeFacts>
  /** Opens every part now and finishes what an earlier process left behind. */
  start(): Promise<void>
  /** Opens those parts alone in which an earlier process may have left something half-done, and finishes it. */
  recover(): Promise<void>
  stop(): Promise<void>
}

/** Folders under `state_dir`; the boot unit of deploy/ names the second one. */
const BENCHMARKS = 'benchmarks'
const MTU = 'mtu'

const FACTS = cacheKey<NodeFacts>('facts')
/** Signs of life come every few seconds and addresses change hardly ever: to start a command costs the agent most. */
const FACTS_KEPT_MS = 30_000

export function createLocalNode(options: NodeOptions): LocalNode {
  const { settings, version } = options
  const host =
    settings.captured === undefined
      ? linuxHost(hostRoots(settings))
      : rememberLinks(rememberMtu(capturedHost(settings.captured)))
  const net = netConfigOf(settings)
  const frr = createFrrCollector(host, {
    ...settings.frr,
    ...(net.fqdn === undefined ? {} : { fqdn: net.fqdn }),
    ...(net.node_ip === undefined ? {} : { ip_address: net.node_ip }),
  })
  const site: Site = { ...options, host, net, frr }
  const parts = [
    lazyPart(() => openNetwork(site)),
    lazyPart(() => openStorage(site)),
    lazyPart(() => openBenchmarks(site)),
    lazyPart(() => openMtu(site)),
    lazyPart(() => openBridges(site)),
  ] as const
  const [network, storage, bench, mtu_part, bridges] = parts
  const started_at = new Date().toISOString()
  const cache = createCache(host)
  const facts = (): Promise<NodeFacts> => cache.get(FACTS, FACTS_KEPT_MS, () => nodeFacts(host, net, version))
  return {
    handlers: {
      monitoring: delayedHandlers(monitoring, network.open),
      network: delayedHandlers(agentNetwork, network.open),
      storage: delayedHandlers(hostStorage, storage.open),
      benchmarks: delayedHandlers(benchmarks, bench.open),
      mtu: delayedHandlers(mtu, mtu_part.open),
      mtu_state: delayedHandlers(agentMtu, mtu_part.open),
      bridges: delayedHandlers(agentBridges, bridges.open),
      gpu: gpuNodeHandlers(host),
      agent: {
        agentHealth: () => ({ status: 'ok', version, started_at }),
        agentFacts: facts,
        agentFrr: () => frr.node(),
      },
    },
    facts,
    async start() {
      await Promise.all(parts.map((part) => part.open()))
    },
    async recover() {
      const used = (folder: string): boolean => existsSync(join(options.state_dir, folder))
      await Promise.all([used(BENCHMARKS) && bench.open(), used(MTU) && mtu_part.open()])
    },
    async stop() {
      await Promise.all(parts.map((part) => part.close()))
    },
  }
}

interface Site extends NodeOptions {
  host: Host
  net: NodeNetConfig
  frr: FrrCollector
}

interface Part<H> {
  handlers: H
  stop(): Promise<void> | void
}

/** Opens once, at the first use; a failure is told to whoever asked, and the next use tries again. */
function lazyPart<H>(make: () => Promise<Part<H>>): { open(): Promise<H>; close(): Promise<void> } {
  let opened: Promise<Part<H>> | undefined
  return {
    open() {
      opened ??= make().catch((error: unknown) => {
        opened = undefined
        throw error
      })
      return opened.then((part) => part.handlers)
    },
    async close() {
      const part = await opened?.catch(() => undefined)
      await part?.stop()
    },
  }
}

const FIRST_READ_MS = 3000

function openNetwork({ host, net, frr, state_dir }: Site): Promise<Part<ReturnType<typeof netHandlers>['handlers']>> {
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
  return Promise.resolve({ handlers: made.handlers, stop })
}

/** The first caller would see nothing but "not read yet", so it waits a little for the first reading. */
async function openStorage({ host, log, settings }: Site): Promise<Part<ReturnType<typeof storageHandlers>>> {
  const monitor = createStorageMonitor(host, {
    onDefect: (err) => log.error({ err }, 'reading storage failed'),
    ...(settings.cluster_args === undefined ? {} : { cluster_args: settings.cluster_args }),
  })
  monitor.start()
  await Promise.race([monitor.refresh(), wait(FIRST_READ_MS, undefined, { ref: false })])
  return { handlers: storageHandlers({ monitor }), stop: () => monitor.stop() }
}

async function openBenchmarks({ host, settings, state_dir }: Site) {
  const store = await createFileHistory(join(state_dir, BENCHMARKS))
  const made = createBenchmarks({
    host,
    store,
    temp_folder: join(state_dir, 'benchmark-files'),
    ...(settings.tools === undefined ? {} : { tools: settings.tools }),
    ...(settings.cluster_args === undefined ? {} : { cluster_args: settings.cluster_args }),
  })
  await made.recover()
  return { handlers: made.handlers, stop: () => made.close() }
}

async function openMtu({ host, net, frr, settings, state_dir }: Site) {
  const { captured } = settings
  const { roles, uplinks } = net
  const allowed_devices = Object.keys(roles)
  const fabric = () => frr.node()
  const apply = await createNodeApply({
    host,
    state_dir: join(state_dir, MTU),
    // Files of a machine that is not there must not become files of this one.
    config_root: captured === undefined ? (settings.root ?? '/') : join(state_dir, 'root'),
    allowed_devices,
    uplinks,
    underlayLimit: async () => underlayMtu(fabric, (await readLinks(host)) ?? []),
    captured: captured !== undefined,
  })
  if (captured === undefined) await apply.start()
  const probe = captured === undefined ? createL2Probe({ host, allowed_devices }) : NO_PROBE
  const state = { agentMtuRead: () => readMtuState({ host, roles, uplinks, apply, frr: fabric }) }
  return { handlers: { ...mtuNodeHandlers({ apply, probe }), ...state }, stop: () => apply.stop() }
}

async function openBridges({ host, net, settings, state_dir, log }: Site): Promise<Part<NodeParts['bridges']>> {
  const bridges = createBridges({
    host,
    state_dir,
    ...(net.node_ip === undefined ? {} : { local_address: net.node_ip }),
  })
  if (settings.captured === undefined) {
    const failed = await bridges.restore()
    if (failed.length > 0) log.error({ bridges: failed }, 'bridges of guest networks could not be made again')
  }
  return { handlers: bridgeHandlers(bridges), stop: () => {} }
}

function bridgeHandlers(bridges: Bridges): NodeParts['bridges'] {
  return {
    agentBridgeCreate: ({ body }) => bridges.create(body),
    agentBridgeDelete: ({ body }) => bridges.delete(body),
    agentBridgeCheck: ({ body }) => bridges.check(body),
  }
}

const NO_PROBE: L2Probe = {
  run: () => Promise.reject(new ApiError('RAW_SOCKETS_UNAVAILABLE', 'A captured host sends no frames.')),
}

function hostRoots({ proc_root, sys_root, root, tools }: NodeSettings) {
  return {
    ...(proc_root === undefined ? {} : { proc_root }),
    ...(sys_root === undefined ? {} : { sys_root }),
    ...(root === undefined ? {} : { root }),
    ...(tools === undefined ? {} : { tools }),
  }
}
