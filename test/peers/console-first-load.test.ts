// How a page of the console loads in Debian's Chromium: each answer once, and nothing that changed before its stream is missed.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { type ConsoleBrowser, lamp, settled, skip, startConsoleBrowser } from '../support/console-browser.ts'
import type { Lab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
let started: ConsoleBrowser
before(async () => {
  if (skip !== false) return
  started = await startConsoleBrowser()
  lab = started.lab
})
after(() => started?.close())

/** The state of the stream reaches a page when `release` is called, or at once; its events never do. */
const streamOf = (held: boolean): string => `
  const { set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage')
  let held = ${held}
  const waiting = []
  Object.defineProperty(MessagePort.prototype, 'onmessage', {
    configurable: true,
    set(listener) {
      set.call(this, (message) => {
        const kind = message.data?.kind
        if (kind === 'events') return
        if (kind === 'state' && held) waiting.push(() => listener(message))
        else listener(message)
      })
    },
  })
  window.release = () => {
    held = false
    for (const deliver of waiting) deliver()
  }`

async function signedIn(): Promise<BrowserContext> {
  const page = await started.pageFor()
  await page.close()
  return page.context()
}

test('a page that opens asks for each of its answers once', { skip }, async () => {
  const context = await signedIn()
  await context.addInitScript(streamOf(false))
  for (const path of ['/', '/vms', '/nodes', '/jobs', '/timeline', '/lists/tenantList']) {
    const page = await context.newPage()
    const asked: string[] = []
    page.on('request', (request) => {
      asked.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`)
    })
    await started.open(page, path)
    await settled(page)
    await lamp(page)
    await settled(page)
    const twice = asked.filter((one, at) => asked.indexOf(one) !== at)
    assert.deepEqual(twice, [], path)
    // The stream of the next tab is another one.
    await page.close()
  }
  await context.close()
})

async function openUnfollowed(context: BrowserContext, name: string): Promise<Page> {
  const page = await context.newPage()
  await page.clock.install()
  await page.addInitScript(streamOf(true))
  await started.open(page, `/vms?keyword=${name}`)
  return page
}

for (const { when, loads_first } of [
  { when: 'while a page waits for its stream', loads_first: false },
  { when: 'after a page has loaded without its stream', loads_first: true },
])
  test(`a change made ${when} is shown`, { skip }, async () => {
    const running = await lab.call('POST', '/compute/vms/list', { state: 'Running', page_size: 1 })
    const [machine] = running.body.virtual_machines
    const context = await signedIn()
    const page = await openUnfollowed(context, machine.name)
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: machine.name, exact: true }) })
    await page.getByText('Loading …').waitFor()
    if (loads_first) {
      await page.clock.fastForward('00:05')
      await row.getByText('Running').waitFor()
    }
    assert.equal((await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: machine.id })).status, 200)
    await until('it is stopped', async () => {
      const { body } = await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: machine.id })
      return body.state === 'Stopped'
    })
    await page.evaluate('release()')
    await row.getByText('Stopped').waitFor()
    await context.close()
  })
