// The agent of one captured host, with certificates of its own and no control plane, and clients that call it as the control
// plane would: over HTTPS.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '#src/contract/client.ts'
import { agentDesired } from '#src/contract/nodes/agent-desired.ts'
import type { AgentAddress } from '#src/kernel/agent-exchange.ts'
import { createAgents } from '#src/kernel/agents.ts'
import {
  CONTROL_NAME, createCa, createCertificateRequest, fingerprintOf, issueControlCertificate, issueNodeCertificate,
} from '#src/kernel/certificates.ts' // biome-ignore format: one import
import type { Host } from '#src/kernel/host.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import { loadAgentConfig } from '../../bin/agent-config.ts'
import { type AgentProgram, startAgent } from '../../bin/agent-program.ts'
import { capturedHost, capturedNetwork } from '../../lab/captured-host/host.ts'
import { writeTools } from '../../lab/captured-host/tools.ts'
import { tempFolder } from './temp-folder.ts'

export interface DesiredNode {
  client(job?: JobClaim): Client<typeof agentDesired.routes>
  /** Of the control plane; every row is this node. */
  agents: NodeAgents
  address: AgentAddress
  host: Host
  state_dir: string
  /** Of a change of the network that is under way. */
  network_run: string
  /** Where /etc of the machine stands. */
  root: string
  text(path: string): string
  put(path: string, text: string): void
  /** The watchdog reads the end of its window from here. */
  endNetworkWindow(): void
  restart(): Promise<void>
  close(): Promise<void>
}

const HOSTS = join(import.meta.dirname, '../../lab/hosts')

/** `faulty`: the same machine, where something does not do what it should. */
export async function startDesiredNode(
  name: string,
  faulty: (machine: Host) => Host = (machine) => machine,
): Promise<DesiredNode> {
  const folder = tempFolder('gp-desired-')
  const root = join(folder, 'root')
  const state_dir = join(folder, 'state')
  const machine = join(folder, 'machine')
  for (const path of [root, state_dir, machine]) mkdirSync(path, { recursive: true })
  const changes_file = join(machine, 'ip-changes')
  const network_run = join(state_dir, 'node/mtu/network-configuration.run')
  const ca = await createCa()
  const { key, request } = await createCertificateRequest(name)
  const { certificate } = await issueNodeCertificate(ca, request, name)
  const identity = {
    node_id: name,
    bmc_ip: '10.1.0.11',
    key,
    certificate,
    authority: ca.certificate,
    control_name: CONTROL_NAME,
  }
  writeFileSync(join(state_dir, 'identity.json'), JSON.stringify(identity))
  const captured = join(HOSTS, name)
  const config_file = join(folder, 'agent.json')
  writeFileSync(
    config_file,
    JSON.stringify({
      listen: { host: '127.0.0.1', port: 0 },
      // Nobody listens there: heartbeats are not what is tested.
      control_url: 'http://127.0.0.1:9',
      state_dir,
      log: { level: 'error' },
      node: {
        net: capturedNetwork(captured),
        root,
        tools: writeTools(machine, process.execPath, changes_file),
      },
    }),
  )
  const host = faulty(
    capturedHost(captured, {
      changes_file,
      machine_file: join(machine, 'machine.json'),
    }),
  )
  const start = (): Promise<AgentProgram> => startAgent(loadAgentConfig(config_file, {}), host, undefined)
  let program = await start()
  const mine = await issueControlCertificate(ca)
  const agents = createAgents({
    identity: () => Promise.resolve(control),
  })
  const control = { key: mine.key, certificate: mine.certificate, ca: ca.certificate }
  const addressNow = (): AgentAddress => ({
    name,
    address: '127.0.0.1',
    port: Number(new URL(program.url).port),
    fingerprints: [fingerprintOf(certificate)],
  })
  return {
    client: (job) => agents.clientFor(addressNow(), agentDesired.routes, { timeout_ms: 60_000, job }),
    agents: {
      client: (_row, routes, options) => agents.clientFor(addressNow(), routes, options),
      read: () => Promise.reject(new Error('not needed')),
      send: () => Promise.reject(new Error('not needed')),
      close: () => agents.close(),
    },
    get address() {
      return addressNow()
    },
    host,
    state_dir: join(state_dir, 'node'),
    network_run,
    root,
    text: (path) => readFileSync(join(root, path), 'utf8'),
    put(path, text) {
      mkdirSync(join(root, path, '..'), { recursive: true })
      writeFileSync(join(root, path), text)
    },
    endNetworkWindow() {
      writeFileSync(join(network_run, 'deadline'), '0\n')
    },
    async restart() {
      await program.close()
      program = await start()
    },
    async close() {
      await agents.close()
      await program.close()
    },
  }
}
