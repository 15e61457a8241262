// Views over the network of all nodes: real agents on captured hosts, and agents that are dead, slow, broken or too talkative.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { exampleNodeNet } from '#src/contract/network/monitoring-example.ts'
import type { LabAgents } from '../../lab/agents.ts'
import { FACTS, type FakeAgent, enrolNode, registerNode, sendHeartbeat, serveAs } from '../support/fake-agent.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

suite('network of real agents', () => {
  let lab: Lab
  let agents: LabAgents
  before(async () => {
    lab = await startLab({ config: { nodes: { heartbeat_interval_ms: 300, offline_after_ms: 60_000 } } })
    agents = await startEnrolledAgents(lab)
  })
  after(async () => {
    await agents?.close()
    await lab?.close()
  })
  const post = async (path: string, body?: object) => {
    const answer = await lab.call('POST', path, body)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  test('the dashboard shows every node and sums what they say', async () => {
    const { nodes, summary, count, next_id, has_more } = await post('/network/monitoring/dashboard')
    assert.deepEqual([count, next_id, has_more], [3, 0, false])
    assert.deepEqual(
      nodes
        .map((node: { fqdn: string; node_role: string; status: string }) => [node.fqdn, node.node_role, node.status])
        .sort(),
      [
        ['kvm-01.example.internal', 'kvm_host', 'online'],
        ['kvm-02.example.internal', 'kvm_host', 'online'],
        ['mgmt-01.example.internal', 'management', 'online'],
      ],
    )
    const sum = (field: string): number =>
      nodes.reduce((total: number, node: { data: Record<string, number> }) => total + (node.data[field] ?? 0), 0)
    assert.equal(summary.total_bridges, sum('bridge_count'))
    assert.equal(summary.total_physical_nics, sum('physical_nic_count'))
    assert.equal(summary.total_links_down, sum('links_down'))
    assert.ok(summary.total_links_down > 0, 'kvm-02 has a link without carrier')
    assert.deepEqual([summary.online_nodes, summary.kvm_nodes, summary.management_nodes], [3, 2, 1])
  })

  test('pages follow one another by after_id, and their sums are those of the fleet', async () => {
    const seen: string[] = []
    let after_id = 0
    for (let page = 0; page < 4; page += 1) {
      const answer = await post('/network/monitoring/dashboard', { after_id, page_size: 1 })
      assert.equal(answer.summary.total_nodes, 3)
      seen.push(...answer.nodes.map((node: { fqdn: string }) => node.fqdn))
      assert.equal(answer.has_more, answer.next_id !== 0)
      if (answer.next_id === 0) break
      after_id = answer.next_id
    }
    assert.equal(new Set(seen).size, 3)
    assert.equal(seen.length, 3)
  })

  test('alerts name the node; a page holds whole nodes and counts all', async () => {
    const all = await post('/network/monitoring/alerts')
    assert.equal(all.count, all.alerts.length)
    const { critical, warning, info } = all.summary
    assert.equal(critical + warning + info, all.count)
    const faults = all.alerts.filter((one: { node: string }) => one.node === 'kvm-02.example.internal')
    const categories = new Set(faults.map((one: { category: string }) => one.category))
    for (const category of ['link_down', 'mtu', 'ntp']) assert.ok(categories.has(category), category)
    const first = await post('/network/monitoring/alerts', { page_size: 1 })
    assert.equal(first.count, all.count)
    assert.ok(first.alerts.length < all.count)
    assert.equal(new Set(first.alerts.map((one: { node: string }) => one.node)).size <= 1, true)
  })

  test('routers and NICs of all nodes come from their agents', async () => {
    const frr = await post('/network/monitoring/frr/dashboard')
    assert.deepEqual([frr.count, frr.nodes.length], [3, 3])
    assert.ok(frr.summary.established_peers > 0)
    const usable = await post('/network/guest-networks/eligible-nics')
    const all = await post('/network/guest-networks/eligible-nics', { include_all: true })
    const total = (answer: { nodes: { nic_count: number }[] }): number =>
      answer.nodes.reduce((sum, node) => sum + node.nic_count, 0)
    assert.equal(usable.count, 3)
    assert.ok(total(all) > total(usable))
    for (const node of all.nodes) assert.equal(node.nic_count, node.interfaces.length)
  })
})

suite('network of faulty nodes', () => {
  const TIMEOUT_MS = 1500
  let lab: Lab
  const fakes: FakeAgent[] = []
  let slow_asked = 0
  before(async () => {
    lab = await startLab({
      config: {
        nodes: {
          heartbeat_interval_ms: 200,
          offline_after_ms: 60_000,
          agent_timeout_ms: TIMEOUT_MS,
          agent_retry_ms: 1000,
        },
      },
    })
    const answers: Record<string, RequestListener> = {
      good: (request, response) => {
        const snapshot = { ...exampleNodeNet, links_down: good.links_down }
        response.end(JSON.stringify(request.url?.includes('alerts') ? { alerts: [] } : snapshot))
      },
      slow: (_request, response) => {
        slow_asked += 1
        setTimeout(() => response.end(JSON.stringify(exampleNodeNet)), slow_ms)
      },
      garbage: (_request, response) => response.end('<html>'),
      strange: (_request, response) => response.end('{"hostname": 7}'),
      huge: (_request, response) => response.end(Buffer.alloc(10 * 1024 * 1024, 0x20)),
    }
    for (const [at, [name, answer]] of Object.entries(answers).entries()) await add(`10.8.0.${at + 1}`, name, answer)
    const dead = await add('10.8.0.9', 'dead', () => {})
    await dead.close()
    await registerNode(lab, '10.8.0.20', { node_ip: '10.8.1.20', fqdn: 'never.example.internal' })
    await registerNode(lab, '10.8.0.21', { fqdn: 'homeless.example.internal' })
  })
  after(async () => {
    await Promise.all(fakes.map((fake) => fake.close().catch(() => {})))
    await lab?.close()
  })
  let slow_ms = 60_000
  const good = { links_down: 1 }
  let come_back = async (): Promise<void> => {}
  async function add(bmc_ip: string, name: string, answer: RequestListener): Promise<FakeAgent> {
    const who = await enrolNode(lab, bmc_ip, {
      ...FACTS,
      hostname: name,
      fqdn: name,
      node_ip: bmc_ip.replace('10.8.0', '10.8.1'),
    })
    const fake = await serveAs(who, answer)
    fakes.push(fake)
    if (name === 'good') {
      come_back = async () => {
        const again = await serveAs(who, answer)
        fakes.push(again)
        await sendHeartbeat(lab, who, again.port)
      }
    }
    await sendHeartbeat(lab, who, fake.port)
    return fake
  }
  const dashboard = async (page_size = 50) =>
    (await lab.call('POST', '/network/monitoring/dashboard', { page_size })).body
  const byName = async () =>
    Object.fromEntries((await dashboard()).nodes.map((node: { fqdn: string }) => [node.fqdn, node]))

  test('a node that is dead, slow, broken or too talkative is an error of its own, and the others are shown', async () => {
    const nodes = await until('the good one has answered in time', async () => {
      const all = await byName()
      return all['good'].status === 'online' ? all : undefined
    })
    assert.equal(nodes['good'].error, null)
    for (const name of ['slow', 'garbage', 'strange', 'huge', 'dead', 'never.example.internal']) {
      assert.equal(nodes[name].status, 'offline', name)
      assert.equal(nodes[name].data, null, name)
      assert.ok(nodes[name].error.length > 10, name)
    }
    assert.equal(nodes['slow'].error, 'The node did not answer in time.')
    assert.equal(nodes['homeless.example.internal'].status, 'unconfigured-noIP')
    await until('the sums say so', async () => {
      const { summary } = await dashboard()
      assert.deepEqual([summary.online_nodes, summary.offline_nodes, summary.unconfigured_nodes], [1, 6, 1])
      return true
    })
  })

  test('a slow node costs its time limit once and not on every page', async () => {
    await dashboard()
    const asked = slow_asked
    for (let page = 0; page < 8; page += 1) await dashboard(2)
    // A page that waits for the node has asked it.
    assert.ok(slow_asked < asked + 8, `asked ${slow_asked - asked} times for 8 pages`)
  })

  test('a node that answers again is shown again', async () => {
    slow_ms = 0
    await until('the slow node is back', async () => (await byName())['slow'].status === 'online')
  })

  test('a change of a node is shown, and counted in the sums', async () => {
    const both = await until('the sums count both', async () => {
      const { summary } = await dashboard()
      return summary.online_nodes === 2 && summary
    })
    good.links_down += 5
    await until('the change is shown and counted', async () => {
      const { nodes, summary } = await dashboard()
      const shown = nodes.find((node: { fqdn: string }) => node.fqdn === 'good')
      return shown.data?.links_down === good.links_down && summary.total_links_down === both.total_links_down + 5
    })
  })

  test('a node that goes away is shown gone, and shown again when it is back', async () => {
    const [was] = fakes
    assert.ok(was)
    await was.close()
    await until('it is gone', async () => (await byName())['good'].status === 'offline')
    assert.ok((await byName())['good'].error.length > 10)
    await until('the one that was slow is left', async () => (await dashboard()).summary.online_nodes === 1)
    await come_back()
    await until('it is back', async () => (await byName())['good'].status === 'online')
  })

  test('silent nodes are critical alerts, unconfigured ones a note', async () => {
    const { alerts } = (await lab.call('POST', '/network/monitoring/alerts')).body
    const about = (node: string) =>
      alerts.find((one: { node: string; category: string }) => one.node === node && one.category === 'node_offline')
    assert.equal(about('dead').severity, 'critical')
    assert.equal(about('homeless.example.internal').severity, 'info')
    assert.equal(about('good'), undefined)
  })

  test('NICs and routers of silent nodes are errors of those nodes', async () => {
    const nics = (await lab.call('POST', '/network/guest-networks/eligible-nics')).body
    const dead = nics.nodes.find((node: { fqdn: string }) => node.fqdn === 'dead')
    assert.deepEqual([dead.nic_count, dead.interfaces], [null, []])
    assert.ok(dead.error.length > 10)
    const frr = (await lab.call('POST', '/network/monitoring/frr/dashboard')).body
    assert.equal(
      frr.nodes.every((node: { status: string }) => node.status === 'offline'),
      true,
    )
  })
})
