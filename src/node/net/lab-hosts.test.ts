// The captured hosts of the lab: their configuration fits, their answers are complete, their counters move.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { NodeNet } from '#src/contract/network/node-net.ts'
import { capturedHost, capturedNetwork } from '../../../lab/captured-host/host.ts'
import { parseNodeNetConfig } from './config.ts'
import { netHandlers } from './index.ts'
import { createNetSampler } from './sampler.ts'

const hosts = join(import.meta.dirname, '../../../lab/hosts')
const names = readdirSync(hosts, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
const NONE = { params: undefined, query: undefined, body: undefined }

function open(name: string) {
  let clock_ms = 0
  const dir = join(hosts, name)
  const host = capturedHost(dir, { monotonic: () => clock_ms })
  const config = parseNodeNetConfig(capturedNetwork(dir))
  const ran: string[] = []
  const watched = {
    ...host,
    run: (...call: Parameters<typeof host.run>) => {
      ran.push([call[0], ...call[1]].join(' '))
      return host.run(...call)
    },
  }
  const { handlers } = netHandlers({ host: watched, config, samples: createNetSampler(host) })
  return {
    ran,
    summary: async () => Compile(NodeNet).Parse(await handlers.nodeSummary(NONE, undefined)),
    pass: (milliseconds: number) => {
      clock_ms += milliseconds
    },
  }
}

for (const name of names) {
  test(`${name} of the lab answers completely, and its traffic moves`, async () => {
    const lab = open(name)
    const before = await lab.summary()
    assert.deepEqual([before.hostname, before.fqdn], [name, `${name}.example.internal`])
    const unanswered = before.unavailable.filter((one) => /not recorded|installed|exit code/.test(one.reason))
    assert.deepEqual(unanswered, [])
    assert.ok(before.main_bridges.length > 0 && before.nics.length > 0)
    lab.pass(60_000)
    assert.ok((await lab.summary()).total_traffic_bytes > before.total_traffic_bytes + 60_000_000)
  })
}

test('callers within a second share one snapshot, and drivers are asked once a minute', async () => {
  const lab = open('mgmt-01')
  await Promise.all([lab.summary(), lab.summary()])
  const first = lab.ran.length
  const drivers = () => lab.ran.filter((line) => line.startsWith('ethtool')).length
  const asked = drivers()
  assert.equal(lab.ran.filter((line) => line.includes('addr show')).length, 1)
  lab.pass(999)
  await lab.summary()
  assert.equal(lab.ran.length, first)
  lab.pass(5_000)
  await lab.summary()
  assert.ok(lab.ran.length > first)
  assert.equal(drivers(), asked)
  lab.pass(60_000)
  await lab.summary()
  assert.equal(drivers(), 2 * asked)
})
