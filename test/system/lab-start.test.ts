// The lab as a stranger starts it: ready by one command, the commands it prints work as printed, Ctrl-C and SIGKILL leave
// nothing behind, and the next start knows everything that was acknowledged.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { areas } from '#src/contract/index.ts'
import { type Child, createChildren } from '../support/children.ts'
import { type Caller, callerFor } from '../support/http.ts'
import { processesOf } from '../support/processes.ts'
import { until } from '../support/until.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/lab.ts')
const COMMAND_TIMEOUT_MS = 120_000

const children = createChildren()
let folder = ''
let state_dir = ''
before(() => {
  folder = tempFolder('gp-lab-start-')
  // The account of the database must be able to pass.
  chmodSync(folder, 0o755)
  // As on a machine that never ran it: no folder above is there yet.
  state_dir = join(folder, 'not', 'yet', 'there')
})
after(async () => {
  await children.close()
  await until('the database has followed', () => processesOf(state_dir).length === 0)
})

interface StartedLab {
  child: Child
  url: string
  token: string
  commands: string[]
  /** As the lab itself says. */
  seconds: string
  call: Caller
}

/** In a process group of its own, as a terminal does it: Ctrl-C reaches every program of the group. */
async function startLab(environment: Record<string, string> = {}): Promise<StartedLab> {
  const child = children.start(process.execPath, [PROGRAM, '--port', '0', '--state', state_dir, '--no-cameras'], {
    cwd: folder,
    detached: true,
    env: { ...process.env, ...environment },
  })
  const text = await until(
    'the lab says that it is ready',
    () => {
      if (child.ended()) throw new Error(`the lab ended: ${child.errors()}${child.output()}`)
      return child.output().includes('Ctrl-C') && child.output()
    },
    120_000,
  )
  const said = (label: string): string => new RegExp(`^ +${label} +(\\S+)$`, 'm').exec(text)?.[1] ?? ''
  const [url, token] = [said('API'), said('Admin token')]
  const commands = (/^Try:\n((?: {2}.+\n)+)/m.exec(text)?.[1] ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return {
    child,
    url,
    token,
    commands,
    seconds: /ready \(([\d.]+) s\)/.exec(text)?.[1] ?? '',
    call: callerFor(url, token),
  }
}

const DISK_NAME = 'ordered-before-the-kill'

/** Acknowledged and not waited for: the making of most is still to come. */
async function orderDisks(call: Caller): Promise<typeof ordered> {
  const { body } = await call('POST', '/compute/vms/list', { state: 'Running', page_size: 50 })
  const vms: { id: string }[] = body.virtual_machines
  const orders: typeof ordered = []
  for (const { id: vm_id } of vms) {
    const disk = { virtual_machine_id: vm_id, name: DISK_NAME, disk_offering_id: wellKnown.disk_offerings['ssd-20'] }
    const reply = await call('POST', '/compute/vms/create-and-attach-disk', disk)
    // A machine with snapshots takes no disk.
    if (reply.status !== 200) continue
    orders.push({ job_id: reply.body.job_id, volume_id: reply.body.resource_id, vm_id })
    if (orders.length === DISKS) break
  }
  return orders
}

let first: StartedLab | undefined
let second: StartedLab | undefined
let first_line = ''
const firstLogLine = (): string => readFileSync(join(state_dir, 'control/control.log'), 'utf8').split('\n')[0] ?? ''
const DISKS = 4
let ordered: { job_id: string; volume_id: string; vm_id: string }[] = []
let acknowledged: { correlation_id: string; token: string; vm_id: string } | undefined

test('one command starts it, and each of the three commands that it prints works as printed, from any folder', {
  timeout: 400_000,
}, async (t) => {
  first = await startLab()
  t.diagnostic(`first start: ${first.seconds} s`)
  assert.match(first.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal(first.commands.length, 3)
  const outputs = first.commands.map((command) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
      cwd: '/',
      encoding: 'utf8',
      timeout: COMMAND_TIMEOUT_MS,
    })
    assert.equal(status, 0, `${command}\n${stdout}${stderr}`)
    return stdout
  })
  const aggregate = JSON.parse(outputs[0] ?? '') as Record<string, unknown>
  assert.ok(
    Object.values(aggregate).some((value) => typeof value === 'number' && value > 0),
    outputs[0],
  )
  assert.match(outputs[1] ?? '', /web-01/)
  assert.match(outputs[1] ?? '', /runner-02/)
  const started = /vm start --wait (\S+)/.exec(first.commands[2] ?? '')?.[1]
  const { body } = await first.call('POST', '/compute/vms/byName', { name: started })
  assert.equal(body.state, 'Running', outputs[2])
})

