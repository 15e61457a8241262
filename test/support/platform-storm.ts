// A storm on the line to the platform: a dozen kinds of change are ordered while answers are lost, cut, late, or come for calls
// that arrive late, and afterwards the books must balance: each order once or not at all, each with one end.
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import type { Caller, Reply } from './http.ts'
import type { PlatformProxy } from './platform-proxy.ts'
import { randomOf } from './seeded-random.ts'
import { fateOf } from './storm-fates.ts'
import { until } from './until.ts'

export interface StormOptions {
  platform: CloudStackLab
  proxy: PlatformProxy
  /** Of a control plane that lives; one that is killed is another one afterwards. */
  caller: () => Caller
  seed: number
  rounds: number
  /** When all orders have ended, and before the books are looked at. */
  before_balance?: () => Promise<void>
}

interface Ended {
  kind: string
  id: string
  succeeded: boolean
  resource_id: string | null
  reason: string
}

interface Order {
  kind: string
  method?: string
  path: string
  body?: object
}

/** What an order makes, by its own id, and the table of the platform that it stands in. */
const MAKES: Readonly<Record<string, 'vms' | 'volumes' | 'vmsnapshots' | 'addresses' | 'rules' | 'domains'>> = {
  vmProvision: 'vms',
  vmDiskCreate: 'volumes',
  vmSnapshotCreate: 'vmsnapshots',
  publicIpAcquire: 'addresses',
  portForwardingCreate: 'rules',
  tenantCreate: 'domains',
}

/** Orders everything, and checks what came of it. Answers how many orders there were and how many succeeded. */
export async function storm(options: StormOptions): Promise<{ orders: number; succeeded: number }> {
  const { platform, proxy, seed, rounds } = options
  const random = randomOf(seed)
  giveAddress(platform)
  const before = contents(platform)
  proxy.behave((command) => fateOf(command, random))
  const ticking = setInterval(() => platform.step(), 40)
  try {
    const ended: Ended[] = []
    for (let round = 0; round < rounds; round += 1)
      ended.push(...(await Promise.all(roundOf(options, `${seed}-${round}`, round).map((line) => line()))).flat())
    proxy.behave(() => 'pass')
    await options.before_balance?.()
    await balance(options, before, ended)
    return { orders: ended.length, succeeded: ended.filter(({ succeeded }) => succeeded).length }
  } finally {
    proxy.behave(() => 'pass')
    clearInterval(ticking)
  }
}

/** Lines of orders that go side by side; the orders of one line follow each other. */
function roundOf(options: StormOptions, tag: string, round: number): (() => Promise<Ended[]>)[] {
  const { platform } = options
  const free = freeMachines(platform)
  const [disk_vm, snapshot_vm, power_vm, nic_vm] = free.map(({ id }) => id)
  const nat_vm = machineOfAcme(platform)
  const zone_id = wellKnown.zone
  const network_id = wellKnown.networks['acme-net']
  const send = (order: Order) => endOf(options, order)
  const one = (order: Order) => async () => [await send(order)]
  return [
    one({ kind: 'vmProvision', path: '/compute/vms/provision', body: { ...MACHINE, name: `storm-${tag}` } }),
    one({
      kind: 'vmDiskCreate',
      path: '/compute/vms/create-and-attach-disk',
      body: { virtual_machine_id: disk_vm, name: `disk-${tag}`, disk_offering_id: wellKnown.disk_offerings['ssd-20'] },
    }),
    one({
      kind: 'vmSnapshotCreate',
      path: '/compute/vms/snapshots/create',
      body: { virtual_machine_id: snapshot_vm, name: `snap-${tag}` },
    }),
    one({
      kind: 'nicAdd',
      path: '/compute/vms/nic/add',
      body: { virtual_machine_id: nic_vm, network_id: wellKnown.networks['storage-l2'] },
    }),
    async () => [
      await send({ kind: 'vmStop', path: '/compute/vms/stop', body: { virtual_machine_id: power_vm } }),
      await send({ kind: 'vmStart', path: '/compute/vms/start', body: { virtual_machine_id: power_vm } }),
    ],
    async () => {
      const acquired = await send({ kind: 'publicIpAcquire', path: '/ddi/public-ips', body: { zone_id, network_id } })
      if (acquired.resource_id === null || !acquired.succeeded) return [acquired]
      const path = `/ddi/public-ips/${acquired.resource_id}`
      const nat = await send({ kind: 'publicIpAssociate', path: `${path}/associate`, body: { vm_id: nat_vm } })
      return [acquired, nat]
    },
    one({
      kind: 'portForwardingCreate',
      path: '/network/port-forwarding',
      body: {
        protocol: 'tcp',
        public_ip_id: FORWARDED,
        virtual_machine_id: nat_vm,
        public_port: FIRST_PORT + (options.seed % 1000) * 10 + round,
        private_port: FIRST_PORT + (options.seed % 1000) * 10 + round,
      },
    }),
    async () => {
      const made = await send({ kind: 'tenantCreate', path: '/admin/tenants', body: { name: `storm-${tag}` } })
      if (!made.succeeded || made.resource_id === null) return [made]
      const path = `/admin/tenants/${made.resource_id}/status`
      return [made, await send({ kind: 'tenantStatusSet', method: 'PUT', path, body: { is_active: false } })]
    },
    one({ kind: 'guestNetworkRestart', path: `/network/guest-networks/${network_id}/restart`, body: {} }),
  ]
}

const MACHINE = {
  zone_id: wellKnown.zone,
  template_id: wellKnown.templates['Debian 12'],
  service_offering_id: wellKnown.service_offerings.small,
  network_ids: [wellKnown.networks['office-shared']],
}

const FIRST_PORT = 20_000
const FORWARDED = seededId('address', '203.0.113.60')

