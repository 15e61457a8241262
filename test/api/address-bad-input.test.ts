// Values that no field of address management can have: each is a clear 400 in the envelope, and neither the servers nor the address
// store are changed. The first test walks every field of the contract, the second one gives odd but well-formed values.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { type Database, openDatabase } from '#src/store/database.ts'
import { createLog } from '#src/kernel/log.ts'
import { dhcp } from '#src/contract/ddi/dhcp.ts'
import { dns } from '#src/contract/ddi/dns.ts'
import { ddiDrift } from '#src/contract/ddi/drift.ts'
import { ipam } from '#src/contract/ddi/ipam.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { ok } from '../support/address-steps.ts'
import type { Reply } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

type Values = Record<string, unknown>

interface Valid {
  params?: Values
  query?: Values
  body?: Values
}

/** As far as it is needed to break a value. */
interface Schema {
  type?: string
  properties?: Record<string, Schema>
  additionalProperties?: boolean
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  pattern?: string
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
}

const ROUTES: Readonly<Record<string, RouteSpec>> = {
  ...dhcp.routes,
  ...dns.routes,
  ...ipam.routes,
  ...ddiDrift.routes,
}
const MAC = '52:54:00:30:00:50'
const SCOPE = 'acme-office'
const ZONE = 'lab.example'

let lab: Lab
let valid: Record<string, Valid>
let database: Database
before(async () => {
  lab = await startLab({ addresses: true })
  const log = createLog({ level: 'silent' })
  database = openDatabase({ connection: lab.database.connection, pool_size: 2, log })
  const site = ok(await lab.call('POST', '/ddi/ipam/sites', { slug: 's', name: 'S' }), 201).data.id
  const prefix = ok(await lab.call('POST', '/ddi/ipam/prefixes', { cidr: '10.7.0.0/28', site_id: site }), 201).data.id
  const { id } = ok(await lab.call('GET', `/ddi/dns/records?zone_name=${ZONE}&record_type=A`)).data.records[0]
  valid = requests({ record_id: id, site, prefix })
})
after(async () => {
  await database?.close()
  await lab?.close()
})

