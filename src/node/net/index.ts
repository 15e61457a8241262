// What the agent answers about the network of its node: the handlers of its node-local routes.
import type { FrrNode } from '#src/contract/network/frr.ts'
import type { monitoring } from '#src/contract/network/monitoring.ts'
import type { agentNetwork } from '#src/contract/nodes/agent-network.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { Host } from '#src/kernel/host.ts'
import { createCache } from '../cache.ts'
import { createBlinker } from '../nics/blink.ts'
import { bootstrapNics } from '../nics/bootstrap.ts'
import { eligibleNics } from '../nics/eligible.ts'
import { nodeAlerts } from './alerts.ts'
import { nodeBonds } from './bonds.ts'
import type { NodeNetConfig } from './config.ts'
import { createEthtool } from './ethtool.ts'
import { createNetworkSnapshots } from './snapshot.ts'
import type { NetSamples } from './sampler.ts'
import { summarise } from './summary.ts'

export interface NetDeps {
  host: Host
  config: NodeNetConfig
  /** Started and stopped by the program. */
  samples: NetSamples
  /** Routing record of this node, for the alerts of the overlay; left out where no routing daemon is expected. */
  frr?: () => Promise<FrrNode>
}

type NetHandlers = Pick<Handlers<typeof monitoring.routes, unknown>, 'nodeSummary'> &
  Handlers<typeof agentNetwork.routes, unknown>

/** The handlers, and what has to be ended with the program. */
export function netHandlers(deps: NetDeps): { handlers: NetHandlers; stop(): Promise<void> } {
  const { host, config, samples } = deps
  const cache = createCache(host)
  const ethtool = createEthtool(host, cache)
  const snapshot = createNetworkSnapshots({ host, config, cache, ethtool })
  const blinker = createBlinker(host)
  const handlers: NetHandlers = {
    async nodeSummary() {
      return summarise(await snapshot())
    },
    async agentNicsEligible({ query }) {
      const parts = { host, cache, ethtool, samples }
      return { interfaces: await eligibleNics(parts, await snapshot(), query.include_all === true) }
    },
    async agentNetworkAlerts() {
      const [now, frr] = await Promise.all([snapshot(), deps.frr?.().catch(() => null) ?? null])
      const { fqdn, node_ip, hostname } = summarise(now)
      return { alerts: nodeAlerts(now, samples, fqdn ?? node_ip ?? hostname ?? '', frr) }
    },
    async agentNicsList({ query }) {
      return { nics: await bootstrapNics(host, query) }
    },
    agentBondList: async () => ({ bonds: await nodeBonds(host) }),
    agentNicBlink: ({ body }) => blinker.blink(body.interfaceName, body.duration ?? 10),
  }
  return { handlers, stop: () => blinker.stop() }
}
