// What BMCs are kept from and what is kept from others: addresses, credentials, certificates, sessions, records and streams.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SimulatedBmc } from '../../lab/redfish/server.ts'
import { BMC_CALLS, type BmcSite, codeOf, putRecord, startBmcSite } from '../support/bmc-site.ts'
import { openStream } from '../support/sse-client.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let site: BmcSite
let generic: SimulatedBmc
let old: SimulatedBmc
let recent: SimulatedBmc
let newest: SimulatedBmc
let minimal: SimulatedBmc
before(async () => {
  site = await startBmcSite()
  generic = site.bmcs['generic-2023']
  old = site.bmcs['idrac9-5']
  recent = site.bmcs['idrac9-7']
  newest = site.bmcs.idrac10
  minimal = site.bmcs.minimal
})
after(() => site?.close())

test('every operation: an address that is not allowed is 400, one without credentials 401, a silent one 500, in time', async () => {
  const dead = { ...generic, host: '127.0.77.200', port: 9 }
  await putRecord(site, dead)
  const ask = (bmc_ip: string, path: string, body: object) =>
    site.lab.call('POST', `/vendora-inventory/${path}`, { bmc_ip, ...body })
  for (const [path, body] of Object.entries(BMC_CALLS)) {
    for (const bmc_ip of ['127.0.0.1', '169.254.169.254', '10.1.0.21', '::1', '::ffff:127.0.0.1', '127.0.78.11']) {
      assert.equal(codeOf(await ask(bmc_ip, path, body)), '400 BMC_ADDRESS_NOT_ALLOWED', `${path} ${bmc_ip}`)
    }
    assert.equal(codeOf(await ask('127.0.77.201', path, body)), '401 BMC_CREDENTIALS_NOT_FOUND', path)
  }
  const silent = await Promise.all(Object.entries(BMC_CALLS).map(([path, body]) => ask(dead.host, path, body)))
  assert.deepEqual([...new Set(silent.map(codeOf))], ['500 BMC_UNAVAILABLE'])
  for (const query of ['127.0.0.1', 'x']) {
    assert.equal((await site.lab.call('GET', `/vendora-inventory/powerstate/sse?bmc_ip=${query}`)).status, 400)
  }
  const no_credentials = await site.lab.call('GET', '/vendora-inventory/powerstate/sse?bmc_ip=127.0.77.201')
  assert.equal(codeOf(no_credentials), '401 BMC_CREDENTIALS_NOT_FOUND')
})

test('credentials of a request are for admins, come in pairs, and are tried once when they are wrong', async () => {
  assert.equal(codeOf(await site.ask(old, 'powerstate', { username: 'root' })), '400 INVALID_REQUEST')
  assert.equal(codeOf(await site.ask(old, 'powerstate', { password: 'planted-wrong-1' })), '400 INVALID_REQUEST')
  const viewer = await site.lab.call('POST', '/auth/tokens', { name: 'viewer', role: 'viewer' })
  const { username, password } = old
  const by_viewer = await site.ask(old, 'powerstate', { username, password }, { token: viewer.body.token })
  assert.equal(codeOf(by_viewer), '403 FORBIDDEN')
  assert.equal((await site.ask(old, 'powerstate', {}, { token: viewer.body.token })).status, 200)
  assert.equal((await site.ask(old, 'powerstate', { username, password })).status, 200)
  old.state.failed_logins = 0
  const wrong = { username, password: 'planted-wrong-1' }
  const replies = [await site.ask(old, 'powerstate', wrong), await site.ask(old, 'powerstate', wrong)]
  replies.push(
    ...(await Promise.all(Object.entries(BMC_CALLS).map(([path, body]) => site.ask(old, path, { ...body, ...wrong })))),
  )
  assert.deepEqual([...new Set(replies.map(codeOf))], ['401 BMC_CREDENTIALS_REJECTED'])
  assert.equal(old.state.failed_logins, 1, 'a locked account locks people out')
  old.state.failed_logins = 0
})

