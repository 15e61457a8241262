// Virtual machines in the console: their parts, plans before changes, what is undone, and the habits of lists, in a browser.
import assert from 'node:assert/strict'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createChildren } from '../support/children.ts'
import {
  browserFor,
  checkAxe,
  type ConsoleBrowser,
  lamp,
  settled,
  skip,
  startConsoleBrowser,
} from '../support/console-browser.ts'
import { processesOf } from '../support/processes.ts'
import type { Lab } from '../support/start-lab.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

let lab: Lab
let started: ConsoleBrowser
before(async () => {
  if (skip !== false) return
  started = await startConsoleBrowser()
  lab = started.lab
})
after(() => started?.close())

interface Machine {
  id: string
  name: string
  state: string
  service_offering_id: string
}

async function machineNamed(name: string): Promise<Machine> {
  const { body } = await lab.call('POST', '/compute/vms/list', { name })
  return body.virtual_machines[0]
}

const stateOf = async (name: string): Promise<string> => (await machineNamed(name)).state
const grid = (page: Page) => page.getByRole('grid', { name: 'Virtual machines' })

test('each part of a machine is a tab with its own address, and a closed action there says why', { skip }, async () => {
  const machine = await machineNamed('web-01')
  const page = await started.pageFor()
  await started.open(page, `/vms/${machine.id}`)
  const tabs = page.getByRole('navigation', { name: 'Parts of the machine' })
  for (const [tab, shown] of [
    ['Disks', page.getByRole('region', { name: 'Disks' })],
    ['Network', page.getByRole('region', { name: 'NICs' })],
    ['Snapshots', page.getByText('There are none.')],
    ['Events', page.getByRole('region', { name: 'Entries' }).or(page.getByText('events are kept'))],
    ['Metrics', page.getByRole('button', { name: '1 h', exact: true })],
    ['Settings', page.getByRole('button', { name: /^Firmware and TPM/ })],
  ] as const) {
    await tabs.getByRole('link', { name: tab, exact: true }).click()
    await shown.first().waitFor()
    await tabs.locator('[aria-current="page"]', { hasText: tab }).waitFor()
    assert.match(page.url(), new RegExp(`/vms/${machine.id}/${tab.toLowerCase()}$`))
    await settled(page)
    await checkAxe(page, tab)
  }
  await tabs.getByRole('link', { name: 'Disks', exact: true }).click()
  const root = page.getByRole('row').filter({ hasText: '(root)' })
  const detach = root.getByRole('button', { name: /^Detach/ })
  await detach.waitFor()
  assert.equal(await detach.getAttribute('aria-disabled'), 'true')
  assert.match((await detach.textContent()) ?? '', /The machine is Running; it must be Stopped or Destroyed\./)
  await page.context().close()
})

test('a disk is made from the page of its machine, stands there without a reload, and is named among what a destruction leaves', {
  skip,
}, async () => {
  const machine = await machineNamed('db-01')
  const offerings = await lab.call('POST', '/catalog/serviceofferings/diskoffering/list', {})
  const offering = offerings.body.disk_offerings.find((one: { customized: boolean }) => !one.customized)
  const page = await started.pageFor()
  await started.open(page, `/vms/${machine.id}/disks`)
  await lamp(page)
  await page.getByRole('button', { name: 'New disk' }).click()
  const plan = page.getByRole('dialog', { name: `New disk ${machine.name}` })
  await plan.getByLabel('Name', { exact: true }).fill('console-data')
  await plan.getByLabel('disk offering id').fill(offering.id)
  await plan.getByRole('button', { name: 'New disk' }).click()
  await plan.waitFor({ state: 'detached' })
  await page.getByRole('region', { name: 'Disks' }).getByText('console-data').waitFor()

  await page.getByRole('link', { name: 'Summary' }).click()
  await page.getByRole('button', { name: /^Destroy/ }).click()
  const destroy = page.getByRole('dialog', { name: `Destroy ${machine.name}` })
  const lost = destroy.getByRole('region', { name: 'Will be lost' })
  await lost.getByText(`virtual machine ${machine.name}`).waitFor()
  await lost.getByText(/^root disk /).waitFor()
  const stays = destroy.getByRole('region', { name: 'Stays' })
  await stays.getByText('data disk console-data').waitFor()
  await checkAxe(page, 'plan of a destruction')
  await destroy.getByLabel('Delete data disk console-data too').check()
  await lost.getByText('data disk console-data').waitFor()
  await destroy.getByLabel('Delete data disk console-data too').uncheck()
  await stays.getByText('data disk console-data').waitFor()
  await destroy.getByLabel(/Type the name/).fill(machine.name)
  await destroy.getByRole('button', { name: /^Destroy/ }).click()
  await destroy.waitFor({ state: 'detached' })
  await until('it is destroyed', async () => (await stateOf(machine.name)) === 'Destroyed')
  const { body } = await lab.call('POST', '/compute/volumes/list', { name: 'console-data' })
  assert.equal(body.count, 1)

  // What was done is undone from any page, as a change of its own.
  await page.getByRole('contentinfo').getByRole('button', { name: 'Undo' }).click()
  const back = page.getByRole('dialog', { name: `Recover ${machine.name}` })
  await back.getByRole('button', { name: 'Recover' }).click()
  await back.waitFor({ state: 'detached' })
  await until('it is there again', async () => (await stateOf(machine.name)) === 'Stopped')
  await page.keyboard.press('Alt+t')
  const tasks = page.getByRole('dialog', { name: 'Tasks' })
  await tasks.getByRole('listitem').filter({ hasText: 'SUCCESS' }).first().waitFor()
  await checkAxe(page, 'tasks')
  await page.context().close()
})

