// Whose name and address a node has: what an agent reports later counts only after an admin accepted it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createCertificateRequest } from '#src/kernel/certificates.ts'
import {
  enrolNode,
  type FakeIdentity,
  factsOf,
  registerNode,
  sendHeartbeat,
  sendSigned,
  serveAs,
} from '../support/fake-agent.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab()
})
after(() => lab?.close())

const nodeAt = async (bmc_ip: string) => (await lab.call('GET', `/configure/nodes/${bmc_ip}`)).body
const identityOf = async (bmc_ip: string) => {
  const { node_ip, fqdn, hostname, reported_name, reported_address } = await nodeAt(bmc_ip)
  return { node_ip, fqdn, hostname, reported_name, reported_address }
}
const report = async (who: FakeIdentity, facts: object, port = 9) => {
  const reply = await sendHeartbeat(lab, { ...who, facts: { ...who.facts, ...facts } }, port)
  assert.equal(reply.status, 200, reply.text)
}
const accept = (bmc_ip: string, body?: object) => lab.call('POST', `/configure/nodes/${bmc_ip}/accept-report`, body)
const confirmed = ({ node_ip, fqdn, hostname }: ReturnType<typeof factsOf>) => ({
  node_ip, fqdn, hostname, reported_name: null, reported_address: null,
}) // biome-ignore format: one record
test('a node that reports the name and address of another keeps its own, and the other is still the one called so', async () => {
  const honest = await enrolNode(lab, '10.20.0.1')
  const forger = await enrolNode(lab, '10.20.0.2')
  const asked: string[] = []
  const serve = (who: FakeIdentity, name: string) =>
    serveAs(who, (_request, response) => {
      asked.push(name)
      response.end('{"profiles":[]}')
    })
  const [good, bad] = [await serve(honest, 'honest'), await serve(forger, 'forger')]
  after(() => Promise.all([good.close(), bad.close()]))
  await report(honest, {}, good.port)
  const { node_ip, fqdn, hostname } = honest.facts
  await report(forger, { node_ip, fqdn, hostname, addresses: [node_ip] }, bad.port)
  assert.deepEqual(await identityOf('10.20.0.2'), {
    ...confirmed(forger.facts), reported_name: fqdn, reported_address: node_ip,
  }) // biome-ignore format: one record
  assert.deepEqual(await identityOf('10.20.0.1'), confirmed(honest.facts))
  for (const name of [node_ip, fqdn, hostname]) {
    const headers = { 'x-target-node': name }
    const reply = await lab.call('GET', '/api/v2/storage/benchmark/profiles', undefined, { headers })
    assert.equal(reply.status, 200, reply.text)
  }
  assert.deepEqual(asked, ['honest', 'honest', 'honest'])
  const refused = await accept('10.20.0.2')
  assert.deepEqual([refused.status, refused.body.code], [409, 'NODE_REPORT_CONFLICT'], refused.text)
  assert.match(refused.body.detail, /belongs to node 10\.20\.0\.1/)
  assert.deepEqual((await identityOf('10.20.0.2')).fqdn, forger.facts.fqdn)
})

test('a forged name that a node brings along at its enrolment is shown, not taken', async () => {
  const honest = await enrolNode(lab, '10.20.1.1')
  const { node_ip, fqdn, hostname } = honest.facts
  await enrolNode(lab, '10.20.1.2', { ...factsOf('10.20.1.2'), fqdn, node_ip, hostname })
  const shown = { node_ip: null, fqdn: null, hostname: null, reported_name: fqdn, reported_address: node_ip }
  assert.deepEqual(await identityOf('10.20.1.2'), shown)
  assert.equal((await nodeAt('10.20.1.2')).status, 'unconfigured-noIP')
  // Another case is the same name.
  await enrolNode(lab, '10.20.1.3', { ...factsOf('10.20.1.3'), fqdn: fqdn.toUpperCase() })
  assert.equal((await nodeAt('10.20.1.3')).fqdn, null)
})

test('what an admin declared stands against what the machine reports', async () => {
  await registerNode(lab, '10.20.2.1', { node_ip: '10.21.2.1', fqdn: 'declared.example.internal' })
  const who = await enrolNode(lab, '10.20.2.1')
  const { fqdn, node_ip } = who.facts
  assert.deepEqual(await identityOf('10.20.2.1'), {
    node_ip: '10.21.2.1', fqdn: 'declared.example.internal', hostname: 'declared', reported_name: fqdn, reported_address: node_ip,
  }) // biome-ignore format: one record
})

