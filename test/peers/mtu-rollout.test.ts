// A rollout over three real agents on one switch: hitless on a healthy path, undone everywhere when something in the middle
// swallows frames, and put right when the control plane dies.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { CrashForTest } from '#src/jobs/runner.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { type MtuFleet, pingAlways, startMtuFleet } from './mtu-fleet.ts'
import { namespacesRefused } from './mtu-topology.ts'

const refused = namespacesRefused()

suite('MTU rollout over a switch', { skip: refused ?? false, timeout: 400_000 }, () => {
  let lab: Lab
  let fleet: MtuFleet
  /** Name of the point at which the control plane is to die, once. */
  let die_at: string | undefined
  before(async () => {
    const control_address = `10.99.${1 + (process.pid % 250)}.1`
    lab = await startLab({
      // A change that was under way on a node when everything died gets its real time to end.
      wait_factor: 1,
      // A restarted control plane has another port, which the agents do not know: nobody counts as offline for that.
      config: {
        listen: { host: '0.0.0.0', port: 0 },
        nodes: { heartbeat_interval_ms: 300, offline_after_ms: 600_000 },
      },
      at: (point) => {
        if (point !== die_at) return
        die_at = undefined
        throw new CrashForTest(point)
      },
    })
    fleet = await startMtuFleet(lab, Number(new URL(lab.url).port), control_address)
  })
  after(async () => {
    await fleet?.close()
    await lab?.close()
  })
  const declare = (management: number, wait = 60) =>
    lab.call('PUT', '/network/mtu', { management }, { headers: { prefer: `wait=${wait}` } })
  const live = async (): Promise<number[]> =>
    Promise.all(fleet.nodes.flatMap(({ namespace }) => [fleet.mtu(namespace, 'mgmt0'), fleet.mtu(namespace, 'eth1')]))
  const everywhere = (mtu: number): number[] => fleet.nodes.flatMap(() => [mtu, mtu])
  const report = async () => (await lab.call('GET', '/network/mtu')).body

  test('a frame of the declared size is never lost while a rollout goes up and down again', async () => {
    for (const [mtu, carried] of [
      [9000, 1500],
      [1500, 1500],
    ] as const) {
      const pings = fleet.nodes.map(({ namespace }, at) =>
        pingAlways(namespace, fleet.nodes[(at + 1) % 3]?.address ?? '', carried),
      )
      const { body, text } = await declare(mtu)
      const counts = await Promise.all(pings.map((ping) => ping.stop()))
      assert.equal(body.status, 'SUCCESS', text)
      assert.deepEqual(await live(), everywhere(mtu))
      assert.deepEqual(
        counts.map(({ lost }) => lost),
        [0, 0, 0],
      )
      assert.ok(
        counts.every(({ sent }) => sent >= 20),
        JSON.stringify(counts),
      )
      assert.equal((await report()).status, 'consistent')
    }
  })

  test('a black hole in the middle: every node is back, the job names the node, nothing new is declared', async () => {
    const [, second] = fleet.nodes
    assert.ok(second !== undefined)
    await fleet.ip(fleet.switch_namespace, 'link', 'set', fleet.port(second), 'mtu', '1500')
    const { status, body } = await declare(9000)
    await fleet.ip(fleet.switch_namespace, 'link', 'set', fleet.port(second), 'mtu', '9000')
    assert.deepEqual([status, body.code], [500, 'MTU_ROLLOUT_FAILED'])
    assert.match(body.detail, /n[123]\.example\.internal: .*9000/)
    assert.deepEqual(await live(), everywhere(1500))
    const now = await report()
    assert.deepEqual([now.declared.management, now.rollout_status, now.status], [1500, 'failed', 'consistent'])
    const { jobs } = (await lab.call('GET', '/jobs?page_size=1')).body
    assert.equal(jobs[0].job_status, 'failed')
  })

  test('nobody answers pings: frames verify the way', async () => {
    const quiet = (value: string) =>
      Promise.all(
        fleet.nodes.map(({ namespace }) =>
          fleet.exec(namespace, 'sysctl', '-qw', `net.ipv4.icmp_echo_ignore_all=${value}`),
        ),
      )
    await quiet('1')
    const { body, text } = await declare(4000)
    await quiet('0')
    assert.equal(body.status, 'SUCCESS', text)
    assert.deepEqual(await live(), everywhere(4000))
    assert.equal((await declare(1500)).body.status, 'SUCCESS')
  })

  test('the control plane dies half-way: the next one ends the rollout, and nodes are alike', async () => {
    for (const point of ['prepare:acted', 'use:acted', 'probe:ended', 'commit:started', 'commit:acted']) {
      die_at = point
      const { body } = await declare(9000, 0)
      await until(`death at ${point}`, () => die_at === undefined)
      await lab.restart()
      await until(
        'the job has ended',
        async () => {
          const job = (await lab.call('GET', `/jobs/${body.job_id}`)).body
          return job.job_status !== 'running'
        },
        180_000,
      )
      const job = (await lab.call('GET', `/jobs/${body.job_id}`)).body
      assert.equal(job.job_status, 'completed', `${point}: ${job.failure_reason}`)
      assert.deepEqual(await live(), everywhere(9000), point)
      const down = await declare(1500)
      assert.equal(down.body.status, 'SUCCESS', down.text)
    }
  })
})
