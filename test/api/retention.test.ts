// What the database forgets: old rows go by themselves, new ones and what still counts stay, and no table grows for ever.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const DAYS = 3
/** More than one batch. */
const MANY = 4500

/** SQL of a row of this age for each table that grows with time. `{n}` is a number that is its own for each row. */
const ROWS: Record<string, string> = {
  audit: `insert into audit (at, request_id, operation, method, path, caller_kind, caller_id, username, remote_address)
    values ({age}, 'planted', 'x', 'POST', '/x', 'token', 'planted', 'planted', '')`,
  app_event: `insert into app_event (id, created_at, action, status, resource_type, username)
    values (gen_random_uuid(), {age}, 'planted', 'SUCCESS', 'PLANT', 'planted')`,
  job: `insert into job (id, created_at, finished_at, job_status, type, input, state, planned_steps, resource_type, caller)
    values (gen_random_uuid(), {age}, {age}, 'completed', 'planted.job', '', '', '[]', 'PLANT', '{}')`,
  ha_event: `insert into ha_event (id, received_at, occurred_at, app_event_id, correlation_id, address, action, status, level, message)
    values (gen_random_uuid(), {age}, {age}, gen_random_uuid(), '', 'planted', 'x', 'COMPLETED', 'INFO', '')`,
  guest_network_job: `insert into guest_network_job (started_at, job_id, network, operation)
    values ({age}, gen_random_uuid(), 'planted', 'check')`,
  platform_event: `insert into platform_event (id, created_at, type, level, state, description, username)
    values ('planted-{n}', {age}, 'X', 'INFO', '', '', '')`,
  stream_event: `insert into stream_event (at, channel, type, data) values ({age}, 'vm', 'planted', '{}')`,
  dhcp_lease: `insert into dhcp_lease (scope, mac, ip, first_seen, expires_at, lease_seconds, state, ended_at)
    values ('planted', '52:54:00:00:00:01', '10.0.0.1', {age}, {age}, 60, 'expired', {age})`,
  idempotency: `insert into idempotency (created_at, caller_id, key, operation, request_hash, operation_id, replica_id)
    values ({age}, 'planted', 'planted-{n}', 'x', '\\x00', gen_random_uuid(), gen_random_uuid())`,
  hook_delivery: `insert into hook_delivery (received_at, id) values ({age}, 'planted-{n}')`,
  replica: `insert into replica (seen_at, id, hostname) values ({age}, gen_random_uuid(), 'planted')`,
  session: `insert into session (expires_at, id, hash, csrf_hash, caller)
    values ({age}, gen_random_uuid(), 'planted-{n}', '', '{}')`,
  ticket: `insert into ticket (expires_at, hash, caller) values ({age}, 'planted-{n}', '{}')`,
  oidc_login: `insert into oidc_login (expires_at, state_hash, sealed) values ({age}, 'planted-{n}', '')`,
  preflight_result: `insert into preflight_result (expires_at, fingerprint, node_id, result)
    values ({age}, 'planted-{n}', (select node_id from node limit 1), '{}')`,
  enrolment_token: `insert into enrolment_token (expires_at, hash, node_id, created_by)
    values ({age} - interval '27 days', 'planted-{n}', (select node_id from node limit 1), 'planted')`,
}

/** Tables that hold one row for each thing that exists, or rows that people make and want to keep. */
const BOUNDED = [
  'alert_copy', 'api_token', 'bmc', 'bmc_inventory', 'boot_image', 'cam_camera', 'cam_instance', 'ddi_drift', 'dhcp_reservation', 'dhcp_scope', 'dns_record', 'dns_zone', 'guest_network_site', 'ha_member', 'ipam_address', 'ipam_pending',
  'ipam_prefix', 'ipam_range', 'ipam_role', 'ipam_site', 'ipam_vlan', 'job_event', 'job_limit', 'job_outstanding', 'job_signal', 'job_step',
  'kysely_migration', 'kysely_migration_lock', 'mtu_declaration', 'node', 'node_address', 'node_disk', 'node_nic', 'phone_home', 'revoked_certificate', 'setting', 'tenant',
  'user_account', 'vm_state', 'wipe', 'wipe_submission',
] // biome-ignore format: a list

