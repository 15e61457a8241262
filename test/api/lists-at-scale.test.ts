// Every list at the size of a large site: each page is exactly its part of the whole, the count is that of all rows, and
// the platform is asked for no more than the page.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import type { TObject } from 'typebox'
import { areas } from '#src/contract/index.ts'
import type { FirewallRule, LoadBalancer } from '../../lab/cloudstack/network-records.ts'
import type { Job, Kind, SshKeyPair } from '../../lab/cloudstack/records.ts'
import type { SimulatorState } from '../../lab/cloudstack/state.ts'
import { DEFAULT_SIZE, seededId, wellKnown } from '../../lab/site.ts'
import { startProduction } from '../support/control-process.ts'
import { multiply, numberedId } from '../support/large-site.ts'
import { callsOf, tokenFor } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { createTestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const ROWS = 20_000
/** Several pages of the platform: for lists that it cannot filter, so that every request reads all of them. */
const READ_THROUGH = 2100
const HOUR_MS = 3_600_000
const OLD_SPACE_MB = 192
/** All volumes at once are 16 MB, all machines 30; three pages are read at a time, and a collection leaves some of the last ones. */
const PAGES_MB = 12
/** Texts of machines that the driver keeps, and what it made of them. */
const CACHE_MB = 12
/** Watchers look once; after that nobody else asks the platform. */
const QUIET = { states_poll_ms: HOUR_MS, events_poll_ms: HOUR_MS, tenants_poll_ms: HOUR_MS, read_timeout_ms: 30_000 }

let lab: Lab
let database: pg.Client
before(async () => {
  lab = await startLab({
    time: 'step',
    size: { ...DEFAULT_SIZE, vms: ROWS, hosts: 500 },
    config: { compute: QUIET, nodes: { health_poll_ms: HOUR_MS } },
  })
  database = new pg.Client(lab.database.connection)
  await database.connect()
  await watchersPolled(database)
})
after(async () => {
  await database.end()
  await lab.close()
})

/** The first poll takes memory of its own. */
async function watchersPolled(client: pg.Client): Promise<void> {
  const many_of = async (table: string): Promise<number> =>
    (await client.query(`select count(*)::int as count from ${table}`)).rows[0].count
  const polled = async () =>
    (await many_of('vm_state')) === ROWS &&
    (await many_of('tenant')) > 0 &&
    (await callsOf(lab, 'listHosts')).length > 0
  await until('the watchers have polled', polled)
}

interface List {
  /** Method and path. */
  route: string
  /** What the title says of the filter. */
  by?: string
  /** Where the rows stand in the answer, and what tells them apart. */
  key: string
  id?: string
  filter?: (state: SimulatorState) => Record<string, unknown>
  command: string
  /** Fills the platform; answers what empties it again. */
  fill?: (state: SimulatorState) => () => void
  /** Past its end the platform's list has not even a count. */
  endless?: boolean
  /** What tells the rows apart, in the platform's order. */
  expected: (state: SimulatorState) => string[]
}

function ids<T extends { id: string }>(records: Iterable<T>, fits: (record: T) => boolean = () => true): string[] {
  return [...records].filter(fits).map(({ id }) => id)
}

/** First, second, last and the one after. */
function pagesOf(count: number, sizes: readonly number[]): [page: number, page_size: number][] {
  return sizes.flatMap((page_size) => {
    const last = Math.ceil(count / page_size)
    return [1, 2, last, last + 1].map((page): [number, number] => [page, page_size])
  })
}

type Asked = { page: number; page_size: number; token?: string; filter?: Record<string, unknown> | undefined }

async function pageOf(route: string, { page, page_size, token, filter }: Asked) {
  const [method = '', path = ''] = route.split(' ')
  const asked = { ...filter, page, page_size }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(asked)) query.set(name, String(value))
  const options = token === undefined ? {} : { token }
  const reply = await (method === 'GET'
    ? lab.call(method, `${path}?${query.toString()}`, undefined, options)
    : lab.call(method, path, asked, options))
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

type Compared = Pick<List, 'route' | 'key' | 'id'> & { filter?: Record<string, unknown> | undefined; token?: string }

async function comparePages(list: Compared, expected: string[], pages: [page: number, page_size: number][]) {
  const { route, key, id = 'id', ...rest } = list
  for (const [page, page_size] of pages) {
    const body = await pageOf(route, { page, page_size, ...rest })
    const where = `${route} page ${page} of ${page_size}`
    assert.deepEqual([body.count, body.page, body.page_size], [expected.length, page, page_size], where)
    const found = body[key].map((row: Record<string, unknown>) => String(row[id]))
    assert.deepEqual(found, expected.slice((page - 1) * page_size, page * page_size), where)
  }
}

/** Compares, and answers what the platform was asked meanwhile: page and size of each page. */
async function compareList(list: List, pagesFor: (count: number) => [number, number][], token?: string) {
  const { state } = lab.platform
  const empty = list.fill?.(state)
  try {
    const earlier = (await callsOf(lab, list.command)).length
    const expected = list.expected(state)
    const { route, key, id = 'id' } = list
    const compared = { route, key, id, filter: list.filter?.(state), ...(token === undefined ? {} : { token }) }
    await comparePages(compared, expected, pagesFor(expected.length))
    const asked = (await callsOf(lab, list.command)).slice(earlier).filter((call) => call.id === undefined)
    return { expected, asked: asked.map((call): [number, number] => [Number(call.page), Number(call.pagesize)]) }
  } finally {
    empty?.()
  }
}

const JOB: Job = {
  id: '', command: 'startVirtualMachine', cmd: 'org.apache.cloudstack.api.command.user.vm.StartVMCmd', accountid: wellKnown.accounts.admin,
  userid: seededId('user', 'admin'), jobstatus: 0, jobresultcode: 0, jobresult: null, jobinstancetype: null, jobinstanceid: null,
  created: 1_700_000_000_000, completed: null,
} // biome-ignore format: one record

const FIREWALL_RULE: FirewallRule = {
  id: '', protocol: 'tcp', startport: 1, endport: 1, icmptype: null, icmpcode: null, traffictype: 'Ingress',
  ipaddressid: seededId('address', '203.0.113.60'), networkid: wellKnown.networks['acme-net'], cidrlist: ['0.0.0.0/0'], destcidrlist: [],
  state: 'Active', relatedruleid: null, accountid: wellKnown.accounts.acme, projectid: null,
} // biome-ignore format: one record

const LOAD_BALANCER: LoadBalancer = {
  id: '', name: 'web', description: null, algorithm: 'source', protocol: 'tcp', publicport: 1, privateport: 1,
  ipaddressid: seededId('address', '203.0.113.60'), networkid: wellKnown.networks['acme-net'], cidrlist: [], state: 'Add',
  virtualmachineids: [], accountid: wellKnown.accounts.acme, projectid: null,
} // biome-ignore format: one record

const SSH_KEY: SshKeyPair = {
  id: '', name: '', publickey: 'ssh-ed25519 AAAA', fingerprint: '00', accountid: wellKnown.accounts.acme, projectid: null,
} // biome-ignore format: one record

const many = (kind: Kind) => (state: SimulatorState) =>
  multiply(state, kind, ROWS, (number) => ({ name: `scale-${number}` }))

function whole(kind: Kind) {
  return ({ tables }: SimulatorState): string[] => {
    const all: string[] = []
    for (const { id } of tables[kind].values()) all.push(id)
    return all
  }
}

const PAGED: List[] = [
  { route: 'POST /compute/vms/list', key: 'virtual_machines', command: 'listVirtualMachines', expected: whole('vms') },
  { route: 'POST /compute/vms/list', by: 'state and keyword', key: 'virtual_machines', command: 'listVirtualMachines',
    filter: () => ({ state: 'Stopped', keyword: 'web' }),
    expected: ({ tables }) => ids(tables.vms.values(), (vm) => vm.state === 'Stopped' && vm.name.includes('web')) },
  { route: 'POST /compute/volumes/list', key: 'volumes', command: 'listVolumes', expected: whole('volumes') },
  { route: 'GET /compute/vms/usage-history', key: 'virtual_machines', command: 'listVirtualMachines',
    filter: () => ({ start_date: '2026-01-01T00:00:00Z', end_date: '2026-01-01T00:01:00Z' }), expected: whole('vms') },
  { route: 'POST /compute/vms/snapshots/list', key: 'vm_snapshots', command: 'listVMSnapshot', fill: many('vmsnapshots'), expected: whole('vmsnapshots') },
  { route: 'POST /compute/volumes/snapshots/list', key: 'volume_snapshots', command: 'listSnapshots', fill: many('snapshots'), expected: whole('snapshots') },
  { route: 'POST /compute/affinity-groups/list', key: 'affinity_groups', command: 'listAffinityGroups', fill: many('affinitygroups'),
    expected: whole('affinitygroups') },
  { route: 'POST /compute/ssh-keys/list', key: 'ssh_keys', command: 'listSSHKeyPairs', expected: whole('sshkeypairs'),
    fill: (state) => multiply(state, 'sshkeypairs', ROWS, (number) => ({ name: `scale-${number}` }), SSH_KEY) },
  { route: 'POST /compute/user-data/list', key: 'user_data', command: 'listUserData', expected: whole('userdata'),
    fill: (state) => multiply(state, 'userdata', ROWS, (number) => ({ name: `scale-${number}` }), { ...SSH_KEY, userdata: '' }) },
  { route: 'GET /compute/vms/isos', key: 'isos', command: 'listIsos',
    fill: (state) => multiply(state, 'templates', ROWS, () => ({}), state.tables.templates.get(wellKnown.isos['virtio-win'])),
    expected: ({ tables }) => ids(tables.templates.values(), (one) => one.iso) },
  { route: 'GET /catalog/templates', key: 'templates', command: 'listTemplates',
    fill: (state) => multiply(state, 'templates', ROWS, () => ({}), state.tables.templates.get(wellKnown.templates['Debian 12'])),
    expected: ({ tables }) => ids(tables.templates.values(), (one) => !one.iso) },
  { route: 'GET /catalog/ostypes', key: 'os_types', command: 'listOsTypes', fill: many('ostypes'), expected: whole('ostypes') },
  { route: 'POST /compute/projects/list', key: 'projects', command: 'listProjects', fill: many('projects'), expected: whole('projects') },
  { route: 'POST /compute/backups/list', key: 'backups', command: 'listBackups', fill: many('backups'), expected: whole('backups') },
  { route: 'GET /catalog/serviceofferings', key: 'service_offerings', command: 'listServiceOfferings', fill: many('serviceofferings'),
    expected: ({ tables }) => ids(tables.serviceofferings.values(), (one) => one.state === 'Active') },
  { route: 'POST /catalog/serviceofferings/diskoffering/list', key: 'disk_offerings', command: 'listDiskOfferings', fill: many('diskofferings'),
    expected: ({ tables }) => ids(tables.diskofferings.values(), (one) => one.state === 'Active') },
  { route: 'GET /infrastructure/zones', key: 'zones', command: 'listZones', fill: many('zones'), expected: whole('zones') },
  { route: 'GET /infrastructure/clusters', key: 'clusters', command: 'listClusters', fill: many('clusters'), expected: whole('clusters') },
  { route: 'GET /infrastructure/hosts', key: 'hosts', command: 'listHosts', fill: many('hosts'), expected: whole('hosts') },
  { route: 'GET /infrastructure/hosts', by: 'cluster', key: 'hosts', command: 'listHosts',
    filter: () => ({ cluster_id: wellKnown.clusters['cluster-a'] }), fill: many('hosts'),
    expected: ({ tables }) => ids(tables.hosts.values(), (host) => host.clusterid === wellKnown.clusters['cluster-a']) },
  { route: 'POST /compute/vms/migrate/candidates', key: 'hosts', command: 'findHostsForMigration', fill: many('hosts'),
    filter: () => ({ virtual_machine_id: wellKnown.vms['web-01'] }),
    expected: ({ tables }) => ids(tables.hosts.values(), (host) => host.id !== tables.vms.get(wellKnown.vms['web-01'])?.hostid) },
  { route: 'POST /network/guest-networks/list', key: 'guest_networks', command: 'listNetworks', fill: many('networks'), expected: whole('networks') },
  { route: 'GET /ddi/public-ips', key: 'data', command: 'listPublicIpAddresses',
    fill: (state) => multiply(state, 'addresses', ROWS, () => ({}), state.tables.addresses.find((one) => one.state === 'Allocated')),
    expected: ({ tables }) => ids(tables.addresses.values(), (one) => one.state !== 'Free') },
  { route: 'POST /network/port-forwarding/list', key: 'port_forwarding_rules', command: 'listPortForwardingRules',
    filter: ({ tables }) => ({ public_ip_id: tables.rules.values().next().value?.ipaddressid }),
    fill: (state) => multiply(state, 'rules', ROWS, (number) => ({ publicport: number, publicendport: number })), expected: whole('rules') },
  { route: 'POST /network/offerings/list', key: 'network_offerings', command: 'listNetworkOfferings', fill: many('networkofferings'), expected: whole('networkofferings') },
  { route: 'POST /network/firewall-rules/list', key: 'firewall_rules', command: 'listFirewallRules',
    filter: () => ({ public_ip_id: FIREWALL_RULE.ipaddressid }),
    fill: (state) => multiply(state, 'firewallrules', ROWS, (number) => ({ startport: number, endport: number }), FIREWALL_RULE),
    expected: whole('firewallrules') },
  { route: 'POST /network/load-balancers/list', key: 'load_balancers', command: 'listLoadBalancerRules',
    fill: (state) => multiply(state, 'loadbalancers', ROWS, (number) => ({ publicport: number }), LOAD_BALANCER), expected: whole('loadbalancers') },
  { route: 'POST /compute/vms/routers', key: 'routers', command: 'listRouters', fill: many('routers'), expected: whole('routers') },
  { route: 'POST /compute/vms/systemvms', key: 'system_vms', command: 'listSystemVms', fill: many('systemvms'), expected: whole('systemvms') },
  { route: 'POST /infrastructure/gpu/cards/list', key: 'gpu_cards', command: 'listGpuCards', fill: many('gpucards'), expected: whole('gpucards') },
  { route: 'POST /infrastructure/gpu/devices/list', key: 'gpu_devices', command: 'listGpuDevices',
    fill: (state) => multiply(state, 'gpudevices', ROWS, (number) => ({ busaddress: `0000:${number}:00.0` })), expected: whole('gpudevices') },
  { route: 'POST /infrastructure/gpu/profiles/list', key: 'vgpu_profiles', command: 'listVgpuProfiles', fill: many('vgpuprofiles'), expected: whole('vgpuprofiles') },
  { route: 'POST /network/service-providers/list', key: 'service_providers', command: 'listNetworkServiceProviders', fill: many('providers'), expected: whole('providers') },
  { route: 'POST /alerts/list', key: 'alerts', command: 'listAlerts',
    fill: (state) => multiply(state, 'alerts', ROWS, (number) => ({ sent: 1_700_000_000_000 - number * 1000 })),
    expected: ({ tables }) => ids([...tables.alerts.values()].sort((a, b) => b.sent - a.sent)) },
  { route: 'POST /events/list', key: 'events', command: 'listEvents', endless: true, fill: (state) => multiply(state, 'events', ROWS, () => ({})),
    expected: ({ tables }) => ids([...tables.events.values()].reverse()) },
  { route: 'POST /discovery/asyncjobs', key: 'async_jobs', id: 'job_id', command: 'listAsyncJobs',
    fill: (state) => multiply(state, 'jobs', ROWS, () => ({}), JOB), expected: whole('jobs') },
] // biome-ignore format: a list an entry

for (const list of PAGED) {
  const words = list.by === undefined ? list.route : `${list.route} by ${list.by}`
  test(`${words} of ${ROWS} rows gives exact pages and asks the platform for those alone`, async () => {
    const pages = (count: number) =>
      pagesOf(count, [500, 7]).filter(([page, size]) => list.endless !== true || (page - 1) * size < count)
    const { expected, asked } = await compareList(list, pages)
    assert.deepEqual(asked, pages(expected.length))
  })
}

const THIRD = [[], [wellKnown.domains.acme], [wellKnown.domains.globex]]
const tenants_third = (number: number) => THIRD[number % 3] ?? []
const forAcme = ({ domainids }: { domainids: string[] }) =>
  domainids.length === 0 || domainids.includes(wellKnown.domains.acme)

/** What the platform cannot filter, or counts by the page: read through, one page held. */
const READ: (List & { tenant?: string })[] = [
  { route: 'GET /catalog/templates', by: 'tenant', tenant: wellKnown.domains.acme, key: 'templates', command: 'listTemplates',
    fill: (state) => multiply(state, 'templates', READ_THROUGH,
      (number) => ({ ispublic: number % 3 === 0, accountid: number % 2 === 0 ? wellKnown.accounts.acme : wellKnown.accounts.globex }),
      state.tables.templates.get(wellKnown.templates['Debian 12'])),
    expected: ({ tables }) => ids(tables.templates.values(), (one) => !one.iso && (one.ispublic || one.accountid === wellKnown.accounts.acme)) },
  { route: 'GET /catalog/serviceofferings', by: 'tenant and keyword', tenant: wellKnown.domains.acme, key: 'service_offerings', command: 'listServiceOfferings',
    filter: () => ({ keyword: 'SCALE' }),
    fill: (state) => multiply(state, 'serviceofferings', READ_THROUGH, (number) => ({ name: `scale-${number}`, domainids: tenants_third(number) })),
    expected: ({ tables }) => ids(tables.serviceofferings.values(), (one) => one.name.startsWith('scale') && forAcme(one)) },
  { route: 'POST /catalog/serviceofferings/diskoffering/list', by: 'tenant', key: 'disk_offerings', command: 'listDiskOfferings',
    filter: () => ({ domain_id: wellKnown.domains.acme }),
    fill: (state) => multiply(state, 'diskofferings', READ_THROUGH, (number) => ({ domainids: tenants_third(number) })),
    expected: ({ tables }) => ids(tables.diskofferings.values(), (one) => one.state === 'Active' && forAcme(one)) },
  { route: 'GET /infrastructure/hosts', by: 'name', key: 'hosts', command: 'listHosts', filter: () => ({ keyword: 'scale-1' }),
    fill: (state) => multiply(state, 'hosts', READ_THROUGH, (number) => ({ name: `scale-${number}` })),
    expected: ({ tables }) => ids(tables.hosts.values(), (host) => host.name.startsWith('scale-1')) },
  { route: 'GET /ddi/public-ips', by: 'machine', key: 'data', command: 'listPublicIpAddresses', filter: () => ({ vm_id: wellKnown.vms['web-03'] }),
    fill: (state) => multiply(state, 'addresses', READ_THROUGH,
      (number) => ({ isstaticnat: true, virtualmachineid: number % 2 === 0 ? wellKnown.vms['web-03'] : null }), state.tables.addresses.find((one) => one.state === 'Allocated')),
    expected: ({ tables }) => ids(tables.addresses.values(), (one) => one.virtualmachineid === wellKnown.vms['web-03']) },
  { route: 'POST /discovery/asyncjobs', by: 'status', key: 'async_jobs', id: 'job_id', command: 'listAsyncJobs', filter: () => ({ status: 'IN_PROGRESS' }),
    fill: (state) => multiply(state, 'jobs', READ_THROUGH, () => ({}), JOB), expected: whole('jobs') },
  { route: 'POST /compute/vms/list-for-import', key: 'import_candidates', id: 'name', command: 'listUnmanagedInstances',
    filter: ({ tables }) => ({ cluster_id: tables.unmanaged.values().next().value?.['clusterid'] }),
    fill: (state) => multiply(state, 'unmanaged', READ_THROUGH, (number) => ({ name: `scale-${number}` })),
    expected: ({ tables }) => [...tables.unmanaged.values()].map((one) => String(one['name'])) },
  { route: 'POST /network/service-providers/VirtualRouter/list', key: 'elements', command: 'listVirtualRouterElements',
    fill: (state) => multiply(state, 'elements', READ_THROUGH, () => ({}), routerElement(state)),
    expected: (state) => ids(state.tables.elements.values(), (one) => one.nspid === routerElement(state)?.nspid) },
] // biome-ignore format: a list an entry

function routerElement({ tables }: SimulatorState) {
  const provider = tables.providers.find((one) => one.name === 'VirtualRouter')
  return tables.elements.find((one) => one.nspid === provider?.id)
}

for (const list of READ) {
  const words = list.by === undefined ? list.route : `${list.route} by ${list.by}`
  test(`${words} counts what fits, and reads the platform in pages`, async () => {
    const token = list.tenant === undefined ? undefined : await tokenFor(lab, 'viewer', list.tenant)
    const { expected, asked } = await compareList(list, (count) => [[1, 500], ...pagesOf(count, [7])], token)
    assert.ok(expected.length > 500, `${expected.length} rows prove nothing`)
    assert.ok(
      asked.every(([page, size]) => page <= READ_THROUGH / 500 + 1 && size <= 500),
      JSON.stringify(asked),
    )
  })
}

/** Rows of our own tables, the first first. */
const numbered = `('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))`
const ago = `now() - n * interval '1 second'`
const OWN: { route: string; key: string; id?: string; filter: Record<string, unknown>; insert: string; expected?: (number: number) => string }[] = [
  { route: 'GET /admin/tenants', key: 'tenants', id: 'name', filter: { keyword: 'scale-' }, expected: (number) => `scale-${String(number).padStart(5, '0')}`,
    insert: `insert into tenant (id, name, source, created_by) select ${numbered}, 'scale-' || lpad(n::text, 5, '0'), 'platform', 'x'` },
  { route: 'GET /jobs', key: 'jobs', filter: { resource_id: 'scale' },
    insert: `insert into job (id, type, job_status, input, state, planned_steps, resource_type, resource_id, caller, created_at)
      select ${numbered}::uuid, 'test.scale', 'completed', '', '', '[]', 'VM', 'scale', '{}', ${ago}` },
  { route: 'POST /events/app-events', key: 'app_events', filter: { action: 'scale' },
    insert: `insert into app_event (id, action, status, resource_type, created_at) select ${numbered}::uuid, 'scale', 'SUCCESS', 'VM', ${ago}` },
  { route: 'POST /alerts/list', key: 'alerts', filter: { archived: true },
    insert: `insert into alert_copy (id, sent_at, operation_id, archived_at) select ${numbered}, ${ago}, gen_random_uuid(), now()` },
  { route: 'GET /auth/users', key: 'users', id: 'username', filter: { username: 'scale-' }, expected: (number) => `scale-${String(number).padStart(5, '0')}`,
    insert: `insert into user_account (username, password_hash, role) select 'scale-' || lpad(n::text, 5, '0'), '', 'viewer'` },
  { route: 'GET /auth/tokens', key: 'tokens', filter: { name: 'scale' },
    insert: `insert into api_token (id, name, hash, prefix, role, created_by, created_at)
      select ${numbered}::uuid, 'scale', sha256(n::text::bytea), 'x', 'viewer', 'x', ${ago}` },
  { route: 'GET /auth/sessions', key: 'sessions', filter: { username: 'scale' },
    insert: `insert into session (id, hash, csrf_hash, caller, created_at, expires_at)
      select ${numbered}::uuid, sha256(n::text::bytea), '', '{"kind":"oidc","id":"x","role":"viewer","tenant_id":null,"user_id":null,"username":"scale"}', ${ago}, now() + interval '1 hour'` },
  { route: 'GET /auth/audit', key: 'records', id: 'request_id', filter: { operation: 'scale' },
    insert: `insert into audit (request_id, operation, method, path, caller_kind, caller_id, username, remote_address, at)
      select ${numbered}, 'scale', 'GET', '/', 'token', 'x', 'x', 'x', ${ago}` },
  { route: 'GET /configure/nodes', key: 'nodes', filter: { zone: 'scale' },
    insert: `insert into node (id, bmc_ip, zone, registered_by) select ${numbered}::uuid, '10.' || (n / 65536) || '.' || (n / 256 % 256) || '.' || (n % 256), 'scale', 'x'` },
] // biome-ignore format: a list an entry

for (const { route, key, id = 'id', filter, insert, expected = numberedId } of OWN) {
  test(`${route} of ${ROWS} rows of our own gives exact pages`, async () => {
    await database.query(`${insert} from generate_series(1, ${ROWS}) n order by n`)
    const rows = Array.from({ length: ROWS }, (_, index) => expected(index + 1))
    await comparePages({ route, key, id, filter }, rows, pagesOf(ROWS, [500, 7]))
  })
}

/** Lists that cannot grow with the site, or that have tests of their own. */
const ELSEWHERE: Record<string, string> = {
  vmNicList: 'NICs of one machine; the platform does not page them',
  gpuDeviceRepinInflight: 'the list of jobs, filtered',
  discoveryApiList: 'one version of the platform; it does not page its commands',
  discoveryCapacityList: 'a row a kind and cluster; the platform does not page them',
  alertTypeList: 'one version of the platform; it does not page them',
  timelineList: 'timeline.test.ts',
  vmHistory: 'timeline.test.ts',
  fleetHealthRead: 'node-health.test.ts',
  bmcList: 'bmc.test.ts',
  eligibleNicsList: 'below',
  networkAlertsList: 'monitoring.test.ts',
  networkDashboardRead: 'monitoring.test.ts',
  frrDashboardRead: 'monitoring.test.ts',
  hostDiskList: 'disks of one node',
  clusterstoreDiskList: 'disks of one cluster, by a node',
  benchmarkResultList: 'what one node keeps, which is bounded there',
  dhcpLeaseList: 'addresses.test.ts, page after page',
  dhcpReservationList: 'addresses.test.ts; a scope has at most as many as its subnet',
  dhcpScopeList: 'addresses.test.ts',
  dnsRecordList: 'addresses.test.ts',
  dnsZoneList: 'addresses.test.ts',
  ipamSiteList: 'address-services.test.ts',
  ipamRoleList: 'address-services.test.ts',
  ipamVlanList: 'address-services.test.ts',
  ipamPrefixList: 'address-services.test.ts',
  ipamAddressList: 'address-services.test.ts, page after page',
  ddiDriftList: 'address-services.test.ts',
}

test('no list is left out', () => {
  const compared = [...PAGED, ...READ, ...OWN].map(({ route }) => route.replace('/VirtualRouter/', '/{nsp_type}/'))
  const paged = areas.flatMap(({ routes }) =>
    Object.entries(routes).filter(([, { query, body }]) =>
      [query, body].some(
        (schema) =>
          schema !== undefined && Object.hasOwn(schema, 'properties') && 'page_size' in (schema as TObject).properties,
      ),
    ),
  )
  const missing = paged.filter(
    ([name, { method, path }]) => !(name in ELSEWHERE) && !compared.includes(`${method} ${path}`),
  )
  assert.ok(paged.length > 40, `${paged.length} lists`)
  assert.deepEqual(
    missing.map(([name]) => name),
    [],
  )
})

test('NICs of all nodes are asked for node by node, page after page', async () => {
  await database.query(`update node set node_ip = bmc_ip, fqdn = id || '.example' where zone = 'scale'`)
  const { rows } = await database.query('select node_id, fqdn from node order by node_id')
  const route = '/network/guest-networks/eligible-nics'
  const names = async (after_id: number) => {
    const { body } = await lab.call('POST', route, { after_id, page_size: 7 })
    const found: string[] = body.nodes.map(({ fqdn }: { fqdn: string }) => fqdn)
    return { found, next_id: body.next_id as number, has_more: body.has_more as boolean, count: body.count as number }
  }
  const first = await names(0)
  const second = await names(first.next_id)
  const last = await names(rows.at(-4).node_id)
  const wanted = rows.map(({ fqdn }) => String(fqdn))
  assert.deepEqual([...first.found, ...second.found, ...last.found], [...wanted.slice(0, 14), ...wanted.slice(-3)])
  assert.deepEqual([first.count, first.has_more, last.has_more, last.next_id], [ROWS, true, false, 0])
})

/** What was alive after each full collection of a process with --trace-gc. */
function liveMegabytes(output: string): number[] {
  return [...output.matchAll(/Mark-Compact.*? -> ([\d.]+) \(/g)].map(([, live_mb]) => Number(live_mb))
}

test(`walking ${ROWS} rows gives each once, and takes memory for pages alone`, async () => {
  const own = await createTestDatabase()
  const { host, port, user, database: name } = own.connection
  const production = await startProduction({
    database_url: `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`,
    config: { compute: QUIET },
    platform: lab.platform,
    // A small heap is collected often, so that what lives only during a request is seen.
    flags: ['--trace-gc', `--max-old-space-size=${OLD_SPACE_MB}`],
  })
  const client = new pg.Client(own.connection)
  try {
    const replica = await production.startReplica()
    await client.connect()
    await watchersPolled(client)
    const { tables } = lab.platform.state
    const walk = async (key: string, of: string, filter: object = {}): Promise<string[]> => {
      const found: string[] = []
      for (let page = 1; ; page += 1) {
        const reply = await replica.call('POST', `/compute/${of}/list`, { ...filter, page, page_size: 500 })
        assert.equal(reply.status, 200, reply.text)
        const rows: string[] = reply.body[key].map(({ id }: { id: string }) => id)
        found.push(...rows)
        if (rows.length < 500) return found
      }
    }
    const few = await walk('volumes', 'volumes', { keyword: 'ROOT-12' })
    assert.ok(few.length > 500 && few.length < 2000, 'full pages out of few rows come first')
    const before_mb = liveMegabytes(replica.output()).at(-1) ?? Number.NaN
    const grown = (since: number): number => Math.max(...liveMegabytes(replica.output().slice(since))) - before_mb

    const first = replica.output().length
    assert.deepEqual(await walk('volumes', 'volumes'), ids(tables.volumes.values()))
    const aggregate = await replica.call('GET', '/compute/vms/metrics/aggregate')
    assert.equal(aggregate.body.virtual_machine_count, ROWS, aggregate.text)
    assert.ok(liveMegabytes(replica.output().slice(first)).length > 5, 'the heap was collected on the way')
    const for_pages_mb = grown(first)
    assert.ok(for_pages_mb < PAGES_MB, `${for_pages_mb} MB more are alive than before`)

    const second = replica.output().length
    assert.deepEqual(await walk('virtual_machines', 'vms'), ids(tables.vms.values()))
    const with_cache_mb = grown(second)
    assert.ok(with_cache_mb < PAGES_MB + CACHE_MB, `${with_cache_mb} MB more are alive than before`)
  } finally {
    await client.end()
    await production.close()
    await own.drop()
  }
})