/** One request of each operation that would be taken as it is. */
function requests({ record_id, site, prefix }: { record_id: string; site: number; prefix: number }) {
  const record = { zone: ZONE, name: 'bad', type: 'SRV', value: `kvm-01.${ZONE}`, priority: 1, weight: 1, port: 1, ttl: 60, comment: 'c' } // biome-ignore format: one record
  const scope_path = { params: { scope_name: SCOPE } }
  const mac_path = { mac_address: MAC }
  const zone_path = { params: { zone_name: ZONE } }
  const scope = { gateway: '10.8.0.1', start_address: '10.8.0.10', end_address: '10.8.0.20', dns_servers: ['10.8.0.2'], lease_time: '1h', description: 'd', enabled: true } // biome-ignore format: one scope
  const table: Record<string, Valid> = {
    dhcpLeaseGet: { params: mac_path },
    dhcpLeaseConvert: { params: mac_path, body: { mac: MAC, mode: 'dynamic', scope_name: SCOPE, comment: 'c', hostname: 'h' } },
    dhcpReservationCreate: {
      body: { scope_name: SCOPE, hostname: 'h', mac: '52:54:00:30:00:99', ip: '10.30.0.99', comment: 'c', create_dns: true, create_ptr: true, dns_zone: ZONE },
    },
    dhcpReservationUpdate: {
      params: mac_path,
      body: { mac: MAC, scope_name: SCOPE, hostname: 'h', new_ip: '10.30.0.98', comment: 'c', enabled: true, update_dns: false },
    },
    dhcpReservationDelete: { params: mac_path, query: { scope_name: SCOPE, delete_dns: 'false' } },
    dhcpScopeCreate: { body: { name: 'bad', network_cidr: '10.8.0.0/24', excluded_ranges: ['10.8.0.12-10.8.0.13'], network_id: 'n', ...scope } },
    dhcpScopeUpdate: {
      ...scope_path,
      body: { name: SCOPE, exclude_range: '10.30.0.30', include_range: '10.30.0.31', ...scope, gateway: '10.30.0.1', start_address: '10.30.0.20', end_address: '10.30.0.120' },
    },
    dnsRecordCreate: { body: { ...record, create_ptr: false, overwrite: false } },
    dnsRecordBulk: {
      body: { zone: ZONE, operations: [{ action: 'ADD', record, old_record: { id: record_id, name: 'a', type: 'A', value: 'v', priority: 1, port: 1, weight: 1 } }] },
    },
    dnsRecordGet: { params: { zone_name: ZONE, record_id } },
    dnsRecordUpdate: { params: { zone_name: ZONE, record_id }, body: { ...record, record_id, update_ptr: false } },
    dnsRecordDelete: { params: { zone_name: ZONE, record_id }, query: { delete_ptr: 'false' } },
    dnsRecordList: { query: { zone_name: ZONE } },
    dnsZoneCreate: { body: { name: 'bad.example', type: 'Primary', comment: 'c', masters: [], network_id: 'n', reverse_zone_cidr: '10.8.0.0/24', create_reverse_zone: false, notify_enabled: true, transfer_enabled: false } },
    dnsZoneUpdate: { ...zone_path, body: { name: ZONE, new_name: 'bad.example', comment: 'c', type: 'Primary', status: 'active', masters: [], notify_enabled: true, transfer_enabled: true } },
    dnsZoneDelete: { ...zone_path, query: { confirm: ZONE } },
    dnsZoneImport: { ...zone_path, body: { zone_file: 'a A 10.0.0.1\n', overwrite: false } },
    ipamSiteCreate: { body: { slug: 'bad', name: 'Bad', is_default: false } },
    ipamSiteDelete: { params: { id: site } },
    ipamRoleCreate: { body: { slug: 'bad', name: 'Bad' } },
    ipamVlanCreate: { body: { vid: 5, name: 'Bad', site_id: site, role_id: 1 } },
    ipamPrefixCreate: { body: { cidr: '10.9.0.0/24', site_id: site, vlan_id: 1, role_id: 1, gateway: '10.9.0.1', dns_servers: ['10.9.0.2'], is_pool: false, excluded_ranges: ['10.9.0.5'], description: 'd' } },
    ipamPrefixDelete: { params: { id: prefix } },
    ipamPrefixGet: { params: { id: prefix } },
    ipamAddressAllocate: { params: { id: prefix }, body: { address: '10.7.0.5', status: 'active', dns_name: 'n.example', owner_kind: 'node', owner_id: 'o', description: 'd' } },
    ddiDriftRepair: { params: { id: 'none' } },
  } // biome-ignore format: one request an operation
  for (const name of ['ipamRoleDelete', 'ipamVlanDelete', 'ipamAddressRelease']) table[name] = { params: { id: 1 } }
  for (const name of ['dhcpScopeGet', 'dhcpScopeDelete', 'dhcpScopeDisable', 'dhcpScopeEnable', 'dhcpScopeStatistics'])
    table[name] = scope_path
  for (const name of ['dnsZoneGet', 'dnsZoneTransfer', 'dnsZoneNotify', 'dnsZoneExport']) table[name] = zone_path
  return Object.fromEntries(Object.keys(ROUTES).map((operation) => [operation, table[operation] ?? {}]))
}

function send(operation: string, { params = {}, query = {}, body }: Valid): Promise<Reply> {
  const { method, path } = ROUTES[operation] ?? { method: 'GET', path: '/' }
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(params[name])))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  return lab.call(method, search.size === 0 ? filled : `${filled}?${search.toString()}`, body)
}

