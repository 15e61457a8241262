// A name does wherever an id is asked for, and never means the wrong thing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runAt, runHere } from './in-process.ts'
import { problem, startFakeService } from './fake-service.ts'

const ID = '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001'
const OTHER = '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0002'
const ZONE = '11111111-1f1c-4a0e-8c1b-0d8d1a6a0003'

function vmPage(rows: { id: string; name: string; zone_name?: string }[]) {
  return { body: { virtual_machines: rows, count: rows.length, page: 1, page_size: 500 } }
}

test('a virtual machine is started by its name', async (t) => {
  const service = await startFakeService({
    'POST /compute/vms/getIdbyName': () => ({ body: { id: ID, name: 'web-1' } }),
    'POST /compute/vms/start': () => ({ body: { id: ID, name: 'web-1' } }),
  })
  t.after(() => service.close())
  assert.equal((await runAt(service.url, ['vm', 'start', 'web-1'])).code, 0)
  assert.deepEqual(service.to('POST', '/compute/vms/getIdbyName')[0]?.body, { name: 'web-1' })
  assert.deepEqual(service.to('POST', '/compute/vms/start')[0]?.body, { virtual_machine_id: ID })
})

test('a name that several machines carry starts none of them and lists the candidates', async (t) => {
  const rows = [
    { id: ID, name: 'web-1', zone_name: 'north' },
    { id: OTHER, name: 'web-1', zone_name: 'south' },
    { id: ZONE, name: 'web-10', zone_name: 'south' },
  ]
  const service = await startFakeService({
    'POST /compute/vms/getIdbyName': () => problem(400, 'VM_NAME_AMBIGUOUS', 'several'),
    'POST /compute/vms/list': () => vmPage(rows),
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'start', 'web-1'])
  assert.equal(result.code, 5)
  assert.match(result.stderr, new RegExp(`${ID} web-1 north\\n +${OTHER} web-1 south\\n$`))
  assert.equal(service.to('POST', '/compute/vms/start').length, 0)
})

test('an unknown name is said to be unknown, with the exit code of a missing thing', async (t) => {
  const service = await startFakeService({
    'POST /compute/vms/getIdbyName': () => problem(400, 'VM_NOT_FOUND', 'none'),
    'POST /compute/vms/list': () => vmPage([{ id: OTHER, name: 'web-10' }]),
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'stop', 'web-1'])
  assert.equal(result.code, 4)
  assert.match(result.stderr, /there is no virtual machine named "web-1"; there is "web-10"/)
})

test('the timeline of anything is asked for by its name, and by an id of any form', async (t) => {
  const found = (name: string, id: string, kind: string) => ({ kind, id, name, matched: name, rank: 'exact' })
  const service = await startFakeService({
    'GET /search': ({ query }) => {
      const q = query.get('q') ?? ''
      const results = q === 'web-1' ? [found('web-1', ID, 'vm'), found('web-10', OTHER, 'vm')] : []
      return { body: { results, more: false, unavailable: [] } }
    },
    'GET /timeline': () => ({ body: { entries: [], count: 0, page: 1, page_size: 50 } }),
  })
  t.after(() => service.close())
  const at = { url: service.url, token: 'gp_test' }
  const asked = async (text: string) => {
    const result = await runHere(at, ['timeline', 'list', '--resource-id', text])
    return [result.code, service.to('GET', '/timeline').at(-1)?.query.get('resource_id')]
  }
  assert.deepEqual(await asked('web-1'), [0, ID])
  assert.deepEqual(await asked('10.1.0.11'), [0, '10.1.0.11'])
  const unknown = await runHere(at, ['timeline', 'list', '--resource-id', 'web-2'])
  assert.equal(unknown.code, 4)
  assert.match(unknown.stderr, /there is no thing named "web-2"/)
})

test('a failing lookup is reported as it is and not as an unknown name', async (t) => {
  const service = await startFakeService({
    'POST /compute/vms/getIdbyName': () => problem(500, 'COMPUTE_UNAVAILABLE', 'the platform is away'),
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'stop', 'web-1'])
  assert.equal(result.code, 6)
  assert.match(result.stderr, /the platform is away/)
})

