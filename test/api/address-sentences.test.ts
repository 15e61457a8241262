// What a scope, a reservation, a lease or a record is refused for by rules of its server and its neighbours: the thing and the
// value are named, and nothing is changed.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { LEASES, mac, ok, RECORDS, refused, RESERVATIONS, SCOPES } from '../support/address-steps.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ addresses: true })
})
after(() => lab?.close())

const SCOPE = 'acme-office'
const ZONE = 'lab.example'
const scope = {
  name: 'new', network_cidr: '10.92.0.0/24', start_address: '10.92.0.10', end_address: '10.92.0.20', gateway: '10.92.0.1',
} // biome-ignore format: one scope
const reservation = { scope_name: SCOPE, mac: mac(50), hostname: 'h' }
const record = { zone: ZONE, name: 'new', type: 'A', value: '10.0.0.1' }
/** 200 characters, as many as fields allow, and twice as many bytes. */
const text = 'é'.repeat(200)

/** What the servers and the store hold. */
async function held() {
  const answers = [SCOPES, `${RESERVATIONS}?scope_name=${SCOPE}`, `${RECORDS}?zone_name=${ZONE}`].map((path) =>
    lab.call('GET', path),
  )
  return (await Promise.all(answers)).map((answer) => ok(answer).data.total_count)
}

const WRONG: readonly [path: string, body: object, field: string, sentence: string][] = [
  [SCOPES, { ...scope, end_address: '10.92.0.10' }, 'body.end_address', '10.92.0.10 is the start too; the DHCP server in use needs a range of two addresses at least'],
  [SCOPES, { ...scope, lease_time: '90s' }, 'body.lease_time', '90 seconds are refused; the DHCP server in use takes multiples of 60 seconds'],
  [RESERVATIONS, { ...reservation, comment: text }, 'body.comment', 'has 400 bytes; the DHCP server in use takes 255 at most'],
  [RECORDS, { ...record, comment: text }, 'body.comment', 'has 400 bytes; the DNS server in use takes 255 at most'],
] // biome-ignore format: one request a line
for (const [path, body, field, sentence] of WRONG) {
  test(`POST ${path}: "${sentence}" is said of ${field}, and nothing is made`, async () => {
    const before_it = await held()
    const answer = await lab.call('POST', path, body)
    assert.deepEqual([answer.status, answer.body.errors], [400, [{ path: field, message: sentence }]], answer.text)
    assert.deepEqual(await held(), before_it)
  })
}

test('an exclusion too many, or outside of the range, is refused by its own field and value, and the scope stays', async () => {
  ok(await lab.call('POST', SCOPES, { ...scope, network_cidr: '10.92.0.0/16', end_address: '10.92.9.255' }), 201)
  const on_server = lab.addresses.state.now.scopes.find(({ name }) => name === scope.name)
  assert.ok(on_server)
  const single = (number: number) => `10.92.${2 + Math.floor(number / 100)}.${2 * (number % 100)}`
  on_server.exclusions = Array.from({ length: 254 }, (_, number) => ({ first: single(number), last: single(number) }))
  lab.addresses.state.changed()
  for (const [exclude_range, message] of [
    ['10.92.9.1', '255 ranges are too many; the DHCP server in use takes 254 at most'],
    ['10.92.12.1', '10.92.12.1 is not inside 10.92.0.10-10.92.9.255'],
  ]) {
    const answer = await lab.call('PUT', `${SCOPES}/${scope.name}`, { name: scope.name, exclude_range })
    assert.deepEqual([answer.status, answer.body.errors], [400, [{ path: 'body.exclude_range', message }]], answer.text)
  }
  assert.equal(on_server.exclusions.length, 254)
})