let lab: Lab
before(async () => {
  lab = await startLab({
    config: {
      events: { replay_hours: DAYS * 24 },
      retention: {
        audit_days: DAYS,
        app_event_days: DAYS,
        job_days: DAYS,
        platform_event_days: DAYS,
        dhcp_lease_days: DAYS,
      },
    },
  })
})
after(() => lab?.close())

let n = 0
async function plant(table: string, age: string): Promise<void> {
  n += 1
  const insert = (ROWS[table] ?? '').replaceAll('{age}', `(now() - interval '${age}')`).replaceAll('{n}', String(n))
  await onDatabase(lab.database.connection, (client) => client.query(insert))
}

async function count(from: string): Promise<number> {
  return onDatabase(lab.database.connection, async (client) => {
    const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${from}`)
    return rows[0]?.count ?? -1
  })
}

test('old rows of every table that grows are deleted, a backlog too, and what is young or still runs is kept', async () => {
  await onDatabase(lab.database.connection, (client) =>
    client.query(`insert into node (id, bmc_ip, registered_by) values (gen_random_uuid(), '192.0.2.7', 'planted')`),
  )
  for (const table of Object.keys(ROWS)) await plant(table, '4 days')
  for (const table of [
    'audit',
    'app_event',
    'job',
    'ha_event',
    'guest_network_job',
    'platform_event',
    'dhcp_lease',
    'stream_event',
    'enrolment_token',
  ]) {
    await plant(table, '2 days')
  }
  await onDatabase(lab.database.connection, async (client) => {
    await client.query(`insert into audit (at, request_id, operation, method, path, caller_kind, caller_id, username, remote_address)
      select now() - interval '5 days', 'backlog', 'x', 'POST', '/x', 'token', 'backlog', 'backlog', '' from generate_series(1, ${MANY})`)
    await client.query(`insert into app_event (id, created_at, action, status, resource_type, username)
      values (gen_random_uuid(), now() - interval '4 days', 'running', 'IN_PROGRESS', 'PLANT', 'planted')`)
    const { rows } = await client.query<{ id: string }>(`insert into job
      (id, created_at, finished_at, job_status, type, input, state, planned_steps, resource_type, caller) values
      (gen_random_uuid(), now() - interval '4 days', now() - interval '4 days', 'completed', 'parent', '', '', '[]', 'PLANT', '{}') returning id`)
    await client.query(
      `insert into job (id, parent_id, created_at, finished_at, job_status, type, input, state, planned_steps, resource_type, caller)
       values (gen_random_uuid(), $1, now() - interval '2 days', now(), 'completed', 'child', '', '', '[]', 'PLANT', '{}')`,
      [rows[0]?.id],
    )
  })
  await lab.restart()
  const settles = (from: string, left: number) => until(`${left} of ${from}`, async () => (await count(from)) === left)
  await settles(`enrolment_token`, 1)
  await settles(`audit where caller_id = 'backlog'`, 0)
  await settles(`audit where caller_id = 'planted'`, 1)
  await settles(`app_event where action = 'planted'`, 1)
  assert.equal(await count(`app_event where action = 'running'`), 1)
  await settles(`job where type = 'planted.job'`, 1)
  assert.equal(await count(`job where type in ('parent', 'child')`), 2, 'a job is kept for its child')
  await settles(`guest_network_job`, 1)
  await settles(`ha_event where address = 'planted'`, 1)
  await settles(`preflight_result`, 0)
  await settles(`platform_event where id like 'planted-%'`, 1)
  await settles(`dhcp_lease where scope = 'planted'`, 1)
  await settles(`stream_event where type = 'planted'`, 1)
  await settles(`idempotency where caller_id = 'planted'`, 0)
  await settles(`hook_delivery where id like 'planted-%'`, 0)
  await settles(`replica where hostname = 'planted'`, 0)
  for (const table of ['session', 'ticket', 'oidc_login']) {
    await settles(`${table} where expires_at < now()`, 0)
  }
})

test('every table has a rule or is bounded by what exists', async () => {
  const tables = await onDatabase(lab.database.connection, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select table_name as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema = 'public'`,
    )
    return rows.map(({ name }) => name).sort()
  })
  assert.deepEqual(tables, [...Object.keys(ROWS), ...BOUNDED].sort())
})
