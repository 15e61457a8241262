// Lists in the order that was asked for: ours, those of DHCP and DNS, and those of the platform.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { registerNode } from '../support/fake-agent.ts'
import { multiply, numberedId } from '../support/large-site.ts'
import { callsOf } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ addresses: true, config: { compute: { tenants_poll_ms: 200 } } })
  for (const name of ['viewer', 'acme', 'globex']) await lab.call('POST', '/auth/tokens', { name, role: 'viewer' })
  await until('tenants are known', async () => (await lab.call('GET', '/admin/tenants')).body.count > 1)
})
after(() => lab?.close())

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
