// The registry of nodes over HTTP: registration, enrolment, renewal, heartbeats, and whom agents and control plane trust.
import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { createCertificateRequest } from '#src/kernel/certificates.ts'
import {
  enrolmentToken, FACTS, enrolNode, registerNode, sendEnrolment, sendHeartbeat, sendSigned, serveAs,
} from '../support/fake-agent.ts' // biome-ignore format: one list
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

/** Longer than a busy machine takes from a heartbeat to what follows it. */
const OFFLINE_MS = 60_000

suite('node registry', () => {
  let lab: Lab
  before(async () => {
    lab = await startLab({ config: { nodes: { heartbeat_interval_ms: 200, offline_after_ms: OFFLINE_MS } } })
  })
  after(() => lab.close())

  const sql = async (text: string, values: unknown[] = []): Promise<void> => {
    const client = new pg.Client(lab.database.connection)
    await client.connect()
    try {
      await client.query(text, values)
    } finally {
      await client.end()
    }
  }
  const get = async (bmc_ip: string) => (await lab.call('GET', `/configure/nodes/${bmc_ip}`)).body

  test('a node is registered once, shown, listed by what it is, and deleted', async () => {
    const made = await registerNode(lab, '10.5.0.1', {
      node_ip: '10.6.0.1',
      fqdn: 'one.example.internal',
      role: 'compute',
      zone: 'z1',
    })
    assert.equal(made.status, 201)
    assert.equal(made.body.status, 'offline')
    assert.equal(made.body.agent.enrolled_at, null)
    assert.equal(made.headers.get('x-correlation-id') !== null, true)
    const again = await registerNode(lab, '10.5.0.1')
    assert.deepEqual([again.status, again.body.code], [409, 'NODE_EXISTS'])
    await registerNode(lab, '10.5.0.2', { fqdn: 'two.example.internal', role: 'management' })
    await registerNode(lab, '10.5.0.3', { node_ip: '10.6.0.3' })
    const count = async (query: string): Promise<string[]> =>
      (await lab.call('GET', `/configure/nodes?${query}`)).body.nodes.map((node: { bmc_ip: string }) => node.bmc_ip)
    assert.deepEqual(await count('keyword=10.5.0'), ['10.5.0.1', '10.5.0.2', '10.5.0.3'])
    assert.deepEqual(await count('role=management'), ['10.5.0.2'])
    assert.deepEqual(await count('zone=z1'), ['10.5.0.1'])
    assert.deepEqual(await count('status=unconfigured-noIP'), ['10.5.0.2'])
    assert.deepEqual(await count('status=unconfigured-noFQDN'), ['10.5.0.3'])
    assert.deepEqual(await count('keyword=ONE.example'), ['10.5.0.1'])
    assert.deepEqual(await count('keyword=%25'), [], 'a percent sign is text')
    const gone = await lab.call('DELETE', '/configure/nodes/10.5.0.3')
    assert.equal(gone.status, 200)
    const missing = await lab.call('DELETE', '/configure/nodes/10.5.0.3')
    assert.deepEqual([missing.status, missing.body.code], [404, 'NODE_NOT_FOUND'])
    const events = await lab.call('POST', '/events/app-events', { action: 'nodeDelete' })
    assert.equal(events.body.count, 1, 'a rejection before anything began is no event')
  })

  test('what is not an address is refused, and one address has one spelling', async () => {
    for (const bmc_ip of ['10.1', 'localhost', '10.0.0.256', '../../etc']) {
      assert.equal((await registerNode(lab, bmc_ip)).status, 400, bmc_ip)
    }
    assert.equal((await lab.call('GET', '/configure/nodes/nonsense')).status, 400)
    await registerNode(lab, '2001:DB8:0::00:7')
    assert.equal((await get('2001:db8::7')).bmc_ip, '2001:db8::7')
  })

  test('only admins register, delete and make tokens', async () => {
    const { body } = await lab.call('POST', '/auth/tokens', { name: 'op', role: 'operator' })
    const options = { token: String(body.token) }
    assert.equal((await lab.call('POST', '/configure/nodes', { bmc_ip: '10.5.9.9' }, options)).status, 403)
    assert.equal((await lab.call('DELETE', '/configure/nodes/10.5.0.1', undefined, options)).status, 403)
    assert.equal(
      (await lab.call('POST', '/configure/nodes/enrolment-tokens', { bmc_ip: '10.5.0.1' }, options)).status,
      403,
    )
    assert.equal((await lab.call('GET', '/configure/nodes', undefined, options)).status, 200)
  })

  test('a node is not deleted while one of its jobs runs', async () => {
    await registerNode(lab, '10.5.1.1')
    const job = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1dff'
    await sql(
      `insert into job (id, type, job_status, input, state, planned_steps, node_ip, resource_type, caller)
       values ($1, 'node.setup', 'failed', '', '', '[]', '10.5.1.1', 'NODE', '{}')`,
      [job],
    )
    await sql(`update job set job_status = 'running', executor = null where id = $1`, [job])
    const refused = await lab.call('DELETE', '/configure/nodes/10.5.1.1')
    assert.deepEqual([refused.status, refused.body.code], [409, 'NODE_JOB_RUNNING'])
    await sql(`update job set job_status = 'failed', finished_at = now() where id = $1`, [job])
    assert.equal((await lab.call('DELETE', '/configure/nodes/10.5.1.1')).status, 200)
  })

  test('a token lets one agent in once, under the name the registry gives', async () => {
    await registerNode(lab, '10.5.2.1')
    const token = await enrolmentToken(lab, '10.5.2.1')
    const first = await sendEnrolment(lab, token)
    assert.equal(first.reply.status, 200)
    const certificate = new X509Certificate(first.reply.body.certificate)
    const authority = new X509Certificate(first.reply.body.authority)
    const record = await get('10.5.2.1')
    assert.equal(certificate.subject, `CN=${record.id}`)
    assert.equal(certificate.verify(authority.publicKey), true)
    assert.equal(certificate.ca, false)
    const days = (certificate.validToDate.getTime() - Date.now()) / 86_400_000
    assert.ok(days > 29 && days <= 30)
    assert.equal(record.fqdn, FACTS.fqdn, 'what nobody declared comes from the agent')
    assert.equal(token.endsWith(authority.fingerprint256.replaceAll(':', '').toLowerCase().slice(0, 40)), true)
    const second = await sendEnrolment(lab, token)
    assert.deepEqual([second.reply.status, second.reply.body.code], [401, 'ENROLMENT_REJECTED'])
    assert.equal(lab.logs().includes(token), false, 'the token is in no log')
  })

  test('wrong, expired and replaced tokens are refused alike', async () => {
    await registerNode(lab, '10.5.2.2')
    const replaced = await enrolmentToken(lab, '10.5.2.2')
    const expired = await enrolmentToken(lab, '10.5.2.2')
    await sql(`update enrolment_token set expires_at = now() - interval '1 second' where used_at is null`)
    for (const token of [replaced, expired, 'gpe_never-made.0000', `${expired}0`]) {
      const { reply } = await sendEnrolment(lab, token)
      assert.deepEqual([reply.status, reply.body.code], [401, 'ENROLMENT_REJECTED'])
    }
    assert.equal((await lab.call('POST', '/configure/nodes/enrolment-tokens', { bmc_ip: '10.99.0.1' })).status, 404)
    assert.equal(
      (await lab.call('POST', '/configure/nodes/enrolment-tokens', { bmc_ip: '10.5.2.2', expires_in_minutes: 1441 }))
        .status,
      400,
    )
  })

  test('a request that is no certificate request of our kind does not use the token up', async () => {
    await registerNode(lab, '10.5.2.3')
    const token = await enrolmentToken(lab, '10.5.2.3')
    const body = { token, certificate_request: 'nonsense', facts: FACTS }
    assert.equal((await lab.call('POST', '/configure/nodes/enrol', body, { token: null })).status, 400)
    assert.equal((await sendEnrolment(lab, token)).reply.status, 200)
  })

  test('a signed heartbeat makes a node online; silence makes it offline, reported once', async () => {
    const who = await enrolNode(lab, '10.5.3.1')
    assert.equal((await get('10.5.3.1')).status, 'offline')
    const beat = await sendHeartbeat(lab, who)
    assert.deepEqual([beat.status, beat.body], [200, { interval_ms: 200, renew: false }])
    const record = await get('10.5.3.1')
    assert.deepEqual(
      [record.status, record.agent.address, record.agent.port, record.agent.version],
      ['online', '127.0.0.1', 9, '9.9.9'],
    )
    const reported = async (action: string): Promise<number> =>
      (await lab.call('POST', '/events/app-events', { action, resource_uuid: who.node_id })).body.count
    await sql(`update node set seen_at = now() - interval '2 minutes' where id = $1`, [who.node_id])
    await until('the silence is reported', async () => (await reported('nodeOffline')) === 1)
    assert.equal((await get('10.5.3.1')).status, 'offline')
    assert.equal(await reported('nodeOnline'), 1)
    await sendHeartbeat(lab, who)
    assert.equal(await reported('nodeOnline'), 2)
  })

  test('messages with a wrong key, other content, an old or repeated time are refused', async () => {
    const who = await enrolNode(lab, '10.5.3.2')
    const other = await enrolNode(lab, '10.5.3.3')
    const refused = async (reply: Promise<{ status: number; body: { code: string } }>, why: string): Promise<void> => {
      const { status, body } = await reply
      assert.deepEqual([status, body.code], [401, 'NODE_CREDENTIAL_REJECTED'], why)
    }
    const body = { facts: FACTS, agent: { address: '127.0.0.1', port: 9 } }
    const path = '/configure/nodes/heartbeat'
    await refused(lab.call('POST', path, body, { token: null }), 'unsigned')
    await refused(sendHeartbeat(lab, { ...who, key: other.key }), 'key of another node')
    await refused(
      sendSigned(lab, who, path, body, { sent: { ...body, agent: { address: '6.6.6.6', port: 9 } } }),
      'changed body',
    )
    await refused(sendSigned(lab, who, path, body, { path: '/configure/nodes/renew' }), 'signed for another path')
    await refused(sendHeartbeat(lab, who, 9, { signed_ms: Date.now() - 6 * 60_000 }), 'too old')
    await refused(sendHeartbeat(lab, who, 9, { signed_ms: Date.now() + 6 * 60_000 }), 'from the future')
    const signed_ms = Date.now()
    assert.equal((await sendHeartbeat(lab, who, 9, { signed_ms })).status, 200)
    await refused(sendHeartbeat(lab, who, 9, { signed_ms }), 'replayed')
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = stranger.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await refused(sendHeartbeat(lab, { ...who, key }), 'key of nobody')
  })

  test('a renewed certificate takes over when it is used, and the old one ends then', async () => {
    const who = await enrolNode(lab, '10.5.4.1')
    const { key, request } = await createCertificateRequest('x')
    const renewed = await sendSigned(lab, who, '/configure/nodes/renew', { certificate_request: request })
    assert.equal(renewed.status, 200)
    assert.notEqual(renewed.body.certificate, who.certificate)
    assert.equal((await sendHeartbeat(lab, who)).status, 200, 'the old key works until the new one was used')
    const next = { ...who, key, certificate: String(renewed.body.certificate) }
    assert.equal((await sendHeartbeat(lab, next)).status, 200)
    assert.equal((await sendHeartbeat(lab, who)).status, 401)
  })

  test('a deleted node and an agent that was replaced are refused', async () => {
    const who = await enrolNode(lab, '10.5.4.2')
    assert.equal((await sendHeartbeat(lab, who)).status, 200)
    const successor = await enrolNode(lab, '10.5.4.2')
    assert.equal((await sendHeartbeat(lab, who)).status, 401)
    assert.equal((await sendHeartbeat(lab, successor)).status, 200)
    assert.equal((await lab.call('DELETE', '/configure/nodes/10.5.4.2')).status, 200)
    assert.equal((await sendHeartbeat(lab, successor)).status, 401)
    await registerNode(lab, '10.5.4.2')
    assert.equal(
      (await sendHeartbeat(lab, successor)).status,
      401,
      'registering the machine again does not bring it back',
    )
  })

  test('X-Target-Node: unknown is 400, this machine is answered here, an offline node is reported', async () => {
    const to = (name: string) =>
      lab.call('GET', '/api/v2/storage/benchmark/profiles', undefined, { headers: { 'x-target-node': name } })
    const unknown = await to('no-such-node')
    assert.deepEqual([unknown.status, unknown.body.code], [400, 'NODE_NOT_FOUND'])
    assert.equal((await to('127.0.0.1')).status, 200)
    assert.equal((await to('localhost')).status, 200)
    await registerNode(lab, '10.5.5.1')
    const silent = await to('10.5.5.1')
    assert.deepEqual([silent.status, silent.body.code], [500, 'AGENT_UNAVAILABLE'])
    await registerNode(lab, '10.5.5.2', { hostname: 'twin' })
    await registerNode(lab, '10.5.5.3', { hostname: 'twin' })
    assert.equal((await to('twin')).status, 400)
    const liar = await enrolNode(lab, '10.5.5.4', { ...FACTS, node_ip: '10.5.5.3' })
    const meant = await to('10.5.5.3')
    assert.equal(meant.body.code, 'AGENT_UNAVAILABLE', 'a BMC address names its own node, whatever an agent reports')
    const body = { facts: FACTS, agent: { address: 'elsewhere.example', port: 9 } }
    assert.equal((await sendSigned(lab, liar, '/configure/nodes/heartbeat', body)).status, 400)
  })

  test('garbage, oversized, unknown and endless answers of an agent become errors of the agent', async () => {
    const who = await enrolNode(lab, '10.5.6.1')
    let behaviour: 'garbage' | 'huge' | 'cut' | 'unknown' | 'good' = 'good'
    const seen: string[] = []
    const fake = await serveAs(who, (request, response) => {
      seen.push(`${request.method} ${request.url} ${String(request.headers.authorization)}`)
      response.setHeader('content-type', 'application/json')
      if (behaviour === 'garbage') return response.end('<html>hello</html>')
      if (behaviour === 'huge') return response.end(Buffer.alloc(11 * 1024 * 1024, 0x20))
      if (behaviour === 'cut')
        return response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy())
      if (behaviour === 'unknown') return response.writeHead(418).end('{"code":"TEAPOT"}')
      return response.end('{"profiles":[]}')
    })
    try {
      const ask = async (): Promise<[number, string]> => {
        await sendHeartbeat(lab, who, fake.port)
        const { status, body } = await lab.call('GET', '/api/v2/storage/benchmark/profiles', undefined, {
          headers: { 'x-target-node': '10.5.6.1' },
        })
        return [status, body.code ?? 'ok']
      }
      assert.deepEqual(await ask(), [200, 'ok'])
      behaviour = 'garbage'
      assert.deepEqual(await ask(), [500, 'AGENT_ERROR'])
      behaviour = 'huge'
      assert.deepEqual(await ask(), [500, 'AGENT_ERROR'])
      behaviour = 'cut'
      assert.deepEqual(await ask(), [500, 'AGENT_UNAVAILABLE'])
      behaviour = 'unknown'
      assert.deepEqual(await ask(), [500, 'AGENT_ERROR'])
      behaviour = 'good'
      assert.deepEqual(await ask(), [200, 'ok'])
      assert.ok(
        seen.every((line) => line.endsWith('undefined')),
        'the caller’s token stays here',
      )
    } finally {
      await fake.close()
    }
  })

  test('an agent with another certificate than the registered one is not spoken to', async () => {
    const who = await enrolNode(lab, '10.5.6.2')
    const impostor = await enrolNode(lab, '10.5.6.3')
    let asked = 0
    const fake = await serveAs(impostor, (_request, response) => {
      asked += 1
      response.end('{"profiles":[]}')
    })
    try {
      await sendHeartbeat(lab, who, fake.port)
      const { status, body } = await lab.call('GET', '/api/v2/storage/benchmark/profiles', undefined, {
        headers: { 'x-target-node': '10.5.6.2' },
      })
      assert.deepEqual([status, body.code, asked], [500, 'AGENT_UNAVAILABLE', 0])
    } finally {
      await fake.close()
    }
  })
})
