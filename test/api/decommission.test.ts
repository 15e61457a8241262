// Decommission over HTTP: a node of the simulated platform leaves, its disks are wiped by a machine that reports, and what happens
// when something comes in between.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import type { ProfileName } from '../../lab/redfish/profiles.ts'
import type { SimulatedBmc } from '../../lab/redfish/server.ts'
import { macsOf, wipeMachine, type WipeBehaviour } from '../../lab/redfish/wipe-image.ts'
import { DEFAULT_SIZE, seededId, wellKnown } from '../../lab/site.ts'
import { createLog } from '#src/kernel/log.ts'
import { openDatabase } from '#src/store/database.ts'
import { type BmcSite, startBmcSite, WIPE_FILE } from '../support/bmc-site.ts'
import { runHere } from '../cli/in-process.ts'
import type { Reply } from '../support/http.ts'
import { callsOf, type EndedJob, NOBODY } from '../support/platform-calls.ts'
import { until } from '../support/until.ts'

let site: BmcSite
const sent = new Map<string, unknown>()
let behaviour: WipeBehaviour = {}

before(async () => {
  site = await startBmcSite({
    time: 'step',
    size: { ...DEFAULT_SIZE, vms: 24 },
    bmc: { wipe_image: WIPE_FILE, image_addresses: ['127.0.0.1'] },
    async onBoot(bmc, image) {
      sent.set(bmc.name, await wipeMachine(bmc, image, behaviour))
    },
  })
})
after(() => site.close())

interface LeavingNode {
  bmc: SimulatedBmc
  bmc_ip: string
  host_id: string
}

/** A host of the platform with the BMC of this profile, whose inventory is collected. */
async function nodeOf(profile: ProfileName, host: 'kvm-02' | 'kvm-03' | 'kvm-05' | 'kvm-06'): Promise<LeavingNode> {
  const bmc = site.bmcs[profile]
  const body = {
    bmc_ip: bmc.host,
    node_ip: `10.0.0.${Number(host.slice(-2)) + 10}`,
    fqdn: `${host}.example.internal`,
    role: 'compute',
  }
  const reply = await site.lab.call('POST', '/configure/nodes', body)
  assert.equal(reply.status, 201, reply.text)
  assert.equal((await site.ask(bmc, 'collect')).status, 200)
  return { bmc, bmc_ip: bmc.host, host_id: wellKnown.hosts[host] }
}

const call = (method: string, { bmc_ip }: Pick<LeavingNode, 'bmc_ip'>, path: string, body?: object): Promise<Reply> =>
  site.lab.call(method, `/configure/nodes/${bmc_ip}/${path}`, body)

async function acknowledged(node: LeavingNode, wish: object = {}) {
  const { status, body, text } = await call('POST', node, 'decommission/preflight', wish)
  assert.equal(status, 200, text)
  return { ...wish, acknowledge: { fingerprint: body.fingerprint, vms: body.destroyed_vm_names } }
}

async function start(node: LeavingNode, wish: object = {}): Promise<string> {
  const reply = await call('POST', node, 'decommission', await acknowledged(node, wish))
  assert.equal(reply.status, 202, reply.text)
  return reply.body.job_id
}

const statusOf = async (node: Pick<LeavingNode, 'bmc_ip'>) => (await call('POST', node, 'decommission/status')).body
/** Steps of a whole job: a machine that is busy with other things takes its time. */
const JOB_MS = 200_000

/** Lets time pass on the platform until the job has ended. */
const ended = (job_id: string): Promise<EndedJob> =>
  until(
    `job ${job_id} ends`,
    async () => {
      site.lab.platform.step()
      const { body } = await site.lab.call('GET', `/jobs/${job_id}`)
      return body.job_status === 'running' ? undefined : body
    },
    JOB_MS,
  )

const provisionStatus = async ({ bmc_ip }: Pick<LeavingNode, 'bmc_ip'>): Promise<string> =>
  (await site.lab.call('GET', `/configure/nodes/${bmc_ip}`)).body.provision_status

/** Disks of the machine lie on storage of this host alone, so that it cannot move; until what it answers is called. */
function putOnLocalStorage(vm_id: string, ipaddress: string): () => void {
  const { storagepools, volumes } = site.lab.platform.state.tables
  const ceph = storagepools.get(wellKnown.storage_pools['ceph-rbd']) ?? assert.fail()
  const local = storagepools.put({
    ...ceph,
    id: seededId('storagepool', ipaddress),
    name: ipaddress,
    scope: 'HOST',
    ipaddress,
  })
  const before = volumes.by('vm', vm_id)
  for (const disk of before) volumes.put({ ...disk, storageid: local.id })
  return () => before.forEach((disk) => volumes.put(disk))
}

