// IPAM over HTTP with the simulated NetBox behind it: the suite of every address store, and what only another store can do to us.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type NetBoxLab, startNetBox } from '../../lab/netbox/server.ts'
import { emptyState } from '../../lab/netbox/state.ts'
import { selfSigned } from '../../lab/nvr/certificate.ts'
import { wellKnown } from '../../lab/site.ts'
import { createAddressServers } from '../../bin/address-servers.ts'
import { loadConfig } from '#src/kernel/config.ts'
import { createNetBox } from '#src/drivers/netbox/client.ts'
import { createLog } from '#src/kernel/log.ts'
import { releaseLost } from '#src/modules/ddi/ipam/lost-addresses.ts'
import { openDatabase } from '#src/store/database.ts'
import { ok, refused } from '../support/address-steps.ts'
import { IPAM, ipamTests } from '../support/address-suite-ipam.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const ALLOCATE = 'POST ipam/prefixes/ID/available-ips/'

let netbox: NetBoxLab
let lab: Lab
before(async () => {
  netbox = await startNetBox({ state: emptyState() })
  const { url, token } = netbox
  lab = await startLab({
    config: { ipam: { netbox: { url, token, role_slugs: { storage: 'stor-net' } }, timeout_ms: 15_000 } },
  })
})
after(async () => {
  await lab?.close()
  await netbox?.close()
})

async function fault(kind: string, command: string, more: Record<string, unknown> = {}): Promise<void> {
  const body = JSON.stringify({ command, ...more })
  const { status } = await fetch(`${netbox.control_url}/${kind}`, { method: 'POST', body })
  assert.equal(status, 200)
}

/** The service starts with this time-out: one that is short for good takes a busy machine for a silence. */
async function impatiently(work: () => Promise<void>): Promise<void> {
  const usual = lab.config.ipam.timeout_ms
  lab.config.ipam.timeout_ms = 1000
  await lab.restart()
  await work()
  lab.config.ipam.timeout_ms = usual
  await lab.restart()
}

const addresses = (): string[] => netbox.state.rows.ip_address.map((row) => String(row.address))

describe('the suite of every store', () => ipamTests((...args) => lab.call(...args), { default_site: false }))

