/** Runs real agents on captured hosts: registers the nodes through the API, lets each agent enrol, and ends them with the lab. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { capturedNetwork } from './captured-host/host.ts'
import { writeTools } from './captured-host/tools.ts'
import { rotateLog } from './log-file.ts'

export interface LabAgentsOptions {
  /** Base URL of the control plane, and a token that may register nodes. */
  url: string
  token: string
  /** Kept between starts, so that an agent enrols only once. */
  state_dir: string
  /** The program to run agents with. */
  node: string
  log: (line: string) => void
  /** Folder of compiled code, for a quicker start. */
  compile_cache?: string
  /** Names of captured hosts; all three when left out. */
  hosts?: readonly string[]
}

export interface LabAgents {
  /** One entry a running agent. */
  agents: readonly { host: string; bmc_ip: string; pid: number }[]
  /** Resolves once every agent has been seen by the control plane. */
  ready(deadline_ms?: number): Promise<void>
  close(): Promise<void>
}

interface LabNode {
  host: string
  bmc_ip: string
  role: 'compute' | 'management'
}

/** The BMC addresses of the simulated hypervisors (state.ts, hostFacts), and one for the management node. */
const NODES: readonly LabNode[] = [
  { host: 'kvm-01', bmc_ip: '10.1.0.11', role: 'compute' },
  { host: 'kvm-02', bmc_ip: '10.1.0.12', role: 'compute' },
  { host: 'mgmt-01', bmc_ip: '10.1.0.5', role: 'management' },
]

const PROGRAM = join(import.meta.dirname, '../bin/lab-agent.ts')
const HOSTS = join(import.meta.dirname, 'hosts')
const CALL_TIMEOUT_MS = 15_000
const STOP_MS = 10_000
const READY_MS = 150_000

export async function startLabAgents(options: LabAgentsOptions): Promise<LabAgents> {
  const wanted = NODES.filter(({ host }) => options.hosts?.includes(host) ?? true)
  const prefix = deathSignal(options.node)
  const running: { host: string; bmc_ip: string; child: ChildProcess }[] = []
  const close = async (): Promise<void> => {
    await Promise.all(running.map(({ child }) => stop(child)))
  }
  try {
    for (const node of wanted) running.push({ ...node, child: await startOne(options, node, prefix) })
  } catch (error) {
    await close()
    throw error
  }
  return {
    agents: running.map(({ host, bmc_ip, child }) => ({ host, bmc_ip, pid: child.pid ?? 0 })),
    ready: (deadline_ms = READY_MS) => allSeen(options, wanted, running, deadline_ms),
    close,
  }
}

async function startOne(options: LabAgentsOptions, node: LabNode, prefix: readonly string[]): Promise<ChildProcess> {
  const folder = join(options.state_dir, node.host)
  const machine = join(folder, 'machine')
  const captured = join(HOSTS, node.host)
  const changes_file = join(machine, 'ip-changes')
  const root = join(machine, 'root')
  mkdirSync(join(root, 'etc/network'), { recursive: true, mode: 0o700 })
  // The network manager of the machine, so that its network can be configured.
  const interfaces = join(root, 'etc/network/interfaces')
  if (!existsSync(interfaces)) writeFileSync(interfaces, 'auto lo\niface lo inet loopback\n')
  const config = join(folder, 'agent.json')
  // JSON is YAML as well.
  writeFileSync(
    config,
    JSON.stringify({
      listen: { host: '127.0.0.1', port: 0 },
      advertise_address: '127.0.0.1',
      control_url: options.url,
      state_dir: folder,
      node: { net: capturedNetwork(captured), root, tools: writeTools(machine, options.node, changes_file) },
    }),
    { mode: 0o600 },
  )
  const token = await enrolmentToken(options, node, folder)
  const log_path = join(folder, 'agent.log')
  rotateLog(log_path)
  const log_file = openSync(log_path, 'a', 0o600)
  const machine_file = join(machine, 'machine.json')
  const host_args = ['--captured-host', captured, '--changes-file', changes_file, '--machine-file', machine_file]
  const cache = options.compile_cache === undefined ? [] : ['--compile-cache', options.compile_cache]
  const [program = options.node, ...args] = [
    ...prefix,
    options.node,
    PROGRAM,
    '--config',
    config,
    ...host_args,
    ...cache,
  ]
  const child = spawn(program, args, {
    // The pipe ends with the lab, however the lab ends.
    stdio: ['pipe', log_file, log_file],
    env: {
      PATH: '/usr/bin:/bin',
      ...(token === undefined ? {} : { GROUNDPLANE_ENROLMENT_TOKEN: token }),
    },
  })
  closeSync(log_file)
  child.stdin?.on('error', () => {})
  child.once('error', (error) => options.log(`agent ${node.host} cannot be started: ${error.message}`))
  child.once('exit', (code, signal) => options.log(`agent ${node.host} ended (${signal ?? `code ${String(code)}`})`))
  options.log(`agent ${node.host} started`)
  return child
}