test('a node leaves: its machines move, the named one is destroyed, its host goes, its disks are proven clean', async () => {
  const node = await nodeOf('idrac9-7', 'kvm-02')
  const { tables } = site.lab.platform.state
  const here = tables.vms.by('host', node.host_id)
  const [doomed, ...others] = here
  assert.ok(doomed !== undefined && others.length > 0)
  putOnLocalStorage(doomed.id, '10.0.0.12')

  const request = await acknowledged(node, { force: true })
  const first = await call('POST', node, 'decommission', request)
  assert.equal(first.status, 202, first.text)
  const again = await call('POST', node, 'decommission', request)
  assert.equal(again.body.job_id, first.body.job_id, 'the same request answers the job that runs')
  assert.equal(await provisionStatus(node), 'decommissioning')
  const job = await ended(first.body.job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)

  assert.equal(tables.hosts.get(node.host_id), null)
  assert.equal(tables.vms.get(doomed.id), null)
  for (const { id } of others) assert.equal(tables.vms.get(id)?.state, 'Running')
  const [deleted] = await callsOf(site.lab, 'deleteHost')
  assert.deepEqual([deleted?.['forced'], deleted?.['forcedestroylocalstorage']], ['false', 'false'])
  assert.equal(node.bmc.state.power, 'Off')
  assert.ok(node.bmc.state.media.every(({ image }) => image === null))

  const status = await statusOf(node)
  assert.equal(status.provision_status, 'discovered')
  assert.deepEqual(
    status.steps.filter((step: { status: string }) => !['succeeded', 'skipped'].includes(step.status)),
    [],
  )
  const report = JSON.parse(status.wipe_report)
  assert.deepEqual([report.authenticated, report.consistent, report.missing_disks], [true, true, []])
  const evidence = await call('GET', node, 'decommission/evidence')
  assert.deepEqual([evidence.body.verdict, evidence.body.outstanding], ['verified', []])
  assert.equal(evidence.body.image_fetched.by, '127.0.0.1')
  const record = (await site.lab.call('GET', `/configure/nodes/${node.bmc_ip}`)).body
  assert.deepEqual([record.provision_status, record.node_ip, record.role], ['discovered', null, null])
  const logs = await call('GET', node, 'decommission/logs')
  assert.match(logs.body.content, /DESTRUCTIVE {2}destroy-vms/)
  const printed = await runHere(site.lab, ['node', 'log', node.bmc_ip, '--utc'])
  assert.match(printed.stdout, /^\S+ \S+ admit Admitted by .*\n[^]* finish succeeded\n$/, printed.stderr)
  const rest = (await site.lab.call('GET', `/jobs/${first.body.job_id}?after_seq=3`)).body.log
  assert.deepEqual([rest[0]?.seq, rest.length], [4, printed.stdout.trimEnd().split('\n').length - 3])
  const jobs = await runHere(site.lab, ['node', 'jobs', node.bmc_ip, '--json'])
  assert.deepEqual(JSON.parse(jobs.stdout).jobs.map(({ job_type }: { job_type: string }) => job_type), ['iso_mount', 'decommission']) // biome-ignore format: one row
  const snapshot = await call('GET', node, 'decommission/snapshot')
  assert.deepEqual([snapshot.body.job_status, snapshot.body.progress, snapshot.body.failed], ['completed', 100, 0])
  const token = (sent.get('idrac9-7') as { token: string }).token
  assert.ok(!logs.text.includes(token) && !snapshot.text.includes(token) && !site.lab.logs().includes(token))
})