/** Everything that the servers and the address store hold. */
async function held(): Promise<unknown> {
  const { scopes, zones } = structuredClone(lab.addresses.state.now)
  const tables = ['ipam_site', 'ipam_role', 'ipam_vlan', 'ipam_prefix', 'ipam_range', 'ipam_address', 'dhcp_reservation', 'dhcp_scope', 'dns_zone'] as const // biome-ignore format: a list
  const rows = await Promise.all(tables.map((table) => database.db.selectFrom(table).selectAll().execute()))
  // The collector notes how full a scope was, whenever it looks. Rows come in any order.
  const texts = rows.flat().map((row) => JSON.stringify({ ...row, peak_utilization: null }))
  return { scopes, zones, rows: texts.sort() }
}

interface Broken {
  value: unknown
  why: string
}

/** Values that the schema of a field does not allow; in a query and a path everything is text. */
function brokenValues(schema: Schema, as_text: boolean): Broken[] {
  const one = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
  const fixed = one.enum ?? (schema.anyOf?.every((each) => 'const' in each) === true ? ['x'] : undefined)
  if (fixed !== undefined) return [{ value: 'nonsense', why: 'no member of the list' }]
  const other_type: Broken[] = as_text
    ? []
    : [
        { value: one.type === 'object' ? 'text' : { a: 1 }, why: 'an object for a value, or the other way round' },
        ...(one.type === 'array' ? [] : [{ value: [], why: 'a list' }]),
      ]
  switch (one.type) {
    case 'string':
      return [
        ...(as_text
          ? []
          : [
              { value: 7, why: 'a number' },
              { value: true, why: 'a truth value' },
            ]),
        ...other_type,
        ...(one.maxLength === undefined ? [] : [{ value: 'a'.repeat(one.maxLength + 1), why: 'too long' }]),
        ...((one.minLength ?? 0) > 0 && !as_text ? [{ value: '', why: 'empty' }] : []),
        ...(one.pattern === undefined && one.format === undefined
          ? []
          : [
              { value: 'a\u0001b', why: 'a control character' },
              { value: 'a\nb', why: 'two lines' },
            ]),
      ]
    case 'integer':
    case 'number':
      return [
        { value: 'x', why: 'no number' },
        { value: 1.5, why: 'no whole number' },
        { value: (one.minimum ?? 0) - 1, why: 'too small' },
        ...(one.maximum === undefined ? [] : [{ value: one.maximum + 1, why: 'too large' }]),
        ...other_type,
      ]
    case 'boolean':
      return [{ value: 'perhaps', why: 'no truth value' }, ...other_type]
    case 'array':
      return [
        ...other_type,
        ...(one.maxItems === undefined
          ? []
          : [{ value: Array.from({ length: one.maxItems + 1 }, () => '10.0.0.1'), why: 'too many' }]),
      ]
    default:
      return other_type
  }
}

interface Case {
  operation: string
  field: string
  why: string
  request: Valid
}

/** Each field of a part of the request, broken in each way; the fields of objects and lists inside of it, too. */
function casesOf(operation: string, part: keyof Valid, schema: Schema, base: Valid): Case[] {
  const cases: Case[] = []
  const walk = (at: Schema, place: (string | number)[]): void => {
    const put = (value: unknown): Valid => {
      const request = structuredClone({ ...base, [part]: base[part] ?? {} })
      let target = request[part] as Values // made one line above
      for (const step of place.slice(0, -1)) target = target[step] as Values // the base has every field
      target[place.at(-1) ?? ''] = value
      return request
    }
    if (place.length > 0)
      for (const { value, why } of brokenValues(at, part !== 'body'))
        cases.push({ operation, field: String(place.at(-1)), why, request: put(value) })
    for (const [name, inner] of Object.entries(at.properties ?? {})) walk(inner, [...place, name])
    if (at.items !== undefined) walk(at.items, [...place, 0])
    if (at.additionalProperties === false && part === 'body')
      cases.push({ operation, field: 'unheard_of', why: 'unknown', request: putInside(put, base[part], place) })
    for (const name of at.required ?? []) {
      if (part === 'params') continue
      cases.push({ operation, field: name, why: 'missing', request: without(base, part, [...place, name]) })
    }
  }
  walk(schema, [])
  return cases
}

