// nodePreflight: bond, MTU and layout of the control node, and the guest networks of the platform. Reads only.
import type { nodeSetup, NodePreflight } from '#src/contract/nodes/lifecycle-setup.ts'
import type { AgentMtuBridge } from '#src/contract/nodes/agent-mtu.ts'
import { agentMtu } from '#src/contract/nodes/agent-mtu.ts'
import { agentNetwork, type NodeBond } from '#src/contract/nodes/agent-network.ts'
import type { NodeNic } from '#src/contract/nodes/nics.ts'
import type { Input } from '#src/contract/route.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { guestNetworkSites } from '#src/store/guest-networks.ts'
import { declaredMtus } from '#src/store/mtu-declarations.ts'
import { allNodes, findNode, isOnline, type NodeRow } from '#src/store/nodes.ts'
import type { OwnNode } from '../../node-agents.ts'
import type { SetupDeps } from './input.ts'
import { found } from './start.ts'

export interface PreflightDeps extends SetupDeps {
  own_node: OwnNode
}

const CALL_MS = 15_000

type In = Input<typeof nodeSetup.routes.nodePreflight>

export function nodePreflight(deps: PreflightDeps) {
  return async ({ params }: In, ctx: RequestContext): Promise<NodePreflight> => {
    const bmc_ip = addressOf('params.bmcIP', params.bmcIP)
    found(await findNode(deps.database.db, bmc_ip), bmc_ip)
    const { default_mtu } = deps.setup
    const [{ nics, bonds, bridges }, declarations, guests] = await Promise.all([
      readControlNode(deps, ctx),
      declaredMtus(deps.database.db),
      guestBridges(deps, ctx),
    ])
    const declared = Object.fromEntries(declarations.map(({ role, mtu }) => [role, mtu]))
    const [bond] = bonds
    return {
      node_ip: bmc_ip,
      bondParams:
        bond === undefined ? null : { mode: bond.mode, miimon: bond.miimon, hash: bond.hash, rate: bond.rate },
      controlNodeHasBond: bond !== undefined,
      defaultMTU: default_mtu,
      guestMTU: 0,
      managementMTU: declared['management'] ?? 0,
      publicMTU: declared['public'] ?? 0,
      storageMTU: declared['storage'] ?? 0,
      mtu_warnings: bridges.flatMap((bridge) => warningsOf(bridge, declared[bridge.role] ?? default_mtu)),
      bootstrap_nics: layoutOf(nics, bridges),
      ...guests,
    }
  }
}

interface ControlNode {
  nics: NodeNic[]
  bonds: NodeBond[]
  bridges: AgentMtuBridge[]
}

/** The machine of this replica, else a management node whose agent answers: new nodes are laid out as it is. */
async function readControlNode(
  { own_node, agents, database, offline_after_ms }: PreflightDeps,
  ctx: RequestContext,
): Promise<ControlNode> {
  // biome-ignore format: one line
  const rows = await allNodes(database.db)
  const row = rows.find((one) => one.role === 'management' && isOnline(one, offline_after_ms))
  return own_node.handlers().then(
    (own) => readOwn(own, ctx),
    (error: unknown) => {
      if (row === undefined) throw error
      return readAgent(agents, row, ctx)
    },
  )
}

async function readOwn(own: Awaited<ReturnType<OwnNode['handlers']>>, ctx: RequestContext): Promise<ControlNode> {
  const [{ nics }, { bonds }, { bridges }] = await Promise.all([
    own.agentNicsList({ params: undefined, query: {}, body: undefined }, ctx),
    own.agentBondList({ params: undefined, query: undefined, body: undefined }, ctx),
    own.agentMtuRead({ params: undefined, query: undefined, body: undefined }, ctx),
  ])
  return { nics, bonds, bridges }
}

async function readAgent(
  agents: SetupDeps['agents'],
  row: NodeRow,
  { signal, traceparent }: RequestContext,
): Promise<ControlNode> {
  // biome-ignore format: one line
  const options = { timeout_ms: CALL_MS, signal, traceparent }
  const network = agents.client(row, agentNetwork.routes, options)
  const [{ nics }, { bonds }, { bridges }] = await Promise.all([
    network.agentNicsList({ query: {} }),
    network.agentBondList({}),
    agents.client(row, agentMtu.routes, options).agentMtuRead({}),
  ])
  return { nics, bonds, bridges }
}

function warningsOf({ bridge, role, mtu, limit_mtu }: AgentMtuBridge, wanted: number): string[] {
  if (limit_mtu !== null && limit_mtu < wanted)
    return [
      `${role} is to have the MTU ${wanted}, but what lies below ${bridge} of the control node takes ${limit_mtu}.`,
    ]
  if (mtu !== null && mtu !== wanted)
    return [`${role} is to have the MTU ${wanted}, but ${bridge} of the control node has ${mtu}.`]
  return []
}

/** Slots in the order of the node's own list; NICs below a bond are its members. */
export function layoutOf(
  nics: readonly NodeNic[],
  bridges: readonly AgentMtuBridge[],
): NodePreflight['bootstrap_nics'] {
  return nics
    .filter(({ isBondSlave, isPhysical, isBondMaster }) => !isBondSlave && (isPhysical || isBondMaster))
    .map(({ interfaceName }, at) => {
      const carried = bridges.filter(({ devices }) => devices.some(({ name }) => name === interfaceName))
      const untagged = carried.find(({ devices }) => vlanOf(devices, interfaceName) === null)?.role ?? ''
      const tagged = carried.flatMap(({ role, devices }) => {
        const vlan = vlanOf(devices, interfaceName)
        return vlan === null ? [] : [{ network: role, vlans: [vlan] }]
      })
      return { slot: at + 1, untagged, tagged }
    })
}

/** VLAN devices are called `eth0.30`, as every network manager calls them. */
function vlanOf(devices: AgentMtuBridge['devices'], carrier: string): number | null {
  for (const { name, kind } of devices) {
    const number = Number(/\.(\d{1,4})$/.exec(name)?.[1])
    if (kind === 'vlan' && name.startsWith(`${carrier}.`) && number >= 1) return number
  }
  return null
}

/** Guest networks by the bridge that carries them. */
async function guestBridges(
  { cloudstack, setup, database }: PreflightDeps,
  { signal }: RequestContext,
): Promise<Pick<NodePreflight, 'guest_bridges' | 'unavailable'>> {
  // biome-ignore format: one line
  if (!cloudstack.configured)
    return { guest_bridges: [], unavailable: [{ field: 'guest_bridges', reason: 'no compute platform is configured' }] }
  const sites = await guestNetworkSites(database.db)
  const by_bridge = new Map<string, NodePreflight['guest_bridges'][number]['networks']>()
  const item = { key: 'network', read: (row: Raw) => row }
  for await (const row of cloudstack.listAll('listNetworks', WHOLE_SCOPE, item, { signal })) {
    const name = textOf(row, 'name') ?? ''
    const vlan = textOf(row, 'vlan')
    const tagged = vlan !== null && /^\d+$/.test(vlan)
    const bridge = sites.find((site) => site.name === name)?.bridge ?? setup.guest_bridge
    const type = textOf(row, 'type') === 'Shared' ? ('Shared' as const) : ('Isolated' as const)
    by_bridge.set(bridge, [...(by_bridge.get(bridge) ?? []), { name, tagged, type, vlan: tagged ? vlan : 'untagged' }])
  }
  const guest_bridges = [...by_bridge].map(([bridge, networks]) => ({ bridge, networks }))
  return { guest_bridges, unavailable: [] }
}