test('a machine that came after the preflight stops the job untouched, until a retry names it; disks that stay are left to a person', async () => {
  const node = await nodeOf('idrac9-5', 'kvm-03')
  const { tables } = site.lab.platform.state
  const job_id = await start(node, { wipe: 'none' })
  const guest = tables.vms.by('host', wellKnown.hosts['kvm-01'])[0] ?? assert.fail()
  const putBack = putOnLocalStorage(guest.id, '10.0.0.13')
  tables.vms.put({ ...guest, hostid: node.host_id })
  const job = await ended(job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'VM_NOT_ACKNOWLEDGED'])
  assert.equal(tables.vms.get(guest.id)?.state, 'Running')
  assert.equal(tables.vms.get(guest.id)?.hostid, node.host_id)
  const status = await statusOf(node)
  assert.match(status.next_action, /^retry_with_force: These machines cannot be moved/)
  assert.deepEqual([status.recoverable, status.provision_status], [true, 'decommissioning'])

  const early = await call('POST', node, 'decommission/confirm-wipe', { evidence: 'x' })
  assert.deepEqual([early.status, early.body.code], [409, 'NODE_STATE'])

  const retry = (body: object) => call('POST', node, 'decommission/retry', body)
  const refused = [{ vms: [guest.name] }, { wipe: 'full' }, { skip_steps: ['revoke'] }].map(retry)
  assert.deepEqual(
    (await Promise.all(refused)).map(({ status: code }) => code),
    [400, 400, 400],
  )
  const strange = await retry({ force: true, vms: ['nobody'] })
  assert.deepEqual([strange.status, strange.body.code], [409, 'PREFLIGHT_CHANGED'])

  putBack()
  const retried = await retry({ reason: 'it is not needed any more', force: true, vms: [guest.name] })
  assert.deepEqual([retried.status, retried.body.id, retried.body.job_status], [202, job_id, 'running'])
  const second = await ended(job_id)
  assert.equal(second.job_status, 'completed', second.failure_reason)
  assert.equal(tables.vms.get(guest.id), null, 'the retry named it')
  const done = await statusOf(node)
  assert.equal(done.provision_status, 'discovered')
  assert.match(done.next_action, /^confirm_wipe: .*not wiped: the caller wanted it to stay as it is/)
  // What the step that starts the image writes, while a person confirms: neither of them fails.
  const confirmed = await besideTheStep(job_id, () =>
    call('POST', node, 'decommission/confirm-wipe', { evidence: 'kept for the next owner' }),
  )
  assert.equal(confirmed.status, 200, confirmed.text)
  assert.deepEqual((await statusOf(node)).outstanding_actions, [])
  assert.equal((await call('GET', node, 'decommission/evidence')).body.verdict, 'stated')
  assert.equal((await call('POST', node, 'decommission/retry')).body.code, 'NODE_STATE')
})

/** Holds the job as its steps do, opens its wipe while the request waits, and lets go. */
async function besideTheStep(job_id: string, call_it: () => Promise<Reply>): Promise<Reply> {
  const { db, close } = openDatabase({
    connection: site.lab.database.connection,
    pool_size: 2,
    log: createLog({ level: 'silent' }),
  })
  try {
    const asked = await db.transaction().execute(async (trx) => {
      const { rows: own } = await sql<{ pid: number }>`
        select pg_backend_pid() as pid from job where id = ${job_id} for update`.execute(trx)
      const reply = call_it()
      await until('the request waits for the job', async () => {
        const waiting = sql`select 1 from pg_stat_activity where ${own[0]?.pid}::int = any(pg_blocking_pids(pid))`
        return (await waiting.execute(db)).rows.length > 0
      })
      await sql`insert into wipe (job_id, node_id, expected_disks, open_until)
        select job.id, node.node_id, '[]', now() from job join node on node.bmc_ip = job.node_ip where job.id = ${job_id}
        on conflict do nothing`.execute(trx)
      return { reply }
    })
    return await asked.reply
  } finally {
    await close()
  }
}

test('a cancel before the maintenance brings the host back into service', async () => {
  const node = await nodeOf('idrac10', 'kvm-05')
  const { tables } = site.lab.platform.state
  const job_id = await start(node, { wipe: 'none' })
  await until('the host is taken out of allocation', () => tables.hosts.get(node.host_id)?.resourcestate === 'Disabled')
  const cancelled = await call('POST', node, 'decommission/cancel', { reason: 'needed after all' })
  assert.equal(cancelled.status, 202, cancelled.text)
  const job = await ended(job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'JOB_CANCELLED'])
  assert.equal(tables.hosts.get(node.host_id)?.resourcestate, 'Enabled')
  assert.equal(await provisionStatus(node), 'discovered')
  assert.equal((await call('POST', node, 'decommission/cancel')).status, 409)
})

test('a job that is none of the node is 404 with both of them', async () => {
  const [node, job_id] = [{ bmc_ip: site.bmcs['idrac10'].host }, NOBODY]
  const { status, body } = await call('POST', node, 'decommission/status', { job_id })
  assert.deepEqual([status, body.code], [404, 'JOB_NOT_FOUND'])
  assert.equal(body.detail, `Job ${job_id} is no decommission of node ${node.bmc_ip}.`)
})

