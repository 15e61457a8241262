// The areas that look at, or change, the network of all nodes at once.
import { eligibleNics } from '#src/contract/network/eligible-nics.ts'
import { guestNetworkJobs } from '#src/contract/network/guest-network-jobs.ts'
import { monitoring } from '#src/contract/network/monitoring.ts'
import { mtu } from '#src/contract/network/mtu.ts'
import { bindJob } from '#src/jobs/define.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import { eligibleNicHandlers } from '#src/modules/network/eligible-nics.ts'
import { guestNetworkJobHandlers } from '#src/modules/network/guest-network-jobs.ts'
import {
  guestNetworkCheck,
  guestNetworkCreate,
  guestNetworkDelete,
} from '#src/modules/network/guest-network-nodes.job.ts'
import { monitoringHandlers } from '#src/modules/network/monitoring.ts'
import { mtuRollout } from '#src/modules/network/mtu-rollout.job.ts'
import { mtuHandlers } from '#src/modules/network/mtu.ts'
import type { NodeCalls, NodeRead } from '#src/modules/network/node-calls.ts'
import { createNodePoll } from '#src/modules/network/node-poll.ts'
import { fleetQuestions } from '#src/modules/network/node-questions.ts'
import type { AgentAccess } from '#src/modules/nodes/agent-access.ts'
import { agentAddressOf } from '#src/modules/nodes/agent-access.ts'
import type { Parts, Watcher } from './areas.ts'

export function mountNetwork(
  server: Server,
  services: MountServices,
  { config, database, engine, cloudstack, log }: Parts,
  { agents, offline_after_ms }: AgentAccess,
): Watcher {
  const calls: NodeCalls = {
    client: (row, routes, options) => agents.clientFor(agentAddressOf(row, offline_after_ms), routes, options),
  }
  const read: NodeRead = (row, route, query, options) =>
    agents.read(agentAddressOf(row, offline_after_ms), route, { query }, options)
  const { agent_timeout_ms, agent_retry_ms } = config.nodes
  const poll = createNodePoll({ log, timeout_ms: agent_timeout_ms, retry_ms: agent_retry_ms })
  const ask = fleetQuestions(poll, read)
  const deps = { database, jobs: engine, ask, calls, cloudstack, offline_after_ms }
  engine.register(bindJob(mtuRollout, deps))
  for (const job of [guestNetworkCreate, guestNetworkDelete, guestNetworkCheck]) engine.register(bindJob(job, deps))

  const { networkAlertsList, networkDashboardRead, frrDashboardRead } = monitoring.routes
  const clusterCalls = { ...monitoring, routes: { networkAlertsList, networkDashboardRead, frrDashboardRead } }
  mountArea(server, clusterCalls, monitoringHandlers(deps), services)
  mountArea(server, eligibleNics, eligibleNicHandlers(deps), services)
  const { mtuReport, mtuDeclare } = mtu.routes
  mountArea(server, { ...mtu, routes: { mtuReport, mtuDeclare } }, mtuHandlers(deps), services)
  mountArea(server, guestNetworkJobs, guestNetworkJobHandlers(deps), services)
  return {
    start: () => {},
    stop: () => {
      poll.close()
      return Promise.resolve()
    },
  }
}
