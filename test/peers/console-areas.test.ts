// The console's pages of areas in Debian's Chromium: nodes with their parts and life, their hardware, addresses, networks, cameras.
// One lab for all: simulated BMCs, an address server, an NVR, and a real agent on a captured host.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import type { LabAgents } from '../../lab/agents.ts'
import type { NvrLab } from '../../lab/nvr/server.ts'
import type { SimulatedBmc } from '../../lab/redfish/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import { contractTable } from '#src/modules/console/contract-table.ts'
import { type BmcSite, startBmcSite } from '../support/bmc-site.ts'
import { seedNvr, startLabNvr } from '../support/camera-lab.ts'
import { browserFor, checkAxe, type ConsoleBrowser, lamp, settled, skip } from '../support/console-browser.ts'
import { counted, tabTo } from '../support/console-presses.ts'
import { PARTS_OF_WALK, walkOfPages } from '../support/console-walk.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import type { Lab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

/** A node with an agent on a captured host. */
const SEEN = '10.1.0.11'
const DOOMED = 'legacy-crm'

let nvr: NvrLab
let site: BmcSite
let lab: Lab
let agents: LabAgents
let console: ConsoleBrowser
/** A host of the platform, with a simulated BMC and without an agent. */
let leaving: SimulatedBmc
before(async () => {
  if (skip !== false) return
  nvr = await startLabNvr()
  const cam = { nvr_port: Number(new URL(nvr.url).port) }
  site = await startBmcSite({ addresses: true, config: { cam } })
  lab = site.lab
  await seedNvr(lab, nvr)
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
  await nvr?.close()
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

/** Sends the open form of an operation, and waits until it was answered. */
async function send(page: Page, dialog_name: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: dialog_name, exact: true })
  await dialog.locator('button[type="submit"][aria-disabled="false"]').click()
  await dialog.getByRole('region', { name: 'Answer', exact: true }).waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
}

test('a lease becomes a reservation of its address and a lease again, from its row', { skip }, async () => {
  const page = await console.pageFor()
  await show(page, '/addresses/leases?scope_name=acme-office')
  await lamp(page)
  await page.getByRole('grid').getByRole('link', { name: 'desk-4' }).click()
  const row = page.getByRole('dialog', { name: 'desk-4' })
  await row.locator('button[aria-disabled="false"]', { hasText: 'Reserve this address' }).click()
  await send(page, 'Reserve this address')
  const reserved = await lab.call('GET', '/ddi/dhcp/reservations?scope_name=acme-office&search=desk-4')
  assert.equal(reserved.body.data.total_count, 1)
  await row.locator('button[aria-disabled="false"]', { hasText: 'Let it be a dynamic lease' }).click()
  await checkAxe(page, 'a lease in its dialog')
  await send(page, 'Let it be a dynamic lease')
  await row.locator('button[aria-disabled="false"]', { hasText: 'Reserve this address' }).waitFor()
  const after = await lab.call('GET', '/ddi/dhcp/reservations?scope_name=acme-office&search=desk-4')
  assert.equal(after.body.data.total_count, 0)
  await page.context().close()
})

test('a scope shows its use, and a difference is mended where it is shown', { skip }, async () => {
  const zone = 'moving.example'
  const reservation = {
    scope_name: 'acme-office',
    mac: '52:54:00:30:00:77',
    hostname: 'db',
    create_dns: true,
    dns_zone: zone,
  }
  for (const [method, path, body] of [
    ['POST', '/ddi/dns/zones', { name: zone, type: 'Primary' }],
    ['POST', '/ddi/dhcp/reservations', reservation],
    ['PUT', `/ddi/dns/zones/${zone}`, { name: zone, new_name: 'moved.example' }],
  ] as const) {
    const reply = await lab.call(method, path, body)
    assert.ok(reply.status < 300, reply.text)
  }
  const page = await console.pageFor()
  await show(page, '/addresses')
  const scope = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'acme-office' }) })
  await scope.getByRole('meter').waitFor()
  await page.getByRole('link', { name: 'Drift' }).click()
  await page.getByRole('button', { name: 'Compare now' }).click()
  await send(page, 'Compare now')
  const difference = page.getByRole('row').filter({ hasText: 'ptr_differs' })
  await difference.getByRole('button', { name: 'Restore what was ordered' }).click()
  await send(page, 'Restore what was ordered')
  await difference.waitFor({ state: 'detached' })
  await page.context().close()
})

