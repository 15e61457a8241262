// MTU of the role bridges as it is now: what the control plane compares with what is declared, and who can be probed.
import type { FrrNode } from '#src/contract/network/frr.ts'
import type { AgentMtu, AgentMtuBridge } from '#src/contract/nodes/agent-mtu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { at, listOf, parseJson, textOf } from '../untrusted-json.ts'
import { chainOf, kindOf, planChain } from './chain.ts'
import { type MtuLink, readLinks } from './links.ts'
import type { NodeApply } from './node-apply.ts'

export interface MtuStateDeps {
  host: Host
  /** Bridge to the network it carries. */
  roles: Readonly<Record<string, string>>
  uplinks: readonly string[]
  apply: Pick<NodeApply, 'pending'>
  frr: () => Promise<FrrNode>
}

export async function readMtuState(deps: MtuStateDeps): Promise<AgentMtu> {
  const links = await readLinks(deps.host)
  if (links === null)
    throw new ApiError('MTU_APPLY_FAILED', 'The network devices of the node could not be read: `ip` did not list them.')
  const addresses = await readAddresses(deps.host)
  const roles = Object.entries(deps.roles).filter(([, role]) => role !== 'guest')
  const bridges = await Promise.all(roles.map(([bridge, role]) => bridgeState(deps, links, addresses, bridge, role)))
  return { bridges, underlay_mtu: await underlayMtu(deps.frr, links) }
}

/** Smallest MTU of the interfaces over which the routing daemons speak to neighbours; null without such. */
export async function underlayMtu(frr: () => Promise<FrrNode>, links: readonly MtuLink[]): Promise<number | null> {
  const node = await frr().catch(() => null)
  const names = (node?.ospf_neighbors ?? []).map((one) => one.interface_name?.split(':')[0])
  const mtus = links.filter(({ name }) => names.includes(name)).map(({ mtu }) => mtu)
  return mtus.length === 0 ? null : Math.min(...mtus)
}

async function bridgeState(
  { uplinks, apply }: MtuStateDeps,
  links: readonly MtuLink[],
  addresses: ReadonlyMap<string, AddressedLink>,
  bridge: string,
  role: string,
): Promise<AgentMtuBridge> {
  const own = links.find(({ name }) => name === bridge)
  const known = addresses.get(bridge)
  return {
    bridge,
    role,
    mtu: own?.mtu ?? null,
    limit_mtu:
      own === undefined ? null : planChain(links, { bridge, mtu: own.mtu, uplinks, underlay_limit: null }).limit_mtu,
    mac: known?.mac ?? null,
    addresses: known?.addresses ?? [],
    devices: chainOf(links, bridge, uplinks).map((link) => ({ name: link.name, kind: kindOf(link), mtu: link.mtu })),
    pending: await apply.pending(bridge),
  }
}

interface AddressedLink {
  mac: string | null
  addresses: string[]
}

async function readAddresses(host: Host): Promise<Map<string, AddressedLink>> {
  const run = await host.run('ip', ['-j', '-d', '-s', '-s', 'addr', 'show'], { timeout_ms: 5000 })
  const rows = run.outcome === 'exited' && run.exit_code === 0 ? listOf(parseJson(run.stdout)) : []
  return new Map(
    rows.map((row) => {
      const usable = listOf(at(row, 'addr_info')).filter((one) => at(one, 'scope') === 'global')
      const addresses = usable.map((one) => textOf(at(one, 'local'))).filter((one) => one !== null)
      return [textOf(at(row, 'ifname')) ?? '', { mac: textOf(at(row, 'address')), addresses }]
    }),
  )
}
