// Guest networks that were built on the nodes, and the results of the jobs that did it.
import type { Selectable } from 'kysely'
import type { BridgeResult, NetworkJobResult } from '#src/contract/network/guest-network-jobs.ts'
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export type GuestNetworkOperation = NetworkJobResult['operation']

export interface GuestNetworkSite {
  name: string
  network_id: string | null
  bridge: string
  kind: 'vlan' | 'vxlan'
  segment_id: number
  nic: string | null
  mtu: number | null
}

/** False: a network of this name, bridge or segment is there. */
export async function reserveSite(trx: Trx, site: GuestNetworkSite): Promise<boolean> {
  const row = await trx
    .insertInto('guest_network_site')
    .values({ ...site, created_at: new Date() })
    .onConflict((conflict) => conflict.doNothing())
    .returning('name')
    .executeTakeFirst()
  return row !== undefined
}

export async function nameSite(db: Db, name: string, network_id: string | null): Promise<void> {
  await db.updateTable('guest_network_site').set({ network_id }).where('name', '=', name).execute()
}

export async function dropSite(db: Db, name: string): Promise<void> {
  await db.deleteFrom('guest_network_site').where('name', '=', name).execute()
}

export function findSite(db: Db, network_id: string): Promise<GuestNetworkSite | undefined> {
  return db.selectFrom('guest_network_site').selectAll().where('network_id', '=', network_id).executeTakeFirst()
}

/** Networks that were built on the nodes; of these names, or all. */
export function guestNetworkSites(db: Db, names?: readonly string[]): Promise<GuestNetworkSite[]> {
  const all = db.selectFrom('guest_network_site').selectAll().orderBy('name')
  return (names === undefined ? all : all.where('name', 'in', ['', ...names])).execute()
}

export interface GuestNetworkJobStart {
  job_id: string
  network: string
  operation: GuestNetworkOperation
  total_nodes: number
}

export async function startNetworkJob(trx: Trx, job: GuestNetworkJobStart): Promise<void> {
  await trx
    .insertInto('guest_network_job')
    .values({ ...job, started_at: new Date() })
    .execute()
}

export async function saveBridgeResult(db: Db, job_id: string, result: BridgeResult): Promise<void> {
  await db
    .updateTable('guest_network_job')
    .set({ bridge_result: JSON.stringify(result) })
    .where('job_id', '=', job_id)
    .execute()
}

/** What is stored of such a job beside the job itself. */
export interface GuestNetworkJobRow extends Selectable<Omit<Tables['guest_network_job'], 'bridge_result'>> {
  bridge_result: BridgeResult | null
}

/** The newest of each network. */
export function lastNetworkJobs(db: Db): Promise<GuestNetworkJobRow[]> {
  return jobRows(db).distinctOn('network').orderBy('network').orderBy('started_at', 'desc').execute()
}

/** The newest that built or removed the network; of all networks when none is named. */
export function latestNetworkJob(db: Db, network: string | undefined): Promise<GuestNetworkJobRow | undefined> {
  const all = jobRows(db).where('operation', 'in', ['create', 'delete'])
  const named = network === undefined ? all : all.where('network', '=', network)
  return named.orderBy('started_at', 'desc').limit(1).executeTakeFirst()
}

function jobRows(db: Db) {
  // Written by this service alone, in this shape.
  return db.selectFrom('guest_network_job').selectAll().$castTo<GuestNetworkJobRow>()
}
