// Verifies an MTU with unfragmentable pings and reads a verdict from what they say (linux-node.md 4.4).
import { isIP } from 'node:net'
import type { Host, RunResult } from '#src/kernel/host.ts'
import { listOf, parseJson, recordOf } from '../untrusted-json.ts'

export type ProbeVerdict = 'pass' | 'fail' | 'inconclusive'

export interface ProbeOutcome {
  verdict: ProbeVerdict
  detail: string
  /** Known when nothing answered and the neighbour table still has the target. */
  peer_mac: string | null
}

export interface ProbeRequest {
  device: string
  target: string
  mtu: number
}

/** What one ping says: `small` is the MTU that stands in the way, when the kernel or a router named it. */
export interface PingReading {
  answered: boolean
  missing_tool: boolean
  small: number | null
  local: boolean
}

const SMALL_PAYLOAD = 56
const USABLE = ['REACHABLE', 'STALE', 'DELAY', 'PROBE', 'PERMANENT']

export async function probePath(host: Host, { device, target, mtu }: ProbeRequest): Promise<ProbeOutcome> {
  const family = isIP(target)
  if (family === 0) return outcome('inconclusive', `${target} is not an IP address`)
  const version = family === 6 ? '-6' : '-4'
  // A path MTU learned before a repair is cached for ten minutes and would fail a path that works.
  await host.run('ip', [version, 'route', 'flush', 'cache'], { timeout_ms: 5000 })
  const big = await ping(host, { version, device, target, payload: mtu - (family === 6 ? 48 : 28) })
  if (big.missing_tool) return outcome('inconclusive', 'the ping tool is not installed')
  if (big.answered) return outcome('pass', `${target} answers at ${mtu}`)
  if (big.small !== null) {
    const where = big.local ? 'this node limits the path' : 'a router on the way limits the path'
    return outcome('fail', `${where} to ${big.small}`)
  }
  const small = await ping(host, { version, device, target, payload: SMALL_PAYLOAD })
  if (small.answered) return outcome('fail', `${target} answers small packets and is silent at ${mtu}: a black hole`)
  const peer_mac = await peerMac(host, target, device)
  const seen = peer_mac === null ? 'and has no neighbour entry' : `but its neighbour entry has ${peer_mac}`
  return { verdict: 'inconclusive', detail: `${target} answers no ping at all ${seen}`, peer_mac }
}

/** Link-layer address of a neighbour as the kernel knows it now. */
export async function peerMac(host: Host, target: string, device: string): Promise<string | null> {
  const run = await host.run('ip', ['-j', 'neigh', 'show', 'to', target, 'dev', device], { timeout_ms: 5000 })
  for (const row of listOf(parseJson(run.stdout))) {
    const { lladdr, state } = recordOf(row)
    if (typeof lladdr === 'string' && listOf(state).some((word) => typeof word === 'string' && USABLE.includes(word))) {
      return lladdr
    }
  }
  return null
}

export function readPing(run: RunResult): PingReading {
  const local = /message too long,? mtu[=:] ?(\d+)/i.exec(run.stderr + run.stdout)
  const remote =
    /Frag needed and DF set \(mtu = (\d+)\)/.exec(run.stdout) ?? /Packet too big: mtu=(\d+)/.exec(run.stdout)
  // A router's message comes first: on later packets the kernel repeats it as its own.
  const found = remote ?? local
  return {
    answered: run.outcome === 'exited' && run.exit_code === 0,
    missing_tool: run.outcome === 'missing',
    small: found?.[1] === undefined ? null : Number(found[1]),
    local: remote === null && local !== null,
  }
}

async function ping(
  host: Host,
  { version, device, target, payload }: { version: string; device: string; target: string; payload: number },
): Promise<PingReading> {
  const size = ['-M', 'do', '-s', `${payload}`]
  const args = [version, '-n', '-c', '3', '-i', '0.2', '-W', '1', ...size, '-I', device, target]
  return readPing(await host.run('ping', args, { timeout_ms: 8000 }))
}

function outcome(verdict: ProbeVerdict, detail: string): ProbeOutcome {
  return { verdict, detail, peer_mac: null }
}
