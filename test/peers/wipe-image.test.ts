// The wipe image that deploy/installer/build-wipe makes, started by QEMU: a decommission wipes the disks that it names, and no others,
// and ends with verified evidence. By hand, as docs/evidence/wipe-in-qemu.md tells: it needs an image, and the address under which
// QEMU shows this machine to its guest.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { test } from 'node:test'
import { startBmcSite, WIPE_FILE } from '../support/bmc-site.ts'
import { macsOf } from '../../lab/redfish/wipe-image.ts'
import { freeTcpPort } from '../support/free-port.ts'
import type { Reply } from '../support/http.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const image = process.env['WIPE_IMAGE']
/** This machine, as a guest of QEMU's own network sees it. */
const HOST = '10.0.2.2'
const DISK_MB = 64
const OTHER = 'NOT-TO-BE-WIPED'

function obstacle(): string | false {
  if (image === undefined) return 'WIPE_IMAGE names no image (deploy/installer/build-wipe)'
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
  return own.includes(HOST) ? false : `no interface has ${HOST}: run it in a network namespace of its own`
}

test('a machine that starts from the wipe image wipes the named disks alone, and its report ends the job with verified evidence', {
  skip: obstacle(),
  timeout: 1_200_000,
}, async (t) => {
  const folder = tempFolder('gp-wipe-qemu-')
  const console_log = process.env['WIPE_LOG'] ?? join(folder, 'console.log')
  const machines: Promise<unknown>[] = []
  let serials: string[] = []
  const port = await freeTcpPort()
  const site = await startBmcSite({
    bmc: { wipe_image: WIPE_FILE, image_addresses: [HOST], image_port: port, patience_seconds: 90 },
    onBoot: async (bmc, url) => {
      const iso = join(folder, 'inserted.iso')
      writeFileSync(iso, Buffer.from(await (await fetch(url)).arrayBuffer()))
      const machine = startMachine({ iso, folder, serials, mac: macsOf(bmc)[0] ?? '', console_log })
      machines.push(machine.then(() => Object.assign(bmc.state, { power: 'Off', version: bmc.state.version + 1 })))
    },
  })
  const { lab } = site
  copyFileSync(image ?? '', join(site.iso_dir, WIPE_FILE))
  // QEMU passes what its guest says to that address on to the loopback device.
  const relay = createServer((socket) => {
    const { hostname, port: own } = new URL(lab.url)
    const to = connect(Number(own), hostname)
    pipeline(socket, to, () => {})
    pipeline(to, socket, () => {})
  }).listen(port, '0.0.0.0')
  await once(relay, 'listening')
  const ask = async (method: string, path: string, body?: object): Promise<Reply['body']> => {
    const reply = await lab.call(method, path, body)
    assert.ok(reply.status < 300, `${path}: ${reply.text}`)
    return reply.body
  }
  try {
    const bmc = site.bmcs['idrac9-7']
    await ask('POST', '/configure/nodes', { bmc_ip: bmc.host, fqdn: 'old-1.example.internal', role: 'compute' })
    assert.equal((await site.ask(bmc, 'collect')).status, 200)
    const path = `/configure/nodes/${bmc.host}/decommission`
    const { fingerprint, wiped_disks } = await ask('POST', `${path}/preflight`, {})
    serials = wiped_disks
    assert.ok(serials.length > 0)
    for (const serial of [...serials, OTHER]) await makeDisk(folder, serial)
    const { job_id } = await ask('POST', path, { acknowledge: { fingerprint } })
    const job = await until('the node has left', async () => {
      const found = await ask('GET', `/jobs/${job_id}`)
      return found.job_status === 'running' ? undefined : found
    }, 1_000_000) // biome-ignore format: one call
    assert.equal(job.job_status, 'completed', job.failure_reason)
    const evidence = await ask('GET', `${path}/evidence`)
    t.diagnostic(JSON.stringify(evidence))
    assert.deepEqual([evidence.verdict, evidence.outstanding], ['verified', []])
    await Promise.all(machines)
    for (const serial of serials) {
      const disk = readFileSync(diskOf(folder, serial))
      assert.deepEqual([disk.length, disk.every((byte) => byte === 0)], [DISK_MB * 1024 * 1024, true], serial)
    }
    assert.equal(readFileSync(diskOf(folder, OTHER)).includes('secret of a tenant'), true)
  } finally {
    relay.close()
    await site.close()
  }
})

const diskOf = (folder: string, serial: string): string => join(folder, `${serial}.raw`)

async function makeDisk(folder: string, serial: string): Promise<void> {
  const text = `secret of a tenant on ${serial}\n`
  const bytes = Buffer.alloc(DISK_MB * 1024 * 1024)
  for (let at = 4096; at < bytes.length; at += 1_000_003) bytes.write(text, at)
  bytes.write(text, bytes.length - 512)
  writeFileSync(diskOf(folder, serial), bytes)
}

interface Started {
  iso: string
  folder: string
  serials: readonly string[]
  mac: string
  console_log: string
}

/** Ends when the machine has switched itself off. */
async function startMachine({ iso, folder, serials, mac, console_log }: Started): Promise<void> {
  const disks = [...serials, OTHER].flatMap((serial, at) => [
    '-drive', `file=${diskOf(folder, serial)},format=raw,if=none,id=d${at}`, '-device', `ide-hd,drive=d${at},bus=ahci.${at},serial=${serial}`,
  ]) // biome-ignore format: pairs
  const child = spawn('qemu-system-x86_64', [
    '-machine', 'q35,accel=tcg', '-m', '512', '-display', 'none', '-monitor', 'none', '-serial', 'stdio', '-no-reboot', '-boot', 'd',
    '-drive', `file=${iso},format=raw,if=none,media=cdrom,id=cd`, '-device', 'qemu-xhci', '-device', 'usb-storage,drive=cd,bootindex=0',
    '-device', 'ahci,id=ahci', ...disks, '-netdev', 'user,id=net', '-device', `virtio-net-pci,netdev=net,mac=${mac}`,
  ], { stdio: ['ignore', 'pipe', 'inherit'] }) // biome-ignore format: arguments
  child.stdout.pipe(createWriteStream(console_log))
  await once(child, 'exit')
}
