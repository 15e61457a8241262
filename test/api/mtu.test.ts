// Declared and actual MTU over real agents on captured hosts: the report, what is refused up front, and rollouts both ways.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { LabAgents } from '../../lab/agents.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

suite('MTU of all nodes', () => {
  let lab: Lab
  let agents: LabAgents
  before(async () => {
    lab = await startLab({ config: { nodes: { heartbeat_interval_ms: 300, offline_after_ms: 10_000 } } })
    agents = await startEnrolledAgents(lab)
  })
  after(async () => {
    await agents?.close()
    await lab?.close()
  })
  const report = async () => (await lab.call('GET', '/network/mtu')).body
  const declare = (body: object, query = '') =>
    lab.call('PUT', `/network/mtu${query}`, body, { headers: { prefer: 'wait=60' } })
  const mtusOf = async (role: string): Promise<number[]> =>
    (await report()).nodes.flatMap((node: { devices: { role: string; kind: string; actual: number }[] }) =>
      node.devices.filter((device) => device.role === role && device.kind === 'bridge').map((device) => device.actual),
    )

  test('the report shows the live values of every node before anything is declared', async () => {
    const { declared, nodes, rollout_status, status, unreachable_nodes } = await report()
    assert.deepEqual([declared.management, declared.public, declared.storage], [0, 0, 0])
    assert.deepEqual([rollout_status, status, unreachable_nodes, nodes.length], ['none', 'consistent', 0, 3])
    assert.ok((await mtusOf('management')).every((mtu) => mtu >= 1280))
  })

  test('what devices or the underlay cannot carry is refused before any node is touched', async () => {
    const refused = await declare({ management: 65_000 })
    assert.deepEqual([refused.status, refused.body.code], [400, 'MTU_ABOVE_LIMIT'])
    assert.match(refused.body.detail, /kvm-0|mgmt-01/)
    assert.equal((await declare({})).status, 400)
    assert.equal((await declare({ management: 100 })).status, 400)
    assert.equal((await report()).rollout_status, 'none')
  })

  test('a role that nothing can verify needs the acknowledgement', async () => {
    const [now = 1500] = await mtusOf('public')
    const refused = await declare({ public: now })
    assert.deepEqual([refused.status, refused.body.code], [400, 'MTU_UNVERIFIABLE'])
    assert.match(refused.body.detail, /cloudbr1 of kvm-0/)
    const gone = await declare({ public: now }, '?acknowledge_unverifiable=true')
    assert.equal(gone.body.status, 'SUCCESS', gone.text)
    assert.equal((await report()).declared.public, now)
  })

  test('a dry run shows the plan and does nothing', async () => {
    const before_run = await mtusOf('management')
    const { status, body } = await declare({ management: 1400 }, '?dry_run=true')
    assert.equal(status, 200)
    assert.equal(body.dry_run, true)
    assert.equal(body.changes.length, 3)
    assert.deepEqual(await mtusOf('management'), before_run)
    assert.equal((await report()).declared.management, 0)
  })

  test('a declaration reaches every node, downwards and back up', async () => {
    for (const management of [1400, 1500]) {
      const { status, body, text } = await declare({ management })
      assert.deepEqual([status, body.status], [200, 'SUCCESS'], text)
      assert.deepEqual(await mtusOf('management'), [management, management, management])
      const now = await report()
      assert.deepEqual([now.declared.management, now.rollout_status], [management, 'succeeded'])
      assert.deepEqual(
        now.divergences.filter((one: { role: string }) => one.role === 'management'),
        [],
      )
      const job = await lab.call('GET', `/jobs/${body.job_id}`)
      assert.equal(job.body.job_status, 'completed')
    }
    const events = await lab.call('POST', '/events/app-events', { action: 'mtuDeclare' })
    assert.ok(events.body.count >= 2)
  })

  test('only admins declare, and tokens of a tenant see nothing of it', async () => {
    const { body } = await lab.call('POST', '/auth/tokens', { name: 'op', role: 'operator' })
    const answer = await lab.call('PUT', '/network/mtu', { management: 1500 }, { token: String(body.token) })
    assert.equal(answer.status, 403)
  })

  test('a device that somebody changed by hand is a divergence, and a dead node stops a rollout unless acknowledged', async () => {
    const applied = await lab.call(
      'POST',
      '/network/mtu/node-apply',
      { bridge: 'mgmt0', mtu: 1300 },
      { headers: { 'x-target-node': 'mgmt-01' } },
    )
    assert.equal(applied.status, 200, applied.text)
    const pid = agents.agents.find(({ host }) => host === 'kvm-02')?.pid ?? 0
    const { until } = await import('../support/until.ts')
    await until('the divergence shows', async () => {
      const { divergences, status } = await report()
      return (
        status === 'divergent' &&
        divergences.some((one: { device: string; actual: number }) => one.device === 'mgmt0' && one.actual === 1300)
      )
    })
    process.kill(pid, 'SIGKILL')
    await until('the dead node shows', async () => (await report()).unreachable_nodes === 1)
    const refused = await declare({ management: 1500 })
    assert.deepEqual([refused.status, refused.body.code], [400, 'NODES_UNREACHABLE'])
    assert.match(refused.body.detail, /kvm-02/)
    const done = await declare({ management: 1500 }, '?acknowledge_unverifiable=true')
    assert.equal(done.body.status, 'SUCCESS', done.text)
    const left = (await report()).divergences.filter((one: { role: string }) => one.role === 'management')
    assert.deepEqual(
      left.map((one: { state: string; actual: number | null }) => [one.state, one.actual]),
      [['unreachable', null]],
    )
  })
})
