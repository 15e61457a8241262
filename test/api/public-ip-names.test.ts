// Names of public addresses through the DNS port: the operations as they are mounted, against the lab's platform, with a
// zone kept in memory behind the port.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import { systemContext } from '#src/kernel/http/context.ts'
import { createLog } from '#src/kernel/log.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { AddressDns, AddressName, PublishName } from '#src/modules/ddi/address-dns.ts'
import { publicIpAcquireJob } from '#src/modules/ddi/public-ips-acquire.job.ts'
import { publicIpHandlers } from '#src/modules/ddi/public-ips.ts'
import { computeCall } from '#src/modules/compute/call.job.ts'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { DEFAULT_SIZE } from '../../lab/site.ts'
import { type JobProcess, startJobProcess, testKeyring } from '../support/job-process.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'

const log = createLog({ level: 'error' })
const zone = new Map<string, AddressName & { ip_address: string }>()
let failing = false

const dns: AddressDns = {
  async publish({ ip_address, hostname, dns_zone = 'acme.example', create_ptr, record_id }: PublishName) {
    if (failing) throw new UpstreamError({ upstream: 'DNS', operation: 'publish', failure: 'unavailable' })
    if (record_id !== undefined) zone.delete(record_id)
    const fqdn = `${hostname}.${dns_zone}`
    const made = { fqdn, record_id: `${fqdn}/A`, ip_address }
    zone.set(made.record_id, made)
    return { ...made, ptr_created: create_ptr }
  },
  async withdraw({ ip_address, record_id }) {
    const gone = [...zone.values()].filter(
      (one) => one.ip_address === ip_address && (record_id ?? one.record_id) === one.record_id,
    )
    for (const one of gone) zone.delete(one.record_id)
    return gone
  },
  lookup: async (addresses) =>
    new Map([...zone.values()].filter((one) => addresses.includes(one.ip_address)).map((one) => [one.ip_address, one])),
}

let platform: CloudStackLab
let database: TestDatabase
let jobs: JobProcess
let handlers: ReturnType<typeof publicIpHandlers>
let ticking: NodeJS.Timeout
let cloudstack: ReturnType<typeof createCloudStack>

before(async () => {
  platform = await startCloudStack({ time: 'step', port: 0, size: DEFAULT_SIZE })
  ticking = setInterval(() => platform.step(), 20)
  const { url, api_key, secret_key } = platform
  const times = { timeout_ms: 30_000, read_timeout_ms: 30_000 }
  cloudstack = createCloudStack({ url, api_key, secret_key, algorithm: 'hmac-sha1', ...times }, { log })
  database = await createTestDatabase()
  const call_deps = {
    cloudstack,
    // Made with the process that runs the job.
    get database() {
      return jobs.database
    },
  }
  const bound = [bindJob(publicIpAcquireJob, { cloudstack, dns }), bindJob(computeCall, call_deps)]
  jobs = await startJobProcess({ connection: database.connection, keyring: testKeyring(), bound })
  const { engine, replica_id } = jobs
  handlers = publicIpHandlers({ cloudstack, database: jobs.database, jobs: engine, replica_id, dns })
})
after(async () => {
  clearInterval(ticking)
  await jobs.stop()
  await cloudstack.close()
  await database.drop()
  await platform.close()
})
beforeEach(() => {
  zone.clear()
  failing = false
})

const ctx = (operation: string) => systemContext(operation, log, new AbortController().signal)
const BODY = {
  zone_id: wellKnown.zone, network_id: wellKnown.networks['acme-net'], create_dns: true, hostname: 'www', dns_zone: 'acme.example',
} // biome-ignore format: one record

async function acquire(more: object = {}) {
  const input = { params: undefined, query: undefined, body: { ...BODY, ...more } }
  const answer = await handlers.publicIpAcquire(input, ctx('publicIpAcquire'))
  assert.ok('data' in answer)
  return answer
}

async function change(ip_id: string, body: Parameters<typeof handlers.publicIpDnsSet>[0]['body']) {
  const answer = await handlers.publicIpDnsSet({ params: { ip_id }, query: undefined, body }, ctx('publicIpDnsSet'))
  assert.ok('fqdn' in answer)
  return answer
}

test('an acquired address gets its name, reads show it, and releasing removes it', async () => {
  const { data, message } = await acquire({ create_ptr: true })
  assert.deepEqual([data.dns_name, data.dns_created], ['www.acme.example', true])
  assert.match(message, /www\.acme\.example/)
  const read = { params: undefined, query: { include_dns: true, page_size: 500 }, body: undefined }
  const list = await handlers.publicIpList(read, ctx('publicIpList'))
  assert.ok('count' in list)
  const named = list.data.filter((one) => one.dns_created === true)
  assert.deepEqual(
    named.map((one) => [one.id, one.dns_name]),
    [[data.id, 'www.acme.example']],
  )
  const gone = await handlers.publicIpRelease(
    { params: { ip_id: data.id }, query: undefined, body: undefined },
    ctx('publicIpRelease'),
  )
  assert.ok('message' in gone)
  assert.match(gone.message, /Removed from DNS: www\.acme\.example/)
  assert.equal(zone.size, 0)
})

test('a name that cannot be published is reported, and the address stays', async () => {
  failing = true
  const { data, message } = await acquire()
  assert.deepEqual([data.dns_created, data.state], [false, 'Associated'])
  assert.match(message, /not published/)
})

test('a record is created, replaced and removed, and only one of this address', async () => {
  const { data } = await acquire({ create_dns: false, hostname: undefined })
  const made = await change(data.id, { action: 'create', hostname: 'a', dns_zone: 'acme.example', create_ptr: true })
  assert.deepEqual([made.fqdn, made.ptr_created, made.success], ['a.acme.example', true, true])
  const moved = await change(data.id, {
    action: 'update',
    hostname: 'b',
    dns_zone: 'acme.example',
    record_id: made.record_id ?? '',
  })
  assert.deepEqual([moved.fqdn, zone.size], ['b.acme.example', 1])
  zone.set('of-globex', { fqdn: 'c.globex.example', record_id: 'of-globex', ip_address: '203.0.113.250' })
  await assert.rejects(change(data.id, { action: 'delete', record_id: 'of-globex' }), { code: 'RESOURCE_NOT_FOUND' })
  assert.equal((await change(data.id, { action: 'delete' })).fqdn, 'b.acme.example')
  assert.deepEqual([...zone.keys()], ['of-globex'])
  await assert.rejects(change(data.id, { action: 'delete' }), { code: 'RESOURCE_NOT_FOUND' })
})
