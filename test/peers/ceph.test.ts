// Real cluster stores: what the storage routes tell of one, of a storage daemon that goes, of monitors that hang; and a machine that
// leaves one of three.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { ClusterStoreStatus, DiskList, StorageHealth } from '#src/contract/storage/host.ts'
import { createCeph } from '#src/drivers/ceph/client.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { linuxHost } from '#src/kernel/host.ts'
import { createStorageArea } from '#src/node/desired/storage.ts'
import { storageHandlers } from '#src/node/storage/index.ts'
import { createStorageMonitor, type StorageMonitor } from '#src/node/storage/monitor.ts'
import { type CephCluster, cephRefused, ON_DISK, startCeph } from '../support/ceph-cluster.ts'
import type { Reply } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const INPUT = { params: undefined, query: undefined, body: undefined }
/** Of those who ask and write all the time, so that they leave the processor to others. */
const PAUSE_MS = 250

describe('a real cluster store on this machine', { skip: cephRefused() ?? false, timeout: 300_000 }, () => {
  let cluster: CephCluster
  let monitor: StorageMonitor
  const handlers = () => storageHandlers({ monitor })
  const status = async () => Compile(ClusterStoreStatus).Parse(await handlers().clusterstoreStatus(INPUT, undefined))
  const health = async () => Compile(StorageHealth).Parse(await handlers().hostStorageHealth(INPUT, undefined))
  const disks = async () =>
    Compile(DiskList).Parse(await handlers().clusterstoreDiskList({ ...INPUT, query: {} }, undefined)).disks ?? []

  before(async () => {
    cluster = await startCeph('vm-images', { osd_settings: ON_DISK })
    monitor = createStorageMonitor(linuxHost(), { cluster_args: cluster.args })
  })
  after(async () => {
    await monitor?.stop()
    await cluster?.stop()
  })

  test('its pools, its storage daemon and the disk of that daemon are reported', async () => {
    await until('the cluster store is settled', async () => {
      await monitor.refresh()
      assert.equal((await health()).clusterstore_health, 'HEALTHY', (await status()).message)
      return true
    })
    const now = await status()
    assert.deepEqual([now.has_storage, now.osd_count, now.pool_count], [true, 1, 1])
    assert.equal(now.device_classes?.length, 1)
    const [disk] = await disks()
    assert.equal(disk?.clusterstore_osd_path, join(cluster.dir, 'osd.0'))
    const osds = monitor.snapshot().cluster.value?.osds
    assert.deepEqual(
      osds?.map((osd) => [osd.id, osd.up, osd.in, (osd.size_mb ?? 0) > 4_000]),
      [[0, true, true, true]],
    )
  })

  test('a node set up as a client of the store is answered, until its key is removed', async () => {
    const host = linuxHost()
    const conf = join(cluster.dir, 'ceph.conf')
    const ceph = createCeph({ conf, client: 'admin', tool: 'ceph', timeout_ms: 60_000 }, host) ?? assert.fail()
    const client = 'groundplane-node-7'
    assert.equal(await ceph.clientKey(client), undefined)
    await ceph.makeClient(client)
    const key = (await ceph.clientKey(client)) ?? assert.fail()
    await ceph.makeClient(client)
    assert.equal(await ceph.clientKey(client), key, 'made once')
    const { fsid, addresses } = await ceph.monitors()
    const root = tempFolder('gp-ceph-client-')
    const area = createStorageArea({ host, root }, join(root, 'state'))
    await mkdir(join(root, 'state'))
    const document = { fsid, monitors: [...addresses], client, key }
    await area.apply(document, { hash: documentHash(document) })
    assert.deepEqual((await area.state()).differences, [])
    const own = ['--conf', join(root, 'etc/ceph/ceph.conf'), '--keyring', join(root, `etc/ceph/ceph.client.${client}.keyring`), '--id', client] // biome-ignore format: arguments
    const rbd = (...words: string[]) => host.run('rbd', [...own, ...words], { timeout_ms: 60_000 })
    assert.equal((await rbd('create', 'vm-images/disk-1', '--size', '8')).exit_code, 0)
    assert.equal((await rbd('rm', '--no-progress', 'vm-images/disk-1')).exit_code, 0)
    const forbidden = await host.run('ceph', [...own, 'osd', 'pool', 'create', 'mine'], { timeout_ms: 60_000 })
    assert.notEqual(forbidden.exit_code, 0, 'it changes nothing of the store itself')
    await ceph.removeClient(client)
    await ceph.removeClient(client)
    assert.equal(await ceph.clientKey(client), undefined)
    assert.match((await area.state()).differences.join(), /the cluster does not answer/)
    await area.remove({})
    assert.equal((await area.state()).hash, null)
  })

  test('monitors that hang leave the last answer, marked old, and delay no request', async () => {
    const pid = await cluster.pid('mon.a')
    process.kill(pid, 'SIGSTOP')
    try {
      const reading = monitor.refresh()
      let is_read = false
      reading.then(() => (is_read = true)).catch(() => {})
      assert.equal((await status()).osd_count, 1)
      assert.equal(is_read, false, 'the answer waits for no reading')
      await reading
      const now = await status()
      assert.deepEqual([now.osd_count, now.readings[0]?.stale], [1, true])
      assert.equal(now.readings[0]?.failure, 'the cluster store does not answer')
      assert.ok((await health()).overall_status_reasons.some((reason) => reason.includes('cluster store')))
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await until('it answers again', async () => {
      await monitor.refresh()
      return (await status()).readings[0]?.stale === false
    })
  })

  test('a storage daemon that ends is down, takes the storage with it, and fails its disk', async () => {
    process.kill(await cluster.pid('osd.0'), 'SIGTERM')
    await until('the storage daemon counts as down', async () => {
      await monitor.refresh()
      return (await status()).osd_count === 0
    })
    assert.equal((await status()).has_storage, false)
    const now = await until('the storage daemon is down in the usage table too', async () => {
      await monitor.refresh()
      const verdict = await health()
      return (verdict.failed_disks ?? []).length > 0 ? verdict : undefined
    })
    assert.deepEqual([now.clusterstore_health, now.overall_status], ['DEGRADED', 'DEGRADED'])
    assert.ok(now.critical_alerts.some((text) => text.startsWith('Storage daemon 0 on ')))
    assert.equal((await disks())[0]?.is_healthy, false)
  })
})

const SAMPLE = Compile(
  Type.Object({
    health: Type.Object({ checks: Type.Record(Type.String(), Type.Unknown()) }),
    osdmap: Type.Object({ num_osds: Type.Integer(), num_up_osds: Type.Integer() }),
    pgmap: Type.Object({ pgs_by_state: Type.Array(Type.Object({ state_name: Type.String() })) }),
  }),
)
type Sample = Awaited<ReturnType<typeof SAMPLE.Parse>>
/** While copies are made of what is on a daemon that still runs. */
const OF_A_MOVE = ['PG_DEGRADED', 'OBJECT_MISPLACED']
/** What a slow machine makes of any store. Places out of reach are told from those that take long to agree by their states. */
const OF_A_BUSY_MACHINE = /^(SLOW_OPS|OSD_SLOW_PING_TIME|MON_CLOCK_SKEW|PG_AVAILABILITY)/
/** Copies cannot be reached, or are lost. `unknown` and `peering` apart: states of a moment, which the store itself warns of when they last. */
const OUT_OF_REACH = /down|incomplete|stale|inconsistent|unfound|toofull|snaptrim_error/

describe('a machine leaves a real store of three', { skip: cephRefused() ?? false, timeout: 600_000 }, () => {
  const POOL = 'vm-images'
  let cluster: CephCluster
  let lab: Lab
  before(async () => {
    const hosts = ['stor-1', 'stor-2', 'stor-3']
    const osd_settings = 'osd_objectstore = memstore\nmemstore_device_bytes = 4294967296\nosd_recovery_sleep = 0\n'
    cluster = await startCeph(POOL, { hosts, copies: 2, osd_settings })
    lab = await startLab({
      // A real store renews its figures in seconds of its own.
      wait_factor: 1,
      size: { hosts: 3, vms: 3 },
      config: { ceph: { conf: join(cluster.dir, 'ceph.conf'), client: 'admin' } },
    })
    for (const [at, host] of hosts.entries()) {
      const node = { bmc_ip: bmcOf(at), fqdn: `${host}.example.internal`, role: 'compute' }
      await ask('POST', '/configure/nodes', node)
    }
  })
  after(async () => {
    await lab?.close()
    await cluster?.stop()
  })

  const bmcOf = (at: number): string => `127.0.95.${at + 1}`
  const pathOf = (at: number): string => `/configure/nodes/${bmcOf(at)}/decommission`
  const wish = { wipe: 'none', accept: ['bmc-reachable'] }
  const rados = (...words: string[]): Promise<string> => cluster.run('rados', '-p', POOL, ...words)
  const sampled = async () => SAMPLE.Parse(JSON.parse(await cluster.run('ceph', 'status', '--format', 'json')))
  const wrongIn = (sample: Sample): string[] =>
    Object.keys(sample.health.checks).filter((code) => !OF_A_BUSY_MACHINE.test(code))

  async function ask(method: string, path: string, body?: object): Promise<Reply['body']> {
    const reply = await lab.call(method, path, body)
    assert.ok(reply.status < 300, `${path}: ${reply.text}`)
    return reply.body
  }

  /** One client that goes on asking: each new one costs more than the question. */
  function askStore() {
    const child = spawn('ceph', [...cluster.args, '--format', 'json'], { stdio: ['pipe', 'pipe', 'ignore'] })
    return {
      lines: createInterface({ input: child.stdout }),
      ask: (command: string) => child.stdin.write(`${command}\n`),
      async end() {
        child.stdin.end()
        if (child.exitCode === null) await once(child, 'exit')
      },
    }
  }

  /** What a slow source says on a busy machine may change between the two: then it is read, and acknowledged, again. */
  function leave(at: number): Promise<string> {
    return until('the decommission has begun', async () => {
      const { fingerprint } = await ask('POST', `${pathOf(at)}/preflight`, wish)
      const started = await lab.call('POST', pathOf(at), { ...wish, power_off: false, acknowledge: { fingerprint } })
      if (started.body.code === 'PREFLIGHT_CHANGED') return undefined
      assert.ok(started.status < 300, started.text)
      return started.body.job_id as string
    })
  }

  test('its data moves to the others under a writing client, every copy in reach at each moment; nothing warns once its daemon stops', {
    timeout: 360_000,
  }, async (t) => {
    await until('the store is healthy', async () => wrongIn(await sampled()).length === 0)
    await rados('bench', '30', 'write', '-b', '16384', '--max-objects', '400', '--no-cleanup')
    for (let nth = 0; nth < 8; nth += 1) await rados('create', `written-${nth}`)
    const job_id = await leave(2)
    const store = askStore()
    const samples: Sample[] = []
    let is_over = false
    const watch = async (): Promise<void> => {
      for await (const line of store.lines) {
        if (line.trim() !== '') samples.push(SAMPLE.Parse(JSON.parse(line)))
        if (is_over) return
        if (line.trim() === '') continue
        await delay(PAUSE_MS)
        store.ask('status')
      }
    }
    let acknowledged = 0
    const write = async (): Promise<void> => {
      for (; !is_over; acknowledged += 1) {
        await rados('setxattr', `written-${acknowledged % 8}`, 'nth', String(acknowledged))
        await delay(PAUSE_MS)
      }
    }
    store.ask('status')
    const working = Promise.all([watch(), write()])
    const said = new Set<string>()
    const jobEnded = async () => {
      const found = await ask('GET', `/jobs/${job_id}`)
      said.add(found.status)
      return found.job_status === 'running' ? undefined : found
    }
    const stop = async (): Promise<void> => {
      is_over = true
      await store.end()
      await working
      t.diagnostic(`${samples.length} looks at the store, ${acknowledged} writes, ${[...said].join(' | ')}`)
    }
    const ending = until('the job has ended', jobEnded, 330_000)
    await ending.then(stop, stop)
    const job = await ending
    assert.equal(job.job_status, 'completed', `${job.status} ${job.failure_reason}`)
    for (const sample of samples) {
      const { osdmap, pgmap } = sample
      const stopped = osdmap.num_up_osds < 3
      assert.deepEqual(wrongIn(sample).filter((code) => stopped || !OF_A_MOVE.includes(code)), [], JSON.stringify(sample)) // biome-ignore format: one check
      assert.ok(!pgmap.pgs_by_state.some(({ state_name }) => OUT_OF_REACH.test(state_name)), JSON.stringify(pgmap))
    }
    assert.ok(samples.some((sample) => sample.osdmap.num_up_osds === 3) && samples.length > 5)
    const last = await sampled()
    assert.deepEqual([wrongIn(last), last.osdmap.num_osds, last.osdmap.num_up_osds], [[], 2, 2])
    const tree = await cluster.run('ceph', 'osd', 'tree')
    assert.doesNotMatch(tree, /stor-3/)
    assert.match(tree, /stor-2/)
    // It compares each object with what was written.
    assert.match(await rados('bench', '60', 'seq'), /Total reads made: +400/)
    assert.ok(acknowledged > 8)
    for (let back = 1; back <= 8; back += 1) {
      const nth = acknowledged - back
      assert.equal((await rados('getxattr', `written-${nth % 8}`, 'nth')).trim(), String(nth))
    }
  })

  test('the next machine is refused, because its pool would have fewer places than copies, and nothing is moved', async () => {
    const { checks, can_proceed, fingerprint } = await ask('POST', `${pathOf(1)}/preflight`, wish)
    const found = checks.find(({ name }: { name: string }) => name === 'storage-health')
    assert.deepEqual([can_proceed, found.status], [false, 'fail'])
    assert.match(found.message, /pool vm-images keeps 2 copies, each on another host, .*: of 2 places 1 would be left/)
    const refused = await lab.call('POST', pathOf(1), { ...wish, power_off: false, acknowledge: { fingerprint } })
    assert.equal(refused.status, 409, refused.text)
    assert.deepEqual(wrongIn(await sampled()), [])
    assert.doesNotMatch(await cluster.run('ceph', 'osd', 'tree'), / 0 +1\.00000$/m)
  })
})
