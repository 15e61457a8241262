// Random valid operations on scopes, reservations, leases, zones and records: what each needs to be valid is kept here, what
// there is afterwards is asked of the servers.
import assert from 'node:assert/strict'
import { LEASES, ok, RECORDS, RESERVATIONS, SCOPES, ZONES } from './address-steps.ts'
import { type DhcpClient, openDhcpClient } from './dhcp-client.ts'
import type { RealAddresses } from './real-addresses.ts'

/** Numbers that choose among what there is. */
export type Step = readonly [operation: number, first: number, second: number]

interface ModelScope {
  number: number
  enabled: boolean
}
interface ModelReservation {
  scope: string
  ip: string
  enabled: boolean
  zone: string | null
}
export interface ModelRecord {
  zone: string
  type: string
  comment: string
}

export interface AddressModel {
  scopes: Map<string, ModelScope>
  reservations: Map<string, ModelReservation>
  /** Of clients that were given an address, by MAC. */
  leases: Map<string, { scope: string; ip: string }>
  zones: Set<string>
  /** By id. */
  records: Map<string, ModelRecord>
  /** What was done, for the message of a failure. */
  log: string[]
  step(step: Step): Promise<void>
  /** Takes everything away. */
  clear(): Promise<void>
  close(): void
}

const RELAYS = 3

export function createAddressModel(bench: RealAddresses): AddressModel {
  const model: AddressModel = {
    scopes: new Map(),
    reservations: new Map(),
    leases: new Map(),
    zones: new Set(),
    records: new Map(),
    log: [],
    async step([operation, first, second]) {
      const able = OPERATIONS.filter((one) => one.able(state))
      const chosen = able[operation % able.length]
      assert.ok(chosen)
      model.log.push(`${chosen.name} ${first} ${second}`)
      await chosen.run(state, first, second)
    },
    clear: () => clear(state),
    close: () => {
      for (const client of state.clients.values()) client.close()
    },
  }
  const state: State = { ...model, bench, call: bench.call, clients: new Map(), made: 0 }
  return model
}

interface State extends Omit<AddressModel, 'step' | 'clear' | 'close'> {
  bench: RealAddresses
  call: RealAddresses['call']
  clients: Map<number, DhcpClient>
  made: number
}

interface Operation {
  name: string
  able(state: State): boolean
  run(state: State, first: number, second: number): Promise<void>
}

function pick<T>(from: Iterable<T>, at: number): T {
  const all = [...from]
  const chosen = all[at % all.length]
  assert.ok(chosen !== undefined)
  return chosen
}

const macOf = (number: number): string => `52:54:00:70:00:${(number % 256).toString(16).padStart(2, '0')}`

const hasScope = ({ scopes }: State): boolean => scopes.size > 0
const hasReservation = ({ reservations }: State): boolean => reservations.size > 0
const hasLease = ({ leases }: State): boolean => leases.size > 0
const hasZone = ({ zones }: State): boolean => zones.size > 0
const hasRecord = ({ records }: State): boolean => records.size > 0
/** Names of reservations stay in their zone. */
const freeZones = ({ zones, reservations }: State): string[] =>
  [...zones].filter((zone) => ![...reservations.values()].some((one) => one.zone === zone))

