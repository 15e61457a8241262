// Finds rows by a part of a name, address, MAC or id: what GET /search asks of our own tables.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from './database.ts'

export interface FoundRow {
  id: string
  name: string
  tenant_id: string | null
  words: string[]
}

interface Searched {
  text: string
  limit: number
  /** Rows of this tenant alone; of all where it is null. */
  tenant_id?: string | null
}

interface Table {
  from: RawBuilder<unknown>
  id: RawBuilder<unknown>
  name: RawBuilder<unknown>
  tenant?: RawBuilder<unknown>
  words: RawBuilder<unknown>
}

const TABLES = {
  vm: { from: sql`vm_state`, id: sql`id`, name: sql`name`, tenant: sql`tenant_id`, words: sql`id, name, array_to_string(words, E'\n')` },
  node: {
    from: sql`node`,
    id: sql`bmc_ip`,
    name: sql`coalesce(fqdn, hostname, bmc_ip)`,
    words: sql`bmc_ip, node_ip, fqdn, hostname, id,
      (select string_agg(address, E'\n') from node_address where node_address.node_id = node.node_id),
      (select string_agg(permanent_mac, E'\n') from node_nic where node_nic.node_id = node.node_id)`,
  },
  kvm: {
    from: sql`node_address join node using (node_id) where kind = 'kvm'`,
    id: sql`address`,
    name: sql`address`,
    words: sql`address, fqdn, hostname`,
  },
  tenant: { from: sql`tenant`, id: sql`id`, name: sql`name`, tenant: sql`id`, words: sql`id, name, network_domain` },
  user: { from: sql`user_account`, id: sql`id`, name: sql`username`, tenant: sql`tenant_id`, words: sql`username` },
  dhcp_scope: { from: sql`dhcp_scope`, id: sql`name`, name: sql`name`, words: sql`name, ordered->>'network', ordered->>'gateway'` },
  dhcp_reservation: {
    from: sql`dhcp_reservation`,
    id: sql`mac`,
    name: sql`hostname`,
    words: sql`hostname, mac, host(ip), fqdn`,
  },
  camera: { from: sql`cam_camera`, id: sql`id`, name: sql`name`, words: sql`id, name, ip` },
} satisfies Record<string, Table> // biome-ignore format: one row a table

export type SearchedTable = keyof typeof TABLES

/** The best first: what is the text, then what begins with it, then what has it inside. */
export async function searchTable(
  db: Db,
  name: SearchedTable,
  { text, limit, tenant_id = null }: Searched,
): Promise<FoundRow[]> {
  const table: Table = TABLES[name]
  const { rows } = await sql<Omit<FoundRow, 'words'> & { words: string }>`
    select id, name, tenant_id, words
      from (select *, lower(words) as lower_words
              from (select ${table.id}::text as id, ${table.name} as name, ${table.tenant ?? sql`null`}::text as tenant_id,
                           E'\n' || concat_ws(E'\n', ${table.words}) || E'\n' as words
                      from ${table.from}) as row) as found
     where strpos(lower_words, ${text}) > 0 and (${tenant_id}::text is null or tenant_id = ${tenant_id})
     order by strpos(lower_words, E'\n' || ${text} || E'\n') = 0, strpos(lower_words, E'\n' || ${text}) = 0, name, id
     limit ${limit}`.execute(db)
  return rows.map(({ words, ...row }) => ({ ...row, words: words.split('\n').filter((word) => word !== '') }))
}