test('a machine is created like another in three clicks, with its room before and after; an error stands at its field', {
  skip,
}, async () => {
  const model = await machineNamed('web-01')
  const page = await started.pageFor()
  await started.open(page, `/vms/${model.id}`)
  await page.getByRole('link', { name: 'Create like this' }).click()
  const offering = page.getByLabel('Offering')
  await until('the offering is chosen', async () => (await offering.inputValue()) === model.service_offering_id)
  const plan = page.getByRole('complementary', { name: 'Plan' })
  await plan
    .getByText(/becomes \d+ %/)
    .first()
    .waitFor()
  await settled(page)
  await checkAxe(page, 'provision')
  await page.getByLabel('name (required)').fill('-bad-')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.locator('input[name="name"][aria-invalid="true"]:focus').waitFor()
  await page.getByLabel('name (required)').fill('console-made')
  await plan.getByText('console-made').waitFor()
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Steps' }).waitFor()
  await until('it runs', async () => (await stateOf('console-made')) === 'Running')
  assert.equal((await machineNamed('console-made')).service_offering_id, model.service_offering_id)
  await page.context().close()
})

/** How many points of the screen are lit. */
const lit = (page: Page): Promise<number> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('.screen canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return data.filter((value, at) => at % 4 === 1 && value > 100).length
  })()`)

test('the screen of a machine is drawn inside the page, takes keys and pasted text, leaves its last frame, and comes back with the machine', {
  skip,
}, async () => {
  const machine = await machineNamed('web-03')
  const page = await started.pageFor()
  await started.open(page, `/vms/${machine.id}/screen`)
  await lamp(page)
  await page.getByText('Connected. Keys go to the machine').waitFor()
  const booted = await until('the boot screen is drawn', async () => (await lit(page)) > 1000 && lit(page))
  await page.locator('.screen canvas:focus').waitFor()
  await page.keyboard.type('root')
  const shows = () => lab.platform.state.consoles.text(machine.id)
  await until('the keys arrive', () => shows().endsWith(`${machine.name} login: root`))
  await until('the keys are drawn', async () => (await lit(page)) > booted)
  await page.keyboard.press('Control+Alt+Shift')
  await page.locator('.screen-frame button:focus').waitFor()
  await page.getByRole('button', { name: 'Paste text' }).click()
  await page.getByLabel(/^Text, typed/).fill('\nls -l')
  await checkAxe(page, 'screen')
  await page.getByRole('button', { name: 'Type 6 characters' }).click()
  await until('the text arrives', () => shows().endsWith('login: ls -l'))
  assert.equal((await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: machine.id })).status, 200)
  await page.getByRole('img', { name: 'The last frame of the screen' }).waitFor()
  await page.getByText('The machine is Stopped; it must be Running.').first().waitFor()
  assert.equal((await lab.call('POST', '/compute/vms/start', { virtual_machine_id: machine.id })).status, 200)
  await page.getByText('Connected. Keys go to the machine').waitFor()
  await page.context().close()
})

test('all that match are stopped by one plan that says what each will do, and another machine is left alone', {
  skip,
}, async () => {
  const page = await started.pageFor()
  await started.open(page, '/vms?keyword=kafka')
  await lamp(page)
  await grid(page).getByRole('link', { name: 'kafka-01', exact: true }).waitFor()
  await grid(page).focus()
  await page.keyboard.press('Control+a')
  const bar = page.getByRole('region', { name: 'Selection' })
  await bar.getByText('All 3 that match').waitFor()
  await bar.getByRole('button', { name: 'Stop …' }).click()
  const plan = page.getByRole('dialog', { name: 'Stop 3 machines' })
  await plan.getByText('2 can, 1 cannot.').waitFor()
  await plan.getByText('The machine is Stopped already.').waitFor()
  await checkAxe(page, 'plan for many')
  await plan.getByRole('button', { name: 'Stop 2', exact: true }).click()
  await plan.getByText('2 accepted, 0 failed.').waitFor()
  for (const name of ['kafka-01', 'kafka-02'])
    await until(`${name} stops`, async () => (await stateOf(name)) === 'Stopped')
  assert.equal(await stateOf('web-01'), 'Running')
  await page.context().close()
})

test('filter, columns and order are in the address, have a name, and leave as a file of all rows', {
  skip,
}, async () => {
  const page = await started.pageFor()
  await started.open(page, '/vms?state=Running')
  await grid(page).getByRole('link').first().waitFor()
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('dialog', { name: 'Columns' }).getByLabel('tenant', { exact: true }).uncheck()
  await page.keyboard.press('Escape')
  await grid(page).getByRole('columnheader', { name: 'tenant', exact: true }).waitFor({ state: 'detached' })
  const address = page.url()
  assert.match(address, /columns=name%2Cstate%2Chost_name/)
  await page.getByRole('button', { name: 'Views' }).click()
  const views = page.getByRole('dialog', { name: 'Views' })
  await views.getByLabel('Name of what is shown now').fill('what runs')
  await page.keyboard.press('Enter')
  await views.getByRole('link', { name: 'what runs' }).waitFor()
  await checkAxe(page, 'views')
  await page.keyboard.press('Escape')
  await started.open(page, '/vms')
  await grid(page).getByRole('columnheader', { name: 'tenant', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Views' }).click()
  await views.getByRole('link', { name: 'what runs' }).click()
  await grid(page).getByRole('columnheader', { name: 'tenant', exact: true }).waitFor({ state: 'detached' })
  assert.equal(page.url(), address)

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ])
  const lines = readFileSync(await file.path(), 'utf8').split('\r\n')
  const { body } = await lab.call('POST', '/compute/vms/list', { state: 'Running', page_size: 1 })
  assert.match(lines[0] ?? '', /^# vmList \{"state":"Running"\}/)
  assert.equal(lines[1], 'name,state,host_name,ip_address,memory_mb,service_offering_name')
  assert.equal(lines.length, body.count + 2)

  const user = { username: 'ann', password: 'correct horse battery', role: 'viewer' }
  assert.equal((await lab.call('POST', '/auth/users', user)).status, 201)
  await started.open(page, '/lists/userList?sort=-username')
  await page
    .getByRole('columnheader', { name: /^username/ })
    .and(page.locator('[aria-sort="descending"]'))
    .waitFor()
  await page.getByRole('button', { name: /^username/ }).click()
  await page
    .getByRole('columnheader', { name: /^username/ })
    .and(page.locator('[aria-sort="none"]'))
    .waitFor()
  assert.doesNotMatch(page.url(), /sort=/)
  await page.context().close()
})

test('one command starts a lab and prints a link, which is the console: nothing else is to be done', {
  skip,
}, async () => {
  const folder = tempFolder('gp-console-start-')
  // The account of the database must be able to pass.
  chmodSync(folder, 0o755)
  const children = createChildren()
  const state_dir = join(folder, 'state')
  const start = ['scripts/start', '--port', '0', '--state', state_dir, '--no-agents', '--no-cameras']
  const child = children.start('sh', start, { detached: true })
  try {
    const [, link = ''] = await until('it prints the link', () => {
      if (child.ended()) throw new Error(`it ended: ${child.errors()}${child.output()}`)
      return /^ *Console +(\S+)$/m.exec(child.output()) ?? undefined
    })
    const other = await browserFor(lab, new URL(link).origin)
    const page = await (await other.newContext()).newPage()
    await page.goto(link)
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await settled(page)
    await lamp(page)
    await other.open(page, '/vms')
    await grid(page).getByRole('link', { name: 'web-01', exact: true }).waitFor()
    assert.deepEqual(other.broken, [])
    await other.close()
  } finally {
    await child.end('SIGTERM')
    await children.close()
    await until('the database has followed', () => processesOf(state_dir).length === 0)
  }
})

test('nothing was asked of another origin, and the policy of the page was never broken', { skip }, () => {
  assert.deepEqual(started.broken, [])
})