/** Declares an MTU: the value, its plan, what cannot be verified, and then all nodes. */
async function rollOut(page: Page, mtu: string, presses: MtuPresses): Promise<void> {
  const form = page.getByRole('region', { name: 'New values' })
  await presses.type(form.getByLabel('management'), mtu)
  await presses.plan(form.getByRole('button', { name: 'Plan' }))
  const plan = form.getByRole('region', { name: 'Plan' })
  await plan.getByRole('cell', { name: mtu }).first().waitFor()
  assert.equal(await plan.getByRole('button', { name: 'Roll out' }).getAttribute('aria-disabled'), 'true')
  await checkAxe(page, 'plan of an MTU')
  await presses.acknowledge(plan.getByLabel('Go on without these'))
  await presses.rollOut(plan.locator('button[aria-disabled="false"]', { hasText: 'Roll out' }))
  const roll_out = form.getByRole('region', { name: 'Roll-out' })
  await roll_out.getByText('completed').first().waitFor()
  const node = roll_out.getByRole('list', { name: 'Nodes of the roll-out' }).getByRole('listitem')
  await node.getByText('kept', { exact: true }).first().waitFor()
  const { body } = await lab.call('GET', '/network/mtu')
  assert.equal(body.declared.management, Number(mtu))
}
type MtuPresses = Record<'plan' | 'acknowledge' | 'rollOut', (target: Locator) => Promise<void>> & {
  type(target: Locator, text: string): Promise<void>
}

test('a new MTU is a plan first, wants acknowledged what cannot be verified, and is followed on every node to its end: in four presses, by keyboard too', {
  skip,
}, async () => {
  const page = await console.pageFor()
  const { click, press, within } = counted(page)
  await show(page, '/mtu')
  await lamp(page)
  const type = async (field: Locator, text: string): Promise<void> => {
    await click(field)
    await page.keyboard.type(text)
  }
  await rollOut(page, '1400', { type, plan: click, acknowledge: click, rollOut: click })
  within(4, 'raise an MTU')
  await show(page, '/mtu')
  await lamp(page)
  const pressed = (key: string) => async (target: Locator) => {
    await target.waitFor()
    await tabTo(page, target)
    await press(key)
  }
  await rollOut(page, '1450', {
    type: async (field, text) => {
      await tabTo(page, field)
      await page.keyboard.type(text)
    },
    plan: () => press('Enter'),
    acknowledge: pressed('Space'),
    rollOut: pressed('Enter'),
  })
  within(4, 'raise an MTU, by keyboard')
  await page.context().close()
})

test('a camera is seen live in the console, and a switch of it acts where it stands', { skip }, async () => {
  const page = await console.pageFor()
  await show(page, '/cameras')
  const [camera] = (await lab.call('GET', '/cam/cameras')).body
  const detect = page.getByRole('switch', { name: `detect of ${camera.name}` })
  assert.equal(await detect.getAttribute('aria-checked'), String(camera.detect_enabled))
  await detect.click()
  await page.locator(`[role="switch"][aria-checked="${!camera.detect_enabled}"]`, { hasText: 'detect' }).waitFor()
  const [after] = (await lab.call('GET', '/cam/cameras')).body
  assert.equal(after.detect_enabled, !camera.detect_enabled)
  await page.getByRole('link', { name: camera.name, exact: true }).click()
  await page.getByRole('region', { name: 'Video' }).getByText(/^live/).waitFor()
  await page.context().close()
})

test('a user is made on the list of users, whose row is there at once', { skip }, async () => {
  const page = await console.pageFor()
  await show(page, '/lists/userList')
  await lamp(page)
  await page.getByRole('button', { name: 'Create user' }).click()
  const dialog = page.getByRole('dialog', { name: 'Create user' })
  await dialog.getByLabel('username').fill('carla')
  await dialog.getByLabel('password').fill('correct horse battery')
  await dialog.getByLabel('role').selectOption('viewer')
  await send(page, 'Create user')
  await page.getByRole('grid').getByRole('link', { name: 'carla' }).waitFor()
  await page.context().close()
})

/** Runs a copied command as it stands, by the program of this checkout. */
async function runCopied(command: string): Promise<string> {
  const shell = `groundplane() { "${process.execPath}" bin/cli.ts "$@"; }\n${command}`
  const env = { ...process.env, GROUNDPLANE_URL: lab.url, GROUNDPLANE_TOKEN: lab.token }
  return (await promisify(execFile)('sh', ['-c', shell], { env })).stdout
}

