import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { FrrSummary } from '#src/contract/network/frr.ts'
import { frrNode } from '#src/node/frr/node.ts'
import { scriptedHost } from '../support/scripted-host.ts'
import { recordedRouter } from '../support/recorded-router.ts'
import { frrSummary, routerDigest } from '#src/modules/network/frr-summary.ts'

test('sessions count once though they carry two address families, and an offline router only misses in the sums', async () => {
  const summary = frrSummary(
    [await frrNode(recordedRouter(), {}), await frrNode(scriptedHost({}), {})].map(routerDigest),
  )
  assert.ok(Compile(FrrSummary).Check(summary))
  assert.deepEqual(summary, {
    total_nodes: 2,
    online_nodes: 1,
    offline_nodes: 1,
    total_peers: 2,
    established_peers: 2,
    total_session_flaps: 0,
    total_msg_rcvd: 80,
    total_msg_sent: 80,
    total_bfd_peers: 4,
    bfd_peers_up: 4,
    bfd_peers_down: 0,
    total_ospf_neighbors: 2,
    full_ospf_adjacencies: 2,
    total_routes: 21,
    total_vnis: 3,
    l2_vnis: 2,
    l3_vnis: 1,
    total_macs: 3,
    total_arp_entries: 6,
  })
})

test('when no router could tell, a sum is null and not zero', async () => {
  const summary = frrSummary([routerDigest(await frrNode(scriptedHost({}), {}))])
  assert.deepEqual([summary.total_peers, summary.total_vnis, summary.total_macs], [null, null, null])
  assert.deepEqual([summary.total_nodes, summary.offline_nodes], [1, 1])
})

test('a fleet without routers sums to zero', () => {
  assert.equal(frrSummary([]).total_peers, 0)
})
