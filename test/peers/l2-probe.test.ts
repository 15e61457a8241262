// Proves the raw-frame probe between two nodes with a switch in between.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { MtuL2ProbeRequest, MtuL2ProbeResult } from '#src/contract/network/mtu.ts'
import { ADDRESS_B, namespacesRefused, startTopology, type Topology } from './mtu-topology.ts'

interface Outcome extends MtuL2ProbeResult {
  error?: string
  lengths: number[]
}

describe('raw-frame probe', { skip: namespacesRefused() ?? false, timeout: 120_000 }, () => {
  let net: Topology
  before(async () => {
    net = await startTopology()
    for (const device of ['eth1', 'mgmt0']) await net.ip(net.a, 'link', 'set', 'dev', device, 'mtu', '9000')
  })
  after(() => net.remove())

  it('loses none of 200 jumbo frames, each exactly mtu + 14 bytes on the wire', async () => {
    const { listened, sent } = await between({ mtu: 9000, count: 200 }, true)
    assert.equal(sent.sent, 200)
    assert.equal(listened.received, 200, listened.detail)
    assert.equal(listened.lengths.length, 200)
    assert.deepEqual([...new Set(listened.lengths)], [9014])
    assert.match(sent.peer_mac, /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
  })

  it('sees the VLAN slack of a switch port: 1500 and 1504 pass a 1500 port, 1505 does not', async () => {
    await net.ip(net.switch, 'link', 'set', 'pb', 'mtu', '1500')
    const received: Record<number, number> = {}
    for (const mtu of [46, 1500, 1504]) received[mtu] = (await between({ mtu, count: 20 })).listened.received
    received[1505] = (await between({ mtu: 1505, count: 20, window_ms: 3000 })).listened.received
    await net.ip(net.switch, 'link', 'set', 'pb', 'mtu', '9000')
    assert.deepEqual(received, { 46: 20, 1500: 20, 1504: 20, 1505: 0 })
  })

  it('counts only frames of its own token', async () => {
    const { listened } = await between({ mtu: 1500, count: 5, token: 1, window_ms: 800 }, false, { token: 2 })
    assert.equal(listened.received, 0)
  })

  it('says that the local MTU is too small instead of sending', async () => {
    const result = await probe(net.a, { device: 'mgmt0', mode: 'send', mtu: 9001, peer: ADDRESS_B })
    assert.equal(result.sent, 0)
    assert.match(result.detail, /local MTU too small: mgmt0 runs at 9000/)
  })

  it('refuses devices without a role, and says when a peer has no link-layer address', async () => {
    assert.match((await probe(net.a, { device: 'lo', mode: 'listen', mtu: 1500 })).error ?? '', /carries no role/)
    const silent = await probe(net.a, { device: 'mgmt0', mode: 'send', mtu: 1500, peer: '10.50.0.77' })
    assert.match(silent.error ?? '', /does not answer for its link-layer address/)
  })

  async function between(
    request: Omit<MtuL2ProbeRequest, 'device' | 'mode'>,
    sniff = false,
    other: Partial<MtuL2ProbeRequest> = {},
  ): Promise<{ listened: Outcome; sent: Outcome }> {
    const listening = start(net.b, {
      request: { device: 'mgmt0', mode: 'listen', window_ms: 60_000, token: 9, ...request },
      sniff,
    })
    await listening.ready
    const sent = await probe(net.a, { device: 'mgmt0', mode: 'send', peer: ADDRESS_B, token: 9, ...request, ...other })
    return { sent, listened: await listening.outcome }
  }

  function probe(namespace: string, request: MtuL2ProbeRequest): Promise<Outcome> {
    return start(namespace, { request, sniff: false }).outcome
  }
})

function start(namespace: string, program: unknown): { ready: Promise<unknown>; outcome: Promise<Outcome> } {
  const file = join(import.meta.dirname, 'l2-node.ts')
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, file, JSON.stringify(program)])
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const outcome = once(child, 'close').then((): Outcome => JSON.parse(text))
  return { ready: once(child.stderr, 'data'), outcome }
}
