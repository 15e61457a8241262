// The console's pages of areas in Debian's Chromium: nodes with their parts and life, their hardware, addresses, networks, cameras.
// One lab for all: simulated BMCs, an address server, an NVR, and a real agent on a captured host.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { LabAgents } from '../../lab/agents.ts'
import type { SimulatedBmc } from '../../lab/redfish/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import { type BmcSite, startBmcSite } from '../support/bmc-site.ts'
import { browserFor, checkAxe, type ConsoleBrowser, lamp, settled, skip } from '../support/console-browser.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import type { Lab } from '../support/start-lab.ts'

/** A node with an agent on a captured host. */
const SEEN = '10.1.0.11'
const DOOMED = 'legacy-crm'

let site: BmcSite
let lab: Lab
let agents: LabAgents
let console: ConsoleBrowser
/** A host of the platform, with a simulated BMC and without an agent. */
let leaving: SimulatedBmc
before(async () => {
  if (skip !== false) return
  site = await startBmcSite({ addresses: true })
  lab = site.lab
  agents = await startEnrolledAgents(lab, ['kvm-01'])
  leaving = site.bmcs['idrac9-7']
  const node = { bmc_ip: leaving.host, node_ip: '10.0.0.12', fqdn: 'kvm-02.example.internal', role: 'compute' }
  const reply = await lab.call('POST', '/configure/nodes', node)
  assert.equal(reply.status, 201, reply.text)
  console = await browserFor(lab)
})
after(async () => {
  await console?.close()
  await agents?.close()
  await site?.close()
})

/** Opens a page, and waits until nothing of it waits. */
async function show(page: Page, path: string): Promise<void> {
  await console.open(page, path)
  await settled(page)
}

test('disks, NICs and storage of a node are on its page as its agent tells them', { skip }, async () => {
  const page = await console.pageFor()
  const { body: node } = await lab.call('GET', `/configure/nodes/${SEEN}`)
  const headers = { 'x-target-node': node.node_ip }
  const disks = (await lab.call('GET', '/storage/host/disks', undefined, { headers })).body.disks
  assert.ok(disks.length > 0)
  await show(page, `/nodes/${SEEN}/disks`)
  const table = page.getByRole('region', { name: 'Disks of the node' })
  for (const { device, serial } of disks) {
    const row = table.getByRole('row').filter({ has: page.getByRole('cell', { name: device, exact: true }) })
    if (serial !== null) await row.getByText(serial, { exact: true }).waitFor()
  }
  await page.getByRole('navigation', { name: 'Parts of the node' }).getByRole('link', { name: 'Network' }).click()
  const nics = (await lab.call('GET', `/configure/nodes/${SEEN}/nics`)).body.nics
  const shown = page.getByRole('region', { name: 'NICs of the node' })
  for (const { interfaceName } of nics)
    await shown.getByRole('cell', { name: interfaceName, exact: true }).first().waitFor()
  await page.context().close()
})

test('the verdict on each area of a node stands with its reasons and since when', { skip }, async () => {
  const page = await console.pageFor()
  const { body } = await lab.call('GET', `/configure/nodes/${SEEN}/health`)
  await show(page, `/nodes/${SEEN}`)
  const rows = page.getByRole('region', { name: 'Areas' })
  for (const { area } of body.areas) await rows.getByRole('cell', { name: area, exact: true }).waitFor()
  await page.context().close()
})

/** A disk of the machine lies on storage of its host alone, so that it cannot move. */
function putOnLocalStorage(): void {
  const { vms, storagepools, volumes } = lab.platform.state.tables
  const stopped = vms.get(wellKnown.vms[DOOMED]) ?? assert.fail()
  const ceph = storagepools.get(wellKnown.storage_pools['ceph-rbd']) ?? assert.fail()
  const id = seededId('storagepool', 'local-kvm-02')
  storagepools.put({ ...ceph, id, name: 'local-kvm-02', scope: 'HOST', ipaddress: '10.0.0.12' })
  for (const disk of volumes.by('vm', stopped.id)) volumes.put({ ...disk, storageid: id })
}