test('only what was acknowledged is done: anything else is 409', async () => {
  const node = { bmc: site.bmcs['idrac10'], bmc_ip: site.bmcs['idrac10'].host, host_id: wellKnown.hosts['kvm-05'] }
  const { hosts, vms } = site.lab.platform.state.tables
  const request = await acknowledged(node, { wipe: 'none' })
  const guest = vms.by('host', wellKnown.hosts['kvm-06'])[0] ?? assert.fail()
  vms.put({ ...guest, hostid: node.host_id })
  assert.equal((await call('POST', node, 'decommission', request)).body.code, 'PREFLIGHT_CHANGED')
  vms.put(guest)
  const wrong = await call('POST', node, 'decommission', {
    ...request,
    acknowledge: { fingerprint: '0123456789abcdef' },
  })
  assert.deepEqual([wrong.status, wrong.body.code], [409, 'PREFLIGHT_CHANGED'])
  const named = { ...request, acknowledge: { ...request.acknowledge, vms: ['nobody'] } }
  const unnamed = (await call('POST', node, 'decommission', named)).body
  assert.deepEqual(
    [unnamed.code, unnamed.detail],
    ['PREFLIGHT_CHANGED', `The decommission of node ${node.bmc_ip} destroys no machine: leave acknowledge.vms empty.`],
  )
  assert.equal(await provisionStatus(node), 'discovered')
  const other = hosts.get(wellKnown.hosts['kvm-06']) ?? assert.fail()
  hosts.put({ ...other, resourcestate: 'PrepareForMaintenance' })
  const failed = await call('POST', node, 'decommission', request)
  assert.deepEqual(
    [failed.status, failed.body.code, failed.body.errors[0].path],
    [409, 'PREFLIGHT_FAILED', 'cluster-maintenance'],
  )
  hosts.put(other)
})

/** Sends a report from an address of its own: limits count senders. */
let senders = 0
const nextSender = (): string => `127.1.${Math.floor((senders += 1) / 250)}.${(senders % 250) + 1}`
function report(body: unknown, from = nextSender()): Promise<{ status: number; text: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const url = new URL('/configure/decommission/wipe-result', site.lab.url)
  return new Promise((resolve, reject) => {
    const sending = request(url, { method: 'POST', headers, localAddress: from }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
    })
    sending.on('error', reject)
    sending.end(text)
  })
}

const CLEAN = { success: 1, all_verified: 1, disks: [{ name: '/dev/sda', wiped: true, verified: true }] }
const RECEIVED = { status: 200, text: JSON.stringify({ success: true, message: 'received' }) }
type Sent = typeof CLEAN & { token: string; macs: string[] }

const STRANGE = { ...CLEAN, macs: ['b4:96:91:00:00:02'] }

/** Until this sender is limited, and so are all together. */
async function flood(): Promise<void> {
  const untilLimited = async (send: () => Promise<{ status: number }>): Promise<void> => {
    for (let tried = 0; tried < 300; tried += 10) {
      const replies = await Promise.all(Array.from({ length: 10 }, send))
      if (replies.some(({ status }) => status === 429)) return
    }
    assert.fail('nothing limits it')
  }
  await untilLimited(() => report(STRANGE, '127.0.4.1'))
  let from = 0
  await untilLimited(() => report(STRANGE, `127.0.${5 + Math.floor((from += 1) / 200)}.${(from % 200) + 1}`))
}

/** A claim, once all claims together are not too many. */
async function claim(body: unknown): Promise<void> {
  const reply = await until('claims are taken again', async () => {
    const tried = await report(body)
    return tried.status === 429 ? undefined : tried
  })
  assert.deepEqual(reply, RECEIVED)
}

