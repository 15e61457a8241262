// Limits of jobs over all replicas: refused at admission, or waiting for a free place.
import { type RawBuilder, sql } from 'kysely'
import { ApiError } from '#src/kernel/errors.ts'
import type { Trx } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import type { AnyJob, BoundJob } from './define.ts'

export interface Place {
  key: string
  most: number
  refuse: NonNullable<AnyJob['limits']>[number]['refuse']
}

/** The places that a job with this input needs. */
export function placesOf({ definition, deps }: BoundJob, input: unknown): Place[] {
  return (definition.limits ?? []).flatMap(({ of, most, refuse }) => {
    const key = of(input)
    return key === undefined ? [] : [{ key, most: typeof most === 'number' ? most : most(deps), refuse }]
  })
}

/** Writes what the admitted job needs. Throws when one of its limits refuses it; answers why it must wait, if it must. */
export async function takePlaces(trx: Trx, job_id: string, places: readonly Place[]): Promise<string | undefined> {
  let waits: string | undefined
  // Everybody in one order, so that no two admissions wait for each other.
  for (const { key, most, refuse } of places.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    await sql`select pg_advisory_xact_lock(${LOCKS.job_limits}::int, hashtext(${key}))`.execute(trx)
    const others = await trx
      .selectFrom('job_limit')
      .innerJoin('job', 'job.id', 'job_limit.job_id')
      .select('job.id')
      .where('key', '=', key)
      .where('job_status', '=', 'running')
      .orderBy('created_at')
      .execute()
    if (others.length >= most) {
      if (refuse !== undefined)
        throw new ApiError(refuse, `Job ${others[0]?.id ?? ''} is running for ${key}; wait for its end or cancel it.`)
      waits ??= `Waiting for a free place: at most ${most} at once for ${key}.`
    }
    await trx.insertInto('job_limit').values({ job_id, key, most }).execute()
  }
  return waits
}

/**
 * SQL: a job of the table `job` may start. One that has started (its epoch says so) keeps its places to its end; one that
 * was cancelled while it waited only ends.
 */
export const MAY_START: RawBuilder<boolean> = sql<boolean>`(
  job.epoch > 0 or job.cancel_requested_at is not null or not exists (
    select from job_limit own where own.job_id = job.id and own.most <= (
      select count(*) from job_limit other join job holder on holder.id = other.job_id
      where other.key = own.key and holder.epoch > 0 and holder.job_status = 'running')))`

/** The job has ended; true when others may wait for its places. */
export async function freePlaces(trx: Trx, job_id: string): Promise<boolean> {
  const { numDeletedRows } = await trx.deleteFrom('job_limit').where('job_id', '=', job_id).executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
