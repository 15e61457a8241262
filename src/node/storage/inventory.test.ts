// Recorded outputs of lsblk 2.38 and lvs, with and without a device database (test/fixtures/linux/{lsblk,lvm}).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linuxFixtureJson } from '../../../test/support/linux-fixture.ts'
import { fixture, recordedStorage } from '../../../test/support/recorded-storage.ts'
import { scriptedHost } from '../../../test/support/scripted-host.ts'
import { parseInventory, readInventory } from './inventory.ts'

const names = (value: unknown) => parseInventory(value).disks.map((disk) => disk.name)

test('volumes of a pool and devices without a size are no disks', () => {
  assert.ok(!names(linuxFixtureJson('lsblk', 'lsblk-zfs-J-b.json')).includes('zd0'))
  const devices = ['loop0', 'zram0', 'rbd0', 'nbd0', 'sr0', 'sda', 'sdb'].map((name) => ({
    name,
    type: 'disk',
    size: name === 'sdb' ? 0 : 512,
  }))
  assert.deepEqual(names({ blockdevices: devices }), ['sda'])
})

test('the mount point of a disk is that of any part of it, swap included', () => {
  const value = (mountpoints: unknown) => ({
    blockdevices: [
      {
        name: 'sda',
        type: 'disk',
        size: 512,
        mountpoints: [null],
        children: [{ name: 'sda1', type: 'part', mountpoints }],
      },
    ],
  })
  assert.equal(parseInventory(value([null, '/boot'])).disks[0]?.mount_point, '/boot')
  assert.equal(parseInventory(value(['/run/netns', '/'])).disks[0]?.mount_point, '/')
  assert.equal(parseInventory(value(['[SWAP]'])).disks[0]?.mount_point, '[SWAP]')
  assert.equal(parseInventory(value([null])).disks[0]?.mount_point, null)
})

test('every recorded form of lsblk gives the same disks', () => {
  const forms = ['lsblk-J-b-cols.json', 'lsblk-J-O-b.json', 'lsblk-lvm.json']
  for (const form of forms) {
    const disks = parseInventory(linuxFixtureJson('lsblk', form)).disks
    assert.equal(disks.length, 10, form)
    assert.ok(
      disks.every((disk) => disk.size_bytes > 0 && disk.device === `/dev/${disk.name}`),
      form,
    )
  }
})

test('model and serial come from sysfs, without its blanks, when the device database is empty', async () => {
  const host = scriptedHost({
    files: {
      '/sys/block/nvme0n1/device/model': 'QEMU NVMe Ctrl                          \n',
      '/sys/block/nvme0n1/device/serial': 'NVME0001            \n',
      '/sys/block/sda/device/model': 'HARDDISK   \n',
      '/sys/block/sda/device/wwid': 'naa.5000c50000000005\n',
    },
    run: () => ({
      stdout: JSON.stringify({
        blockdevices: ['nvme0n1', 'sda'].map((name) => ({ name, type: 'disk', size: 512, model: null, serial: null })),
      }),
    }),
  })
  const result = await readInventory(host)
  assert.ok('value' in result)
  assert.deepEqual(
    result.value.disks.map((disk) => [disk.model, disk.serial, disk.virtual]),
    [
      ['QEMU NVMe Ctrl', 'NVME0001', true],
      ['HARDDISK', 'naa.5000c50000000005', false],
    ],
  )
})

test('a storage daemon is found by the tags of its volume and by the link in its folder', async () => {
  const by_tags = await readInventory(recordedStorage({ commands: { lsblk: fixture('lsblk', 'lsblk-lvm.json') } }))
  assert.ok('value' in by_tags)
  assert.deepEqual(by_tags.value.disks.find((disk) => disk.name === 'sdf')?.osd, {
    id: 7,
    path: '/var/lib/ceph/osd/ceph-7',
  })
  const by_link = await readInventory(
    recordedStorage({
      folders: { '/var/lib/ceph/osd': ['ceph-3'] },
      links: { '/var/lib/ceph/osd/ceph-3/block': '/dev/sda1' },
    }),
  )
  assert.ok('value' in by_link)
  assert.equal(by_link.value.disks.find((disk) => disk.name === 'sda')?.osd?.id, 3)
})

test('without lsblk there is no list of disks, rather than an empty one', async () => {
  assert.deepEqual(await readInventory(scriptedHost({})), { failure: 'lsblk is not installed' })
})
