// What goes wrong with a remote KVM, its image and its addresses: the sentence names the KVM, the file or the address and what to
// do, and nothing is left on the KVM.
import assert from 'node:assert/strict'
import { renameSync, truncateSync, writeFileSync } from 'node:fs'
import { after, afterEach, before, test } from 'node:test'
import type { SimulatedKvm } from '../../lab/pikvm/server.ts'
import type { Reply } from '../support/http.ts'
import { type KvmSite, startKvmSite } from '../support/kvm-site.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let site: KvmSite<'one'>
let kvm: SimulatedKvm
before(async () => {
  site = await startKvmSite({ names: ['one'], installer: { off_seconds: 1 } })
  kvm = site.kvms.one
})
after(() => site?.close())
afterEach(() => {
  kvm.faults.clear()
  Object.assign(kvm.state.habits, {
    atx_disabled: false,
    dead_buttons: false,
    led_broken: false,
    bad_card: false,
    outcome: 'ok',
  })
  kvm.state.machine.power = false
})

const WAIT = { headers: { prefer: 'wait=60' } }
const codeOf = ({ status, body }: Reply): string => `${status} ${body?.code}`

function provision(more: object = {}, options: object = WAIT): Promise<Reply> {
  const [disk] = kvm.state.machine.disks
  const [nic] = kvm.state.machine.nics
  const body = {
    bmc_ip: kvm.host, control_node_ip: '127.0.0.1', selected_disks: [disk?.serial], selected_nic_mac: nic?.mac, ...more,
  } // biome-ignore format: one record
  return site.lab.call('POST', '/remotekvm-inventory/provision', body, options)
}

const FIXED = { static_ip: '127.0.83.11', static_netmask: '255.255.255.0', static_gateway: '127.0.83.254' }
const reveal = (more: object = {}, options: object = WAIT): Promise<Reply> =>
  site.lab.call(
    'POST',
    '/remotekvm-inventory/reveal',
    { controlNodeIp: '127.0.0.1', kvmIP: kvm.host, ...more },
    options,
  )

function fails(reply: Reply, code: string, says: string): void {
  assert.equal(codeOf(reply), code, reply.text)
  assert.ok(reply.body.detail.includes(says), reply.text)
  assert.deepEqual([kvm.state.images.size, kvm.state.drive.connected], [0, false], 'nothing is left on the KVM')
}

test('a KVM whose power buttons are not wired is named with the strategies that need none', async () => {
  kvm.state.habits.atx_disabled = true
  const says = `KVM ${kvm.host} is not wired to the power of its machine; use boot_strategy manual or bmc.`
  fails(await reveal({ auto_boot: true }), '400 KVM_REJECTED', says)
})

test('a machine that stays on though its button was held is named with what to check', async () => {
  kvm.state.machine.power = true
  kvm.state.habits.dead_buttons = true
  const says = `The machine of ${kvm.host} is still on, though its power button was held. Check the wires of the KVM.`
  fails(await reveal({ auto_boot: true }), '500 KVM_CHANGE_FAILED', says)
})

test('a machine whose power LED stays dark is named with the way out', async () => {
  kvm.state.habits.led_broken = true
  const says = `The machine of ${kvm.host} was switched on, and its power LED stays dark. Look at the machine, or send power_led false.`
  fails(await reveal({ auto_boot: true }), '500 KVM_CHANGE_FAILED', says)
})

test('a KVM that has a part of the image alone is named with both sizes', async () => {
  kvm.state.habits.bad_card = true
  const reply = await reveal()
  assert.match(reply.body.detail, new RegExp(`KVM ${kvm.host} accepted the image and has \\d+ of \\d+ bytes of it`))
  fails(reply, '500 KVM_CHANGE_FAILED', 'bytes of it.')
})

interface Spoiled {
  what: string
  file: 'template' | 'xorriso'
  /** Puts something else where the file was. */
  spoil?: (path: string) => void
  says: (path: string) => string
  code: string
}

const SPOILED: readonly Spoiled[] = [
  {
    what: 'a template that is gone',
    file: 'template',
    says: (path) => `The template ${path} cannot be read; see installer.template.`,
    code: '500 INSTALLER_NOT_CONFIGURED',
  },
  {
    what: 'a template that the folder of images has no room for',
    file: 'template',
    spoil(path) {
      writeFileSync(path, '')
      // Without a byte of it on the disk.
      truncateSync(path, 2 ** 42)
    },
    says: () => ' MiB are needed; see installer.work_dir.',
    code: '500 INSTALLER_NOT_CONFIGURED',
  },
  {
    what: 'a program for images that is gone',
    file: 'xorriso',
    says: (path) => `The program ${path} is not there: install xorriso, or set installer.xorriso.`,
    code: '500 INSTALLER_NOT_CONFIGURED',
  },
  {
    what: 'a program for images that fails',
    file: 'xorriso',
    spoil: (path) => writeFileSync(path, '#!/bin/sh\nexit 32\n', { mode: 0o755 }),
    says: () =>
      'The image of the node could not be made: xorriso failed. Check installer.template and installer.xorriso.',
    code: '500 INSTALL_FAILED',
  },
]
for (const { what, file, spoil, says, code } of SPOILED) {
  test(`${what} fails the job with the file or the folder and the setting, and nothing is sent to the KVM`, async () => {
    const path = site.lab.config.installer[file] ?? ''
    renameSync(path, `${path}.whole`)
    try {
      spoil?.(path)
      fails(await reveal(), code, says(path))
    } finally {
      renameSync(`${path}.whole`, path)
    }
  })
}

