// Screenshots: every page of the console in each theme at three widths, and one sheet with all of them, into
// `.groundplane/console-screenshots`. For people to look at before a change of the console is called done.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { startDataCentre } from '../bin/data-centre.ts'
import { tempFolder } from '../test/support/temp-folder.ts'

const CHROMIUM = '/usr/bin/chromium'
const FOLDER = join(import.meta.dirname, '../.groundplane/console-screenshots')
const WIDTHS = [390, 768, 1440]
const THEMES = ['light', 'dark', 'contrast'] as const
const PAGES = [
  '/', '/timeline', '/jobs', '/alerts', '/vms', '/vms/new', '/addresses', '/addresses/reservations', '/addresses/leases',
  '/addresses/records', '/addresses/prefixes', '/addresses/public', '/addresses/drift', '/mtu', '/fabric', '/nodes',
  ...['', '/disks', '/network', '/storage', '/gpus', '/benchmarks', '/life', '/decommission', '/hardware', '/record'].map(
    (part) => `/nodes/10.1.0.11${part}`,
  ),
  '/cameras', '/cameras/events', '/cameras/reviews', '/cameras/faces', '/cameras/nvr', '/ha', '/lists', '/lists/tenantList',
  '/lists/userList', '/lists/tokenList', '/lists/auditList', '/lists/serviceOfferingList', '/operations',
  '/operations/vmProvision', '/operations/nodeRegister', '/me', '/me/health', '/no-such-page',
  '/hosts', '/networks', '/catalog', '/gpus', '/storage', '/storage/benchmarks', '/access', '/access/tokens', '/platform',
  '/platform/capacity', '/tenants', '/help', '/help/keys', '/help/events',
] // biome-ignore format: one list

const names: string[] = []

if (!existsSync(CHROMIUM)) throw new Error(`There is no ${CHROMIUM}: sh scripts/install-peers installs it.`)
mkdirSync(FOLDER, { recursive: true })
const centre = await startDataCentre({
  host: '127.0.0.1', port: 0, vms: 200, state_dir: tempFolder('gp-screenshots-'), agents: true, cameras: false, environment: {},
}) // biome-ignore format: one record
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
try {
  const page = await (await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC' })).newPage()
  await page.goto(`${centre.url}/console/`)
  await shoot(page, 'sign-in')
  await page.goto(centre.console_url)
  await page.reload()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  for (const path of PAGES) {
    await page.goto(`${centre.url}/console${path}`)
    await shoot(page, path.slice(1).replaceAll('/', '-') || 'overview')
  }
  await page.goto(`${centre.url}/console/vms?keyword=web-01`)
  const machine = page.getByRole('grid').getByRole('link', { name: 'web-01', exact: true })
  await page.getByRole('button', { name: 'Actions of web-01', exact: true }).click()
  await shoot(page, 'machine-actions')
  await page.getByRole('button', { name: /^Stop/ }).click()
  await shoot(page, 'machine-stop')
  await page.keyboard.press('Escape')
  await machine.click()
  await shoot(page, 'machine')
  const address = page.url()
  for (const part of ['disks', 'network', 'snapshots', 'screen', 'events', 'metrics', 'settings']) {
    await page.goto(`${address}/${part}`)
    await shoot(page, `machine-${part}`)
  }
  await page.goto(`${centre.url}/console/mtu`)
  await page.getByLabel('storage').fill('9000')
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByRole('region', { name: 'Plan' }).waitFor()
  await shoot(page, 'mtu-plan')
  await page.goto(`${address.replace(/[^/]+$/, 'new')}?like=${address.split('/').at(-1) ?? ''}`)
  await shoot(page, 'provision-like')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('web')
  await shoot(page, 'search')
} finally {
  await browser.close()
  await centre.close()
}
writeFileSync(join(FOLDER, 'index.html'), sheet())
console.log(`Open ${join(FOLDER, 'index.html')}`)

async function shoot(page: Page, name: string): Promise<void> {
  names.push(name)
  await page.locator('h1').first().waitFor()
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    for (const theme of THEMES) {
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
      await page.locator('.waiting').first().waitFor({ state: 'detached' })
      await page.screenshot({ path: join(FOLDER, `${name}-${width}-${theme}.png`), animations: 'disabled' })
    }
  }
}

function sheet(): string {
  const files = names.flatMap((name) =>
    WIDTHS.flatMap((width) => THEMES.map((theme) => `${name}-${width}-${theme}.png`)),
  )
  const figures = files.map(
    (file) => `<figure><figcaption>${file}</figcaption><img src="${file}" width="400"></figure>`,
  )
  return `<!doctype html><meta charset="utf-8"><title>Console</title>${figures.join('\n')}\n`
}
