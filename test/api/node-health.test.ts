// One verdict a node: what the sources say is wrong is in it, with its reason, and gone again when it is well.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { LabAgents } from '../../lab/agents.ts'
import { wellKnown } from '../../lab/site.ts'
import { HEALTH_AREAS } from '#src/contract/nodes/health.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import { type Fault, fails, output, startFaultyNode } from '../support/faulty-node.ts'
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

/** The third, kvm-01, is given faults. */
const OTHERS = ['kvm-02', 'mgmt-01']
let lab: Lab
let agents: LabAgents
before(async () => {
  lab = await startLab({
    config: { nodes: { heartbeat_interval_ms: 300, offline_after_ms: 6000, health_poll_ms: 500 } },
  })
  agents = await startEnrolledAgents(lab, OTHERS)
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
  const of_it = ({ bmc_ip }: Node): boolean => bmc_ip === ill.bmc_ip
  await until('its own page and the list of nodes say the same, between two checks', async () => {
    const same = (await fleet()).nodes.find(of_it)
    const one = await lab.call('GET', `/configure/nodes/${ill.bmc_ip}/health`)
    assert.deepEqual([one.status, one.body.health, one.body.areas], [200, same?.health, same?.areas])
    const listed = (await lab.call('GET', '/configure/nodes')).body.nodes.find(of_it)
    assert.equal(listed.health, same?.health)
    return true
  })
  const [sums, same] = await until('nothing is checked between two readings', async () => {
    const first = await fleet()
    const found = await fleet(`?health=${first.health}`)
    return isDeepStrictEqual(await fleet(), first) && ([first, found] as const)
  })
  assert.equal(
    (sums['healthy'] ?? 0) + (sums['degraded'] ?? 0) + (sums['critical'] ?? 0) + (sums['unknown'] ?? 0),
    sums.count,
  )
  assert.equal(sums.nodes[0]?.health, sums.health, 'worst first')
  assert.deepEqual([same.nodes.every(({ health }) => health === sums.health), same.count], [true, sums[sums.health]])
})

type Links = {
  ifname: string
  flags: string[]
  operstate: string
  mtu: number
  linkinfo: { info_slave_data: { mii_status: string } }
}[]
const link = (name: string, edit: (one: Links[number]) => void): Fault =>
  output('ip -j -d -s -s addr show', (stdout) => {
    const links = JSON.parse(stdout) as Links
    for (const one of links) if (one.ifname === name) edit(one)
    return JSON.stringify(links)
  })
const hidden =
  (part: string): Fault =>
  (host) => ({
    list: async (path) => (await host.list(path))?.filter((name) => !name.includes(part)) ?? null,
  })

