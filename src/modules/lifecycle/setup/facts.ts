// What a request for a setup is checked against: NICs of the node, VLANs of the site, guest networks of the platform.
import { agentNetwork } from '#src/contract/nodes/agent-network.ts'
import { NETWORK_ROLES, type NetworkRole, type NodeSetupRequest } from '#src/contract/nodes/lifecycle-setup.ts'
import type { NodeNic } from '#src/contract/nodes/nics.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import type { SetupDeps } from './input.ts'
import { haMembers } from '#src/store/ha-members.ts'
import type { JoinFacts, RequestFacts } from './request.ts'

const CALL_MS = 15_000
const WHOLE = { page: 1, page_size: 500 }

interface Asking {
  signal?: AbortSignal
  job?: JobClaim
}

export async function nicsOf(agents: SetupDeps['agents'], node: NodeRow, asking: Asking): Promise<NodeNic[]> {
  const called_on = node.agent_address !== null && node.addresses?.includes(node.agent_address) === true ? node.agent_address : node.node_ip // biome-ignore format: one choice
  const client = agents.client(node, agentNetwork.routes, { timeout_ms: CALL_MS, ...asking })
  return (await client.agentNicsList({ query: called_on === null ? {} : { called_on } })).nics
}

export interface SetupFacts extends RequestFacts {
  site_id: number | null
}

/** Undefined: the site that the request names does not exist. */
export async function setupFacts(
  deps: Pick<SetupDeps, 'agents' | 'store' | 'cloudstack' | 'database' | 'cluster'>,
  node: NodeRow,
  body: NodeSetupRequest,
  signal: AbortSignal,
): Promise<SetupFacts | undefined> {
  const { agents, store, cloudstack } = deps
  const site = await siteOf(store, body.siteId, signal)
  if (site === undefined) return undefined
  const empty = NETWORK_ROLES.filter((role) =>
    Object.values(body.assignments).some(({ tagged = [] }) =>
      tagged.some(({ network, vlans = [] }) => network === role && vlans.length === 0),
    ),
  )
  const [nics, vlans, networks, joining] = await Promise.all([
    nicsOf(agents, node, { signal }),
    Promise.all(empty.map(async (role) => [role, await vlansOf(store, role, site.id, signal)] as const)),
    (body.guest_bridges ?? []).length === 0 ? [] : networkNames(cloudstack, signal),
    body.role === 'management' ? joinFacts(deps, node) : undefined,
  ])
  const by_role = new Map<NetworkRole, readonly number[]>(vlans)
  return {
    nics,
    site: site.id === null ? 'the address store' : `site ${site.name}`,
    site_id: site.id,
    vlansOf: (role) => by_role.get(role) ?? [],
    networks: new Set(networks),
    joining,
  }
}

/** Undefined: this control plane is no member itself, so nobody joins it. */
async function joinFacts(
  { database, cluster }: Pick<SetupDeps, 'database' | 'cluster'>,
  { bmc_ip, node_ip }: NodeRow,
): Promise<JoinFacts | undefined> {
  if (cluster.own_address === undefined) return undefined
  const others = (await haMembers(database.db)).filter((member) => member.bmc_ip !== bmc_ip)
  return {
    address: node_ip,
    members: others.map(({ address }) => address),
    virtual_addresses: cluster.virtual_addresses.map((one) => one.split('/')[0] ?? one),
    database_host: cluster.database_host,
  }
}

/** A store that marks no site is used as a whole. */
async function siteOf(
  store: IpamStore,
  wanted: number | undefined,
  signal: AbortSignal,
): Promise<{ id: number | null; name: string } | undefined> {
  const { rows } = await store.sites(WHOLE, signal)
  if (wanted !== undefined) return rows.find(({ id }) => id === wanted)
  const [only] = rows
  return (
    rows.find(({ is_default }) => is_default) ??
    (rows.length === 1 && only !== undefined ? only : { id: null, name: '' })
  )
}

async function vlansOf(store: IpamStore, role: string, site_id: number | null, signal: AbortSignal): Promise<number[]> {
  const { rows } = await store.vlans({ role, ...(site_id === null ? {} : { site_id }) }, WHOLE, signal)
  // Those of the site come first; those of every site count where it has none of its own.
  const own = rows.filter((row) => row.site_id === site_id)
  return (own.length > 0 ? own : rows).map(({ vid }) => vid)
}

async function networkNames(cloudstack: SetupDeps['cloudstack'], signal: AbortSignal): Promise<string[]> {
  const names: string[] = []
  const item = { key: 'network', read: (row: Parameters<typeof textOf>[0]) => textOf(row, 'name') }
  for await (const name of cloudstack.listAll('listNetworks', WHOLE_SCOPE, item, { signal })) if (name !== null) names.push(name) // biome-ignore format: one loop
  return names
}
