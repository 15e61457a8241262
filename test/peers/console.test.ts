// The console in a real browser (Debian's Chromium): signing in, live rows, plans and reasons, rights, lost connections, and what
// every page must hold: no complaint of axe, no break of the policy, no request to elsewhere.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAxe, type ConsoleBrowser, lamp, settled, skip, startConsoleBrowser } from '../support/console-browser.ts'
import type { Lab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'correct horse battery'
const MACHINES = 20_000

let lab: Lab
let started: ConsoleBrowser
before(async () => {
  if (skip !== false) return
  started = await startConsoleBrowser({ size: { vms: MACHINES } })
  lab = started.lab
})
after(() => started?.close())

const newContext = () => started.newContext()
const linkFor = (token: string) => started.linkFor(token)
const pageFor = (rights?: { role: string; tenant_id?: string }) => started.pageFor(rights)
const open = (page: Page, path: string) => started.open(page, path)

async function oneMachine(state: string): Promise<{ id: string; name: string }> {
  const { body } = await lab.call('POST', '/compute/vms/list', { state, page_size: 1 })
  return body.virtual_machines[0]
}

async function openList(page: Page, query = ''): Promise<void> {
  await open(page, `/vms${query}`)
  await page.getByRole('grid', { name: 'Virtual machines' }).getByRole('link').first().waitFor()
}

test('a sign-in link opens a session once; the code is gone from the address, and no store of the browser holds a credential', {
  skip,
}, async () => {
  const link = await linkFor(lab.token)
  const page = await (await newContext()).newPage()
  await page.goto(link)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  assert.equal(new URL(page.url()).hash, '')
  const stores = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')
  assert.equal(stores, '[{},{},""]')
  const second = await (await newContext()).newPage()
  await second.goto(link)
  await second.getByText('This sign-in link is not known').waitFor()
  await page.context().close()
  await second.context().close()
})

test('somebody signs in by password, and signing out in one tab leaves the other, and nothing that was typed', {
  skip,
}, async () => {
  const user = { username: 'ann', password: PASSWORD, role: 'viewer' }
  assert.equal((await lab.call('POST', '/auth/users', user)).status, 201)
  const context = await newContext()
  const page = await context.newPage()
  await open(page, '/vms')
  await page.getByLabel('User name').fill('ann')
  await page.getByLabel('Password').fill('not the password')
  await page.keyboard.press('Enter')
  await page.getByText('User name or password is wrong').waitFor()
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  // The page that was asked for opens.
  await page.getByRole('heading', { name: 'Virtual machines' }).waitFor()
  const other = await context.newPage()
  await open(other, '/me')
  await lamp(other)
  await open(page, '/operations/vmList')
  await page.getByLabel('keyword').fill('half typed')
  await open(page, '/jobs')
  await lamp(page)
  assert.match(String(await page.evaluate('JSON.stringify({ ...sessionStorage })')), /half typed/)
  await other.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You signed out in another tab.').waitFor()
  assert.equal(await page.evaluate('JSON.stringify({ ...sessionStorage })'), '{}')
  await context.close()
})

test('20,000 machines are a list of which only what is shown is asked for, to its very end', { skip }, async () => {
  const page = await pageFor()
  let lists = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/compute/vms/list')) lists++
  })
  await openList(page)
  const grid = page.getByRole('grid', { name: 'Virtual machines' })
  assert.equal(await grid.getAttribute('aria-rowcount'), String(MACHINES + 1))
  assert.ok((await grid.getByRole('row').count()) < 80)
  assert.ok(lists <= 2, `${lists} lists`)
  lists = 0
  await grid.focus()
  await page.keyboard.press('End')
  await grid.locator(`#row-${MACHINES - 1} a`).waitFor()
  await until('no row waits', async () => (await grid.locator('.waiting').count()) === 0)
  assert.ok(lists <= 2, `${lists} lists for a jump to the end`)
  await page.context().close()
})

test('a machine that is stopped elsewhere is Stopped in its row without another list', { skip }, async () => {
  const machine = await oneMachine('Running')
  const page = await pageFor()
  await openList(page, `?keyword=${machine.name}`)
  await lamp(page)
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: machine.name, exact: true }) })
  await row.getByText('Running').waitFor()
  const wide: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/compute/vms/list') && !request.postData()?.includes('"ids"')) wide.push(request.url())
  })
  // The page reads this machine again, and would ask for the list at the same moment.
  const read = page.waitForResponse(
    (answer) => answer.request().postData()?.includes(`"ids":["${machine.id}"]`) === true,
  )
  assert.equal((await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: machine.id })).status, 200)
  await Promise.all([read, row.getByText('Stopped').waitFor()])
  assert.deepEqual(wide, [])
  await page.context().close()
})

