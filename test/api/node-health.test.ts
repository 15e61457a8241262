// One verdict a node: what the sources say is wrong is in it, with its reason, and gone again when it is well.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { LabAgents } from '../../lab/agents.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

interface Area {
  area: string
  health: string
  since: string
  reasons: string[]
}
interface Node {
  bmc_ip: string
  fqdn: string | null
  health: string
  areas: Area[]
}

let lab: Lab
let agents: LabAgents
before(async () => {
  lab = await startLab({
    config: { nodes: { heartbeat_interval_ms: 300, offline_after_ms: 3000, health_poll_ms: 500 } },
  })
  agents = await startEnrolledAgents(lab)
})
after(async () => {
  await agents?.close()
  await lab?.close()
})

const fleet = async (query = ''): Promise<{ nodes: Node[]; health: string; count: number } & Record<string, number>> =>
  (await lab.call('GET', `/fleet/health${query}`)).body
const nodeOf = async (name: string) => (await fleet()).nodes.find(({ fqdn }) => fqdn?.startsWith(name))
const areaOf = (node: Node | undefined, name: string) => node?.areas.find(({ area }) => area === name)

test('a link without carrier makes its node ill, with the reason, in the list, by itself, and in the sums of the fleet', async () => {
  const ill = await until('kvm-02 was looked at', async () => {
    const node = await nodeOf('kvm-02')
    return areaOf(node, 'network')?.health === 'critical' || areaOf(node, 'network')?.health === 'degraded'
      ? node
      : undefined
  })
  assert.match(areaOf(ill, 'network')?.reasons.join() ?? '', /carrier/)
  assert.ok(['critical', 'degraded'].includes(ill.health))
  const one = await lab.call('GET', `/configure/nodes/${ill.bmc_ip}/health`)
  assert.deepEqual([one.status, one.body.health, one.body.areas.length], [200, ill.health, ill.areas.length])
  const listed = (await lab.call('GET', '/configure/nodes')).body.nodes.find(
    ({ bmc_ip }: Node) => bmc_ip === ill.bmc_ip,
  )
  assert.equal(listed.health, ill.health)
  const sums = await fleet()
  assert.equal(
    (sums['healthy'] ?? 0) + (sums['degraded'] ?? 0) + (sums['critical'] ?? 0) + (sums['unknown'] ?? 0),
    sums.count,
  )
  assert.equal(sums.nodes[0]?.health, sums.health, 'worst first')
  const same = await fleet(`?health=${ill.health}`)
  assert.deepEqual([same.nodes.every(({ health }) => health === ill.health), same.count], [true, sums[ill.health]])
})

test('a node whose agent falls silent is critical with the reason and nothing else is claimed of it, and well again after', async () => {
  const before_silence = await until('mgmt-01 was looked at', async () => {
    const node = await nodeOf('mgmt-01')
    return areaOf(node, 'agent')?.health === 'healthy' ? node : undefined
  })
  await agents.close()
  const silent = await until('the silence is seen', async () => {
    const node = await nodeOf('mgmt-01')
    return areaOf(node, 'agent')?.health === 'critical' ? node : undefined
  })
  assert.equal(silent.health, 'critical')
  assert.ok((areaOf(silent, 'agent')?.reasons.length ?? 0) > 0)
  for (const name of ['time', 'network', 'mtu', 'routing', 'storage'])
    assert.equal(areaOf(silent, name)?.health, 'unknown', name)
  const reported = await lab.call('POST', '/events/app-events', { action: 'nodeHealthChange', page_size: 100 })
  const event = reported.body.app_events.find(({ description }: { description: string }) =>
    /mgmt-01.* is critical/.test(description),
  )
  assert.equal(event.status, 'FAILED')
  assert.notEqual(event.error_message, '')

  agents = await startEnrolledAgents(lab)
  const well = await until('it is well again', async () => {
    const node = await nodeOf('mgmt-01')
    return node?.health === before_silence.health ? node : undefined
  })
  assert.deepEqual(
    well.areas.map(({ area, health }) => [area, health]),
    before_silence.areas.map(({ area, health }) => [area, health]),
  )
  const metrics = await lab.call('GET', '/metrics')
  assert.match(metrics.text, /groundplane_nodes\{health="healthy"\} \d/)
})

test('the health of a node that nobody registered is 404', async () => {
  const none = await lab.call('GET', '/configure/nodes/192.0.2.99/health')
  assert.deepEqual([none.status, none.body.code], [404, 'NODE_NOT_FOUND'])
  assert.equal((await lab.call('GET', '/fleet/health?health=splendid')).status, 400)
})
