// Every route while the platform, or the database, is not what it should be: a documented answer of ours in time, none of
// the other side's words in it, and nothing half-done.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { areas } from '#src/contract/index.ts'
import { type RouteSpec, routeEffect } from '#src/contract/route.ts'
import { wellKnown } from '../../lab/site.ts'
import { enrolNode, registerNode, sendHeartbeat } from '../support/fake-agent.ts'
import type { Reply } from '../support/http.ts'
import { type Fate, INTERNAL_TEXT, type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { impatiently, type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { SCOPE_ROWS } from './tenant-scope-rows.ts'
import { type OtherTenant, otherTenantThings } from './other-tenant-things.ts'

/** Areas that stand in front of the platform. */
const PLATFORM_AREAS = new Set([
  'vms', 'vm-disks', 'vm-nics', 'vm-moves', 'vm-snapshots', 'volume-snapshots', 'affinity-groups', 'ssh-keys', 'user-data', 'images', 'projects', 'backups', 'vm-guests', 'vm-settings', 'vm-inventory', 'vm-metrics',
  'infrastructure', 'tenants', 'public-ips', 'guest-networks', 'service-providers', 'port-forwarding', 'network-offerings', 'firewall-rules', 'load-balancers', 'network-stats',
  'gpu', 'disk-offerings', 'discovery', 'alerts',
]) // biome-ignore format: a list

/** Of those areas, what is answered from our own records. */
const OWN_RECORDS = new Set([
  'tenantList', 'tenantIsMulti', 'tenantStats', 'tenantGet', 'tenantAccountModeSet',
  'gpuDeviceRepinInflight',
  // Says first that there is no DNS to write to.
  'publicIpDnsSet',
]) // biome-ignore format: a list

/** In front of the platform, though their areas are not. */
const ASKS_PLATFORM = new Set(['eventArchive', 'eventList', 'eventTypes', 'guestNetworkCreate'])

/** Reads that may take minutes by nature: they are not tried while the platform is silent. */
const PATIENT = new Set(['importCandidateList', 'discoveryApiList'])
/** Asks for a minute when an answer says nothing; what it asks is told by its own tests. */
const OUTLASTS = 'tenantStatusSet'

/** Never ask the database: the service itself, and what a node or the platform says. */
const WITHOUT_DATABASE = new Set([
  'rootPage', 'healthGet', 'readinessGet', 'versionGet', 'metricsGet', 'openapiGet', 'docsPage', 'docsScript', 'eventStream', 'oidcStart',
  'computeHookReceive', 'nodeHeartbeat', 'nodeSummary', 'mtuL2Probe', 'benchmarkProfileList', 'benchmarkResultList', 'benchmarkResultRead',
  'hostDiskList', 'clusterstoreDiskList', 'clusterstoreStatus', 'hostStorageHealth', 'hostStorageMetrics', 'eventList',
  // Say first that there is no DHCP or DNS server to read from.
  'dhcpLeaseList', 'dhcpLeaseGet', 'dhcpReservationList', 'dhcpScopeList', 'dhcpScopeGet', 'dhcpScopeStatistics', 'dnsRecordList', 'dnsRecordGet',
  'dnsZoneList', 'dnsZoneGet', 'dnsZoneExport',
  'haScriptGet', 'haFilesyncKeyGet', 'consolePage', 'consoleView', 'consoleAsset',
]) // biome-ignore format: a list

const HOOK_SECRET = 'planted-hook-secret-1'
const CLUSTER_SECRET = 'planted-cluster-secret'
const READ = /^(list|get|query|find)/
/** A node without an agent. */
const NODE_IP = '10.9.9.3'
/** Fewer than it takes to open the breaker, which would answer instead of the time-out. */
const AT_ONCE = 6

interface Named {
  area: string
  operation: string
  route: RouteSpec
}

/** Cameras have their own statuses and their own tests of what is lost. */
const routes: Named[] = areas
  .filter(({ upstream_status }) => upstream_status === 500)
  .flatMap((area) => Object.entries(area.routes).map(([operation, route]) => ({ area: area.name, operation, route })))
const asking = routes.filter(
  ({ area, operation, route }) =>
    // A WebSocket begins with an upgrade: the tests of these routes try one on a platform that is gone.
    route.kind !== 'ws' && (ASKS_PLATFORM.has(operation) || (PLATFORM_AREAS.has(area) && !OWN_RECORDS.has(operation))),
)

let lab: Lab
let proxy: PlatformProxy
let of_others: OtherTenant
let ticking: NodeJS.Timeout

before(async () => {
  lab = await startLab({
    time: 'step',
    between: async (platform_url) => {
      proxy = await startPlatformProxy(platform_url)
      return proxy.url
    },
    config: {
      bmc: { allowed_networks: ['10.1.0.0/16'] },
      auth: { cluster_secret: CLUSTER_SECRET },
      compute: { hook_secret: HOOK_SECRET, tenants_poll_ms: 1000, states_poll_ms: 600_000, events_poll_ms: 600_000 },
    },
  }) // biome-ignore format: one record
  ticking = setInterval(() => lab.platform.step(), 20)
  of_others = await otherTenantThings(lab)
  await until(
    'the tenants are known',
    async () => (await lab.call('GET', `/admin/tenants/${of_others.tenant_id}`)).status === 200,
  )
})
after(async () => {
  clearInterval(ticking)
  await lab?.close()
  await proxy?.close()
})

const FAILURES: readonly { fate: Fate; code: string; title: string }[] = [
  { fate: 'garbage', code: 'COMPUTE_ERROR', title: 'talks nonsense' },
  { fate: 'error', code: 'COMPUTE_ERROR', title: 'fails at everything' },
  { fate: 'silent', code: 'COMPUTE_TIMEOUT', title: 'does not answer' },
  { fate: 'refuse', code: 'COMPUTE_UNAVAILABLE', title: 'breaks every connection' },
]

for (const { fate, code, title } of FAILURES) {
  test(`while the platform ${title}, every route in front of it is 500 ${code}`, async () => {
    const mute = fate === 'silent' || fate === 'refuse'
    const lost = fate !== 'error'
    const tried = asking.filter(
      ({ operation }) => !(mute && PATIENT.has(operation)) && !(lost && operation === OUTLASTS),
    )
    await back()
    const findWrong = () =>
      wrongOf(
        tried,
        () => fate,
        async ({ operation, route }) => expected(await send(operation, route), 500, code),
      )
    assert.deepEqual(await (fate === 'silent' ? impatiently(lab.config.compute, findWrong) : findWrong()), [])
  })
}

test('while the platform breaks every connection, what stands in our own records is answered', async () => {
  const local = routes.filter(({ operation }) => OWN_RECORDS.has(operation) && operation !== 'publicIpDnsSet')
  await back()
  const wrong = await wrongOf(
    local,
    () => 'refuse',
    async ({ operation, route }) => {
      const { status, text } = await send(operation, route)
      return status === 200 ? undefined : `${status} ${text}`
    },
  )
  assert.deepEqual(wrong, [])
})

test('a change that the platform fails at is 500 and its event FAILED, and the event has none of its words', async () => {
  const changing = asking.filter(
    ({ operation, route }) => AT_THE_CHANGE.has(operation) && routeEffect(route) === 'change',
  )
  assert.equal(changing.length, AT_THE_CHANGE.size)
  const ids = new Map<string, string>()
  const atChange = (command: string): Fate => (READ.test(command) ? 'pass' : 'error')
  await back()
  const wrong = await wrongOf(changing, atChange, async ({ operation, route }) => {
    const reply = await send(operation, route)
    ids.set(operation, reply.headers.get('x-correlation-id') ?? '')
    return expected(reply, 500, 'COMPUTE_ERROR')
  })
  assert.deepEqual(wrong, [])
  const { body, text } = await lab.call('POST', '/events/app-events', { page_size: 200 })
  const events: { correlation_id: string; status: string }[] = body.app_events
  for (const [operation, id] of ids) {
    assert.equal(events.find((event) => event.correlation_id === id)?.status, 'FAILED', operation)
  }
  assert.ok(!text.includes(INTERNAL_TEXT))
})

test('without its database every route answers 500 in our words, and nothing is changed on the platform', async () => {
  await back()
  const needing = routes.filter(
    ({ area, operation, route }) =>
      route.kind !== 'ws' &&
      !WITHOUT_DATABASE.has(operation) &&
      (!PLATFORM_AREAS.has(area) || OWN_RECORDS.has(operation) || routeEffect(route) === 'change'),
  )
  // So that the caller is known and each route is reached.
  await lab.call('GET', '/auth/me')
  const changed = proxy.passed().length
  const wrong = await withoutDatabase(() =>
    wrongOf(
      needing,
      () => 'pass',
      async ({ operation, route }) => {
        const reply = await send(operation, route)
        const reported = reply.headers.get('retry-after') === null ? 'no Retry-After' : undefined
        return expected(reply, 500, 'STORE_UNAVAILABLE', /relation|schema|select|insert|postgres/i) ?? reported
      },
    ),
  )
  assert.deepEqual(wrong, [])
  assert.deepEqual(
    proxy
      .passed()
      .slice(changed)
      .filter((command) => !READ.test(command)),
    [],
  )
  assert.ok(needing.length > 100)
  assert.equal((await lab.call('GET', '/jobs')).status, 200)
})

test('without its database the routes of cameras say so, or that there is no NVR', async () => {
  await back()
  await lab.call('GET', '/auth/me')
  // Asks a camera or the platform alone, takes a form, or is a WebSocket or the page.
  const others = new Set(['cameraProbe', 'nvrTemplateGet', 'faceUpload', 'cameraPlayerPage', 'cameraPlayerFile'])
  const cameras = areas
    .filter(({ upstream_status }) => upstream_status === 502)
    .flatMap((area) => Object.entries(area.routes).map(([operation, route]) => ({ area: area.name, operation, route })))
    .filter(({ operation, route }) => !others.has(operation) && route.kind !== 'ws')
  assert.ok(cameras.length > 30)
  const wrong = await withoutDatabase(() =>
    wrongOf(
      cameras,
      () => 'pass',
      async ({ operation, route }) => {
        const { status, body, text } = await send(operation, route)
        const is_said = [500, 502].includes(status) && ['STORE_UNAVAILABLE', 'NVR_NOT_CONFIGURED'].includes(body?.code)
        return is_said ? undefined : `${status} ${text}`
      },
    ),
  )
  assert.deepEqual(wrong, [])
})

test('without its database no route of the contract hangs or answers an internal error, also on another node', async () => {
  await back()
  assert.equal((await registerNode(lab, NODE_IP)).status, 201)
  await lab.call('GET', '/auth/me')
  // A stream has no end, and the probe calls a camera beyond this machine.
  const tried = areas
    .flatMap((area) => Object.entries(area.routes).map(([operation, route]) => ({ area: area.name, operation, route })))
    .filter(({ operation, route }) => route.kind !== 'sse' && operation !== 'cameraProbe')
  assert.ok(tried.length > 250)
  const wrong = await withoutDatabase(() =>
    wrongOf(
      tried,
      () => 'pass',
      async ({ operation, route }) => {
        const headers: Record<string, string> = route.runs_on === 'node' ? { 'x-target-node': NODE_IP } : {}
        return wrongAnswer(await send(operation, route, headers))
      },
    ),
  )
  assert.deepEqual(wrong, [])
})

test('while the platform fails at everything, the template of the NVR is 500 COMPUTE_ERROR', async () => {
  await back()
  proxy.behave(() => 'error')
  const reply = await lab.call('GET', '/cam/template')
  proxy.behave(() => 'pass')
  assert.equal(expected(reply, 500, 'COMPUTE_ERROR'), undefined)
})

test('without its database nobody gets in by a ticket, a signature or a heartbeat: 500 each', async () => {
  const who = await enrolNode(lab, '10.9.9.1')
  const delivery = '{"event":"VM.STOP"}'
  const signature = createHmac('sha256', HOOK_SECRET).update(delivery).digest('base64')
  const replies = await withoutDatabase(() =>
    Promise.all([
      sendHeartbeat(lab, who),
      lab.call('POST', '/hooks/compute', delivery, {
        token: null,
        headers: { 'x-cs-signature': signature, 'x-cs-event-id': 'one' },
      }),
      lab.call('GET', `/events/sse?ticket=gpt_${'A'.repeat(43)}`, undefined, { token: null }),
    ]),
  )
  assert.deepEqual(
    replies.map(({ status, body }) => [status, body?.code]),
    replies.map(() => [500, 'STORE_UNAVAILABLE']),
  )
})

test('every node-local route for a node whose agent has not enrolled is 500 AGENT_UNAVAILABLE', async () => {
  assert.equal((await registerNode(lab, '10.9.9.2')).status, 201)
  const wrong = await wrongOf(
    routes.filter(({ route }) => route.runs_on === 'node'),
    () => 'pass',
    async ({ operation, route }) =>
      expected(await send(operation, route, { 'x-target-node': '10.9.9.2' }), 500, 'AGENT_UNAVAILABLE'),
  )
  assert.deepEqual(wrong, [])
})

/** The names of these routes reach the change itself with what the rows name. */
const AT_THE_CHANGE = new Set([
  'vmStop', 'vmReboot', 'vmUpdate', 'vmDestroy', 'vmDiskResize', 'vmIsoAttach', 'vmNicAdd', 'vmNicSetDefault', 'vmNicIpAdd',
  'vmNicIpRemove', 'vmSnapshotCreate', 'vmSnapshotDelete', 'vmConsoleCreate', 'publicIpAcquire', 'publicIpRelease',
  'guestNetworkUpdate', 'guestNetworkRestart', 'portForwardingUpdate', 'portForwardingDelete', 'diskOfferingCreate',
]) // biome-ignore format: a list

/** Tries them while the platform's calls meet this fate. */
async function wrongOf(
  tried: readonly Named[],
  fate: (command: string) => Fate,
  attempt: (one: Named) => Promise<string | undefined>,
): Promise<string[]> {
  const wrong: string[] = []
  for (let first = 0; first < tried.length; first += AT_ONCE) {
    const part = tried.slice(first, first + AT_ONCE)
    proxy.behave(fate)
    const complaints = await Promise.all(part.map(attempt))
    proxy.behave(() => 'pass')
    for (const [index, complaint] of complaints.entries()) {
      if (complaint !== undefined) wrong.push(`${part[index]?.operation}: ${complaint}`)
    }
    // Time-outs open the breaker, and would meet it from then on.
    if (fate('') === 'silent') await back()
  }
  return wrong
}

function back(): Promise<boolean> {
  return until('the platform is back', async () => (await lab.call('GET', '/discovery/capabilities')).status === 200)
}

function expected(reply: Reply, status: number, code: string, forbidden?: RegExp): string | undefined {
  const { body, text } = reply
  if (reply.status !== status || body?.code !== code) return `${reply.status} ${text}`
  if (text.includes(INTERNAL_TEXT) || forbidden?.test(body.detail ?? body.message)) return `says too much: ${text}`
  return undefined
}

/** An answer of a failure must say which, and that of a database that is away when to ask again. */
function wrongAnswer({ status, body, headers, text }: Reply): string | undefined {
  if (status < 500) return undefined
  const is_said = typeof body?.code === 'string' && body.code !== 'INTERNAL_ERROR'
  const has_time = body?.code !== 'STORE_UNAVAILABLE' || headers.get('retry-after') !== null
  return is_said && has_time ? undefined : `${status} ${text}`
}

/** Inputs that name what exists, because some routes look into our own records first. */
function inputOf(operation: string, route: RouteSpec): { params: object; query: string; body: unknown } {
  const row = SCOPE_ROWS[operation]
  const input = row === undefined || row.kind === 'common' ? {} : row.input(of_others)
  const { params = {}, query = {}, body = {} } = route.example
  const asked = queryText(query)
  return {
    params: input.params ?? (route.path.startsWith('/admin/tenants/{id}') ? { id: of_others.tenant_id } : params),
    // The name that the example confirms is that of another tenant.
    query: operation === 'tenantDelete' ? 'dry_run=true' : (input.query ?? asked),
    body: OF_ONE_OWNER[operation]?.() ?? input.body ?? body,
  }
}

/** Where the rows join things of two tenants, which is refused before the platform is asked for the change. */
const OF_ONE_OWNER: Record<string, () => object> = {
  vmNicAdd: () => ({ virtual_machine_id: of_others.own_vm_id, network_id: wellKnown.networks['storage-l2'] }),
}

function queryText(query: object): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  return search.toString()
}

async function send(operation: string, route: RouteSpec, headers: Record<string, string> = {}): Promise<Reply> {
  const { params, query, body } = inputOf(operation, route)
  const named = Object.fromEntries(Object.entries(params))
  const path = route.path.replace(/\{(\w+)\*?\}/g, (_all, name: string) => encodeURIComponent(String(named[name])))
  const sent = route.body === undefined ? undefined : body
  const as = route.access === 'cluster' ? { token: CLUSTER_SECRET } : {}
  return lab.call(route.method, query === '' ? path : `${path}?${query}`, sent, { ...as, headers })
}

async function withoutDatabase<T>(work: () => Promise<T>): Promise<T> {
  const { database } = lab.database.connection
  const admit = (allowed: boolean): Promise<unknown> =>
    onDatabase({ ...lab.database.connection, database: 'postgres' }, async (client) => {
      await client.query(`alter database ${database} with allow_connections ${allowed}`)
      if (!allowed)
        await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
    })
  await admit(false)
  try {
    return await work()
  } finally {
    await admit(true)
    await until('the database is back', async () => (await lab.call('GET', '/jobs')).status === 200)
  }
}