test('an id is sent as it is without asking, whatever its form', async (t) => {
  const service = await startFakeService({ 'POST /compute/vms/start': () => ({ body: { id: 'x' } }) })
  t.after(() => service.close())
  await runAt(service.url, ['vm', 'start', ID])
  await runAt(service.url, ['vm', 'start', 'id:i-2-77-VM'])
  assert.deepEqual(
    service.seen.map(({ body }) => body),
    [{ virtual_machine_id: ID }, { virtual_machine_id: 'i-2-77-VM' }],
  )
})

test('zones, templates and offerings are found in their lists, over several pages, and one template in two zones is one', async (t) => {
  const page = (member: string, rows: unknown[]) => () => ({
    body: { [member]: rows, count: rows.length, page: 1, page_size: 500 },
  })
  const service = await startFakeService({
    'GET /infrastructure/zones': ({ query }) => {
      const rows = query.get('page') === '1' ? [{ id: 'z1', name: 'north' }] : [{ id: ZONE, name: 'south' }]
      return { body: { zones: rows, count: 2, page: Number(query.get('page')), page_size: 1 } }
    },
    'GET /catalog/templates': page('templates', [
      { id: 't1', name: 'debian-12', zone_id: 'z1' },
      { id: 't1', name: 'debian-12', zone_id: ZONE },
    ]),
    'GET /catalog/serviceofferings': page('service_offerings', [
      { id: 'o1', name: 'small' },
      { id: 'o2', name: 'smaller' },
    ]),
    'POST /compute/vms/provision': () => ({ body: { id: ID } }),
  })
  t.after(() => service.close())
  const result = await runAt(service.url, [
    'vm', 'provision', '--name', 'web-1', '--zone-id', 'south', '--template-id', 'debian-12', '--service-offering-id',
    'small',
  ]) // biome-ignore format: a command line
  assert.equal(result.code, 0, result.stderr)
  assert.deepEqual(service.to('POST', '/compute/vms/provision')[0]?.body, {
    name: 'web-1',
    zone_id: ZONE,
    template_id: 't1',
    service_offering_id: 'o1',
  })
})

test('names within records are replaced, free records and ids are left alone, and several tenants of a name are listed', async (t) => {
  const service = await startFakeService({
    'POST /network/guest-networks/list': () => ({
      body: { guest_networks: [{ id: OTHER, name: 'web-net' }], count: 1, page: 1, page_size: 500 },
    }),
    'POST /compute/vms/provision': () => ({ body: { id: ID } }),
    'GET /admin/tenants': () => ({
      body: {
        tenants: [
          { id: ID, name: 'acme', path: 'ROOT/acme' },
          { id: OTHER, name: 'acme', path: 'ROOT/old/acme' },
        ],
        count: 2,
        page: 1,
        page_size: 500,
      },
    }),
  })
  t.after(() => service.close())
  const here = { url: service.url, token: 'gp_test' }
  const made = await runHere(here, [
    'vm', 'provision', '--name', 'w', '--zone', ZONE, '--template', ID, '--service-offering', ID, '--networks',
    'network_id=web-net,ip_address=10.1.1.5', '--details', 'network_id=web-net',
  ]) // biome-ignore format: a command line
  assert.equal(made.code, 0, made.stderr)
  const { body } = service.to('POST', '/compute/vms/provision')[0] ?? {}
  assert.deepEqual(body, {
    name: 'w', zone_id: ZONE, template_id: ID, service_offering_id: ID, details: { network_id: 'web-net' },
    networks: [{ network_id: OTHER, ip_address: '10.1.1.5' }],
  }) // biome-ignore format: a record
  const several = await runHere(here, ['tenant', 'get', 'acme'])
  assert.equal(several.code, 5)
  assert.match(several.stderr, new RegExp(`${ID} acme ROOT/acme\\n +${OTHER} acme ROOT/old/acme\\n$`))
  assert.equal((await runHere(here, ['vm', 'list', '--tenant', 'nobody'])).code, 4)
})
