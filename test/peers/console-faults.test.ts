// What the console holds in Debian's Chromium when things go wrong, or are somebody else's: answers that are lost, a subsystem that
// fails, a service of another version, a token that is revoked, another tenant; and that it asks nothing by a clock.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { type ConsoleBrowser, lamp, settled, skip, startConsoleBrowser } from '../support/console-browser.ts'
import type { Lab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'correct horse battery'

let lab: Lab
let started: ConsoleBrowser
before(async () => {
  if (skip !== false) return
  started = await startConsoleBrowser()
  lab = started.lab
})
after(() => started?.close())

async function machineNamed(name: string): Promise<{ id: string; state: string; tenant_id: string | null }> {
  const { body } = await lab.call('POST', '/compute/vms/list', { name })
  return body.virtual_machines[0]
}

/** Another tab of whoever has this one. */
async function tabOf(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage()
  await started.open(page, path)
  await settled(page)
  await lamp(page)
  return page
}

test('an answer that is lost on its way, a reload after it, and a double click make one machine', {
  skip,
}, async () => {
  const { id } = await machineNamed('redis-01')
  const page = await started.pageFor()
  const create = page.getByRole('button', { name: 'Create', exact: true })
  const begin = async (name: string): Promise<void> => {
    await started.open(page, `/vms/new?like=${id}`)
    await until('the model is taken over', async () => (await page.getByLabel('Offering').inputValue()) !== '')
    await page.getByLabel('name (required)').fill(name)
  }
  const lose = async (route: { fetch(): Promise<unknown>; abort(): Promise<void> }): Promise<void> => {
    await route.fetch()
    await route.abort()
  }
  await begin('lost-once')
  await page.route('**/compute/vms/provision', lose, { times: 1 })
  await create.click()
  await page.getByText('The service cannot be reached from this browser right now.').waitFor()
  await create.click()
  await page.getByRole('heading', { name: 'Steps' }).waitFor()
  await begin('lost-and-reloaded')
  await page.route('**/compute/vms/provision', lose, { times: 1 })
  await create.click()
  await page.getByText('The service cannot be reached from this browser right now.').waitFor()
  await page.reload()
  await create.and(page.locator('[aria-disabled="false"]')).click()
  await page.getByRole('heading', { name: 'Steps' }).waitFor()
  await begin('clicked-twice')
  await create.dblclick()
  await page.getByRole('heading', { name: 'Steps' }).waitFor()
  for (const name of ['lost-once', 'lost-and-reloaded', 'clicked-twice']) {
    await until(`${name} runs`, async () => (await machineNamed(name))?.state === 'Running')
    assert.equal((await lab.call('POST', '/compute/vms/list', { name })).body.count, 1, name)
  }
  await page.context().close()
})

test('every field error of the service stands at its field, any other at the form', { skip }, async () => {
  const wrong = { username: '-bad-', password: 'x', role: 'viewer' }
  const refused = await lab.call('POST', '/auth/users', wrong)
  const errors = refused.body.errors as { path: string; message: string }[]
  assert.equal(errors.length, 2, refused.text)
  const page = await started.pageFor()
  await started.open(page, '/operations/userCreate')
  const fill = async ({ username, password, role }: typeof wrong): Promise<void> => {
    await page.getByLabel('username').fill(username)
    await page.getByLabel('password').fill(password)
    await page.getByLabel('role').selectOption(role)
    await page.getByRole('button', { name: 'Create user' }).click()
  }
  await fill(wrong)
  await page.getByLabel('username').and(page.locator('[aria-invalid="true"]:focus')).waitFor()
  for (const { path, message } of errors) {
    const field = page.locator('.field').filter({ has: page.locator(`[name="${path.split('.').at(-1)}"]`) })
    await field.getByText(message).waitFor()
  }
  assert.equal(await page.locator('[aria-invalid="true"]').count(), errors.length)
  const taken = { username: 'dora', password: PASSWORD, role: 'viewer' }
  assert.equal((await lab.call('POST', '/auth/users', taken)).status, 201)
  const { body: conflict } = await lab.call('POST', '/auth/users', taken)
  await fill(taken)
  await page.getByRole('alert').getByText(conflict.detail).waitFor()
  await page.context().close()
})

test('a subsystem that fails takes down its panel alone, which says since when, and comes back', { skip }, async () => {
  const page = await started.pageFor()
  const panel = (name: string) => page.getByRole('region', { name, exact: true })
  await panel('Platform alerts')
    .getByText(/open|None/)
    .waitFor()
  // More often than anything in the background asks.
  const fault = { command: 'listAlerts', times: 40 }
  await fetch(`${lab.platform.control_url}/fail`, { method: 'POST', body: JSON.stringify(fault) })
  await page.reload()
  await panel('Platform alerts').getByRole('alert').waitFor()
  await panel('Platform alerts')
    .getByText(/^Failed at \d\d:\d\d:\d\d/)
    .waitFor()
  // No number, and no word that would be one.
  assert.doesNotMatch(await panel('Platform alerts').innerText(), /None|open|\b0\b/)
  await panel('Virtual machines').getByRole('link').waitFor()
  await panel('What changed last').getByRole('listitem').first().waitFor()
  assert.equal(await page.getByRole('main').getByRole('alert').count(), 1)
  await until('the panel is back', async () => {
    const again = panel('Platform alerts').getByRole('button', { name: 'Try again' })
    if ((await again.count()) > 0) await again.click({ timeout: 1000 }).catch(() => {})
    return (
      (await panel('Platform alerts')
        .getByText(/open|None/)
        .count()) > 0
    )
  })
  await page.context().close()
})

test('a tab of an older version says so, keeps what was typed, and stays whole where its files are gone', {
  skip,
}, async () => {
  const { id } = await machineNamed('web-03')
  const page = await started.pageFor()
  await started.open(page, '/operations/vmProvision')
  await page.getByLabel('zone id').fill('a zone')
  await lamp(page)
  const newer = '<!doctype html><meta name="console-contract" content="/console/assets/contract-ffffffff.json">'
  await page.route('**/console', (route) => route.fulfill({ contentType: 'text/html', body: newer }))
  const lost = page.locator('.lamp[data-state="lost"]').waitFor()
  await Promise.all([lost, lab.restart()])
  const reload = page.getByRole('button', { name: 'New version: reload' })
  await reload.waitFor()
  assert.equal(await page.getByLabel('zone id').inputValue(), 'a zone')
  await page.unroute('**/console')
  await reload.click()
  await reload.waitFor({ state: 'detached' })
  await page.getByLabel('zone id').waitFor()
  assert.equal(await page.getByLabel('zone id').inputValue(), 'a zone')

  await started.open(page, `/vms/${id}`)
  await page.getByRole('heading', { name: 'web-03', level: 1 }).waitFor()
  await page.route('**/console/assets/part-*.js', (route) => route.fulfill({ status: 404, body: '' }))
  await page.getByRole('link', { name: 'Screen', exact: true }).click()
  await page.getByRole('alert').getByText('older version of the service').waitFor()
  await page.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  await page.context().close()
})

test('nothing that happens around a restart of the service is lost or shown twice', { skip }, async () => {
  const names = ['elastic-01', 'gitlab', 'jenkins']
  const machines = await Promise.all(names.map(machineNamed))
  const page = await started.pageFor()
  await lamp(page)
  // No stream leads from the other replica to the page: it learns of these when its own service is back.
  await lab.restart(async (call) => {
    for (const { id } of machines) {
      assert.equal((await call('POST', '/compute/vms/stop', { virtual_machine_id: id })).status, 200)
      await until('it is stopped', async () => {
        const { body } = await call('POST', '/compute/vms/byID', { virtual_machine_id: id })
        return body.state === 'Stopped' && body.pending_job_id === null
      })
    }
    await page.locator('.lamp[data-state="lost"]').waitFor()
  })
  await lamp(page)
  await page.keyboard.press('Alt+t')
  const tasks = page.getByRole('dialog', { name: 'Tasks' }).getByRole('listitem')
  for (const name of names) {
    await tasks.filter({ hasText: name }).filter({ hasText: 'SUCCESS' }).first().waitFor()
    assert.equal(await tasks.filter({ hasText: name }).count(), 1, name)
  }
  await page.context().close()
})

test('a token that is revoked ends all tabs of its session; no credential is in a store, an address, a log or a command', {
  skip,
}, async () => {
  const { body: token } = await lab.call('POST', '/auth/tokens', { name: 'for one session', role: 'admin' })
  const context = await started.newContext()
  const said: string[] = []
  context.on('console', (message) => said.push(message.text()))
  const page = await context.newPage()
  await page.goto(await started.linkFor(token.token))
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await lamp(page)
  await started.open(page, '/operations/userCreate')
  await page.getByLabel('username').fill('erin')
  await page.getByLabel('password').fill('a secret of a form')
  await page.getByLabel('role').selectOption('viewer')
  await page.getByText(/^The same as/).click()
  await page.getByLabel('Command').waitFor()
  const command = await page.getByLabel('Command').textContent()
  const stores = String(
    await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
  )
  assert.match(stores, /erin/, 'what is typed is stored')
  await page.getByRole('button', { name: 'Create user' }).click()
  await page.getByRole('heading', { name: 'Answer' }).waitFor()
  const places = { stores, command, address: page.url(), log: lab.logs(), console: said.join('\n') }
  for (const [place, text] of Object.entries(places))
    for (const secret of ['a secret of a form', token.token])
      assert.ok(!String(text).includes(secret), `${secret} is in the ${place}`)

  const other = await tabOf(context, '/jobs')
  assert.equal((await lab.call('DELETE', `/auth/tokens/${token.id}`)).status, 200)
  for (const tab of [page, other]) await tab.getByRole('dialog', { name: 'Sign in again' }).waitFor()
  await context.close()
})

test('the address alone restores what is seen, and going back undoes the last step', { skip }, async () => {
  const { id } = await machineNamed('web-01')
  const page = await started.pageFor()
  const view = async (tab: Page): Promise<string> => {
    await settled(tab)
    const fields = await tab
      .locator('main')
      .locator('select, input')
      .evaluateAll((found) => found.map((one) => (one as unknown as { value: string }).value))
    // Each tab read what it shows at a moment of its own.
    const text = (await tab.locator('main').innerText()).replace(/as of [\d:]+/g, 'as of a moment')
    return JSON.stringify([text, fields])
  }
  for (const path of [
    '/vms?state=Stopped&columns=name%2Cstate',
    '/lists/guestNetworkList?sort=-name',
    '/timeline?status=SUCCESS',
    `/vms/${id}/network`,
    '/lists/tenantList?row=none',
  ]) {
    await started.open(page, path)
    const again = await tabOf(page.context(), page.url().replace(`${lab.url}/console`, ''))
    await until(`${path} is the same`, async () => (await view(again)) === (await view(page)))
    await again.close()
  }
  await started.open(page, '/vms')
  const grid = page.getByRole('grid', { name: 'Virtual machines' })
  await grid.getByRole('link', { name: 'web-01', exact: true }).waitFor()
  await page.getByLabel('State').selectOption('Stopped')
  await grid.getByRole('link', { name: 'web-01', exact: true }).waitFor({ state: 'detached' })
  assert.match(page.url(), /state=Stopped/)
  await page.goBack()
  await grid.getByRole('link', { name: 'web-01', exact: true }).waitFor()
  assert.equal(await page.getByLabel('State').inputValue(), '')
  await page.context().close()
})

test('a page about an earlier time says so, offers no change, and is not moved by what happens now', {
  skip,
}, async () => {
  const { id } = await machineNamed('runner-01')
  const until_now = new Date().toISOString()
  const page = await started.pageFor()
  await started.open(page, `/timeline?created_at_to=${until_now}`)
  await settled(page)
  await lamp(page)
  await page.getByText(`You see what was known until ${until_now}, not now`).waitFor()
  assert.equal(await page.getByRole('main').getByRole('button').count(), 0)
  const { body } = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: id })
  const main = page.getByRole('main').getByText('runner-01')
  await page
    .getByRole('contentinfo')
    .getByText(/^Done: .*runner-01/)
    .waitFor()
  assert.equal(await main.count(), 0)
  await page.getByRole('link', { name: 'Show up to now' }).click()
  await main.first().waitFor()
  await page.goto(`${lab.url}/console/timeline/${body.correlation_id}`)
  await page.getByRole('region', { name: 'Entries' }).first().waitFor()
  assert.equal(await page.getByRole('main').getByRole('button').count(), 0)
  await page.context().close()
})

