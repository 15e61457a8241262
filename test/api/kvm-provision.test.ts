// Machines are installed and revealed through simulated remote KVMs over the API: to the end, and with every documented answer.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SimulatedKvm } from '../../lab/pikvm/server.ts'
import { startRedfish } from '../../lab/redfish/server.ts'
import { FAST } from '../support/bmc-site.ts'
import type { Reply } from '../support/http.ts'
import { type KvmSite, putKvm, startKvmSite } from '../support/kvm-site.ts'
import { type StartedPrograms, watchStartedPrograms } from '../support/started-programs.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const NAMES = ['one', 'two', 'three', 'four', 'wrong', 'busy', 'planted', 'other'] as const
type Name = (typeof NAMES)[number]
const PASSWORD = 'planted-os-password-4f7a'
/** Something that whoever starts the service keeps in its environment: a key of the platform, for instance. */
const INHERITED = 'planted-inherited-secret-77c2'
let site: KvmSite<Name>
let programs: StartedPrograms
before(async () => {
  process.env['PLANTED_SECRET'] = INHERITED
  programs = watchStartedPrograms()
  site = await startKvmSite({ names: NAMES })
})
after(async () => {
  delete process.env['PLANTED_SECRET']
  programs.stop()
  await site?.close()
})

const WAIT = { headers: { prefer: 'wait=60' } }
const codeOf = ({ status, body }: Reply): string => `${status} ${body?.code}`

/** A request that would do for this machine. */
function bodyFor({ host, state }: SimulatedKvm, more: object = {}): Record<string, unknown> {
  const [disk] = state.machine.disks
  const [nic] = state.machine.nics
  return {
    bmc_ip: host,
    control_node_ip: '127.0.0.1',
    os_password: PASSWORD,
    selected_disks: [disk?.serial],
    selected_nic_mac: nic?.mac,
    static_ip: host.replace('127.0.82.', '127.0.83.'),
    static_netmask: '255.255.255.0',
    static_gateway: '127.0.83.254',
    ...more,
  }
}

const provision = (body: object, options: object = {}): Promise<Reply> =>
  site.lab.call('POST', '/remotekvm-inventory/provision', body, options)
const reveal = (body: object, options: object = {}): Promise<Reply> =>
  site.lab.call('POST', '/remotekvm-inventory/reveal', body, options)
const phoneHome = (body: object): Promise<Reply> =>
  site.lab.call('POST', '/configure/nodes/phone-home', body, { token: '' })

async function jobOf(id: string) {
  return until(`job ${id} ends`, async () => {
    const { body } = await site.lab.call('GET', `/jobs/${id}`)
    return body.job_status === 'running' ? undefined : body
  })
}

/** What the answer file of the connected image says. */
async function tokenOf(kvm: SimulatedKvm): Promise<string> {
  return until('the image is connected', async () => {
    const { drive, images } = kvm.state
    const text = drive.connected ? images.get(drive.image ?? '')?.bytes.toString('latin1') : undefined
    return /"token":"([^"]+)"/.exec(text ?? '')?.[1]
  })
}

