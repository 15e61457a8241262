// Recorded smartctl reports: emulated disks, and `public-*` of real ones (test/fixtures/linux/smartctl).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { Disk } from '#src/contract/storage/host.ts'
import { linuxFixtureJson, linuxFixtureNames } from '../../../test/support/linux-fixture.ts'
import { scriptedHost } from '../../../test/support/scripted-host.ts'
import type { InventoryDisk } from './inventory.ts'
import { readSmart } from './smart.ts'
import { smartInfo } from './smart-report.ts'

const DISK: InventoryDisk = {
  name: 'sda',
  device: '/dev/sda',
  type: 'ssd',
  size_bytes: 500_107_862_016,
  model: null,
  serial: null,
  mount_point: null,
  virtual: false,
  raid_volume: false,
  paths: ['/dev/sda'],
  holds: [],
  osd: null,
}
const judge = (file: string, disk: Partial<InventoryDisk> = {}) =>
  smartInfo(linuxFixtureJson('smartctl', file), { ...DISK, ...disk })

test('a healthy SATA disk is OK; wear comes from the endurance page and not from attribute 177', () => {
  const info = judge('public-sata-ssd-860evo.json')
  assert.deepEqual([info.status, info.has_failure, info.status_reason], ['OK', false, []])
  assert.deepEqual([info.wear_level_percent, info.temperature, info.power_on_hours], [19, 36, 14551])
  assert.deepEqual(
    [info.reallocated_sectors, info.uncorrectable_sectors, info.pending_sectors, info.error_count],
    [0, 0, null, 0],
  )
  assert.equal(info.dwpd, 0.109)
  assert.equal(info.model, 'Samsung SSD 860 EVO 500GB')
})

test('a disk that says it is failing is Critical with every reason, whatever the exit code was', () => {
  const info = judge('public-sata-hdd-failing-now.json', { type: 'hdd' })
  assert.deepEqual([info.status, info.has_failure], ['Critical', true])
  assert.deepEqual(info.status_reason, [
    'the disk itself says that it is failing',
    'attribute Reallocated_Sector_Ct is failing now',
    '8 pending sectors',
    '1975 sectors reallocated',
  ])
  assert.deepEqual(
    [info.pending_sectors, info.reallocated_sectors, info.error_count, info.wear_level_percent],
    [8, 1975, 56, null],
  )
})

test('an aborted self-test is no failure; remapped sectors warn', () => {
  const info = judge('public-sata-hdd-selftest-aborted.json', { type: 'hdd', size_bytes: 4_000_787_030_016 })
  assert.deepEqual([info.status, info.has_failure, info.status_reason], ['Warning', false, ['387 sectors reallocated']])
})

test('a healthy NVMe disk gives its temperature in Celsius', () => {
  const info = judge('public-nvme-ok.json', { type: 'nvme' })
  assert.deepEqual([info.status, info.temperature, info.power_on_hours], ['OK', 36, 2401])
})

test('media errors of an NVMe disk warn and are no failure', () => {
  const info = judge('public-nvme-media-errors.json', { type: 'nvme' })
  assert.deepEqual([info.status, info.has_failure, info.status_reason], ['Warning', false, ['7 media errors']])
  assert.deepEqual(
    [info.uncorrectable_sectors, info.error_count, info.wear_level_percent, info.dwpd],
    [7, 62, 3, 0.126],
  )
})

test('a critical warning of an NVMe disk is a failure, in words', () => {
  const report = structuredClone(linuxFixtureJson('smartctl', 'public-nvme-ok.json'))
  const log: unknown = Reflect.get(Object(report), 'nvme_smart_health_information_log')
  Reflect.set(Object(log), 'critical_warning', 0b101)
  const info = smartInfo(report, { ...DISK, type: 'nvme' })
  assert.equal(info.has_failure, true)
  assert.deepEqual(info.status_reason.slice(0, 2), [
    'critical warning: available spare below its threshold',
    'critical warning: reliability degraded by media or internal errors',
  ])
})

test('grown defects of a SAS disk warn; a clean one is OK', () => {
  assert.deepEqual(judge('public-sas-hdd-grown-defects.json', { type: 'hdd' }).status_reason, [
    '56 sectors reallocated',
  ])
  const info = judge('public-sas-hdd.json', { type: 'hdd' })
  assert.deepEqual([info.status, info.uncorrectable_sectors, info.power_on_hours], ['OK', 0, 5675])
})

test('a RAID volume has no verdict on failure and warns that its disks are hidden', () => {
  const info = judge('public-raid-volume-unsupported.json', { type: 'hdd' })
  assert.deepEqual([info.status, info.has_failure, info.temperature], ['Warning', null, null])
  assert.match(info.status_reason[0] ?? '', /RAID volume/)
})

test('a virtual disk has no verdict at all', () => {
  const info = judge('virtio-disk-a.json', { virtual: true })
  assert.deepEqual([info.status, info.has_failure, info.status_reason], [null, null, ['virtual disk: it has no SMART']])
})

test('a temperature attribute with packed figures does not leak into the temperature', () => {
  assert.equal(judge('ata-ssd-x.json').temperature, 31)
})

test('without smartctl every disk warns and nothing is invented', async () => {
  const result = await readSmart(scriptedHost({}), [DISK], undefined)
  assert.ok('value' in result)
  const reading = result.value.get('/dev/sda')
  assert.deepEqual(
    [reading?.info.status, reading?.info.has_failure, reading?.info.temperature, reading?.read_at],
    ['Warning', null, null, null],
  )
})

test('a sleeping disk is left asleep and keeps its last report with the time of that report', async () => {
  let asleep = false
  const host = scriptedHost({
    run: () => ({
      stdout: JSON.stringify(
        asleep
          ? { smartctl: { messages: [{ string: 'Device is in STANDBY mode, exit(0)', severity: 'information' }] } }
          : linuxFixtureJson('smartctl', 'ata-ssd-x.json'),
      ),
    }),
  })
  const first = await readSmart(host, [DISK], undefined)
  assert.ok('value' in first)
  asleep = true
  host.pass(600_000)
  const second = await readSmart(host, [DISK], first.value)
  assert.ok('value' in second)
  assert.deepEqual(second.value.get('/dev/sda'), first.value.get('/dev/sda'))
  assert.ok(host.ran.every((line) => line.includes('-n standby,0')))
})

test('disks are read one after the other', async () => {
  let running = 0
  let most = 0
  const host = scriptedHost({})
  const run: typeof host.run = async () => {
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running -= 1
    return { outcome: 'exited', exit_code: 0, stdout: '{}', stderr: '' }
  }
  await readSmart(
    { ...host, run },
    ['sda', 'sdb', 'sdc'].map((name) => ({ ...DISK, device: `/dev/${name}` })),
    undefined,
  )
  assert.equal(most, 1)
})

test('every recorded report gives a valid record, and a failure only where there is one', () => {
  const Smart = Compile(Disk.properties.smart_info)
  const failing = linuxFixtureNames('smartctl').filter((file) => {
    const info = judge(file)
    assert.ok(Smart.Check(info), `${file}: ${JSON.stringify(Smart.Errors(info))}`)
    return info.has_failure === true
  })
  assert.deepEqual(failing, ['public-sata-hdd-failing-now.json'])
})
