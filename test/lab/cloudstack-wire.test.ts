/** The simulated compute platform's wire: signatures, envelopes, parameter checks. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { signature, signedText } from '../../lab/cloudstack/sign.ts'
import { wellKnown } from '../../lab/site.ts'
import { read, startLab } from './cloudstack-client.ts'
import type { LabClient } from './cloudstack-client.ts'

const { vms } = wellKnown

describe('signatures', () => {
  test('the published example signs to the published value', () => {
    // Key and secret are the ones printed in the platform's developer guide, "How to sign an API call with Python".
    const params = new Map([
      ['command', 'listUsers'],
      ['response', 'json'],
      ['apikey', 'plgWJfZK4gyS3mOMTVmjUVg-X-jlWlnfaUJ9GAbBbf9EdM-kAYMmAiLqzzq1ElZLYq_u38zCm0bewzGUdP66mg'],
    ])
    const secret = 'VDaACYb0LV9eNjTetIOElcVQkvJck_J_QljX_FcHRj87ZKiy0z0ty0ZsYBkoXkY9b7eq1EhwJaw7FF3akA3KBQ'
    assert.equal(signature(params, secret, 'hmac-sha1'), 'TTpdDq/7j/J58XCRHomKoQXEQds=')
  })

  test('map keys keep their place in the order and every special character is encoded as the server does', () => {
    const params = new Map([
      ['apikey', 'k'],
      ['command', 'updateVirtualMachine'],
      ['response', 'json'],
      ['signatureversion', '3'],
      ['expires', '2030-01-01T00:00:00+0000'],
      ['id', '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001'],
      ['displayname', "a b+c*~!'()/[x]é"],
      ['details[0].UEFI', 'SECURE'],
      ['details[0].cpuNumber', '4'],
      ['details[0].virtual.tpm.model', 'tpm-crb'],
    ])
    assert.equal(
      signedText(params),
      'apikey=k&command=updatevirtualmachine&details[0].uefi=secure&details[0].cpunumber=4&details[0].virtual.tpm.model=tpm-crb&displayname=a%20b%2bc*%7e%21%27%28%29%2f%5bx%5d%c3%a9&expires=2030-01-01t00%3a00%3a00%2b0000&id=4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001&response=json&signatureversion=3',
    )
    assert.equal(signature(params, 'secret-1', 'hmac-sha1'), '06N+A6sEx6DXvsndWdhB3wAGHjg=')
  })
})

describe('wire', () => {
  let client: LabClient
  before(async () => {
    client = await startLab()
  })
  after(() => client.lab.close())
  beforeEach(() => {
    client.lab.reset()
  })

  test('a wrong signature, an expired request, an unknown key and an unknown command give the very same text', async () => {
    const { lab } = client
    const text = 'unable to verify user credentials and/or request signature'
    const cases = [
      await client.send('listZones', {}, { api_key: lab.api_key, secret_key: 'wrong' }),
      await client.send('listZones', {}, { api_key: 'nobody', secret_key: lab.secret_key }),
      await client.send('listZones', { signatureversion: 3, expires: '2020-01-01T00:00:00+0000' }),
      await client.send('listZones', { signatureversion: 3 }),
      await client.send('listNothingAtAll'),
    ]
    for (const one of cases) {
      assert.equal(one.status, 401)
      assert.equal(one.body['errortext'], text)
      assert.equal(one.description, text)
    }
    assert.equal(cases.at(-1)?.wrapper, 'errorresponse')
    assert.equal(
      (await client.send('listZones', { signatureversion: 3, expires: '2999-01-01T00:00:00+0000' })).status,
      200,
    )
  })

  test('the query wins over the body, and GET works as POST does', async () => {
    const { lab } = client
    const query = new Map([
      ['command', 'listZones'],
      ['response', 'json'],
      ['apikey', lab.api_key],
    ])
    query.set('signature', signature(query, lab.secret_key, 'hmac-sha1'))
    const url = `${lab.url}?${new URLSearchParams([...query]).toString()}`
    assert.equal((await read(await fetch(url))).wrapper, 'listzonesresponse')
    const both = await fetch(url, { method: 'POST', body: new URLSearchParams({ command: 'listHosts' }) })
    assert.equal((await read(both)).wrapper, 'listzonesresponse')
  })

  test('nothing found has no key at all, and a page past the end has only the count', async () => {
    assert.deepEqual(await client.ok('listWebhooks'), {})
    assert.deepEqual(await client.ok('listVirtualMachines', { listall: true, projectid: -1, page: 9, pagesize: 50 }), {
      count: 40,
    })
  })

  test('null fields are left out of answers', async () => {
    const [vm] = await client.rows('listVirtualMachines', { id: vms['build-win'] })
    assert.equal(vm?.['state'], 'Stopped')
    assert.equal(Object.hasOwn(vm ?? {}, 'hostid'), false)
  })

  test('an error carries status, code, text and the header, under the command’s own wrapper', async () => {
    const answer = await client.send('startVirtualMachine')
    assert.equal(answer.status, 431)
    assert.equal(answer.wrapper, 'startvirtualmachineresponse')
    assert.equal(answer.body['cserrorcode'], 9999)
    assert.match(String(answer.body['errortext']), /missing parameter id/)
    assert.ok(Array.isArray(answer.body['uuidList']))
    assert.equal(answer.description, answer.body['errortext'])
  })

  test('an unknown parameter changes nothing in the answer but is reported by the control API', async () => {
    await client.ok('listZones', { zonename: 'x' })
    await client.ok('listZones', { customjobid: randomUUID() })
    const { unknown_parameters } = await client.control('GET', '/unknown-parameters')
    assert.deepEqual(unknown_parameters, [
      { command: 'listZones', parameter: 'zonename' },
      { command: 'listZones', parameter: 'customjobid' },
    ])
  })

  test('the call log names commands and parameters and never a secret', async () => {
    await client.ok('createWebhook', { name: 'h', payloadurl: 'http://198.51.100.9/h', secretkey: 'very-secret' })
    const { calls } = await client.control('GET', '/calls')
    const text = JSON.stringify(calls)
    assert.match(text, /"command":"createWebhook".*"name":"h"/)
    for (const secret of ['very-secret', client.lab.secret_key, client.lab.api_key])
      assert.equal(text.includes(secret), false)
  })

  test('a site that enforces POST refuses a change by GET, and a request that lives too long', async () => {
    const { lab } = client
    await client.ok('updateConfiguration', { name: 'enforce.post.requests.and.timestamps', value: 'true' })
    const soon = new Date(Date.now() + 10 * 60_000).toISOString()
    assert.equal((await client.send('listZones', { signatureversion: 3, expires: soon })).status, 200)
    assert.equal((await client.send('listZones', { signatureversion: 3, expires: '2999-01-01T00:00:00Z' })).status, 401)
    assert.equal((await client.send('listZones')).status, 401)
    const byGet = await fetch(`${lab.url}?command=stopVirtualMachine&response=json&signatureversion=3&expires=${soon}`)
    assert.equal(byGet.status, 400)
  })

  test('a caller that goes away in the middle of its body hurts nobody else', async () => {
    const { port, hostname } = new URL(client.lab.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write('POST /client/api HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ncommand=')
    socket.destroy()
    await once(socket, 'close')
    assert.equal((await client.send('listZones')).status, 200)
  })
})