test('a machine is revealed, installed from its own image, registered with address, disks and NICs, and answers on SSH', async () => {
  const { one } = site.kvms
  const seen = await reveal({ controlNodeIp: '127.0.0.1', kvmIP: one.host, auto_boot: true }, WAIT)
  assert.deepEqual([seen.status, seen.body.status], [200, 'completed'], seen.text)
  assert.equal(seen.body.report.disks.length, 3)
  await until('the machine is off again', async () => !one.state.machine.power || undefined)
  const disks = ['sda', one.state.machine.disks[1]?.wwn]
  const body = bodyFor(one, {
    hostname: 'Rack-1',
    pool_type: 'mirror',
    selected_disks: disks,
    selected_nic: 'eno1',
    selected_nic_mac: undefined,
  })
  const done = await provision(body, WAIT)
  assert.deepEqual([done.status, done.body.status, done.body.hostname], [200, 'completed', 'rack-1'], done.text)
  const job = await jobOf(done.body.job_id)
  assert.equal(job.job_type, 'provision')
  assert.deepEqual(
    job.steps.map(({ name, status }: { name: string; status: string }) => `${name} ${status}`),
    [
      'check-device succeeded', 'allocate-address succeeded', 'build-iso succeeded', 'upload succeeded', 'connect succeeded',
      'power-off skipped', 'boot succeeded', 'live succeeded', 'install succeeded', 'remove-media succeeded', 'first-boot succeeded',
      'register succeeded',
    ], // biome-ignore format: a list
  )
  const node = await site.lab.call('GET', `/configure/nodes/${one.host}`)
  assert.deepEqual(
    [node.body.provision_status, node.body.node_ip, node.body.hostname],
    ['discovered', '127.0.83.11', 'rack-1'],
  )
  assert.deepEqual([one.state.images.size, one.state.drive.connected], [0, false], 'nothing is left on the KVM')
  const answers = one.state.machine.installed as {
    pool: { disks: string[] }
    user: { name: string; password_hash: string }
  }
  assert.deepEqual(answers.pool.disks, [one.state.machine.disks[0]?.serial, one.state.machine.disks[1]?.wwn])
  assert.match(answers.user.password_hash, /^\$6\$/)
  assert.equal(JSON.stringify(answers).includes(PASSWORD), false)
})

test('no program that is started for an installation shows a secret in its arguments or environment', () => {
  const { shown } = programs
  assert.ok(
    shown.some((text) => /xorriso\n/.test(text) && text.includes('answers.json')),
    'the tool was started',
  )
  const secrets = [INHERITED, PASSWORD, site.lab.token, site.lab.platform.secret_key, site.kvms.one.password]
  assert.deepEqual(
    secrets.filter((secret) => shown.some((text) => text.includes(secret))),
    [],
  )
})

test('an address comes from the IPAM prefix, a password is made and shown once, and the machine that is on is switched off first', async () => {
  const { two } = site.kvms
  const made = await site.lab.call('POST', '/ddi/ipam/prefixes', { cidr: '127.0.83.64/28', gateway: '127.0.83.65' })
  assert.equal(made.status, 201, made.text)
  const {
    os_password: _password,
    static_ip: _ip,
    static_netmask: _mask,
    static_gateway: _gateway,
    ...body
  } = bodyFor(two)
  const started = await provision({ ...body, control_node_ip: '', prefix_id: made.body.data.id })
  assert.deepEqual([started.status, started.body.status], [200, 'started'], started.text)
  assert.match(started.body.os_password, /^[\w-]{24}$/)
  const again = await provision({ ...bodyFor(two), static_ip: '127.0.83.99' })
  assert.equal(codeOf(again), '400 NODE_JOB_RUNNING')
  const job = await jobOf(started.body.job_id)
  assert.equal(job.job_status, 'completed', job.status)
  assert.match(job.status, /answers at 127\.0\.83\.66/)
  assert.deepEqual(two.state.presses, ['short', 'short'])
  assert.equal(site.lab.logs().includes(started.body.os_password), false)
})

test('what an installer reports as its failure ends the job with that reason, and everything is rolled back', async () => {
  const { three } = site.kvms
  three.state.habits.outcome = 'wrong-disk'
  const failed = await provision(bodyFor(three), WAIT)
  assert.equal(codeOf(failed), '500 INSTALL_FAILED')
  assert.match(failed.body.detail, /disk-not-found: no disk KD/)
  assert.deepEqual([three.state.images.size, three.state.drive.connected], [0, false])
  const node = await site.lab.call('GET', `/configure/nodes/${three.host}`)
  assert.equal(node.body.provision_status, 'provision_failed')
  three.state.habits.outcome = 'ok'
  const again = await provision(bodyFor(three), WAIT)
  assert.equal(again.body.status, 'completed', again.text)
})