test('a lease that ends while it is made a reservation is refused by MAC and scope, and no reservation is noted', async () => {
  const client = mac(51)
  assert.equal(lab.addresses.clients.obtain(SCOPE, client)?.type, 'ACK')
  const before_it = await held()
  const order = { mac: client, scope_name: SCOPE, mode: 'reserved', hostname: 'printer' }
  const answer = await onDatabase(lab.database.connection, async (database) => {
    // Readers pass; the note of the order waits, and by then the lease was read.
    await database.query('begin')
    await database.query('lock table dhcp_reservation in share mode')
    const asked = lab.call('POST', `${LEASES}/${client}/convert`, order)
    const waits = `select 1 from pg_locks where relation = 'dhcp_reservation'::regclass and not granted`
    await until('its note waits', async () => (await database.query(waits)).rowCount === 1)
    assert.equal(lab.addresses.clients.release(SCOPE, client), true)
    await database.query('commit')
    return asked
  })
  refused(answer, 400, 'DHCP_LEASE_NOT_FOUND', `The lease of ${client} in scope ${SCOPE} ended meanwhile.`)
  assert.deepEqual(await held(), before_it)
})

test('no record is made beside a CNAME, whose target is named', async () => {
  ok(await lab.call('POST', RECORDS, { ...record, name: 'alias', type: 'CNAME', value: `kvm-01.${ZONE}` }), 201)
  const before_it = await held()
  const answer = await lab.call('POST', RECORDS, { ...record, name: 'alias' })
  const sentence = `alias.${ZONE} is a CNAME of kvm-01.${ZONE}; nothing may stand beside it.`
  refused(answer, 400, 'DNS_RECORD_CONFLICT', sentence)
  assert.deepEqual(await held(), before_it)
})

test('the SOA record is neither changed nor deleted, and its zone is named', async () => {
  const [soa] = ok(await lab.call('GET', `${RECORDS}?zone_name=${ZONE}&record_type=SOA`)).data.records
  const before_it = await held()
  const path = `${RECORDS}/${ZONE}/${soa.id}`
  for (const [method, body] of [
    ['PUT', { zone: ZONE, record_id: soa.id, ttl: 60 }],
    ['DELETE', undefined],
  ] as const) {
    const answer = await lab.call(method, path, body)
    refused(answer, 400, 'DNS_RECORD_CONFLICT', `The SOA record of zone ${ZONE} belongs to the name server.`)
  }
  assert.deepEqual(await held(), before_it)
})

test('a name of an address that lies in no zone is refused by its name, and no record is made', async () => {
  const [address] = ok(await lab.call('GET', '/ddi/public-ips?state=Associated')).data
  const before_it = await held()
  const order = { action: 'create', hostname: 'www.nowhere.test' }
  const answer = await lab.call('PUT', `/ddi/public-ips/${address.id}/dns`, order)
  refused(answer, 400, 'DNS_ZONE_NOT_FOUND', 'No zone holds www.nowhere.test; name one with dns_zone.')
  assert.deepEqual(await held(), before_it)
})

test('names of reservations need a DNS server: the setting is named, and no reservation is left', async () => {
  const { url, token } = lab.addresses
  const silent = { timeout_ms: 15_000 }
  const plain = await startLab({ config: { dhcp: { server: 'technitium', ...silent }, technitium: { url, token } } })
  try {
    const list = `${RESERVATIONS}?scope_name=${SCOPE}`
    const { total_count } = ok(await plain.call('GET', list)).data
    const looked_up = await plain.call('GET', `${list}&include_dns=true`)
    refused(
      looked_up,
      500,
      'DNS_NOT_CONFIGURED',
      'No DNS server is configured (dns.server), so names cannot be looked up.',
    )
    const made = await plain.call('POST', RESERVATIONS, { ...reservation, create_dns: true, dns_zone: ZONE })
    refused(made, 500, 'DNS_NOT_CONFIGURED', 'No DNS server is configured (dns.server), so no names can be published.')
    assert.equal(ok(await plain.call('GET', list)).data.total_count, total_count)
  } finally {
    await plain.close()
  }
})
