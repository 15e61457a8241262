// (p) The console in Chromium before 20,000 virtual machines: first rows, requests of a jump, an hour's worth of events in a minute or
// two, and the delay of a change in eight tabs.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core'
import { type BenchResult, percentile } from './result.ts'
import { startTestBed, type TestBed } from './test-bed.ts'

const MACHINES = 20_000
const TABS = 8
const CHANGES = 40
/** Rows that are drawn for sure. */
const ON_SCREEN = 20
/** An hour at 24 messages a second. */
const EVENTS = 24 * 3600
const BATCH = 240
const MEGABYTE = 1_000_000

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(MACHINES)
  const home = mkdtempSync(join(tmpdir(), 'gp-bench-browser-'))
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    env: { PATH: process.env.PATH ?? '', HOME: home },
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  const database = new pg.Client(bed.connection)
  try {
    await database.connect()
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    context.setDefaultTimeout(120_000)
    await signIn(bed, context)
    return [...(await rows(bed, context)), ...(await hour(bed, context, database)), await tabs(bed, context, database)]
  } finally {
    await database.end()
    await browser.close()
    await bed.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

/** The session of the token, as the sign-in form makes it. */
async function signIn({ url, token }: TestBed, context: BrowserContext): Promise<void> {
  const reply = await context.request.post(`${url}/auth/sessions`, { data: { token } })
  assert.ok(reply.ok(), await reply.text())
}

const grid = (page: Page) => page.getByRole('grid', { name: 'Virtual machines' })

async function machinesPage({ url }: TestBed, context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${url}/console/vms`)
  await grid(page).getByRole('link').first().waitFor()
  await page.locator('.lamp[data-state="live"]').waitFor()
  return page
}

async function rows(bed: TestBed, context: BrowserContext): Promise<BenchResult[]> {
  // The first builds the console, which the next find ready.
  await (await machinesPage(bed, context)).close()
  const times: number[] = []
  for (let trial = 0; trial < 5; trial++) {
    const page = await context.newPage()
    const began = performance.now()
    await page.goto(`${bed.url}/console/vms`)
    await grid(page).getByRole('link').first().waitFor()
    times.push(performance.now() - began)
    await page.close()
  }
  const page = await machinesPage(bed, context)
  let asked = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/compute/vms/list')) asked++
  })
  await grid(page).focus()
  await page.keyboard.press('End')
  const began = performance.now()
  await grid(page)
    .locator(`#row-${MACHINES - 1} a`)
    .waitFor()
  const filled_ms = performance.now() - began
  await page.close()
  return [
    {
      name: 'first rows of 20,000 from the opening of a tab, median',
      value: percentile(times, 50),
      unit: 'ms',
      limit: 1300,
      against: `slowest of ${times.length}: ${Math.round(percentile(times, 100))} ms`,
    },
    {
      name: 'requests of a jump to the last row',
      value: asked,
      unit: 'requests',
      limit: 2,
      against: `the row was there after ${Math.round(filled_ms)} ms`,
    },
  ]
}

/** What is in use after everything unused was collected. */
async function inUse(session: CDPSession): Promise<{ heap: number; elements: number }> {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const of = (wanted: string): number => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN
  return { heap: of('JSHeapUsedSize') / MEGABYTE, elements: of('Nodes') }
}

async function hour(bed: TestBed, context: BrowserContext, database: pg.Client): Promise<BenchResult[]> {
  const page = await machinesPage(bed, context)
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  await session.send('HeapProfiler.enable')
  const shown = await shownMachines(bed)
  const send = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += BATCH)
      await publish(
        database,
        Array.from({ length: BATCH }, (_none, at) => changeOf(shown, sent + at)),
      )
    await seen(page, database, shown)
  }
  const minute = EVENTS / 60
  await send(minute)
  const first = await inUse(session)
  const began = performance.now()
  await send(EVENTS - minute)
  const last = await inUse(session)
  const took_s = (performance.now() - began) / 1000
  await page.close()
  const against = `${EVENTS} messages in ${Math.round(took_s)} s; after the first ${minute}: ${first.heap.toFixed(1)} MB`
  return [
    { name: 'heap of a tab after an hour of events', value: last.heap, unit: 'MB', limit: 60, against },
    { name: 'heap that the hour added', value: last.heap - first.heap, unit: 'MB', limit: 20, against },
    {
      name: 'elements that the hour added',
      value: last.elements - first.elements,
      unit: 'elements',
      limit: 200,
      against: `${first.elements} after the first minute, uncollected ones among them`,
    },
  ]
}

