// Proves node-apply on a real kernel: healthy path, black hole, silence, a crash after every step, and the commit race.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { MtuNodeApplyRequest, MtuNodeApplyResult } from '#src/contract/network/mtu.ts'
import type { NodeProgram } from './mtu-node.ts'
import { ADDRESS_B, namespacesRefused, startTopology, type Topology } from './mtu-topology.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const INTERFACES = 'auto mgmt0\niface mgmt0 inet static\n    address 10.50.0.1/24\n    bridge_ports eth1\n'
const RAISED = 'auto mgmt0\niface mgmt0 inet static\n    mtu 9000\n    post-up ip link set dev eth1 mtu 9000\n'
const REQUEST: MtuNodeApplyRequest = { bridge: 'mgmt0', mtu: 9000, probe_target: ADDRESS_B }
const refused = namespacesRefused()

describe('MTU change of a node', { skip: refused ?? false, timeout: 400_000 }, () => {
  let net: Topology
  let folder: string
  before(async () => {
    net = await startTopology()
    folder = tempFolder('gp-mtu-')
  })
  after(async () => {
    await net.remove()
  })

  it('commits on a healthy path: live values and files are new', async () => {
    const node = await freshNode()
    const result = await node.apply(REQUEST)
    assert.deepEqual(
      { ...result, detail: '' },
      {
        advisory_failures: [], devices: ['eth1', 'mgmt0'], applied: true, persisted: true, probed: true, probe_ok: true,
        reverted: false, bridge: 'mgmt0', detail: '', probe_verdict: 'pass', limit_mtu: 65_535, mtu: 9000,
      }, // biome-ignore format: one record
    )
    assert.deepEqual(await node.state(), { mgmt0: 9000, eth1: 9000, raised: true, files: ['interfaces'] })
    assert.match(await node.history(), /committed/)
  })

  it('reverts on a black hole, and an advisory target that fails is only reported', async () => {
    const node = await freshNode()
    await net.ip(net.switch, 'link', 'set', 'pb', 'mtu', '1500')
    const result = await node.apply({ ...REQUEST, advisory_targets: ['10.50.0.9'] })
    await net.ip(net.switch, 'link', 'set', 'pb', 'mtu', '9000')
    assert.equal(result.probe_verdict, 'fail')
    assert.equal(result.reverted, true)
    assert.match(result.detail, /black hole/)
    assert.match(result.advisory_failures.join(), /^10\.50\.0\.9: /)
    assert.deepEqual(await node.state(), { mgmt0: 1500, eth1: 1500, raised: false, files: ['interfaces'] })
  })

  it('never commits what it could not verify: filtered ICMP is inconclusive, with the MAC of the peer', async () => {
    const node = await freshNode()
    await net.exec(net.b, 'sh', '-c', 'echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all')
    const result = await node.apply(REQUEST)
    await net.exec(net.b, 'sh', '-c', 'echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_all')
    assert.equal(result.probe_verdict, 'inconclusive')
    assert.match(result.peer_mac ?? '', /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
    assert.equal(result.reverted, true)
    assert.equal((await node.state()).mgmt0, 1500)
  })

  it('reverts a dry run although the probe passes, and writes no file', async () => {
    const node = await freshNode()
    const result = await node.apply({ ...REQUEST, dry_run: true })
    assert.equal(result.probe_verdict, 'pass')
    assert.deepEqual([result.applied, result.persisted, result.reverted], [true, false, true])
    assert.deepEqual(await node.state(), { mgmt0: 1500, eth1: 1500, raised: false, files: ['interfaces'] })
  })

  it('keeps a raised value for its window only, and lets the phases of a cluster run commit it', async () => {
    const node = await freshNode()
    const raised = await node.apply({ ...REQUEST, phase: 'raise' })
    assert.deepEqual([raised.applied, raised.probed, raised.reverted], [true, false, false])
    assert.match(String((await node.raw({ ...REQUEST, phase: 'raise' })).error), /under way/)
    assert.match(String((await node.raw({ ...REQUEST, mtu: 8000, phase: 'commit' })).error), /no pending change/)
    assert.equal((await node.apply({ ...REQUEST, phase: 'probe' })).probe_verdict, 'pass')
    assert.equal((await node.apply({ ...REQUEST, phase: 'commit' })).reverted, false)
    assert.equal((await node.state()).mgmt0, 9000)
    assert.match(String((await node.raw({ ...REQUEST, phase: 'commit' })).error), /no pending change/)
  })

  it('refuses what the devices cannot do, before anything is touched', async () => {
    const node = await freshNode()
    assert.match(String((await node.raw({ bridge: 'lo', mtu: 1500 })).error), /carries no role/)
    assert.match(String((await node.raw({ ...REQUEST, probe_target: '-f' })).error), /not an IP address/)
    assert.deepEqual(await node.journals(), [])
  })

  const crashes = [
    ...['prepared', 'guarded', 'file-written', 'persisted', 'armed'].map((step) => ({ step, nth: 1, path: 'healthy' })),
    ...[1, 2].map((nth) => ({ step: 'device-set', nth, path: 'healthy' })),
    ...['live', 'probed', 'committed', 'archived'].map((step) => ({ step, nth: 1, path: 'healthy' })),
    ...['restoring', 'archived'].map((step) => ({ step, nth: 1, path: 'black hole' })),
  ]
  for (const { step, nth, path } of crashes) {
    it(`leaves no half change when it is killed after ${step} ${nth} (${path} path)`, async () => {
      const node = await freshNode()
      if (path === 'black hole') await net.ip(net.switch, 'link', 'set', 'pb', 'mtu', '1500')
      await node.crash(REQUEST, { step, nth })
      await node.endWindow()
      await net.ip(net.switch, 'link', 'set', 'pb', 'mtu', '9000')
      const committed = path === 'healthy' && ['committed', 'archived'].includes(step)
      const value = committed ? 9000 : 1500
      const wanted = { mgmt0: value, eth1: value, raised: committed, files: ['interfaces'] }
      // A change that died before it was guarded has touched nothing and waits; every other one ends by itself.
      const over = async () => step === 'prepared' || !(await node.isPending())
      const reached = async () => (await over()) && JSON.stringify(await node.state()) === JSON.stringify(wanted)
      await until('the change has ended', reached)
      const settled = await node.reconcile()
      assert.ok(
        settled.every(({ done }) => done === 'restored' || done === 'archived'),
        JSON.stringify(settled),
      )
      assert.deepEqual(await node.state(), wanted)
      assert.deepEqual(await node.reconcile(), [])
      assert.match(await node.history(), committed ? /committed/ : /restored/)
    })
  }

  for (const phase of ['', 'raise'] as const) {
    for (const late of ['guarded', 'file-written', 'persisted', 'armed', 'device-set', 'live']) {
      it(`restores what came after its own watchdog: late after ${late}${phase && `, phase ${phase}`}`, async () => {
        const node = await freshNode()
        const outcome = await node.raw({ ...REQUEST, phase }, { window_ms: 300, late })
        if (outcome.error === undefined) assert.equal((outcome as MtuNodeApplyResult).reverted, true)
        else assert.match(String(outcome.error), /window was over|was given up/)
        assert.deepEqual(await node.state(), { mgmt0: 1500, eth1: 1500, raised: false, files: ['interfaces'] })
        assert.deepEqual(await node.reconcile(), [])
      })
    }
  }

  it('is restored at the next start when a reboot or a lost watchdog left nobody to do it', async () => {
    for (const loss of ['reboot', 'watchdog'] as const) {
      const node = await freshNode()
      await node.crash(REQUEST, { step: 'live', nth: 1 })
      const run = join(node.dir, 'state', 'mgmt0.run')
      assert.deepEqual(await node.reconcile(), [{ subject: 'mgmt0', done: 'left' }])
      if (loss === 'watchdog') process.kill(Number(await readFile(join(run, 'watchdog.pid'), 'utf8')), 'SIGKILL')
      else
        await writeFile(
          join(run, 'journal.json'),
          (await readFile(join(run, 'journal.json'), 'utf8')).replace(/"boot_id": "[^"]*"/, '"boot_id": "other"'),
        )
      assert.deepEqual(await node.reconcile(), [{ subject: 'mgmt0', done: 'restored' }])
      assert.deepEqual(await node.state(), { mgmt0: 1500, eth1: 1500, raised: false, files: ['interfaces'] })
    }
  })

  it('lets exactly one of commit and revert win, 200 times', async () => {
    const node = await freshNode()
    const request = { bridge: 'mgmt0', mtu: 9000 }
    let won = 0
    // A machine that is slower than the window needs a longer one for a race.
    for (let window_ms = 100; won === 0 && window_ms <= 1600; window_ms *= 4) {
      const race = { rounds: 200, spread_ms: 1.4 * window_ms }
      const outcomes = parseResults(await node.program({ window_ms, request, race }))
      assert.equal(outcomes.length, 200)
      for (const outcome of outcomes) {
        if ('error' in outcome) assert.match(outcome.error, /window was over|was given up/)
        const committed = !('error' in outcome) && !outcome.reverted
        if (committed) won += 1
        assert.deepEqual(outcome.live, committed ? [9000, 9000] : [1500, 1500], JSON.stringify(outcome))
      }
    }
    assert.ok(won > 0 && won < 200, `${won} commits of 200: the race was not a race`)
    for (const text of await node.histories()) {
      assert.equal(Number(text.includes(' committed')) + Number(text.includes(' restored')), 1, text)
    }
    // Fails on a half-written file.
    await node.state()
  })

  async function freshNode() {
    const dir = await mkdtemp(join(folder, 'node-'))
    const interfaces = join(dir, 'root', 'etc', 'network', 'interfaces')
    await mkdir(join(dir, 'root', 'etc', 'network'), { recursive: true })
    await writeFile(interfaces, INTERFACES)
    for (const device of ['mgmt0', 'eth1']) await net.ip(net.a, 'link', 'set', 'dev', device, 'mtu', '1500')
    const program = async (change: Partial<NodeProgram>): Promise<string> => {
      const whole = {
        state_dir: join(dir, 'state'),
        config_root: join(dir, 'root'),
        window_ms: 120_000,
        request: null,
        ...change,
      }
      return inNamespace(net.a, JSON.stringify(whole))
    }
    const raw = async (request: MtuNodeApplyRequest, change: Partial<NodeProgram> = {}) =>
      parseRecord(await program({ ...change, request }))
    const past = join(dir, 'state', 'history')
    return {
      dir,
      program,
      raw,
      async apply(request: MtuNodeApplyRequest, change: Partial<NodeProgram> = {}): Promise<MtuNodeApplyResult> {
        const result: MtuNodeApplyResult & { error?: string } = JSON.parse(await program({ ...change, request }))
        assert.equal(result.error, undefined)
        return result
      },
      crash: (request: MtuNodeApplyRequest, crash: { step: string; nth: number }) =>
        assert.rejects(program({ request, crash }), { killed_itself: true }),
      /** The watchdog reads the end of its window from here, where a change is still under way. */
      async endWindow() {
        const run = join(dir, 'state', 'mgmt0.run')
        if (existsSync(run)) await writeFile(join(run, 'deadline'), '0\n')
      },
      async reconcile(): Promise<{ subject: string; done: string }[]> {
        return JSON.parse(await program({}))
      },
      async state() {
        const text = await readFile(interfaces, 'utf8')
        assert.ok(text === INTERFACES || text.startsWith(RAISED), `a half file: ${text}`)
        const files = (await readdir(join(dir, 'root', 'etc', 'network'))).sort()
        return {
          mgmt0: await net.mtu(net.a, 'mgmt0'),
          eth1: await net.mtu(net.a, 'eth1'),
          raised: text !== INTERFACES,
          files,
        }
      },
      async isPending() {
        const names: string[] = await readdir(join(dir, 'state', 'mgmt0.run')).catch(() => [])
        return names.includes('pending') || names.includes('reverting')
      },
      journals: () => readdir(join(dir, 'state')).catch(() => []),
      async histories() {
        const names = await readdir(past)
        return Promise.all(names.map((name) => readFile(join(past, name, 'log'), 'utf8')))
      },
      async history() {
        return (await this.histories()).join('\n')
      },
    }
  }
})

function inNamespace(namespace: string, argument: string): Promise<string> {
  const program = join(import.meta.dirname, 'mtu-node.ts')
  return new Promise((resolve, reject) => {
    execFile(
      'ip',
      ['netns', 'exec', namespace, process.execPath, program, argument],
      { timeout: 120_000 },
      (error, stdout, stderr) => {
        // `ip netns exec` becomes the program, so its end is the program's end.
        if (error === null) resolve(stdout)
        else reject(Object.assign(new Error(stderr), { killed_itself: error.signal === 'SIGKILL' && !error.killed }))
      },
    )
  })
}

function parseRecord(text: string): { error?: unknown } {
  return JSON.parse(text)
}

function parseResults(text: string): ((MtuNodeApplyResult | { error: string }) & { live: number[] })[] {
  return JSON.parse(text)
}