test('a plan is taken away as a command, as curl and as a program, and each does the same when it is run', {
  skip,
}, async () => {
  const page = await console.pageFor()
  await show(page, '/operations/nodeRegister')
  await page.getByText('The same as a command').click()
  const command = page.getByRole('region', { name: 'Command' })
  const written = { CLI: 'groundplane node register', curl: 'curl -sS', TypeScript: 'await fetch' }
  for (const [at, [kind, begins]] of Object.entries(written).entries()) {
    const bmc_ip = `10.1.9.${at + 1}`
    await page.getByLabel('bmc ip').fill(bmc_ip)
    await page.getByRole('button', { name: kind, exact: true }).click()
    await page
      .getByRole('region', { name: 'Command' })
      .filter({ hasText: begins })
      .filter({ hasText: bmc_ip })
      .waitFor()
    const text = ((await command.textContent()) ?? '').trim()
    const run = kind === 'TypeScript' ? `"${process.execPath}" --input-type=module <<'PROGRAM'\n${text}\nPROGRAM` : text
    assert.match(await runCopied(run), new RegExp(bmc_ip.replaceAll('.', '\\.')))
    assert.equal((await lab.call('GET', `/configure/nodes/${bmc_ip}`)).status, 200)
  }
  await page.context().close()
})

test('a host is emptied by one plan that names its machines, and the machines are elsewhere: in three presses, by keyboard too', {
  skip,
}, async () => {
  const page = await console.pageFor()
  const { click, press, within } = counted(page)
  const on_host = async (host_id: string): Promise<{ pending_job_id: string | null }[]> =>
    (await lab.call('POST', '/compute/vms/list', { host_id, page_size: 500 })).body.virtual_machines
  const hostPage = async (name: string): Promise<string> => {
    const [host] = (await lab.call('GET', `/infrastructure/hosts?keyword=${name}`)).body.hosts
    // A machine that just came is still being changed, and would stay.
    await until('no job changes a machine on it', async () => {
      const machines = await on_host(host.id)
      return machines.length > 0 && machines.every(({ pending_job_id }) => pending_job_id === null)
    })
    await show(page, '/hosts')
    await lamp(page)
    await page.getByRole('grid').getByRole('link', { name }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    await empty.waitFor()
    return host.id
  }
  const empty = page.locator('button[aria-disabled="false"]', { hasText: 'Empty this host' })
  const dialog = page.getByRole('dialog', { name: /^Move / })
  const move = dialog.locator('button[type="submit"][aria-disabled="false"]')
  const emptied = async (host_id: string): Promise<void> => {
    await dialog.getByText(/accepted, 0 failed/).waitFor()
    await until('no machine is on the host', async () => (await on_host(host_id)).length === 0)
  }
  const first = await hostPage('kvm-06')
  await click(empty)
  await click(move)
  within(3, 'empty a host')
  await emptied(first)
  const second = await hostPage('kvm-05')
  await tabTo(page, empty)
  await press('Enter')
  await move.and(page.locator(':focus')).waitFor()
  await press('Enter')
  within(3, 'empty a host, by keyboard')
  await emptied(second)
  await page.context().close()
})

const CHANGES = Object.values(contractTable())
  .filter(({ effect }) => effect === 'change')
  .map(({ method, path }) => ({ method, path: new RegExp(`^${path.replace(/\{\w+\*?\}/g, '[^/]+')}$`) }))

/** Those that lead to another page come last. */
const KEYS = [
  ...Array.from('abcdefhijklmopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0,;:-_+*#<>!"$%&()=[]{}@~^x'), 'Delete', 'Backspace', 'Insert', 'Home',
  'End', 'PageDown', 'ArrowDown', 'ArrowRight', 'F2', 'F8', 'Shift+Delete', 'Control+Delete', 'Control+Backspace', 'Control+d',
  'Control+a', 'Alt+d', 'Alt+Delete', 'Delete', 'd', '.', 'Delete', 'd', 'Escape', '?', 'd', 'Escape', '3', '9', 'g', 'n', '/',
] // biome-ignore format: one list

test('no key alone changes anything, wherever something can be destroyed', { skip }, async () => {
  const page = await console.pageFor()
  const changes: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (CHANGES.some(({ method, path }) => method === request.method() && path.test(pathname))) changes.push(pathname)
  })
  const { body } = await lab.call('POST', '/compute/vms/list', { state: 'Stopped', page_size: 1 })
  const machine = body.virtual_machines[0].id
  for (const path of [
    '/vms',
    `/vms/${machine}`,
    `/vms/${machine}/disks`,
    `/nodes/${SEEN}/record`,
    `/nodes/${SEEN}/decommission`,
    '/lists/userList',
  ]) {
    // biome-ignore format: one list
    await show(page, path)
    await lamp(page)
    const grid = page.getByRole('grid')
    if ((await grid.count()) > 0) await grid.focus()
    for (const key of KEYS) await page.keyboard.press(key)
  }
  // What is sent by a press comes before this, which is refused: it lacks the token of the page.
  await page.evaluate("fetch('/compute/vms/destroy', { method: 'POST' })")
  await until('a change is noticed', () => changes.length > 0)
  assert.deepEqual(changes, ['/compute/vms/destroy'])
  await page.context().close()
})

