// A real fabric of three routers: what each tells, and what it tells when a daemon hangs, a link goes, a peer stops.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Compile } from 'typebox/compile'
import { FrrNode } from '#src/contract/network/frr.ts'
import { frrSummary, routerDigest } from '#src/modules/network/frr-summary.ts'
import { fabricFiles } from '#src/node/desired/fabric.ts'
import { frrNode } from '#src/node/frr/node.ts'
import { type Fabric, fabricObstacle, type Router, startFabric } from '../support/fabric.ts'
import { until } from '../support/until.ts'

const DEADLINE_MS = 120_000

async function read(router: Router, timeout_ms = 3_000): Promise<FrrNode> {
  const node = await frrNode(router.host, {
    fqdn: `r${router.number}.example.test`,
    ip_address: `10.255.0.${router.number}`,
    vty_dir: router.vty_dir,
    config_dir: router.vty_dir,
    timeout_ms,
  })
  assert.ok(Compile(FrrNode).Check(node), JSON.stringify(Compile(FrrNode).Errors(node)))
  return node
}

const established = (node: FrrNode): number =>
  node.bgp?.sessions.filter((one) => one.state === 'Established').length ?? 0
const up = (node: FrrNode): number => node.bfd_peers?.filter((one) => one.status === 'up').length ?? 0

function whole(node: FrrNode): boolean {
  return (
    established(node) === 2 &&
    up(node) === 4 &&
    node.ospf_neighbors?.filter((one) => one.state === 'Full').length === 2 &&
    node.evpn_routes.imet === 6 &&
    node.vnis?.length === 3 &&
    node.vnis.every((vni) => vni.num_remote_vteps === 2 && vni.remote_vtep_info.every((vtep) => vtep.state === 'up')) &&
    (node.vnis.find((vni) => vni.vni === 100)?.mac_table?.length ?? 0) >= 3
  )
}

