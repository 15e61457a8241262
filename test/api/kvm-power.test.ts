// Power of machines through remote KVMs over the API, against simulated ones: the state, the stream, and every documented answer.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Reply } from '../support/http.ts'
import { type KvmSite, putKvm, startKvmSite } from '../support/kvm-site.ts'
import { openStream } from '../support/sse-client.ts'
import { until } from '../support/until.ts'

const NAMES = ['one', 'rotated', 'wrong', 'odd'] as const
let site: KvmSite<(typeof NAMES)[number]>
before(async () => {
  site = await startKvmSite({ names: NAMES })
})
after(() => site?.close())

const power = (kvm_ip: string): Promise<Reply> =>
  site.lab.call('GET', `/remotekvm-inventory/power/status?kvm_ip=${kvm_ip}`)
const codeOf = ({ status, body }: Reply): string => `${status} ${body?.code}`

test('the power state is that of the LED, and says so where the KVM is not wired to it', async () => {
  const { one } = site.kvms
  const on = await power(one.host)
  assert.deepEqual([on.status, on.body.power_on, on.body.status], [200, true, 'on'], on.text)
  one.state.machine.power = false
  assert.equal((await power(one.host)).body.status, 'off')
  one.state.busy.atx = true
  assert.equal((await power(one.host)).body.status, 'busy')
  one.state.busy.atx = false
  one.state.habits.atx_disabled = true
  const disabled = await power(one.host)
  assert.deepEqual([disabled.status, disabled.body.power_on, disabled.body.status], [200, false, 'disabled'])
  one.state.habits.atx_disabled = false
  one.state.machine.power = true
})

test('an address that is none, not allowed, or without a record is refused before anything is sent', async () => {
  assert.equal(codeOf(await power('not-an-address')), '400 INVALID_REQUEST')
  for (const address of ['10.9.9.9', '127.0.0.1', '169.254.169.254', '::1'])
    assert.equal(codeOf(await power(address)), '400 BMC_ADDRESS_NOT_ALLOWED', address)
  assert.equal(codeOf(await power('127.0.82.99')), '401 KVM_CREDENTIALS_NOT_FOUND')
  const stream = '/remotekvm-inventory/power/sse'
  assert.equal(codeOf(await site.lab.call('GET', `${stream}?bmc_ip=127.0.0.1`)), '400 BMC_ADDRESS_NOT_ALLOWED')
  assert.equal(codeOf(await site.lab.call('GET', `${stream}?bmc_ip=127.0.82.99`)), '401 KVM_CREDENTIALS_NOT_FOUND')
})

test('wrong credentials are tried once, and those that a KVM cannot have are not tried at all', async () => {
  const { wrong } = site.kvms
  await putKvm(site, { ...wrong, password: 'planted-wrong-7d1' })
  assert.equal(codeOf(await power(wrong.host)), '401 KVM_CREDENTIALS_REJECTED')
  assert.equal(site.asked(wrong).length, 1)
  await putKvm(site, { ...wrong, username: 'Root' })
  assert.equal(codeOf(await power(wrong.host)), '401 KVM_CREDENTIALS_REJECTED')
  assert.equal(site.asked(wrong).length, 1)
  assert.equal(site.lab.logs().includes('planted-wrong-7d1'), false)
})

test('a certificate that changed is refused before the credentials are sent, until it is accepted', async () => {
  const { rotated } = site.kvms
  assert.equal((await power(rotated.host)).status, 200)
  await rotated.rotateCertificate()
  const asked = site.asked(rotated).length
  assert.equal(codeOf(await power(rotated.host)), '500 KVM_TLS_PIN_MISMATCH')
  assert.equal(site.asked(rotated).length, asked)
  const body = { fingerprint: rotated.fingerprint() }
  const repin = await site.lab.call('POST', `/vendora-inventory/bmcs/${rotated.host}/repin`, body)
  assert.equal(repin.status, 200, repin.text)
  assert.equal((await power(rotated.host)).status, 200)
})

test('a KVM that is silent, gone, or answers rubbish is a 500 in bounded time', async () => {
  const { odd } = site.kvms
  odd.faults.add({ kind: 'garbage', match: '/atx' })
  assert.equal(codeOf(await power(odd.host)), '500 KVM_ERROR')
  odd.faults.add({ kind: 'silent', match: '/atx' })
  assert.equal(codeOf(await power(odd.host)), '500 KVM_TIMEOUT')
  odd.faults.add({ kind: 'drop', match: '/atx', times: 3 })
  assert.equal(codeOf(await power(odd.host)), '500 KVM_UNAVAILABLE')
  odd.faults.add({ kind: 'drop', match: '/atx', times: 2 })
  assert.equal((await power(odd.host)).status, 200, 'a read is repeated')
})

test('watchers of one KVM share one poller, hear every change, and of trouble once', async () => {
  const { one } = site.kvms
  const url = `${site.lab.url}/remotekvm-inventory/power/sse?bmc_ip=${one.host}`
  const first = await openStream(url, site.lab.token)
  const second = await openStream(url, site.lab.token)
  try {
    assert.equal(first.status, 200)
    const heard = (reader: typeof first, of: (data: { power_state?: string; code?: string }) => boolean) =>
      until('the message', async () => reader.messages.find(({ data }) => of(data)))
    const fresh = await heard(first, ({ power_state }) => power_state === 'On')
    assert.equal(fresh.data.bmc_ip, one.host)
    one.state.machine.power = false
    for (const reader of [first, second]) await heard(reader, ({ power_state }) => power_state === 'Off')
    one.faults.add({ kind: 'garbage', match: '/atx', times: 2 })
    await heard(first, ({ code }) => code === 'KVM_ERROR')
    one.state.machine.power = true
    await until(
      'the state after the trouble',
      async () => first.messages.at(-1)?.data.power_state === 'On' || undefined,
    )
    assert.equal(first.messages.filter(({ event }) => event === 'error').length, 1)
  } finally {
    first.close()
    second.close()
    await Promise.all([first.ended, second.ended])
  }
})
