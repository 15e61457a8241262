// Search: things of every kind by name, address, MAC and id, the best first, and to nobody who may not see them.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { SEARCH_KINDS, type SearchResult } from '#src/contract/search.ts'
import { registerNode } from '../support/fake-agent.ts'
import type { Reply } from '../support/http.ts'
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
