// Contexts keep tokens private and send each to its own service alone.
import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from './in-process.ts'
import { problem, startFakeService } from './fake-service.ts'
import { tempFolder } from '../support/temp-folder.ts'

async function service() {
  return startFakeService({
    'GET /auth/me': ({ headers }) =>
      headers.authorization === 'Bearer gp_good'
        ? { body: { username: 'mira', role: 'operator' } }
        : problem(401, 'UNAUTHENTICATED', 'unknown token'),
    'GET /version': () => ({ body: { version: '9.9.9', node: 'v24', replica_id: 'r' } }),
    'POST /compute/vms/list': () => ({ body: { virtual_machines: [], count: 0, page: 1, page_size: 50 } }),
  })
}

test('login stores a checked token privately, status tells who and where, and the token is never shown', async (t) => {
  const one = await service()
  t.after(() => one.close())
  const config_home = tempFolder('groundplane-cli-')
  const login = await runCli(['login', one.url, '--token-stdin', '--name', 'lab'], { config_home, stdin: 'gp_good\n' })
  assert.equal(login.code, 0, login.stderr)
  assert.match(login.stdout, /as mira \(operator\); context lab/)
  const file = join(config_home, 'groundplane', 'contexts.json')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(join(config_home, 'groundplane'))).mode & 0o777, 0o700)
  assert.deepEqual(await readdir(join(config_home, 'groundplane')), ['contexts.json'])
  const status = await runCli(['status', '--json'], { config_home })
  assert.deepEqual(JSON.parse(status.stdout), {
    url: one.url,
    source: 'context lab',
    client_version: '0.0.1',
    server_version: '9.9.9',
    signed_in: true,
    username: 'mira',
    role: 'operator',
  })
  const shown = await runCli(['context', 'show'], { config_home })
  const listed = await runCli(['context', 'list', '--json'], { config_home })
  for (const text of [login, status, shown, listed].map(({ stdout, stderr }) => stdout + stderr)) {
    assert.ok(!text.includes('gp_good'))
  }
})

test('a token that the service refuses is not stored', async (t) => {
  const one = await service()
  t.after(() => one.close())
  const config_home = tempFolder('groundplane-cli-')
  const login = await runCli(['login', one.url, '--token', 'gp_bad'], { config_home })
  assert.equal(login.code, 3)
  assert.deepEqual(await readdir(config_home), [])
})

test('a contexts file that others can read is refused and not sent anywhere', async (t) => {
  const one = await service()
  t.after(() => one.close())
  const config_home = tempFolder('groundplane-cli-')
  await runCli(['login', one.url, '--token', 'gp_good'], { config_home })
  const file = join(config_home, 'groundplane', 'contexts.json')
  await chmod(file, 0o640)
  const asked = one.seen.length
  const result = await runCli(['vm', 'list'], { config_home })
  assert.equal(result.code, 2)
  assert.match(result.stderr, /can be read by others.*chmod 600/)
  assert.equal(one.seen.length, asked)
})

test('a damaged contexts file is reported and left as it is', async () => {
  const config_home = tempFolder('groundplane-cli-')
  const file = join(config_home, 'groundplane', 'contexts.json')
  await mkdir(join(config_home, 'groundplane'))
  await writeFile(file, '{"contexts": {"a": {"url": 7}}}', { mode: 0o600 })
  const result = await runCli(['context', 'use', 'a'], { config_home })
  assert.equal(result.code, 2)
  assert.equal(await readFile(file, 'utf8'), '{"contexts": {"a": {"url": 7}}}')
})

test('contexts are chosen, overridden and forgotten', async (t) => {
  const [one, two] = [await service(), await service()]
  t.after(() => Promise.all([one.close(), two.close()]))
  const config_home = tempFolder('groundplane-cli-')
  await runCli(['login', one.url, '--token', 'gp_good', '--name', 'one'], { config_home })
  await runCli(['login', two.url, '--token', 'gp_good', '--name', 'two'], { config_home })
  await runCli(['context', 'use', 'one'], { config_home })
  await runCli(['vm', 'list'], { config_home })
  await runCli(['--context', 'two', 'vm', 'list'], { config_home })
  await runCli(['vm', 'list', '--context', 'two'], { config_home })
  assert.deepEqual(
    [one, two].map((each) => each.to('POST', '/compute/vms/list').length),
    [1, 2],
  )
  assert.equal((await runCli(['vm', 'list', '--context', 'three'], { config_home })).code, 4)
  await runCli(['context', 'remove', 'one'], { config_home })
  const list = await runCli(['context', 'list', '--json'], { config_home })
  assert.deepEqual(JSON.parse(list.stdout), { contexts: [{ name: 'two', url: two.url, current: false }] })
  assert.equal((await runCli(['vm', 'list'], { config_home })).code, 2)
})

test('the token of a context does not go to an address given otherwise', async (t) => {
  const [one, two] = [await service(), await service()]
  t.after(() => Promise.all([one.close(), two.close()]))
  const config_home = tempFolder('groundplane-cli-')
  await runCli(['login', one.url, '--token', 'gp_good'], { config_home })
  await runCli(['vm', 'list', '--url', two.url], { config_home })
  await runCli(['vm', 'list'], { config_home, env: { GROUNDPLANE_URL: two.url } })
  assert.deepEqual(
    two.seen.map(({ headers }) => headers.authorization),
    [undefined, undefined],
  )
})

test('a wrong credential makes status say so with 3', async (t) => {
  const one = await service()
  t.after(() => one.close())
  const result = await runCli(['status', '--url', one.url, '--token', 'gp_old'], {})
  assert.equal(result.code, 3)
  assert.match(result.stdout, /signed_in +no/)
})
