// What an installation is admitted with, and what its steps save.
import { type Static, Type } from 'typebox'
import { POOL_TYPES } from '#src/contract/kvm/provision.ts'
import { Nullable, OneOf } from '#src/contract/common.ts'
import type { Run } from '#src/jobs/define.ts'
import { BootInput, BootState, type KvmJobDeps } from './boot-parts.ts'

const Network = Type.Object({
  address: Type.String(),
  gateway: Nullable(Type.String()),
  dns: Type.Array(Type.String()),
})

export const ProvisionInput = Type.Object({
  ...BootInput.properties,
  hostname: Type.String(),
  username: Type.String(),
  password_hash: Type.String(),
  pool: Type.Object({ type: OneOf([...POOL_TYPES]), disks: Type.Array(Type.String()) }),
  nic: Type.Object({ mac: Type.String(), name: Nullable(Type.String()) }),
  /** With prefix length. Null: see prefix_id. */
  static_network: Nullable(Network),
  /** Null, without a static network: DHCP. */
  prefix_id: Nullable(Type.Integer()),
  timezone: Type.String(),
  wipe_existing: Type.Boolean(),
})
export type ProvisionInput = Static<typeof ProvisionInput>

export const ProvisionState = Type.Object({
  ...BootState,
  /** With prefix length. */
  address: Type.String(),
  gateway: Nullable(Type.String()),
  dns: Type.Array(Type.String()),
  installed: Type.Boolean(),
  node_ip: Type.String(),
  macs: Type.Array(Type.String()),
})
export type ProvisionRun = Run<KvmJobDeps, ProvisionInput, Static<typeof ProvisionState>>