/** The one that ports are forwarded from. */
function giveAddress({ state }: CloudStackLab): void {
  const { addresses } = state.tables
  const address = addresses.get(FORWARDED)
  assert.ok(address !== null)
  const associatednetworkid = wellKnown.networks['acme-net']
  addresses.put({ ...address, state: 'Allocated', accountid: wellKnown.accounts.acme, associatednetworkid })
}

/** Running machines that nothing stands in the way of: no snapshots, no second NIC. */
function freeMachines({ state }: CloudStackLab) {
  const { vms, vmsnapshots } = state.tables
  return vms.filter(
    (vm) =>
      vm.state === 'Running' &&
      !vm.name.startsWith('storm-') &&
      vm.nics.every((nic) => nic.networkid !== wellKnown.networks['storage-l2']) &&
      vmsnapshots.by('vm', vm.id).length === 0,
  )
}

function machineOfAcme({ state }: CloudStackLab): string {
  const { addresses, vms } = state.tables
  const taken = new Set(addresses.filter((one) => one.isstaticnat).map((one) => one.virtualmachineid))
  const network_id = wellKnown.networks['acme-net']
  const [vm] = vms.filter(
    (one) => one.state === 'Running' && !taken.has(one.id) && one.nics.some((nic) => nic.networkid === network_id),
  )
  assert.ok(vm !== undefined, 'a machine without an address is left')
  return vm.id
}

/** Sends until somebody answers, and waits for the end of what was admitted. */
async function endOf(options: StormOptions, { kind, method = 'POST', path, body }: Order): Promise<Ended> {
  const key = `${kind} ${options.seed} ${performance.now()}`
  const reply = await until(`${kind} is answered`, () => answerOf(options, method, path, body, key), 120_000)
  assert.ok(reply.status < 400 || (await isAdmitted(options, correlationOf(reply))), `${path}: ${reply.text}`)
  const id = correlationOf(reply)
  const event = await until(`the event of ${kind} ${id} ends (${reply.text})`, () => eventOf(options, id), 120_000)
  const { body: job } = await options
    .caller()('GET', `/jobs/${id}`)
    .catch(() => ({ body: null }))
  return {
    kind,
    id,
    succeeded: event.status === 'SUCCESS',
    resource_id: job?.resource_id ?? event.resource_uuid ?? null,
    reason: `${job?.failure_reason ?? event.error_message ?? ''} ${reply.text.slice(0, 200)}`,
  }
}

async function answerOf(options: StormOptions, method: string, path: string, body: unknown, key: string) {
  let reply: Reply
  try {
    reply = await options.caller()(method, path, body, { headers: { 'idempotency-key': key } })
  } catch {
    // The control plane was killed before it answered.
    await pause(200)
    return undefined
  }
  // Still being worked on, or nothing was admitted because the platform did not answer: the same request comes again.
  if (reply.status === 409 && /IDEMPOTENCY/.test(reply.text)) return undefined
  const refused_before = reply.status >= 500 && !(await isAdmitted(options, correlationOf(reply)))
  return refused_before ? undefined : reply
}

function correlationOf(reply: Reply): string {
  return reply.headers.get('x-correlation-id') ?? ''
}

async function isAdmitted(options: StormOptions, id: string): Promise<boolean> {
  return (await eventsOf(options)).some((one) => one.correlation_id === id)
}

interface EventRow {
  correlation_id: string
  status: string
  resource_uuid: string | null
  error_message?: string
}

async function eventsOf(options: StormOptions): Promise<EventRow[]> {
  const { body } = await options.caller()('POST', '/events/app-events', { page_size: 500 })
  return body.app_events
}

async function eventOf(options: StormOptions, id: string): Promise<EventRow | undefined> {
  const events = await eventsOf(options).catch(() => [])
  return events.find((one) => one.correlation_id === id && one.status !== 'IN_PROGRESS')
}

type Contents = Record<string, Set<string>>

function contents({ state }: CloudStackLab): Contents {
  const { vms, volumes, vmsnapshots, addresses, rules, domains } = state.tables
  const ids = (rows: Iterable<{ id: string }>) => new Set([...rows].map(({ id }) => id))
  return {
    vms: ids(vms.values()),
    volumes: ids(volumes.filter(({ type }) => type === 'DATADISK')),
    vmsnapshots: ids(vmsnapshots.values()),
    addresses: ids(addresses.filter((one) => one.state === 'Allocated')),
    rules: ids(rules.values()),
    domains: ids(domains.values()),
  }
}

async function balance(options: StormOptions, before: Contents, ended: readonly Ended[]): Promise<void> {
  const events = await eventsOf(options)
  for (const { kind, id, reason } of ended) {
    const own = events.filter((one) => one.correlation_id === id)
    assert.equal(own.length, 1, `${kind} ${id} has one event: ${reason}`)
    assert.ok(['SUCCESS', 'FAILED'].includes(own[0]?.status ?? ''), `${kind} ${id} has ended`)
  }
  const now = contents(options.platform)
  for (const [kind, table] of Object.entries(MAKES)) {
    const made = ended.filter((one) => one.kind === kind && one.succeeded).map(({ resource_id }) => resource_id)
    const fresh = [...(now[table] ?? [])].filter((id) => before[table]?.has(id) !== true)
    const failed = ended.filter((one) => one.kind === kind && !one.succeeded).map(({ reason }) => reason)
    assert.deepEqual(
      fresh.toSorted(),
      made.map(String).toSorted(),
      `${kind}: what is there is what was ordered. ${failed.join(' | ')}`,
    )
  }
  const unknown = [...options.platform.state.tables.jobs.values()].filter((one) => one.jobstatus === 0)
  assert.deepEqual(unknown, [], 'the platform works on nothing any more')
}