test('a session of a tenant shows, is sent and stores no word of another tenant', { skip }, async () => {
  const { tenant_id } = await machineNamed('web-01')
  const { virtual_machines } = (await lab.call('POST', '/compute/vms/list', { page_size: 500 })).body
  const of = (own: boolean) =>
    (virtual_machines as { id: string; name: string; state: string; tenant_id: string }[]).filter(
      (machine) => (machine.tenant_id === tenant_id) === own,
    )
  // A name that is part of an own one says nothing.
  const strange = of(false).filter(({ name }) => !of(true).some((own) => own.name.includes(name)))
  const words = strange.flatMap(({ id, name }) => [id, name])
  assert.ok(words.length > 10 && of(true).length > 3)
  const page = await started.pageFor({ role: 'operator', tenant_id: tenant_id ?? '' })
  const texts: [string, string][] = []
  const reading: Promise<unknown>[] = []
  page.on('response', (response) => {
    if (!/json/.test(response.headers()['content-type'] ?? '') || response.url().includes('/console/assets/')) return
    reading.push(
      response.text().then(
        (text) => texts.push([response.url(), text]),
        () => {},
      ),
    )
  })
  await lamp(page)
  const another = strange.find(({ state }) => state === 'Running')
  const { body: reboot } = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: another?.id })
  const links = await page.getByRole('navigation', { name: 'Areas' }).getByRole('link').all()
  const hrefs = await Promise.all(links.map((link) => link.getAttribute('href')))
  for (const href of [...hrefs, `/console/vms/${of(true)[0]?.id}/disks`, `/console/vms/${of(true)[0]?.id}/events`]) {
    await page.goto(`${lab.url}${href}`)
    await settled(page)
    texts.push([`the page ${href}`, await page.locator('body').innerText()])
  }
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or act' }).fill(another?.name ?? '')
  await page.getByText('Nothing found.').waitFor()
  // What of it is still to come would not be seen here, and would be in the way of the next test.
  await until('it was rebooted', async () => {
    return (await lab.call('GET', `/jobs/${reboot.job_id}`)).body.job_status === 'completed'
  })
  await Promise.all(reading)
  texts.push([
    'the stores',
    String(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')),
  ])
  const found = texts.flatMap(([where, text]) =>
    words.filter((word) => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text)).map((word) => `${word} in ${where}`),
  )
  assert.deepEqual(found, [])
  await page.context().close()
})

test('nothing is asked by a clock: an hour in three tabs sends no more than twelve requests', { skip }, async () => {
  const context = await started.newContext()
  await context.clock.install()
  const page = await context.newPage()
  await page.goto(await started.linkFor(lab.token))
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await settled(page)
  await lamp(page)
  const tabs = [page, await tabOf(context, '/vms'), await tabOf(context, '/nodes')]
  const asked: string[] = []
  context.on('request', (request) => asked.push(`${request.method()} ${request.url()}`))
  for (const tab of tabs) await tab.clock.runFor('01:00:00')
  assert.ok(asked.length <= 12, asked.join('\n'))
  await context.close()
})

test('nothing was asked of another origin, and the policy of the page was never broken', { skip }, () => {
  assert.deepEqual(started.broken, [])
})