test('a machine whose buttons do nothing, and an image that reads back differently, fail with what to check', async () => {
  const { four } = site.kvms
  four.state.habits.bit_rot = true
  const rotten = await provision(bodyFor(four), WAIT)
  assert.equal(codeOf(rotten), '500 KVM_ERROR')
  assert.match(rotten.body.detail, /Replace the card/)
  assert.equal(four.state.images.size, 0)
  four.state.habits.bit_rot = false
  four.state.habits.cut_upload = true
  assert.equal(codeOf(await provision(bodyFor(four), WAIT)), '500 KVM_UNAVAILABLE')
  four.state.habits.cut_upload = false
})

test('a request is refused with every reason at once before the KVM is asked anything', async () => {
  const { four } = site.kvms
  const asked = site.asked(four).length
  const reply = await provision({
    ...bodyFor(four, {
      hostname: 'rack-1',
      os_username: 'root',
      pool_type: 'raidz1',
      timezone: 'Moon/Base',
      static_ip: '10.5.5.5',
    }),
    selected_disks: ['sda', 'S1'],
    selected_nic_mac: undefined,
    prefix_id: 1,
    boot_strategy: 'keys',
  })
  assert.equal(codeOf(reply), '400 INVALID_REQUEST')
  const reasons = Object.fromEntries(
    reply.body.errors.map(({ path, message }: { path: string; message: string }) => [path, message]),
  )
  assert.deepEqual(Object.keys(reasons).toSorted(), [
    'body.boot_keys', 'body.hostname', 'body.os_username', 'body.prefix_id', 'body.selected_disks', 'body.selected_nic_mac', 'body.static_gateway',
    'body.static_ip', 'body.timezone',
  ]) // biome-ignore format: a list
  assert.equal(codeOf(await provision(bodyFor(four, { control_node_ip: '192.0.2.1' }))), '400 INVALID_REQUEST')
  assert.equal(site.asked(four).length, asked)
  assert.equal(
    codeOf(await provision(bodyFor(four, { bmc_ip: '10.9.9.9', hostname: 'elsewhere' }))),
    '400 BMC_ADDRESS_NOT_ALLOWED',
  )
})

test('missing and wrong credentials of the KVM are 401, and no job begins', async () => {
  const { wrong } = site.kvms
  await putKvm(site, { ...wrong, password: 'planted-kvm-password-91c' })
  const at = { controlNodeIp: '127.0.0.1', kvmIP: wrong.host }
  assert.equal(codeOf(await provision(bodyFor(wrong))), '401 KVM_CREDENTIALS_REJECTED')
  assert.equal(codeOf(await reveal(at)), '401 KVM_CREDENTIALS_REJECTED')
  assert.equal(codeOf(await reveal({ ...at, kvmIP: '127.0.82.99' })), '401 KVM_CREDENTIALS_NOT_FOUND')
  assert.equal((await site.lab.call('GET', `/configure/nodes/${wrong.host}`)).status, 404)
})

test('a KVM that a person uses, or without storage, is refused; force takes the drive over', async () => {
  const { busy } = site.kvms
  busy.state.images.set('rescue.img', { bytes: Buffer.alloc(4096), complete: true })
  busy.state.drive = { image: 'rescue.img', connected: true, cdrom: false, rw: false }
  const at = { controlNodeIp: '127.0.0.1', kvmIP: busy.host }
  assert.equal(codeOf(await provision(bodyFor(busy))), '400 KVM_BUSY')
  assert.equal(codeOf(await reveal(at)), '400 KVM_BUSY')
  const forced = await reveal({ ...at, auto_boot: true, force: true }, WAIT)
  assert.equal(forced.body.status, 'completed', forced.text)
  assert.ok(busy.state.images.has('rescue.img'), 'images of others stay')
  busy.state.habits.msd_offline = true
  assert.equal(codeOf(await reveal(at)), '400 KVM_REJECTED')
  busy.faults.add({ kind: 'silent', match: '/msd' })
  assert.equal(codeOf(await reveal(at)), '500 KVM_TIMEOUT')
})