const scopeOperations: Operation[] = [
  {
    name: 'create scope',
    able: ({ scopes }) => scopes.size < RELAYS,
    async run(state, first, second) {
      const used = new Set([...state.scopes.values()].map((scope) => scope.number))
      const number = [0, 1, 2].find((one) => !used.has(one)) ?? 0
      const name = `scope ${number}.${first % 10}`
      const start = 10 + (first % 50)
      const end = start + 20 + (second % 100)
      const holes = second % 2 === 0 ? [`10.70.${number}.${start}-10.70.${number}.${start + 4}`] : []
      const body = {
        name,
        network_cidr: `10.70.${number}.0/24`,
        start_address: `10.70.${number}.${start}`,
        end_address: `10.70.${number}.${end}`,
        gateway: first % 3 === 0 ? `10.70.${number}.${start + 6}` : `10.70.${number}.1`,
        dns_servers: second % 3 === 0 ? [] : [`10.70.${number}.2`, '10.9.9.9'],
        lease_time: ['1h', '90m', '7d'][first % 3],
        excluded_ranges: holes,
        description: `made ${first}`,
      }
      ok(await state.call('POST', SCOPES, body), 201)
      await state.bench.servers.editScope(name, (subnet) => (subnet.relay = { 'ip-addresses': [relayOf(number)] }))
      state.scopes.set(name, { number, enabled: true })
    },
  },
  {
    name: 'change scope',
    able: hasScope,
    async run(state, first, second) {
      const [name] = pick(state.scopes, first)
      const { scope } = ok(await state.call('GET', `${SCOPES}/${encodeURIComponent(name)}`)).data
      const last = Number(scope.end_address.split('.')[3])
      const prefix = scope.end_address.split('.').slice(0, 3).join('.')
      const hole = `${prefix}.${last - 3}-${prefix}.${last - 1}`
      const changes = [
        { exclude_range: hole },
        { include_range: hole },
        { lease_time: '2h' },
        { description: `changed ${second}` },
        { dns_servers: ['10.9.9.8'] },
        { end_address: `${prefix}.${Math.min(last + 5, 200)}` },
      ]
      const body = { name, ...changes[second % changes.length] }
      ok(await state.call('PUT', `${SCOPES}/${encodeURIComponent(name)}`, body))
    },
  },
  {
    name: 'switch scope',
    able: hasScope,
    async run(state, first) {
      const [name, scope] = pick(state.scopes, first)
      const word = scope.enabled ? 'disable' : 'enable'
      ok(await state.call('POST', `${SCOPES}/${encodeURIComponent(name)}/${word}`))
      state.scopes.set(name, { ...scope, enabled: !scope.enabled })
    },
  },
  {
    name: 'delete scope',
    able: ({ scopes }) => scopes.size === RELAYS,
    async run(state, first) {
      const [name] = pick(state.scopes, first)
      ok(await state.call('DELETE', `${SCOPES}/${encodeURIComponent(name)}?force=true`))
      state.scopes.delete(name)
      for (const held of [state.reservations, state.leases])
        for (const [mac, { scope }] of held) if (scope === name) held.delete(mac)
    },
  },
]

const relayOf = (number: number): string => `127.0.0.${60 + number}`

async function clientOf(state: State, scope: string): Promise<DhcpClient> {
  const number = state.scopes.get(scope)?.number ?? 0
  const known = state.clients.get(number) ?? (await openDhcpClient(relayOf(number), state.bench.servers.kea.port))
  state.clients.set(number, known)
  return known
}

const enabledScopes = (state: State): string[] =>
  [...state.scopes].flatMap(([name, scope]) => (scope.enabled ? [name] : []))