/** A token when the agent has to enrol: it never did, or the control plane does not know its identity any more. */
async function enrolmentToken(options: LabAgentsOptions, node: LabNode, folder: string): Promise<string | undefined> {
  const record = await registeredNode(options, node)
  const identity = join(folder, 'identity.json')
  if (existsSync(identity) && agentOf(record)['enrolled_at'] !== null) {
    if (object(JSON.parse(readFileSync(identity, 'utf8')))['node_id'] === record['id']) return undefined
  }
  rmSync(identity, { force: true })
  const made = await call(options, 'POST', '/configure/nodes/enrolment-tokens', { bmc_ip: node.bmc_ip }, [201])
  const { token } = made
  if (typeof token !== 'string') throw new Error('the control plane made no enrolment token')
  return token
}

async function registeredNode(options: LabAgentsOptions, node: LabNode): Promise<Record<string, unknown>> {
  const path = `/configure/nodes/${node.bmc_ip}`
  const found = await call(options, 'GET', path, undefined, [200, 404])
  if (found['id'] !== undefined) return found
  const body = { bmc_ip: node.bmc_ip, role: node.role, zone: 'Frankfurt-1' }
  await call(options, 'POST', '/configure/nodes', body, [201])
  return call(options, 'GET', path, undefined, [200])
}

async function allSeen(
  options: LabAgentsOptions,
  wanted: readonly LabNode[],
  running: readonly { host: string; child: ChildProcess }[],
  deadline_ms: number,
): Promise<void> {
  const end = performance.now() + deadline_ms
  for (const node of wanted) {
    for (;;) {
      const dead = running.find(({ child }) => child.exitCode !== null || child.signalCode !== null)
      if (dead !== undefined) throw new Error(`agent ${dead.host} ended; see its agent.log`)
      const record = await call(options, 'GET', `/configure/nodes/${node.bmc_ip}`, undefined, [200])
      if (record['status'] === 'online') break
      if (performance.now() > end) throw new Error(`agent ${node.host} sent no heartbeat in time`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

async function call(
  options: LabAgentsOptions,
  method: string,
  path: string,
  body: unknown,
  expected: readonly number[],
): Promise<Record<string, unknown>> {
  const response = await fetch(new URL(path, options.url), {
    method,
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    headers: {
      authorization: `Bearer ${options.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = object(await response.json())
  if (!expected.includes(response.status)) {
    throw new Error(`${method} ${path} answered ${response.status}: ${String(answer['detail'])}`)
  }
  return answer
}

function agentOf(record: Record<string, unknown>): Record<string, unknown> {
  return object(record['agent'])
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.stdin?.end()
    child.kill('SIGTERM')
  })
}

/** Where the kernel can be asked to end the agent with us, it is; the closed pipe does it otherwise. */
function deathSignal(node: string): readonly string[] {
  const wrapped = ['setpriv', '--pdeathsig', 'TERM']
  const works = spawnSync('setpriv', ['--pdeathsig', 'TERM', node, '--version'], { stdio: 'ignore', timeout: 5000 })
  return works.status === 0 ? wrapped : []
}