test('a node leaves after its preflight was read and each name typed; its steps and what is next are live', {
  skip,
}, async () => {
  putOnLocalStorage()
  const page = await console.pageFor()
  await show(page, `/nodes/${leaving.host}/decommission`)
  await lamp(page)
  const preflight = page.getByRole('region', { name: 'Preflight' })
  const button = preflight.getByRole('button', { name: /^Decommission/ })
  await preflight.getByRole('combobox', { name: /^Wipe/ }).selectOption('none')
  await preflight.getByRole('region', { name: 'Machines that are destroyed' }).getByText(DOOMED).waitFor()
  await button.getByText('Machines would be destroyed').waitFor()
  await preflight.getByLabel('Machines that cannot move may be destroyed').check()
  const name = preflight.getByLabel(DOOMED)
  await name.fill('legacy-cmr')
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  await name.fill(DOOMED)
  await preflight.getByLabel('Reason').fill('old')
  await checkAxe(page, 'preflight')
  await preflight.locator('button[aria-disabled="false"]', { hasText: 'Decommission' }).click()

  const latest = page.getByRole('region', { name: 'Latest: decommission' })
  await latest.getByText(/^Next: /).waitFor()
  await latest.getByText('completed').first().waitFor()
  const { body } = await lab.call('POST', `/configure/nodes/${leaving.host}/decommission/status`)
  for (const step of body.steps) await latest.getByText(step.name).first().waitFor()
  await page.context().close()
})

test('power of a machine is switched after its name was typed, and the page follows', { skip }, async () => {
  const page = await console.pageFor()
  const bmc = site.bmcs['generic-2023']
  const node = { bmc_ip: bmc.host, fqdn: 'bare-01.example.internal' }
  assert.equal((await lab.call('POST', '/configure/nodes', node)).status, 201)
  await show(page, `/nodes/${bmc.host}/hardware`)
  await lamp(page)
  const power = page.getByRole('region', { name: 'Power' })
  await power.getByText('On', { exact: true }).first().waitFor()
  await power.getByRole('button', { name: 'ForceOff' }).click()
  const dialog = page.getByRole('dialog', { name: 'ForceOff' })
  await dialog.getByLabel(/to confirm$/).fill('bare-01.example.internal')
  await dialog.locator('button[aria-disabled="false"]', { hasText: 'ForceOff' }).click()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await power.getByRole('button', { name: /ForceOff.*The machine is off/ }).waitFor()
  await page.context().close()
})

test('a viewer reads every part of a node, and has a reason at every change', { skip }, async () => {
  const page = await console.pageFor({ role: 'viewer' })
  await show(page, `/nodes/${SEEN}/life`)
  const set_up = page.getByRole('button', { name: /^Set up/ })
  assert.match((await set_up.textContent()) ?? '', /Needs the role admin; you have viewer\./)
  await show(page, `/nodes/${SEEN}/decommission`)
  await page.getByText('Needs the role operator; you have viewer.').waitFor()
  await page.context().close()
})

const NODE_PARTS = [
  '', '/disks', '/network', '/storage', '/gpus', '/benchmarks', '/life', '/decommission', '/hardware', '/record', '/none',
] // biome-ignore format: one list

test('axe finds nothing on any of these pages, light and dark', { skip }, async () => {
  const page = await console.pageFor()
  const paths = NODE_PARTS.map((part) => `/nodes/${SEEN}${part}`)
  for (const path of [...paths, `/nodes/${leaving.host}/life`, `/nodes/${leaving.host}/hardware`]) {
    await show(page, path)
    await checkAxe(page, path)
  }
  await page.context().close()
})

test('nothing was asked of another origin, and the policy of the pages was never broken', { skip }, () => {
  assert.deepEqual(console.broken, [])
})