test('a report that comes while a step of its job writes waits for that, and neither fails', async () => {
  const { four } = site.kvms
  four.state.habits.outcome = 'hang'
  const { job_id } = (await provision(bodyFor(four))).body
  const [nic] = four.state.machine.nics
  const said = { token: await tokenOf(four), phase: 'live-booted', macs: [nic?.mac], boot_id: 'b' }
  await onDatabase(site.lab.database.connection, async (client) => {
    const found = async (query: string, values: unknown[] = []): Promise<boolean> =>
      (await client.query(query, values)).rowCount !== 0
    await until('the job waits without a process', () =>
      found('select 1 from job where id = $1 and executor is null and wake_at is not null', [job_id]),
    )
    await client.query('begin')
    await client.query('select from job where id = $1 for update', [job_id])
    const report = phoneHome(said)
    await until('the report waits', () =>
      found("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"),
    )
    await client.query('update phone_home set may_restart = may_restart where job_id = $1', [job_id])
    await client.query('commit')
    assert.equal((await report).body.next, 'continue')
  })
  await phoneHome({ ...said, phase: 'failed', code: 'pool-failed' })
  assert.equal((await jobOf(job_id)).job_status, 'failed')
})

test('a report counts with the token of a running job alone, from the right machine, and never moves back', async () => {
  const { four } = site.kvms
  four.state.habits.outcome = 'hang'
  const started = await provision(bodyFor(four))
  assert.equal(started.status, 200, started.text)
  const token = await tokenOf(four)
  const [nic] = four.state.machine.nics
  const said = { token, phase: 'live-booted', macs: [nic?.mac], boot_id: 'b' }
  assert.equal(codeOf(await phoneHome({ ...said, token: 'A'.repeat(43) })), '401 PHONE_HOME_REJECTED')
  assert.equal((await phoneHome({ ...said, macs: ['02:00:00:00:00:99'] })).body.next, 'stop')
  assert.equal((await phoneHome(said)).body.next, 'continue')
  const failed = { ...said, phase: 'failed', code: 'pool-failed', detail: 'x'.repeat(8000) }
  const keys = Array.from({ length: 8 }, () => 'k'.repeat(800))
  const addresses = Array.from({ length: 32 }, () => '2001:db8:1234:1234:1234:1234:1234:1234')
  const names = Array.from({ length: 64 }, (_one, index) => `02:00:00:00:01:${String(index + 10)}`)
  assert.equal(
    codeOf(await phoneHome({ ...failed, ssh_host_keys: keys, macs: names, addresses })),
    '400 BODY_TOO_LARGE',
  )
  assert.equal((await phoneHome(failed)).body.next, 'stop')
  const job = await jobOf(started.body.job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'INSTALL_FAILED'])
  assert.equal(codeOf(await phoneHome(said)), '401 PHONE_HOME_REJECTED', 'the job has ended')
  assert.equal(codeOf(await phoneHome({ ...said, phase: 'nonsense' })), '400 INVALID_REQUEST')
  const many = await Promise.all(Array.from({ length: 30 }, () => phoneHome({ ...said, token: 'B'.repeat(43) })))
  assert.ok(many.some((reply) => codeOf(reply) === '429 RATE_LIMITED'))
})