test('a lost session is renewed once, and many callers at once log in once', async () => {
  const logins = (): number => site.asked(newest).filter((line) => /^POST .*Sessions/.test(line)).length
  const before_logins = logins()
  newest.loseSessions()
  const replies = await Promise.all(Array.from({ length: 8 }, () => site.ask(newest, 'powerstate')))
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
  assert.equal(logins() - before_logins, 1)
})

test('a changed certificate stops everything before credentials are sent, until an admin accepts it', async () => {
  const before_fingerprint = old.fingerprint()
  await old.rotateCertificate()
  site.redfish.calls.clear()
  const refused = await site.ask(old, 'powerstate')
  assert.equal(codeOf(refused), '500 BMC_TLS_PIN_MISMATCH')
  assert.ok(refused.body.detail.includes(before_fingerprint) && refused.body.detail.includes(old.fingerprint()))
  assert.deepEqual(site.asked(old), [], 'nothing was sent')
  const path = `/vendora-inventory/bmcs/${old.host}`
  const wrong = await site.lab.call('POST', `${path}/repin`, { fingerprint: before_fingerprint })
  assert.equal(codeOf(wrong), '409 BMC_PIN_CONFLICT')
  const repinned = await site.lab.call('POST', `${path}/repin`, { fingerprint: old.fingerprint() })
  assert.deepEqual([repinned.status, repinned.body.certificate.fingerprint], [200, old.fingerprint()], repinned.text)
  assert.equal((await site.ask(old, 'powerstate')).status, 200)
})

test('records: stored, listed, shown without secrets, tested, deleted; an unknown one is 404', async () => {
  const path = `/vendora-inventory/bmcs/${generic.host}`
  assert.equal((await site.ask(generic, 'powerstate')).status, 200)
  const list = await site.lab.call('GET', '/vendora-inventory/bmcs')
  assert.deepEqual([list.status, list.body.bmcs.length >= 5], [200, true])
  const one = await site.lab.call('GET', path)
  assert.deepEqual([one.body.username, one.body.certificate.fingerprint], [generic.username, generic.fingerprint()])
  assert.ok(!JSON.stringify([list.body, one.body]).includes(generic.password))
  const tested = await site.lab.call('POST', `${path}/test`)
  assert.deepEqual([tested.status, tested.body.dialect, tested.body.login], [200, 'generic', 'session'], tested.text)
  const basic = await site.lab.call('POST', `/vendora-inventory/bmcs/${minimal.host}/test`)
  assert.equal(basic.body.login, 'basic')
  assert.equal(
    codeOf(await site.lab.call('PUT', '/vendora-inventory/bmcs/10.9.9.9', { username: 'a', password: 'b' })),
    '400 BMC_ADDRESS_NOT_ALLOWED',
  )
  for (const tls_mode of ['insecure', 'ca']) {
    assert.equal(
      codeOf(await site.lab.call('PUT', path, { username: 'a', password: 'b', tls_mode })),
      '400 INVALID_REQUEST',
    )
  }
  const unknown = '/vendora-inventory/bmcs/127.0.77.99'
  assert.equal((await site.lab.call('GET', unknown)).status, 404)
  assert.equal((await site.lab.call('DELETE', unknown)).status, 404)
  assert.equal((await site.lab.call('POST', `${unknown}/test`)).status, 404)
  assert.equal((await site.lab.call('POST', `${unknown}/repin`, { fingerprint: 'AB'.repeat(32) })).status, 404)
  await putRecord(site, { ...generic, host: '127.0.77.202' })
  assert.equal((await site.lab.call('DELETE', '/vendora-inventory/bmcs/127.0.77.202')).status, 200)
  await putRecord(site, { ...recent, password: 'planted-wrong-2' })
  assert.equal(
    codeOf(await site.lab.call('POST', `/vendora-inventory/bmcs/${recent.host}/test`)),
    '401 BMC_CREDENTIALS_REJECTED',
  )
  await putRecord(site, recent)
  assert.equal(
    (await site.lab.call('POST', `/vendora-inventory/bmcs/${recent.host}/test`)).status,
    200,
    'a new record may be tried at once',
  )
})

