// Changes are sent so that a lost answer cannot run them twice, and every failure has its exit code.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startCli, until } from './cli-process.ts'
import { runAt, runCli } from './in-process.ts'
import { problem, type Reply, startFakeService } from './fake-service.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ID = '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001'
const VM = { id: ID, name: 'web-1', state: 'Running' }

test('a change whose answer is lost is repeated once with the same idempotency key', async (t) => {
  const service = await startFakeService({
    'POST /compute/vms/stop': (_request, raw) => {
      if (service.seen.length > 1) return { body: VM }
      raw.destroy()
      return undefined
    },
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'stop', ID])
  assert.equal(result.code, 0, result.stderr)
  const keys = service.seen.map((request) => request.headers['idempotency-key'])
  assert.equal(keys.length, 2)
  assert.match(String(keys[0]), /^[0-9a-f-]{36}$/)
  assert.equal(keys[0], keys[1])
})

test('an answer that breaks off in its middle counts as lost', async (t) => {
  const service = await startFakeService({
    'POST /compute/vms/stop': (_request, raw) => {
      if (service.seen.length > 1) return { body: VM }
      raw.writeHead(200, { 'content-length': '100' })
      raw.write('{"id":', () => raw.destroy())
      return undefined
    },
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['vm', 'stop', ID, '--idempotency-key', 'mine'])
  assert.equal(result.code, 0, result.stderr)
  assert.deepEqual(
    service.seen.map((request) => request.headers['idempotency-key']),
    ['mine', 'mine'],
  )
})

test('a removal, which has no key, is not repeated', async (t) => {
  const service = await startFakeService({
    'DELETE /gadgets/7': (_request, raw) => {
      raw.destroy()
      return undefined
    },
  })
  t.after(() => service.close())
  const result = await runAt(service.url, ['gadget', 'delete', '7'])
  assert.equal(result.code, 7)
  assert.equal(service.seen.length, 1)
})

test('reads carry no idempotency key', async (t) => {
  const service = await startFakeService({ 'POST /compute/vms/byID': () => ({ body: VM }) })
  t.after(() => service.close())
  await runAt(service.url, ['vm', 'get', ID])
  assert.equal(service.seen[0]?.headers['idempotency-key'], undefined)
})

test('each kind of failure has its exit code and names code, request and option', async (t) => {
  const cases: [Reply, number, RegExp][] = [
    [problem(400, 'INVALID_REQUEST', 'not valid', { errors: [{ path: 'body.host_id', message: 'is odd' }] }), 2, /body\.host_id \(--host-id\): is odd/],
    [problem(400, 'VM_STATE', 'it runs'), 1, /error: it runs\n {2}VM_STATE \(status 400, request req-7\)/],
    [problem(401, 'UNAUTHENTICATED', 'who are you'), 3, /groundplane login/],
    [problem(403, 'FORBIDDEN', 'no'), 3, /FORBIDDEN/],
    // Routes that do not list 404 or 409 answer 400 with the code of either.
    [problem(400, 'VM_NOT_FOUND', 'none'), 4, /VM_NOT_FOUND/],
    [problem(404, 'VM_NOT_FOUND', 'none'), 4, /VM_NOT_FOUND/],
    [problem(400, 'QUOTA_EXCEEDED', 'full'), 5, /QUOTA_EXCEEDED/],
    [problem(409, 'CAPACITY_EXCEEDED', 'full'), 5, /CAPACITY_EXCEEDED/],
    [problem(500, 'COMPUTE_TIMEOUT', 'slow'), 6, /COMPUTE_TIMEOUT/],
    [{ status: 502, body: '<html>bad gateway</html>' }, 6, /not JSON/],
    [{ status: 400, body: { success: false, message: 'lease unknown', code: 'INVALID_REQUEST', request_id: 'r' } }, 2, /lease unknown/],
  ] // biome-ignore format: a table
  let reply: Reply = { body: null }
  const service = await startFakeService({ 'POST /compute/vms/start': () => reply })
  t.after(() => service.close())
  for (const [answer, code, text] of cases) {
    reply = answer
    const result = await runAt(service.url, ['vm', 'start', ID])
    assert.equal(result.code, code, `${JSON.stringify(answer)} ${result.stderr}`)
    assert.match(result.stderr, text)
    assert.equal(result.stdout, '')
  }
})

test('an error about one field is said once, with its option; several stand under the message', async (t) => {
  const one = { path: 'body.host_id', message: 'is odd' }
  let reply = problem(400, 'INVALID_REQUEST', 'body.host_id: is odd', { errors: [one] })
  const service = await startFakeService({ 'POST /compute/vms/start': () => reply })
  t.after(() => service.close())
  const said = async () => (await runAt(service.url, ['vm', 'start', ID])).stderr
  assert.match(await said(), /^error: body\.host_id \(--host-id\): is odd\n {2}INVALID_REQUEST/)
  reply = problem(400, 'INVALID_REQUEST', 'two are wrong', {
    errors: [one, { path: 'body.pod_id', message: 'is even' }],
  })
  assert.match(await said(), /^error: two are wrong\n.*\(--host-id\): is odd\n.*\(--pod-id\): is even\n/)
})

test('the help of a command names options, not fields and headers', async () => {
  const { stdout } = await runCli(['vm', 'provision', '--help'])
  assert.doesNotMatch(stdout, /Prefer|domain_id|project_id/)
  assert.match(stdout, /with --wait it waits for the machine/)
  assert.match(stdout, /--account <text> +Owner; needs --domain-id/)
})

test('a service that is not there, or silent, ends with 7', async () => {
  const service = await startFakeService({ 'POST /compute/vms/list': () => undefined })
  const silent = await runAt(service.url, ['vm', 'list', '--timeout', '0.3'])
  assert.equal(silent.code, 7)
  assert.match(silent.stderr, /did not answer within 0\.3 s/)
  await service.close()
  const gone = await runAt(service.url, ['vm', 'list'])
  assert.equal(gone.code, 7)
  assert.match(gone.stderr, /cannot connect/)
  const nowhere = await runCli(['vm', 'list'], { config_home: tempFolder('groundplane-cli-') })
  assert.equal(nowhere.code, 2)
  assert.match(nowhere.stderr, /groundplane login/)
})

test('a redirect is not followed, so that the credential stays with its service', async (t) => {
  const other = await startFakeService({ 'POST /compute/vms/list': () => ({ body: {} }) })
  const service = await startFakeService({
    'POST /compute/vms/list': (_request, raw) => {
      raw.writeHead(307, { location: `${other.url}/compute/vms/list` }).end()
      return undefined
    },
  })
  t.after(() => Promise.all([service.close(), other.close()]))
  const result = await runAt(service.url, ['vm', 'list'])
  assert.notEqual(result.code, 0)
  assert.equal(other.seen.length, 0)
})

test('--all walks pages by number and by key, and shows every row once', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const service = await startFakeService({
    'POST /compute/vms/list': ({ body }) => {
      const { page, page_size } = body as { page: number; page_size: number }
      const rows = names.slice((page - 1) * page_size, page * page_size).map((name) => ({ id: name, name }))
      return { body: { virtual_machines: rows, count: names.length, page, page_size } }
    },
    'POST /gadgets/list': ({ body }) => {
      const { after_id = 0 } = body as { after_id?: number }
      const gadgets = [1, 2, 3, 4]
        .filter((id) => id > after_id)
        .slice(0, 2)
        .map((id) => ({ id }))
      return { body: { gadgets, count: 4, has_more: after_id < 2, next_id: after_id + 2, page_size: 2 } }
    },
  })
  t.after(() => service.close())
  const numbered = await runAt(service.url, ['vm', 'list', '--all', '--page-size', '2', '--quiet'])
  assert.equal(numbered.stdout, 'a\nb\nc\nd\ne\n')
  const keyed = await runAt(service.url, ['gadget', 'list', '--all', '--json'])
  assert.deepEqual(JSON.parse(keyed.stdout), { gadgets: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }], count: 4 })
})

