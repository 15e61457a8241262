// The drivers of Technitium against the lab's address server: both interfaces, and the traps of the server.
import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { after, before, beforeEach, describe, test } from 'node:test'
import { startTechnitium, type TechnitiumLab } from '../../lab/technitium/server.ts'
import type { DhcpScope } from '#src/drivers/ddi/dhcp-server.ts'
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'
import { createTechnitiumDhcp, type TechnitiumDhcp } from '#src/drivers/technitium/dhcp.ts'
import { createTechnitiumDns, type TechnitiumDns } from '#src/drivers/technitium/dns.ts'
import type { TechnitiumConfig } from '#src/drivers/technitium/transport.ts'
import { createLog } from '#src/kernel/log.ts'

const log = createLog({ level: 'silent' })
const OPTIONS = {
  name_servers: ['ns1.lab.example', 'ns2.lab.example'],
  hostmaster: 'hostmaster.lab.example',
  transfer_networks: ['127.0.0.0/8'],
  log,
}
const ZONE = 'lab.example'
const REVERSE = '0.20.10.in-addr.arpa'
const MACS = ['52:54:00:00:00:01', '52:54:00:00:00:02', '52:54:00:00:00:03'] as const
const office: DhcpScope = {
  name: 'office',
  network: '10.77.0.0/24',
  range: { first: '10.77.0.1', last: '10.77.0.12' },
  excluded: [{ first: '10.77.0.4', last: '10.77.0.9' }],
  gateway: '10.77.0.1',
  dns_servers: ['10.77.0.2', '10.77.0.3'],
  lease_seconds: 90_060,
  enabled: true,
}

let lab: TechnitiumLab
let dhcp: TechnitiumDhcp
let dns: TechnitiumDns
const resolver = new Resolver()

before(async () => {
  lab = await startTechnitium()
  dhcp = createTechnitiumDhcp(config(), { log })
  dns = createTechnitiumDns(config(), OPTIONS)
  resolver.setServers([`127.0.0.1:${lab.dns_port}`])
})
after(async () => {
  await dhcp?.close()
  await dns?.close()
  await lab?.close()
})
beforeEach(() => lab.reset())

function config(): TechnitiumConfig {
  return { url: lab.url, token: lab.token, timeout_ms: 5000 }
}

