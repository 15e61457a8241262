// What a node says about itself when its agent enrols and with every heartbeat.
import type { NodeFacts } from '#src/contract/nodes/registry.ts'
import type { Host } from '#src/kernel/host.ts'
import { at, listOf, textOf } from './untrusted-json.ts'
import type { NodeNetConfig } from './net/config.ts'
import { readJson } from './net/reading.ts'

const MAX_ADDRESSES = 256

export async function nodeFacts(host: Host, config: NodeNetConfig, agent_version: string): Promise<NodeFacts> {
  const [hostname, boot_id, addresses] = await Promise.all([
    line(host, '/proc/sys/kernel/hostname'),
    line(host, '/proc/sys/kernel/random/boot_id'),
    globalAddresses(host),
  ])
  return {
    hostname,
    fqdn: config.fqdn ?? null,
    node_ip: config.node_ip ?? null,
    addresses,
    boot_id,
    agent_version,
  }
}

async function line(host: Host, path: string): Promise<string | null> {
  const text = (await host.read(path))?.trim() ?? ''
  return text === '' ? null : text
}

async function globalAddresses(host: Host): Promise<string[] | null> {
  const reading = await readJson(host, 'ip', ['-j', '-d', 'addr', 'show'], { timeout_ms: 5000 })
  if (!reading.ok) return null
  const found = listOf(reading.value).flatMap((link) =>
    listOf(at(link, 'addr_info'))
      .filter((address) => at(address, 'scope') === 'global')
      .flatMap((address) => textOf(at(address, 'local')) ?? []),
  )
  return [...new Set(found)].slice(0, MAX_ADDRESSES)
}