test('NICs of nobody, of several nodes or of all have the same answer, and whatever is sent moves no node', async () => {
  const nodes = [site.bmcs['idrac9-5'], site.bmcs['idrac9-7']]
  const states = async () => Promise.all(nodes.map(({ host }) => provisionStatus({ bmc_ip: host })))
  const before = await states()
  assert.deepEqual(await report({ ...CLEAN, macs: ['b4:96:91:00:00:01'] }), RECEIVED)
  assert.deepEqual(await report({ ...CLEAN, macs: nodes.flatMap(macsOf) }), RECEIVED)
  assert.deepEqual(await report({ ...CLEAN, macs: ['ff:ff:ff:ff:ff:ff', '00:00:00:00:00:00'] }), RECEIVED)
  await fc.assert(
    fc.asyncProperty(fc.json({ maxDepth: 6 }), async (text) => assert.equal((await report(text)).status, 400)),
    { numRuns: 25 },
  )
  for (const wrong of [
    { ...CLEAN, macs: [] },
    { ...CLEAN, macs: ['not a mac'] },
    { ...CLEAN, macs: macsOf(nodes[0] ?? assert.fail()), success: 2 },
    { ...CLEAN, macs: macsOf(nodes[0] ?? assert.fail()), disks: [] },
    { ...CLEAN, macs: macsOf(nodes[0] ?? assert.fail()), unknown: true },
    { ...CLEAN, macs: macsOf(nodes[0] ?? assert.fail()), token: 'x'.repeat(70_000) },
  ])
    assert.equal((await report(wrong)).status, 400, JSON.stringify(wrong).slice(0, 100))
  assert.deepEqual(await states(), before)
})

