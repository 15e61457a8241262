// The control plane is killed when the platform has got a change and its answer has not been read: a real process, for one job
// of each kind that changes the platform. The next process finds what became of it, and nothing is done twice.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { wellKnown } from '../../lab/site.ts'
import { type Production, startProduction } from '../support/control-process.ts'
import { type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** Another process takes over seconds after a death, and slow machines need their time. */
const END_WITHIN_MS = 90_000

let platform: CloudStackLab
let proxy: PlatformProxy
let database: TestDatabase
let production: Production
before(async () => {
  platform = await startCloudStack({ time: 'step' })
  proxy = await startPlatformProxy(platform.url)
  database = await createTestDatabase()
  const { host, port, user, database: name } = database.connection
  production = await startProduction({
    database_url: `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`,
    platform,
    config: { compute: { url: proxy.url } },
  })
})
after(async () => {
  await production?.close()
  await proxy?.close()
  await platform?.close()
  await database?.drop()
})

const { zone, vms, networks, templates, service_offerings, disk_offerings, domains } = wellKnown
const office = networks['office-shared']

interface Order {
  /** What the platform gets when the process dies. */
  command: string
  method?: string
  path: string
  body: object
  /** How many the platform has of what is ordered. */
  count: () => number
}

const tables = () => platform.state.tables
const ORDERS: Order[] = [
  {
    command: 'deployVirtualMachine',
    path: '/compute/vms/provision',
    body: {
      name: 'killed-vm', zone_id: zone, template_id: templates['Debian 12'],
      service_offering_id: service_offerings.small, network_ids: [office],
    },
    count: () => tables().vms.filter(({ name, state }) => name === 'killed-vm' && state === 'Running').length,
  },
  {
    command: 'createVolume',
    path: '/compute/vms/create-and-attach-disk',
    body: { virtual_machine_id: vms.wiki, name: 'killed-disk', disk_offering_id: disk_offerings['ssd-20'] },
    count: () => tables().volumes.filter((one) => one.name === 'killed-disk' && one.virtualmachineid === vms.wiki).length,
  },
  {
    command: 'stopVirtualMachine',
    path: '/compute/vms/stop',
    body: { virtual_machine_id: vms['web-03'] },
    count: () => tables().vms.filter(({ id, state }) => id === vms['web-03'] && state === 'Stopped').length,
  },
  {
    command: 'associateIpAddress',
    path: '/ddi/public-ips',
    body: { zone_id: zone, network_id: networks['acme-net'] },
    count: () => tables().addresses.filter(({ state }) => state === 'Allocated').length - allocated,
  },
  {
    command: 'createDomain',
    path: '/admin/tenants',
    body: { name: 'killed-tenant' },
    count: () => tables().domains.filter(({ name }) => name === 'killed-tenant').length,
  },
  {
    command: 'disableAccount',
    method: 'PUT',
    path: `/admin/tenants/${domains.globex}/status`,
    body: { is_active: false },
    count: () => tables().accounts.filter((one) => one.domainid === domains.globex && one.state === 'locked').length,
  },
] // biome-ignore format: one order each
let allocated = 0

test('a change that was sent when the process was killed is done once, for one job of each kind', async () => {
  const first = await production.startReplica()
  const tenant = `/admin/tenants/${domains.globex}`
  await until('the tenants are known', async () => (await first.call('GET', tenant)).status === 200)
  allocated = tables().addresses.filter(({ state }) => state === 'Allocated').length
  const unanswered = new Set(ORDERS.map(({ command }) => command))
  proxy.behave((command) => (unanswered.delete(command) ? 'late' : 'pass'))
  for (const { method = 'POST', path, body } of ORDERS) first.call(method, path, body).catch(() => {})
  await until('every change is on its way', () => unanswered.size === 0)
  await first.end('SIGKILL')
  const next = await production.startReplica()
  const jobs = await until(
    'all jobs have ended',
    async () => {
      platform.step()
      const { body } = await next.call('GET', '/jobs')
      const ended: { job_status: string; status: string }[] = body.jobs
      return ended.length === ORDERS.length && ended.every((job) => job.job_status !== 'running') && ended
    },
    END_WITHIN_MS,
  )
  assert.deepEqual(
    jobs.filter((job) => job.job_status !== 'completed'),
    [],
  )
  for (const { command, count } of ORDERS) assert.equal(count(), 1, command)
})
