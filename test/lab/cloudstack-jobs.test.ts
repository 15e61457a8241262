/** Jobs, ordered faults and webhooks of the simulated compute platform. */
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { after, before, beforeEach, describe, test } from 'node:test'
import { closeServer, listenOn, readText } from '../../lab/control.ts'
import { wellKnown } from '../../lab/site.ts'
import { until } from '../support/until.ts'
import { errorOf, fields, startLab } from './cloudstack-client.ts'
import type { LabClient } from './cloudstack-client.ts'

const { vms, networks } = wellKnown

describe('jobs', () => {
  let client: LabClient
  before(async () => {
    client = await startLab()
  })
  after(() => client.lab.close())
  beforeEach(() => {
    client.lab.reset()
  })

  test('a job stands still until a step, shows the machine in its passing state, and carries the result after it', async () => {
    const { jobid } = await client.ok('stopVirtualMachine', { id: vms['web-01'] })
    const query = { jobid: String(jobid) }
    assert.equal((await client.ok('queryAsyncJobResult', query))['jobstatus'], 0)
    const [busy] = await client.rows('listVirtualMachines', { id: vms['web-01'] })
    assert.deepEqual([busy?.['state'], busy?.['jobid'], busy?.['jobstatus']], ['Stopping', jobid, 0])
    client.lab.step()
    const done = await client.ok('queryAsyncJobResult', query)
    assert.deepEqual([done['jobstatus'], done['jobresultcode'], done['jobinstanceid']], [1, 0, vms['web-01']])
    assert.equal(fields(fields(done['jobresult'])['virtualmachine'])['state'], 'Stopped')
  })

  test('jobs on one machine run one after another', async () => {
    const stop = await client.ok('stopVirtualMachine', { id: vms['web-01'] })
    const start = await client.ok('startVirtualMachine', { id: vms['web-01'] })
    client.lab.step()
    assert.equal((await client.ok('queryAsyncJobResult', { jobid: String(stop['jobid']) }))['jobstatus'], 1)
    assert.equal((await client.ok('queryAsyncJobResult', { jobid: String(start['jobid']) }))['jobstatus'], 0)
    client.lab.step()
    assert.equal((await client.ok('queryAsyncJobResult', { jobid: String(start['jobid']) }))['jobstatus'], 1)
  })

  test('a failed job has its code and text in the result', async () => {
    const job = await client.job('startVirtualMachine', { id: vms['web-01'] })
    assert.equal(job['jobstatus'], 2)
    assert.equal(job['jobresultcode'], 431)
    assert.match(errorOf(job).text, /is already running/)
  })

  test('a chosen job id is kept, must be a UUID, and is not taken twice', async () => {
    const customjobid = randomUUID()
    assert.equal((await client.ok('stopVirtualMachine', { id: vms['web-01'], customjobid }))['jobid'], customjobid)
    assert.equal((await client.send('stopVirtualMachine', { id: vms['web-02'], customjobid })).status, 530)
    assert.equal((await client.send('stopVirtualMachine', { id: vms['web-02'], customjobid: 'mine' })).status, 431)
    const unknown = await client.send('queryAsyncJobResult', { jobid: randomUUID() })
    assert.match(String(unknown.body['errortext']), /entity does not exist/)
  })

  test('a create-job with a used id is refused only after its machine exists: an orphan stays', async () => {
    const customjobid = randomUUID()
    const deploy = {
      zoneid: wellKnown.zone,
      templateid: wellKnown.templates['Debian 12'],
      serviceofferingid: wellKnown.service_offerings.small,
      networkids: networks['office-shared'],
      customjobid,
    }
    const first = await client.ok('deployVirtualMachine', { ...deploy, name: 'once' })
    assert.equal(first['jobid'], customjobid)
    assert.equal(typeof first['id'], 'string')
    assert.equal((await client.send('deployVirtualMachine', { ...deploy, name: 'orphan' })).status, 530)
    assert.equal((await client.rows('listVirtualMachines', { name: 'orphan' })).length, 1)
  })

  test('a cancelled job has status 3', async () => {
    const { jobid } = await client.ok('stopVirtualMachine', { id: vms['web-01'] })
    await client.control('POST', '/cancel-job', { jobid })
    assert.equal((await client.ok('queryAsyncJobResult', { jobid: String(jobid) }))['jobstatus'], 3)
  })

  test('listAsyncJobs holds pending jobs alone', async () => {
    const { jobid } = await client.ok('stopVirtualMachine', { id: vms['web-01'] })
    const body = await client.ok('listAsyncJobs', { listall: true })
    assert.deepEqual([body['count'], Object.keys(body)], [1, ['count', 'asyncjobs']])
    client.lab.step()
    assert.equal((await client.ok('queryAsyncJobResult', { jobid: String(jobid) }))['jobstatus'], 1)
    assert.deepEqual(await client.ok('listAsyncJobs', { listall: true }), {})
  })

  test('in auto mode jobs end by themselves', async () => {
    const auto = await startLab({ time: 'auto' })
    try {
      const { jobid } = await auto.ok('stopVirtualMachine', { id: vms['web-01'], forced: true })
      await until(
        'the job is done',
        async () => (await auto.ok('queryAsyncJobResult', { jobid: String(jobid) }))['jobstatus'] === 1,
      )
    } finally {
      await auto.lab.close()
    }
  })
})