test('bytes go to a file whole or not at all', async (t) => {
  const bytes = Buffer.from([0, 1, 2, 255])
  const service = await startFakeService({
    'GET /gadgets/7/files/a/b c.bin': (_request, raw) => {
      raw.writeHead(200, { 'content-type': 'video/mp4' }).end(bytes)
      return undefined
    },
    'GET /gadgets/7/files/cut.bin': (_request, raw) => {
      raw.writeHead(200, { 'content-type': 'video/mp4', 'content-length': '10' })
      raw.write(bytes, () => raw.destroy())
      return undefined
    },
  })
  t.after(() => service.close())
  const folder = tempFolder('groundplane-cli-')
  const whole = await runAt(service.url, ['gadget', 'image', '7', 'a/b c.bin', '--output', join(folder, 'whole')])
  assert.equal(whole.code, 0, whole.stderr)
  assert.deepEqual(await readFile(join(folder, 'whole')), bytes)
  const cut = await runAt(service.url, ['gadget', 'image', '7', 'cut.bin', '--output', join(folder, 'cut')])
  assert.equal(cut.code, 7)
  await assert.rejects(readFile(join(folder, 'cut')))
})

test('Ctrl-C during a call ends at once with 130 and no complaint', async (t) => {
  const service = await startFakeService({ 'POST /compute/vms/list': () => undefined })
  t.after(() => service.close())
  const cli = startCli(['vm', 'list'], { env: { GROUNDPLANE_URL: service.url } })
  await until(() => service.seen.length === 1)
  cli.child.kill('SIGINT')
  const result = await cli.done
  assert.deepEqual(result, { code: 130, stdout: '', stderr: '' })
})
