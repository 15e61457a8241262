// IPAM on our own tables, drift and names of public addresses over HTTP, with the lab's address server behind them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { ok, refused } from '../support/address-steps.ts'
import { ipamTests } from '../support/address-suite-ipam.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ addresses: true, config: { dhcp: { poll_ms: 200, compare_ms: 200 } } })
})
after(() => lab?.close())

describe('IPAM', () => ipamTests((...args) => lab.call(...args), { default_site: true }))

describe('drift', () => {
  const scope = {
    name: 'drifting', network_cidr: '10.91.0.0/24', start_address: '10.91.0.10', end_address: '10.91.0.20', gateway: '10.91.0.1',
  } // biome-ignore format: one scope
  const mac = '52:54:00:dd:00:01'
  const found = async (kind: string) =>
    ok(await lab.call('GET', `/ddi/drift?kind=${kind}&scope_name=drifting`)).data.drift

  test('what was changed behind the back of the service is found, and mended on request', async () => {
    ok(await lab.call('POST', '/ddi/dhcp/scopes', scope), 201)
    const body = { scope_name: 'drifting', hostname: 'drift', mac, create_dns: true, dns_zone: 'lab.example' }
    ok(await lab.call('POST', '/ddi/dhcp/reservations', body), 201)
    assert.equal(ok(await lab.call('POST', '/ddi/drift/check')).success, true)
    for (const kind of ['reservation_missing', 'scope_differs', 'record_missing'])
      assert.deepEqual(await found(kind), [])
    const held = lab.addresses.state.now.scopes.find((one) => one.name === 'drifting')
    assert.ok(held)
    held.reservations = []
    lab.addresses.state.changed()
    const [missing] = await until('the comparison finds it', async () => {
      const rows = await found('reservation_missing')
      return rows.length > 0 && rows
    })
    assert.deepEqual([missing.subject, missing.repair], [mac, 'restore'])
    ok(await lab.call('POST', `/ddi/drift/${missing.id}/repair`))
    assert.deepEqual(await found('reservation_missing'), [])
    assert.equal(
      ok(await lab.call('GET', '/ddi/dhcp/reservations?scope_name=drifting')).data.reservations[0].enabled,
      true,
    )
    refused(await lab.call('POST', `/ddi/drift/${missing.id}/repair`), 404, 'DRIFT_NOT_FOUND', missing.id)
  })

  test('a name that is gone is found and published again', async () => {
    const { records } = ok(await lab.call('GET', '/ddi/dns/records?zone_name=lab.example&search=drift')).data
    ok(await lab.call('DELETE', `/ddi/dns/records/lab.example/${records[0].id}`))
    ok(await lab.call('POST', '/ddi/drift/check'))
    const [gone] = await found('record_missing')
    assert.equal(gone.subject, 'drift.lab.example')
    ok(await lab.call('POST', `/ddi/drift/${gone.id}/repair`))
    assert.equal(ok(await lab.call('GET', '/ddi/dns/records?zone_name=lab.example&search=drift')).data.total_count, 1)
  })

  test('a comparison that read before a repair and ends after it brings nothing back', async () => {
    const held = lab.addresses.state.now.scopes.find((one) => one.name === 'drifting')
    assert.ok(held)
    const { reservations } = held
    const control = async (path: string, body?: object): Promise<{ calls: { command: string }[] }> => {
      const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      return (await fetch(`${lab.addresses.control_url}/${path}`, sent)).json() as never
    }
    // Names are read last: whoever compares next has read the reservations and is held up there.
    await control('slow', { command: 'zones/list', delay_ms: 1500 })
    held.reservations = []
    lab.addresses.state.changed()
    const asked = async () => (await control('calls')).calls.filter(({ command }) => command === 'zones/list').length
    const before_check = await asked()
    const slow = lab.call('POST', '/ddi/drift/check')
    await until('it has read the reservations', async () => (await asked()) > before_check)
    held.reservations = reservations
    lab.addresses.state.changed()
    ok(await lab.call('POST', '/ddi/drift/check'))
    ok(await slow)
    assert.deepEqual(await found('reservation_missing'), [])
  })
  test('what only a person can decide is not mended', async () => {
    const held = lab.addresses.state.now.scopes.find((one) => one.name === 'drifting')
    assert.ok(held)
    const [own] = held.reservations
    assert.ok(own)
    held.reservations.push({ ...own, mac: own.mac.replace(/01$/, '99'), address: '10.91.0.19' })
    lab.addresses.state.changed()
    ok(await lab.call('POST', '/ddi/drift/check'))
    const [unknown] = await found('reservation_unknown')
    assert.equal(unknown.repair, 'none')
    refused(await lab.call('POST', `/ddi/drift/${unknown.id}/repair`), 400, 'DDI_UNSUPPORTED', 'person')
    held.reservations.push({ ...own, mac: own.mac.replace(/01$/, '98'), address: '10.92.0.19' })
    lab.addresses.state.changed()
    ok(await lab.call('POST', '/ddi/drift/check'))
    const [outside] = await found('reservation_outside_scope')
    assert.deepEqual([outside.subject, outside.expected, outside.actual, outside.repair], [own.mac.replace(/01$/, '98'), '10.91.0.0/24', '10.92.0.19', 'none']) // biome-ignore format: one row
    refused(await lab.call('GET', '/ddi/drift?kind=nonsense'), 400, 'INVALID_REQUEST', 'kind')
    refused(await lab.call('POST', '/ddi/drift/%00/repair'), 400, 'INVALID_REQUEST')
  })
})

