// The members of the management cluster: which nodes fail over to each other, and what is known of each.
import { createHash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { HaMember } from '#src/contract/ha/ha.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { type Db, type Trx, violates } from './database.ts'
import { lastStates } from './ha-events.ts'
import type { Tables } from './tables.ts'

export type HaMemberRow = Selectable<Tables['ha_member']> & { bmc_ip: string }

export type HaMemberFields = Pick<HaMemberRow, 'address' | 'interface' | 'priority'>

/** In the order in which they take over. */
export function haMembers(db: Db): Promise<HaMemberRow[]> {
  return db
    .selectFrom('ha_member')
    .innerJoin('node', 'node.node_id', 'ha_member.node_id')
    .selectAll('ha_member')
    .select('node.bmc_ip')
    .orderBy('priority', 'desc')
    .orderBy('ha_member.node_id')
    .execute()
}

export async function isHaMember(db: Db, address: string): Promise<boolean> {
  const row = await db.selectFrom('ha_member').select('node_id').where('address', '=', address).executeTakeFirst()
  return row !== undefined
}

/** Also what `node.setup` records of a new management node. Setting the same again changes nothing. */
export async function setHaMember(trx: Trx, bmc_ip: string, fields: HaMemberFields): Promise<void> {
  const node = await trx.selectFrom('node').select('node_id').where('bmc_ip', '=', bmc_ip).executeTakeFirst()
  if (node === undefined) {
    throw new ApiError('NODE_NOT_FOUND', `There is no node with the BMC address ${bmc_ip}; register it first.`)
  }
  const known = sql`case when ha_member.address = excluded.address then ha_member.filesync_key end`
  try {
    await trx
      .insertInto('ha_member')
      .values({ node_id: node.node_id, ...fields, holds_vip: null, filesync_key: null })
      .onConflict((conflict) =>
        conflict.column('node_id').doUpdateSet({ ...fields, filesync_key: sql<string | null>`${known}` }),
      )
      .execute()
  } catch (error) {
    if (!violates(error, 'ha_member_address_key')) throw error
    throw new ApiError('HA_MEMBER_EXISTS', `Another member has the address ${fields.address}.`)
  }
}

export async function removeHaMember(trx: Trx, bmc_ip: string): Promise<void> {
  const removed = await trx
    .deleteFrom('ha_member')
    .using('node')
    .whereRef('node.node_id', '=', 'ha_member.node_id')
    .where('node.bmc_ip', '=', bmc_ip)
    .returning('ha_member.node_id')
    .executeTakeFirst()
  if (removed === undefined) {
    throw new ApiError('HA_MEMBER_NOT_FOUND', `Node ${bmc_ip} is no member of the management cluster.`)
  }
}

export async function saveFilesyncKey(db: Db, address: string, filesync_key: string): Promise<void> {
  await db.updateTable('ha_member').set({ filesync_key }).where('address', '=', address).execute()
}

export async function saveVipHolder(trx: Trx, node_id: number, holds_vip: boolean | null): Promise<void> {
  await trx
    .updateTable('ha_member')
    .set({ holds_vip, checked_at: sql<Date>`now()` })
    .where('node_id', '=', node_id)
    .execute()
}

export async function describeHaMembers(db: Db): Promise<HaMember[]> {
  const rows = await haMembers(db)
  const states = await lastStates(db)
  return rows.map((row) => {
    const last = states.get(row.address)
    return {
      bmc_ip: row.bmc_ip,
      address: row.address,
      interface: row.interface,
      priority: row.priority,
      state: last?.action ?? null,
      state_since: last?.occurred_at.toISOString() ?? null,
      holds_vip: row.holds_vip,
      checked_at: row.checked_at?.toISOString() ?? null,
      filesync_fingerprint: row.filesync_key === null ? null : sshFingerprint(row.filesync_key),
    }
  })
}

/** As ssh-keygen prints it. */
export function sshFingerprint(public_key: string): string {
  const [, base64 = ''] = public_key.split(' ')
  const digest = createHash('sha256').update(Buffer.from(base64, 'base64')).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}
