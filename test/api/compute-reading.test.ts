// Metrics, usage, infrastructure, guest networks, state changes and the webhook over HTTP.
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, callsOf, control } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
const SECRET = 'hook-secret-1'

before(async () => {
  lab = await startLab({ time: 'step', config: { public_url: 'http://127.0.0.1:1', compute: { hook_secret: SECRET } } })
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())

afterEach(() => assertNoUnknownParameters(lab))

test('the aggregate counts every machine and adds up', async () => {
  const reply = await lab.call('GET', '/compute/vms/metrics/aggregate')
  assert.equal(reply.status, 200, reply.text)
  const { state_counts, totals, averages, virtual_machine_count, latest_sample_time } = reply.body
  assert.equal(virtual_machine_count, 40)
  assert.equal(
    Object.values<number>(state_counts).reduce((sum, count) => sum + count, 0),
    40,
  )
  const running = await lab.call('POST', '/compute/vms/list', { state: 'Running', page_size: 500 })
  assert.equal(state_counts.running, running.body.count)
  type Vm = { cpu_cores: number; cpu_speed_mhz: number; memory_mb: number }
  const mhz = running.body.virtual_machines.reduce((sum: number, vm: Vm) => sum + vm.cpu_cores * vm.cpu_speed_mhz, 0)
  const kib = running.body.virtual_machines.reduce((sum: number, vm: Vm) => sum + vm.memory_mb * 1024, 0)
  assert.deepEqual([totals.cpu_total_mhz, totals.memory_assigned_kbs], [mhz, kib])
  assert.ok(totals.cpu_used_mhz > 0 && totals.cpu_used_mhz < totals.cpu_total_mhz)
  assert.ok(averages.cpu_used_percent > 0 && averages.cpu_used_percent <= 100)
  assert.ok(averages.memory_used_percent > 0 && averages.memory_used_percent <= 100)
  assert.equal(totals.network_kbs_total, totals.network_kbs_read + totals.network_kbs_write)
  assert.equal(totals.disk_iops_total, totals.disk_io_read + totals.disk_io_write)
  assert.ok(latest_sample_time === null || !Number.isNaN(Date.parse(latest_sample_time)))
})

test('an aggregate without its platform is 500, and no half of one is given', async () => {
  await control(lab, 'fail', { command: 'listVirtualMachinesMetrics', code: 530, text: 'x', times: 1 })
  const { status, body } = await lab.call('GET', '/compute/vms/metrics/aggregate')
  assert.deepEqual([status, body.code], [500, 'COMPUTE_ERROR'])
})

test('usage history is paged by machine and counts all machines', async () => {
  const reply = await lab.call('GET', '/compute/vms/usage-history?page_size=7')
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.count, reply.body.virtual_machines.length], [40, 7])
  const one = await lab.call('POST', '/compute/vms/usage-history-byID', { virtual_machine_id: wellKnown.vms['web-01'] })
  assert.equal(one.status, 200, one.text)
  assert.ok(one.body.samples.length > 0)
  const times = one.body.samples.map((sample: { at: string }) => sample.at)
  assert.deepEqual(times, times.toSorted())
  assert.equal(typeof one.body.samples[0].cpu_used_percent, 'number')
})

test('a window that ends before it starts, or is no time, is 400', async () => {
  for (const query of ['start_date=2026-01-02T00:00:00Z&end_date=2026-01-01T00:00:00Z', 'start_date=yesterday']) {
    const { status, body } = await lab.call('GET', `/compute/vms/usage-history?${query}`)
    assert.deepEqual([status, body.errors[0].path], [400, 'query.start_date'])
  }
})

for (const [path, key] of [
  ['/infrastructure/zones', 'zones'],
  ['/infrastructure/clusters', 'clusters'],
  ['/infrastructure/hosts', 'hosts'],
  ['/catalog/templates', 'templates'],
  ['/catalog/serviceofferings', 'service_offerings'],
] as const) {
  test(`${path} lists and filters`, async () => {
    const all = await lab.call('GET', path)
    assert.equal(all.status, 200, all.text)
    assert.ok(all.body.count > 0 && all.body[key].length === all.body.count)
    const none = await lab.call('GET', `${path}?keyword=no-such-thing`)
    assert.deepEqual([none.body.count, none.body[key]], [0, []])
  })
}

test('guest networks are listed by kind and by name', async () => {
  const all = await lab.call('POST', '/network/guest-networks/list')
  assert.equal(all.status, 200, all.text)
  assert.equal(all.body.guest_networks.length, all.body.count)
  const one = await lab.call('POST', '/network/guest-networks/list', { name: 'office-shared' })
  assert.deepEqual(
    one.body.guest_networks.map((network: { id: string }) => network.id),
    [wellKnown.networks['office-shared']],
  )
  const isolated = await lab.call('POST', '/network/guest-networks/list', { type: 'isolated' })
  assert.ok(isolated.body.guest_networks.every((network: { type: string }) => network.type === 'Isolated'))
})

