// What a person types becomes exactly the request that the contract describes.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runAt } from './in-process.ts'
import { startFakeService } from './fake-service.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ID = '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001'

async function gadgets(t: TestContext) {
  const service = await startFakeService({
    'PUT /gadgets/02:00:00:00:00:01': () => ({ body: { id: 'g1' } }),
    'POST /compute/vms/start': () => ({ body: { id: ID, name: 'web-1', state: 'Running' } }),
    'POST /compute/vms/list': () => ({ body: { virtual_machines: [], count: 0, page: 1, page_size: 50 } }),
    'POST /network/mtu/node-apply': () => ({ body: { applied: false } }),
    'GET /jobs': () => ({ body: { jobs: [], count: 0, page: 1, page_size: 50 } }),
    'POST /gadgets/7/files': () => ({ body: { message: 'stored' } }),
  })
  t.after(() => service.close())
  return service
}

test('every kind of option arrives with its type, and a path parameter fills its twin in the body', async (t) => {
  const service = await gadgets(t)
  const result = await runAt(service.url, [
    'gadget', 'update', '02:00:00:00:00:01', '--size-mb', '12', '--ratio=0.5', '--no-enabled', '--color', 'red',
    '--comment', 'null', '--tags', 'a', '--tags', 'b', '--parts', 'id=x,count=2', '--parts', '{"id":"y","count":3}',
    '--labels', 'rack=a1,row=7', '--field-token', '9',
  ]) // biome-ignore format: a command line
  assert.equal(result.code, 0, result.stderr)
  const [request] = service.to('PUT', '/gadgets/02:00:00:00:00:01')
  assert.deepEqual(request?.body, {
    mac: '02:00:00:00:00:01',
    size_mb: 12,
    ratio: 0.5,
    enabled: false,
    color: 'Red',
    comment: null,
    tags: ['a', 'b'],
    parts: [
      { id: 'x', count: 2 },
      { id: 'y', count: 3 },
    ],
    labels: { rack: 'a1', row: '7' },
    token: 9,
  })
  assert.equal(request?.headers.authorization, 'Bearer gp_test')
})

test('a body file is the base and options win over it', async (t) => {
  const service = await gadgets(t)
  const folder = tempFolder('groundplane-cli-')
  await writeFile(join(folder, 'body.yaml'), 'size_mb: 5\ncolor: Green\n')
  const args = ['gadget', 'update', '02:00:00:00:00:01', '--color', 'Red', '--body']
  assert.equal((await runAt(service.url, [...args, join(folder, 'body.yaml')])).code, 0)
  assert.equal((await runAt(service.url, [...args, '-'], { stdin: '{"size_mb": 6}' })).code, 0)
  const bodies = service.seen.map((request) => request.body)
  assert.deepEqual(bodies, [
    { size_mb: 5, color: 'Red', mac: '02:00:00:00:00:01' },
    { size_mb: 6, color: 'Red', mac: '02:00:00:00:00:01' },
  ])
})

test('a secret can be given on stdin and a file is encoded to Base64', async (t) => {
  const service = await gadgets(t)
  const folder = tempFolder('groundplane-cli-')
  await writeFile(join(folder, 'init'), '#cloud-config\n')
  const args = ['gadget', 'update', '02:00:00:00:00:01', '--size-mb', '1', '--password', '-']
  const result = await runAt(service.url, [...args, '--user-data', `@${join(folder, 'init')}`], { stdin: 's3cret\n' })
  assert.equal(result.code, 0, result.stderr)
  assert.deepEqual(service.seen[0]?.body, {
    size_mb: 1,
    password: 's3cret',
    user_data: Buffer.from('#cloud-config\n').toString('base64'),
    mac: '02:00:00:00:00:01',
  })
  assert.ok(!`${result.stdout}${result.stderr}`.includes('s3cret'))
})

test('an optional body is not sent when nothing was given', async (t) => {
  const service = await gadgets(t)
  await runAt(service.url, ['vm', 'list'])
  await runAt(service.url, ['vm', 'list', '--state', 'Running', '--page', '2'])
  assert.deepEqual(
    service.seen.map(({ body }) => body),
    [undefined, { state: 'Running', page: 2 }],
  )
})

test('a wrong command ends with 2 before anything is sent', async (t) => {
  const service = await gadgets(t)
  const wrong: [string[], RegExp][] = [
    [['vm', 'start'], /missing: <virtual-machine>/],
    [['gadget', 'update', 'm'], /missing: --size-mb/],
    [['gadget', 'update', 'm', '--size-mb', 'big'], /--size-mb takes a whole number/],
    [['gadget', 'update', 'm', '--size-mb', '1', '--color', 'blue'], /one of: Red, Green/],
    [['gadget', 'update', 'm', '--size-mb', '1', '--parts', 'ident=1'], /no member "ident"; it knows: id, count/],
    [['vm', 'start', ID, 'web-2'], /too many arguments/],
    [['vm', 'strat', ID], /vm has no "strat"; it has: .*start/],
    [['vm', 'start', ID, '--forec'], /unknown option '--forec'/],
    [['vm'], /Usage: groundplane vm/],
    [['vm', 'start', ID, '--wait=never'], /seconds/],
  ]
  for (const [args, message] of wrong) {
    const result = await runAt(service.url, args)
    assert.equal(result.code, 2, `${args.join(' ')}: ${result.stderr}`)
    assert.match(result.stderr, message)
    assert.equal(result.stdout, '')
  }
  assert.equal(service.seen.length, 0)
})

test('a dry run of the query and a member of the body with the same name stay apart', async (t) => {
  const service = await gadgets(t)
  const args = ['mtu', 'node-apply', '--bridge', 'br0', '--mtu', '9000', '--dry-run', '10.0.0.7']
  await runAt(service.url, args)
  await runAt(service.url, ['mtu', 'node-apply', '--bridge', 'br0', '--mtu', '9000', '--field-dry-run', '10.0.0.7'])
  const [plan, verification] = service.seen
  assert.deepEqual([plan?.query.get('dry_run'), plan?.body], ['true', { bridge: 'br0', mtu: 9000 }])
  assert.equal(plan?.headers['x-target-node'], '10.0.0.7')
  assert.deepEqual(
    [verification?.query.get('dry_run'), verification?.body],
    [null, { bridge: 'br0', mtu: 9000, dry_run: true }],
  )
})

test('--wait leaves the name that follows it alone', async (t) => {
  const service = await gadgets(t)
  const result = await runAt(service.url, ['vm', 'start', '--wait', ID])
  assert.equal(result.code, 0, result.stderr)
  assert.deepEqual(service.seen[0]?.body, { virtual_machine_id: ID })
})

test('a file goes up as a form with its name', async (t) => {
  const service = await gadgets(t)
  const folder = tempFolder('groundplane-cli-')
  await writeFile(join(folder, 'face.txt'), 'bytes of the file')
  const result = await runAt(service.url, [
    'gadget',
    'file-upload',
    '7',
    '--file',
    join(folder, 'face.txt'),
    '--label',
    'x',
  ])
  assert.equal(result.code, 0, result.stderr)
  const [request] = service.seen
  assert.match(request?.headers['content-type'] ?? '', /^multipart\/form-data/)
  assert.match(request?.text ?? '', /name="file"; filename="face.txt"[^]*bytes of the file/)
  assert.match(request?.text ?? '', /name="label"\r\n\r\nx/)
})
