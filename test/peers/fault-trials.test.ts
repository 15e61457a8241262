// A replica that is taken for dead while its requests are still being checked, and then goes on: frozen, or cut off from the
// database. Each order is repeated with its key and carried out once, with one replica and with two.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { wellKnown } from '../../lab/site.ts'
import { type ControlProcess, startProduction } from '../support/control-process.ts'
import { startWire } from '../support/database-wire.ts'
import { type Fate, startPlatformProxy } from '../support/platform-proxy.ts'
import { createTestDatabase, onDatabase, type Connection } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** Longer than a replica without a heartbeat counts as alive. */
const FAULT_MS = { freeze: 8500, outage: 9000 }
const READY_WITHIN_MS = 120_000
/** Of each kind of order, beside each other: twenty in all. */
const EACH = 4

interface Order {
  kind: string
  path: string
  body: object
  /** How many of it the platform has; null: what it makes has no name, and all are counted together. */
  made: (() => number) | null
}

function ordersOf({ state }: CloudStackLab): Order[] {
  const { vms, volumes, domains, vmsnapshots } = state.tables
  const idle = vms.filter((vm) => vm.state === 'Running' && vmsnapshots.by('vm', vm.id).length === 0)
  const { zone, templates, service_offerings, networks, disk_offerings } = wellKnown
  return Array.from({ length: EACH }, (_, number): Order[] => {
    const name = `trial-${number}`
    const [disk_vm, snapshot_vm] = idle.slice(number * 2).map(({ id }) => id)
    const machine = {
      zone_id: zone,
      template_id: templates['Debian 12'],
      service_offering_id: service_offerings.small,
      network_ids: [networks['office-shared']],
    }
    return [
      {
        kind: 'VM',
        path: '/compute/vms/provision',
        body: { ...machine, name },
        made: () => vms.filter((vm) => vm.name === name).length,
      },
      {
        kind: 'disk',
        path: '/compute/vms/create-and-attach-disk',
        body: { virtual_machine_id: disk_vm, name, disk_offering_id: disk_offerings['ssd-20'] },
        made: () => volumes.filter((volume) => volume.name === name).length,
      },
      {
        kind: 'tenant',
        path: '/admin/tenants',
        body: { name },
        made: () => domains.filter((domain) => domain.name === name).length,
      },
      {
        kind: 'public IP',
        path: '/ddi/public-ips',
        body: { zone_id: zone, network_id: networks['acme-net'] },
        made: null,
      },
      {
        kind: 'snapshot',
        path: '/compute/vms/snapshots/create',
        body: { virtual_machine_id: snapshot_vm, name },
        made: () => vmsnapshots.by('vm', snapshot_vm ?? '').length,
      },
    ]
  }).flat()
}

interface Trial extends Order {
  key: string
  /** The operation that the request began under, when the fault hit it before it had begun anything. */
  hit?: string
}

interface Count {
  trials: number
  valid: number
  taken_over: number
  doubled: number
  lost: number
}

