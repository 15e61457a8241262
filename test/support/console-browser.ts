// The console in Debian's Chromium, in front of a lab: pages of somebody with given rights, and what axe says of them.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { freeTcpPort } from './free-port.ts'
import { type Lab, type LabOptions, startLab } from './start-lab.ts'
import { tempFolder } from './temp-folder.ts'
import { until } from './until.ts'

const CHROMIUM = '/usr/bin/chromium'
/** For the option of a test that needs the browser. */
export const skip = existsSync(CHROMIUM) ? false : 'Chromium is not installed (scripts/install-peers)'

export interface ConsoleBrowser {
  lab: Lab
  /** What any page asked of another origin, did against its policy, or threw. */
  broken: string[]
  newContext(): Promise<BrowserContext>
  /** A sign-in link for the rights of an API token. */
  linkFor(token: string): Promise<string>
  /** A page of somebody with these rights, who came by a sign-in link; an admin without them. */
  pageFor(rights?: { role: string; tenant_id?: string }): Promise<Page>
  /** Goes to an address below /console. */
  open(page: Page, path: string): Promise<void>
  close(): Promise<void>
}

export async function startConsoleBrowser(options: LabOptions = {}): Promise<ConsoleBrowser> {
  // A port of its own, so that a page finds the service again after a restart.
  const lab = await startLab({ ...options, config: { ...options.config, listen: { port: await freeTcpPort() } } })
  const started = await browserFor(lab)
  return {
    ...started,
    async close() {
      await started.close()
      await lab.close()
    },
  }
}

/** In front of a lab that is there, or of a service elsewhere. */
export async function browserFor(lab: Lab, url = lab.url): Promise<ConsoleBrowser> {
  const browser = await launch()
  const broken: string[] = []
  const newContext = () => contextOf(browser, url, broken)
  const linkFor = (token: string) => signInLink(lab, token)
  return {
    lab,
    broken,
    newContext,
    linkFor,
    async pageFor(rights) {
      const made = rights && (await lab.call('POST', '/auth/tokens', { name: `a ${rights.role}`, ...rights }))
      if (made) assert.equal(made.status, 201, made.text)
      const page = await (await newContext()).newPage()
      await page.goto(await linkFor(made === undefined ? lab.token : String(made.body.token)))
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
      return page
    },
    async open(page, path) {
      await page.goto(`${url}/console${path}`)
    },
    async close() {
      await browser.close()
    },
  }
}

function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    env: { PATH: process.env.PATH ?? '', HOME: tempFolder('gp-browser-') },
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
}

async function contextOf(browser: Browser, url: string, broken: string[]): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  // Nothing here is about speed: a busy machine may take long to draw a page.
  context.setDefaultTimeout(120_000)
  context.on('request', (request) => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(`${url}/`))
      broken.push(`request to ${request.url()}`)
  })
  context.on('console', (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) broken.push(message.text())
  })
  context.on('weberror', (error) => broken.push(String(error.error())))
  return context
}

async function signInLink(lab: Lab, token: string): Promise<string> {
  const { createSignInCode } = await import('#src/modules/auth/first-admin.ts')
  const { openDatabase } = await import('#src/store/database.ts')
  const { createLog } = await import('#src/kernel/log.ts')
  const database = openDatabase({
    connection: lab.database.connection,
    pool_size: 1,
    log: createLog({ level: 'error' }),
  })
  try {
    return `${lab.url}/console/#code=${await createSignInCode({ database }, token)}`
  } finally {
    await database.close()
  }
}

/** The page follows what changes. */
export async function lamp(page: Page): Promise<void> {
  await page.locator('.lamp[data-state="live"]').waitFor()
}

/** The page has its heading, and no part of it waits for an answer. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await until('nothing waits', async () => (await page.locator('.waiting').count()) === 0)
}

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** Fails for what axe finds on the page as it is, in each theme. */
export async function checkAxe(page: Page, what: string): Promise<void> {
  if (!(await page.evaluate("'axe' in window")))
    await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  // The other themes have other colours, and nothing else.
  for (const [theme, rules] of Object.entries({
    light: WCAG,
    dark: ['color-contrast'],
    contrast: ['color-contrast'],
  })) {
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
    const found = await page.evaluate(
      `axe.run({ runOnly: ${JSON.stringify(rules)} }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
    )
    assert.deepEqual(found, [], `${what}, ${theme}`)
  }
}
