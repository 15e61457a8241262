// The machine that this replica runs on: it answers node-local routes for it (`node.enabled`), and leaves all others to agents.
import { existsSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { nodeAreas } from '#src/contract/node-areas.ts'
import { type Config, ConfigError } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { linuxHost } from '#src/kernel/host.ts'
import type { Log } from '#src/kernel/log.ts'
import type { AnyHandlers, Watcher } from '#src/modules/module.ts'
import type { OwnNode } from '#src/modules/node-agents.ts'
import { isCalled } from '#src/modules/nodes/target.ts'
import { checkNodeSettings, hostOptionsOf, type NodeSettings } from '#src/node/config.ts'
import type { LocalNode } from '#src/node/index.ts'
import type { Database } from '#src/store/database.ts'
import { allNodes, type NodeRow } from '#src/store/nodes.ts'

interface OwnNodeDeps {
  config: Config
  database: Database
  version: string
  log: Log
}

/** So many nodes an error message names. */
const NAMED_MOST = 10

/** Loaded and opened when the first request needs it: most replicas are never asked about their own machine. */
export function createOwnNode({ config, database, version, log }: OwnNodeDeps): OwnNode & Watcher {
  const settings = nodeSettings(config)
  const { enabled } = config.node
  const state_dir = join(config.data_dir, 'node')
  const names = namesOf(settings)
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
    names,
    is: (row) => enabled && isCalled(row, names()),
    async handlers() {
      if (!enabled) throw new ApiError('AGENT_NOT_CONFIGURED', noMachine(await allNodes(database.db)))
      return (await opening()).handlers
    },
    /** What an earlier process left half-done is put right now, not when somebody happens to ask. */
    start() {
      if (!enabled || !existsSync(state_dir)) return
      opening().catch((err: unknown) =>
        log.error({ err }, 'what an earlier process left on this machine was not put right'),
      )
    },
    async stop() {
      await (await opened?.catch(() => undefined))?.stop()
    },
  }
}

/** A handler for each route that runs on nodes, which opens the machine when it is called. */
export function ownNodeHandlers(own: OwnNode): AnyHandlers {
  const operations = nodeAreas.flatMap((area) => Object.keys(area.routes))
  return Object.fromEntries(
    operations.map((operation) => [
      operation,
      async (...call: Parameters<AnyHandlers[string]>) => {
        const handlers: AnyHandlers = await own.handlers()
        return handlers[operation]?.(...call)
      },
    ]),
  )
}

/** Names as X-Target-Node takes them. */
function noMachine(nodes: readonly NodeRow[]): string {
  const names = nodes.map((node) => node.fqdn ?? node.bmc_ip)
  const known =
    names.length === 0 ? 'No node is registered yet.' : `Registered: ${names.slice(0, NAMED_MOST).join(', ')}.`
  return `This replica answers for no machine of its own; name a node in X-Target-Node. ${known}`
}

function nodeSettings(config: Config): NodeSettings {
  const checked = checkNodeSettings(config.node.settings)
  if ('problems' in checked) throw new ConfigError(checked.problems.map((problem) => `node.settings.${problem}`))
  return checked.settings
}

/** Addresses come and go, so they are read when they are asked for. */
function namesOf(settings: NodeSettings): () => ReadonlySet<string> {
  const { fqdn, node_ip } = settings.net
  const declared = [fqdn, node_ip].filter((name) => name !== undefined)
  return () => new Set([...declared, hostname(), 'localhost', ...ownAddresses()].map((name) => name.toLowerCase()))
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? [])
}
