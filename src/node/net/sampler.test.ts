import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { linuxFixture } from '../../../test/support/linux-fixture.ts'
import { recordedHost } from '../../../test/support/recorded-host.ts'
import { createNetSampler, type NetSampler } from './sampler.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

const LINKS = 'ip -j -s -s link show'
const BOOT = '/proc/sys/kernel/random/boot_id'
let folder: string

before(async () => {
  folder = tempFolder('net-sampler-')
})

interface Counters {
  ifindex?: number
  rx?: number
  tx?: number
  errors?: number
  crc?: number
  carrier_changes?: number
}

function row({ ifindex = 2, rx = 0, tx = 0, errors = 0, crc = 0, carrier_changes = 1 }: Counters): string {
  const stats64 = { rx: { bytes: rx, errors, crc_errors: crc }, tx: { bytes: tx, carrier_changes } }
  return JSON.stringify([{ ifname: 'eth0', ifindex, link_type: 'ether', stats64 }])
}

function sampled(state_path?: string) {
  const host = recordedHost({ files: { [BOOT]: 'boot-a\n' } })
  const sampler = createNetSampler(host, state_path === undefined ? {} : { state_path })
  const take = async (counters: Counters, after_ms = 5_000): Promise<NetSampler> => {
    host.pass(after_ms)
    host.commands[LINKS] = row(counters)
    await sampler.tick()
    return sampler
  }
  return { host, sampler, take }
}

test('throughput is the change over the last minute, and unknown with a single sample', async () => {
  const { sampler, take } = sampled()
  assert.equal(sampler.window(2), null)
  await take({ rx: 1_000_000 })
  assert.equal(sampler.window(2), null)
  for (let step = 1; step <= 40; step += 1) await take({ rx: 1_000_000 + step * 6_250_000, tx: step * 625_000 })
  const window = sampler.window(2)
  assert.deepEqual([window?.seconds, window?.rx_mbps, window?.tx_mbps], [60, 10, 1])
})

test('errors are counted by their growth, not by their total', async () => {
  const { take } = sampled()
  await take({ errors: 900, crc: 900 })
  const window = (await take({ errors: 1000, crc: 995 })).window(2)
  assert.equal(window?.errors_per_second, 20)
  assert.deepEqual(window?.errors, { rx_crc: 95 })
})

test('a device recreated under the same name, or with counters set back, starts a new window', async () => {
  const { take } = sampled()
  await take({ rx: 9_000_000 })
  assert.equal((await take({ ifindex: 7, rx: 50 })).window(7), null)
  assert.equal((await take({ ifindex: 7, rx: 20 })).window(7), null)
  assert.equal((await take({ ifindex: 7, rx: 625_020 })).window(7)?.rx_mbps, 1)
})

test('the age of the carrier state counts from the change that was seen', async () => {
  const { host, sampler, take } = sampled()
  await take({ carrier_changes: 4 })
  host.pass(10_000)
  assert.deepEqual(sampler.lastChange('eth0', 2), { seconds: 10, seen: false })
  await take({ carrier_changes: 6 })
  host.pass(3_000)
  assert.deepEqual(sampler.lastChange('eth0', 2), { seconds: 3, seen: true })
  assert.equal(sampler.carrierChanges('eth0', 2, 600), 2)
  host.pass(600_000)
  assert.equal(sampler.carrierChanges('eth0', 2, 600), 0)
  assert.equal(sampler.lastChange('eth0', 3), null, 'another device of this name')
})

test('a carrier change is remembered over a restart of the service, and forgotten by a reboot', async () => {
  const state_path = join(folder, 'deep', 'carriers.json')
  const first = sampled(state_path)
  await first.take({ carrier_changes: 1 })
  await first.take({ carrier_changes: 2 })
  assert.match(await readFile(state_path, 'utf8'), /"carrier_changes":2/)
  const second = sampled(state_path)
  second.host.pass(60_000)
  await second.take({ carrier_changes: 2 })
  const change = second.sampler.lastChange('eth0', 2)
  assert.deepEqual([change?.seen, change?.seconds], [true, 55])
  const rebooted = sampled(state_path)
  rebooted.host.files[BOOT] = 'boot-b\n'
  await rebooted.take({ carrier_changes: 2 })
  assert.equal(rebooted.sampler.lastChange('eth0', 2)?.seen, false)
})

test('a sample that fails leaves the ring as it was and says why', async () => {
  const { host, sampler, take } = sampled()
  await take({ rx: 0 })
  await take({ rx: 625_000 })
  host.commands[LINKS] = { outcome: 'timeout', exit_code: null }
  await sampler.tick()
  assert.equal(sampler.failure, 'ip did not answer in time')
  assert.equal(sampler.window(2)?.rx_mbps, 1)
  await take({ rx: 1_250_000 })
  assert.equal(sampler.failure, null)
})

test('the time without synchronisation grows until the clock is synchronised again', () => {
  const { host, sampler } = sampled()
  host.pass(7_200_000)
  assert.equal(sampler.unsyncedFor(false), 7200)
  assert.equal(sampler.unsyncedFor(true), null)
  host.pass(1_000)
  assert.equal(sampler.unsyncedFor(false), 1)
})

test('the clock counts as lost from when the sampler last saw it follow a source, not from the first question', async () => {
  const { host, sampler, take } = sampled()
  host.commands['chronyc -c -n tracking'] = linuxFixture('chrony', 'tracking.csv')
  for (let step = 0; step < 25; step += 1) await take({}, 60_000)
  host.commands['chronyc -c -n tracking'] = linuxFixture('chrony', 'tracking-unsynced.csv')
  assert.equal(sampler.unsyncedFor(false), 0)
  for (let step = 0; step < 12; step += 1) await take({}, 60_000)
  assert.equal(sampler.unsyncedFor(false), 720)
})

test('a tick asks the machine one question, and the time daemon once a minute', async () => {
  const { host, take } = sampled()
  host.commands['chronyc -c -n tracking'] = linuxFixture('chrony', 'tracking.csv')
  for (let step = 0; step < 13; step += 1) await take({})
  assert.equal(host.ran.filter((line) => line === LINKS).length, 13)
  assert.equal(host.ran.filter((line) => line.startsWith('chronyc')).length, 2)
  assert.equal(host.ran.length, 15)
})
