// Two nodes and a switch between them in network namespaces (node - switch - node), for MTU tests.
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Topology {
  a: string
  switch: string
  b: string
  ip(namespace: string, ...args: string[]): Promise<string>
  exec(namespace: string, tool: string, ...args: string[]): Promise<string>
  mtu(namespace: string, device: string): Promise<number>
  remove(): Promise<void>
}

export const ADDRESS_A = '10.50.0.1'
export const ADDRESS_B = '10.50.0.2'

/** Why namespaces cannot be made here, or null when they can. */
export function namespacesRefused(): string | null {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces'
  const name = `gpm-${randomBytes(3).toString('hex')}`
  try {
    execFileSync('ip', ['netns', 'add', name], { stdio: 'ignore' })
    execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
    execFileSync('ping', ['-V'], { stdio: 'ignore' })
    return null
  } catch {
    return 'needs iproute2, ping and a kernel that lets root make network namespaces'
  }
}

/** Ports and bridges of the switch at 9000, both nodes' mgmt0 bridges at 1500 over eth1 at 1500. */
export async function startTopology(): Promise<Topology> {
  const tag = randomBytes(3).toString('hex')
  const [a, middle, b] = [`gpm-${tag}a`, `gpm-${tag}s`, `gpm-${tag}b`]
  const ip = async (namespace: string, ...args: string[]): Promise<string> =>
    (await run('ip', ['-n', namespace, ...args], { timeout: 10_000 })).stdout
  const topology: Topology = {
    a,
    switch: middle,
    b,
    ip,
    exec: async (namespace, tool, ...args) =>
      (await run('ip', ['netns', 'exec', namespace, tool, ...args], { timeout: 60_000 })).stdout,
    async mtu(namespace, device) {
      const [link]: { mtu: number }[] = JSON.parse(await ip(namespace, '-j', 'link', 'show', 'dev', device))
      return link?.mtu ?? 0
    },
    async remove() {
      for (const namespace of [a, middle, b]) await run('ip', ['netns', 'del', namespace]).catch(() => null)
    },
  }
  try {
    for (const namespace of [a, middle, b]) {
      await run('ip', ['netns', 'add', namespace])
      await ip(namespace, 'link', 'set', 'lo', 'up')
    }
    await ip(middle, 'link', 'add', 'sw0', 'type', 'bridge')
    for (const [node, port, address] of [
      [a, 'pa', ADDRESS_A],
      [b, 'pb', ADDRESS_B],
    ] as const) {
      await ip(middle, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', node)
      await ip(middle, 'link', 'set', port, 'mtu', '9000', 'master', 'sw0', 'up')
      await ip(node, 'link', 'add', 'mgmt0', 'type', 'bridge')
      await ip(node, 'link', 'set', 'eth1', 'master', 'mgmt0', 'up')
      await ip(node, 'link', 'set', 'mgmt0', 'mtu', '1500', 'up')
      await ip(node, 'addr', 'add', `${address}/24`, 'dev', 'mgmt0')
    }
    await ip(middle, 'link', 'set', 'sw0', 'mtu', '9000', 'up')
    for (const device of ['eth1', 'mgmt0']) await ip(b, 'link', 'set', device, 'mtu', '9000')
    return topology
  } catch (error) {
    await topology.remove()
    throw error
  }
}
