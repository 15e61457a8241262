// The truth table of the checks before a decommission: each is forced to pass, to warn and to fail, and without its source it
// never passes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCEPTABLE } from './checks.ts'
import type { PlatformHost, PlatformReading, PlatformVm } from './platform-reading.ts'
import { judged } from './preflight.ts'
import type { PreflightWish, Reading, Readings, StorageReading } from './readings.ts'

const WISH: PreflightWish = { force: false, accept: [], wipe: 'full' }
const read = <T>(value: T): Reading<T> => ({ read: value })
const SILENT = { missing: 'it did not answer within 15 s' }

const host = (name: string, more: Partial<PlatformHost> = {}): PlatformHost => ({
  id: name, name, state: 'Up', resource_state: 'Enabled', cluster_id: 'c', zone_id: 'z', kind: 'KVM x86_64', processor: '2400 64 2',
  cpu_speed_mhz: 2400, free_cpu_mhz: 100_000, free_mem_bytes: 100e9, tags: [], ...more,
}) // biome-ignore format: a record
const vm = (name: string, more: Partial<PlatformVm> = {}): PlatformVm => ({
  id: name, name, kind: 'user', state: 'Running', cpu_mhz: 2000, mem_bytes: 4e9, tags: [], apart: [], together: [], stays: null, ...more,
}) // biome-ignore format: a record
const platform = (more: Partial<PlatformReading> = {}): Reading<PlatformReading> =>
  read({
    host: host('own'),
    neighbours: [host('other')],
    vms: [],
    targets: [{ ...host('other'), groups: [] }],
    ha_enabled: true,
    ...more,
  })
const store = (
  more: Partial<StorageReading> = {},
  without: Partial<NonNullable<StorageReading['without']>> = {},
): Reading<StorageReading> =>
  read({
    daemons: 2, daemons_up: 2, pools: 1, health: 'HEALTH_OK',
    without: {
      rejection: null, findings: [], osds: [3, 4], used_bytes: 4e9, free_bytes: 9e9, disks_left: 4, used_share: 0.5, near_full_share: 0.85,
      full_share: 0.9, monitors: 5, monitors_left: 5, managers: 2, managers_left: 1, ...without,
    },
    ...more,
  }) // biome-ignore format: a record

const GOOD: Readings = {
  node: { bmc_ip: '10.1.0.11', node_ip: '10.0.0.11', role: 'compute', addresses: ['10.0.0.11'] },
  running_job: undefined,
  recorded: { serial: 'S1', uuid: null },
  bmc: read({ serial: 's1', uuid: 'U1', boots_images: true }),
  agent: read(true as const),
  platform: platform(),
  storage: store(),
  fabric: read({ role: 'leaf', silent: [] }),
  cluster: read({
    others_healthy: 2,
    database: 'standby',
    has_caught_up_standby: true,
    slot: { name: 'mgmt_1', active_for: null },
    vip: 'other',
    can_take_vip: true,
    served_here: [],
  }),
  addresses: read({ held: ['10.0.0.11 (management)'], unknown: [] }),
  disks: read({ known: ['D1'], data: [], unknown: [], shared: [] }),
  wipe_image: read('wipe.iso'),
}
const MANAGEMENT: Readings = { ...GOOD, node: { ...GOOD.node, role: 'management' } }

/** For each check: what makes it warn, what makes it fail, and its source. */
interface Row {
  base?: Readings
  warn?: Partial<Readings>
  fail?: Partial<Readings>
  source?: keyof Readings
  /** What its failure is lifted by. */
  by?: Partial<PreflightWish>
}

const cluster = (more: object): Partial<Readings> => ({
  cluster: read({ ...('read' in GOOD.cluster ? GOOD.cluster.read : assert.fail()), ...more }),
})

