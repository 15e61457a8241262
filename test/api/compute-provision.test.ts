// Provisioning over HTTP: capacity first, one machine for one request whatever breaks on the way, and tenants kept apart.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import { CrashForTest } from '#src/jobs/runner.ts'
import { assertNoUnknownParameters, control } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { NOBODY } from '../support/vm-api.ts'

let lab: Lab
let crash_at: string | undefined
let points_to_pass = 0
let crashes = 0

before(async () => {
  lab = await startLab({
    time: 'step',
    at: (point) => {
      if (point !== crash_at || points_to_pass-- > 0) return
      crash_at = undefined
      crashes += 1
      throw new CrashForTest(point)
    },
  })
})
after(() => lab.close())
beforeEach(() => {
  lab.platform.reset()
  crash_at = undefined
})

const ORDER = {
  zone_id: wellKnown.zone,
  template_id: wellKnown.templates['Debian 12'],
  service_offering_id: wellKnown.service_offerings.small,
  network_ids: [wellKnown.networks['office-shared']],
}

afterEach(() => assertNoUnknownParameters(lab))

interface EndedJob {
  job_status: string
  failure_code: string | null
  failure_reason: string
  resource_id: string | null
}

async function ended(id: string): Promise<EndedJob> {
  return until(`job ${id} ends`, async () => {
    lab.platform.step()
    const { body } = await lab.call('GET', `/jobs/${id}`)
    return body.job_status === 'running' ? undefined : body
  })
}

async function named(name: string): Promise<{ id: string; state: string }[]> {
  return (await lab.call('POST', '/compute/vms/list', { name })).body.virtual_machines
}

async function sent(command: string): Promise<number> {
  const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string }[]
  }
  return calls.filter((call) => call.command === command).length
}

test('a machine is made, and job, event and list agree on it', async () => {
  const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, name: 'fresh-01', display_name: 'Fresh' })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.status, 'IN_PROGRESS')
  const job = await ended(reply.body.job_id)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  const [vm, ...others] = await named('fresh-01')
  assert.deepEqual([vm?.id, vm?.state, others.length], [job.resource_id, 'Running', 0])
  const { body } = await lab.call('POST', '/events/app-events', { resource_uuid: vm?.id ?? '' })
  assert.equal(body.app_events[0].action, 'vmProvision')
  assert.equal(body.app_events[0].status, 'SUCCESS')
})

test('with Prefer: wait the machine is the answer', async () => {
  const asked = lab.call(
    'POST',
    '/compute/vms/provision',
    { ...ORDER, name: 'fresh-02' },
    { headers: { prefer: 'wait=60' } },
  )
  const timer = setInterval(() => lab.platform.step(), 50)
  const reply = await asked.finally(() => clearInterval(timer))
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.name, reply.body.state], ['fresh-02', 'Running'])
  assert.ok('initial_password' in reply.body)
})

for (const [why, change, path] of [
  ['no source', { template_id: undefined }, 'body.template_id'],
  ['two sources', { volume_id: 'x' }, 'body.template_id'],
  ['networks twice', { networks: [{ network_id: 'n' }] }, 'body.networks'],
  ['UEFI without a mode', { boot_type: 'UEFI' }, 'body.boot_mode'],
  ['an account without its domain', { account: 'acme' }, 'body.account'],
] as const) {
  test(`${why} is 400 and nothing is sent`, async () => {
    const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, ...change })
    assert.deepEqual([reply.status, reply.body.errors?.[0]?.path], [400, path], reply.text)
    assert.equal(await sent('deployVirtualMachine'), 0)
  })
}