test('every action is there with its reason; a stop shows its plan first; destroying wants the name', {
  skip,
}, async () => {
  const machine = await oneMachine('Running')
  const page = await pageFor()
  await openList(page, `?keyword=${machine.name}`)
  await page.getByRole('button', { name: `Actions of ${machine.name}`, exact: true }).click()
  const menu = page.getByRole('dialog', { name: machine.name })
  const start = menu.getByRole('button', { name: /^Start/ })
  assert.equal(await start.getAttribute('aria-disabled'), 'true')
  assert.match((await start.textContent()) ?? '', /The machine is Running already\./)
  assert.match((await menu.getByRole('button', { name: /^Expunge/ }).textContent()) ?? '', /it must be Destroyed/)
  await menu.getByRole('button', { name: /^Stop/ }).click()
  const plan = page.getByRole('dialog', { name: `Stop ${machine.name}` })
  await plan.getByText('will stop').waitFor()
  await plan.getByRole('button', { name: /^Stop/ }).click()
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: machine.name, exact: true }) })
  await row.getByText('Stopped').waitFor()

  await page.getByRole('button', { name: `Actions of ${machine.name}`, exact: true }).click()
  await menu.getByRole('button', { name: /^Destroy/ }).click()
  const destroy = page.getByRole('dialog', { name: `Destroy ${machine.name}` })
  const button = destroy.getByRole('button', { name: /^Destroy/ })
  await destroy.getByLabel(/Type the name/).fill('another')
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  await destroy.getByLabel(/Type the name/).fill(machine.name)
  await button.click()
  await destroy.waitFor({ state: 'detached' })
  await until('it is destroyed', async () => {
    const { body } = await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: machine.id })
    return body.state === 'Destroyed'
  })
  await page.context().close()
})

test('a viewer has a reason at every change; somebody of a tenant sees that tenant and is refused nothing', {
  skip,
}, async () => {
  const viewer = await pageFor({ role: 'viewer' })
  await open(viewer, '/operations/vmProvision')
  await viewer.getByText('Needs the role operator; you have viewer.').waitFor()
  const create = viewer.getByRole('button', { name: 'Create virtual machine' })
  assert.equal(await create.getAttribute('aria-disabled'), 'true')
  await viewer.context().close()

  const { body } = await lab.call('POST', '/compute/vms/list', { page_size: 500 })
  const tenants = new Map<string, string>()
  for (const { tenant_id, name } of body.virtual_machines) if (tenant_id !== null) tenants.set(tenant_id, name)
  const [tenant_id = '', name = ''] = [...tenants][0] ?? []
  const stranger = [...tenants].find(([id]) => id !== tenant_id)?.[1] ?? ''
  const page = await pageFor({ role: 'operator', tenant_id })
  const refused: string[] = []
  page.on('response', (response) => {
    if (response.status() === 403) refused.push(response.url())
  })
  await openList(page, `?keyword=${name}`)
  await page.getByText(`tenant ${tenant_id.slice(0, 8)}`).waitFor()
  assert.equal(await page.getByRole('navigation').getByRole('link', { name: 'Nodes' }).count(), 0)
  if (stranger !== '') {
    await open(page, `/vms?keyword=${stranger}`)
    await page.getByText('No virtual machine matches.').waitFor()
  }
  await open(page, '/lists/nodeList')
  await page.getByText('Your access is scoped to a tenant').waitFor()
  for (const path of ['/', '/timeline', '/jobs', '/lists', '/operations']) {
    await open(page, path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await lamp(page)
  }
  assert.deepEqual(refused, [])
  await page.context().close()
})

test('a session that was ended elsewhere is asked for over the page, and what was typed is still there', {
  skip,
}, async () => {
  const user = { username: 'ben', password: PASSWORD, role: 'operator' }
  assert.equal((await lab.call('POST', '/auth/users', user)).status, 201)
  const page = await (await newContext()).newPage()
  await open(page, '/operations/vmProvision')
  await page.getByLabel('User name').fill('ben')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByLabel('zone id').fill('a zone')
  await lamp(page)
  const { body } = await lab.call('GET', '/auth/sessions?username=ben')
  assert.equal((await lab.call('DELETE', `/auth/sessions/${body.sessions[0].id}`)).status, 200)
  const again = page.getByRole('dialog', { name: 'Sign in again' })
  await again.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await again.waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel('zone id').inputValue(), 'a zone')
  await lamp(page)
  await page.context().close()
})

test('a session that ends within five minutes says so, and is signed in again over the page', { skip }, async () => {
  const user = { username: 'eve', password: PASSWORD, role: 'viewer' }
  assert.equal((await lab.call('POST', '/auth/users', user)).status, 201)
  const page = await (await newContext()).newPage()
  await page.clock.install()
  await open(page, '/me')
  await page.getByLabel('User name').fill('eve')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'eve', level: 1 }).waitFor()
  const notice = page.getByRole('button', { name: /^Session ends at .*: sign in again$/ })
  assert.equal(await notice.count(), 0)
  // Twelve hours are the life of a session.
  await page.clock.fastForward('11:56:00')
  await notice.click()
  const again = page.getByRole('dialog', { name: 'Sign in again' })
  await again.getByLabel('Password').fill(PASSWORD)
  await again.getByRole('button', { name: 'Sign in' }).click()
  await again.waitFor({ state: 'detached' })
  await page.context().close()
})

