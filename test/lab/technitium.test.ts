/** The simulated address server as its clients see it: the oddities of its API, its DNS port, its leases, its state file. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Resolver } from 'node:dns/promises'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { startTechnitium, type TechnitiumLab } from '../../lab/technitium/server.ts'
import { tempFolder } from '../support/temp-folder.ts'

interface Envelope {
  status: string
  errorMessage?: string
  response?: Record<string, unknown>
}

let lab: TechnitiumLab
const resolver = new Resolver()
before(async () => {
  lab = await startTechnitium()
  resolver.setServers([`127.0.0.1:${lab.dns_port}`])
})
after(() => lab?.close())
beforeEach(() => lab.reset())

async function call(path: string, form: Record<string, string> = {}, token = lab.token): Promise<Envelope> {
  const response = await fetch(`${lab.url}/api/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams(form),
  })
  assert.equal(response.status, 200)
  return (await response.json()) as Envelope
}

async function ok(path: string, form: Record<string, string> = {}): Promise<Record<string, unknown>> {
  const { status, errorMessage, response } = await call(path, form)
  assert.equal(status, 'ok', errorMessage)
  return response ?? {}
}

async function control(path: string, body: Record<string, unknown>): Promise<unknown> {
  const response = await fetch(`${lab.control_url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
  return response.json()
}

test('failures are HTTP 200, a wrong token has a status of its own, an unknown path is an empty 404', async () => {
  assert.equal((await call('zones/delete', { zone: 'nowhere.example' })).status, 'error')
  assert.equal((await call('zones/list', {}, 'nope')).status, 'invalid-token')
  const unknown = await fetch(`${lab.url}/api/zones/nothing`, { method: 'POST' })
  assert.deepEqual([unknown.status, await unknown.text()], [404, ''])
  const by_form = await fetch(`${lab.url}/api/zones/list`, { method: 'POST', body: new URLSearchParams({ token: lab.token }) }) // biome-ignore format: one line
  assert.equal(((await by_form.json()) as Envelope).status, 'ok')
})

test('calls on records work on the nearest zone, and an update sets back what is not sent', async () => {
  const { zone } = await ok('zones/records/get', { zone: 'deep.lab.example', domain: 'deep.lab.example' })
  assert.partialDeepStrictEqual(zone, { name: 'lab.example', type: 'Primary' })
  const name = { zone: 'lab.example', domain: 'a.lab.example', type: 'A', ipAddress: '10.20.0.99' }
  await ok('zones/records/add', { ...name, ttl: '60', comments: 'mine' })
  await ok('zones/records/update', { ...name, newIpAddress: '10.20.0.98' })
  const { records } = await ok('zones/records/get', { domain: 'a.lab.example' })
  assert.partialDeepStrictEqual(records, [{ ttl: 3600, comments: '', rData: { ipAddress: '10.20.0.98' } }])
})

test('an address brings its reverse record and takes it along', async () => {
  const name = { zone: 'lab.example', domain: 'a.lab.example', type: 'A', ipAddress: '10.20.0.99' }
  await ok('zones/records/add', { ...name, ptr: 'true' })
  assert.deepEqual(await resolver.reverse('10.20.0.99'), ['a.lab.example'])
  await ok('zones/records/delete', name)
  await assert.rejects(resolver.reverse('10.20.0.99'), { code: 'ENOTFOUND' })
  const elsewhere = { ...name, ipAddress: '10.99.0.1', ptr: 'true' }
  assert.match((await call('zones/records/add', elsewhere)).errorMessage ?? '', /reverse zone/)
  await ok('zones/records/add', { ...elsewhere, createPtrZone: 'true' })
  assert.deepEqual(await resolver.reverse('10.99.0.1'), ['a.lab.example'])
})

test('switching a scope that is not there says ok, and a refused field leaves those before it changed', async () => {
  for (const word of ['enable', 'disable', 'delete']) await ok(`dhcp/scopes/${word}`, { name: 'nowhere' })
  const half = await call('dhcp/scopes/set', { name: 'management', leaseTimeDays: '5', routerAddress: 'nowhere' })
  assert.equal(half.status, 'error')
  assert.equal((await ok('dhcp/scopes/get', { name: 'management' })).leaseTimeDays, 5)
})

test('aliases are followed, within and to other zones of the server', async () => {
  assert.deepEqual(await resolver.resolve4('console.lab.example'), ['10.20.0.11'])
  await ok('zones/records/add', { zone: 'lab.example', domain: 'x.lab.example', type: 'CNAME', cname: 'shop.acme.example' }) // biome-ignore format: one line
  assert.deepEqual(await resolver.resolve4('x.lab.example'), ['203.0.113.20'])
  assert.deepEqual(await resolver.resolveNs('lab.example'), ['ns1.lab.example'])
  assert.partialDeepStrictEqual(await resolver.resolveSoa('lab.example'), { nsname: 'ns1.lab.example', hostmaster: 'hostmaster.lab.example' }) // biome-ignore format: one line
  await assert.rejects(resolver.resolve4('www.example.org'), { code: 'EREFUSED' })
})

test('an answer that is too long for UDP is asked for over TCP', async () => {
  for (let part = 0; part < 60; part += 1)
    await ok('zones/records/add', { zone: 'lab.example', domain: 'many.lab.example', type: 'A', ipAddress: `10.50.0.${part}` }) // biome-ignore format: one line
  assert.equal((await resolver.resolve4('many.lab.example')).length, 60)
})

test('two questions on one TCP connection get two answers', async () => {
  const socket = connect(lab.dns_port, '127.0.0.1')
  const question = Buffer.from('000001000001000000000000036e7331036c6162076578616d706c650000010001', 'hex')
  const one = Buffer.concat([Buffer.from([0, question.length]), question])
  socket.write(Buffer.concat([one, one]))
  let got = Buffer.alloc(0)
  const expected = 2 * (2 + question.length + 17 + 10 + 4)
  while (got.length < expected) got = Buffer.concat([got, ((await once(socket, 'data')) as [Buffer])[0]])
  socket.destroy()
  assert.equal(got.length, expected)
  assert.deepEqual([...got.subarray(-4)], [10, 20, 0, 2])
})

test('clients get their reservation first, never an excluded address or the gateway, and silence of a disabled scope', async () => {
  const reserved = await control('obtain', { scope: 'management', mac: '52:54:00:20:00:12' })
  assert.partialDeepStrictEqual(reserved, { answer: { type: 'ACK', ip: '10.20.0.12', hostname: 'kvm-02' } })
  const given = new Set<string>()
  for (let client = 0; client < 20; client += 1) {
    const mac = `52:54:00:99:00:${client.toString(16).padStart(2, '0')}`
    const { answer } = (await control('obtain', { scope: 'management', mac })) as { answer: { ip: string } }
    given.add(answer.ip)
  }
  assert.equal(given.size, 20)
  const bad = [...given].filter((ip) => /^10\.20\.0\.(1|2|11|12|2\d|40|41)$/.test(ip))
  assert.deepEqual(bad, [])
  const first = { scope: 'management', mac: '52:54:00:99:00:00' }
  assert.partialDeepStrictEqual(await control('renew', first), { answer: { type: 'ACK', ip: '10.20.0.10' } })
  assert.deepEqual(await control('release', first), { released: true })
  assert.deepEqual(await control('renew', first), { answer: { type: 'NAK' } })
  await ok('dhcp/scopes/disable', { name: 'management' })
  assert.deepEqual(await control('obtain', first), { answer: null })
  assert.deepEqual(await control('obtain', { ...first, scope: 'nowhere' }), { error: 'no scope nowhere' })
})

test('what was done is there after a restart, and a reset brings back the beginning', async () => {
  const state_file = join(tempFolder('lab-'), 'addresses.json')
  const first = await startTechnitium({ state_file })
  first.clients.obtain('acme-office', '52:54:00:99:00:01', 'kept')
  await first.close()
  const second = await startTechnitium({ state_file })
  try {
    assert.ok(second.state.now.scopes.some((scope) => scope.leases.some((lease) => lease.hostname === 'kept')))
    second.reset()
    assert.ok(!second.state.now.scopes.some((scope) => scope.leases.some((lease) => lease.hostname === 'kept')))
  } finally {
    await second.close()
  }
})