test('a size that does not fit its offering is refused with the field, the value, the name of the offering and its range', async () => {
  const { custom, small } = wellKnown.service_offerings
  const { 'custom-ssd': open, 'ssd-20': fixed } = wellKnown.disk_offerings
  for (const [change, path, message] of [
    [
      { service_offering_id: custom, cpu_cores: 2 },
      'body.memory_mb',
      /^is needed: service offering custom leaves the size open$/,
    ],
    [
      { service_offering_id: custom, cpu_cores: 64, memory_mb: 512 },
      'body.cpu_cores',
      /^64 is outside of 1 to 32, the range of service offering custom$/,
    ],
    [{ service_offering_id: custom, cpu_cores: 1, memory_mb: 64 }, 'body.memory_mb', /^64 is outside of 512 to 131072/],
    [
      { service_offering_id: custom, cpu_cores: 1, memory_mb: 512, cpu_speed_mhz: 3000 },
      'body.cpu_speed_mhz',
      /^cannot be 3000: service offering custom fixes it; leave it out$/,
    ],
    [
      { service_offering_id: small, cpu_cores: 2 },
      'body.cpu_cores',
      /^cannot be 2: service offering small fixes it; leave it out$/,
    ],
    [{ disk_offering_id: open }, 'body.disk_size_gb', /^is needed: disk offering custom-ssd leaves the size open$/],
    [
      { disk_offering_id: fixed, disk_size_gb: 7 },
      'body.disk_size_gb',
      /^cannot be 7: disk offering ssd-20 is of 20 GiB; leave it out$/,
    ],
    [
      { data_disks: [{ disk_offering_id: fixed }, { disk_offering_id: open }] },
      'body.data_disks.1.size_gb',
      /^is needed: disk offering custom-ssd/,
    ],
  ] as const) {
    const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, ...change })
    assert.deepEqual([reply.status, reply.body.errors?.[0]?.path], [400, path], reply.text)
    assert.match(reply.body.errors[0].message, message)
  }
  const huge = await lab.call('POST', '/compute/vms/provision', {
    ...ORDER,
    disk_offering_id: open,
    disk_size_gb: 2000,
  })
  assert.deepEqual(
    [huge.status, huge.body.detail],
    [400, '`disk_size_gb`, or `size_gb` of `data_disks`, must be between 1 and 1024, not 2000.'],
    huge.text,
  )
})

/** Less memory than the machines that are there take. */
function fillHosts(): void {
  const { hosts } = lab.platform.state.tables
  for (const host of hosts.values()) hosts.put({ ...host, memory_bytes: 2 ** 30 })
}

const LARGE = { service_offering_id: wellKnown.service_offerings.custom, cpu_cores: 32, memory_mb: 131_072 }

test('a zone without room is 409 and nothing is made', async () => {
  fillHosts()
  const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, ...LARGE, name: 'too-big' })
  assert.deepEqual([reply.status, reply.body.code], [409, 'CAPACITY_EXCEEDED'], reply.text)
  assert.match(
    reply.body.detail,
    /needs 32000 MHz of CPU and 131072 MiB of memory, and no cluster .*: cluster-a has \d+ MHz of CPU and \d+ MiB of memory; cluster-b has /,
  )
  assert.equal(await sent('deployVirtualMachine'), 0)
})

test('a tenant-scoped caller is not told how much room the clusters and the storage have', async () => {
  const token = await tenantToken(wellKnown.domains.acme)
  for (const size of [{ ...LARGE, memory_mb: 512, root_disk_size_gb: 900_000 }, LARGE]) {
    if (size === LARGE) fillHosts()
    const order = { ...ORDER, ...size }
    const reply = await lab.call('POST', '/compute/vms/provision', order, { token })
    assert.deepEqual([reply.status, reply.body.code], [409, 'CAPACITY_EXCEEDED'], reply.text)
    assert.doesNotMatch(reply.text, /cluster-|has \d/)
  }
})

test('a machine belongs to the owner of the network that it is put into, when nobody else is named', async () => {
  const order = { ...ORDER, network_ids: [wellKnown.networks['acme-net'], wellKnown.networks['office-shared']] }
  const reply = await lab.call('POST', '/compute/vms/provision', { ...order, name: 'owned' })
  assert.equal(reply.status, 200, reply.text)
  assert.equal((await ended(reply.body.job_id)).job_status, 'completed')
  const { body } = await lab.call('POST', '/compute/vms/byName', { name: 'owned' })
  assert.deepEqual([body.tenant_id, body.account], [wellKnown.domains.acme, 'acme'])
})

test('a network of another owner than the request or another network names is refused by its name and tenant', async () => {
  const acme_net = wellKnown.networks['acme-net']
  const { networks } = lab.platform.state.tables
  const network = networks.get(acme_net)
  assert.ok(network !== null)
  const of_globex = { ...network, id: seededId('network', 'globex-net'), name: 'globex-net' }
  networks.put({ ...of_globex, accountid: wellKnown.accounts.globex })
  for (const [change, message] of [
    [
      { network_ids: [acme_net], domain_id: wellKnown.domains.globex },
      'Network acme-net belongs to tenant acme: create the machine with `domain_id` and `account` of that owner, or leave them out.',
    ],
    [
      { network_ids: [acme_net], project_id: wellKnown.project },
      'Network acme-net belongs to tenant acme: create the machine with `domain_id` and `account` of that owner, or leave them out.',
    ],
    [
      { network_ids: [acme_net, of_globex.id] },
      'Network acme-net belongs to tenant acme, Network globex-net belongs to tenant globex, and a virtual machine has one owner: choose networks of one owner.',
    ],
  ] as const) {
    const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, ...change })
    assert.deepEqual([reply.status, reply.body.code, reply.body.detail], [400, 'COMPUTE_REJECTED', message], reply.text)
  }
  assert.equal(await sent('deployVirtualMachine'), 0)
})

