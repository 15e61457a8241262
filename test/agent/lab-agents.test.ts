// Real agents on captured hosts, started as the lab starts them: enrolment, forwarding, restarts.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { createCa, issueControlCertificate } from '#src/kernel/certificates.ts'
import { type LabAgents, startLabAgents } from '../../lab/agents.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

suite('agents on captured hosts', () => {
  let lab: Lab
  let agents: LabAgents
  const lines: string[] = []
  const start = (): Promise<LabAgents> =>
    startLabAgents({
      url: lab.url,
      token: lab.token,
      state_dir: join(lab.data_dir, 'agents'),
      node: process.execPath,
      log: (line) => lines.push(line),
    })
  before(async () => {
    lab = await startLab({ config: { nodes: { heartbeat_interval_ms: 300, offline_after_ms: 6000 } } })
    agents = await start()
    await agents.ready()
  })
  after(async () => {
    await agents?.close()
    await lab?.close()
  })
  const on = (target: string): { headers: Record<string, string> } => ({ headers: { 'x-target-node': target } })

  test('three agents enrol and report their own machines', async () => {
    const body = await until('all are online', async () => {
      const { status, body } = await lab.call('GET', '/configure/nodes?status=online')
      assert.equal(status, 200)
      return body.count === 3 && body
    })
    const reported = body.nodes.map((node: { hostname: string; node_ip: string; fqdn: string }) => [
      node.hostname, node.node_ip, node.fqdn,
    ]) // biome-ignore format: short
    assert.deepEqual(reported.sort(), [
      ['kvm-01', '10.0.0.11', 'kvm-01.example.internal'],
      ['kvm-02', '10.0.0.12', 'kvm-02.example.internal'],
      ['mgmt-01', '10.0.0.5', 'mgmt-01.example.internal'],
    ])
  })

  test('a call that names another node is answered by that node, by whatever name', async () => {
    for (const name of ['10.1.0.11', '10.0.0.11', 'kvm-01.example.internal', 'KVM-01']) {
      const { status, body } = await lab.call('GET', '/network/monitoring/node-summary', undefined, on(name))
      assert.equal(status, 200, name)
      assert.equal(body.hostname, 'kvm-01')
    }
    const other = await lab.call('GET', '/network/monitoring/node-summary', undefined, on('kvm-02'))
    assert.equal(other.body.hostname, 'kvm-02')
  })

  test('an error of the agent keeps its code and status', async () => {
    const missing = '/api/v2/storage/benchmark/results/0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11'
    const there = await lab.call('GET', missing, undefined, on('kvm-01'))
    assert.deepEqual([there.status, there.body.code], [404, 'BENCHMARK_NOT_FOUND'])
    assert.equal(there.body.instance, missing)
    assert.match(there.headers.get('content-type') ?? '', /problem\+json/)
    const bad = await lab.call('POST', '/api/v2/storage/benchmark/disk', { target: 'relative' }, on('kvm-01'))
    assert.equal(bad.status, 400)
  })

  test('the NICs of a node come from its agent, filtered', async () => {
    const all = await lab.call('GET', '/configure/nodes/10.1.0.5/nics')
    assert.equal(all.status, 200)
    assert.ok(all.body.nics.some((nic: { isPhysical: boolean }) => nic.isPhysical))
    const up = await lab.call('GET', '/configure/nodes/10.1.0.5/nics?status=UP')
    assert.ok(up.body.nics.length > 0 && up.body.nics.length < all.body.nics.length)
    const managed = all.body.nics.filter((nic: { isManagementNIC: boolean }) => nic.isManagementNIC)
    assert.deepEqual(
      managed.map((nic: { interfaceName: string }) => nic.interfaceName),
      ['eth0'],
    )
    const unknown = await lab.call('GET', '/configure/nodes/10.9.9.9/nics')
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'NODE_NOT_FOUND'])
  })

  test('a LED blinks on the node, and an unknown NIC is refused', async () => {
    const path = '/configure/nodes/10.1.0.11/nics/blink'
    const bad = await lab.call('POST', path, { interfaceName: 'nosuch0' })
    assert.equal(bad.status, 400)
    const good = await lab.call('POST', path, { interfaceName: 'eth2', duration: 1 })
    assert.deepEqual([good.status, good.body.interfaceName], [200, 'eth2'])
    const { body } = await lab.call('POST', '/events/app-events', { action: 'nodeNicBlink' })
    assert.deepEqual(
      body.app_events.map((event: { status: string }) => event.status),
      ['SUCCESS', 'FAILED'],
    )
  })

  test('a disk benchmark runs on the captured machine alone: plausible figures, and no folder of this machine', async () => {
    const disk = (body: object) =>
      lab.call(
        'POST',
        '/api/v2/storage/benchmark/disk',
        { profile_id: 'latency-4k', duration_sec: 1, ...body },
        on('kvm-01'),
      )
    const { status, body, text } = await disk({})
    assert.deepEqual([status, body.status, body.error], [200, 'completed', ''], text)
    const { iops, latency_avg_us, latency_p99_us, bandwidth_kbps } = body.read
    assert.ok(iops > 5_000 && iops < 50_000, text)
    assert.ok(Math.abs(latency_avg_us * iops - 1e6) < 1e5, 'one request at a time takes the mean latency')
    assert.ok(latency_p99_us > latency_avg_us && Math.abs(bandwidth_kbps / (iops * 4) - 1) < 0.01, text)
    const here = await disk({ target: lab.data_dir })
    assert.deepEqual([here.status, here.body.code], [400, 'BENCHMARK_TARGET_REFUSED'], here.text)
    assert.match(here.body.detail, /nothing at this path/)
  })

  test('an agent answers the control plane alone: no stranger, no other node, nobody without a certificate', async () => {
    const { body } = await lab.call('GET', '/configure/nodes/10.1.0.11')
    const url = `https://127.0.0.1:${body.agent.port}/v1/facts`
    const identityOf = (host: string): { key: string; certificate: string; authority: string } =>
      JSON.parse(readFileSync(join(lab.data_dir, 'agents', host, 'identity.json'), 'utf8'))
    const { authority: ca } = identityOf('kvm-01')
    const stranger = await issueControlCertificate(await createCa())
    const neighbour = identityOf('kvm-02')
    for (const who of [undefined, stranger, neighbour]) {
      const connect = { ca, checkServerIdentity: () => undefined, ...(who && { key: who.key, cert: who.certificate }) }
      const dispatcher = new Agent({ connect })
      const answer = await request(url, { dispatcher, headers: { authorization: `Bearer ${lab.token}` } })
      assert.equal(answer.statusCode, 401)
      await answer.body.dump()
      await dispatcher.close()
    }
    assert.equal(lab.logs().includes('PRIVATE KEY'), false)
  })

  test('an agent that is killed hard leaves nothing of the lab behind, and does not enrol a second time', async () => {
    const folder = join(lab.data_dir, 'agents', 'kvm-02')
    assert.equal(statSync(join(folder, 'identity.json')).mode & 0o777, 0o600)
    const agent = agents.agents.find(({ host }) => host === 'kvm-02')
    process.kill(agent?.pid ?? 0, 'SIGKILL')
    await until(
      'its silence shows',
      async () => (await lab.call('GET', '/configure/nodes/10.1.0.12')).body.status === 'offline',
    )
    const gone = await lab.call('GET', '/storage/host/disks', undefined, on('kvm-02'))
    assert.equal(gone.body.code, 'AGENT_UNAVAILABLE')
  })

  test('agents and control plane know each other again after both have restarted', async () => {
    const enrolled = async (): Promise<string[]> =>
      (await lab.call('GET', '/configure/nodes')).body.nodes.map(
        (node: { agent: { enrolled_at: string } }) => node.agent.enrolled_at,
      )
    const before_restart = await enrolled()
    await agents.close()
    await until(
      'the nodes are offline',
      async () => (await lab.call('GET', '/configure/nodes?status=offline')).body.count === 3,
    )
    const silent = await lab.call('GET', '/storage/host/disks', undefined, on('kvm-01'))
    assert.deepEqual([silent.status, silent.body.code], [500, 'AGENT_UNAVAILABLE'])
    await lab.restart()
    agents = await start()
    await agents.ready()
    assert.deepEqual(await enrolled(), before_restart)
    const { body } = await lab.call('GET', '/network/monitoring/node-summary', undefined, on('mgmt-01'))
    assert.equal(body.hostname, 'mgmt-01')
  })
})