async function vmStates(): Promise<{ done: () => void; messages: Record<string, string>[] }> {
  const gone = new AbortController()
  const response = await fetch(`${lab.url}/events/sse?channels=vm`, {
    headers: { authorization: `Bearer ${lab.token}` },
    signal: gone.signal,
  })
  assert.equal(response.status, 200)
  const messages: Record<string, string>[] = []
  const read = async (): Promise<void> => {
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1]
        if (part.includes('event: vm-state') && data !== undefined)
          messages.push(JSON.parse(data) as Record<string, string>)
      }
    }
  }
  read().catch(() => {})
  return { done: () => gone.abort(), messages }
}

async function known(id: string, state: string): Promise<void> {
  // The present state must have been recorded before it can change.
  const stream = await vmStates()
  await control(lab, 'mutate', { kind: 'vms', id, set: { state } })
  await until('the change was recorded', () => stream.messages.some((one) => one.id === id && one.new_state === state))
  stream.done()
}

test('a power-off outside of us reaches the stream with the old and the new state', async () => {
  const id = wellKnown.vms.grafana
  await known(id, 'Unknown')
  const stream = await vmStates()
  await control(lab, 'mutate', { kind: 'vms', id, set: { state: 'Stopped', hostid: null } })
  const message = await until('the stream says so', () =>
    stream.messages.find((one) => one.id === id && one.new_state === 'Stopped'),
  )
  assert.deepEqual([message.old_state, message.name], ['Unknown', 'grafana'])
  stream.done()
})

function deliver(body: object, options: { secret?: string; id?: string } = {}) {
  const text = JSON.stringify(body)
  const signature = createHmac('sha256', options.secret ?? SECRET)
    .update(text)
    .digest('base64')
  const headers = {
    'x-cs-event-id': options.id ?? randomUUID(),
    'x-cs-signature': signature,
    'content-type': 'application/json',
  }
  return lab.call('POST', '/hooks/compute', text, { token: null, headers })
}

test('a webhook is answered with 200 and once only', async () => {
  const id = randomUUID()
  const event = { event: 'VM.STOP', status: 'Completed', entity: 'VirtualMachine', entityuuid: wellKnown.vms.loki }
  assert.deepEqual((await deliver(event, { id })).body, { message: 'received' })
  assert.deepEqual((await deliver(event, { id })).body, { message: 'received before' })
})

test('a webhook with a wrong signature, or none, is 401', async () => {
  const wrong = await deliver({ event: 'VM.STOP' }, { secret: 'other' })
  assert.deepEqual([wrong.status, wrong.body.code], [401, 'HOOK_SIGNATURE'])
  const none = await lab.call('POST', '/hooks/compute', { event: 'VM.STOP' }, { token: null })
  assert.deepEqual([none.status, none.body.code], [401, 'HOOK_SIGNATURE'])
})

test('a webhook whose id is longer than 200 characters, or empty, is 400 by the name of its header', async () => {
  for (const id of ['x'.repeat(201), '']) {
    const { status, body, text } = await deliver({ event: 'VM.STOP' }, { id })
    assert.equal(status, 400, text)
    const { path, message } = body.errors[0]
    assert.deepEqual([path, message], ['headers.x-cs-event-id', 'is missing, or longer than 200 characters'])
  }
})

test('the platform is told of our webhook once, however often the service starts, and those of other installations are left alone', async () => {
  const { webhooks } = lab.platform.state.tables
  await lab.restart()
  const ours = await until(
    'the webhook is there',
    () => webhooks.find(({ name }) => name === 'groundplane 127.0.0.1:1') ?? undefined,
  )
  assert.equal(ours.payloadurl, 'http://127.0.0.1:1/hooks/compute')
  const other = { ...ours, id: randomUUID(), name: 'groundplane', payloadurl: 'https://other.example/hooks/compute' }
  webhooks.put(other)
  webhooks.put({ ...ours, state: 'Disabled' })
  await lab.restart()
  await until('it is enabled again', () => webhooks.get(ours.id)?.state === 'Enabled')
  assert.deepEqual(webhooks.get(other.id), other)
  assert.equal(webhooks.filter(() => true).length, 2)
  const earlier = (await callsOf(lab, 'listWebhooks')).length
  const updates = (await callsOf(lab, 'updateWebhook')).length
  await lab.restart()
  await until('it was looked at', async () => (await callsOf(lab, 'listWebhooks')).length > earlier)
  assert.equal((await callsOf(lab, 'updateWebhook')).length, updates)
  assert.ok(!lab.logs().includes(SECRET))
})

test('a webhook that the platform refuses is logged as that, with the address and the reason', async () => {
  const { webhooks } = lab.platform.state.tables
  for (const one of webhooks.filter(() => true)) webhooks.remove(one.id)
  const text = 'Illegal host specified in URL.'
  await control(lab, 'fail', { command: 'createWebhook', code: 431, text, times: 1 })
  await lab.restart()
  const line = await until('it is logged', () =>
    lab
      .logs()
      .split('\n')
      .find((one) => one.includes('refuses the host of our webhook')),
  )
  const { payload_url, reason } = JSON.parse(line) as Record<string, string>
  assert.deepEqual([payload_url, reason], ['http://127.0.0.1:1/hooks/compute', text])
  assert.ok(!lab.logs().includes('could not be watched'))
})