/** Name of the fault, area and reason that show it, and what makes it. Each round has one of an area at most. */
const ROUNDS: readonly (readonly [fault: string, area: string, reason: RegExp, made_by: Fault | object])[][] = [
  [
    ['clock without a source', 'time', /The clock follows no time source/,
      output('chronyc -c -n tracking', () => '00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n')],
    ['uplink without carrier', 'network', /eth2 is switched on but has no carrier; it carries the storage network/,
      link('eth2', (one) => { one.flags = one.flags.filter((flag) => flag !== 'LOWER_UP'); one.operstate = 'DOWN' })],
    ['MTU of a VLAN too small', 'mtu', /bond0\.100/, link('bond0.100', (one) => { one.mtu = 1400 })],
    ['routing daemon ended', 'routing', /routing daemon is not: bgpd is not running/, fails('vtysh -d bgpd', 'bgpd is not running\n')],
    ['pool without a mirror', 'storage', /Local pool tank is DEGRADED/, output('zpool list', (text) => text.replace('ONLINE', 'DEGRADED'))],
    ['GPU gone from the bus', 'gpus', /GPU af:00\.0 \(NVIDIA A2\) is not on the PCI bus/, hidden('af:00.0')],
    ['host down on the platform', 'platform', /says that the host is Down/, { state: 'Down' }],
  ],
  [
    ['slave that takes no part', 'network', /bond0 is degraded: eth1 has a carrier but does not take part/,
      link('eth1', (one) => { one.linkinfo.info_slave_data.mii_status = 'DOWN' })],
    ['overlay session lost', 'routing', /The overlay session with 10\.255\.0\.3 is Active/,
      output('vtysh -d bgpd -c show bgp summary json', (text) => text.replaceAll(/("10\.255\.0\.3":\{[^{}]*"state":)"Established"/g, '$1"Active"'))],
    ['disk failing', 'disks', /Disk \/dev\/sdb fails/, output('smartctl --json=c -x -n standby,0 /dev/sdb', (text) => text.replace('"passed":true', '"passed":false'))],
    ['GPU without a driver', 'gpus', /GPU 3b:00\.0 \(NVIDIA A2\) has no driver/,
      (host) => ({ link: async (path) => (path.endsWith('3b:00.0/driver') ? null : host.link(path)) })],
    ['host in maintenance', 'platform', /the host is in Maintenance/, { resourcestate: 'Maintenance' }],
  ],
  [
    ['storage daemon down', 'storage', /Cluster store: 1 osds down/, output('ceph --connect-timeout 5 status', (text) =>
      text.replace(/"health":\{.*?"mutes":\[\]\}/, '"health":{"status":"HEALTH_WARN","checks":{"OSD_DOWN":{"severity":"HEALTH_WARN","summary":{"message":"1 osds down","count":1},"muted":false}},"mutes":[]}'))],
    ['BFD session down', 'routing', /The BFD session with 10\.255\.0\.3 is down/, output('vtysh -d bfdd', (text) => text.replace('"status":"up"', '"status":"down"'))],
  ],
] // biome-ignore format: a table

test('each fault of a machine is in the list of nodes with its reason, and gone when it is mended', async () => {
  const bmc_ip = '10.1.0.11'
  const read = async () => ({
    listed: (await lab.call('GET', '/configure/nodes')).body.nodes.find((one: Node) => one.bmc_ip === bmc_ip) as Node,
    node: (await lab.call('GET', `/configure/nodes/${bmc_ip}/health`)).body as Node,
  })
  const host = lab.platform.state.tables.hosts.get(wellKnown.hosts['kvm-01'])
  assert.ok(host !== null)
  const kvm_01 = await startFaultyNode(lab, 'kvm-01', bmc_ip)
  try {
    const known = await until('kvm-01 is looked at', async () => {
      const { node } = await read()
      const is_whole = node.areas.length === HEALTH_AREAS.length && node.areas.every(({ health }) => health !== 'unknown')
      return is_whole && areaOf(node, 'storage')?.health === 'healthy' ? node : undefined
    })
    for (const [number, round] of ROUNDS.entries()) {
      const faults = round.flatMap(([, , , made_by]) => (typeof made_by === 'function' ? [made_by as Fault] : []))
      const on_platform = Object.assign({}, ...round.flatMap(([, , , made_by]) => (typeof made_by === 'function' ? [] : [made_by])))
      lab.platform.state.tables.hosts.put({ ...host, ...on_platform })
      await kvm_01.restart(faults)
      for (const [fault, area, reason] of round) {
        // Two requests: the list may have been asked a moment before the verdict changed.
        const { node } = await until(`round ${number}: ${fault}, in the list, too`, async () => {
          const now = await read()
          const is_reported = reason.test(areaOf(now.node, area)?.reasons.join(' ') ?? '')
          return is_reported && ['degraded', 'critical'].includes(now.listed.health) ? now : undefined
        })
        assert.ok(['degraded', 'critical'].includes(areaOf(node, area)?.health ?? ''), fault)
      }
      lab.platform.state.tables.hosts.put(host)
      await kvm_01.restart([])
      await until(`round ${number} is mended`, async () => {
        const { node } = await read()
        const areas = (one: Node) => one.areas.map(({ area, health, reasons }) => [area, health, reasons])
        return isDeepStrictEqual(areas(node), areas(known)) ? node : undefined
      })
    }
  } finally {
    await kvm_01.close()
  }
}) // biome-ignore format: rows

/** What only its agent knows of mgmt-01. */
const OF_AGENT = ['time', 'network', 'mtu', 'routing', 'storage']

test('a node whose agent falls silent is critical with the reason and nothing else is claimed of it, and well again after', async () => {
  const before_silence = await until('mgmt-01 was looked at', async () => {
    const node = await nodeOf('mgmt-01')
    const is_known = (name: string) => ![undefined, 'unknown'].includes(areaOf(node, name)?.health)
    return areaOf(node, 'agent')?.health === 'healthy' && OF_AGENT.every(is_known) ? node : undefined
  })
  await agents.close()
  // Its storage may have answered a moment before, within the same check.
  const silent = await until('the silence is seen', async () => {
    const node = await nodeOf('mgmt-01')
    const is_unknown = (name: string) => areaOf(node, name)?.health === 'unknown'
    const is_silent = areaOf(node, 'agent')?.health === 'critical'
    return is_silent && OF_AGENT.every(is_unknown) ? node : undefined
  })
  assert.equal(silent.health, 'critical')
  assert.ok((areaOf(silent, 'agent')?.reasons.length ?? 0) > 0)
  const reported = await lab.call('POST', '/events/app-events', { action: 'nodeHealthChange', page_size: 100 })
  const event = reported.body.app_events.find(({ description }: { description: string }) =>
    /mgmt-01.* is critical/.test(description),
  )
  assert.equal(event.status, 'FAILED')
  assert.notEqual(event.error_message, '')

  agents = await startEnrolledAgents(lab, OTHERS)
  const verdicts = (node: Node | undefined) => node?.areas.map(({ area, health }) => [area, health])
  await until('it is as well as before, in every area', async () =>
    isDeepStrictEqual(verdicts(await nodeOf('mgmt-01')), verdicts(before_silence)),
  )
  const metrics = await lab.call('GET', '/metrics')
  assert.match(metrics.text, /groundplane_nodes\{health="healthy"\} \d/)
})

test('the health of a node that nobody registered is 404', async () => {
  const none = await lab.call('GET', '/configure/nodes/192.0.2.99/health')
  assert.deepEqual([none.status, none.body.code], [404, 'NODE_NOT_FOUND'])
  assert.equal((await lab.call('GET', '/fleet/health?health=splendid')).status, 400)
})