function putInside(put: (value: unknown) => Valid, whole: Values | undefined, place: (string | number)[]): Valid {
  if (place.length === 0) return { ...put(undefined), body: { ...whole, unheard_of: 1 } }
  let target: unknown = whole
  for (const step of place) target = (target as Values)[step] // the base has every field
  return put({ ...(target as Values), unheard_of: 1 }) // an object, since its schema is closed
}

function without(base: Valid, part: keyof Valid, place: (string | number)[]): Valid {
  const request = structuredClone(base)
  let target = request[part] ?? {}
  for (const step of place.slice(0, -1)) target = target[step] as Values // the base has every field
  Reflect.deleteProperty(target, place.at(-1) ?? '')
  return request
}

test('every field of every operation refuses what it cannot be, and nothing is changed', async () => {
  const before = await held()
  const wrong: string[] = []
  let sent = 0
  for (const [operation, route] of Object.entries(ROUTES)) {
    const base = valid[operation] ?? {}
    const parts: [keyof Valid, unknown][] = [['params', route.params], ['query', route.query], ['body', route.body]] // biome-ignore format: a list
    const cases = parts.flatMap(([part, schema]) =>
      schema === undefined ? [] : casesOf(operation, part, schema as Schema, base),
    )
    for (const { field, why, request } of cases) {
      sent += 1
      const { status, body, text } = await send(operation, request)
      const clear = body?.success === false && body.code === 'INVALID_REQUEST' && String(body.message).includes(field)
      if (status !== 400 || !clear) wrong.push(`${operation} ${field} ${why}: ${status} ${text.slice(0, 200)}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(sent > 400, `${sent} requests`)
  assert.deepEqual(await held(), before)
})

const ODD = [
  '', ' ', '.', '..', '@', '*', '-', '%', '0', '-1', 'null', '../../etc/passwd', '$(id)', "';--", '"', '\\', 'a\tb', 'ü', '💥', 'a b', 'A'.repeat(64),
  `${'a.'.repeat(120)}a`, '10.0.0.256', '10.0.0.1/33', '0.0.0.0', '255.255.255.255', '127.0.0.1', '224.0.0.1', 'fe80::1%lo', '00:00:00:00:00:00',
  'ff:ff:ff:ff:ff:ff', '1h30', '999999d', 'localhost', 'in-addr.arpa', '$INCLUDE /etc/passwd', '{}',
] // biome-ignore format: a list

test('odd values are taken or refused with a sentence, never half taken and never a fault of ours', async () => {
  const operations = Object.keys(ROUTES).filter((name) => valid[name]?.body !== undefined && name !== 'dnsRecordBulk')
  const start = structuredClone(lab.addresses.state.now)
  const fields = operations.flatMap((operation) =>
    Object.entries(valid[operation]?.body ?? {}).flatMap(([field, value]) =>
      typeof value === 'string' ? [{ operation, field }] : [],
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...fields), fc.constantFrom(...ODD), async ({ operation, field }, value) => {
      const before = await held()
      const base = valid[operation] ?? {}
      const reply = await send(operation, { ...base, body: { ...base.body, [field]: value } })
      const described = `${operation} ${field} ${JSON.stringify(value)}: ${reply.status} ${reply.text.slice(0, 300)}`
      assert.ok(reply.status < 500, described)
      if (reply.status < 400) {
        lab.addresses.state.replace(structuredClone(start))
        return
      }
      assert.equal(reply.body.success, false, described)
      assert.ok(String(reply.body.message).length > 10, described)
      assert.deepEqual(await held(), before, described)
    }),
    { numRuns: 200, seed: 7 },
  )
})