/** One fault that hits all orders at once. */
async function trial(fault: keyof typeof FAULT_MS, replicas: 1 | 2): Promise<Count> {
  await using ends = new AsyncDisposableStack()
  const database = ends.adopt(await createTestDatabase(), (one) => one.drop())
  const wire = ends.adopt(await startWire(database.connection), (one) => one.end())
  const platform = ends.adopt(await startCloudStack({ time: 'auto' }), (one) => one.close())
  const proxy = ends.adopt(await startPlatformProxy(platform.url), (one) => one.close())
  const production = ends.adopt(
    await startProduction({
      database_url: urlOf(wire.connection),
      platform,
      config: {
        compute: { url: proxy.url, read_timeout_ms: 60_000, tenants_poll_ms: 600_000, states_poll_ms: 600_000 },
      },
    }),
    (one) => one.close(),
  )
  const hit = await production.startReplica({ ready_within_ms: READY_WITHIN_MS })
  const other =
    replicas === 1
      ? hit
      : await production.startReplica({ ready_within_ms: READY_WITHIN_MS, database_url: urlOf(database.connection) })
  const query = async <Row>(sql: string): Promise<Row[]> =>
    onDatabase(database.connection, async (client) => (await client.query(sql)).rows)
  const alive = async () => (await query(`select from replica where seen_at > now() - interval '7 s'`)).length
  const keys = () =>
    query<{ key: string; id: string; begun: boolean }>(`select key, operation_id::text as id,
      exists (select 1 from app_event where correlation_id = operation_id::text) as begun from idempotency`)

  const trials: Trial[] = ordersOf(platform).map((order) => ({ ...order, key: randomUUID() }))
  const addresses = () => platform.state.tables.addresses.filter((one) => one.state === 'Allocated').length
  const before = addresses()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let holds = true
  // The checks before an order only ask, and all of them ask something.
  proxy.behave(async (command): Promise<Fate> => {
    if (holds && command.startsWith('list')) await held
    return 'pass'
  })
  const first = trials.map((one) => send(hit, one))
  await until('all orders are being checked', async () => (await keys()).length === trials.length, READY_WITHIN_MS)

  if (fault === 'freeze') hit.process.kill('SIGSTOP')
  else wire.cut()
  for (const { key, id, begun } of await keys()) {
    const one = trials.find((order) => order.key === key)
    if (one !== undefined && !begun) one.hit = id
  }
  holds = false
  // The answers to the checks are there when the frozen replica goes on.
  if (fault === 'freeze') release()
  const repeats = trials.map((one) => answered(other, one))
  // The length of the fault is what is tried.
  await pause(FAULT_MS[fault])
  const valid = trials.filter((one) => one.hit !== undefined)
  const takenOver = async (): Promise<number> => {
    const now = new Map((await keys()).map(({ key, id }) => [key, id]))
    return valid.filter(({ key, hit: id }) => now.get(key) !== id).length
  }
  // One that is alone may give its heartbeat before it reads the repeats; then they wait for the first.
  if (replicas === 2)
    await until('half of the repeats have taken over', async () => (await takenOver()) >= valid.length / 2)
  if (fault === 'freeze') hit.process.kill('SIGCONT')
  else wire.restore()
  // Until then a repeat may take over; only now may what was cut off from the database go on.
  await until('every replica has given a heartbeat', async () => (await alive()) === replicas, READY_WITHIN_MS)
  release()
  await Promise.all([...first, ...repeats])
  await until('all jobs have ended', async () => (await running(other)) === 0, READY_WITHIN_MS)

  const ips = trials.filter(({ made }) => made === null).length
  const counts = [...trials.flatMap(({ made }) => (made === null ? [] : [made() - 1])), addresses() - before - ips]
  const jobs = (await other.call('GET', '/jobs')).body.count
  const over = counts.reduce((sum, count) => sum + Math.max(count, 0), 0)
  return {
    trials: trials.length,
    valid: valid.length,
    taken_over: await takenOver(),
    // A second job that the platform refused is as wrong as a second thing.
    doubled: Math.max(over, jobs - trials.length),
    lost: counts.reduce((sum, count) => sum + Math.max(-count, 0), 0),
  }
}

function send({ call }: ControlProcess, { path, body, key }: Trial) {
  return call('POST', path, body, { headers: { 'idempotency-key': key } }).catch(() => undefined)
}

/** Sent again with its key until it is answered as done or under way. */
function answered(replica: ControlProcess, order: Trial): Promise<unknown> {
  return until(
    `${order.kind} is answered`,
    async () => {
      const reply = await send(replica, order)
      if (reply === undefined || reply.status < 300) return reply
      if (reply.body.code === 'IDEMPOTENCY_KEY_IN_USE' || reply.status >= 500) throw new Error(reply.text)
      return assert.fail(`${order.kind}: ${reply.text}`)
    },
    READY_WITHIN_MS,
  )
}

async function running({ call }: ControlProcess): Promise<number> {
  const { status, body, text } = await call('GET', '/jobs?job_status=running')
  assert.equal(status, 200, text)
  return body.count
}

function urlOf({ host, port, user, database }: Connection): string {
  const place = host.startsWith('/')
    ? `localhost:${port}/${database}?host=${encodeURIComponent(host)}`
    : `${host}:${port}/${database}`
  return `postgres://${user}@${place}`
}

// Two at once: mostly they wait for the fault to end.
suite('orders that a fault hits in their checks', { concurrency: 2, timeout: 400_000 }, () => {
  for (const fault of ['freeze', 'outage'] as const) {
    for (const replicas of [1, 2] as const) {
      test(`${fault} of one of ${replicas}: no order is doubled and none is lost`, async (t) => {
        const count = await trial(fault, replicas)
        t.diagnostic(JSON.stringify(count))
        const { trials, valid, doubled, lost } = count
        assert.deepEqual({ doubled, lost }, { doubled: 0, lost: 0 })
        assert.ok(valid >= trials * 0.8, `the fault hit ${valid} of ${trials}`)
      })
    }
  }
})
