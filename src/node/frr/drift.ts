// Compares the running configuration of the routing suite with the one that the product intends.
import type { Host } from '#src/kernel/host.ts'

export interface Drift {
  sdn_status: 'in_sync' | 'drifted' | 'failed' | null
  sdn_last_error: string | null
  /** Why the state is not known; null when it is. */
  reason: string | null
}

export interface DriftConfig {
  /** File with the intended configuration; without it there is nothing to compare with. */
  intended_config_path?: string
  vty_dir?: string
  config_dir?: string
}

export async function readDrift(host: Host, config: DriftConfig): Promise<Drift> {
  const unknown = (reason: string): Drift => ({ sdn_status: null, sdn_last_error: null, reason })
  if (config.intended_config_path === undefined) return unknown('no intended configuration is set for this node')
  const intended = await host.read(config.intended_config_path)
  if (intended === null) return unknown('the intended configuration cannot be read')
  const options = [
    ...(config.vty_dir === undefined ? [] : ['--vty_socket', config.vty_dir]),
    ...(config.config_dir === undefined ? [] : ['--config_dir', config.config_dir]),
  ]
  const ran = await host.run('vtysh', [...options, '-c', 'show running-config'], { timeout_ms: 3_000 })
  if (ran.outcome !== 'exited' || ran.exit_code !== 0) {
    return { sdn_status: 'failed', sdn_last_error: 'the running configuration cannot be read', reason: null }
  }
  return compareConfigs(intended, ran.stdout)
}

/** Compares statements in their block; order, comments and what the suite adds by itself do not matter. */
export function compareConfigs(intended: string, running: string): Drift {
  const wanted = statements(intended)
  const present = statements(running)
  const missing = [...wanted].filter((line) => !present.has(line))
  const extra = [...present].filter((line) => !wanted.has(line))
  if (missing.length + extra.length === 0) return { sdn_status: 'in_sync', sdn_last_error: null, reason: null }
  const first = missing[0] === undefined ? `not intended: ${extra[0] ?? ''}` : `missing: ${missing[0]}`
  const sdn_last_error = `${missing.length} statements missing, ${extra.length} not intended; ${withoutSecrets(first)}`
  return { sdn_status: 'drifted', sdn_last_error, reason: null }
}

const ADDED_BY_THE_SUITE = /^(frr version|frr defaults|hostname|log |service integrated-vtysh-config|domainname)/

function statements(config: string): Set<string> {
  const found = new Set<string>()
  const blocks: string[] = []
  for (const line of config.split('\n')) {
    const text = line.trim()
    if (/^(!.*|#.*|exit.*|end|Building configuration\.\.\.|Current configuration:)?$/.test(text)) continue
    const depth = line.length - line.trimStart().length
    blocks.splice(depth)
    blocks[depth] = text
    if (depth === 0 && ADDED_BY_THE_SUITE.test(text)) continue
    found.add(blocks.filter((block) => block !== undefined).join(' / '))
  }
  return found
}

function withoutSecrets(text: string): string {
  return text.replace(/\b(password|key|md5|secret)(\s+\d+)?\s+\S+/gi, '$1 (hidden)')
}