describe('faults', () => {
  let client: LabClient
  before(async () => {
    client = await startLab()
  })
  after(() => client.lab.close())
  beforeEach(() => {
    client.lab.reset()
  })

  test('an ordered failure hits the named command once, at the submit or in the job', async () => {
    await client.control('POST', '/fail', { command: 'listZones', code: 530, text: 'broken' })
    assert.equal((await client.send('listHosts')).status, 200)
    assert.deepEqual(errorOf((await client.send('listZones')).body), { code: 530, text: 'broken' })
    assert.equal((await client.send('listZones')).status, 200)
    await client.control('POST', '/fail', { command: 'stopVirtualMachine', code: 534, text: 'agent gone', at: 'job' })
    const job = await client.job('stopVirtualMachine', { id: vms['web-01'] })
    assert.deepEqual([job['jobstatus'], errorOf(job).text], [2, 'agent gone'])
    assert.equal((await client.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['state'], 'Running')
  })

  test('a lost answer leaves the work done', async () => {
    await client.control('POST', '/lose-answer', { command: 'updateVirtualMachine' })
    await assert.rejects(client.send('updateVirtualMachine', { id: vms['web-01'], displayname: 'renamed' }))
    assert.equal((await client.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['displayname'], 'renamed')
  })

  test('a pretended success is reported and nothing is done, in a job and at once', async () => {
    await client.control('POST', '/pretend', { command: 'stopVirtualMachine' })
    const job = await client.job('stopVirtualMachine', { id: vms['web-01'] })
    assert.deepEqual([job['jobstatus'], job['jobresult']], [1, { success: true }])
    await client.control('POST', '/pretend', { command: 'updateVirtualMachine' })
    assert.deepEqual(await client.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'renamed' }), {
      success: true,
    })
    const [row] = await client.rows('listVirtualMachines', { id: vms['web-01'] })
    assert.deepEqual([row?.['state'], row?.['displayname'] === 'renamed'], ['Running', false])
  })

  test('silence never answers, and garbage is HTML, a cut answer or JSON of another shape', async () => {
    const { lab } = client
    await client.control('POST', '/silent', { times: 1 })
    await assert.rejects(fetch(`${lab.url}?command=listZones`, { signal: AbortSignal.timeout(200) }), {
      name: 'TimeoutError',
    })
    await client.control('POST', '/garbage', { kind: 'html200' })
    const html = await fetch(`${lab.url}?command=listZones`)
    assert.deepEqual([html.status, html.headers.get('content-type')], [200, 'text/html'])
    await client.control('POST', '/garbage', { kind: 'cut' })
    await assert.rejects(async () => (await fetch(`${lab.url}?command=listZones`)).text())
    await client.control('POST', '/garbage', { kind: 'json' })
    assert.equal((await client.send('listZones')).wrapper, 'unexpected')
  })

  test('a slow answer comes after its delay', async () => {
    await client.control('POST', '/slow', { command: 'listZones', delay_ms: 120 })
    const started = performance.now()
    await client.ok('listZones')
    assert.ok(performance.now() - started >= 115)
  })

  test('a change behind the platform’s back shows in the lists', async () => {
    await client.control('POST', '/mutate', { kind: 'vms', id: vms['web-01'], set: { state: 'Stopped' } })
    assert.equal((await client.rows('listVirtualMachines', { id: vms['web-01'] }))[0]?.['state'], 'Stopped')
    const refusedChange = await client.control('POST', '/mutate', {
      kind: 'vms',
      id: vms['web-01'],
      set: { staet: 'x' },
    })
    assert.match(String(refusedChange['error']), /staet/)
  })
})

describe('webhooks', () => {
  test('an event is delivered signed, and only the answer 200 counts', async () => {
    const client = await startLab({ loopback_webhooks: true })
    const got: { headers: Record<string, string | string[] | undefined>; body: string }[] = []
    let status = 201
    const receiver = createServer((request, response) => {
      void readText(request).then((body) => {
        got.push({ headers: request.headers, body })
        response.writeHead(status).end()
      })
    })
    const url = await listenOn(receiver, { host: '127.0.0.1', port: 0 })
    try {
      await client.ok('createWebhook', {
        name: 'gp',
        payloadurl: `${url}/hook`,
        secretkey: 's3cret',
        scope: 'Global',
        state: 'Enabled',
      })
      await client.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'x' })
      await until('three tries were made', () => got.length === 3)
      status = 200
      await client.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'y' })
      await until('it is delivered', () => got.length === 4)
      status = 204
      await client.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'z' })
      await until('one try was made', () => got.length === 5)
      status = 200
      await client.ok('updateVirtualMachine', { id: vms['web-01'], displayname: 'last' })
      await until('204 was tried once', () => got.length === 6)
      const last = got.at(-1)
      const payload = fields(JSON.parse(last?.body ?? '{}'))
      assert.deepEqual(
        [payload['event'], payload['status'], payload['entity'], payload['entityuuid']],
        ['VM.UPDATE', 'Completed', 'VirtualMachine', vms['web-01']],
      )
      assert.equal(last?.headers['x-cs-event'], 'VM.UPDATE')
      assert.match(String(last?.headers['user-agent']), /^CS-Hookshot\//)
      assert.equal(
        last?.headers['x-cs-signature'],
        createHmac('sha256', 's3cret')
          .update(last?.body ?? '')
          .digest('base64'),
      )
      const events = await client.rows('listEvents', { id: String(last?.headers['x-cs-event-id']) })
      assert.equal(events.length, 1)
    } finally {
      await client.lab.close()
      await closeServer(receiver)
    }
  })
})