const TABLE: Record<string, Row> = {
  'node-known': { warn: { node: { ...GOOD.node, node_ip: null } } },
  'no-running-job': { fail: { running_job: 'j1' } },
  'role-supported': { fail: { node: { ...GOOD.node, role: null } } },
  'bmc-reachable': { fail: { bmc: SILENT }, source: 'bmc', by: { accept: ['bmc-reachable'] } },
  'bmc-identity': { warn: { recorded: null }, fail: { recorded: { serial: 'S2', uuid: null } }, source: 'bmc' },
  'agent-reachable': { warn: { agent: SILENT }, source: 'agent' },
  'platform-reachable': { fail: { platform: SILENT }, source: 'platform' },
  'host-state': {
    warn: { platform: platform({ host: host('own', { state: 'Down' }) }) },
    fail: { platform: platform({ host: host('own', { resource_state: 'ErrorInMaintenance' }) }) },
    source: 'platform',
    by: { accept: ['host-state'] },
  },
  'cluster-maintenance': {
    fail: { platform: platform({ neighbours: [host('other', { resource_state: 'PrepareForMaintenance' })] }) },
    source: 'platform',
  },
  'transitional-vms': { fail: { platform: platform({ vms: [vm('a', { state: 'Stopping' })] }) }, source: 'platform' },
  'vm-migration': { warn: { platform: platform({ vms: [vm('a', { stays: 'it has a GPU' })] }) }, source: 'platform' },
  'non-migratable-vms': {
    warn: { platform: platform({ vms: [vm('a', { stays: 'it has a GPU' })] }) },
    source: 'platform',
  },
  'migration-capacity': {
    warn: { platform: platform({ vms: [vm('a', { mem_bytes: 93e9 })] }) },
    fail: { platform: platform({ vms: [vm('a', { mem_bytes: 99e9 })] }) },
    source: 'platform',
    by: { force: true, accept: ['migration-capacity'] },
  },
  'last-host': {
    fail: { platform: platform({ neighbours: [], vms: [vm('a')] }) },
    source: 'platform',
    by: { force: true },
  },
  'system-vms': { warn: { platform: platform({ vms: [vm('v-1', { kind: 'system' })] }) }, source: 'platform' },
  'ha-enabled': { fail: { platform: platform({ ha_enabled: false, vms: [vm('a')] }) }, source: 'platform' },
  'storage-health': {
    warn: { storage: store({ health: 'HEALTH_WARN' }) },
    fail: { storage: store({}, { rejection: 'copies would fall below two' }) },
    source: 'storage',
  },
  'storage-capacity': {
    warn: { storage: store({}, { used_share: 0.87 }) },
    fail: { storage: store({}, { used_share: 0.97 }) },
    source: 'storage',
  },
  'storage-quorum': {
    warn: { storage: store({}, { monitors_left: 4 }) },
    fail: { storage: store({}, { monitors_left: 2 }) },
    source: 'storage',
  },
  'fabric-role': {
    warn: { fabric: read({ role: 'reflector', silent: [] }) },
    fail: { fabric: read({ role: 'last_reflector', silent: [] }) },
    source: 'fabric',
  },
  'mgmt-quorum': {
    base: MANAGEMENT,
    warn: cluster({ others_healthy: 1 }),
    fail: cluster({ others_healthy: 0 }),
    source: 'cluster',
  },
  'db-role': {
    base: MANAGEMENT,
    warn: cluster({ database: 'primary' }),
    fail: cluster({ database: 'primary', has_caught_up_standby: false }),
    source: 'cluster',
  },
  'db-slot': {
    base: MANAGEMENT,
    warn: cluster({ slot: null }),
    fail: cluster({ slot: { name: 'mgmt_1', active_for: '10.0.0.99' } }),
    source: 'cluster',
  },
  'vip-holder': {
    base: MANAGEMENT,
    warn: cluster({ vip: 'this' }),
    fail: cluster({ vip: 'this', can_take_vip: false }),
    source: 'cluster',
  },
  'dns-dhcp-role': { base: MANAGEMENT, fail: cluster({ served_here: ['http://10.0.0.11:5380'] }), source: 'cluster' },
  addresses: { warn: { addresses: read({ held: [], unknown: ['10.0.9.9'] }) }, source: 'addresses' },
  disks: {
    warn: { disks: read({ known: [], data: [], unknown: ['D2'], shared: [] }) },
    fail: { disks: read({ known: ['D1'], data: [], unknown: [], shared: ['D1'] }) },
    source: 'disks',
  },
  'wipe-image': { warn: { wipe_image: read(null) }, source: 'wipe_image' },
}
const resultOf = (readings: Readings, wish: PreflightWish = WISH) => judged(readings, wish, []).result
const statusOf = (readings: Readings, name: string, wish?: PreflightWish): string =>
  resultOf(readings, wish).checks.find((check) => check.name === name)?.status ?? `no check ${name}`