interface Shown {
  id: string
  name: string
}

async function shownMachines({ url, headers }: TestBed): Promise<Shown[]> {
  const body = JSON.stringify({ page: 1, page_size: 100 })
  const json = { ...headers, 'content-type': 'application/json' }
  const reply = await fetch(`${url}/compute/vms/list`, { method: 'POST', headers: json, body })
  return ((await reply.json()) as { virtual_machines: Shown[] }).virtual_machines
}

function changeOf(machines: readonly Shown[], at: number): object {
  const machine = machines[at % machines.length] ?? machines[0]
  const states = ['Running', 'Stopping', 'Stopped', 'Starting']
  const new_state = states[Math.floor(at / machines.length) % states.length] ?? 'Running'
  return {
    id: machine?.id,
    name: machine?.name,
    old_state: null,
    new_state,
    host_id: null,
    at: new Date().toISOString(),
  }
}

/** As a transaction of the service does: rows, notice, commit. */
async function publish(database: pg.Client, changes: readonly object[]): Promise<void> {
  await database.query('begin')
  const { rows: stored } = await database.query<{ position: string }>(
    `insert into stream_event (channel, type, tenant_id, data)
     select 'vm', 'vm-state', null, one from unnest($1::jsonb[]) one returning position`,
    [changes.map((change) => JSON.stringify(change))],
  )
  for (const { position } of stored) await database.query(`select pg_notify('groundplane_stream', $1)`, [position])
  await database.query('commit')
}

/** A word of its own for the first row has arrived behind all before it. */
async function seen(page: Page, database: pg.Client, [first]: readonly Shown[]): Promise<void> {
  const word = `Mark${Date.now()}`
  await publish(database, [{ ...changeOf(first === undefined ? [] : [first], 0), new_state: word }])
  await grid(page).getByText(word).waitFor()
}

const WATCH = `
  window.seenAt = {}
  new MutationObserver(() => {
    for (const [word] of document.querySelector('[role="grid"]').innerText.matchAll(/Change\\d+/g)) window.seenAt[word] ??= Date.now()
  }).observe(document.querySelector('[role="grid"]'), { subtree: true, childList: true, characterData: true })`

async function tabs(bed: TestBed, context: BrowserContext, database: pg.Client): Promise<BenchResult> {
  const all: Page[] = []
  for (let tab = 0; tab < TABS; tab++) all.push(await machinesPage(bed, context))
  for (const page of all) await page.evaluate(WATCH)
  const shown = await shownMachines(bed)
  const committed = new Map<string, number>()
  for (let change = 0; change < CHANGES; change++) {
    const word = `Change${change}`
    await publish(database, [{ ...changeOf(shown.slice(0, ON_SCREEN), change), new_state: word }])
    committed.set(word, Date.now())
    await delay(250)
  }
  const delays: number[] = []
  for (const page of all) {
    await page.waitForFunction(`window.seenAt.Change${CHANGES - 1} !== undefined`)
    const seen_at = (await page.evaluate('window.seenAt')) as Record<string, number>
    for (const [word, at] of committed) if (seen_at[word] !== undefined) delays.push(seen_at[word] - at)
  }
  return {
    name: `delay from the commit of a change to the row in ${TABS} tabs, p99`,
    value: percentile(delays, 99),
    unit: 'ms',
    limit: 250,
    against: `median ${percentile(delays, 50)} ms of ${delays.length}; Chromium draws in software`,
  }
}