test('what the BMC itself refuses is 400 with its reason for operators, and what is not configured names the setting', async () => {
  const text = 'The value is not supported.'
  generic.faults.add({ kind: 'status', match: 'POST .*Reset', status: 400, message_id: 'Base.1.12.Refused', text })
  const refused = await site.ask(generic, 'poweraction', { reset_type: 'ForceRestart' })
  assert.equal(codeOf(refused), '400 BMC_REJECTED')
  assert.match(refused.body.upstream_message, /not supported/)
  delete site.lab.config.bmc.iso_dir
  const unset = await site.ask(generic, 'iso/mount', BMC_CALLS['iso/mount'])
  assert.equal(codeOf(unset), '500 BMC_NOT_CONFIGURED')
  assert.match(unset.body.detail, /bmc\.iso_dir/)
})

test('the power stream: one poller for all watchers, a message for every change and every trouble, none when nobody watches', async () => {
  const url = `${site.lab.url}/vendora-inventory/powerstate/sse?bmc_ip=${newest.host}`
  const first = await openStream(url, site.lab.token)
  await until('the first state', () => first.messages.some(({ data }) => data.stale === false))
  const second = await openStream(url, site.lab.token)
  await until('the known state', () => second.messages.length > 0)
  assert.deepEqual([second.messages[0]?.data.stale, second.messages[0]?.data.power_on], [true, true])
  newest.state.power = 'Off'
  await until('both hear', () => [first, second].every(({ messages }) => messages.at(-1)?.data.power_on === false))
  assert.equal(first.messages.at(-1)?.data.previous, 'On')
  newest.faults.add({ kind: 'drop', match: 'GET', times: 4 })
  await until('the trouble is told', () =>
    first.messages.some(({ event, data }) => event === 'error' && data.code === 'BMC_UNAVAILABLE'),
  )
  await until('and its end', () => first.messages.at(-1)?.event === 'power')
  const reads = (): number => site.asked(newest).filter((line) => /GET .*Systems\/[^/]+ /.test(line)).length
  first.close()
  second.close()
  await until('nobody polls', async () => {
    const before_reads = reads()
    await new Promise((resolve) => setTimeout(resolve, 400))
    return reads() === before_reads
  })
  newest.state.power = 'On'
})

test('no credential of a BMC stands in logs, events, jobs, records or the audit', async () => {
  const secrets = ['calvin-lab', 'planted-wrong-1', 'planted-wrong-2']
  const texts = [site.lab.logs()]
  for (const [method, path, body] of [
    ['GET', '/jobs?page_size=500', undefined], ['POST', '/events/app-events', { page_size: 500 }], ['GET', '/vendora-inventory/bmcs', undefined],
    ['GET', '/auth/audit?page_size=500', undefined],
  ] as const) {
    texts.push((await site.lab.call(method, path, body)).text)
  } // biome-ignore format: a table
  await onDatabase(site.lab.database.connection, async (client) => {
    for (const table of [
      'job',
      'job_step',
      'job_event',
      'app_event',
      'bmc',
      'bmc_inventory',
      'audit',
      'idempotency',
      'stream_event',
    ]) {
      const { rows } = await client.query(`select to_jsonb(t)::text as row from ${table} t`)
      texts.push(rows.map(({ row }: { row: string }) => row).join('\n'))
    }
  })
  for (const secret of secrets)
    assert.equal(
      texts.findIndex((text) => text.includes(secret)),
      -1,
      secret,
    )
  assert.ok(texts[0]?.includes('bmcPowerGet'))
})
