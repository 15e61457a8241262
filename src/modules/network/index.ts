// Networks: those of the platform, and what the nodes make of them.
import { eligibleNics } from '#src/contract/network/eligible-nics.ts'
import { firewall } from '#src/contract/network/firewall.ts'
import { guestNetworkJobs } from '#src/contract/network/guest-network-jobs.ts'
import { guestNetworks } from '#src/contract/network/guest-networks.ts'
import { loadBalancers } from '#src/contract/network/load-balancers.ts'
import { monitoring } from '#src/contract/network/monitoring.ts'
import { mtu } from '#src/contract/network/mtu.ts'
import { networkOfferings } from '#src/contract/network/offerings.ts'
import { portForwarding } from '#src/contract/network/port-forwarding.ts'
import { nodeHealth } from '#src/contract/nodes/health.ts'
import { serviceProviders } from '#src/contract/network/providers.ts'
import { networkStats } from '#src/contract/network/stats.ts'
import { bindJob } from '#src/jobs/define.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { platformSource } from '../search-source.ts'
import { eligibleNicHandlers } from './eligible-nics.ts'
import { firewallHandlers } from './firewall.ts'
import { guestNetworkJobHandlers } from './guest-network-jobs.ts'
import { guestNetworkCheckJob, guestNetworkCreateJob, guestNetworkDeleteJob } from './guest-network-nodes.job.ts'
import { guestNetworkHandlers } from './guest-networks.ts'
import { createHealthWatcher, healthHandlers } from './health.ts'
import { loadBalancerHandlers } from './load-balancers.ts'
import { monitoringHandlers } from './monitoring.ts'
import { readMtuReport } from './mtu-report.ts'
import { mtuDeclareJob } from './mtu-rollout.job.ts'
import { mtuDeclare } from './mtu.ts'
import { createNodePoll } from './node-poll.ts'
import { fleetQuestions } from './node-questions.ts'
import { networkOfferingHandlers } from './offerings.ts'
import { portForwardingHandlers } from './port-forwarding.ts'
import { serviceProviderHandlers } from './providers.ts'
import { networkStatsHandlers } from './stats.ts'

export function networkModule(parts: Parts): Module {
  const { agent_timeout_ms, agent_retry_ms, offline_after_ms, health_poll_ms } = parts.config.nodes
  const poll = createNodePoll({ log: parts.log, timeout_ms: agent_timeout_ms, retry_ms: agent_retry_ms })
  const deps = { ...parts, ask: fleetQuestions(poll, parts.agents), offline_after_ms, health_poll_ms }
  return {
    areas: [
      serve(guestNetworks, guestNetworkHandlers(parts)),
      serve(networkOfferings, networkOfferingHandlers(parts.cloudstack)),
      serve(guestNetworkJobs, guestNetworkJobHandlers(deps)),
      serve(eligibleNics, eligibleNicHandlers(deps)),
      serve(mtu, { mtuReport: () => readMtuReport(deps), mtuDeclare: mtuDeclare(deps) }),
      serve(monitoring, monitoringHandlers(deps)),
      serve(nodeHealth, healthHandlers(deps)),
      serve(serviceProviders, serviceProviderHandlers(parts)),
      serve(portForwarding, portForwardingHandlers(parts)),
      serve(firewall, firewallHandlers(parts)),
      serve(loadBalancers, loadBalancerHandlers(parts)),
      serve(networkStats, networkStatsHandlers(parts)),
    ],
    jobs: [
      bindJob(mtuDeclareJob, deps),
      bindJob(guestNetworkCreateJob, deps),
      bindJob(guestNetworkDeleteJob, deps),
      bindJob(guestNetworkCheckJob, deps),
    ],
    watchers: [createHealthWatcher(deps), { stop: () => poll.close() }],
    search: [
      platformSource(
        parts.cloudstack,
        'network',
        guestNetworks,
        'guestNetworkList',
        {
          command: 'listNetworks',
          key: 'network',
          args: { traffictype: 'Guest' },
          name: 'name',
          words: ['name', 'displaytext', 'id'],
        },
        (id) => ({ body: { id } }),
      ),
    ],
  }
}