test('a change is shown with its time until an admin accepts it, and counts from then on', async () => {
  const who = await enrolNode(lab, '10.20.3.1')
  const moved = { node_ip: '10.22.3.1', fqdn: 'moved.example.internal', hostname: 'moved' }
  await report(who, moved)
  const waiting = await nodeAt('10.20.3.1')
  assert.deepEqual(
    [waiting.node_ip, waiting.reported_address, waiting.reported_name, waiting.status],
    [who.facts.node_ip, moved.node_ip, moved.fqdn, 'online'],
  )
  await report(who, moved)
  assert.equal((await nodeAt('10.20.3.1')).reported_since, waiting.reported_since, 'the time is that of the change')
  const found = await lab.call('GET', '/configure/nodes?keyword=10.22.3.1')
  assert.equal(found.body.count, 1, 'it is found by what it reports, too')

  const { body: operator } = await lab.call('POST', '/auth/tokens', { name: 'op', role: 'operator' })
  const path = '/configure/nodes/10.20.3.1/accept-report'
  assert.equal((await lab.call('POST', path, undefined, { token: operator.token })).status, 403)

  const accepted = await accept('10.20.3.1', { reported_since: waiting.reported_since })
  assert.equal(accepted.status, 200, accepted.text)
  const { node_ip, fqdn, hostname, reported_name, reported_address, reported_since } = accepted.body
  assert.deepEqual({ node_ip, fqdn, hostname }, moved)
  assert.deepEqual([reported_name, reported_address, reported_since], [null, null, null])
  await report(who, moved)
  assert.deepEqual(await identityOf('10.20.3.1'), { ...moved, reported_name: null, reported_address: null })
  const events = await lab.call('POST', '/events/app-events', { action: 'nodeReportAccept' })
  assert.match(JSON.stringify(events.body.app_events), /moved\.example\.internal/)
  assert.equal((await accept('10.20.3.1')).status, 200, 'once more changes nothing')
})

test('a node that returns to its confirmed name and address has nothing left to accept', async () => {
  const who = await enrolNode(lab, '10.20.4.1')
  await report(who, { node_ip: '10.22.4.1' })
  assert.equal((await nodeAt('10.20.4.1')).reported_address, '10.22.4.1')
  await report(who, { hostname: who.facts.fqdn, fqdn: who.facts.fqdn.toUpperCase() })
  assert.deepEqual(await identityOf('10.20.4.1'), confirmed(who.facts), 'the same name, written otherwise')
  assert.equal((await nodeAt('10.20.4.1')).reported_since, null)
  assert.equal((await accept('10.20.4.1')).status, 200)
  assert.deepEqual(await identityOf('10.20.4.1'), confirmed(who.facts))
})

test('two nodes that exchange an address one after the other are accepted in that order', async () => {
  const first = await enrolNode(lab, '10.20.5.1')
  const second = await enrolNode(lab, '10.20.5.2')
  await report(first, { node_ip: '10.22.5.9' })
  await report(second, { node_ip: first.facts.node_ip })
  assert.equal((await accept('10.20.5.2')).status, 409)
  assert.equal((await accept('10.20.5.1')).status, 200)
  assert.equal((await accept('10.20.5.2')).status, 200)
  assert.equal((await nodeAt('10.20.5.2')).node_ip, first.facts.node_ip)
})

test('an admin accepts what was read, not what the agent reports by then', async () => {
  const who = await enrolNode(lab, '10.20.6.1')
  await report(who, { node_ip: '10.22.6.1' })
  const { reported_since } = await nodeAt('10.20.6.1')
  await report(who, { node_ip: '10.22.6.2' })
  const refused = await accept('10.20.6.1', { reported_since })
  assert.deepEqual([refused.status, refused.body.code], [409, 'NODE_REPORT_CONFLICT'], refused.text)
  assert.equal((await nodeAt('10.20.6.1')).node_ip, who.facts.node_ip)
})

test('neither a renewed certificate nor another enrolment changes what is confirmed', async () => {
  const who = await enrolNode(lab, '10.20.7.1')
  const { key, request } = await createCertificateRequest('somebody-else')
  const renewed = await sendSigned(lab, who, '/configure/nodes/renew', { certificate_request: request })
  assert.equal(renewed.status, 200, renewed.text)
  await report({ ...who, key }, { fqdn: 'renewed.example.internal' })
  assert.equal((await nodeAt('10.20.7.1')).fqdn, who.facts.fqdn)
  const successor = await enrolNode(lab, '10.20.7.1', { ...who.facts, fqdn: 'successor.example.internal' })
  assert.equal((await nodeAt('10.20.7.1')).fqdn, who.facts.fqdn)
  assert.equal((await nodeAt('10.20.7.1')).reported_name, 'successor.example.internal')
  assert.equal((await sendHeartbeat(lab, { ...who, key })).status, 401)
  assert.equal((await sendHeartbeat(lab, successor)).status, 200)
})

test('accepting names a node that is registered', async () => {
  const unknown = await accept('10.20.99.1')
  assert.deepEqual([unknown.status, unknown.body.code], [404, 'NODE_NOT_FOUND'])
  assert.equal((await accept('nonsense')).status, 400)
})