test('every check is in the table', () => {
  const names = [GOOD, MANAGEMENT].flatMap((one) => resultOf(one).checks.map(({ name }) => name))
  assert.deepEqual(new Set(names), new Set(Object.keys(TABLE)))
  assert.deepEqual(ACCEPTABLE.toSorted(), ['bmc-reachable', 'host-state', 'migration-capacity'])
})

for (const [name, { base = GOOD, warn, fail, source, by }] of Object.entries(TABLE)) {
  test(`${name} passes, warns and fails as the table says, and never passes without its source`, () => {
    assert.equal(statusOf(base, name), 'pass')
    if (warn !== undefined) assert.equal(statusOf({ ...base, ...warn }, name), 'warn')
    if (source !== undefined) assert.notEqual(statusOf({ ...base, [source]: SILENT }, name), 'pass')
    if (fail === undefined) return
    const failed = { ...base, ...fail }
    assert.equal(statusOf(failed, name), 'fail')
    assert.equal(resultOf(failed).can_proceed, false)
    const everything: PreflightWish = { force: true, accept: [...ACCEPTABLE], wipe: 'full' }
    assert.equal(statusOf(failed, name, everything), by === undefined ? 'fail' : 'warn', 'nobody can accept it')
    if (by !== undefined) assert.equal(statusOf(failed, name, { ...WISH, ...by }), 'warn')
  })
}

test('a node without findings can go, and force is needed exactly where a machine would be destroyed', () => {
  const clean = resultOf(GOOD)
  assert.deepEqual([clean.can_proceed, clean.requires_force], [true, false])
  const gpu = resultOf({ ...GOOD, platform: platform({ vms: [vm('gpu', { stays: 'it has a GPU' }), vm('web')] }) })
  assert.deepEqual([gpu.can_proceed, gpu.requires_force], [true, true])
  assert.deepEqual([gpu.non_migratable_vm_names, gpu.destroyed_vm_names], [['gpu'], ['gpu']])
  const full = resultOf({ ...GOOD, platform: platform({ vms: [vm('large', { mem_bytes: 300e9 })] }) })
  assert.deepEqual([full.can_proceed, full.requires_force, full.destroyed_vm_names], [false, true, ['large']])
})

test('numbers that no source told are null and say why', () => {
  const { vm_count, migration_capacity_ok, unavailable } = resultOf({ ...GOOD, platform: SILENT })
  assert.deepEqual([vm_count, migration_capacity_ok], [null, null])
  assert.ok(unavailable.some(({ field, reason }) => field === 'vm_count' && reason === SILENT.missing))
})

test('without a wipe a missing BMC only warns', () => {
  assert.equal(statusOf({ ...GOOD, bmc: SILENT }, 'bmc-reachable', { ...WISH, wipe: 'none' }), 'warn')
})

test('while no member says that it has the virtual addresses, a member does not leave', () => {
  assert.equal(statusOf({ ...MANAGEMENT, ...cluster({ vip: 'unknown' }) }, 'vip-holder'), 'fail')
  assert.equal(statusOf({ ...MANAGEMENT, ...cluster({ vip: 'none' }) }, 'vip-holder'), 'pass')
})