test('a lease that its client gave back stays in the history, and counts in the peak and the average of its scope', async () => {
  const scope = {
    name: 'remembered', network_cidr: '10.96.0.0/24', start_address: '10.96.0.10', end_address: '10.96.0.13', gateway: '10.96.0.1',
  } // biome-ignore format: one scope
  const mac = '52:54:00:dd:00:09'
  const statistics = async () => ok(await lab.call('GET', '/ddi/dhcp/scopes/remembered/statistics')).data
  ok(await lab.call('POST', '/ddi/dhcp/scopes', scope), 201)
  const answer = lab.addresses.clients.obtain('remembered', mac)
  assert.equal(answer?.type, 'ACK')
  // The statistics count what the server says now, so they do not tell whether the collector has looked since.
  await until('the collector has seen it', () =>
    onDatabase(lab.database.connection, async (client) => {
      const { rowCount } = await client.query(`select 1 from dhcp_lease where scope = 'remembered'`)
      return rowCount === 1
    }),
  )
  const held = await until('it has noted the peak', async () => {
    const now = await statistics()
    return now.peak_utilization === 25 && now
  })
  assert.deepEqual([held.utilization_percent, held.avg_lease_duration], [25, null])
  const stored = lab.addresses.state.now.scopes.find((one) => one.name === 'remembered')
  assert.ok(stored)
  stored.leases = []
  lab.addresses.state.changed()
  const [lease] = await until('it has ended', async () => {
    const { leases } = ok(await lab.call('GET', '/ddi/dhcp/leases?scope_name=remembered&state=released')).data
    return leases.length > 0 && leases
  })
  assert.deepEqual([lease.mac, lease.ip, lease.state], [mac, answer?.ip, 'released'])
  assert.equal(ok(await lab.call('GET', `/ddi/dhcp/leases/${mac}`)).data.state, 'released')
  const after_it = await statistics()
  assert.deepEqual([after_it.utilization_percent, after_it.peak_utilization], [0, 25])
  assert.match(after_it.avg_lease_duration, /^\d+[smhd]$/)
})

describe('names of public addresses', () => {
  const acme = wellKnown.networks['acme-net']

  test('a public address gets its name and reverse name, shows it, and loses it', async () => {
    const [address] = ok(await lab.call('GET', `/ddi/public-ips?network_id=${acme}&state=Associated`)).data
    const path = `/ddi/public-ips/${address.id}`
    const published = ok(
      await lab.call('PUT', `${path}/dns`, { action: 'create', hostname: 'front', dns_zone: 'lab.example' }),
    )
    assert.equal(published.fqdn, 'front.lab.example')
    const shown = ok(await lab.call('GET', `${path}?include_dns=true&dns_zone=lab.example`)).data
    assert.deepEqual([shown.dns_name, shown.dns_created], ['front.lab.example', true])
    ok(await lab.call('PUT', `${path}/dns`, { action: 'delete', dns_zone: 'lab.example' }))
    assert.equal(ok(await lab.call('GET', `${path}?include_dns=true&dns_zone=lab.example`)).data.dns_name, null)
  })

  test('a caller of a tenant publishes in zones of its own networks alone', async () => {
    const tenant_id = ok(await lab.call('GET', `/ddi/public-ips?network_id=${acme}`)).data[0].domain_id
    const { token } = (await lab.call('POST', '/auth/tokens', { name: 'of acme', role: 'operator', tenant_id })).body
    const call = (method: string, path: string, body?: unknown) => lab.call(method, path, body, { token })
    const [address] = ok(await call('GET', `/ddi/public-ips?network_id=${acme}&state=Associated`)).data
    const publish = (dns_zone?: string) =>
      call('PUT', `/ddi/public-ips/${address.id}/dns`, { action: 'create', hostname: 'shop', dns_zone })
    refused(await publish('lab.example'), 403, 'TENANT_SCOPE', 'lab.example')
    refused(await publish(), 400, 'INVALID_REQUEST', 'dns_zone')
    ok(await lab.call('POST', '/ddi/dns/zones', { name: 'of-acme.example', type: 'Primary', network_id: acme }), 201)
    assert.equal(ok(await publish('of-acme.example')).fqdn, 'shop.of-acme.example')
    refused(await call('GET', '/ddi/dns/zones'), 403, 'TENANT_SCOPE')
  })
})

