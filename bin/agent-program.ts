// Builds the agent of a node from its configuration: identity, server under mutual TLS, node-local routes, heartbeats.
import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import { Server as TlsServer } from 'node:tls'
import packageJson from '../package.json' with { type: 'json' }
import { nodeAreas } from '#src/contract/node-areas.ts'
import type { Authenticator } from '#src/kernel/http/access.ts'
import { ANONYMOUS } from '#src/kernel/http/context.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import { createServer, type Server } from '#src/kernel/http/serve.ts'
import type { Host } from '#src/kernel/host.ts'
import { createLog, type Log } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { nodeFacts } from '#src/node/facts.ts'
import { type LocalNode, openLocalNode } from '#src/node/index.ts'
import { createJobFence, fencedHandlers, type JobFence } from '#src/node/job-fence.ts'
import { createHeartbeat, enrol, type NodeIdentity, readIdentity } from '#src/node/enrolment.ts'
import type { AgentConfig } from './agent-config.ts'

export interface AgentProgram {
  url: string
  identity: NodeIdentity
  log: Log
  close(): Promise<void>
}

/** A token makes the agent enrol again, whatever identity it had. */
export async function startAgent(config: AgentConfig, host: Host, token: string | undefined): Promise<AgentProgram> {
  const log = createLog({ level: config.log.level })
  const identity = await identityFor(config, host, token)
  // What a crash left behind is put right before anybody is told that this node answers.
  const node = await openLocalNode({
    host,
    settings: config.node,
    state_dir: join(config.state_dir, 'node'),
    version: packageJson.version,
    log,
  })
  const server = createServer({ log, metrics: createMetrics(), tls: tlsOf(identity) })
  mountNode(server, node, identity.control_name, createJobFence(join(config.state_dir, 'node', 'job-epochs.json')))
  const url = await server.listen(config.listen.host, config.listen.port)
  const heartbeat = createHeartbeat({
    ...config,
    identity,
    agent: { address: config.advertise_address ?? null, port: portOf(server) },
    facts: () => node.facts(),
    renewed: (next) => useCertificate(server, next),
    log,
  })
  heartbeat.start()
  log.info({ url, bmc_ip: identity.bmc_ip, version: packageJson.version }, 'agent ready')
  return {
    url,
    identity,
    log,
    async close() {
      await heartbeat.stop()
      await server.close()
      await node.stop()
      log.info({}, 'agent stopped')
    },
  }
}

/** Ends the agent in order when the process is asked to stop; the answer asks for that from inside. */
export function stopWithProcess(agent: AgentProgram): { close(): void } {
  return closeWithGrace({ delay: 15_000, logger: false }, async ({ err }) => {
    if (err !== undefined) agent.log.error({ err }, 'stopping after an error that nobody caught')
    await agent.close()
  })
}

async function identityFor(config: AgentConfig, host: Host, token: string | undefined): Promise<NodeIdentity> {
  const { state_dir, control_url, control_ca } = config
  if (token !== undefined) {
    const facts = await nodeFacts(host, config.node.net, packageJson.version)
    return enrol({ token, state_dir, control_url, control_ca, facts })
  }
  const known = readIdentity(state_dir)
  if (known === undefined) {
    throw new Error(
      'this agent is not enrolled: start it with --join URL and an enrolment token (--token or --token-file)',
    )
  }
  return known
}

function mountNode(server: Server, { handlers }: LocalNode, control_name: string, fence: JobFence): void {
  const limiter = createRateLimiter(1000, 2000)
  const services: MountServices = { authenticator: controlOnly(control_name), limiter, login_limiter: limiter }
  for (const area of nodeAreas) mountArea(server, area, fencedHandlers(area, handlers, fence), services)
}

/** Rights were checked where the caller came in; here counts that the control plane itself is calling. */
function controlOnly(control_name: string): Authenticator {
  return {
    authenticate: ({ certificate_name }) => ({
      caller:
        certificate_name === control_name
          ? {
              kind: 'cluster',
              id: certificate_name,
              role: 'cluster',
              tenant_id: null,
              user_id: null,
              username: certificate_name,
            }
          : ANONYMOUS,
    }),
  }
}

function tlsOf({ key, certificate, authority }: NodeIdentity): { key: string; cert: string; ca: string } {
  return { key, cert: certificate, ca: authority }
}

/** New connections see the new certificate; those that stand go on. */
function useCertificate(server: Server, identity: NodeIdentity): void {
  if (server.app.server instanceof TlsServer) server.app.server.setSecureContext(tlsOf(identity))
}

function portOf(server: Server): number {
  const address = server.app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the agent has no port')
  return address.port
}