test('a template that is not ready, not in the zone or not there is refused by its name, and how far it is', async () => {
  const downloading = wellKnown.templates['Alpine 3.20 (downloading)']
  for (const [change, message] of [
    [
      { template_id: downloading },
      /^Template Alpine 3\.20 \(downloading\) is not ready in zone \S+: 42% Downloaded\. /,
    ],
    [{ zone_id: NOBODY }, new RegExp(`^Template Debian 12 is not in zone ${NOBODY}, but in \\S+; copy it there`)],
    [{ template_id: NOBODY }, new RegExp(`^Template ${NOBODY} not found\\.$`)],
    [{ service_offering_id: NOBODY }, new RegExp(`^Service offering ${NOBODY} not found\\.$`)],
    [{ network_ids: [NOBODY] }, new RegExp(`^Network ${NOBODY} not found\\.$`)],
  ] as const) {
    const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, ...change })
    assert.equal(reply.status, 400, reply.text)
    assert.match(reply.body.detail, message)
  }
  assert.equal(await sent('deployVirtualMachine'), 0)
})

for (const [code, text, at, expected] of [
  [535, 'Maximum amount of resources of Type = user_vm is exceeded', 'submit', 'QUOTA_EXCEEDED'],
  [533, 'Unable to create a deployment for VM', 'submit', 'CAPACITY_EXCEEDED'],
] as const) {
  test(`a ${code} of the platform at once is 409 ${expected}`, async () => {
    await control(lab, 'fail', { command: 'deployVirtualMachine', code, text, at, times: 1 })
    const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, name: 'refused' })
    assert.deepEqual([reply.status, reply.body.code], [409, expected], reply.text)
  })
}

test('capacity that goes between check and start fails the job with the same code', async () => {
  await control(lab, 'fail', {
    command: 'deployVirtualMachine',
    code: 533,
    text: 'Unable to create a deployment for VM',
    at: 'job',
    times: 1,
  })
  const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, name: 'raced' })
  const job = await ended(reply.body.job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'CAPACITY_EXCEEDED'])
})

test('where no host takes a machine, those who run the platform read what each has free and what rules it out', async () => {
  const { hosts, serviceofferings } = lab.platform.state.tables
  const small = serviceofferings.get(wellKnown.service_offerings.small)
  const known = wellKnown.hosts
  const [first, second, third] = [known['kvm-01'], known['kvm-02'], known['kvm-03']].map((id) => hosts.get(id))
  assert.ok(small !== null && first && second && third)
  serviceofferings.put({ ...small, id: seededId('offering', 'fast'), name: 'fast', hosttags: 'fast' })
  for (const host of hosts.values()) hosts.put({ ...host, resourcestate: 'Disabled' })
  hosts.put({ ...first, resourcestate: 'Maintenance', hosttags: 'fast' })
  hosts.put({ ...second, state: 'Down', resourcestate: 'Enabled', hosttags: 'gpu' })
  hosts.put({ ...third, resourcestate: 'Enabled', hosttags: '', memory_bytes: 2 ** 20, cpunumber: 1, cpuspeed: 500 })
  const order = { ...ORDER, name: 'homeless', service_offering_id: seededId('offering', 'fast') }
  const reply = await lab.call('POST', '/compute/vms/provision', { ...order, domain_id: wellKnown.domains.acme })
  assert.equal(reply.status, 200, reply.text)
  const job = await ended(reply.body.job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'CAPACITY_EXCEEDED'])
  assert.match(job.failure_reason, /needs \d+ MHz of CPU and \d+ MiB of memory/)
  const { upstream_message } = (await lab.call('GET', `/jobs/${reply.body.job_id}`)).body
  assert.match(upstream_message, /^No destination found for [^.]+\. Hosts: /)
  assert.match(upstream_message, /kvm-01 \(\d+ MHz, \d+ MiB free\): is in Maintenance[;,]/)
  assert.match(upstream_message, /kvm-02 \(\d+ MHz, \d+ MiB free\): is Down, .*has no tag fast[;.]/)
  assert.match(
    upstream_message,
    /kvm-03 \([^)]*\): .*too little CPU \(needs \d+ MHz\), too little memory \(needs \d+ MiB\), has no tag fast/,
  )
  const token = await tenantToken(wellKnown.domains.acme)
  const theirs = await lab.call('GET', `/jobs/${reply.body.job_id}`, undefined, { token })
  assert.deepEqual([theirs.status, theirs.body.failure_code], [200, 'CAPACITY_EXCEEDED'], theirs.text)
  assert.doesNotMatch(theirs.text, /kvm-0|free\)/)
})

