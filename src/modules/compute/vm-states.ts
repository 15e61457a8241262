// What was last seen of every virtual machine (table vm_state), and the `vm-state` messages its changes cause.
import { type Selectable, sql } from 'kysely'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import type { Database, StreamMessage, Trx } from '#src/store/database.ts'
import type { Tables } from '#src/store/tables.ts'

export interface SeenVm {
  id: string
  name: string
  state: string
  host_id: string | null
  tenant_id: string | null
  /** What it is found by: display name, addresses and MACs. */
  words: string[]
}

export function seenOf(row: Raw): SeenVm | null {
  const id = textOf(row, 'id')
  const state = textOf(row, 'state')
  if (id === null || state === null) return null
  return {
    id,
    state,
    name: textOf(row, 'name') ?? '',
    host_id: textOf(row, 'hostid'),
    tenant_id: textOf(row, 'domainid'),
    words: wordsOf(row),
  }
}

function wordsOf(row: Raw): string[] {
  const nics = rowsOf(row, 'nic').flatMap((nic) => [
    textOf(nic, 'ipaddress'),
    textOf(nic, 'ip6address'),
    textOf(nic, 'macaddress'),
    ...rowsOf(nic, 'secondaryip').map((one) => textOf(one, 'ipaddress')),
  ])
  return [...new Set([textOf(row, 'displayname'), ...nics].filter((word) => word !== null))].toSorted()
}

/** Data of a `vm-state` message. */
export interface VmStateChange {
  id: string
  name: string
  old_state: string | null
  new_state: string
  host_id: string | null
  at: string
}

interface Changed extends Selectable<Tables['vm_state']> {
  old_state: string | null
  old_host_id: string | null
}

/**
 * Stores what was seen and publishes what is different, in one transaction. Only rows that differ are written, so that
 * looking often costs little, and of several watchers one publishes. `read_at`: before the platform was asked, on the clock
 * of the database. Answers the machines of which somebody wrote another state since then: which of the two is the newer is
 * not known, so they are to be read again.
 */
export async function recordStates(
  database: Database,
  seen: readonly SeenVm[],
  read_at: Date,
  first_poll = false,
): Promise<string[]> {
  if (seen.length === 0) return []
  return database.transact(async (trx, publish) => {
    const changed = await changedRows(trx, seen, read_at)
    // What is seen for the first time ever has not changed: a whole site would flood the stream.
    if (!first_poll) for (const row of changed) publish(messageOf(row))
    const ids = seen.map(({ id }) => id)
    const stored = await trx.selectFrom('vm_state').select(['id', 'state', 'host_id']).where('id', 'in', ids).where('seen_at', '>', read_at).execute() // biome-ignore format: one query
    const states = new Map(seen.map((one) => [one.id, one]))
    return stored.filter((row) => isOther(row, states.get(row.id))).map(({ id }) => id)
  })
}

function isOther(row: Pick<SeenVm, 'state' | 'host_id'>, seen: SeenVm | undefined): boolean {
  return row.state !== seen?.state || row.host_id !== seen.host_id
}

async function changedRows(trx: Trx, seen: readonly SeenVm[], read_at: Date): Promise<Changed[]> {
  const { rows } = await sql<Changed>`
    with seen as (
      select id, name, state, host_id, tenant_id, words
      from jsonb_to_recordset(${JSON.stringify(seen)}::jsonb)
        as s (id text, name text, state text, host_id text, tenant_id text, words text[])
    ), old as (
      select vm_state.id, vm_state.state, vm_state.host_id from vm_state join seen using (id)
    ), written as (
      insert into vm_state as known (id, name, state, host_id, tenant_id, words)
      select id, name, state, host_id, tenant_id, words from seen order by id
      on conflict (id) do update
        set name = excluded.name, state = excluded.state, host_id = excluded.host_id, tenant_id = excluded.tenant_id, words = excluded.words,
            seen_at = now()
        where known.seen_at <= ${read_at} and (known.name, known.state, known.host_id, known.tenant_id, known.words)
          is distinct from (excluded.name, excluded.state, excluded.host_id, excluded.tenant_id, excluded.words)
      returning *
    )
    select written.*, old.state as old_state, old.host_id as old_host_id
    from written left join old using (id)
    where old.id is null or old.state is distinct from written.state or old.host_id is distinct from written.host_id
    order by written.id`.execute(trx)
  return rows
}

/** Machines that a complete list no longer holds are gone. */
export async function recordGone(database: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await database.transact(async (trx, publish) => {
    const gone = await trx
      .deleteFrom('vm_state')
      .where('id', 'in', [...ids])
      .returningAll()
      .execute()
    for (const row of gone)
      publish(messageOf({ ...row, old_state: row.state, old_host_id: row.host_id, state: 'Expunged', host_id: null }))
  })
}

export async function knownIds(database: Database): Promise<string[]> {
  const rows = await database.db.selectFrom('vm_state').select('id').execute()
  return rows.map((row) => row.id)
}

function messageOf(row: Changed): StreamMessage {
  const data: VmStateChange = {
    id: row.id,
    name: row.name,
    old_state: row.old_state,
    new_state: row.state,
    host_id: row.host_id,
    at: new Date().toISOString(),
  }
  return { channel: 'vm', type: 'vm-state', tenant_id: row.tenant_id, data }
}