test('its name server answers what the API just made, and a client gets a lease that the API shows', async () => {
  assert.ok(first !== undefined)
  const { call, child } = first
  const [, port = ''] = /dig @127\.0\.0\.1 -p (\d+)/.exec(child.output()) ?? []
  const resolver = new Resolver({ timeout: 10_000, tries: 3 })
  resolver.setServers([`127.0.0.1:${port}`])
  const record = { zone: 'lab.example', name: 'made-now', type: 'A', value: '10.20.0.78' }
  assert.equal((await call('POST', '/ddi/dns/records', record)).status, 201)
  assert.deepEqual(await resolver.resolve4('made-now.lab.example'), ['10.20.0.78'])
  const [, command = ''] = /^ +DHCP client +(curl .+)$/m.exec(child.output()) ?? []
  const { stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8', timeout: COMMAND_TIMEOUT_MS })
  const { answer } = JSON.parse(stdout) as { answer: { type: string; ip: string } }
  assert.equal(answer.type, 'ACK', stdout)
  const leases = await call('GET', '/ddi/dhcp/leases/52:54:00:30:00:aa')
  assert.equal(leases.status, 200, leases.text)
  assert.ok(leases.text.includes(answer.ip), leases.text)
})

test('killed with SIGKILL it leaves no program of its state folder running', { timeout: 400_000 }, async () => {
  assert.ok(first !== undefined)
  const { call, child } = first
  const made = await call('POST', '/auth/tokens', { name: 'acknowledged', role: 'operator' })
  assert.equal(made.status, 201, made.text)
  const vm = await call('POST', '/compute/vms/byName', { name: 'runner-02' })
  const stopped = await call(
    'POST',
    '/compute/vms/stop',
    { virtual_machine_id: vm.body.id },
    { headers: { prefer: 'wait=60' } },
  )
  assert.equal(stopped.status, 200, stopped.text)
  acknowledged = {
    token: made.body.token,
    correlation_id: stopped.headers.get('x-correlation-id') ?? '',
    vm_id: vm.body.id,
  }
  assert.ok(
    processesOf(state_dir).some(({ command }) => command.includes('postgres')),
    'the search finds the database',
  )
  ordered = await orderDisks(call)
  assert.equal(await child.end('SIGKILL'), 'SIGKILL')
  await until('every program has followed', () => processesOf(state_dir).length === 0)
})

test('the next start is clean and has the acknowledged event, token and machine', { timeout: 400_000 }, async (t) => {
  assert.ok(acknowledged !== undefined && first !== undefined)
  first_line = firstLogLine()
  assert.ok(first_line.startsWith('{'))
  second = await startLab({ GROUNDPLANE_RATE_LIMIT_LOGIN_PER_MINUTE: '2' })
  t.diagnostic(`second start: ${second.seconds} s`)
  assert.equal(second.child.errors(), '')
  assert.equal(second.token, first.token)
  const { token, correlation_id, vm_id } = acknowledged
  assert.equal((await second.call('GET', '/version', undefined, { token })).status, 200)
  const events = await second.call('POST', '/events/app-events', { resource_uuid: vm_id })
  const event = events.body.app_events.find((one: { correlation_id: string }) => one.correlation_id === correlation_id)
  assert.partialDeepStrictEqual(event, { action: 'vmStop', status: 'SUCCESS' })
  const vm = await second.call('POST', '/compute/vms/byID', { virtual_machine_id: vm_id })
  assert.equal(vm.body.state, 'Stopped')
})

test('disks whose making was acknowledged before everything was killed are made and attached once', {
  timeout: 400_000,
}, async () => {
  assert.ok(second !== undefined)
  const { call } = second
  assert.equal(ordered.length, DISKS)
  for (const { job_id, volume_id, vm_id } of ordered) {
    const job = await until(
      `job ${job_id} ends`,
      async () => {
        const { body } = await call('GET', `/jobs/${job_id}`)
        return body.job_status !== 'running' && body
      },
      120_000,
    )
    assert.equal(job.job_status, 'completed', job.failure_reason)
    const { body } = await call('POST', '/compute/volumes/list', { virtual_machine_id: vm_id, keyword: DISK_NAME })
    const made = body.volumes.map((one: Record<string, string>) => [one.id, one.virtual_machine_id])
    assert.deepEqual(made, [[volume_id, vm_id]])
  }
})

test('the log of the first start is still there, and registering known nodes again is no failed event', async () => {
  assert.ok(second !== undefined)
  const { call } = second
  assert.equal(firstLogLine(), first_line)
  const { body } = await call('POST', '/events/app-events', { action: 'nodeRegister' })
  // Three nodes with an agent, six that are nothing but a BMC, and two behind remote KVMs.
  assert.deepEqual(
    body.app_events.map((event: { status: string }) => event.status),
    Array.from({ length: 11 }, () => 'SUCCESS'),
  )
})

test('settings of the environment count in the lab, too', async () => {
  assert.ok(second !== undefined)
  const { call } = second
  const signIn = () => call('POST', '/auth/login', { username: 'nobody', password: 'wrong-password' }, { token: '' })
  const replies = [await signIn(), await signIn(), await signIn()]
  assert.deepEqual(
    replies.map(({ status }) => status),
    [401, 401, 429],
  )
})

test('a node route without a target acts on no machine and names the nodes of the lab', async () => {
  assert.ok(second !== undefined)
  const { call } = second
  await until(
    'the nodes are online',
    async () => (await call('GET', '/configure/nodes?status=online')).body.count === 3,
    120_000,
  )
  // What the control plane alone may ask of an agent is no route for people.
  const local = areas
    .flatMap((area) => Object.entries(area.routes))
    .filter(([, { runs_on, access, kind }]) => runs_on === 'node' && access !== 'cluster' && kind !== 'sse')
  assert.ok(local.length > 10)
  for (const [operation, { method, path, example, body }] of local) {
    const { params = {}, query = {} } = example
    const url = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(Object(params)[name])))
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) search.set(name, String(value))
    const reply = await call(method, `${url}?${search.toString()}`, body && (example.body ?? {}))
    assert.equal(reply.body?.code, 'AGENT_NOT_CONFIGURED', `${operation}: ${reply.status} ${reply.text}`)
    assert.match(reply.body.detail, /X-Target-Node.*kvm-01\.example\.internal, kvm-02\.example\.internal/, operation)
  }
})

test('Ctrl-C stops everything in order', { timeout: 400_000 }, async () => {
  assert.ok(second !== undefined)
  const { child } = second
  process.kill(-child.pid, 'SIGINT')
  await until('the lab has ended', () => child.ended())
  assert.equal(child.process.exitCode, 0, child.errors())
  assert.deepEqual(processesOf(state_dir), [])
})