test('a claim annotates and ends nothing; the report with the secret counts, in a flood too; what is not proven stays until a person confirms it', async () => {
  const node = await nodeOf('generic-2023', 'kvm-06')
  behaviour = { verified: false, silent: true }
  const job_id = await start(node)
  const own = await until('the machine has been started from the image', () => {
    site.lab.platform.step()
    return sent.get('generic-2023') as Sent | undefined
  })
  await until(
    'the report is waited for',
    async () => (await call('GET', node, 'decommission/snapshot')).body.current_step === 'wipe-wait',
  )
  assert.deepEqual(await report({ ...CLEAN, macs: macsOf(node.bmc) }), RECEIVED)
  const claimed = await statusOf(node)
  assert.deepEqual([claimed.job_status, JSON.parse(claimed.wipe_report).authenticated], ['running', false])
  assert.deepEqual(
    await report({
      ...CLEAN,
      disks: [{ name: 'x', wiped: false, verified: false }],
      macs: macsOf(node.bmc),
      token: 'guessed',
    }),
    RECEIVED,
  )
  assert.equal((await statusOf(node)).wipe_report, claimed.wipe_report, 'a claim replaces nothing')
  assert.equal(await provisionStatus(node), 'decommissioning')

  await flood()
  const [first, ...others] = await Promise.all([report(own), ...Array.from({ length: 30 }, () => report(STRANGE))])
  assert.deepEqual(first, RECEIVED)
  assert.ok(
    others.some(({ status }) => status === 429),
    'the flood goes on',
  )
  const job = await ended(job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  const status = await statusOf(node)
  assert.match(status.next_action, /^confirm_wipe: Disk /)
  assert.equal(status.outstanding_actions.length, 1)
  assert.equal((await call('GET', node, 'decommission/evidence')).body.verdict, 'unverified')
  await claim({ ...CLEAN, macs: macsOf(node.bmc) })
  assert.deepEqual(await report(own), RECEIVED)
  assert.equal((await statusOf(node)).wipe_report, status.wipe_report, 'neither a later claim nor a replay changes it')
  const confirmed = await call('POST', node, 'decommission/confirm-wipe', { evidence: 'shredded' })
  assert.equal(confirmed.status, 200, confirmed.text)
  assert.deepEqual((await statusOf(node)).outstanding_actions, [])
  assert.equal((await call('GET', node, 'decommission/evidence')).body.verdict, 'stated')
  behaviour = {}
})

test('a flood is limited, by sender and in all, and the report with the secret gets through', async () => {
  await flood()
  const own = sent.get('idrac9-7') as Sent
  const differs = { ...own, all_verified: 0, disks: own.disks.map((disk) => ({ ...disk, verified: false })) }
  assert.deepEqual(await report(differs), RECEIVED)
  const stored = JSON.parse((await statusOf({ bmc_ip: site.bmcs['idrac9-7'].host })).wipe_report)
  assert.deepEqual(
    [stored.conflict, stored.all_verified],
    [true, 1],
    'the first one counts, and the difference is shown',
  )
})

test('a node without such a job has no views of it, and wrong requests are 400', async () => {
  const minimal = { bmc_ip: site.bmcs.minimal.host }
  assert.equal((await site.lab.call('POST', '/configure/nodes', { bmc_ip: minimal.bmc_ip })).status, 201)
  for (const [method, path] of [
    ['POST', 'status'],
    ['GET', 'snapshot'],
    ['GET', 'logs'],
    ['GET', 'evidence'],
    ['POST', 'retry'],
    ['POST', 'cancel'],
  ] as const) {
    const reply = await call(method, minimal, `decommission/${path}`)
    assert.deepEqual([reply.status, reply.body.code], [404, 'JOB_NOT_FOUND'], path)
  }
  assert.equal((await call('POST', minimal, 'decommission/confirm-wipe', { evidence: 'x' })).status, 404)
  assert.equal(
    (await call('POST', { bmc_ip: '10.99.0.1' }, 'decommission', { acknowledge: { fingerprint: '0123456789abcdef' } }))
      .status,
    404,
  )
  assert.equal((await call('POST', minimal, 'decommission', {})).status, 400)
})

/** The state that only a setup gives, and an address of the store that it got there. */
async function asSetupLeft(bmc_ip: string, address: string): Promise<void> {
  const { db, close } = openDatabase({
    connection: site.lab.database.connection,
    pool_size: 1,
    log: createLog({ level: 'silent' }),
  })
  await sql`update node set provision_status = 'configure_failed' where bmc_ip = ${bmc_ip}`.execute(db)
  await sql`with prefix as (insert into ipam_prefix (cidr) values ('127.0.40.0/24') on conflict do nothing returning id)
    insert into ipam_address (prefix_id, address, status, owner_kind, owner_id)
    select prefix.id, ${address}::inet, 'active', 'node', node.id::text from prefix, node where bmc_ip = ${bmc_ip}`.execute(
    db,
  )
  await close()
}

test('a node whose setup failed is rolled back, but keeps an address where something answers, and stays while machines run', async () => {
  const { bmc_ip, bmc } = { bmc: site.bmcs['idrac10'], bmc_ip: site.bmcs['idrac10'].host }
  const node = { bmc, bmc_ip, host_id: wellKnown.hosts['kvm-05'] }
  const address = '127.0.40.7'
  await asSetupLeft(bmc_ip, address)
  const held = await call('POST', node, 'rollback')
  assert.equal(held.status, 202, held.text)
  const stopped = await ended(held.body.id)
  assert.deepEqual([stopped.job_status, stopped.failure_code], ['failed', 'NODE_IN_SERVICE'])
  assert.match((await call('POST', node, 'rollback/status', {})).body.next_action, /^decommission: /)
  assert.equal(await provisionStatus(node), 'configure_failed')

  const { tables } = site.lab.platform.state
  for (const vm of tables.vms.by('host', node.host_id)) tables.vms.put({ ...vm, hostid: wellKnown.hosts['kvm-04'] })
  // This machine refuses connections at the address: something answers there.
  const answering = await ended((await call('POST', node, 'rollback', { reason: 'emptied by hand' })).body.id)
  assert.equal(answering.job_status, 'completed', answering.failure_reason)
  const released = answering.steps.find(({ name }) => name === 'address-release')
  assert.deepEqual([released?.status, released?.error.includes(address)], ['unverified', true])
  assert.equal(tables.hosts.get(node.host_id), null)
  assert.equal(await provisionStatus(node), 'discovered')

  await asSetupLeft(bmc_ip, address)
  bmc.state.power = 'Off'
  const silent = await ended((await call('POST', node, 'rollback', { wipe: 'none' })).body.id)
  assert.equal(silent.steps.find(({ name }) => name === 'address-release')?.status, 'succeeded')
  assert.match((await call('GET', node, 'rollback/logs')).body.content, /127\.0\.40\.7 \(allocated\) is released/)
  const refused = await call('POST', node, 'rollback')
  assert.deepEqual([refused.status, refused.body.code], [409, 'NODE_STATE'])
})

test('a node that was never rolled back has no views of it', async () => {
  const { bmc_ip } = { bmc_ip: site.bmcs['idrac9-5'].host }
  for (const [method, path] of [
    ['POST', 'rollback/status'],
    ['GET', 'rollback/logs'],
  ] as const) {
    const reply = await call(method, { bmc_ip }, path)
    assert.deepEqual([reply.status, reply.body.code], [404, 'JOB_NOT_FOUND'], path)
  }
  assert.equal((await call('POST', { bmc_ip: 'nowhere' }, 'rollback/status')).status, 400)
  assert.equal((await call('POST', { bmc_ip: '10.99.0.1' }, 'rollback')).status, 404)
})