async function control(path: string, body: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${lab.control_url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
  assert.equal(response.status, 200, await response.text())
}

function record(fields: Partial<RecordData> & Pick<RecordData, 'fqdn' | 'type' | 'value'>): RecordData {
  return { ttl: 300, priority: null, weight: null, port: null, comment: '', ...fields }
}

const add = (one: RecordData, zone = ZONE): Promise<void> => dns.changeRecords(zone, [{ action: 'add', record: one }])
const lineOf = ({ fqdn, type, value, ttl, comment }: RecordData): string => [fqdn, type, value, ttl, comment].join(' ')
const linesOf = async (zone = ZONE): Promise<string[]> => (await dns.records(zone)).filter((one) => one.type !== 'SOA').map(lineOf).sort() // biome-ignore format: one thought
const rejection = (upstream: 'DHCP' | 'DNS') => ({ name: 'UpstreamError', upstream, failure: 'error', status: 400 })

describe('DHCP', () => {
  const mine = async (): Promise<DhcpScope | undefined> => (await dhcp.scopes()).find((one) => one.name === 'office')

  test('a scope is read back as it was ordered, and publishes no names of its own', async () => {
    await dhcp.createScope(office)
    assert.deepEqual(await mine(), office)
    assert.equal(lab.state.now.scopes.find((one) => one.name === 'office')?.dns_updates, false)
    const closed = { ...office, name: 'closed', network: '10.78.0.0/24', range: { first: '10.78.0.5', last: '10.78.0.6' }, gateway: '', excluded: [], enabled: false } // biome-ignore format: one record
    await dhcp.createScope(closed)
    assert.deepEqual(
      (await dhcp.scopes()).find((one) => one.name === 'closed'),
      closed,
    )
  })

  test('a name or network that is taken is refused, also where the server would not see it', async () => {
    const before = await dhcp.scopes()
    const wide = { ...office, name: 'wide', network: '10.20.0.0/16', range: { first: '10.20.0.5', last: '10.20.1.5' } }
    await assert.rejects(dhcp.createScope({ ...wide, gateway: '', excluded: [] }), rejection('DHCP'))
    await assert.rejects(dhcp.createScope({ ...office, name: 'management' }), rejection('DHCP'))
    assert.deepEqual(await dhcp.scopes(), before)
  })

  test('a scope that cannot be switched as ordered is not made at all', async () => {
    await control('fail', { command: 'dhcp/scopes/disable', text: 'no' })
    await assert.rejects(dhcp.createScope({ ...office, enabled: false }), rejection('DHCP'))
    assert.equal(await mine(), undefined)
    await control('pretend', { command: 'dhcp/scopes/disable' })
    await assert.rejects(dhcp.createScope({ ...office, enabled: false }), rejection('DHCP'))
    assert.equal(await mine(), undefined)
  })

  test('a change that is refused half-way leaves the scope as it was', async () => {
    await dhcp.createScope(office)
    await assert.rejects(
      dhcp.updateScope('office', { ...office, lease_seconds: 60, gateway: 'nowhere' }),
      rejection('DHCP'),
    )
    assert.deepEqual(await mine(), office)
    await control('fail', { command: 'dhcp/scopes/set', text: 'no' })
    await assert.rejects(
      dhcp.updateScope('office', { ...office, enabled: false, lease_seconds: 60 }),
      rejection('DHCP'),
    )
    assert.deepEqual(await mine(), office)
  })

  test('a changed scope has exactly what was sent, and one that is gone is refused', async () => {
    await dhcp.createScope(office)
    const changed = { ...office, range: { first: '10.77.0.20', last: '10.77.0.90' }, excluded: [], gateway: '', dns_servers: [], enabled: false } // biome-ignore format: one record
    await dhcp.updateScope('office', changed)
    assert.deepEqual(await mine(), changed)
    await dhcp.deleteScope('office')
    assert.equal(await mine(), undefined)
    await assert.rejects(dhcp.updateScope('office', office), rejection('DHCP'))
    await assert.rejects(dhcp.deleteScope('office'), rejection('DHCP'))
  })

  test('gateway, name servers and excluded addresses are never handed out, and leases are read as they are', async () => {
    await dhcp.createScope(office)
    const given = [...MACS, '52:54:00:00:00:04'].map((mac) => lab.clients.obtain('office', mac, 'client'))
    assert.deepEqual(given.map((answer) => (answer?.type === 'ACK' ? answer.ip : null)), ['10.77.0.10', '10.77.0.11', '10.77.0.12', null]) // biome-ignore format: one line
    const [lease] = await dhcp.leases({ mac: MACS[1] })
    assert.partialDeepStrictEqual(lease, { mac: MACS[1], ip: '10.77.0.11', scope: 'office', hostname: 'client', lease_seconds: 90_060 }) // biome-ignore format: one record
    assert.equal((lease?.expires_at.getTime() ?? 0) - (lease?.renewed_at?.getTime() ?? 0), 90_060_000)
    assert.equal((await dhcp.leases({ scope: 'office' })).length, 3)
    assert.equal((await dhcp.leases({})).length, 7)
    assert.deepEqual(await dhcp.leases({ mac: '52:54:00:ff:ff:ff' }), [])
  })

  test('a client keeps its address when its lease becomes a reservation, and when it stops being one', async () => {
    await dhcp.createScope(office)
    lab.clients.obtain('office', MACS[0])
    const reservation = { mac: MACS[0], ip: '10.77.0.10', hostname: 'printer', comment: 'second "floor" | 2% of ü' }
    assert.equal(await dhcp.reserveLease('office', reservation), true)
    assert.deepEqual(await dhcp.reservations('office'), [{ ...reservation, scope: 'office' }])
    assert.partialDeepStrictEqual(lab.clients.renew('office', MACS[0]), { type: 'ACK', ip: '10.77.0.10', hostname: 'printer' }) // biome-ignore format: one line
    await dhcp.changeReservations('office', { put: [{ ...reservation, hostname: 'copier' }] })
    assert.partialDeepStrictEqual(lab.clients.renew('office', MACS[0]), { type: 'ACK', hostname: 'copier' })
    await dhcp.releaseReservation('office', MACS[0])
    assert.deepEqual(await dhcp.reservations('office'), [])
    assert.equal(lab.clients.renew('office', MACS[0])?.type, 'ACK')
    await dhcp.releaseReservation('office', MACS[0])
  })

  test('a reservation of a lease that is gone is refused', async () => {
    await dhcp.createScope(office)
    const reservation = { mac: MACS[0], ip: '10.77.0.12', hostname: 'nobody', comment: '' }
    assert.equal(await dhcp.reserveLease('office', reservation), false)
    assert.deepEqual(await dhcp.reservations('office'), [])
  })

  test('a client whose reservation moves is refused its old address and gets the new one, also outside the range', async () => {
    await dhcp.createScope(office)
    const put = (ip: string): Promise<void> => dhcp.changeReservations('office', { put: [{ mac: MACS[1], ip, hostname: 'web', comment: '' }] }) // biome-ignore format: one line
    await put('10.77.0.11')
    lab.clients.obtain('office', MACS[1])
    await put('10.77.0.99')
    assert.equal(lab.clients.renew('office', MACS[1])?.type, 'NAK')
    assert.deepEqual(await dhcp.leases({ mac: MACS[1] }), [], 'nobody holds the old address')
    assert.partialDeepStrictEqual(lab.clients.obtain('office', MACS[1]), { ip: '10.77.0.99' })
    await dhcp.releaseReservation('office', MACS[1])
    assert.deepEqual(await dhcp.leases({ mac: MACS[1] }), [])
    assert.equal(lab.clients.renew('office', MACS[1])?.type, 'NAK')
  })

  test('an exclusion stays when the reservation of its address ends', async () => {
    const excluded = [{ first: '10.77.0.6', last: '10.77.0.6' }]
    await dhcp.createScope({ ...office, excluded })
    await dhcp.changeReservations('office', { put: [{ mac: MACS[0], ip: '10.77.0.6', hostname: 'a', comment: '' }] })
    lab.clients.obtain('office', MACS[0])
    await dhcp.releaseReservation('office', MACS[0])
    assert.deepEqual((await mine())?.excluded, excluded)
    assert.deepEqual(await dhcp.leases({ scope: 'office' }), [])
  })

  test('reservations change together or not at all', async () => {
    await dhcp.createScope(office)
    const [a, b] = [MACS[0], MACS[1]].map((mac, index) => ({ mac, ip: `10.77.0.${10 + index}`, hostname: `h${index}`, comment: '' })) // biome-ignore format: one line
    assert.ok(a && b)
    await dhcp.changeReservations('office', { put: [a, b] })
    const before = await dhcp.reservations('office')
    const twice = { put: [{ ...a, ip: b.ip }] }
    await assert.rejects(dhcp.changeReservations('office', twice), rejection('DHCP'))
    const bad = {
      put: [
        { ...a, hostname: 'new' },
        { ...b, ip: '10.77.0.999' },
      ],
      remove: [],
    }
    await assert.rejects(dhcp.changeReservations('office', bad), rejection('DHCP'))
    assert.deepEqual(await dhcp.reservations('office'), before)
    await control('lose-answer', { command: 'dhcp/scopes/addReservedLease' })
    const third = { mac: MACS[2], ip: '10.77.0.12', hostname: 'h2', comment: '' }
    await assert.rejects(dhcp.changeReservations('office', { put: [third], remove: [MACS[0]] }), {
      failure: 'unavailable',
    })
    assert.deepEqual(await dhcp.reservations('office'), before)
    await dhcp.changeReservations('office', {
      put: [
        { ...a, ip: b.ip },
        { ...b, ip: a.ip },
      ],
    })
    assert.deepEqual((await dhcp.reservations('office')).map((row) => row.mac), [b.mac, a.mac]) // biome-ignore format: one line
    await dhcp.changeReservations('office', { remove: [a.mac, b.mac] })
    assert.deepEqual(await dhcp.reservations('office'), [])
    assert.equal((await dhcp.reservations()).length, 3)
  })

  test('a disabled scope falls silent, keeps its leases, and serves again', async () => {
    await dhcp.createScope(office)
    lab.clients.obtain('office', MACS[0])
    await dhcp.updateScope('office', { ...office, enabled: false })
    assert.equal(lab.clients.renew('office', MACS[0]), null)
    assert.equal((await dhcp.leases({ scope: 'office' })).length, 1)
    await dhcp.updateScope('office', office)
    assert.equal(lab.clients.renew('office', MACS[0])?.type, 'ACK')
    assert.deepEqual(await dhcp.counters('office'), {})
  })
})

describe('DNS', () => {
  test('zones that the server keeps for itself and lists of members are not shown', async () => {
    const names = (await dns.zones()).map((zone) => zone.name)
    assert.deepEqual(names, ['0.20.10.in-addr.arpa', '0.30.10.in-addr.arpa', '113.0.203.in-addr.arpa', 'acme.example', 'lab.example']) // biome-ignore format: one list
  })

  test('a zone is read back as it was ordered, with the configured name servers', async () => {
    await dns.createZone({ name: 'office.example', type: 'Primary', notify: false, transfer: true, enabled: false })
    const zone = await dns.zone('office.example')
    assert.partialDeepStrictEqual(zone, { name: 'office.example', type: 'Primary', enabled: false, masters: [], notify: false, transfer: true }) // biome-ignore format: one record
    assert.ok(zone?.modified_at instanceof Date)
    const records = await dns.records('office.example')
    assert.deepEqual(records.filter((one) => one.type === 'NS').map((one) => one.value).sort(), OPTIONS.name_servers) // biome-ignore format: one line
    assert.match(
      records.find((one) => one.type === 'SOA')?.value ?? '',
      /^ns1\.lab\.example\. hostmaster\.lab\.example\. \d+ /,
    )
    assert.equal(await dns.zone('nowhere.example'), undefined)
  })

  test('a zone that cannot be finished is not left behind', async () => {
    await control('fail', { command: 'zones/options/set', text: 'no' })
    await assert.rejects(dns.createZone({ name: 'office.example', type: 'Primary' }), rejection('DNS'))
    assert.equal(await dns.zone('office.example'), undefined)
  })

  test('what is asked of a zone is never done to the one that encloses it', async () => {
    const before = await linesOf()
    const below = `deep.${ZONE}`
    await assert.rejects(dns.records(below), rejection('DNS'))
    await assert.rejects(add(record({ fqdn: `x.${below}`, type: 'A', value: '10.1.1.1' }), below), rejection('DNS'))
    await assert.rejects(dns.deleteZone(below), rejection('DNS'))
    await assert.rejects(dns.changeZone(below, { enabled: false }), rejection('DNS'))
    assert.deepEqual(await linesOf(), before)
  })

  test('records of every type are read back and answered as they were written', async () => {
    const rows = [
      record({ fqdn: `web.${ZONE}`, type: 'A', value: '10.77.0.60', comment: 'first' }),
      record({ fqdn: `web.${ZONE}`, type: 'AAAA', value: '2001:db8::60' }),
      record({ fqdn: `w.${ZONE}`, type: 'CNAME', value: `web.${ZONE}` }),
      record({ fqdn: `web.${ZONE}`, type: 'MX', priority: 10, value: `mail.${ZONE}` }),
      record({ fqdn: `_sip._tcp.${ZONE}`, type: 'SRV', priority: 1, weight: 2, port: 5060, value: `web.${ZONE}` }),
      record({ fqdn: `txt.${ZONE}`, type: 'TXT', value: `a "quoted" text; with \\ and ü ${'long '.repeat(60)}` }),
      record({ fqdn: `sub.${ZONE}`, type: 'NS', value: `ns2.${ZONE}` }),
      record({ fqdn: `web.${ZONE}`, type: 'CAA', value: '0 issue "ca.example"' }),
    ]
    const before = await dns.records(ZONE)
    await dns.changeRecords(ZONE, rows.map((one) => ({ action: 'add', record: one }))) // biome-ignore format: one line
    const ours = (await dns.records(ZONE)).filter((one) => !before.some((old) => lineOf(old) === lineOf(one)))
    assert.deepEqual(ours.filter((one) => one.type !== 'SOA').map(lineOf).sort(), rows.map(lineOf).sort()) // biome-ignore format: one line
    assert.deepEqual(
      ours.find((one) => one.type === 'SRV'),
      rows[4],
    )
    assert.deepEqual(await resolver.resolve4(`w.${ZONE}`), ['10.77.0.60'])
    assert.deepEqual(await resolver.resolve6(`web.${ZONE}`), ['2001:db8::60'])
    assert.partialDeepStrictEqual(await resolver.resolveMx(`web.${ZONE}`), [{ exchange: `mail.${ZONE}`, priority: 10 }])
    assert.equal((await resolver.resolveSrv(`_sip._tcp.${ZONE}`))[0]?.port, 5060)
    assert.equal((await resolver.resolveCaa(`web.${ZONE}`))[0]?.issue, 'ca.example')
    const [text = []] = await resolver.resolveTxt(`txt.${ZONE}`)
    assert.equal(Buffer.from(text.join(''), 'latin1').toString('utf8'), rows[5]?.value)
  })

  test('one line of a set is changed, added and removed without the others, and keeps what was not changed', async () => {
    const web = record({ fqdn: `web.${ZONE}`, type: 'A', value: '10.77.0.60', comment: 'kept' })
    const second = { ...web, value: '10.77.0.61', comment: '' }
    await add(web)
    await add(second)
    const moved = { ...web, value: '10.77.0.62' }
    await dns.changeRecords(ZONE, [{ action: 'update', old: web, record: moved }])
    assert.deepEqual((await dns.records(ZONE, { fqdn: web.fqdn })).map(lineOf).sort(), [second, moved].map(lineOf).sort()) // biome-ignore format: one line
    await dns.changeRecords(ZONE, [{ action: 'update', old: moved, record: { ...moved, ttl: 60 } }])
    assert.deepEqual((await dns.records(ZONE, { fqdn: web.fqdn })).map((one) => one.ttl), [60, 60]) // biome-ignore format: one line
    await dns.changeRecords(ZONE, [{ action: 'delete', old: second }])
    assert.deepEqual(await resolver.resolve4(web.fqdn), ['10.77.0.62'])
    await dns.changeRecords(ZONE, [{ action: 'replace', record: web }])
    assert.deepEqual((await dns.records(ZONE, { fqdn: web.fqdn })).map(lineOf), [lineOf(web)])
    await assert.rejects(add(web), rejection('DNS'))
    const renamed = { ...web, fqdn: `new.${ZONE}`, type: 'AAAA', value: '2001:db8::1' }
    await dns.changeRecords(ZONE, [{ action: 'update', old: web, record: renamed }])
    assert.deepEqual(await dns.records(ZONE, { fqdn: web.fqdn }), [])
    assert.deepEqual((await dns.records(ZONE, { fqdn: renamed.fqdn })).map(lineOf), [lineOf(renamed)])
  })

  test('an alias is changed, and may take the place of what is removed in the same batch', async () => {
    const old = record({ fqdn: `swap.${ZONE}`, type: 'A', value: '10.77.0.80' })
    await add(old)
    const alias = record({ fqdn: `swap.${ZONE}`, type: 'CNAME', value: `kvm-01.${ZONE}` })
    await dns.changeRecords(ZONE, [{ action: 'add', record: alias }, { action: 'delete', old }]) // biome-ignore format: one line
    assert.deepEqual(await resolver.resolve4(old.fqdn), ['10.20.0.11'])
    await dns.changeRecords(ZONE, [{ action: 'update', old: alias, record: { ...alias, value: `kvm-02.${ZONE}` } }])
    assert.deepEqual(await resolver.resolve4(old.fqdn), ['10.20.0.12'])
  })

  test('a batch with one bad record changes nothing', async () => {
    const before = await linesOf()
    const [good, bad] = ['10.77.0.70', 'no address'].map((value) => record({ fqdn: `b.${ZONE}`, type: 'A', value }))
    const [gone] = await dns.records(ZONE, { fqdn: `kvm-02.${ZONE}` })
    assert.ok(good && bad && gone)
    const [alias] = await dns.records(ZONE, { fqdn: `console.${ZONE}` })
    assert.ok(alias)
    const changes = [
      { action: 'delete' as const, old: gone },
      { action: 'update' as const, old: alias, record: { ...alias, value: `mail.${ZONE}` } },
      { action: 'add' as const, record: good },
      { action: 'add' as const, record: bad },
    ]
    await assert.rejects(dns.changeRecords(ZONE, changes), rejection('DNS'))
    assert.deepEqual(await linesOf(), before)
    const late = record({ fqdn: `late.${ZONE}`, type: 'A', value: '10.77.0.71', ttl: 999_999_999 })
    await assert.rejects(dns.changeRecords(ZONE, [{ action: 'add', record: good }, { action: 'add', record: late }])) // biome-ignore format: one line
    assert.deepEqual(await linesOf(), before)
  })

  test('a change whose answer is lost is rolled back', async () => {
    const before = await linesOf()
    await control('lose-answer', { command: 'zones/records/add' })
    const one = record({ fqdn: `lost.${ZONE}`, type: 'A', value: '10.77.0.70' })
    await assert.rejects(add(one), { failure: 'unavailable' })
    assert.deepEqual(await linesOf(), before)
  })

  test('the reverse record of a deleted address stays until somebody asks for its end', async () => {
    const before = await linesOf(REVERSE)
    const [old] = await dns.records(ZONE, { fqdn: `kvm-02.${ZONE}` })
    assert.ok(old)
    await dns.changeRecords(ZONE, [{ action: 'delete', old }])
    assert.deepEqual(await linesOf(REVERSE), before)
    assert.deepEqual(await resolver.reverse('10.20.0.12'), [`kvm-02.${ZONE}`])
  })

  test('a zone that is off answers nobody, and again when it is on', async () => {
    await dns.changeZone(ZONE, { enabled: false })
    assert.equal((await dns.zone(ZONE))?.enabled, false)
    await assert.rejects(resolver.resolve4(`kvm-01.${ZONE}`), { code: 'EREFUSED' })
    await dns.changeZone(ZONE, { enabled: true })
    assert.deepEqual(await resolver.resolve4(`kvm-01.${ZONE}`), ['10.20.0.11'])
    await assert.rejects(resolver.resolve4(`nobody.${ZONE}`), { code: 'ENOTFOUND' })
    await assert.rejects(resolver.resolveMx(`kvm-01.${ZONE}`), { code: 'ENODATA' })
  })

  test('notify and transfer are switched alone', async () => {
    await dns.changeZone(ZONE, { notify: false })
    assert.partialDeepStrictEqual(await dns.zone(ZONE), { notify: false, transfer: true })
    await dns.changeZone(ZONE, { transfer: false })
    assert.partialDeepStrictEqual(await dns.zone(ZONE), { notify: false, transfer: false })
    await dns.changeZone(ZONE, { notify: true, transfer: true })
    assert.partialDeepStrictEqual(await dns.zone(ZONE), { notify: true, transfer: true })
    const before = (await dns.zone(ZONE))?.serial ?? 0
    await dns.notifyZone(ZONE)
    assert.equal((await dns.zone(ZONE))?.serial, before + 1)
  })

  test('a renamed zone answers under its new name and no longer under the old one', async () => {
    await dns.changeZone('acme.example', { enabled: false })
    await dns.renameZone('acme.example', 'acme.test')
    assert.equal(await dns.zone('acme.example'), undefined)
    assert.equal((await dns.zone('acme.test'))?.enabled, false)
    await dns.changeZone('acme.test', { enabled: true })
    assert.deepEqual(await resolver.resolve4('printer.acme.test'), ['10.30.0.50'])
    await control('fail', { command: 'zones/delete', text: 'no' })
    await assert.rejects(dns.renameZone('acme.test', 'other.test'), rejection('DNS'))
    assert.ok((await dns.zone('acme.test')) !== undefined && (await dns.zone('other.test')) === undefined)
  })

  test('a rename whose last answer is lost keeps the zone', async () => {
    await control('lose-answer', { command: 'zones/delete' })
    await dns.renameZone('acme.example', 'acme.test')
    assert.deepEqual(await resolver.resolve4('printer.acme.test'), ['10.30.0.50'])
    assert.equal(await dns.zone('acme.example'), undefined)
  })

  test('a copy has its masters, is copied, paused and made a zone of its own', async () => {
    const masters = ['203.0.113.5', '203.0.113.6:5300']
    await dns.createZone({ name: 'copy.example', type: 'Secondary', masters })
    assert.partialDeepStrictEqual(await dns.zone('copy.example'), { type: 'Secondary', masters, enabled: true })
    await dns.transferZone('copy.example')
    await dns.changeZone('copy.example', { enabled: false, masters: ['203.0.113.7'] })
    assert.partialDeepStrictEqual(await dns.zone('copy.example'), { masters: ['203.0.113.7'], enabled: false })
    await dns.convertZone('copy.example', 'Primary', [])
    assert.partialDeepStrictEqual(await dns.zone('copy.example'), { type: 'Primary', masters: [], enabled: false })
    const silent = { name: 'silent.example', type: 'Secondary' as const, masters: ['192.0.2.1'] }
    await assert.rejects(dns.createZone(silent), rejection('DNS'))
    await assert.rejects(dns.convertZone(ZONE, 'Secondary', masters), rejection('DNS'))
  })

  test('queries are counted by zone, where the server lets us see them', async () => {
    await resolver.resolve4(`kvm-01.${ZONE}`)
    await resolver.resolve4('www.acme.example')
    assert.equal(await dns.queryCount(ZONE), 1)
    await control('fail', { command: 'dashboard/stats/getTop', text: 'Access was denied.' })
    assert.equal(await dns.queryCount(ZONE), null)
  })
})