test('what is not known is a dash with its reason, and zero is a zero', { skip }, async () => {
  const page = await console.pageFor()
  const { nics } = (await lab.call('GET', `/configure/nodes/${SEEN}/nics`)).body
  const reasons = (nics as { ipAddress: string | null; unavailable: { field: string; reason: string }[] }[]).flatMap(
    ({ unavailable }) => unavailable.filter(({ field }) => field === 'ipAddress').map(({ reason }) => reason),
  )
  assert.ok(reasons.length > 0)
  await show(page, `/nodes/${SEEN}/network`)
  const table = page.getByRole('region', { name: 'NICs of the node' })
  await table.getByRole('row').nth(nics.length).waitFor()
  for (const reason of new Set(reasons)) {
    const cells = table.getByRole('cell').filter({ has: page.getByTitle(reason, { exact: true }) })
    assert.deepEqual(new Set(await cells.allInnerTexts()), new Set(['–']), reason)
    assert.ok((await cells.count()) >= reasons.filter((one) => one === reason).length, reason)
  }

  const columns = [
    'name',
    'ip_address',
    'public_ip_address',
    'group',
    'cpu_cores',
    'gpu_count',
    'iso_name',
    'host_name',
  ]
  await show(page, `/vms?columns=${columns.join(',')}`)
  await lamp(page)
  const grid = page.getByRole('grid')
  await grid.getByRole('link').nth(9).waitFor()
  await until('each cell is what the service says', async () => {
    const { virtual_machines } = (await lab.call('POST', '/compute/vms/list', { page: 1, page_size: 100 })).body
    const shown = await grid.locator('[role="row"]:not(.head)').all()
    const texts = await Promise.all(shown.slice(0, 10).map((row) => row.getByRole('gridcell').allInnerTexts()))
    return texts.every((cells) => {
      // The first cell selects the row.
      const values = cells.slice(1, columns.length + 1)
      const machine = virtual_machines.find(({ name }: { name: string }) => name === values[0])
      return columns.every((column, at) => textOf(machine?.[column]) === values[at])
    })
  })
  await page.context().close()
})

const textOf = (value: unknown): string => (value === null || value === '' ? '–' : String(value))

test('a job shows how long each step took and usually takes, and where there is no way back', { skip }, async () => {
  const page = await console.pageFor()
  const { body } = await lab.call('GET', '/jobs?job_type=decommission&job_status=completed')
  const [job] = body.jobs
  const { body: detail } = await lab.call('GET', `/jobs/${job.id}`)
  assert.ok(detail.steps.every((step: { started_at: string; ended_at: string }) => step.started_at <= step.ended_at))
  assert.equal(typeof detail.no_return_step, 'string')
  await show(page, `/jobs/${job.id}`)
  await page
    .getByRole('listitem', { name: 'Point of no return' })
    .getByText(/passed at/)
    .waitFor()
  await page.getByRole('button', { name: /Cancel job.*has ended/ }).waitFor()
  await page.context().close()
})

const walk = walkOfPages(() => console, SEEN)
for (let number = 0; number < PARTS_OF_WALK; number++) {
  const part = `part ${number + 1} of ${PARTS_OF_WALK}`
  test(
    `axe finds nothing on any page in any theme, each fits a phone, gives a reason for what is closed, and complains of nothing: ${part}`,
    {
      skip,
    },
    () => walk(number),
  )
}

test('nothing was asked of another origin, and the policy of the pages was never broken', { skip }, () => {
  assert.deepEqual(console.broken, [])
})