describe('a fabric of three real routers', { skip: fabricObstacle(), timeout: 400_000 }, () => {
  let fabric: Fabric
  const router = (number: number): Router => {
    const found = fabric.routers.find((one) => one.number === number)
    assert.ok(found)
    return found
  }
  /** As they were at that moment: on a busy machine a session may be lost in the next one. */
  const settled = (): Promise<FrrNode[]> =>
    until(
      'every router sees the whole fabric',
      async () => {
        const nodes = await Promise.all(fabric.routers.map((one) => read(one)))
        return nodes.every(whole) && nodes
      },
      DEADLINE_MS,
    )

  before(async () => {
    fabric = await startFabric()
  })
  after(() => fabric?.close())

  test('each router tells the whole fabric, and the sums follow', async () => {
    const nodes = await settled()
    for (const [index, node] of nodes.entries()) {
      assert.deepEqual([node.status, node.error, node.as, node.name], ['online', null, 65000, `r${index + 1}`])
      assert.deepEqual(node.frr?.daemons, ['bfdd', 'bgpd', 'ospfd', 'staticd', 'zebra'])
      assert.deepEqual(
        node.vnis?.map((vni) => [vni.vni, vni.type, vni.state, vni.local_vtep, vni.bridge]),
        [
          [100, 'L2', 'Up', `10.255.0.${index + 1}`, 'br100'],
          [200, 'L2', 'Up', `10.255.0.${index + 1}`, 'br200'],
          [4001, 'L3', 'Up', `10.255.0.${index + 1}`, 'br4001'],
        ],
      )
      assert.deepEqual(
        node.unavailable.map((one) => one.field),
        ['sdn_status'],
      )
    }
    const summary = frrSummary(nodes.map(routerDigest))
    assert.deepEqual(
      [summary.online_nodes, summary.established_peers, summary.bfd_peers_up, summary.full_ospf_adjacencies],
      [3, 6, 12, 6],
    )
    assert.deepEqual([summary.l2_vnis, summary.l3_vnis, summary.bfd_peers_down], [6, 3, 0])
  })

  test('vtysh gives the same record as the command sockets', async () => {
    const { host } = router(1)
    const byVtysh = () =>
      frrNode(
        { ...host, list: (path) => (path === router(1).vty_dir ? Promise.resolve(null) : host.list(path)) },
        {
          vty_dir: router(1).vty_dir,
          config_dir: router(1).vty_dir,
          fqdn: 'r1.example.test',
          ip_address: '10.255.0.1',
        },
      )
    // Its version text, and so the name, is vtysh's own.
    const still = ({ name: _name, bgp: _bgp, bfd_peers, frr, vnis, ...rest }: FrrNode) => ({
      ...rest,
      peers: bfd_peers?.map((one) => `${one.peer} ${one.local} ${one.status}`).toSorted(),
      daemons: frr?.daemons.toSorted(),
      vnis: vnis?.map(({ mac_table, arp_table, ...vni }) => ({
        ...vni,
        macs: mac_table?.length,
        arp: arp_table?.length,
      })),
    })
    // The fabric may change between the two.
    await until('both give the same', async () => {
      assert.deepEqual(still(await byVtysh()), still(await read(router(1))))
      return true
    })
  })

  test('a hung BGP daemon is named in time, hides nothing else, and recovers', async () => {
    const pid = await router(1).pid('bgpd')
    process.kill(pid, 'SIGSTOP')
    try {
      // The other daemons may need longer once, on a busy machine.
      await until('it alone is named, in time', async () => {
        const started = performance.now()
        const node = await read(router(1), 500)
        assert.ok(performance.now() - started < 5_000)
        assert.deepEqual([node.status, node.error], ['offline', 'bgpd does not answer within 500 ms'])
        assert.deepEqual([node.bgp, node.evpn_routes.total_routes, node.frr?.silent_daemons], [null, null, ['bgpd']])
        assert.equal(node.vnis?.length, 3)
        return true
      })
      await until('the others lose the session', async () => established(await read(router(2))) === 1, DEADLINE_MS)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    const [, second] = await settled()
    const lost = second?.bgp?.sessions.find((one) => one.peer === '10.255.0.1')
    assert.ok((lost?.connections_dropped ?? 0) >= 1)
  })

  test('a cut link takes its neighbour and its BFD session, and comes back', async () => {
    await fabric.link(1, 3, 'down')
    try {
      await until(
        'neighbour and BFD session of the link are gone',
        async () => {
          const node = await read(router(3))
          const neighbours = node.ospf_neighbors?.map((one) => one.neighbor_id)
          const bfd = node.bfd_peers?.find((one) => one.peer === '10.13.0.1')
          return neighbours?.length === 1 && neighbours[0] === '10.255.0.2' && bfd?.status !== 'up'
        },
        DEADLINE_MS,
      )
      await until(
        'the VTEP is reached the other way round',
        async () => {
          const info = (await read(router(3))).vnis?.[0]?.remote_vtep_info.find((one) => one.vtep_ip === '10.255.0.1')
          return info?.state === 'up' && info.neighbors.includes('10.23.0.1')
        },
        DEADLINE_MS,
      )
    } finally {
      await fabric.link(1, 3, 'up')
    }
    await settled()
  })

  test('a peer whose BFD daemon stops is down for the others, with the reason, and comes back', async () => {
    const pid = await router(3).pid('bfdd')
    process.kill(pid, 'SIGSTOP')
    try {
      const node = await until(
        'the session to the stopped peer is down',
        async () => {
          const now = await read(router(1))
          return now.bfd_peers?.find((one) => one.peer === '10.255.0.3')?.status === 'down' ? now : undefined
        },
        DEADLINE_MS,
      )
      const peer = node.bfd_peers?.find((one) => one.peer === '10.255.0.3')
      assert.deepEqual([peer?.uptime, peer?.local], [0, '10.255.0.1'])
      assert.equal(
        frrSummary([routerDigest(node)]).bfd_peers_down,
        node.bfd_peers?.filter((one) => one.status !== 'up').length,
      )
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await settled()
  })

  test('a dead BGP daemon is offline and told apart from a hung one', async () => {
    const pid = await router(3).pid('bgpd')
    process.kill(pid, 'SIGKILL')
    const node = await until(
      'the socket refuses',
      async () => {
        const now = await read(router(3))
        return now.error === 'bgpd is not running' ? now : undefined
      },
      DEADLINE_MS,
    )
    assert.deepEqual([node.status, node.bgp, node.frr?.daemons.includes('bgpd')], ['offline', null, false])
    await until('the others see one session less', async () => established(await read(router(1))) === 1, DEADLINE_MS)
  })

  test('a router with the configuration that setup writes is a leaf: sessions with both reflectors, and its tunnels are known', async () => {
    const { host, vty_dir } = router(3)
    const document = { packages: [], as_number: 65_000, address: '10.255.0.3', route_reflectors: ['10.255.0.1', '10.255.0.2'] } // biome-ignore format: one record
    const written = fabricFiles(document).find(({ path }) => path.endsWith('frr.conf'))
    assert.ok(written?.kind === 'whole')
    const file = join(vty_dir, 'leaf.conf')
    await writeFile(file, written.text)
    const args = ['-d', '-A', '127.0.0.1', '--vty_socket', vty_dir, '-z', join(vty_dir, 'zserv.api'), '-i', join(vty_dir, 'bgpd.pid'), '-f', file] // biome-ignore format: one command
    const started = await host.run('/usr/lib/frr/bgpd', args, { timeout_ms: 30_000 })
    assert.equal(started.exit_code, 0, started.stderr)
    await until(
      'the leaf has its sessions, and the others its tunnels',
      async () => {
        const [leaf, other] = await Promise.all([read(router(3)), read(router(1))])
        const tunnel = other.vnis?.find(({ vni }) => vni === 100)?.remote_vtep_info
        return established(leaf) === 2 && tunnel?.some(({ vtep_ip }) => vtep_ip === '10.255.0.3') === true
      },
      DEADLINE_MS,
    )
  })
})