test('an error stands at its field, which gets the focus; the command beside it does the same', { skip }, async () => {
  const page = await pageFor()
  await open(page, '/operations/userCreate')
  await page.getByLabel('username').fill('-bad-')
  await page.getByLabel('password').fill(PASSWORD)
  await page.getByLabel('role').selectOption('viewer')
  await page.getByRole('button', { name: 'Create user' }).click()
  const field = page.locator('input[name="username"]:focus')
  await field.waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  await page.getByText('The same as a command').click()
  await page.getByRole('button', { name: 'curl', exact: true }).click()
  const command = (await page.getByLabel('Command').textContent()) ?? ''
  assert.match(command, /curl -sS -X POST \S+\/auth\/users/)
  assert.doesNotMatch(command, /correct horse/)
  await page.context().close()
})

test('a search finds a machine and an operation from any page, by keyboard alone', { skip }, async () => {
  const machine = await oneMachine('Running')
  const known = async (q: string) => (await lab.call('GET', `/search?q=${q}`)).body.results.length > 0
  await until('the search has read the machines', () => known(machine.name))
  const page = await pageFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or act' }).waitFor()
  await page.keyboard.type(machine.name)
  await page.getByRole('option', { name: new RegExp(`^${machine.name} virtual machine`), selected: true }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: machine.name, level: 1 }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('t')
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or act' }).waitFor()
  await page.keyboard.type('create user')
  await page.getByRole('option', { name: /^Create user/, selected: true }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Create user' }).waitFor()
  // What has no page of its own is shown by its operation, which reads at once.
  const user = 'found-by-search'
  assert.equal(
    (await lab.call('POST', '/auth/users', { username: user, password: PASSWORD, role: 'viewer' })).status,
    201,
  )
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or act' }).waitFor()
  await page.keyboard.type(user)
  await page.getByRole('option', { name: new RegExp(`^${user} user`), selected: true }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByLabel('Answer as JSON').getByText(user).waitFor()
  await page.context().close()
})

test('eight tabs share one stream, and each shows a change made elsewhere', { skip }, async () => {
  const context = await newContext()
  const first = await context.newPage()
  await first.goto(await linkFor(lab.token))
  await lamp(first)
  const streams = lab.control.server.streams.count()
  const machine = await oneMachine('Running')
  const tabs: Page[] = []
  for (let tab = 2; tab <= 8; tab++) {
    const page = await context.newPage()
    await openList(page, `?keyword=${machine.name}`)
    await lamp(page)
    tabs.push(page)
  }
  // Fewer where a stream of an earlier test was about to end.
  assert.ok(lab.control.server.streams.count() <= streams)
  assert.equal((await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: machine.id })).status, 200)
  for (const page of tabs) {
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: machine.name, exact: true }) })
    await row.getByText('Stopped').waitFor()
  }
  await context.close()
})

test('a service that restarts is missed and found again, with what was typed and what changed', { skip }, async () => {
  const machine = await oneMachine('Running')
  const page = await pageFor()
  await open(page, '/operations/vmProvision')
  await page.getByLabel('zone id').fill('a zone')
  await lamp(page)
  const lost = page.locator('.lamp[data-state="lost"]').waitFor()
  await Promise.all([lost, lab.restart()])
  await lamp(page)
  assert.equal(await page.getByLabel('zone id').inputValue(), 'a zone')
  assert.equal((await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: machine.id })).status, 200)
  await page.getByRole('contentinfo').getByText(`virtual machine ${machine.name}`).waitFor()
  await page.context().close()
})

const PAGES = [
  '/', '/timeline', '/jobs', '/vms', '/nodes', '/lists', '/lists/tenantList', '/lists/alertList', '/operations',
  '/operations/vmProvision', '/operations/nodeList', '/me', '/no-such-page',
] // biome-ignore format: one list

test('axe finds nothing on any page, light and dark', { skip }, async () => {
  const page = await pageFor()
  const machine = await oneMachine('Running')
  const check = (what: string) => checkAxe(page, what)
  for (const path of [...PAGES, `/vms/${machine.id}`]) {
    await open(page, path)
    await settled(page)
    await check(path)
  }
  await openList(page, `?keyword=${machine.name}`)
  await page.getByRole('button', { name: `Actions of ${machine.name}`, exact: true }).click()
  await check('actions of a machine')
  await page.getByRole('button', { name: /^Stop/ }).click()
  await page.getByText('will stop').waitFor()
  await check('plan of a stop')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or act' }).waitFor()
  await check('search')
  await page.context().close()
})

test('nothing was asked of another origin, and the policy of the page was never broken', { skip }, () => {
  assert.deepEqual(started.broken, [])
})
