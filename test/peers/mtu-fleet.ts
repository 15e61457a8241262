// Three nodes on one switch in network namespaces, each with a real agent, and the control plane on this side of them.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Lab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../../bin/cli.ts')

export interface FleetNode {
  name: string
  namespace: string
  bmc_ip: string
  /** On mgmt0, whose MTU changes. */
  address: string
}

export interface MtuFleet {
  nodes: FleetNode[]
  switch_namespace: string
  ip(namespace: string, ...args: string[]): Promise<string>
  exec(namespace: string, tool: string, ...args: string[]): Promise<void>
  mtu(namespace: string, device: string): Promise<number>
  /** The switch's port of a node. */
  port(node: FleetNode): string
  agentLog(node: FleetNode): string
  close(): Promise<void>
}

/** `mgmt0` over `eth1` at 1500 on a switch that carries 9000; `ctl0` is how the control plane and agents reach each other. */
export async function startMtuFleet(lab: Lab, listen_port: number, control_address: string): Promise<MtuFleet> {
  const tag = randomBytes(2).toString('hex')
  const middle = `gpf-${tag}s`
  const bridge = `gpf${tag}`
  const nodes = [1, 2, 3].map((at): FleetNode => ({
    name: `n${at}`, namespace: `gpf-${tag}${at}`, bmc_ip: `10.9.0.${at}`, address: `10.50.7.${at}`,
  })) // biome-ignore format: one record
  const [, , third] = control_address.split('.')
  const ip = async (namespace: string, ...args: string[]): Promise<string> =>
    (await run('ip', ['-n', namespace, ...args], { timeout: 10_000 })).stdout
  const children: ChildProcess[] = []
  const close = async (): Promise<void> => {
    await Promise.all(children.map(ended))
    for (const { namespace } of nodes) await run('ip', ['netns', 'del', namespace]).catch(() => null)
    await run('ip', ['netns', 'del', middle]).catch(() => null)
    await run('ip', ['link', 'del', bridge]).catch(() => null)
  }
  const fleet: MtuFleet = {
    nodes,
    switch_namespace: middle,
    ip,
    async exec(namespace, tool, ...args) {
      await run('ip', ['netns', 'exec', namespace, tool, ...args], { timeout: 10_000 })
    },
    async mtu(namespace, device) {
      const [link]: { mtu: number }[] = JSON.parse(await ip(namespace, '-j', 'link', 'show', 'dev', device))
      return link?.mtu ?? 0
    },
    port: ({ name }) => `p-${name}`,
    agentLog: ({ name }) => readFileSync(join(lab.data_dir, name, 'agent.log'), 'utf8'),
    close,
  }
  try {
    await run('ip', ['netns', 'add', middle])
    await ip(middle, 'link', 'set', 'lo', 'up')
    await ip(middle, 'link', 'add', 'sw0', 'type', 'bridge')
    await run('ip', ['link', 'add', bridge, 'type', 'bridge'])
    await run('ip', ['addr', 'add', `${control_address}/24`, 'dev', bridge])
    await run('ip', ['link', 'set', bridge, 'up'])
    for (const [at, node] of nodes.entries()) {
      const { namespace, name, address } = node
      await run('ip', ['netns', 'add', namespace])
      await ip(namespace, 'link', 'set', 'lo', 'up')
      await ip(middle, 'link', 'add', `p-${name}`, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', namespace)
      await ip(middle, 'link', 'set', `p-${name}`, 'mtu', '9000', 'master', 'sw0', 'up')
      await ip(namespace, 'link', 'add', 'mgmt0', 'type', 'bridge')
      await ip(namespace, 'link', 'set', 'eth1', 'master', 'mgmt0', 'up')
      await ip(namespace, 'link', 'set', 'mgmt0', 'up')
      await ip(namespace, 'addr', 'add', `${address}/24`, 'dev', 'mgmt0')
      await run('ip', ['link', 'add', `${bridge}${at}`, 'type', 'veth', 'peer', 'name', 'ctl0', 'netns', namespace])
      await run('ip', ['link', 'set', `${bridge}${at}`, 'master', bridge, 'up'])
      await ip(namespace, 'addr', 'add', `10.99.${third}.${at + 11}/24`, 'dev', 'ctl0')
      await ip(namespace, 'link', 'set', 'ctl0', 'up')
    }
    await ip(middle, 'link', 'set', 'sw0', 'mtu', '9000', 'up')
    for (const [at, node] of nodes.entries()) {
      children.push(
        await startAgent(lab, node, `10.99.${third}.${at + 11}`, `http://${control_address}:${listen_port}`),
      )
    }
    await until('all agents are there', async () => {
      const { body } = await lab.call('GET', '/configure/nodes?status=online')
      return body.count === nodes.length
    })
    return fleet
  } catch (error) {
    await close()
    throw error
  }
}

async function startAgent(lab: Lab, node: FleetNode, listen: string, control_url: string): Promise<ChildProcess> {
  const folder = join(lab.data_dir, node.name)
  mkdirSync(join(folder, 'root'), { recursive: true })
  await lab.call('POST', '/configure/nodes', {
    bmc_ip: node.bmc_ip, node_ip: node.address, fqdn: `${node.name}.example.internal`, role: 'compute',
  }) // biome-ignore format: one record
  const { body } = await lab.call('POST', '/configure/nodes/enrolment-tokens', { bmc_ip: node.bmc_ip })
  const config = join(folder, 'agent.json')
  const settings = {
    root: join(folder, 'root'),
    proc_root: '/proc',
    sys_root: '/sys',
    net: {
      uplinks: ['eth1'],
      roles: { mgmt0: 'management' },
      node_ip: node.address,
      fqdn: `${node.name}.example.internal`,
    },
  }
  writeFileSync(
    config,
    JSON.stringify({
      listen: { host: listen, port: 0 },
      advertise_address: listen,
      control_url,
      state_dir: folder,
      node: settings,
    }),
  )
  const log = openSync(join(folder, 'agent.log'), 'a')
  return spawn('ip', ['netns', 'exec', node.namespace, process.execPath, PROGRAM, 'agent', '--config', config], {
    stdio: ['pipe', log, log],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', GROUNDPLANE_ENROLMENT_TOKEN: String(body.token) },
  })
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.stdin?.end()
    child.kill('SIGTERM')
  })
}

/**
 * Pings without fragments at a size, one after the other, until told to stop; answers how many there were, and how many failed:
 * those before the last answer, because the end may come between a ping and its answer.
 */
export function pingAlways(
  namespace: string,
  target: string,
  mtu: number,
): { stop(): Promise<{ sent: number; lost: number }> } {
  const child = spawn(
    'ip',
    ['netns', 'exec', namespace, 'ping', '-n', '-i', '0.02', '-W', '1', '-M', 'do', '-s', String(mtu - 28), target],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  let text = ''
  child.stdout.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  return {
    stop: () =>
      new Promise((resolve) => {
        child.once('close', () => {
          const answered = new Set([...text.matchAll(/icmp_seq=(\d+) ttl=/g)].map(([, number]) => Number(number)))
          const sent = Math.max(0, ...answered)
          resolve({ sent, lost: sent - answered.size })
        })
        child.kill('SIGINT')
      }),
  }
}