test('a start for which no host is left is explained in the same way, anti-affinity and UEFI included', async () => {
  const { hosts, vms, affinitygroups } = lab.platform.state.tables
  const [group] = affinitygroups.filter((one) => one.type === 'host anti-affinity')
  assert.ok(group !== undefined)
  const members = vms.filter((vm) => vm.accountid === group.accountid && vm.state === 'Running' && vm.hostid !== null)
  const [other] = members
  const [vm] = vms.filter((one) => one.accountid === group.accountid && one.state === 'Stopped')
  assert.ok(other !== undefined && vm !== undefined)
  vms.put({ ...other, affinitygroupids: [group.id] })
  vms.put({
    ...vm,
    affinitygroupids: [group.id],
    boottype: 'UEFI',
    bootmode: 'LEGACY',
    details: { ...vm.details, UEFI: 'LEGACY' },
  })
  for (const host of hosts.values())
    hosts.put({
      ...host,
      ...(host.id === other.hostid ? {} : { resourcestate: 'Maintenance' }),
      ueficapability: host.id === other.hostid,
    })
  const reply = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: vm.id })
  const job_id = reply.headers.get('x-correlation-id') ?? ''
  const job = await ended(job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'CAPACITY_EXCEEDED'], reply.text)
  const { upstream_message } = (await lab.call('GET', `/jobs/${job_id}`)).body
  assert.match(
    upstream_message,
    new RegExp(`Hosts: kvm-0\\d \\([^)]*\\): ${other.name} of affinity group ${group.name} runs there[;.]`),
  )
  assert.match(upstream_message, /is in Maintenance, cannot start machines with UEFI/)
})

test('GPUs that are taken are counted host by host, and not for a tenant', async () => {
  const { gpudevices } = lab.platform.state.tables
  for (const device of gpudevices.values()) gpudevices.put({ ...device, state: 'Allocated', virtualmachineid: NOBODY })
  const order = { ...ORDER, service_offering_id: wellKnown.service_offerings['gpu-a2'] }
  const reply = await lab.call('POST', '/compute/vms/provision', order)
  assert.deepEqual([reply.status, reply.body.code], [409, 'CAPACITY_EXCEEDED'], reply.text)
  assert.match(reply.body.detail, /Hosts: .*kvm-01 \(\d+ MHz, \d+ MiB, 0 GPUs free\): too few GPUs \(needs 1\)/)
  const token = await tenantToken(wellKnown.domains.acme)
  const theirs = await lab.call('POST', '/compute/vms/provision', order, { token })
  assert.deepEqual([theirs.status, theirs.body.code], [409, 'CAPACITY_EXCEEDED'], theirs.text)
  assert.doesNotMatch(theirs.text, /kvm-0|Hosts/)
})

test('a template that cannot be used is 400 in our words', async () => {
  const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, template_id: wellKnown.vms.wiki })
  assert.deepEqual([reply.status, reply.body.code], [400, 'RESOURCE_NOT_FOUND'], reply.text)
})

test('a lost answer makes no second machine', async () => {
  await control(lab, 'lose-answer', { command: 'deployVirtualMachine', times: 1 })
  const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, name: 'lost-01' })
  assert.equal(reply.status, 200, reply.text)
  assert.equal((await ended(reply.body.job_id)).job_status, 'completed')
  assert.equal((await named('lost-01')).length, 1)
  assert.equal(await sent('deployVirtualMachine'), 1)
})

