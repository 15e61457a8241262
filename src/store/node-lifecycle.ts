// What the jobs of a node write down: its state, and the addresses, disks and NICs that later jobs need to know.
import { type Selectable, sql } from 'kysely'
import type { NodeState } from '#src/contract/nodes/registry.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Db, Trx } from './database.ts'
import type { NodeRow } from './nodes.ts'
import type { Tables } from './tables.ts'

export type NodeAddressRow = Selectable<Tables['node_address']>
export type NodeDiskRow = Selectable<Tables['node_disk']>
export type NodeNicRow = Selectable<Tables['node_nic']>

/**
 * Moves the node from one state to another in the transaction of the job that does it. The same job may repeat it. Throws
 * NODE_STATE when the node is in none of the states it may come from, NODE_NOT_FOUND when it is gone.
 */
export async function moveNode(
  trx: Trx,
  bmc_ip: string,
  from: NodeState | readonly NodeState[],
  to: NodeState,
  job_id: string,
): Promise<NodeRow> {
  const allowed = typeof from === 'string' ? [from] : from
  const before = await trx.selectFrom('node').selectAll().where('bmc_ip', '=', bmc_ip).forUpdate().executeTakeFirst()
  if (before === undefined) throw new ApiError('NODE_NOT_FOUND', `No node has the BMC address ${bmc_ip}.`)
  if (before.provision_status === to && before.state_job_id === job_id) return before
  if (!allowed.some((state) => state === before.provision_status)) {
    throw new ApiError(
      'NODE_STATE',
      `Node ${bmc_ip} is ${before.provision_status}; this needs a node that is ${allowed.join(' or ')}.`,
    )
  }
  return trx
    .updateTable('node')
    .set({ provision_status: to, state_job_id: job_id, state_since: sql`now()` })
    .where('bmc_ip', '=', bmc_ip)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function enrolConfigured(
  trx: Trx,
  bmc_ip: string,
  set: Partial<Pick<NodeRow, 'role' | 'benchmark_enabled' | 'node_ip' | 'fqdn'>>,
): Promise<void> {
  await trx.updateTable('node').set(set).where('bmc_ip', '=', bmc_ip).execute()
}

export type HeldAddress = Pick<NodeAddressRow, 'address' | 'kind'> &
  Partial<Pick<NodeAddressRow, 'interface' | 'ipam_id' | 'dhcp_scope' | 'dhcp_mac' | 'dns_zone'>>

/** The same again changes nothing but who holds it and where it is recorded. */
export async function holdAddress(trx: Trx, node_id: number, job_id: string | null, held: HeldAddress): Promise<void> {
  const { address: _address, kind: _kind, ...where } = held
  await trx
    .insertInto('node_address')
    .values({ ...ADDRESS_DEFAULTS, ...held, node_id, job_id })
    .onConflict((conflict) => conflict.columns(['node_id', 'address', 'kind']).doUpdateSet({ ...where, job_id }))
    .execute()
}

const ADDRESS_DEFAULTS = { interface: null, ipam_id: null, dhcp_scope: null, dhcp_mac: null, dns_zone: null }

/** False: it was not held. */
export async function dropAddress(
  trx: Trx,
  node_id: number,
  { address, kind }: Pick<HeldAddress, 'address' | 'kind'>,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('node_address')
    .where('node_id', '=', node_id)
    .where('address', '=', address)
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Every address that the node holds beside that of its BMC; empty again when it has left. */
export function heldAddresses(db: Db, node_id: number): Promise<NodeAddressRow[]> {
  return db
    .selectFrom('node_address')
    .selectAll()
    .where('node_id', '=', node_id)
    .orderBy('kind')
    .orderBy('address')
    .execute()
}

/** As views list them: "10.1.4.7 (storage)". */
export function addressText({ address, kind }: Pick<HeldAddress, 'address' | 'kind'>): string {
  return `${address} (${kind})`
}

export type SeenDisk = Pick<NodeDiskRow, 'name' | 'serial' | 'wwn' | 'size_bytes'>

/** What tells a disk from all others; undefined for one that says nothing of itself. */
export function diskId({ serial, wwn }: Pick<SeenDisk, 'serial' | 'wwn'>): string | undefined {
  return serial ?? wwn ?? undefined
}

/** Disks that are not seen any more stay: whoever wipes the node must know of them. */
export async function recordDisks(trx: Trx, node_id: number, disks: readonly SeenDisk[]): Promise<void> {
  for (const disk of disks) {
    const disk_id = diskId(disk)
    if (disk_id === undefined) continue
    await trx
      .insertInto('node_disk')
      .values({ node_id, disk_id, ...disk })
      .onConflict((conflict) =>
        conflict.columns(['node_id', 'disk_id']).doUpdateSet({ ...disk, seen_at: sql<Date>`now()` }),
      )
      .execute()
  }
}

export function knownDisks(db: Db, node_id: number): Promise<NodeDiskRow[]> {
  return db.selectFrom('node_disk').selectAll().where('node_id', '=', node_id).orderBy('name').execute()
}

/** Physical NICs by the address that is burnt in. */
export async function recordNics(
  trx: Trx,
  node_id: number,
  nics: readonly Pick<NodeNicRow, 'name' | 'permanent_mac'>[],
): Promise<void> {
  for (const { name, permanent_mac } of nics) {
    await trx
      .insertInto('node_nic')
      .values({ node_id, name, permanent_mac: permanent_mac.toLowerCase() })
      .onConflict((conflict) =>
        conflict.columns(['node_id', 'permanent_mac']).doUpdateSet({ name, seen_at: sql<Date>`now()` }),
      )
      .execute()
  }
}

export function knownNics(db: Db, node_id: number): Promise<NodeNicRow[]> {
  return db.selectFrom('node_nic').selectAll().where('node_id', '=', node_id).orderBy('name').execute()
}

/** Nodes that have any of these NICs. */
export async function nodesWithMacs(db: Db, macs: readonly string[]): Promise<number[]> {
  if (macs.length === 0) return []
  const rows = await db
    .selectFrom('node_nic')
    .select('node_id')
    .distinct()
    .where(
      'permanent_mac',
      'in',
      macs.map((mac) => mac.toLowerCase()),
    )
    .execute()
  return rows.map(({ node_id }) => node_id)
}

/** The node whose remote KVM has this address: beside its BMC, or instead of one. */
export function nodeOfKvm(db: Db, kvm_ip: string): Promise<NodeRow | undefined> {
  return db
    .selectFrom('node')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb('bmc_ip', '=', kvm_ip),
        eb(
          'node_id',
          'in',
          eb.selectFrom('node_address').select('node_id').where('kind', '=', 'kvm').where('address', '=', kvm_ip),
        ),
      ]),
    )
    .orderBy('node_id')
    .executeTakeFirst()
}
