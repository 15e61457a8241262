// The driver against a Redfish service that others wrote (sushy-emulator of PyPI), and our simulated BMC against a client that
// others wrote (python3-sushy of Debian).
import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { closeServer, listenOn } from '../../lab/control.ts'
import { selfSigned } from '../../lab/redfish/certificate.ts'
import { startRedfish } from '../../lab/redfish/server.ts'
import { wipeReport } from '../../lab/redfish/wipe-image.ts'
import type { Bmc } from '#src/drivers/redfish/bmc.ts'
import { checkBiosChange, readBios, submitBios } from '#src/drivers/redfish/bios.ts'
import { createRedfish, type Redfish } from '#src/drivers/redfish/connections.ts'
import { readVersions, submitUpdate } from '#src/drivers/redfish/firmware.ts'
import { readInventory } from '#src/drivers/redfish/inventory.ts'
import { bootSlot, ejectMedia, insertMedia, readSlot, setBootOnce } from '#src/drivers/redfish/media.ts'
import { readPower, sendReset } from '#src/drivers/redfish/power.ts'
import { createLog } from '#src/kernel/log.ts'
import { FAST, startBmcSite, WIPE_FILE } from '../support/bmc-site.ts'
import { freeTcpPort } from '../support/free-port.ts'
import type { Reply } from '../support/http.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

/** Where scripts/install-peers puts it. */
const EMULATOR = '/opt/groundplane-peers/sushy-tools-2.2.0/bin/sushy-emulator'
const no_emulator = existsSync(EMULATOR)
  ? false
  : `${EMULATOR} is not installed: scripts/install-peers could not reach PyPI`
const PACKAGES = '/usr/lib/python3/dist-packages'
const no_libvirt =
  no_emulator || (existsSync(join(PACKAGES, 'libvirt.py')) ? false : 'python3-libvirt is not installed')
const no_client = existsSync(join(PACKAGES, 'sushy')) ? false : 'python3-sushy is not installed'
const MAC = '00:11:22:33:44:55'

let redfish: Redfish
before(() => {
  redfish = createRedfish({
    allowed_networks: ['127.0.81.0/24'],
    timeout_ms: 20_000,
    retry_ms: 200,
    log: createLog({ level: 'silent' }),
  })
})
after(() => redfish.close())

/** `libvirt`: with the driver whose machines are those of libvirt's own test driver, in memory. `notify`: told of each change of the machine, as of one that starts. */
async function startEmulator({
  state = 'Off',
  notify = '',
  libvirt = false,
} = {}): Promise<{ bmc: Bmc; port: number; child: ChildProcess }> {
  const folder = tempFolder('gp-sushy-')
  const { key, cert } = await selfSigned('sushy')
  const [host, port] = ['127.0.81.1', await freeTcpPort()]
  writeFileSync(join(folder, 'key.pem'), key)
  writeFileSync(join(folder, 'cert.pem'), cert)
  const system = {
    uuid: '27946b59-9e44-4fa7-8e91-f3527a1ef094',
    name: 'fake1',
    power_state: state,
    external_notifier: notify !== '',
    nics: [{ mac: MAC, ip: '172.22.0.100' }],
  }
  writeFileSync(
    join(folder, 'emulator.conf'),
    `${storageOf(system.uuid)}SUSHY_EMULATOR_STATE_DIR = ${JSON.stringify(folder)}\nSUSHY_EMULATOR_FAKE_SYSTEMS = [${JSON.stringify(system).replaceAll('false', 'False').replaceAll('true', 'True')}]\nEXTERNAL_NOTIFICATION_URL = ${JSON.stringify(notify)}\n`,
  )
  const child = spawn(
    EMULATOR,
    [
      ...(libvirt ? ['--libvirt-uri', 'test:///default'] : ['--fake']),
      '--interface',
      host,
      '--port',
      String(port),
      '--config',
      join(folder, 'emulator.conf'),
      '--ssl-certificate',
      join(folder, 'cert.pem'),
      '--ssl-key',
      join(folder, 'key.pem'),
    ],
    {
      cwd: folder,
      stdio: 'ignore',
      env: { ...process.env, TMPDIR: folder, ...(libvirt ? { PYTHONPATH: bindings(folder) } : {}) },
    },
  )
  const credentials = { username: 'admin', password: 'example-pass' }
  const bmc = redfish.open({ bmc_ip: host, port, system_id: null, credentials, tls: { mode: 'insecure' } })
  await until('the emulator answers', async () => (await bmc.client.root({ once: true })) !== undefined)
  return { bmc, port, child }
}

