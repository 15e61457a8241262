// The network snapshot against a real kernel: bridge, tunnel, queue disciplines and a pair of time daemons in namespaces
// of their own.
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { until } from '../support/until.ts'
import type { Probe } from './net-probe.ts'
import { tempFolder } from '../support/temp-folder.ts'

const run = promisify(execFile)
/** Followed by the process id of the owner, so that what a crashed run left behind can be told and removed. */
const PREFIX = 'gpn-'
/** The kernel ends the program when this test dies, however it dies. */
const TIED = ['setpriv', '--pdeathsig', 'KILL']
const refused = reasonToSkip()

describe('network snapshot of a namespace', { skip: refused ?? false, timeout: 400_000 }, () => {
  const [node, peer] = [`${PREFIX}${process.pid}-a`, `${PREFIX}${process.pid}-b`]
  const children: ChildProcess[] = []
  let folder: string
  let probeOnce: () => Promise<Probe>

  const ip = (namespace: string, words: string) =>
    run('ip', ['-n', namespace, ...words.split(' ')], { timeout: 10_000 })
  const tc = (words: string) => run('tc', ['-n', node, ...words.split(' ')], { timeout: 10_000 })

  before(async () => {
    await removeLeftovers()
    folder = tempFolder('gp-net-')
    for (const namespace of [node, peer]) {
      await run('ip', ['netns', 'add', namespace])
      await ip(namespace, 'link set lo up')
    }
    for (const name of ['up0', 'up1']) await ip(node, `link add ${name} type veth peer name ${name} netns ${peer}`)
    await ip(node, 'link add br0 type bridge')
    await ip(node, 'link set up0 master br0 up')
    await ip(node, 'link set br0 up')
    await ip(node, 'addr add 10.60.0.2/24 dev br0')
    await ip(node, 'route add default via 10.60.0.1')
    await ip(node, 'link add br500 type bridge')
    await ip(node, 'link add vx500 type vxlan id 500 local 10.60.0.2 dstport 4789')
    await ip(node, 'link set vx500 mtu 1450 master br500 up')
    await ip(node, 'link set br500 mtu 1450 up')
    await ip(node, 'link set up1 up')
    await ip(peer, 'addr add 10.60.0.1/24 dev up0')
    await ip(peer, 'link set up0 up')
    await ip(peer, 'link set up1 up')
    probeOnce = startProbe()
  })

  after(async () => {
    for (const child of children) await end(child)
    for (const namespace of [node, peer]) await run('ip', ['netns', 'del', namespace]).catch(() => null)
  })

  it('counts what was built, and knows the way out', async () => {
    const { net } = await until('the links are up', async () => {
      const probe = await probeOnce()
      return probe.net.links_up === 2 && probe
    })
    assert.deepEqual([net.physical_nic_count, net.bridge_count, net.active_vxlan_vnis], [2, 2, [500]])
    assert.deepEqual([net.node_ip, net.default_gateway, net.default_gateway_dev], ['10.60.0.2', '10.60.0.1', 'br0'])
    const bridge = net.main_bridges.find((one) => one.name === 'br0')
    assert.deepEqual([bridge?.state, bridge?.members, bridge?.active_vxlans], ['up', ['up0'], 1])
    assert.deepEqual(net.mtu_mismatches, [])
    assert.ok(net.congestion_control !== null && net.tcp_retrans_segs !== null)
  })

  it('sees a tunnel and a bridge member that do not fit, and calls the smaller member critical', async () => {
    await ip(node, 'link set br500 mtu 1500')
    await ip(node, 'link set vx500 mtu 1460')
    const { net, alerts } = await probeOnce()
    assert.deepEqual(
      net.mtu_mismatches.map((row) => [row.interface, row.type, row.actual, row.expected]),
      [
        ['vx500', 'bridge_member', 1460, 1500],
        ['vx500', 'vxlan_underlay', 1460, 1450],
      ],
    )
    assert.ok(alerts.some((one) => one.category === 'mtu' && one.severity === 'critical' && one.device === 'vx500'))
    await ip(node, 'link set vx500 mtu 1450')
    await ip(node, 'link set br500 mtu 1450')
    assert.deepEqual((await probeOnce()).net.mtu_mismatches, [])
  })

  it('classes the queue disciplines that this kernel has', async () => {
    const profile = async () => (await probeOnce()).net.queue_disciplines?.find((row) => row.device === 'up1')?.profile
    assert.equal(await profile(), 'none')
    for (const [qdisc, expected] of [
      ['tbf rate 10mbit burst 32kbit latency 50ms', 'shaped'],
      ['htb', 'shaped'],
      ['pfifo_fast', 'control-priority'],
      ['pfifo', 'unmanaged'],
    ] as const) {
      await tc(`qdisc replace dev up1 root ${qdisc}`)
      assert.equal(await profile(), expected, qdisc)
    }
    await tc('qdisc add dev up1 ingress')
    assert.equal(await profile(), 'unmanaged', 'ingress is no root')
    await tc('qdisc del dev up1 root')
  })

  it('measures what really crosses the link', async () => {
    await probeOnce()
    await run('ip', ['netns', 'exec', peer, 'ping', '-q', '-c', '200', '-i', '0.002', '-s', '1400', '10.60.0.2'])
    const { nics } = await probeOnce()
    const uplink = nics.find((nic) => nic.name === 'up0')
    // The mean of the minute, in which two Mbit crossed it.
    assert.ok((uplink?.throughput_rx_mbps ?? 0) > 0.02, `${uplink?.throughput_rx_mbps} Mbit/s`)
    assert.deepEqual([uplink?.code, uplink?.master, uplink?.ownership], ['ENSLAVED_BRIDGE', 'br0', 'system'])
    assert.equal(nics.find((nic) => nic.name === 'up1')?.code, 'OK')
  })

  it('raises a cut link by what it carries, and times the change', async () => {
    await ip(peer, 'link set up1 down')
    const cut = await until('the spare link is seen down', async () => {
      const probe = await probeOnce()
      return probe.net.links_down === 1 && probe
    })
    const spare = cut.nics.find((nic) => nic.name === 'up1')
    assert.deepEqual([spare?.code, spare?.overall_state, spare?.state_change_seen], ['NO_CARRIER', 'no-carrier', true])
    assert.ok((spare?.last_state_change_secs ?? 99) <= 60)
    await ip(peer, 'link set up0 down')
    const down = await until('the uplink is seen down', async () => {
      const probe = await probeOnce()
      return probe.net.links_down === 2 && probe
    })
    const alert = down.alerts.find((one) => one.category === 'link_down' && one.device === 'up0')
    assert.deepEqual([alert?.severity, alert?.node], ['critical', 'probe.example.internal'])
    for (const name of ['up0', 'up1']) await ip(peer, `link set ${name} up`)
    await until('both are back', async () => (await probeOnce()).net.links_up === 2)
  })

  it('follows a real time daemon from nothing to synchronised', async () => {
    const nobody = await probeOnce()
    assert.equal(nobody.net.ntp_synced, null)
    assert.ok(nobody.net.unavailable.some((one) => one.field === 'ntp_synced'))
    assert.ok(nobody.alerts.some((one) => one.category === 'ntp'))
    await startTimeDaemon(peer, 'server', 'local stratum 8\nallow 10.60.0.0/24\ncmdport 0\n')
    await startTimeDaemon(node, 'client', 'server 10.60.0.1 iburst minpoll 0 maxpoll 2\n')
    const synced = await until(
      'the clock is synchronised',
      async () => {
        const probe = await probeOnce()
        return probe.net.ntp_synced === true && probe
      },
      120_000,
    )
    assert.equal(synced.net.ntp_source, '10.60.0.1')
    assert.ok(Math.abs(synced.net.ntp_offset_ms ?? 1e9) < 100, `${synced.net.ntp_offset_ms} ms`)
    assert.deepEqual(
      synced.alerts.filter((one) => one.category === 'ntp'),
      [],
    )
  })

  /** -x never touches the clock, which all namespaces share. */
  async function startTimeDaemon(namespace: string, name: string, lines: string): Promise<void> {
    const config = join(folder, `${name}.conf`)
    const own = `driftfile ${join(folder, `${name}.drift`)}\npidfile ${join(folder, `${name}.pid`)}\n`
    const socket = `bindcmdaddress 127.0.0.1\nbindcmdaddress ${join(folder, `${name}.sock`)}\n`
    await writeFile(config, `${lines}${own}${name === 'client' ? socket : ''}`)
    children.push(
      spawn('ip', ['netns', 'exec', namespace, ...TIED, 'chronyd', '-x', '-n', '-u', 'root', '-f', config], {
        stdio: 'ignore',
      }),
    )
  }

  /** One program for the whole file, so that its sampler remembers. */
  function startProbe(): () => Promise<Probe> {
    const program = join(import.meta.dirname, 'net-probe.ts')
    const command = ['netns', 'exec', node, ...TIED, process.execPath, program]
    const child = spawn('ip', command, { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(child)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    return async () => {
      child.stdin.write('probe\n')
      const line = await lines.next()
      if (line.done === true) throw new Error('the probe ended')
      const probe: Probe = JSON.parse(line.value)
      return probe
    }
  }
})

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.stdin?.end()
  child.kill('SIGTERM')
  await ended
}

async function removeLeftovers(): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'list'])
  for (const name of stdout.split('\n').map((line) => line.split(' ')[0] ?? '')) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (owner !== undefined && !isAlive(Number(owner))) await run('ip', ['netns', 'del', name])
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Why this cannot run here, or null when it can. */
function reasonToSkip(): string | null {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces'
  const name = `${PREFIX}${process.pid}-t`
  try {
    execFileSync('ip', ['netns', 'add', name], { stdio: 'ignore' })
    execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
    execFileSync('ping', ['-V'], { stdio: 'ignore' })
    execFileSync('chronyd', ['-v'], { stdio: 'ignore' })
    return null
  } catch {
    return 'needs iproute2, ping, chrony and a kernel that lets root make network namespaces'
  }
}
