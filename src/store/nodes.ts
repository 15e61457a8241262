// The registered nodes: their records, what their agents report, and the certificates those agents hold.
import { type Expression, type ExpressionBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { NODE_COLUMNS, NodeFacts, NodeRecord } from '#src/contract/nodes/registry.ts'
import type { ListOrder } from '#src/kernel/sorted.ts'
import type { Db, Trx } from './database.ts'
import { listOrder } from './list-order.ts'
import { reportedIdentity, reportOf } from './node-identity.ts'
import type { Tables } from './tables.ts'

export type NodeRow = Selectable<Tables['node']>

export type NewNode = Pick<
  NodeRow,
  'id' | 'bmc_ip' | 'node_ip' | 'fqdn' | 'hostname' | 'role' | 'zone' | 'registered_by'
>

type NodeColumn = (typeof NODE_COLUMNS)[number]

export interface NodeFilter extends ListOrder<NodeColumn> {
  role?: string
  status?: NodeRecord['status']
  provision_status?: string
  zone?: string
  keyword?: string
}

export function nodeRecordOf(row: NodeRow, offline_after_ms: number, now: number = Date.now()): NodeRecord {
  const report = reportOf(row)
  return {
    node_id: row.node_id,
    id: row.id,
    bmc_ip: row.bmc_ip,
    node_ip: row.node_ip,
    addresses: row.addresses,
    fqdn: row.fqdn,
    hostname: row.hostname,
    reported_name: report.name,
    reported_address: report.address,
    reported_since: row.reported_since?.toISOString() ?? null,
    role: row.role,
    zone: row.zone,
    provision_status: row.provision_status,
    status: statusOf(row, offline_after_ms, now),
    health: row.health,
    agent: {
      enrolled_at: row.enrolled_at?.toISOString() ?? null,
      seen_at: row.seen_at?.toISOString() ?? null,
      address: row.agent_address,
      port: row.agent_port,
      version: row.agent_version,
      boot_id: row.boot_id,
      certificate_expires_at: row.certificate_expires_at?.toISOString() ?? null,
    },
    registered_by: row.registered_by,
    created_at: row.created_at.toISOString(),
  }
}

/** Whether the agent sent a heartbeat within the limit, whatever else is missing about the node. */
export function isOnline(row: NodeRow, offline_after_ms: number, now: number = Date.now()): boolean {
  return row.seen_at !== null && now - row.seen_at.getTime() <= offline_after_ms
}

export function statusOf(row: NodeRow, offline_after_ms: number, now: number = Date.now()): NodeRecord['status'] {
  if (row.node_ip === null) return 'unconfigured-noIP'
  if (row.fqdn === null) return 'unconfigured-noFQDN'
  return isOnline(row, offline_after_ms, now) ? 'online' : 'offline'
}

const COLUMNS = {
  fqdn: sql`lower(fqdn)`,
  bmc_ip: sql`bmc_ip::inet`,
  node_ip: sql`node_ip::inet`,
  role: sql`role`,
  zone: sql`zone`,
  provision_status: sql`provision_status`,
  health: sql`health`,
  created_at: sql`created_at`,
}

export async function listNodes(
  db: Db,
  filter: NodeFilter,
  offline_after_ms: number,
  { page, page_size }: { page: number; page_size: number },
): Promise<{ nodes: NodeRecord[]; count: number }> {
  const matching = db.selectFrom('node').where((eb) => matches(eb, filter, offline_after_ms))
  const [rows, total] = await Promise.all([
    matching
      .selectAll()
      .orderBy(listOrder(filter, COLUMNS, sql`node_id`, sql`node_id`))
      .limit(page_size)
      .offset((page - 1) * page_size)
      .execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  return { nodes: rows.map((row) => nodeRecordOf(row, offline_after_ms)), count: total.count }
}

/** Keyset page of the nodes that have an address and a full name, and how many there are of them. */
export async function configuredNodesAfter(
  db: Db,
  after_id: number,
  page_size: number,
): Promise<{ rows: NodeRow[]; has_more: boolean; next_id: number; count: number }> {
  const configured = db.selectFrom('node').where('node_ip', 'is not', null).where('fqdn', 'is not', null)
  const [found, total] = await Promise.all([
    configured
      .selectAll()
      .where('node_id', '>', after_id)
      .orderBy('node_id')
      .limit(page_size + 1)
      .execute(),
    configured.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  const rows = found.slice(0, page_size)
  const has_more = found.length > page_size
  return { rows, has_more, next_id: has_more ? (rows.at(-1)?.node_id ?? 0) : 0, count: total.count }
}

/** Every node in the order of its number: for sums over the whole fleet. */
export function allNodes(db: Db): Promise<NodeRow[]> {
  return db.selectFrom('node').selectAll().orderBy('node_id').execute()
}

export function findNode(db: Db, bmc_ip: string): Promise<NodeRow | undefined> {
  return db.selectFrom('node').selectAll().where('bmc_ip', '=', bmc_ip).executeTakeFirst()
}

export function findNodeById(db: Db, id: string): Promise<NodeRow | undefined> {
  return db.selectFrom('node').selectAll().where('id', '=', id).executeTakeFirst()
}

/** By whatever a person calls a node: BMC address (that one first), management address, full or short name, UUID. */
export function nodesCalled(db: Db, name: string): Promise<NodeRow[]> {
  return db
    .selectFrom('node')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb('bmc_ip', '=', name),
        eb('node_ip', '=', name),
        eb(sql`lower(fqdn)`, '=', name.toLowerCase()),
        eb(sql`lower(hostname)`, '=', name.toLowerCase()),
        eb(sql`id::text`, '=', name.toLowerCase()),
      ]),
    )
    .orderBy(sql`bmc_ip = ${name}`, 'desc')
    .orderBy('node_id')
    .limit(2)
    .execute()
}

/** Undefined when a node with this BMC address is there. */
export function insertNode(trx: Trx, node: NewNode): Promise<NodeRow | undefined> {
  return trx
    .insertInto('node')
    .values(node)
    .onConflict((conflict) => conflict.column('bmc_ip').doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** What an installation gave the node. */
export async function nameNode(
  trx: Trx,
  node_id: number,
  { node_ip, hostname }: { node_ip: string; hostname: string },
): Promise<void> {
  await trx.updateTable('node').set({ node_ip, hostname }).where('node_id', '=', node_id).execute()
}

/** Locks the row, so that nothing begins on a node that goes. */
export function lockNode(trx: Trx, bmc_ip: string): Promise<NodeRow | undefined> {
  return trx.selectFrom('node').selectAll().where('bmc_ip', '=', bmc_ip).forUpdate().executeTakeFirst()
}

export async function deleteNode(trx: Trx, row: NodeRow): Promise<void> {
  await revokeCertificate(trx, row, 'the node was deleted')
  await trx.deleteFrom('node').where('node_id', '=', row.node_id).execute()
}

export interface NewCertificate {
  certificate: string
  serial: string
  expires_at: Date
}

/** A new life of the agent: whatever certificate it had before is worth nothing from now on. */
export async function enrolNode(trx: Trx, node_id: number, issued: NewCertificate, facts: NodeFacts): Promise<void> {
  const before = await trx
    .selectFrom('node')
    .selectAll()
    .where('node_id', '=', node_id)
    .forUpdate()
    .executeTakeFirstOrThrow()
  await revokeCertificate(trx, before, 'the node enrolled again')
  await trx
    .updateTable('node')
    .set({
      ...reported(facts),
      ...(await reportedIdentity(trx, before, facts)),
      certificate: issued.certificate,
      certificate_serial: issued.serial,
      certificate_expires_at: issued.expires_at,
      previous_certificate: null,
      signed_ms: 0,
      enrolled_at: sql<Date>`now()`,
    })
    .where('node_id', '=', node_id)
    .execute()
}

/** Puts a renewed certificate beside the one that signed the request, which stays good until the new one is used. */
export async function renewNode(trx: Trx, id: string, issued: NewCertificate, signed_with: string): Promise<void> {
  await trx
    .updateTable('node')
    .set({
      certificate: issued.certificate,
      certificate_serial: issued.serial,
      certificate_expires_at: issued.expires_at,
      previous_certificate: signed_with,
    })
    .where('id', '=', id)
    .execute()
}

/** Takes the time stamp of a signed message. False: the same or a newer one was taken before, so this is a replay. */
export async function takeSignedTime(db: Db, id: string, signed_ms: number, used: string): Promise<boolean> {
  const row = await db
    .updateTable('node')
    .set({
      signed_ms,
      // The agent has the new certificate when it signs with it; the old one has done its duty.
      previous_certificate: sql<string | null>`case when certificate = ${used} then null else previous_certificate end`,
    })
    .where('id', '=', id)
    .where('signed_ms', '<', signed_ms)
    .returning('node_id')
    .executeTakeFirst()
  return row !== undefined
}

export interface Heartbeat {
  facts: NodeFacts
  agent_address: string
  agent_port: number
}

/** Answers the row before and after: `told_online` false before means that the node comes back. */
export async function recordHeartbeat(
  trx: Trx,
  id: string,
  sign: Heartbeat,
): Promise<{ before: NodeRow; after: NodeRow } | undefined> {
  const before = await trx.selectFrom('node').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
  if (before === undefined) return undefined
  const after = await trx
    .updateTable('node')
    .set({
      ...reported(sign.facts),
      ...(await reportedIdentity(trx, before, sign.facts)),
      agent_address: sign.agent_address,
      agent_port: sign.agent_port,
      seen_at: sql<Date>`now()`,
      told_online: true,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return { before, after }
}

/** Nodes that fell silent since they were last told of; each is answered to one caller alone. */
export function takeSilentNodes(trx: Trx, offline_after_ms: number): Promise<NodeRow[]> {
  return trx
    .updateTable('node')
    .set({ told_online: false })
    .where('told_online', '=', true)
    .where('seen_at', '<', sql<Date>`now() - make_interval(secs => ${offline_after_ms / 1000})`)
    .returningAll()
    .execute()
}

function reported(facts: NodeFacts) {
  return {
    addresses: facts.addresses === null ? null : JSON.stringify(facts.addresses),
    boot_id: facts.boot_id,
    agent_version: facts.agent_version,
  }
}

/** Nobody may speak for the node any more, and no unused token lets it join again. The row must be locked. */
export async function revokeAgent(trx: Trx, row: NodeRow, reason: string): Promise<void> {
  await revokeCertificate(trx, row, reason)
  await trx.deleteFrom('enrolment_token').where('node_id', '=', row.node_id).where('used_at', 'is', null).execute()
  await trx
    .updateTable('node')
    .set({ certificate: null, previous_certificate: null, certificate_serial: null, certificate_expires_at: null })
    .where('node_id', '=', row.node_id)
    .execute()
}

/** What was known of its operating system: a machine without one has the address of its BMC alone. */
export async function forgetSystem(trx: Trx, node_id: number): Promise<void> {
  await trx
    .updateTable('node')
    .set({
      node_ip: null, fqdn: null, addresses: null, role: null, reported_node_ip: null, reported_fqdn: null, reported_hostname: null,
      reported_since: null, agent_address: null, agent_port: null, agent_version: null, boot_id: null, enrolled_at: null,
      seen_at: null, told_online: false,
    }) // biome-ignore format: columns
    .where('node_id', '=', node_id)
    .execute()
}

async function revokeCertificate(trx: Trx, row: NodeRow, reason: string): Promise<void> {
  if (row.certificate_serial === null) return
  await trx
    .insertInto('revoked_certificate')
    .values({ serial: row.certificate_serial, bmc_ip: row.bmc_ip, reason })
    .onConflict((conflict) => conflict.column('serial').doNothing())
    .execute()
}

function matches(
  eb: ExpressionBuilder<Tables, 'node'>,
  filter: NodeFilter,
  offline_after_ms: number,
): Expression<SqlBool> {
  const parts: Expression<SqlBool>[] = []
  if (filter.role !== undefined) parts.push(sql<SqlBool>`role = ${filter.role}`)
  if (filter.zone !== undefined) parts.push(eb('zone', '=', filter.zone))
  if (filter.provision_status !== undefined) parts.push(eb('provision_status', '=', filter.provision_status))
  if (filter.status !== undefined) parts.push(statusIs(filter.status, offline_after_ms))
  if (filter.keyword !== undefined) {
    const text = `%${filter.keyword.replace(/[\\%_]/g, '\\$&')}%`
    const names = sql.raw(
      `concat_ws(' ', bmc_ip, node_ip, reported_node_ip, fqdn, reported_fqdn, hostname, reported_hostname)`,
    )
    parts.push(sql<SqlBool>`${names} ilike ${text}`)
  }
  return eb.and(parts)
}

function statusIs(status: NodeRecord['status'], offline_after_ms: number): Expression<SqlBool> {
  const seen = sql<SqlBool>`coalesce(seen_at >= now() - make_interval(secs => ${offline_after_ms / 1000}), false)`
  switch (status) {
    case 'unconfigured-noIP':
      return sql<SqlBool>`node_ip is null`
    case 'unconfigured-noFQDN':
      return sql<SqlBool>`node_ip is not null and fqdn is null`
    case 'online':
      return sql<SqlBool>`node_ip is not null and fqdn is not null and ${seen}`
    case 'offline':
      return sql<SqlBool>`node_ip is not null and fqdn is not null and not ${seen}`
  }
}