/** The binding of Debian alone: its other modules must not shadow those of the emulator. */
function bindings(folder: string): string {
  const own = join(folder, 'bindings')
  mkdirSync(own)
  for (const name of readdirSync(PACKAGES)) if (/^libvirt(mod\.|\.py)/.test(name)) symlinkSync(join(PACKAGES, name), join(own, name)) // biome-ignore format: one rule
  return own
}

/** One controller with a disk; the emulator gives every disk the serial number 1234570. */
function storageOf(uuid: string): string {
  const controllers = "[{'MemberId': '0', 'Name': 'HBA', 'SpeedGbps': 12}]"
  const storage = `{'${uuid}': [{'Id': '1', 'Name': 'Disks', 'StorageControllers': ${controllers}, 'Drives': ['disk1']}]}`
  const drives = `{('${uuid}', '1'): [{'Id': 'disk1', 'Name': 'Disk 1', 'CapacityBytes': 1000204886016, 'Protocol': 'SAS'}]}`
  return `SUSHY_EMULATOR_STORAGE = ${storage}\nSUSHY_EMULATOR_DRIVES = ${drives}\n`
}

test('sushy-emulator: found by links, inventory without failure, power on and off verified, an image really fetched and ejected', {
  skip: no_emulator,
  timeout: 400_000,
}, async () => {
  const { bmc, child } = await startEmulator()
  const hits: string[] = []
  const images = createServer((request, response) => {
    hits.push(request.url ?? '')
    response.end('an image')
  })
  const url = `${await listenOn(images, { host: '127.0.0.1', port: 0 })}/boot/secret/small.iso`
  try {
    const inventory = await readInventory(bmc)
    assert.equal(inventory.nics[0]?.mac, MAC)
    assert.equal(bmc.client.login(), 'basic')
    await sendReset(bmc, 'On')
    await until('the machine is on', async () => (await readPower(bmc)).power_on === true)
    const slot = await bootSlot(bmc)
    await insertMedia(bmc, slot, url, 20_000)
    assert.deepEqual(hits, ['/boot/secret/small.iso'])
    assert.equal((await readSlot(bmc, slot.path)).inserted, true)
    assert.equal((await setBootOnce(bmc)).enabled, 'Continuous', 'the emulator knows no single boot')
    await ejectMedia(bmc, slot)
    await ejectMedia(bmc, slot)
    assert.equal((await readSlot(bmc, slot.path)).inserted, false)
    await sendReset(bmc, 'ForceOff')
    await until('the machine is off', async () => (await readPower(bmc)).power_on === false)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
    await closeServer(images)
  }
})