const reservationOperations: Operation[] = [
  {
    name: 'reserve',
    able: hasScope,
    async run(state, first, second) {
      state.made += 1
      const [scope_name, { number }] = pick(state.scopes, first)
      const mac = macOf(100 + state.made)
      const dns_zone = hasZone(state) && second % 2 === 0 ? pick(state.zones, second) : null
      const names = dns_zone === null ? {} : { create_dns: true, dns_zone, create_ptr: second % 3 !== 0 }
      // High addresses are outside of every range and are given by this number alone.
      const ip = second % 3 === 0 ? { ip: `10.70.${number}.${200 + (state.made % 50)}` } : {}
      const body = { scope_name, mac, hostname: `host-${state.made}`, comment: `"${first}"; ü`, ...names, ...ip }
      const reply = await state.call('POST', RESERVATIONS, body)
      if (reply.body.code === 'DHCP_ADDRESS_TAKEN') return
      const made = ok(reply, 201)
      state.reservations.set(mac, { scope: scope_name, ip: made.ip, enabled: true, zone: dns_zone })
    },
  },
  {
    name: 'change reservation',
    able: hasReservation,
    async run(state, first, second) {
      const [mac, held] = pick(state.reservations, first)
      const number = state.scopes.get(held.scope)?.number ?? 0
      state.made += 1
      const changes = [
        { new_ip: `10.70.${number}.${200 + (state.made % 50)}` },
        { hostname: `host-${state.made}` },
        { comment: `changed ${second}` },
        { enabled: !held.enabled },
      ]
      const change = changes[second % changes.length]
      const body = { mac, scope_name: held.scope, update_dns: true, ...change }
      const reply = await state.call('PUT', `${RESERVATIONS}/${mac}`, body)
      if (reply.body.code === 'DHCP_ADDRESS_TAKEN') return
      const { ip } = ok(reply)
      const enabled = change !== undefined && 'enabled' in change ? !held.enabled : held.enabled
      state.reservations.set(mac, { ...held, ip, enabled })
    },
  },
  {
    name: 'delete reservation',
    able: hasReservation,
    async run(state, first) {
      const [mac, { scope }] = pick(state.reservations, first)
      ok(await state.call('DELETE', `${RESERVATIONS}/${mac}?scope_name=${encodeURIComponent(scope)}&delete_dns=true`))
      state.reservations.delete(mac)
    },
  },
  {
    name: 'obtain',
    able: (state) => enabledScopes(state).length > 0,
    async run(state, first, second) {
      const scope = pick(enabledScopes(state), first)
      const held = [...state.reservations].filter(([, one]) => one.scope === scope)
      const mac = held.length > 0 && second % 2 === 0 ? pick(held, second)[0] : macOf(second % 40)
      if ((state.leases.get(mac)?.scope ?? scope) !== scope) return
      const client = await clientOf(state, scope)
      const ip = (await client.obtain(mac))?.ip
      assert.ok(ip !== undefined, `${mac} is offered nothing in ${scope}`)
      const reserved = state.reservations.get(mac)
      if (reserved?.enabled === true && reserved.scope === scope) assert.equal(ip, reserved.ip)
      state.leases.set(mac, { scope, ip })
    },
  },
  {
    name: 'release',
    able: hasLease,
    async run(state, first) {
      const [mac, { scope, ip }] = pick(state.leases, first)
      await (await clientOf(state, scope)).release(mac, ip)
      state.leases.delete(mac)
    },
  },
  {
    name: 'convert and renew',
    able: (state) => enabledScopes(state).length > 0 && hasLease(state),
    async run(state, first) {
      const leases = [...state.leases].filter(([, { scope }]) => state.scopes.get(scope)?.enabled === true)
      if (leases.length === 0) return
      const [mac, { scope, ip }] = pick(leases, first)
      const convert = { mac, scope_name: scope }
      const reserved = state.reservations.get(mac)
      if (reserved !== undefined) return
      // The truth about a client is the server's: an address may have left the ranges meanwhile.
      const reply = await state.call('POST', `${LEASES}/${mac}/convert`, { ...convert, mode: 'reserved', hostname: `kept-${first}` }) // biome-ignore format: one call
      if (reply.body.code === 'DHCP_LEASE_NOT_FOUND') return
      ok(reply)
      state.reservations.set(mac, { scope, ip, enabled: true, zone: null })
      const answer = await (await clientOf(state, scope)).renew(mac, ip)
      assert.deepEqual([answer?.type, answer?.ip], ['ACK', ip], 'the client keeps its address')
      if (first % 2 === 0) return
      ok(await state.call('POST', `${LEASES}/${mac}/convert`, { ...convert, mode: 'dynamic' }))
      state.reservations.delete(mac)
    },
  },
]

const zoneOperations: Operation[] = [
  {
    name: 'create zone',
    able: ({ zones }) => zones.size < 3,
    async run(state, first) {
      state.made += 1
      const name = `zone-${state.made}.example`
      const reverse = { create_reverse_zone: true, reverse_zone_cidr: '10.70.0.0/16' }
      ok(await state.call('POST', ZONES, { name, type: 'Primary', comment: `made ${first}`, ...reverse }), 201)
      state.zones.add(name)
    },
  },
  {
    name: 'pause zone and resume it',
    able: hasZone,
    async run(state, first) {
      const name = pick(state.zones, first)
      ok(await state.call('PUT', `${ZONES}/${name}`, { name, status: 'paused' }))
      assert.equal(await state.bench.resolve(name, 'A'), undefined)
      ok(await state.call('PUT', `${ZONES}/${name}`, { name, status: 'active' }))
    },
  },
  {
    name: 'rename zone',
    able: (state) => freeZones(state).length > 0,
    async run(state, first) {
      const name = pick(freeZones(state), first)
      state.made += 1
      const new_name = `renamed-${state.made}.example`
      ok(await state.call('PUT', `${ZONES}/${name}`, { name, new_name }))
      state.zones.delete(name)
      state.zones.add(new_name)
      for (const record of state.records.values()) if (record.zone === name) record.zone = new_name
    },
  },
  {
    name: 'delete zone',
    able: (state) => state.zones.size === 3 && freeZones(state).length > 0,
    async run(state, first) {
      const name = pick(freeZones(state), first)
      ok(await state.call('DELETE', `${ZONES}/${name}?confirm=${name}`))
      state.zones.delete(name)
      for (const [id, { zone }] of state.records) if (zone === name) state.records.delete(id)
    },
  },
]

