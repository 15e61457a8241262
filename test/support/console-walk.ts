// Walks every page of the console: axe in each theme, the width of a phone, reasons of what is closed, and what the browser complains of.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { checkAxe, type ConsoleBrowser, settled } from './console-browser.ts'
import type { Lab } from './start-lab.ts'
import { until } from './until.ts'

/** Every address in the console's own table: a page that is new is walked as well, and needs an example where it is about a thing. */
async function addresses(lab: Lab, seen: string): Promise<string[]> {
  const found = await lab.call('POST', '/compute/vms/list', { name: 'web-01' })
  const { id, host_id, tenant_id } = found.body.virtual_machines[0]
  const reboot = (await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: id })).body
  await until('the job has ended', async () => {
    return (await lab.call('GET', `/jobs/${reboot.job_id}`)).body.job_status === 'completed'
  })
  const examples: Readonly<Record<string, string>> = {
    '/timeline/:id': `/timeline/${reboot.correlation_id}`,
    '/jobs/:id': `/jobs/${reboot.job_id}`,
    '/vms/:id/:tab?': `/vms/${id}`,
    '/nodes/:bmc/:part?': `/nodes/${seen}`,
    '/hosts/:id': `/hosts/${host_id}`,
    '/tenants/:id': `/tenants/${tenant_id}`,
    '/camera/:id': '/camera/gate',
    '/lists/:operation': '/lists/guestNetworkList',
    '/operations/:operation': '/operations/vmProvision',
  }
  const table = readFileSync('src/console/pages/pages.tsx', 'utf8').matchAll(/<Route path="([^"]+)"/g)
  const routes = [...table].map(([, route = '']) => route)
  assert.ok(routes.length >= 20, 'the table of the pages is read')
  return [...routes.map((route) => examples[route] ?? route.replace(/\/:\w+\?/g, '')), '/no-such-page']
}

/** By the link of the rail or of the tabs, as people go, where there is one. */
async function visit(page: Page, origin: string, href: string): Promise<void> {
  const link = page.locator(`nav a[href="${href}"]`).first()
  if ((await link.count()) === 0) await page.goto(`${origin}${href}`)
  else {
    await link.click()
    await page.locator(`nav a[href="${href}"][aria-current="page"]`).first().waitFor()
  }
  await settled(page)
}

async function hrefsOf(page: Page, links: string): Promise<string[]> {
  const hrefs = (await page.locator(links).all()).map((link) => link.getAttribute('href'))
  return (await Promise.all(hrefs)).filter((href) => href !== null)
}

const PHONE = { width: 390, height: 844 }
const DESK = { width: 1440, height: 900 }

/** What is closed without a reason, and what is wider than the screen it is shown on. */
async function layoutOf(page: Page): Promise<string[]> {
  const unexplained = page.locator('main button[aria-disabled="true"]:not(:has(small))')
  const found = (await unexplained.allInnerTexts()).map((text) => `${text} is closed without a reason`)
  await page.setViewportSize(PHONE)
  const too_wide = await page.evaluate(`[document.documentElement, document.querySelector('main')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ tagName, scrollWidth }) => tagName + ' is ' + scrollWidth + ' pixels wide on a phone')`)
  await page.setViewportSize(DESK)
  return [...found, ...(too_wide as string[])]
}

/** As many tests, so that none is long on a busy machine. */
export const PARTS_OF_WALK = 6

/** `seen` is a node with an agent. */
export function walkOfPages(started: () => ConsoleBrowser, seen: string): (number: number) => Promise<void> {
  let all_addresses: Promise<string[]> | undefined
  return (number) => {
    all_addresses ??= addresses(started().lab, seen)
    return walk(started(), all_addresses, number)
  }
}

async function walk(started: ConsoleBrowser, addressed: Promise<string[]>, number: number): Promise<void> {
  const page = await started.pageFor()
  const complaints: string[] = []
  page.on('console', (message) => {
    // An answer that refuses is shown by the page; the browser notes each of them as well.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(`${page.url()}: ${message.text()}`)
  })
  const all = (await addressed).map((path) => `/console${path}`)
  assert.deepEqual(
    all.filter((href) => href.includes(':')),
    [],
    'each thing has an example',
  )
  // What the rail leads to is in the table as well, or a list that the contract makes.
  const lists = (await hrefsOf(page, 'nav.rail a')).filter((href) => href.startsWith('/console/lists/'))
  const waiting = [...all, ...lists].filter((_href, at) => at % PARTS_OF_WALK === number)
  const seen = new Set<string>()
  for (let href = waiting.shift(); href !== undefined; href = waiting.shift()) {
    if (seen.has(href)) continue
    seen.add(href)
    await visit(page, started.lab.url, href)
    await checkAxe(page, href).catch((found: unknown) => complaints.push(String(found)))
    complaints.push(...(await layoutOf(page)).map((what) => `${href}: ${what}`))
    // Parts of this page come before the next one, while their links are there.
    waiting.unshift(...(await hrefsOf(page, 'nav.tabs a')))
  }
  assert.deepEqual(complaints, [])
  await page.context().close()
}
