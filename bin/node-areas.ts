// The areas about nodes: their registry, their NICs, and the node-local routes, which this replica answers for its own
// machine and forwards for any other (X-Target-Node).
import { existsSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { monitoring } from '#src/contract/network/monitoring.ts'
import { mtu } from '#src/contract/network/mtu.ts'
import { nodeNics } from '#src/contract/nodes/nics.ts'
import { nodeRegistry } from '#src/contract/nodes/registry.ts'
import type { Area, Routes } from '#src/contract/route.ts'
import { benchmarks } from '#src/contract/storage/benchmark.ts'
import { hostStorage } from '#src/contract/storage/host.ts'
import { createAgents } from '#src/kernel/agents.ts'
import { ConfigError } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { linuxHost } from '#src/kernel/host.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import { createControlIdentity } from '#src/modules/nodes/agent-access.ts'
import { createLiveness } from '#src/modules/nodes/liveness.ts'
import { nodeNicHandlers } from '#src/modules/nodes/nics.ts'
import { registryHandlers } from '#src/modules/nodes/registry.ts'
import { createForward, isCalled } from '#src/modules/nodes/target.ts'
import { checkNodeSettings, hostOptionsOf, type NodeSettings } from '#src/node/config.ts'
import type { LocalNode, NodeParts } from '#src/node/index.ts'
import { delayedHandlers, type NodeHandlers, nodeRoutesOf } from '#src/node/mounting.ts'
import { createCaStore } from '#src/store/ca.ts'
import { allNodes, fqdnOf, type NodeRow } from '#src/store/nodes.ts'
import type { Parts, Watcher } from './areas.ts'
import { mountNetwork } from './network-areas.ts'
import { mountGpu } from './gpu-areas.ts'

/** So many nodes an error message names. */
const NAMED_MOST = 10

export function mountNodes(server: Server, services: MountServices, parts: Parts): Watcher[] {
  const { config, database, replica, keyring, log } = parts
  const { offline_after_ms, heartbeat_interval_ms } = config.nodes
  const change = { database, replica_id: replica.id }
  const ca = createCaStore(database, keyring)
  const agents = createAgents({ identity: createControlIdentity(ca), observe: parts.observed('agent') })
  const access = { agents, offline_after_ms }
  const settings = ownSettings(parts)

  mountArea(
    server,
    nodeRegistry,
    registryHandlers({ ...change, ca, offline_after_ms, heartbeat_interval_ms }),
    services,
  )
  mountGpu(server, services, parts, access)

  const own = createOwnNode(parts, settings)
  const own_names = ownNames(settings)
  const isOwn = (row: NodeRow): boolean => config.node.enabled && isCalled(row, own_names())
  const network_of_own = async () => (await own.open()).handlers.network
  mountArea(server, nodeNics, nodeNicHandlers({ ...change, ...access, isOwn, network_of_own }), services)
  const forward = createForward({ ...access, db: database.db, own_names, isOwn })
  const mountLocal = <A extends Routes>(area: Area<A>, pick: (handlers: NodeParts) => NodeHandlers<A>): void =>
    mountArea(
      server,
      nodeRoutesOf(area),
      delayedHandlers(area, async () => pick((await own.open()).handlers)),
      {
        ...services,
        forward,
      },
    )
  mountLocal(hostStorage, (handlers) => handlers.storage)
  mountLocal(benchmarks, (handlers) => handlers.benchmarks)
  mountLocal(monitoring, (handlers) => handlers.monitoring)
  mountLocal(mtu, (handlers) => handlers.mtu)

  const network = mountNetwork(server, services, parts, access)
  const liveness = createLiveness({ ...change, offline_after_ms, log })
  return [liveness, network, { start: own.start, stop: own.close }, { start: () => {}, stop: () => agents.close() }]
}

/** Loaded and opened when the first request needs it: most replicas are never asked about their own machine. */
function createOwnNode({ config, database, version, log }: Parts, settings: NodeSettings) {
  const state_dir = join(config.data_dir, 'node')
  let opened: Promise<LocalNode> | undefined
  const make = async (): Promise<LocalNode> => {
    const { openLocalNode } = await import('#src/node/index.ts')
    return openLocalNode({ host: linuxHost(hostOptionsOf(settings)), settings, state_dir, version, log })
  }
  const opening = (): Promise<LocalNode> => {
    opened ??= make().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  return {
    async open(): Promise<LocalNode> {
      if (!config.node.enabled) throw new ApiError('AGENT_NOT_CONFIGURED', noMachine(await allNodes(database.db)))
      return opening()
    },
    /** What an earlier process left half-done is put right now, not when somebody happens to ask. */
    start(): void {
      if (!config.node.enabled || !existsSync(state_dir)) return
      opening().catch((err: unknown) =>
        log.error({ err }, 'what an earlier process left on this machine was not put right'),
      )
    },
    async close(): Promise<void> {
      await (await opened?.catch(() => undefined))?.stop()
    },
  }
}

/** Names as X-Target-Node takes them. */
function noMachine(nodes: readonly NodeRow[]): string {
  const names = nodes.map((node) => fqdnOf(node) ?? node.bmc_ip)
  const known =
    names.length === 0 ? 'No node is registered yet.' : `Registered: ${names.slice(0, NAMED_MOST).join(', ')}.`
  return `This replica answers for no machine of its own; name a node in X-Target-Node. ${known}`
}

function ownSettings({ config }: Parts): NodeSettings {
  const checked = checkNodeSettings(config.node.settings)
  if ('problems' in checked) throw new ConfigError(checked.problems.map((problem) => `node.settings.${problem}`))
  return checked.settings
}

/** Addresses come and go, so they are read when they are asked for. */
function ownNames(settings: NodeSettings): () => ReadonlySet<string> {
  const { fqdn, node_ip } = settings.net
  const declared = [fqdn, node_ip].filter((name) => name !== undefined)
  return () => new Set([...declared, hostname(), 'localhost', ...ownAddresses()].map((name) => name.toLowerCase()))
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? [])
}