function valueOf(type: string, number: number): Record<string, unknown> {
  if (type === 'A') return { value: `10.70.${number % 3}.${150 + (number % 40)}` }
  if (type === 'AAAA') return { value: `2001:db8::${(number % 5000).toString(16)}` }
  if (type === 'MX') return { value: `mail-${number % 5}.elsewhere.example`, priority: number % 100 }
  if (type === 'SRV') return { value: `srv.elsewhere.example`, priority: 1, weight: number % 9, port: number % 60_000 }
  if (type === 'TXT') return { value: `say "${number}"; \\ü ${'x'.repeat(number % 400)}` }
  if (type === 'CAA') return { value: `0 issue "ca-${number % 9}.example"` }
  return { value: `target-${number % 9}.elsewhere.example` }
}

const TYPES = ['A', 'A', 'AAAA', 'MX', 'SRV', 'TXT', 'CAA', 'CNAME'] as const

const recordOperations: Operation[] = [
  {
    name: 'add record',
    able: hasZone,
    async run(state, first, second) {
      const zone = pick(state.zones, first)
      const type = TYPES[second % TYPES.length] ?? 'A'
      state.made += 1
      // Few names, so that sets of several records come about; an alias has one of its own.
      const name = type === 'CNAME' ? `alias-${state.made}` : `name-${first % 4}`
      const comment = second % 2 === 0 ? `comment ${state.made}` : ''
      const body = { zone, name, type, ttl: 60 + (first % 500), comment, ...valueOf(type, second) }
      const reply = await state.call('POST', RECORDS, type === 'A' ? { ...body, create_ptr: first % 2 === 0 } : body)
      if (reply.body.code === 'DNS_RECORD_EXISTS') return
      state.records.set(ok(reply, 201).record_id, { zone, type, comment })
    },
  },
  {
    name: 'change record',
    able: hasRecord,
    async run(state, first, second) {
      const [id, record] = pick(state.records, first)
      const { zone, type } = record
      const changes = [
        { ...valueOf(type, second), ...(type === 'A' ? { update_ptr: true } : {}) },
        { ttl: 60 + (second % 900) },
        { comment: '' },
        { comment: `changed ${second}` },
      ]
      const change = changes[second % changes.length] ?? {}
      const reply = await state.call('PUT', `${RECORDS}/${zone}/${id}`, { zone, record_id: id, ...change })
      if (reply.body.code === 'DNS_RECORD_EXISTS') return
      ok(reply)
      if ('comment' in change) state.records.set(id, { ...record, comment: change.comment })
    },
  },
  {
    name: 'delete record',
    able: hasRecord,
    async run(state, first, second) {
      const [id, { zone }] = pick(state.records, first)
      ok(await state.call('DELETE', `${RECORDS}/${zone}/${id}?delete_ptr=${second % 2 === 0}`))
      state.records.delete(id)
    },
  },
  {
    name: 'bulk',
    able: hasZone,
    async run(state, first, second) {
      const zone = pick(state.zones, first)
      state.made += 1
      const name = `bulk-${state.made}`
      const add = (value: string) => ({ action: 'ADD', record: { zone, name, type: 'A', value } })
      const old_record = { name, type: 'A', value: '10.70.9.2' }
      const operations = [
        add('10.70.9.1'),
        add('10.70.9.2'),
        add('not an address'),
        { action: 'UPDATE', old_record, record: { zone, name, type: 'A', value: '10.70.9.3', ttl: 77 + (second % 9) } },
        { action: 'DELETE', old_record: { name, type: 'A', value: '10.70.9.1' } },
      ]
      const answer = await state.call('POST', `${RECORDS}/bulk`, { zone, operations })
      assert.deepEqual([answer.body.succeeded, answer.body.failed], [4, 1], answer.text)
      state.records.set(answer.body.results[3].record_id, { zone, type: 'A', comment: '' })
    },
  },
]

const OPERATIONS = [...scopeOperations, ...reservationOperations, ...zoneOperations, ...recordOperations]

async function clear(state: State): Promise<void> {
  for (const { name } of ok(await state.call('GET', `${SCOPES}?page_size=500`)).data.scopes)
    ok(await state.call('DELETE', `${SCOPES}/${encodeURIComponent(name)}?force=true`))
  for (const { name } of ok(await state.call('GET', `${ZONES}?page_size=500`)).data.zones)
    ok(await state.call('DELETE', `${ZONES}/${name}?confirm=${name}`))
  for (const held of [state.scopes, state.reservations, state.leases, state.zones, state.records]) held.clear()
  state.log.length = 0
}
