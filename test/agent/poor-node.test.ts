// A node that has none of the tools: every node-local read answers all the same, and says what is missing.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { areas } from '#src/contract/index.ts'
import { type Area, routeEffect } from '#src/contract/route.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

const TOOLS = [
  'bridge', 'ceph', 'chronyc', 'ethtool', 'fio', 'lsblk', 'nvme', 'rados', 'rbd', 'smartctl', 'tc', 'timedatectl', 'vtysh',
  'zfs', 'zpool',
] // biome-ignore format: a list of words

/** What an answer must name, by operation. */
const NAMED: Readonly<Record<string, RegExp>> = {
  nodeSummary: /^tc is not installed/,
  hostDiskList: /lsblk is not installed/,
  hostStorageMetrics: /lsblk is not installed/,
  hostStorageHealth: /lsblk is not installed/,
}

suite('a node without tools', () => {
  let lab: Lab
  before(async () => {
    const tools = Object.fromEntries(TOOLS.map((name) => [name, `/nonexistent/${name}`]))
    lab = await startLab({ config: { node: { settings: { tools } } } })
  })
  after(() => lab?.close())

  const reads = (areas as readonly Area[])
    .flatMap((area) => Object.entries(area.routes))
    .filter(([, route]) => route.runs_on === 'node' && route.hidden !== true && routeEffect(route) === 'read')
    .filter(([, route]) => route.body === undefined && !route.path.includes('{'))

  test('has reads to ask it', () => {
    for (const operation of Object.keys(NAMED))
      assert.ok(
        reads.some(([name]) => name === operation),
        operation,
      )
  })

  for (const [operation, route] of reads) {
    test(`answers ${operation}${NAMED[operation] === undefined ? '' : ', naming what is missing'}`, async () => {
      const reply = await lab.call(route.method, route.path)
      assert.equal(reply.status, 200, reply.text)
      const pattern = NAMED[operation]
      if (pattern === undefined) return
      const reasons: string[] = reply.body.unavailable.map((one: { reason: string }) => one.reason)
      assert.ok(
        reasons.some((reason) => pattern.test(reason)),
        reasons.join('\n'),
      )
    })
  }
})
