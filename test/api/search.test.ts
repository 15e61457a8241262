// Search: things of every kind by name, address, MAC and id, the best first, and to nobody who may not see them. Lists in the
// order that was asked for.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { SEARCH_KINDS, type SearchResult } from '#src/contract/search.ts'
import { registerNode } from '../support/fake-agent.ts'
import type { Reply } from '../support/http.ts'
import { multiply, numberedId } from '../support/large-site.ts'
import { callsOf } from '../support/platform-calls.ts'
import { type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let lab: Lab
let proxy: PlatformProxy
const tokens: Record<'acme' | 'globex' | 'viewer', string> = { acme: '', globex: '', viewer: '' }

before(async () => {
  lab = await startLab({
    addresses: true,
    between: async (platform_url) => {
      proxy = await startPlatformProxy(platform_url)
      return proxy.url
    },
    config: { compute: { tenants_poll_ms: 200 } },
  })
  const token = async (name: string, role: string, tenant_id?: string): Promise<string> =>
    (await lab.call('POST', '/auth/tokens', { name, role, ...(tenant_id === undefined ? {} : { tenant_id }) })).body
      .token
  tokens.acme = await token('acme', 'admin', wellKnown.domains.acme)
  tokens.globex = await token('globex', 'admin', wellKnown.domains.globex)
  tokens.viewer = await token('viewer', 'viewer')
  await until('machines are known', async () => (await found(machine('globex').nics[0]?.macaddress ?? '')).length > 0)
  await until('tenants are known', async () => (await found(wellKnown.domains.globex)).length > 0)
})
after(async () => {
  await lab?.close()
  await proxy?.close()
})

function search(q: string, more = '', token?: string): Promise<Reply> {
  return lab.call('GET', `/search?q=${encodeURIComponent(q)}${more}`, undefined, token === undefined ? {} : { token })
}

async function found(q: string, more = '', token?: string): Promise<SearchResult[]> {
  // A kind that was not searched in time is named in the answer.
  const reply = await until(`every kind was searched for ${q}`, async () => {
    const one = await search(q, more, token)
    return one.status === 200 && one.body.unavailable.length > 0 ? undefined : one
  })
  assert.equal(reply.status, 200, reply.text)
  return reply.body.results
}

function machine(tenant: 'acme' | 'globex') {
  const [vm] = lab.platform.state.tables.vms
    .by('account', wellKnown.accounts[tenant])
    .filter((one) => one.state === 'Running' && one.projectid === null)
  assert.ok(vm)
  return vm
}

function first<T>(rows: Iterable<T>): T {
  const [row] = rows
  assert.ok(row !== undefined)
  return row
}

test('a thing of every kind is found by each of its names, with the operation that shows it', async () => {
  const { tables } = lab.platform.state
  const vm = machine('acme')
  const nic = first(vm.nics)
  const volume = first(tables.volumes.values())
  const network = wellKnown.networks['acme-net']
  const address = first(tables.addresses.filter((one) => one.state === 'Allocated'))
  const bmc_ip = '10.1.9.11'
  const node = { node_ip: '10.0.9.11', fqdn: 'Finder-01.example.internal' }
  assert.equal((await registerNode(lab, bmc_ip, node)).status, 201)
  const user = await lab.call('POST', '/auth/users', {
    username: 'seeker',
    password: 'correct horse battery',
    role: 'viewer',
  })
  const scope = {
    name: 'findable',
    network_cidr: '10.92.0.0/24',
    start_address: '10.92.0.10',
    end_address: '10.92.0.20',
    gateway: '10.92.0.1',
  }
  const mac = '52:54:00:5e:00:01'
  await lab.call('POST', '/ddi/dhcp/scopes', scope)
  await lab.call('POST', '/ddi/dhcp/reservations', {
    scope_name: 'findable',
    mac,
    hostname: 'plotter',
    ip: '10.92.0.15',
  })
  await onDatabase(lab.database.connection, async (client) => {
    await client.query(
      `insert into cam_camera (id, name, ip, login) values ('front-door', 'Front door', '10.93.0.7', '')`,
    )
    await client.query(
      `insert into node_address (node_id, address, kind) select node_id, '10.94.0.41', 'kvm' from node where bmc_ip = $1`,
      [bmc_ip],
    )
  })
  const names: Record<(typeof SEARCH_KINDS)[number], string[]> = {
    vm: [vm.name, vm.id, nic.ipaddress ?? '', nic.macaddress, nic.macaddress.replaceAll(':', '-').toUpperCase()],
    volume: [volume.name, volume.id],
    network: ['acme-net', network],
    public_ip: [address.ipaddress, address.id],
    node: ['finder-01.example.internal', 'FINDER-01', '10.1.9.11', '10.0.9.11'],
    tenant: ['acme', wellKnown.domains.acme],
    user: ['seeker'],
    dhcp_scope: ['findable', '10.92.0.0/24'],
    dhcp_reservation: ['plotter', mac, '10.92.0.15'],
    dns_zone: ['lab.example'],
    dns_record: ['kvm-01.lab.example', '10.20.0.11'],
    kvm: ['10.94.0.41'],
    camera: ['front-door', 'front door', '10.93.0.7'],
  } // biome-ignore format: a table
  assert.equal(user.status, 201)
  for (const kind of SEARCH_KINDS) {
    for (const name of names[kind]) {
      const [best] = await found(name, `&kind=${kind}`)
      assert.ok(best, `${kind} ${name} is not found`)
      assert.deepEqual([best.kind, best.rank], [kind, 'exact'], name)
      assert.match(best.matched, new RegExp(name.replaceAll('-', '[-:]'), 'i'))
      // There is no NVR here, and no password of the KVM.
      if (kind === 'camera' || kind === 'kvm') continue
      const shown = await lab.call(best.method, best.href, best.body ?? undefined)
      assert.equal(shown.status, 200, `${best.operation} ${best.href}: ${shown.text}`)
      assert.ok(shown.text.includes(best.id), `${best.operation} does not show ${best.id}: ${shown.text.slice(0, 300)}`)
    }
  }
})

test('what is the word comes before what begins with it, and that before what has it inside', async () => {
  for (const [index, name] of ['my-zeta', 'zeta-two', 'Zeta', 'zeta-one'].entries()) {
    const fqdn = `${name}.example`
    assert.equal((await registerNode(lab, `10.1.9.${20 + index}`, { node_ip: `10.0.9.${20 + index}`, fqdn, hostname: name })).status, 201) // biome-ignore format: one call
  }
  const all = await found('ZETA')
  assert.deepEqual(
    all.map(({ name, rank }) => `${name} ${rank}`),
    ['Zeta.example exact', 'zeta-one.example prefix', 'zeta-two.example prefix', 'my-zeta.example inside'],
  )
  const two = await search('zeta', '&limit=2')
  assert.deepEqual(
    [two.body.results.map((one: SearchResult) => one.name), two.body.more],
    [['Zeta.example', 'zeta-one.example'], true],
  )
  assert.equal((await search('zeta')).body.more, false)
  assert.deepEqual(await found('zeta%', '&kind=node'), [], 'no word is a pattern')
})

test('a tenant-scoped caller finds what is its own, and nothing of another tenant or of the site', async () => {
  for (const [own, other] of [
    ['acme', 'globex'],
    ['globex', 'acme'],
  ] as const) {
    // biome-ignore format: pairs
    const { tables } = lab.platform.state
    const mine = machine(own)
    const volume = first(tables.volumes.filter((one) => one.accountid === wellKnown.accounts[own]))
    const theirs = machine(other)
    const their_volume = first(tables.volumes.filter((one) => one.accountid === wellKnown.accounts[other]))
    for (const word of [mine.name, mine.id, first(mine.nics).macaddress, volume.id, wellKnown.domains[own]]) {
      const rows = await found(word, '', tokens[own])
      assert.ok(rows.length > 0, `${own} does not find its ${word}`)
      assert.deepEqual(new Set(rows.map(({ tenant_id }) => tenant_id)), new Set([wellKnown.domains[own]]), word)
    }
    for (const word of [theirs.id, first(theirs.nics).macaddress, their_volume.id, wellKnown.domains[other]]) {
      assert.ok((await found(word)).length > 0, `an unbound caller finds ${word}`)
      assert.deepEqual(await found(word, '', tokens[own]), [], `${own} finds ${word}`)
    }
    const of_the_site = (await found('10.', '&limit=100', tokens[own])).map(({ kind }) => kind)
    const site = ['node', 'user', 'dhcp_scope', 'dhcp_reservation', 'dns_zone', 'dns_record', 'kvm', 'camera']
    assert.deepEqual(
      of_the_site.filter((kind) => site.includes(kind)),
      [],
    )
    for (const word of ['lab.example', 'seeker', 'finder-01']) assert.deepEqual(await found(word, '', tokens[own]), [])
  }
})

test('who may not read users does not find them', async () => {
  assert.equal((await found('seeker')).length, 1)
  assert.deepEqual(await found('seeker', '', tokens.viewer), [])
  assert.ok((await found('finder-01', '', tokens.viewer)).length > 0)
})

test('what cannot be searched now is named, and the rest is found', async () => {
  try {
    proxy.behave(() => 'silent')
    const late = await search(randomUUID(), '&kind=volume')
    assert.deepEqual(
      late.body.unavailable.map((one: { kind: string }) => one.kind),
      ['volume'],
    )
    assert.match(late.body.unavailable[0].reason, /2 seconds/)
    proxy.behave(() => 'refuse')
    const body = await until('our own records are searched in time', async () => {
      const one = (await search('finder-01')).body
      return one.unavailable.length <= 3 && one
    })
    assert.ok(body.results.some((one: SearchResult) => one.kind === 'node'))
    assert.deepEqual(body.unavailable.map((one: { kind: string }) => one.kind).toSorted(), [
      'network',
      'public_ip',
      'volume',
    ])
    assert.match(body.unavailable[0].reason, /compute platform/i)
    assert.equal((await found(machine('acme').name, '&kind=vm')).length > 0, true, 'machines are known without it')
  } finally {
    proxy.behave(() => 'pass')
  }
  await until('the platform is found again', async () => (await search('finder-01')).body.unavailable.length === 0)
})

test('a word of one letter, an unknown kind and a limit that cannot be are refused with the field', async () => {
  for (const [query, field] of [
    ['q=a', 'query.q'],
    ['', 'query.q'],
    ['q=abc&kind=car', 'query.kind'],
    ['q=abc&limit=0', 'query.limit'],
    ['q=abc&limit=101', 'query.limit'],
  ]) {
    // biome-ignore format: a table
    const reply = await lab.call('GET', `/search?${query}`)
    assert.deepEqual([reply.status, reply.body.errors?.[0]?.path], [400, field], reply.text)
  }
})

test('a list comes in the order of the column that is named, with what is not known at the end, and pages hold together', async () => {
  const list = async (path: string, of: string) => {
    const reply = await lab.call('GET', path)
    assert.equal(reply.status, 200, reply.text)
    return reply.body[of] as Record<string, unknown>[]
  }
  for (const last of [3, 20, 100]) {
    const made = await registerNode(
      lab,
      `10.1.8.${last}`,
      last === 20 ? {} : { zone: 'sorted', fqdn: `sorted-${last}.example` },
    )
    assert.equal(made.status, 201)
  }
  const at = async (query: string) =>
    (await list(`/configure/nodes?keyword=10.1.8.&${query}`, 'nodes')).map((one) => one.bmc_ip)
  assert.deepEqual(await at('sort_by=bmc_ip'), ['10.1.8.3', '10.1.8.20', '10.1.8.100'], 'addresses are no text')
  assert.deepEqual(await at('sort_by=bmc_ip&sort_order=desc'), ['10.1.8.100', '10.1.8.20', '10.1.8.3'])
  assert.deepEqual(await at('sort_by=fqdn'), ['10.1.8.100', '10.1.8.3', '10.1.8.20'])
  assert.deepEqual(await at('sort_by=zone&page_size=2&page=2'), ['10.1.8.20'])
  for (const [path, of, columns] of [
    ['/auth/users', 'users', ['username', 'created_at', 'last_login_at']],
    ['/auth/tokens', 'tokens', ['name', 'created_at', 'expires_at']],
    ['/admin/tenants', 'tenants', ['name', 'created_at']],
    ['/jobs', 'jobs', ['created_at', 'job_type']],
    ['/auth/audit', 'records', ['at', 'operation', 'username']],
  ] as const) {
    for (const column of columns) {
      const up = (await list(`${path}?sort_by=${column}&page_size=500`, of)).map((one) => one[column])
      const known = up.filter((value) => value !== null).map((value) => String(value).toLowerCase())
      assert.deepEqual(known, known.toSorted(), `${path} by ${column}`)
      assert.deepEqual(
        up.slice(known.length).filter((value) => value !== null),
        [],
      )
      const down = (await list(`${path}?sort_by=${column}&sort_order=desc&page_size=500`, of)).map((one) => one[column])
      assert.deepEqual(
        down.filter((value) => value !== null).map((value) => String(value).toLowerCase()),
        known.toReversed(),
      )
    }
    assert.equal((await lab.call('GET', `${path}?sort_by=nothing`)).body.errors?.[0]?.path, 'query.sort_by')
  }
})

test('lists of DHCP, DNS and the platform come in the order that is asked for, and say where there is none', async () => {
  const get = async (path: string) => {
    const reply = await lab.call('GET', path)
    assert.equal(reply.status, 200, reply.text)
    return reply.body.data
  }
  for (const [name, third] of [
    ['order-b', 3],
    ['Order-a', 20],
  ] as const) {
    const made = await lab.call('POST', '/ddi/dhcp/scopes', {
      name, network_cidr: `10.96.${third}.0/24`, start_address: `10.96.${third}.5`, end_address: `10.96.${third}.200`,
      gateway: `10.96.${third}.1`,
    }) // biome-ignore format: one record
    assert.equal(made.status, 201, made.text)
  }
  const scopes = async (query: string) =>
    (await get(`/ddi/dhcp/scopes?${query}`)).scopes
      .map((one: { name: string }) => one.name)
      .filter((name: string) => /^order/i.test(name))
  assert.deepEqual(await scopes('sort_by=name'), ['Order-a', 'order-b'])
  assert.deepEqual(await scopes('sort_by=network'), ['order-b', 'Order-a'], 'addresses are no text')
  for (const last of [100, 9]) {
    const body = {
      scope_name: 'order-b',
      mac: `52:54:00:5f:00:${last === 9 ? '0a' : '0b'}`,
      hostname: `h-${last}`,
      ip: `10.96.3.${last}`,
    }
    assert.equal((await lab.call('POST', '/ddi/dhcp/reservations', body)).status, 201)
  }
  const reservations = async (query: string) =>
    (await get(`/ddi/dhcp/reservations?scope_name=order-b&${query}`)).reservations.map((one: { ip: string }) => one.ip)
  assert.deepEqual(await reservations('sort_by=ip&sort_order=desc'), ['10.96.3.100', '10.96.3.9'])
  assert.deepEqual(await reservations('sort_by=hostname'), ['10.96.3.100', '10.96.3.9'])
  const leases = await lab.call('GET', '/ddi/dhcp/leases?sort_by=ip')
  assert.equal(leases.status, 400)
  assert.match(leases.text, /query\.sort_by.*needs state active/)
  const held = (await get('/ddi/dhcp/leases?state=active&sort_by=mac')).leases.map((one: { mac: string }) => one.mac)
  assert.deepEqual(held, held.toSorted())

  const zones = async (query: string) =>
    (await get(`/ddi/dns/zones?${query}`)).zones.map((one: { name: string }) => one.name)
  assert.deepEqual(await zones('sort_by=name&sort_order=desc'), (await zones('')).toReversed())
  const records = async (query: string): Promise<{ value: string; id: string }[]> =>
    (await get(`/ddi/dns/records?${query}`)).records
  const all = await records('sort_by=value&page_size=500')
  const values = all.map((one) => one.value.toLowerCase())
  assert.deepEqual(values, values.toSorted())
  assert.deepEqual(await records('sort_by=value&page_size=2&page=2'), all.slice(2, 4))

  const addresses = (await get('/ddi/public-ips?sort_by=ip_address&sort_order=desc')).map(
    (one: { ip_address: string }) => Number(one.ip_address.split('.').at(-1)),
  )
  assert.ok(addresses.length > 1)
  assert.deepEqual(
    addresses,
    addresses.toSorted((a: number, b: number) => b - a),
  )
  const free = await lab.call('GET', '/ddi/public-ips?state=Released&sort_by=ip_address')
  assert.equal(free.status, 400)
  assert.match(free.text, /query\.sort_by.*does not go with state Released/)

  const vms = async (body: object) =>
    (await lab.call('POST', '/compute/vms/list', { page_size: 500, ...body })).body.virtual_machines
  for (const column of ['name', 'state', 'host_name', 'created_at']) {
    const up: (string | null)[] = (await vms({ sort_by: column })).map((one: Record<string, unknown>) => one[column])
    const known = up.filter((value) => value !== null)
    assert.ok(known.length > 1)
    assert.deepEqual(up, [...known.toSorted(), ...up.filter((value) => value === null)], column)
  }
  const sizes = (await vms({ sort_by: 'memory_mb', sort_order: 'desc' })).map(
    (one: { memory_mb: number }) => one.memory_mb,
  )
  assert.deepEqual(
    sizes,
    sizes.toSorted((a: number, b: number) => b - a),
  )
  const by_name = await vms({ sort_by: 'name' })
  assert.deepEqual(await vms({ sort_by: 'name', page_size: 3, page: 2 }), by_name.slice(3, 6))

  const volumes = (body: object) =>
    lab.call('POST', '/compute/volumes/list', { sort_by: 'virtual_machine_name', ...body })
  const { volumes: listed } = (await volumes({ page_size: 500 })).body
  const machines: (string | null)[] = listed.map(
    (one: { virtual_machine_name: string | null }) => one.virtual_machine_name,
  )
  const known = machines.filter((name) => name !== null)
  assert.deepEqual(machines, [...known.toSorted(), ...machines.filter((name) => name === null)])
  assert.deepEqual((await volumes({ page_size: 3, page: 2 })).body.volumes, listed.slice(3, 6))
  const undo = multiply(lab.platform.state, 'addresses', 5200, () => ({}), ofAcme())
  const refused = await lab.call('GET', '/ddi/public-ips?sort_by=ip_address')
  undo()
  assert.deepEqual([refused.status, refused.body.errors?.[0]?.path], [400, 'query.sort_by'], refused.text)
  assert.match(refused.text, /cannot order \d+ rows, 5000 at most/)
})

const ofAcme = () => lab.platform.state.tables.addresses.find((one) => one.state === 'Allocated')

test('the pages of a long list follow the order of its first page, while rows come and go', async () => {
  const { state } = lab.platform
  const { volumes } = state.tables
  const undo = multiply(state, 'volumes', 1200, (number) => ({ name: `many-${number % 7}`, virtualmachineid: null }))
  const page = async (number: number): Promise<string[]> => {
    const order = { sort_by: 'name', sort_order: 'desc', page: number, page_size: 500 }
    const reply = await lab.call('POST', '/compute/volumes/list', order)
    assert.deepEqual([reply.status, reply.body.count], [200, 1200], reply.text)
    return reply.body.volumes.map(({ id }: { id: string }) => id)
  }
  const before = [...volumes.values()].map(({ id }) => id)
  const first = await page(1)
  const [gone = ''] = (await page(2)).slice(3)
  const one = volumes.get(gone) ?? assert.fail()
  volumes.remove(gone)
  volumes.put({ ...one, id: numberedId(99_999), name: 'zz-last-made' })
  const asked = (await callsOf(lab, 'listVolumes')).length
  const rest = [...(await page(2)), ...(await page(3))]
  assert.deepEqual([...first, ...rest].toSorted(), before.filter((id) => id !== gone).toSorted())
  const calls = (await callsOf(lab, 'listVolumes')).slice(asked)
  assert.deepEqual(
    calls.map(({ ids }) => ids?.split(',').length),
    [500, 200],
    'a page is read by its ids',
  )
  assert.equal((await page(1))[0], numberedId(99_999), 'the first page finds the order again')
  volumes.remove(numberedId(99_999))
  undo()
})
