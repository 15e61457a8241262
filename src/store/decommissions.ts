// Tables preflight_result, wipe and wipe_submission: what was found before a decommission, and what wipe images reported.
import { type Selectable, sql } from 'kysely'
import type { DecommissionPreflight } from '#src/contract/nodes/decommission-preflight.ts'
import type { Db } from './database.ts'
import type { Tables } from './tables.ts'

export type WipeRow = Selectable<Tables['wipe']>

/** Answers until when it is good. */
export async function putPreflight(
  db: Db,
  node_id: number,
  fingerprint: string,
  result: object,
  minutes: number,
): Promise<Date> {
  const values = { result: JSON.stringify(result), expires_at: sql`now() + make_interval(mins => ${minutes})` }
  const { expires_at } = await db
    .insertInto('preflight_result')
    .values({ node_id, fingerprint, ...values })
    .onConflict((conflict) => conflict.columns(['node_id', 'fingerprint']).doUpdateSet(values))
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}

/** Undefined: there is none, or no longer. */
export async function findPreflight(
  db: Db,
  node_id: number,
  fingerprint: string,
): Promise<DecommissionPreflight | undefined> {
  const row = await db
    .selectFrom('preflight_result')
    .select('result')
    .where('node_id', '=', node_id)
    .where('fingerprint', '=', fingerprint)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row?.result as DecommissionPreflight | undefined
}

/** Serial numbers among these that are recorded for another node, or were last seen by the BMC of another. */
export async function disksOfOthers(db: Db, bmc_ip: string, serials: readonly string[]): Promise<string[]> {
  if (serials.length === 0) return []
  const { rows } = await sql<{ serial: string }>`
    select disk.serial from node_disk disk join node using (node_id)
     where node.bmc_ip <> ${bmc_ip} and disk.serial = any(${serials})
    union
    select drive ->> 'serial' from bmc_inventory seen, jsonb_array_elements(seen.inventory -> 'drives') drive
     where seen.bmc_ip <> ${bmc_ip} and drive ->> 'serial' = any(${serials})
       and seen.id = (select max(id) from bmc_inventory newest where newest.bmc_ip = seen.bmc_ip)
    order by 1`.execute(db)
  return rows.map(({ serial }) => serial)
}
