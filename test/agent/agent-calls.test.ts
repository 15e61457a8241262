// Calls to agents: bounded in time and size, pinned, and side by side.
import assert from 'node:assert/strict'
import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { agent } from '#src/contract/agent.ts'
import type { AgentAddress } from '#src/kernel/agent-exchange.ts'
import { type Agents, createAgents } from '#src/kernel/agents.ts'
import {
  createCa, createCertificateRequest, fingerprintOf, issueControlCertificate, issueNodeCertificate, type KeyedCertificate,
} from '#src/kernel/certificates.ts' // biome-ignore format: one list
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { type FakeAgent, serveAs } from '../support/fake-agent.ts'
import { until } from '../support/until.ts'

suite('calls to agents', () => {
  let ca: KeyedCertificate
  let agents: Agents
  const open: FakeAgent[] = []
  before(async () => {
    ca = await createCa()
    const mine = await issueControlCertificate(ca)
    const identity = { key: mine.key, certificate: mine.certificate, ca: ca.certificate }
    agents = createAgents({ identity: () => Promise.resolve(identity) })
  })
  after(async () => {
    await agents.close()
    for (const fake of open) await fake.close()
  })

  async function fakeNode(name: string, answer: RequestListener): Promise<AgentAddress> {
    const { key, request } = await createCertificateRequest(name)
    const { certificate } = await issueNodeCertificate(ca, request, name)
    const fake = await serveAs({ node_id: name, key, certificate, authority: ca.certificate }, answer)
    open.push(fake)
    return { name, address: '127.0.0.1', port: fake.port, fingerprints: [fingerprintOf(certificate)] }
  }
  const failure = (expected: string) => (error: unknown) => error instanceof UpstreamError && error.failure === expected

  test('an agent that never answers is given up in time', async () => {
    const node = await fakeNode('mute', () => {})
    await assert.rejects(agents.clientFor(node, agent.routes, { timeout_ms: 200 }).agentHealth(), failure('timeout'))
  })

  test('an agent that answers a byte now and then is given up in time', async () => {
    const node = await fakeNode('drip', (_request, response) => {
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    })
    await assert.rejects(agents.clientFor(node, agent.routes, { timeout_ms: 300 }).agentHealth(), failure('timeout'))
  })

  test('a caller that leaves ends the call', async () => {
    const node = await fakeNode('mute-2', () => {})
    const leaving = new AbortController()
    const call = agents.clientFor(node, agent.routes, { timeout_ms: 30_000, signal: leaving.signal }).agentHealth()
    leaving.abort(new Error('gone'))
    await assert.rejects(call, /gone/)
  })

  test('the limit of an answer holds', async () => {
    const node = await fakeNode('big', (_request, response) =>
      response.end(JSON.stringify({ status: 'x'.repeat(5000) })),
    )
    const client = agents.clientFor(node, agent.routes, { timeout_ms: 30_000, max_bytes: 1000 })
    await assert.rejects(client.agentHealth(), failure('error'))
  })

  test('an error of the agent’s own keeps its code; a rejection of trust is a failure of the agent', async () => {
    let code = 'MTU_CHANGE_RUNNING'
    const node = await fakeNode('rejecting', (_request, response) => {
      response.writeHead(409).end(JSON.stringify({ code, detail: 'Busy.' }))
    })
    const client = agents.clientFor(node, agent.routes, { timeout_ms: 30_000 })
    await assert.rejects(
      client.agentHealth(),
      (error) => error instanceof ApiError && error.code === 'MTU_CHANGE_RUNNING',
    )
    for (code of ['UNAUTHENTICATED', 'TEAPOT', '__proto__'])
      await assert.rejects(client.agentHealth(), failure('error'))
  })

  test('a certificate of the same CA that is not pinned is not spoken to', async () => {
    const node = await fakeNode('other', (_request, response) => response.end('{}'))
    const pinned = { ...node, fingerprints: [fingerprintOf(ca.certificate)] }
    await assert.rejects(
      agents.clientFor(pinned, agent.routes, { timeout_ms: 30_000 }).agentHealth(),
      failure('unavailable'),
    )
  })

  test('an agent of another CA is not spoken to', async () => {
    const other_ca = await createCa()
    const { key, request } = await createCertificateRequest('x')
    const { certificate } = await issueNodeCertificate(other_ca, request, 'x')
    const fake = await serveAs({ node_id: 'x', key, certificate, authority: other_ca.certificate }, (_q, r) =>
      r.end('{}'),
    )
    open.push(fake)
    const node = { name: 'x', address: '127.0.0.1', port: fake.port, fingerprints: [fingerprintOf(certificate)] }
    await assert.rejects(
      agents.clientFor(node, agent.routes, { timeout_ms: 30_000 }).agentHealth(),
      failure('unavailable'),
    )
  })

  test('an answer that is announced as too long is refused before it is sent', async () => {
    let sent = 0
    const node = await fakeNode('announcing', (_request, response) => {
      response.writeHead(200, { 'content-length': 10_000_000 })
      const timer = setInterval(() => response.write(' '.repeat(100), () => (sent += 100)), 5)
      response.on('close', () => clearInterval(timer))
    })
    const client = agents.clientFor(node, agent.routes, { timeout_ms: 30_000, max_bytes: 1_000_000 })
    await assert.rejects(client.agentHealth(), failure('error'))
    assert.ok(sent < 1_000_000)
  })

  test('of connections that calls opened side by side, one stays for later calls and the others close', async () => {
    const opened: Socket[] = []
    const closed: Socket[] = []
    const asked: ServerResponse[] = []
    const node = await fakeNode('met', ({ socket }, response) => {
      asked.push(response)
      if (opened.includes(socket)) return
      opened.push(socket)
      socket.once('close', () => closed.push(socket))
    })
    const client = agents.clientFor(node, agent.routes, { timeout_ms: 300_000 })
    const first = client.agentHealth()
    await until('the first call arrived', () => asked.length === 1)
    const second = client.agentHealth()
    await until('the second call arrived', () => asked.length === 2)
    for (const response of asked) response.end('{"status":"ok"}')
    await Promise.all([first, second])
    await until('a connection closed', () => closed.length > 0)
    assert.equal(closed[0], opened[1])
    const third = client.agentHealth()
    await until('the third call arrived', () => asked.length === 3)
    asked[2]?.end('{"status":"ok"}')
    await third
    assert.equal(opened.length, 2)
  })

  test('a node is not taken for silent because this process was busy', async () => {
    let calls = 0
    const node = await fakeNode('punctual', (_request, response) => {
      calls += 1
      if (calls === 1) return response.end('{"status":"ok"}')
      setTimeout(() => response.end('{"status":"ok"}'), 100)
      setTimeout(() => busyFor(1200), 20)
    })
    // Connected before: a handshake does not count.
    await agents.clientFor(node, agent.routes, { timeout_ms: 30_000 }).agentHealth()
    const client = agents.clientFor(node, agent.routes, { timeout_ms: 1000 })
    assert.deepEqual(await client.agentHealth(), { status: 'ok' })
  })
})

function busyFor(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}