test('sushy-emulator with libvirt’s test driver: inventory, a BIOS change by its registry, an update that names the new version, power', {
  skip: no_libvirt,
  timeout: 120_000,
}, async () => {
  const { bmc, child } = await startEmulator({ libvirt: true })
  try {
    const inventory = await readInventory(bmc)
    assert.deepEqual([inventory.system.manufacturer, inventory.cpu.length], ['Sushy Emulator', 2])
    const reading = await readBios(bmc)
    assert.equal(reading.current?.['ProcTurboMode'], 'Enabled')
    const checked = checkBiosChange(reading, { ProcTurboMode: 'Disabled' })
    await submitBios(bmc, reading, checked)
    assert.equal((await readBios(bmc)).current?.['ProcTurboMode'], 'Disabled')
    const before_update = await readVersions(bmc)
    // It wants to be told what is updated, and fetches nothing.
    const { remote_id } = await submitUpdate(bmc, { image_uri: 'http://127.0.0.1:9/bios.bin' })
    assert.equal(remote_id, '42')
    const after_update = await readVersions(bmc)
    assert.deepEqual([before_update['BIOS'], after_update['BIOS']], ['1.0.0', '1.1.0'])
    await sendReset(bmc, 'ForceOff')
    await until('the machine is off', async () => (await readPower(bmc)).power_on === false, 60_000)
    await sendReset(bmc, 'On')
    await until('the machine is on', async () => (await readPower(bmc)).power_on === true, 60_000)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
})

/** The machine of the emulator, which tells only that it is on and what is in its drive: it starts from the file that the emulator has fetched. */
async function startWipedMachine() {
  const started: string[] = []
  const server = createServer((request, response) => {
    void json(request).then(async (body) => {
      const { power_state, boot_device, boot_image } = body as { power_state: string; boot_device?: string; boot_image?: { Cd?: [string | null] } } // biome-ignore format: one record
      response.end('{}')
      const file = boot_image?.Cd?.[0] ?? ''
      if (power_state !== 'On' || boot_device !== 'Cd' || file === '' || started.includes(file)) return
      started.push(file)
      const { callback, report } = wipeReport(readFileSync(file), [MAC]) ?? assert.fail()
      const headers = { 'content-type': 'application/json' }
      await (await fetch(callback, { method: 'POST', headers, body: JSON.stringify(report) })).text()
    })
  })
  return { started, server, url: await listenOn(server, { host: '127.0.0.1', port: 0 }) }
}

test('sushy-emulator: a decommission wipes its machine by the image that the emulator fetches, to verified evidence', {
  skip: no_emulator,
  timeout: 180_000,
}, async () => {
  const machine = await startWipedMachine()
  const { bmc, port, child } = await startEmulator({ state: 'On', notify: machine.url })
  const site = await startBmcSite({
    bmc: {
      allowed_networks: ['127.0.77.0/24', '127.0.81.0/24'], wipe_image: WIPE_FILE, image_addresses: ['127.0.0.1'], patience_seconds: 90,
    },
  }) // biome-ignore format: a record
  const { lab } = site
  const bmc_ip = '127.0.81.1'
  const ask = async (method: string, path: string, body?: object): Promise<Reply['body']> => {
    const reply = await lab.call(method, path, body)
    assert.ok(reply.status < 300, `${path}: ${reply.text}`)
    return reply.body
  }
  try {
    await ask('POST', '/configure/nodes', { bmc_ip, fqdn: 'old-1.example.internal', role: 'compute' })
    await ask('PUT', `/vendora-inventory/bmcs/${bmc_ip}`, { username: 'admin', password: 'example-pass', port })
    await ask('POST', '/vendora-inventory/collect', { bmc_ip })
    const path = `/configure/nodes/${bmc_ip}/decommission`
    const { fingerprint, wiped_disks } = await ask('POST', `${path}/preflight`, {})
    assert.deepEqual(wiped_disks, ['1234570'])
    const { job_id } = await ask('POST', path, { acknowledge: { fingerprint } })
    const job = await until('the node has left', async () => {
      const found = await ask('GET', `/jobs/${job_id}`)
      return found.job_status === 'running' ? undefined : found
    }, 150_000) // biome-ignore format: one call
    assert.equal(job.job_status, 'completed', job.failure_reason)
    const evidence = await ask('GET', `${path}/evidence`)
    assert.deepEqual([evidence.verdict, evidence.outstanding, evidence.expected_disks], ['verified', [], wiped_disks])
    assert.equal(evidence.image_fetched.by, '127.0.0.1')
    assert.equal(machine.started.length, 1, 'started from the image once')
    assert.equal((await bootSlot(bmc)).inserted, false)
    assert.equal((await readPower(bmc)).power_on, false)
  } finally {
    await site.close()
    child.kill('SIGTERM')
    await once(child, 'exit')
    await closeServer(machine.server)
  }
})

const CLIENT = `
import sys, time, sushy, urllib3
urllib3.disable_warnings()
root = sushy.Sushy(sys.argv[1], username=sys.argv[2], password=sys.argv[3], verify=False)
system = root.get_system()
print('power', system.power_state)
print('bios', system.bios.attributes['BootMode'])
system.bios.set_attribute('BootMode', 'Legacy', apply_time=sushy.APPLY_TIME_ON_RESET)
system.reset_system(sushy.RESET_FORCE_RESTART)
media = [m for m in root.get_manager().virtual_media.get_members() if sushy.VIRTUAL_MEDIA_CD in m.media_types][0]
media.insert_media(sys.argv[4])
media.refresh()
print('inserted', media.inserted)
media.eject_media()
for _ in range(600):
    system.refresh(force=True)
    system.bios.refresh(force=True)
    if system.bios.attributes['BootMode'] == 'Legacy':
        break
    time.sleep(0.1)
print('bios', system.bios.attributes['BootMode'])
`

test('python3-sushy drives our simulated BMC: power, BIOS through a job, media fetched and ejected', {
  skip: no_client,
  timeout: 400_000,
}, async () => {
  const lab = await startRedfish({ bmcs: [{ name: 'one', profile: 'idrac9-5', host: '127.0.81.2' }], speed: FAST })
  const { one } = lab.bmcs
  assert.ok(one !== undefined)
  const images = createServer((_request, response) => response.end('an image'))
  const url = `${await listenOn(images, { host: '127.0.0.1', port: 0 })}/small.iso`
  const script = join(tempFolder('gp-sushy-client-'), 'client.py')
  writeFileSync(script, CLIENT)
  try {
    const args = [script, `https://${one.host}:${one.port}`, one.username, one.password, url]
    const { stdout } = await promisify(execFile)('/usr/bin/python3', args, { env: { PATH: '/usr/bin:/bin' } })
    assert.deepEqual(stdout.trim().split('\n'), ['power PowerState.ON', 'bios Uefi', 'inserted True', 'bios Legacy'])
  } finally {
    await closeServer(images)
    await lab.close()
  }
})