describe('NetBox', () => {
  let prefix: number
  const path = (): string => `${IPAM}/prefixes/${prefix}/addresses`
  beforeEach(async () => {
    netbox.reset()
    prefix = ok(await lab.call('POST', `${IPAM}/prefixes`, { cidr: '10.70.0.0/29', gateway: '10.70.0.1' }), 201).data.id
  })

  test('roles are known by our words, sites and prefixes by its ids', async () => {
    const { id } = ok(await lab.call('POST', `${IPAM}/roles`, { slug: 'storage', name: 'Storage' }), 201).data
    assert.equal(netbox.state.rows.role[0]?.slug, 'stor-net')
    assert.equal(ok(await lab.call('GET', `${IPAM}/roles`)).data.roles[0].slug, 'storage')
    ok(await lab.call('POST', `${IPAM}/vlans`, { vid: 7, name: 'stor', role_id: id }), 201)
    assert.equal(ok(await lab.call('GET', `${IPAM}/vlans?role=storage`)).data.total_count, 1)
    assert.equal(ok(await lab.call('GET', `${IPAM}/vlans?role=unknown`)).data.total_count, 0)
    assert.equal(ok(await lab.call('GET', `${IPAM}/vlans?site_id=99`)).data.total_count, 0)
    refused(await lab.call('POST', `${IPAM}/sites`, { slug: 'x', name: 'X', is_default: true }), 400, 'DDI_UNSUPPORTED')
  })

  test('what operators keep there is shown, and a container may enclose new prefixes', async () => {
    const { rows } = netbox.state
    const [made] = rows.prefix
    assert.ok(made)
    rows.prefix.push({ ...made, id: 900, prefix: '10.71.0.0/16', status: 'container', comments: '' })
    rows.ip_address.push({
      ...rows.ip_address[0],
      id: 901,
      created: '',
      last_updated: '',
      address: '10.71.0.9/16',
      dns_name: 'old.example',
      description: 'by hand',
    })
    const inner = { cidr: '10.71.0.0/24', dns_servers: ['10.71.0.2'], excluded_ranges: ['10.71.0.1-10.71.0.3'] }
    const { data } = ok(await lab.call('POST', `${IPAM}/prefixes`, inner), 201)
    assert.deepEqual(
      [data.dns_servers, data.excluded_ranges, data.total, data.used],
      [['10.71.0.2'], inner.excluded_ranges, 251, 1],
    )
    const [found] = ok(await lab.call('GET', `${IPAM}/addresses?prefix_id=${data.id}`)).data.addresses
    assert.deepEqual(
      [found.address, found.dns_name, found.description, found.owner_kind],
      ['10.71.0.9', 'old.example', 'by hand', null],
    )
    refused(await lab.call('DELETE', `${IPAM}/prefixes/${data.id}`), 409, 'IPAM_IN_USE')
  })

  test('a lost answer is found by its mark, and gives the address that was made', async () => {
    await fault('lose-answer', ALLOCATE)
    assert.equal(
      ok(await lab.call('POST', path(), { owner_kind: 'node', owner_id: 'n1' }), 201).data.address,
      '10.70.0.2',
    )
    await fault('lose-answer', 'POST ipam/ip-addresses/')
    assert.equal(ok(await lab.call('POST', path(), { address: '10.70.0.5' }), 201).data.address, '10.70.0.5')
    assert.deepEqual(addresses(), ['10.70.0.1/29', '10.70.0.2/29', '10.70.0.5/29'])
  })

  test('an address that is made after its caller was told that it failed is released', async () => {
    await impatiently(async () => {
      await fault('slow', ALLOCATE, { delay_ms: 2500 })
      refused(await lab.call('POST', path(), {}), 500, 'IPAM_TIMEOUT')
    })
    await until('the store makes it all the same', () => addresses().length === 2)
    const log = createLog({ level: 'silent' })
    const database = openDatabase({ connection: lab.database.connection, pool_size: 2, log })
    const store = createNetBox({ url: netbox.url, token: netbox.token, timeout_ms: 15_000 })
    try {
      await releaseLost({ store, database, log }, 0)
      assert.deepEqual(addresses(), ['10.70.0.1/29'])
      assert.deepEqual(await database.db.selectFrom('ipam_pending').selectAll().execute(), [])
    } finally {
      await store.close()
      await database.close()
    }
  })

  test('trouble of the store is said as such, its rejections in its words, and nothing stays half-made', async () => {
    const list = `${IPAM}/sites`
    await impatiently(async () => {
      await fault('silent', 'GET dcim/sites/')
      refused(await lab.call('GET', list), 500, 'IPAM_TIMEOUT')
    })
    await fault('garbage', 'GET dcim/sites/')
    refused(await lab.call('GET', list), 500, 'IPAM_ERROR')
    await fault('fail', 'GET dcim/sites/', { code: 403, text: 'Token expired' })
    refused(await lab.call('GET', list), 500, 'IPAM_ERROR')
    await fault('fail', 'GET dcim/sites/', { code: 502, text: 'Bad gateway' })
    ok(await lab.call('GET', list))
    await fault('fail', 'GET status/', { code: 403, text: 'Token expired' })
    // Who asks does not wait for an answer that takes its time.
    await until('the answer is known', async () => {
      const { status, body } = await lab.call('GET', '/readyz')
      const [check] = body.checks.filter((one: { name: string }) => one.name === 'ipam')
      assert.deepEqual([status, check.ok], [200, false])
      return /answers with an error/.test(check.detail)
    })
    ok(await lab.call('POST', list, { slug: 'one', name: 'One' }), 201)
    const name_taken = await lab.call('POST', list, { slug: 'two', name: 'One' })
    refused(name_taken, 400, 'IPAM_REJECTED', 'site with this name already exists')
    const before = structuredClone(netbox.state.rows)
    const overlapping = {
      cidr: '10.72.0.0/24',
      gateway: '10.72.0.1',
      excluded_ranges: ['10.72.0.5-10.72.0.9', '10.72.0.8-10.72.0.12'],
    }
    refused(await lab.call('POST', `${IPAM}/prefixes`, overlapping), 400, 'IPAM_REJECTED', 'overlap')
    assert.deepEqual(netbox.state.rows, before)
    await fault('lose-answer', 'POST ipam/prefixes/')
    const lost = await lab.call('POST', `${IPAM}/prefixes`, { cidr: '10.73.0.0/24' })
    refused(lost, 500, 'IPAM_UNAVAILABLE')
    assert.deepEqual(netbox.state.rows, before)
  })

  test('a tenant is refused to be deleted, by address, while the store holds addresses for it, and deleted afterwards', async () => {
    const reply = await lab.call('POST', '/admin/tenants', { name: 'umbrella' }, { headers: { prefer: 'wait=100' } })
    assert.equal(reply.status, 200, reply.text)
    const tenant_id: string = reply.body.id
    const { accounts, networks } = lab.platform.state.tables
    const network = networks.get(wellKnown.networks['acme-net'])
    const account = accounts.find((one) => one.domainid === tenant_id)
    assert.ok(network !== null && account !== null)
    const network_id = randomUUID()
    networks.put({ ...network, id: network_id, name: 'umbrella-net', accountid: account.id, projectid: null })
    const allocated = async (owner_kind: string, owner_id: string) =>
      ok(await lab.call('POST', path(), { owner_kind, owner_id }), 201).data
    const held = [await allocated('tenant', tenant_id), await allocated('network', network_id)]
    await allocated('tenant', wellKnown.domains.acme)
    await allocated('rack', `a/${tenant_id}`)
    const before = structuredClone(netbox.state.rows)
    const remove = (query: string) =>
      lab.call('DELETE', `/admin/tenants/${tenant_id}?${query}`, undefined, { headers: { prefer: 'wait=100' } })

    const names = held.map(({ address }) => address)
    const plan = await remove('dry_run=true')
    assert.deepEqual(
      plan.body.things.filter((one: { kind: string }) => one.kind === 'ipam_address'),
      [{ kind: 'ipam_address', count: 2, names }],
      plan.text,
    )
    const sentence = `Tenant umbrella still has IPAM address ${names.join(', ')}. Delete that first`
    const blocked = await remove('confirm=umbrella')
    assert.deepEqual([blocked.status, blocked.body.code], [409, 'TENANT_STATE'], blocked.text)
    assert.ok(blocked.body.detail.startsWith(sentence), blocked.text)
    netbox.state.ignored.push('description__isw')
    const unsure = await remove('confirm=umbrella')
    assert.deepEqual([unsure.status, unsure.body.code], [500, 'IPAM_ERROR'], unsure.text)
    netbox.state.ignored.pop()
    assert.deepEqual(netbox.state.rows, before)
    assert.equal((await lab.call('GET', `/admin/tenants/${tenant_id}`)).body.is_active, true)

    for (const { id } of held) ok(await lab.call('DELETE', `${IPAM}/addresses/${id}`))
    const deleted = await remove('confirm=umbrella')
    assert.deepEqual([deleted.status, deleted.body.status], [200, 'SUCCESS'], deleted.text)
    assert.deepEqual(addresses(), ['10.70.0.1/29', '10.70.0.4/29', '10.70.0.5/29'])
  })

  test('a filter that the store ignores is noticed, and nobody gets what belongs to others', async () => {
    ok(await lab.call('POST', path(), { owner_kind: 'node', owner_id: 'n1' }), 201)
    netbox.state.ignored.push('description__iew', 'description__isw')
    refused(await lab.call('GET', `${IPAM}/addresses?owner_kind=node&owner_id=n2`), 500, 'IPAM_ERROR')
    refused(await lab.call('POST', path(), {}), 500, 'IPAM_ERROR')
    assert.deepEqual(addresses(), ['10.70.0.1/29', '10.70.0.2/29'])
  })

  test('a store with a certificate of its own CA is reached with the file that names this CA, and refused with another', async () => {
    const { cert, key } = await selfSigned('127.0.0.1')
    const front = createServer({ cert, key }, (incoming, response) => {
      const { pathname, search } = new URL(incoming.url ?? '/', netbox.url)
      const authorization = incoming.headers.authorization ?? ''
      void fetch(`${netbox.url}${pathname}${search}`, { headers: { authorization } }).then(async (answer) =>
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text()),
      )
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    const address = front.address()
    assert.ok(address !== null && typeof address === 'object')
    const folder = tempFolder('gp-netbox-ca-')
    const { cert: other } = await selfSigned('127.0.0.1')
    for (const [file, text] of [['ours.pem', cert], ['other.pem', other]] as const) writeFileSync(join(folder, file), text) // biome-ignore format: one line
    const checkWith = async (file?: string): Promise<void> => {
      const settings = {
        GROUNDPLANE_IPAM_NETBOX_URL: `https://127.0.0.1:${address.port}`,
        GROUNDPLANE_IPAM_NETBOX_TOKEN: netbox.token,
        ...(file === undefined ? {} : { GROUNDPLANE_IPAM_NETBOX_CA: join(folder, file) }),
      }
      const servers = createAddressServers(loadConfig(undefined, settings), createLog({ level: 'silent' }))
      try {
        await servers.ipam?.check()
      } finally {
        await servers.close()
      }
    }
    try {
      await checkWith('ours.pem')
      for (const file of ['other.pem', undefined])
        await assert.rejects(checkWith(file), { name: 'UpstreamError', upstream: 'IPAM', failure: 'unavailable' })
      await assert.rejects(checkWith('missing.pem'), /ipam\.netbox\.ca: .*missing\.pem cannot be read/)
    } finally {
      front.closeAllConnections()
      await new Promise((resolve) => front.close(resolve))
    }
  })

  test('every route says that the store is away', async () => {
    await netbox.close()
    const routes: [string, string, unknown?][] = [
      ['POST', '/sites', { slug: 'a', name: 'A' }], ['POST', '/roles', { slug: 'a', name: 'A' }], ['POST', '/vlans', { vid: 5, name: 'A' }],
      ['POST', '/prefixes', { cidr: '10.74.0.0/24' }], ['POST', '/prefixes/1/addresses', {}], ['GET', '/prefixes/1'],
      ...['sites', 'roles', 'vlans', 'prefixes', 'addresses'].flatMap((kind): [string, string][] => [['GET', `/${kind}`], ['DELETE', `/${kind}/1`]]),
    ] // biome-ignore format: one route a place
    for (const [method, route, body] of routes)
      refused(await lab.call(method, `${IPAM}${route}`, body), 500, 'IPAM_UNAVAILABLE')
  })
})
