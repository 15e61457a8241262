// Guest networks that were built on the nodes, and the results of the jobs that did it.
import { sql } from 'kysely'
import type { BridgeResult, NetworkJobResult } from '#src/contract/network/guest-network-jobs.ts'
import type { Db, Trx } from './database.ts'

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

export interface GuestNetworkJobStart {
  job_id: string
  network: string
  operation: GuestNetworkOperation
  total_nodes: number
}

/** Answers the id of a job of this network that still runs, and then writes nothing. */
export async function startNetworkJob(trx: Trx, job: GuestNetworkJobStart): Promise<string | undefined> {
  const running = await trx
    .selectFrom('guest_network_job as result')
    .innerJoin('job', 'job.id', 'result.job_id')
    .select('job.id')
    .where('result.network', '=', job.network)
    .where('job.job_status', '=', 'running')
    .executeTakeFirst()
  if (running !== undefined) return running.id
  await trx
    .insertInto('guest_network_job')
    .values({ ...job, started_at: new Date() })
    .execute()
  return undefined
}

export async function saveBridgeResult(db: Db, job_id: string, result: BridgeResult): Promise<void> {
  await db
    .updateTable('guest_network_job')
    .set({ bridge_result: JSON.stringify(result) })
    .where('job_id', '=', job_id)
    .execute()
}

export async function lastNetworkJobs(db: Db): Promise<NetworkJobResult[]> {
  const rows = await jobRows(db)
    .distinctOn('result.network')
    .orderBy('result.network')
    .orderBy('started_at', 'desc')
    .execute()
  return rows.map(resultOf)
}

export async function latestNetworkJob(db: Db, network: string | undefined): Promise<NetworkJobResult | undefined> {
  const all = jobRows(db).where('operation', 'in', ['create', 'delete'])
  const named = network === undefined ? all : all.where('result.network', '=', network)
  const row = await named.orderBy('started_at', 'desc').limit(1).executeTakeFirst()
  return row === undefined ? undefined : resultOf(row)
}

function jobRows(db: Db) {
  return db
    .selectFrom('guest_network_job as result')
    .innerJoin('job', 'job.id', 'result.job_id')
    .select([
      'result.job_id', 'result.network', 'result.operation', 'result.total_nodes', 'result.bridge_result',
      'job.job_status', 'job.status', 'job.progress', sql<string>`coalesce(job.failure_reason, '')`.as('error'),
    ]) // biome-ignore format: one list
}

type Row = Awaited<ReturnType<ReturnType<typeof jobRows>['execute']>>[number]

function resultOf({ job_status, error, bridge_result, ...row }: Row): NetworkJobResult {
  return {
    ...row,
    state: job_status,
    error: job_status === 'failed' ? error : '',
    // Written by this service alone, in this shape.
    bridge_result: bridge_result as BridgeResult | null,
  }
}