test('a prefix whose addresses no installed node may have, and one that is full, fail the job by address and prefix', async () => {
  const prefixOf = async (cidr: string, gateway: string): Promise<number> => {
    const { body, text } = await site.lab.call('POST', '/ddi/ipam/prefixes', { cidr, gateway })
    assert.ok(body.data?.id !== undefined, text)
    return body.data.id
  }
  const outside = await prefixOf('10.99.0.0/29', '10.99.0.1')
  const says = `10.99.0.2 of prefix ${outside} is not in installer.node_networks.`
  fails(await provision({ prefix_id: outside }), '400 INVALID_REQUEST', says)
  const full = await prefixOf('127.0.83.96/30', '127.0.83.97')
  const taken = await site.lab.call('POST', `/ddi/ipam/prefixes/${full}/addresses`, { dns_name: 'taken' })
  assert.ok(taken.status < 300, taken.text)
  const none = await provision({ prefix_id: full })
  fails(none, '400 IPAM_PREFIX_FULL', `Prefix ${full} has no free address, or is gone.`)
})

test('a machine that is in service is not restarted to reveal it, and its node is named with its status', async () => {
  const done = await provision({ ...FIXED, hostname: 'served' })
  assert.equal(done.status, 200, done.text)
  const set = (status: string) =>
    onDatabase(site.lab.database.connection, (client) =>
      client.query('update node set provision_status = $1 where bmc_ip = $2', [status, kvm.host]),
    )
  await set('ready')
  const presses = kvm.state.presses.length
  const reply = await reveal({ auto_boot: true })
  fails(reply, '400 NODE_STATE', `Node ${kvm.host} is ready; a reveal would restart it. Decommission it first.`)
  assert.equal(kvm.state.presses.length, presses)
  await set('discovered')
})

async function imageToken(): Promise<string> {
  return until('the image is connected', () => {
    const { drive, images } = kvm.state
    const text = drive.connected ? images.get(drive.image ?? '')?.bytes.toString('latin1') : undefined
    return /"token":"([^"]+)"/.exec(text ?? '')?.[1]
  })
}

const jobEnds = (id: string) =>
  until(`job ${id} ends`, async () => {
    const { body } = await site.lab.call('GET', `/jobs/${id}`)
    return body.job_status === 'running' ? undefined : body
  })

/** As the machine would. */
async function reports(token: string, phase: string, more: object = {}): Promise<Reply> {
  const macs = kvm.state.machine.nics.map(({ mac }) => mac)
  const said = { token, phase, macs, boot_id: 'b', ...more }
  return site.lab.call('POST', '/configure/nodes/phone-home', said, { token: '' })
}

test('a machine that cannot report its hardware ends the reveal with its own reason', async () => {
  kvm.state.habits.outcome = 'hang'
  const started = await reveal({}, {})
  assert.equal(started.status, 200, started.text)
  const reply = await reports(await imageToken(), 'failed', { code: 'no-disks', detail: 'lsblk shows none' })
  assert.equal(reply.status, 200, reply.text)
  const job = await jobEnds(started.body.job_id)
  assert.equal(job.failure_code, 'INSTALL_FAILED')
  assert.match(job.status, /The machine reports no hardware: no-disks: lsblk shows none/)
})

test('a node whose addresses are all outside of the networks of nodes is not taken over, and they are named', async () => {
  kvm.state.habits.outcome = 'hang'
  const started = await provision({ hostname: 'stray' }, {})
  assert.equal(started.body.status, 'started', started.text)
  const token = await imageToken()
  for (const phase of ['live-booted', 'installed', 'first-boot'])
    assert.equal((await reports(token, phase, { addresses: ['10.99.7.7'] })).status, 200, phase)
  const job = await jobEnds(started.body.job_id)
  assert.equal(job.failure_code, 'INSTALL_FAILED')
  const says = /The node reports the addresses 10\.99\.7\.7, of which none is in installer\.node_networks/
  assert.match(job.status, says)
})
