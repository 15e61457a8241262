// What a setup is told, what it saves on its way, and what it works with.
import { type Static, Type } from 'typebox'
import { NETWORK_ROLES } from '#src/contract/nodes/lifecycle-setup.ts'
import { NODE_ROLES } from '#src/contract/nodes/registry.ts'
import { OneOf, Nullable } from '#src/contract/common.ts'
import type { Ceph } from '#src/drivers/ceph/client.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Run } from '#src/jobs/define.ts'
import { Submissions } from '#src/jobs/submit-once.ts'
import type { Config } from '#src/kernel/config.ts'
import type { Database } from '#src/store/database.ts'
import type { AddressPorts } from '../../address-ports.ts'
import type { BmcAccess } from '../../bmc-access.ts'
import type { NodeAgents } from '../../node-agents.ts'
import type { ClusterPorts } from '../cluster/ports.ts'

const Role = OneOf([...NETWORK_ROLES])

/** An assignment with every VLAN filled in. */
export const ResolvedNic = Type.Object({
  interface: Type.String(),
  untagged: Nullable(Role),
  tagged: Type.Array(Type.Object({ role: Role, vlans: Type.Array(Type.Integer()) })),
})
export type ResolvedNic = Static<typeof ResolvedNic>

export const SetupInput = Type.Object({
  bmc_ip: Type.String(),
  node_id: Type.Integer(),
  role: OneOf([...NODE_ROLES]),
  site_id: Nullable(Type.Integer()),
  nics: Type.Array(ResolvedNic),
  /** Made by the setup; null: none is. */
  bond: Nullable(Type.Object({ name: Type.String(), members: Type.Array(Type.String()) })),
  guest_bridges: Type.Array(Type.Object({ network: Type.String(), nic: Type.String() })),
  benchmark_enabled: Type.Boolean(),
  hold_on_failure: Type.Boolean(),
})
export type SetupInput = Static<typeof SetupInput>

/** A role that the node gets an address in. */
export const WantedAddress = Type.Object({
  role: Role,
  /** Where it will stand. */
  device: Type.String(),
  prefix_id: Type.Integer(),
  prefix_length: Type.Integer(),
  gateway: Nullable(Type.String()),
  /** This very address: the node has it already. */
  address: Nullable(Type.String()),
})
export type WantedAddress = Static<typeof WantedAddress>

export const SetupState = Type.Object({
  wanted: Type.Array(WantedAddress),
  /** In the order of `wanted`, once the store has given them. */
  addresses: Type.Array(Type.Object({ role: Role, address: Type.String(), ipam_id: Type.Integer() })),
  /** Of the node's own address and name, as they were when the setup began. */
  node_ip: Type.String(),
  fqdn: Nullable(Type.String()),
  is_published: Type.Boolean(),
  submissions: Submissions,
  host_id: Type.String(),
  /** Since when the database of a new member keeps up; 0: it does not. */
  caught_up_at: Type.Number(),
  /** What became of its scripts; `unwatched`: its agent was not told to watch them. */
  scripts: OneOf(['restored', 'unwatched']),
})
export type SetupState = Static<typeof SetupState>

export interface SetupDeps extends AddressPorts {
  database: Database
  agents: NodeAgents
  bmcs: Pick<BmcAccess, 'open' | 'find'>
  cloudstack: CloudStack
  ceph: Ceph | undefined
  setup: Config['setup']
  /** The host of the platform, for its agents. */
  platform_hosts: readonly string[]
  offline_after_ms: number
  cluster: ClusterPorts
}

export type SetupRun = Run<SetupDeps, SetupInput, SetupState>
