// The driver of the compute platform against the lab's platform: signatures, lists, jobs, and every way to go wrong.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { randomUUID } from 'node:crypto'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import catalogue from '../fixtures/cloudstack-commands.json' with { type: 'json' }
import { type CloudStack, type CloudStackConfig, createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { wasReplaced } from '#src/drivers/cloudstack/later-jobs.ts'
import { CloudStackError, LostJobError, UnknownJobError } from '#src/drivers/cloudstack/platform-error.ts'
import { observe } from '#src/drivers/cloudstack/postcondition.ts'
import { mapUpstreamError } from '#src/kernel/errors.ts'
import { createLog } from '#src/kernel/log.ts'
import { clientOf } from '../lab/cloudstack-client.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

let lab: CloudStackLab
let cloudstack: CloudStack
const log = createLog({ level: 'silent' })

before(async () => {
  lab = await startCloudStack({ time: 'step' })
  cloudstack = driver()
})
after(async () => {
  await cloudstack.close()
  await lab.close()
})
beforeEach(() => lab.reset())

function driver(config: Partial<CloudStackConfig> = {}): CloudStack {
  return createCloudStack(
    {
      url: lab.url, api_key: lab.api_key, secret_key: lab.secret_key, algorithm: 'auto', timeout_ms: 30_000, read_timeout_ms: 30_000, ...config,
    }, // biome-ignore format: one record
    { log, check: inCatalogue },
  )
}

function inCatalogue(command: string, wire: Record<string, string>): void {
  const entry = Object.entries(catalogue).find(([name]) => name === command)?.[1]
  assert.ok(entry !== undefined, `${command} is no command of the platform`)
  for (const name of Object.keys(wire)) {
    const plain = name.replace(/\[\d+\].*$/, '')
    const known = plain === 'customjobid' ? entry.isasync : entry.params.some((param) => param.name === plain)
    assert.ok(known, `${command} has no parameter ${plain}`)
  }
}

async function fault(path: string, body: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${lab.control_url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
  assert.equal(response.status, 200, await response.text())
}

async function failureOf(work: Promise<unknown>): Promise<CloudStackError> {
  const error = await work.then(
    () => assert.fail('it succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof CloudStackError, String(error))
  return error
}

const LIST = ['listVirtualMachines', { listall: true, page: 1, pagesize: 5 }] as const
const ITEM = { key: 'virtualmachine', read: (row: object) => row }

test('auto finds the signature the platform accepts, with reads alone', async () => {
  const fresh = driver()
  await fresh.call(...LIST)
  const { calls } = (await (await fetch(`${lab.control_url}/calls`)).json()) as { calls: { command: string }[] }
  assert.deepEqual([...new Set(calls.map((call) => call.command))].toSorted(), [
    'listCapabilities',
    'listVirtualMachines',
  ])
  await fresh.close()
})

test('wrong keys are an error of the subsystem, never a 401 of the caller', async () => {
  const wrong = driver({ secret_key: 'nope' })
  const error = await failureOf(wrong.call(...LIST))
  assert.equal(error.status, 401)
  assert.equal(mapUpstreamError(error, null).code, 'COMPUTE_ERROR')
  await wrong.close()
})

test('without URL or keys every call says which setting is missing', async () => {
  const unset = driver({ url: undefined, secret_key: undefined })
  const error = await failureOf(unset.call(...LIST))
  assert.equal(error.failure, 'not_configured')
  assert.equal(error.detail, 'compute.url, compute.secret_key')
})

test('a list over several pages gives every row once', async () => {
  const big = await startCloudStack({
    time: 'step',
    size: { vms: 1203, hosts: 20, clusters: 2, networks: 3, tenants: 2 },
  })
  const client = driver({ url: big.url, api_key: big.api_key, secret_key: big.secret_key })
  const ids = new Set<string | null>()
  let rows = 0
  for await (const row of client.listAll(
    'listVirtualMachines',
    { listall: true, projectid: '-1', details: 'min' },
    ITEM,
  )) {
    ids.add(textOf(row as Record<string, unknown>, 'id'))
    rows += 1
  }
  assert.equal(rows, 1203)
  assert.equal(ids.size, 1203)
  await client.close()
  await big.close()
})

test('nothing found is an empty page, not an error', async () => {
  const page = await cloudstack.listPage('listVirtualMachines', { keyword: 'no such thing' }, ITEM, {
    page: 1,
    page_size: 50,
  })
  assert.deepEqual(page, { rows: [], count: 0 })
})

test('a silent platform ends in a time-out', async () => {
  await fault('silent', { command: 'listVirtualMachines', times: 1 })
  const error = await failureOf(driver({ read_timeout_ms: 200 }).call(...LIST))
  assert.equal(error.failure, 'timeout')
})

test('a slow platform is waited for within the time-out', async () => {
  await fault('slow', { command: 'listVirtualMachines', delay_ms: 150, times: 1 })
  assert.ok(await cloudstack.call(...LIST))
})

for (const kind of ['html200', 'json'] as const) {
  test(`an answer that is ${kind} is an error of the platform`, async () => {
    await fault('garbage', { command: 'listVirtualMachines', kind, times: 1 })
    const error = await failureOf(cloudstack.call(...LIST))
    assert.equal(error.failure, 'error')
  })
}

test('an answer cut in the middle is asked for again when it only reads', async () => {
  await fault('garbage', { command: 'listVirtualMachines', kind: 'cut', times: 1 })
  assert.ok(await cloudstack.call(...LIST))
  await fault('garbage', { command: 'listVirtualMachines', kind: 'cut', times: 2 })
  assert.equal((await failureOf(cloudstack.call(...LIST))).failure, 'unavailable')
})

test('a refused connection is unavailable, and after a few the breaker answers at once', async () => {
  const nobody = driver({ url: `http://127.0.0.1:${await freeTcpPort()}/client/api`, algorithm: 'hmac-sha1' })
  assert.equal((await failureOf(nobody.call(...LIST))).failure, 'unavailable')
  await until('the breaker opens', async () => {
    await failureOf(nobody.call(...LIST))
    return nobody.state() === 'open'
  })
  assert.equal((await failureOf(nobody.call(...LIST))).detail, 'the last calls got no answer')
  await nobody.close()
})

test('the caller leaving ends the call with its own reason and opens no breaker', async () => {
  await fault('silent', { command: 'listVirtualMachines', times: 1 })
  const gone = new AbortController()
  const call = cloudstack.call(...LIST, { signal: gone.signal })
  gone.abort(new Error('gone'))
  await assert.rejects(call, /gone/)
  assert.equal(cloudstack.state(), 'closed')
})

test('a rate limit is waited out, whatever the call', async () => {
  await fault('fail', { command: 'updateVirtualMachine', code: 429, text: 'retry after [20] ms', times: 2 })
  await cloudstack.call('updateVirtualMachine', { id: wellKnown.vms['web-01'], displayname: 'x' })
})

const MAPPINGS: readonly [number, string, string][] = [
  [431, 'Invalid parameter id value=x due to incorrect long value format, or entity does not exist', 'VM_NOT_FOUND'],
  [
    431,
    'Invalid parameter templateid value=x due to incorrect long value format, or entity does not exist',
    'RESOURCE_NOT_FOUND',
  ],
  [431, 'VM is not Running, unable to migrate', 'VM_STATE'],
  [431, 'A thing with this name already exists', 'COMPUTE_CONFLICT'],
  [431, 'something nobody has seen before', 'COMPUTE_REJECTED'],
  [530, 'Internal error on host kvm-07.internal', 'COMPUTE_ERROR'],
  [531, 'Acct does not have permission', 'COMPUTE_REJECTED'],
  [533, 'Unable to create a deployment', 'CAPACITY_EXCEEDED'],
  [535, 'Maximum amount of resources of Type = user_vm is exceeded', 'QUOTA_EXCEEDED'],
  [537, 'The range specified conflicts with rule', 'COMPUTE_CONFLICT'],
  [503, 'Maintenance or shutdown has been initiated', 'COMPUTE_UNAVAILABLE'],
]
for (const [code, text, expected] of MAPPINGS) {
  test(`${code} "${text.slice(0, 40)}" becomes ${expected} without the platform's own words`, async () => {
    await fault('fail', { command: 'updateVirtualMachine', code, text, times: 1 })
    const error = await failureOf(
      cloudstack.call('updateVirtualMachine', { id: wellKnown.vms['web-01'], displayname: 'x' }),
    )
    assert.equal(error.detail, text)
    const shown = mapUpstreamError(error, null)
    assert.equal(shown.code, expected)
    assert.ok(!shown.message.includes('kvm-07') && !shown.message.includes('value=x'))
    assert.ok(shown.upstream_message?.includes('kvm-07') !== true, 'a host name is for the log alone')
  })
}

async function rebootJob(): Promise<string> {
  const job_id = randomUUID()
  await cloudstack.call('rebootVirtualMachine', { id: wellKnown.vms['web-01'] }, { job_id })
  return job_id
}

test('a job is followed to its result, through lost answers of its polls', async () => {
  const job_id = await rebootJob()
  await fault('garbage', { command: 'queryAsyncJobResult', kind: 'html200', times: 1 })
  await fault('fail', { command: 'queryAsyncJobResult', code: 530, text: 'restarting', times: 1 })
  const seen: number[] = []
  const followed = cloudstack.followJob(job_id, {
    signal: AbortSignal.timeout(20_000),
    onProgress: (job) => seen.push(job.status),
  })
  await until('it was seen running', () => seen.includes(0))
  lab.step()
  assert.ok('virtualmachine' in (await followed))
})

test('a job that fails throws what the platform says about it', async () => {
  await fault('fail', { command: 'rebootVirtualMachine', code: 533, text: 'no room', at: 'job', times: 1 })
  const job_id = await rebootJob()
  lab.step()
  const error = await failureOf(cloudstack.followJob(job_id, { signal: AbortSignal.timeout(20_000) }))
  assert.equal(error.status, 533)
  assert.equal(error.detail, 'no room')
})

test('a job that the platform cancelled has no outcome', async () => {
  const job_id = await rebootJob()
  await fault('cancel-job', { jobid: job_id })
  const error = await failureOf(cloudstack.followJob(job_id, { signal: AbortSignal.timeout(20_000) }))
  assert.ok(error instanceof LostJobError)
})

test('an unknown job is told apart from a failed one', async () => {
  assert.equal(await cloudstack.queryJob(seededId('job', 'never')), undefined)
  const error = await failureOf(cloudstack.followJob(seededId('job', 'never'), { signal: AbortSignal.timeout(20_000) }))
  assert.ok(error instanceof UnknownJobError)
})

test('supports tells which commands and parameters this platform has', async () => {
  assert.equal(await cloudstack.lookups.supports('listVirtualMachines'), true)
  assert.equal(await cloudstack.lookups.supports('listVirtualMachines', 'keyword'), true)
  assert.equal(await cloudstack.lookups.supports('listVirtualMachines', 'nonsense'), false)
  assert.equal(await cloudstack.lookups.supports('noSuchCommand'), false)
})

test('that a volume was made in the same second does not explain why it is not attached', async () => {
  const { vms, disk_offerings, zone } = wellKnown
  const platform = clientOf(lab)
  const sameSecond = async (): Promise<{ volume_id: string; job_id: string } | undefined> => {
    const job_id = randomUUID()
    const made = await platform.job('createVolume', { name: 'quick', diskofferingid: disk_offerings['ssd-20'], zoneid: zone })
    const volume_id = String(made['jobinstanceid'])
    await fault('pretend', { command: 'attachVolume', times: 1 })
    const attached = await platform.job('attachVolume', { id: volume_id, virtualmachineid: vms.wiki, customjobid: job_id })
    assert.equal(attached['jobstatus'], 1)
    const [making, attaching] = [made, attached].map(({ created }) => String(created))
    return making === attaching ? { volume_id, job_id } : undefined
  } // biome-ignore format: calls of the platform
  const { volume_id, job_id } = await until('both are done within one second', sameSecond)
  const postcondition = { thing: 'volume', args: { id: volume_id }, expect: { virtualmachineid: vms.wiki } } as const
  const { signal } = new AbortController()
  const seen = await observe(cloudstack, postcondition, null, { signal })
  assert.equal(seen.holds, false)
  assert.equal(await wasReplaced(cloudstack, { job_id, postcondition, made_id: null }, seen, signal), false)
})