test('a machine with a BMC is started once from USB by it, and its node is named by the BMC', async () => {
  const { other } = site.kvms
  const redfish = await startRedfish({
    bmcs: [{ name: 'own', profile: 'generic-2023', host: '127.0.82.101' }],
    speed: FAST,
  })
  try {
    const { own } = redfish.bmcs
    assert.ok(own !== undefined)
    await putKvm(site, own)
    const at = {
      controlNodeIp: '127.0.0.1',
      kvmIP: other.host,
      auto_boot: true,
      boot_strategy: 'bmc',
      vendor_bmc_ip: own.host,
    }
    const started = await reveal(at)
    assert.equal(started.status, 200, started.text)
    const token = await tokenOf(other)
    await until('the BMC has switched the machine off and on', async () => {
      const resets = redfish.calls.list().filter(({ command }) => /POST .*Reset/.test(command)).length
      return (resets >= 2 && own.state.power === 'On') || undefined
    })
    assert.deepEqual([other.state.presses, own.state.last_reset_at !== ''], [[], true])
    const system = redfish.calls.list().filter(({ command }) => command.includes('PATCH'))
    assert.ok(system.length > 0, 'the boot device was set')
    const [nic] = other.state.machine.nics
    const none = {
      system: { manufacturer: null, product: null, serial: null, uuid: null },
      cpu: { model: null, sockets: 1, cores: 1, threads: 1 },
    }
    const report = { ...none, memory_bytes: 1, nics: [], disks: [], bmc_ip: own.host }
    const reported = await phoneHome({ token, phase: 'revealed', macs: [nic?.mac], boot_id: 'b', report })
    assert.equal(reported.body.next, 'stop', reported.text)
    const job = await jobOf(started.body.job_id)
    assert.deepEqual([job.job_status, job.node_ip], ['completed', own.host], job.status)
  } finally {
    await redfish.close()
  }
})

test('keys are pressed while the firmware starts, and a power LED that is not wired is not believed', async () => {
  const { other } = site.kvms
  other.state.habits.led_broken = true
  const at = { controlNodeIp: '127.0.0.1', kvmIP: other.host, auto_boot: true, power_led: false }
  const done = await reveal({ ...at, boot_strategy: 'keys', boot_keys: ['F11', 'ArrowDown', 'Enter'] }, WAIT)
  assert.equal(done.body.status, 'completed', done.text)
  assert.deepEqual(other.state.presses, ['long', 'short'])
  assert.deepEqual(other.state.keys.slice(-3), ['F11', 'ArrowDown', 'Enter'])
  const job = await jobOf(done.body.job_id)
  const states = job.steps.filter(({ name }: { name: string }) => name === 'power-off' || name === 'boot')
  assert.deepEqual(
    states.map(({ status }: { status: string }) => status),
    ['unverified', 'unverified'],
  )
})

test('without a template nothing begins, and the answer names the setting', async () => {
  const { installer } = site.lab.config
  const template = installer.template
  delete installer.template
  const at = { controlNodeIp: '127.0.0.1', kvmIP: site.kvms.one.host }
  assert.equal(codeOf(await provision(bodyFor(site.kvms.two))), '500 INSTALLER_NOT_CONFIGURED')
  assert.equal(codeOf(await reveal(at)), '500 INSTALLER_NOT_CONFIGURED')
  if (template !== undefined) installer.template = template
})

test('no password, token or credential is in logs, events, job rows, or what the tools are called with', async () => {
  const { planted } = site.kvms
  const done = await provision(bodyFor(planted), WAIT)
  assert.equal(done.body.status, 'completed', done.text)
  const token = (planted.state.machine.installed as { token: string }).token
  const stored = await onDatabase(site.lab.database.connection, async (client) => {
    const tables = [
      'job',
      'job_event',
      'job_step',
      'job_signal',
      'app_event',
      'stream_event',
      'phone_home',
      'node',
      'audit',
    ]
    const all = tables.map((table) => `select t::text as text from ${table} t`).join(' union all ')
    const { rows } = await client.query(all)
    return rows.map(({ text }: { text: string }) => text).join('\n')
  })
  const { body: job } = await site.lab.call('GET', `/jobs/${done.body.job_id}`)
  for (const secret of [PASSWORD, token, planted.password]) {
    assert.equal(site.lab.logs().includes(secret), false, 'log')
    assert.equal(stored.includes(secret), false, 'database')
    assert.equal(JSON.stringify(job).includes(secret), false, 'job')
  }
})
