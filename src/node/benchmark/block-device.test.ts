// Recorded with util-linux 2.38 (test/fixtures/linux/lsblk).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type BlockDevice, objections, parseLsblk, parseWipefs } from './block-device.ts'

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/fixtures/linux/lsblk/${name}`, import.meta.url), 'utf8')

function device(name: string): BlockDevice {
  const raw: { blockdevices: { name: string }[] } = JSON.parse(fixture('lsblk-lvm.json'))
  const one = { blockdevices: raw.blockdevices.filter((row) => row.name === name) }
  return parseLsblk(JSON.stringify(one)) ?? assert.fail(name)
}

test('only a disk that holds nothing at all may be overwritten', () => {
  assert.deepEqual(objections(device('sdc'), [], []), [])
  assert.equal(device('sdc').serial, 'SATA0001')
  assert.match(objections(device('vda'), [], []).join(), /in use at \/,it holds ext4/)
  assert.match(objections(device('sdf'), ['dm-0'], ['LVM2_member']).join(), /carries dm-0.*held by dm-0.*LVM2_member/)
  assert.match(objections(device('nvme0n1'), [], []).join(), /carries nvme0n1p1, nvme0n1p9/)
  assert.match(objections({ ...device('sdc'), type: 'part' }, [], []).join(), /not a whole disk/)
  assert.match(objections({ ...device('sdc'), read_only: true }, [], []).join(), /read-only/)
  assert.match(objections(device('sdc'), [], null).join(), /could not be read/)
})

test('signatures are read, and an answer that is none is not taken for a blank device', () => {
  assert.deepEqual(parseWipefs(fixture('wipefs.json')), ['LVM2_member'])
  assert.equal(parseWipefs('wipefs: error'), null)
})