for (const [point, passed] of [
  ['submit:saved', 0],
  ['submit:saved', 1],
  ['submit:acted', 0],
  ['submit:ended', 0],
  ['follow:started', 0],
] as const) {
  test(`a process that dies at ${point} (after ${passed} of them) makes no second machine, and the next one finishes it`, async () => {
    const before_crash = crashes
    crash_at = point
    points_to_pass = passed
    const name = `crash-${point.replace(':', '-')}-${passed}`
    const reply = await lab.call(
      'POST',
      '/compute/vms/provision',
      { ...ORDER, name },
      { headers: { prefer: 'wait=1' } },
    )
    await until('the process has died', () => crashes > before_crash)
    await lab.restart()
    const id = reply.headers.get('x-correlation-id') ?? ''
    assert.equal((await ended(id)).job_status, 'completed')
    assert.equal((await named(name)).length, 1)
    assert.equal(await sent('deployVirtualMachine'), 1)
  })
}

async function tenantToken(tenant_id: string): Promise<string> {
  const { body, status, text } = await lab.call('POST', '/auth/tokens', {
    name: `t-${tenant_id}`,
    role: 'operator',
    tenant_id,
  })
  assert.ok(status < 300, text)
  return body.token ?? body.secret
}

test('a tenant-scoped caller sees, touches and makes machines of its own tenant alone', async () => {
  const token = await tenantToken(wellKnown.domains.acme)
  const mine = await lab.call('POST', '/compute/vms/list', { page_size: 500 }, { token })
  assert.equal(mine.status, 200, mine.text)
  assert.ok(mine.body.count > 0 && mine.body.count < 40)
  assert.ok(mine.body.virtual_machines.every((vm: { tenant_id: string }) => vm.tenant_id === wellKnown.domains.acme))
  const all = await lab.call('POST', '/compute/vms/list', { page_size: 500 })
  const of_others = all.body.virtual_machines.find(
    (vm: { tenant_id: string; state: string }) => vm.tenant_id !== wellKnown.domains.acme,
  )
  for (const path of ['byID', 'start', 'stop', 'reboot', 'update', 'destroy', 'expunge', 'usage-history-byID']) {
    const reply = await lab.call('POST', `/compute/vms/${path}`, { virtual_machine_id: of_others.id }, { token })
    assert.deepEqual([reply.status, reply.body.code], [400, 'VM_NOT_FOUND'], `${path}: ${reply.text}`)
  }
  const byName = await lab.call('POST', '/compute/vms/byName', { name: of_others.name }, { token })
  assert.equal(byName.body.code, 'VM_NOT_FOUND')
  const elsewhere = await lab.call('POST', '/compute/vms/list', { domain_id: wellKnown.domains.globex }, { token })
  assert.deepEqual([elsewhere.status, elsewhere.body.code], [403, 'TENANT_SCOPE'])
  const made = await lab.call('POST', '/compute/vms/provision', { ...ORDER, name: 'acme-new' }, { token })
  assert.equal(made.status, 200, made.text)
  assert.equal((await ended(made.body.job_id)).job_status, 'completed')
  const { body } = await lab.call('POST', '/compute/vms/byName', { name: 'acme-new' })
  assert.equal(body.tenant_id, wellKnown.domains.acme)
  const placed = await lab.call(
    'POST',
    '/compute/vms/provision',
    { ...ORDER, host_id: wellKnown.hosts['kvm-01'] },
    { token },
  )
  assert.equal(placed.status, 403, placed.text)
})

test('raw hypervisor settings and things of other tenants are refused before anything is sent', async () => {
  const token = await tenantToken(wellKnown.domains.globex)
  for (const fields of [{ details: { 'guest.cpu.mode': 'host-passthrough' } }, { extra_config: '<cpu/>' }]) {
    const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, ...fields }, { token })
    assert.deepEqual([reply.status, reply.body.code], [403, 'FORBIDDEN'], reply.text)
  }
  const { template_id: _, ...order } = ORDER
  const acme = await lab.call('POST', '/compute/vms/list', { domain_id: wellKnown.domains.acme, page_size: 1 })
  const [volume] = lab.platform.state.tables.volumes.filter(
    (one) => one.virtualmachineid === acme.body.virtual_machines[0].id,
  )
  assert.ok(volume !== undefined, 'the tenant has a volume')
  const reply = await lab.call('POST', '/compute/vms/provision', { ...order, volume_id: volume.id }, { token })
  assert.deepEqual([reply.status, reply.body.code], [400, 'RESOURCE_NOT_FOUND'], reply.text)
  assert.equal(await sent('deployVirtualMachine'), 0)
})