describe('rejections that nobody foresaw', () => {
  const fail = async (command: string, text: string): Promise<void> => {
    const { ok: taken } = await fetch(`${lab.addresses.control_url}/fail`, {
      method: 'POST',
      body: JSON.stringify({ command, text }),
    })
    assert.ok(taken)
  }
  const held = () => {
    const { scopes, zones } = structuredClone(lab.addresses.state.now)
    // A change that was undone counts up serials and times.
    return { scopes, zones: zones.map(({ modified_ms: _modified, ...zone }) => zone) }
  }
  const scope = {
    name: 'refused', network_cidr: '10.92.0.0/24', start_address: '10.92.0.10', end_address: '10.92.0.20', gateway: '10.92.0.1',
  } // biome-ignore format: one scope
  const record = { zone: 'lab.example', name: 'refused', type: 'A', value: '10.92.0.10' }
  const TEXT =
    'Range 10.92.0.10 clashes with 192.0.2.77 of ns9.inner.example, token=abc123, see /etc/dns/scopes/refused.scope.'

  test('the server’s own sentence is the answer, without secrets, inner addresses and paths, and nothing changes', async () => {
    const cases: [string, string, string, unknown, string][] = [
      ['dhcp/scopes/set', 'POST', '/ddi/dhcp/scopes', scope, 'DHCP_REJECTED'],
      ['zones/records/add', 'POST', '/ddi/dns/records', record, 'DNS_REJECTED'],
      ['zones/create', 'POST', '/ddi/dns/zones', { name: 'refused.example', type: 'Primary' }, 'DNS_REJECTED'],
      [
        'dhcp/scopes/addReservedLease',
        'POST',
        '/ddi/dhcp/reservations',
        {
          scope_name: 'acme-office',
          hostname: 'refused',
          mac: '52:54:00:dd:00:02',
          create_dns: true,
          dns_zone: 'lab.example',
        },
        'DHCP_REJECTED',
      ],
    ]
    const before = held()
    for (const [command, method, path, body, code] of cases) {
      await fail(command, TEXT)
      const reply = await lab.call(method, path, body)
      refused(reply, 400, code, 'refused the request: Range ')
      assert.doesNotMatch(reply.text, /192\.0\.2\.77|inner|abc123|\/etc/)
    }
    assert.deepEqual(held(), before)
    await fail('dhcp/scopes/set', TEXT)
    refused(
      await lab.call('POST', '/ddi/dhcp/scopes', scope),
      400,
      'DHCP_REJECTED',
      'Range 10.92.0.10 clashes with [address]',
    )
  })

  test('in a bulk the refused operation alone fails, with the sentence', async () => {
    await fail('zones/records/add', 'Not this one.')
    const operations = ['one', 'two'].map((name) => ({ action: 'ADD', record: { ...record, name } }))
    const { results } = (await lab.call('POST', '/ddi/dns/records/bulk', { zone: 'lab.example', operations })).body
    assert.deepEqual([results[0].code, results[1].status], ['DNS_REJECTED', 'succeeded'])
    assert.match(results[0].error, /Not this one/)
  })

  test('trouble of the server, and a question that it cannot answer, are no fault of the caller', async () => {
    await fail('dhcp/scopes/set', "No space left on device : '/etc/dns/scopes/refused.scope'")
    refused(await lab.call('POST', '/ddi/dhcp/scopes', scope), 500, 'DHCP_ERROR')
    // What collects leases and compares records asks the same now and then, and may meet the trouble instead of us.
    const met = (command: string, path: string) =>
      until('the trouble is met', async () => {
        await fail(command, 'Something is wrong.')
        const reply = await lab.call('GET', path)
        return reply.status === 200 ? undefined : reply
      })
    refused(await met('zones/list', '/ddi/dns/zones'), 500, 'DNS_ERROR')
    refused(await met('dhcp/scopes/list', '/ddi/dhcp/scopes'), 500, 'DHCP_ERROR')
  })
})

