// How the drivers of Technitium call the lab's address server: the token, failures in the body, and every way to go wrong.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { createAddressServers } from '../../bin/address-servers.ts'
import { startTechnitium, type TechnitiumLab } from '../../lab/technitium/server.ts'
import { createTechnitiumDhcp, type TechnitiumDhcp } from '#src/drivers/technitium/dhcp.ts'
import { createTechnitiumDns, type TechnitiumDns } from '#src/drivers/technitium/dns.ts'
import { createTechnitiumTransport, type TechnitiumConfig } from '#src/drivers/technitium/transport.ts'
import { loadConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'

const log = createLog({ level: 'silent' })
const OPTIONS = { name_servers: [], hostmaster: 'hostmaster.lab.example', transfer_networks: [], log }

let lab: TechnitiumLab
let dhcp: TechnitiumDhcp
let dns: TechnitiumDns
before(async () => {
  lab = await startTechnitium()
  dhcp = createTechnitiumDhcp(config(), { log })
  dns = createTechnitiumDns(config(), OPTIONS)
})
after(async () => {
  await dhcp?.close()
  await dns?.close()
  await lab?.close()
})
beforeEach(() => lab.reset())

function config(changed: Partial<TechnitiumConfig> = {}): TechnitiumConfig {
  return { url: lab.url, token: lab.token, timeout_ms: 5000, ...changed }
}

async function control(path: string, body: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${lab.control_url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
  assert.equal(response.status, 200, await response.text())
}

async function called(): Promise<string[]> {
  const { calls } = (await (await fetch(`${lab.control_url}/calls`)).json()) as { calls: { command: string }[] }
  return calls.map((call) => call.command)
}

const rejection = (upstream: 'DHCP' | 'DNS') => ({ name: 'UpstreamError', upstream, failure: 'error', status: 400 })

describe('calls', () => {
  test('a token that is refused is an error at once, without another try', async () => {
    const wrong = createTechnitiumDhcp(config({ token: 'nope' }), { log })
    const error = { failure: 'error', status: 401, detail: 'the address server refuses the token (technitium.token)' }
    await assert.rejects(wrong.check(), error)
    assert.deepEqual(await called(), ['dhcp/scopes/list'])
    await wrong.close()
  })

  test('without address or token each call says which setting is missing', async () => {
    const unset = createTechnitiumDns(config({ url: undefined }), OPTIONS)
    await assert.rejects(unset.zones(), {
      failure: 'not_configured',
      detail: 'set technitium.url and technitium.token',
    })
    await unset.close()
  })

  test('a failure is reported by the body of the answer, whatever HTTP says', async () => {
    await control('fail', { command: 'dhcp/scopes/list', text: 'The DHCP service is not running.' })
    await assert.rejects(dhcp.scopes(), { ...rejection('DHCP'), detail: 'The DHCP service is not running.' })
    await control('fail', { command: 'zones/list', text: 'Access was denied.' })
    await assert.rejects(dns.zones(), { ...rejection('DNS'), detail: 'Access was denied.' })
  })

  test('silence is a timeout, which only reads may repeat', async () => {
    const hasty = createTechnitiumDhcp(config({ timeout_ms: 200 }), { log })
    await control('silent', { command: 'dhcp/scopes/list' })
    await assert.rejects(hasty.check(), { failure: 'timeout', retryable: true })
    await hasty.close()
    const transport = createTechnitiumTransport(config({ timeout_ms: 200 }), 'DNS')
    await control('silent', { command: 'zones/delete' })
    await assert.rejects(transport.call('zones/delete', { zone: 'acme.example' }), {
      failure: 'timeout',
      retryable: false,
    })
    await transport.close()
  })

  test('a slow answer within the time is an answer', async () => {
    await control('slow', { command: 'zones/list', delay_ms: 100 })
    await dns.check()
  })

  for (const kind of ['html200', 'json', 'cut'])
    test(`nonsense (${kind}) is an error of the subsystem and nothing else`, async () => {
      await control('garbage', { command: 'zones/list', kind })
      await assert.rejects(dns.zones(), { name: 'UpstreamError', upstream: 'DNS' })
      await control('garbage', { command: 'dhcp/scopes/list', kind })
      await assert.rejects(dhcp.scopes(), { name: 'UpstreamError', upstream: 'DHCP' })
    })

  test('a server that is away is unavailable, and so is one that loses its answer', async () => {
    await control('lose-answer', { command: 'zones/list' })
    await assert.rejects(dns.check(), { failure: 'unavailable' })
    const away = createTechnitiumDhcp(config({ url: 'http://127.0.0.1:1' }), { log })
    await assert.rejects(away.check(), { failure: 'unavailable', detail: 'ECONNREFUSED' })
    await away.close()
  })

  test('the caller may give up', async () => {
    await control('silent', { command: 'zones/list' })
    const reason = new Error('enough')
    await assert.rejects(dns.zones(AbortSignal.abort(reason)), reason)
  })
})

test('the configuration names the servers, each for itself, and none unless it says so', async () => {
  const none = createAddressServers(loadConfig(undefined, {}), log)
  assert.deepEqual([none.dhcp, none.dns], [undefined, undefined])
  await none.close()
  const mixed = createAddressServers(
    loadConfig(undefined, {
      GROUNDPLANE_DHCP_SERVER: 'technitium',
      GROUNDPLANE_TECHNITIUM_URL: lab.url,
      GROUNDPLANE_TECHNITIUM_TOKEN: lab.token,
      GROUNDPLANE_DNS_SERVER: 'powerdns',
    }),
    log,
  )
  assert.equal((await mixed.dhcp?.scopes())?.length, 2)
  await assert.rejects(mixed.dns?.zones() ?? Promise.resolve(), { failure: 'not_configured' })
  await mixed.close()
})
