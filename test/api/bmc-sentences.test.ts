// What a BMC takes and does not do, and what of the configuration a record needs: the sentence names the BMC, the value and what
// to do, and the drive is left empty.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import pg from 'pg'
import type { BmcFault } from '../../lab/redfish/faults.ts'
import type { SimulatedBmc } from '../../lab/redfish/server.ts'
import { LOCKS } from '#src/store/locks.ts'
import { BMC_CALLS, type BmcSite, codeOf, ISO_FILE, putRecord, startBmcSite } from '../support/bmc-site.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { endWait } from '../support/lock-waits.ts'
import { openStream, type SseReader } from '../support/sse-client.ts'
import { until } from '../support/until.ts'

let site: BmcSite
let bmc: SimulatedBmc
before(async () => {
  site = await startBmcSite({ bmc: { patience_seconds: 1 } })
  bmc = site.bmcs.idrac10
})
after(() => site?.close())
afterEach(() => {
  bmc.faults.clear()
  bmc.state.habits.ignore_reset = false
  bmc.state.power = 'On'
})

const mount = () => site.ask(bmc, 'iso/mount', BMC_CALLS['iso/mount'], { headers: { prefer: 'wait=60' } })
/** Answered as done, and not done. */
const taken = (match: string): BmcFault => ({ kind: 'status', match, status: 200, times: 100 })

interface Failure {
  what: string
  prepare: () => void | Promise<void>
  says: () => string
}

const FAILURES: readonly Failure[] = [
  {
    what: 'a BMC that does not show the image that it took',
    prepare: () => bmc.faults.add(taken('POST .*InsertMedia')),
    says: () => `BMC ${bmc.host} accepted the image, but does not show it in `,
  },
  {
    what: 'a BMC that does not show the boot device that it took',
    prepare: () => bmc.faults.add(taken('PATCH .*')),
    says: () => `BMC ${bmc.host} accepted the boot device, but shows None. Set it in its web page.`,
  },
  {
    what: 'a machine that does not start',
    prepare: () => {
      bmc.state.power = 'Off'
      bmc.state.habits.ignore_reset = true
    },
    says: () => `The machine of BMC ${bmc.host} did not start within 1 s. Look at its console, and repeat the request.`,
  },
]
for (const { what, prepare, says } of FAILURES) {
  test(`${what} fails the mount by its address with what to do, and the drive is empty`, async () => {
    await prepare()
    const reply = await mount()
    assert.equal(codeOf(reply), '500 BMC_CHANGE_FAILED', reply.text)
    assert.ok(reply.body.detail.includes(says()), reply.text)
    assert.ok(bmc.state.media.every(({ image }) => image === null))
  })
}

test('an image that nobody serves is named with the settings that lead to it, before the BMC is asked for anything', async () => {
  const { bmc: settings } = site.lab.config
  settings.image_port = await freeTcpPort()
  try {
    const reply = await mount()
    assert.equal(codeOf(reply), '400 BMC_REJECTED', reply.text)
    const says = `${ISO_FILE} cannot be fetched from http://127.0.0.1:${settings.image_port}/boot/…: check control_node_ip and bmc.image_port.`
    assert.ok(reply.body.detail.includes(says), reply.text)
    assert.ok(!site.asked(bmc).some((line) => /InsertMedia.*refused/.test(line)))
  } finally {
    delete settings.image_port
  }
})

test('an image that left the folder after its mount is named to who fetches it', async () => {
  const reply = await mount()
  assert.equal(reply.status, 200, reply.text)
  const path = join(site.iso_dir, ISO_FILE)
  rmSync(path)
  const fetched = await site.lab.call('GET', new URL(bmc.state.booted_from).pathname, undefined, { token: null })
  assert.equal(codeOf(fetched), '500 BMC_NOT_CONFIGURED', fetched.text)
  assert.equal(fetched.body.detail, `${ISO_FILE} is not in bmc.iso_dir any more.`)
  writeFileSync(path, Buffer.alloc(100_000, 7))
  for (const media of bmc.state.media) media.image = null
})

test('a change that another one to the same BMC holds up all the time is 409 with its address, and is not sent', async () => {
  const client = new pg.Client(site.lab.database.connection)
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1::int, hashtext($2))', [LOCKS.bmc_change, bmc.host])
    const asked = site.ask(bmc, 'poweraction', { reset_type: 'ForceOff' }, { headers: { prefer: 'wait=60' } })
    await endWait(client, LOCKS.bmc_change)
    const reply = await asked
    assert.equal(codeOf(reply), '409 BMC_JOB_CONFLICT', reply.text)
    assert.match(reply.body.detail, new RegExp(`Another change is being sent to BMC ${bmc.host}; try again`))
    assert.equal(bmc.state.power, 'On')
  } finally {
    await client.end()
  }
})

test('a record whose tls_mode the configuration does not allow any more is refused by its address and the setting', async () => {
  const { bmc: settings } = site.lab.config
  const old = site.bmcs['idrac9-5']
  settings.insecure_allowed = true
  await putRecord(site, old, { tls_mode: 'insecure' })
  settings.insecure_allowed = false
  const insecure = await site.ask(old, 'powerstate')
  assert.equal(codeOf(insecure), '500 BMC_NOT_CONFIGURED', insecure.text)
  const says = `The record of BMC ${old.host} wants no check of its certificate, which bmc.insecure_allowed does not allow.`
  assert.equal(insecure.body.detail, says)
  settings.ca_file = '/dev/null'
  await putRecord(site, old, { tls_mode: 'ca' })
  delete settings.ca_file
  const unknown = await site.ask(old, 'powerstate')
  assert.equal(codeOf(unknown), '500 BMC_NOT_CONFIGURED', unknown.text)
  assert.equal(unknown.body.detail, `The record of BMC ${old.host} has tls_mode ca, which needs bmc.ca_file.`)
})

test('the 51st who watches one BMC is asked to wait, with its address, and the others go on', async () => {
  const url = `${site.lab.url}/vendora-inventory/powerstate/sse?bmc_ip=${bmc.host}`
  const watchers: SseReader[] = []
  for (let count = 0; count < 50; count += 1) watchers.push(await openStream(url, site.lab.token))
  try {
    const late = await site.lab.call('GET', `/vendora-inventory/powerstate/sse?bmc_ip=${bmc.host}`)
    assert.equal(codeOf(late), '429 RATE_LIMITED', late.text)
    assert.equal(late.body.detail, `BMC ${bmc.host} is watched already; close a stream first.`)
    assert.equal(late.headers.get('retry-after'), '30')
    bmc.state.power = 'Off'
    await until('the others hear', () => watchers.every(({ messages }) => messages.at(-1)?.data.power_on === false))
  } finally {
    for (const watcher of watchers) watcher.close()
  }
})