test('a zone takes the name of one that was deleted on the server itself', async () => {
  for (const name of ['first.example', 'second.example'])
    ok(await lab.call('POST', '/ddi/dns/zones', { name, type: 'Primary' }), 201)
  const { now } = lab.addresses.state
  now.zones = now.zones.filter((zone) => zone.name !== 'second.example')
  lab.addresses.state.changed()
  ok(await lab.call('PUT', '/ddi/dns/zones/first.example', { name: 'first.example', new_name: 'second.example' }))
  assert.equal(ok(await lab.call('GET', '/ddi/dns/zones/second.example')).data.zone.name, 'second.example')
})

test('stub and forwarder zones of the server are listed, read and paused, and their records are not written', async () => {
  const { now } = lab.addresses.state
  const own = now.zones.find((zone) => zone.name === 'lab.example')
  assert.ok(own)
  for (const kind of ['Stub', 'Forwarder'] as const) {
    const name = `${kind.toLowerCase()}.example`
    now.zones.push({ ...structuredClone(own), name, kind, disabled: false, records: [] })
    lab.addresses.state.changed()
    const path = `/ddi/dns/zones/${name}`
    const { zones } = ok(await lab.call('GET', '/ddi/dns/zones?page_size=500')).data
    const listed = zones.find((zone: { name: string }) => zone.name === name)
    assert.deepEqual([listed?.type, listed?.status], [kind, 'active'])
    assert.equal(ok(await lab.call('GET', path)).data.zone.type, kind)
    ok(await lab.call('PUT', path, { name, status: 'paused' }))
    assert.equal(ok(await lab.call('GET', path)).data.zone.status, 'paused')
    assert.equal(now.zones.find((zone) => zone.name === name)?.disabled, true)
    const record = { zone: name, name: 'www', type: 'A', value: '10.0.0.1' }
    refused(await lab.call('POST', '/ddi/dns/records', record), 400, 'DNS_ZONE_READ_ONLY', kind)
    ok(await lab.call('DELETE', `${path}?confirm=${name}`))
  }
})

test('the disabled scope that a fresh server brings along is shown as it is, is in the way, and can be deleted', async () => {
  const [own] = lab.addresses.state.now.scopes
  assert.ok(own)
  const fresh = { name: 'Default', enabled: false, first: '192.168.1.1', last: '192.168.1.254', exclusions: [], reservations: [], leases: [] } // biome-ignore format: one scope
  lab.addresses.state.now.scopes.push({ ...own, ...fresh })
  lab.addresses.state.changed()
  const shown = ok(await lab.call('GET', '/ddi/dhcp/scopes/Default')).data.scope
  assert.deepEqual([shown.enabled, shown.start_address, shown.end_address], [false, '192.168.1.1', '192.168.1.254'])
  const office = { name: 'office', network_cidr: '192.168.1.0/24', start_address: '192.168.1.10', end_address: '192.168.1.20', gateway: '192.168.1.1' } // biome-ignore format: one scope
  refused(await lab.call('POST', '/ddi/dhcp/scopes', office), 400, 'DHCP_SCOPE_OVERLAP', 'Default')
  ok(await lab.call('DELETE', '/ddi/dhcp/scopes/Default'))
  ok(await lab.call('POST', '/ddi/dhcp/scopes', office), 201)
})

test('readiness names the servers of addresses, and how they stand', async () => {
  const named = await until('both have answered', async () => {
    const { status, body } = await lab.call('GET', '/readyz')
    assert.equal(status, 200)
    const checks: { name: string; ok: boolean }[] = body.checks
    const found = checks.filter(({ name }) => ['dhcp', 'dns', 'ipam'].includes(name))
    return found.every(({ ok: well }) => well) && found
  })
  assert.deepEqual(named, [
    { name: 'dhcp', ok: true, detail: 'answers' },
    { name: 'dns', ok: true, detail: 'answers' },
  ])
})

test('a server that the configuration does not name is said to be missing', async () => {
  const plain = await startLab()
  try {
    refused(await plain.call('GET', '/ddi/dhcp/scopes'), 500, 'DHCP_NOT_CONFIGURED', 'dhcp.server')
    refused(await plain.call('GET', '/ddi/dns/zones'), 500, 'DNS_NOT_CONFIGURED', 'dns.server')
  } finally {
    await plain.close()
  }
})
