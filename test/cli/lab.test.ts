// The program as people use it, over HTTP, against the real service in front of the simulated platform.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Lab, startLab } from '../support/start-lab.ts'
import { type CliResult, runCli, startCli, until } from './cli-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const program = join(import.meta.dirname, '../../bin/cli.ts')
let lab: Lab

before(async () => {
  lab = await startLab({ time: 'auto' })
})
after(() => lab.close())

function at(lab: Lab): Record<string, string> {
  return { GROUNDPLANE_URL: lab.url, GROUNDPLANE_TOKEN: lab.token }
}

function run(...args: string[]): Promise<CliResult> {
  return runCli(args, { program, env: at(lab) })
}

async function vmIn(state: string): Promise<{ id: string; name: string }> {
  const { stdout, stderr } = await run('vm', 'list', '--state', state, '--all', '--json')
  const page = JSON.parse(stdout || 'null') as { virtual_machines: { id: string; name: string }[] } | null
  const names = page?.virtual_machines.map(({ name }) => name) ?? []
  const found = page?.virtual_machines.find(({ name }) => names.indexOf(name) === names.lastIndexOf(name))
  assert.ok(found, `there is no machine that is ${state}: ${stderr}`)
  return found
}

test('a machine is stopped and started by its name, and shown as it then is', async () => {
  const { id, name } = await vmIn('Running')
  const stopped = await run('vm', 'stop', name, '--wait', '--json')
  assert.equal(stopped.code, 0, stopped.stderr)
  const after_stop = JSON.parse(stopped.stdout) as { id: string; state: string }
  assert.deepEqual([after_stop.id, after_stop.state], [id, 'Stopped'])
  const started = await run('vm', 'start', '--wait', name)
  assert.equal(started.code, 0, started.stderr)
  assert.match(started.stdout, /state +Running/)
})

test('the timeline tells what the command line did, and events follow shows it as it happens', async (t) => {
  const { name } = await vmIn('Running')
  const follower = startCli(['events', 'follow', '--channels', 'app-event', '--last-event-id', '0'], {
    program,
    env: at(lab),
  })
  t.after(() => follower.child.kill('SIGKILL'))
  const rebooted = await run('vm', 'reboot', name, '--wait')
  assert.equal(rebooted.code, 0, rebooted.stderr)
  // From id 0 on, what was before the connection stood is shown as well.
  await until(() => /app-event +SUCCESS +vmReboot/.test(follower.stdout()))
  follower.child.kill('SIGINT')
  assert.equal((await follower.done).code, 130)
  const events = await run(
    'app-event',
    'list',
    '--action',
    'vmReboot',
    '--status',
    'SUCCESS',
    '--columns',
    'action,status',
  )
  assert.equal(events.stdout, 'ACTION    STATUS\nvmReboot  SUCCESS\n')
})

test('unknown things, wrong words and missing rights have their exit codes', async () => {
  const codes = await Promise.all([
    run('vm', 'start', 'no-such-machine'),
    run('vm', 'get', '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6affff'),
    run('job', 'get', '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6affff'),
    run('vm', 'list', '--page-size', '5000'),
    runCli(['vm', 'list'], { program, env: { ...at(lab), GROUNDPLANE_TOKEN: 'gp_wrong' } }),
  ])
  assert.deepEqual(
    codes.map(({ code }) => code),
    [4, 4, 4, 2, 3],
  )
  assert.match(codes[3]?.stderr ?? '', /page_size \(--page-size\)/)
})

test('login, status and sign-out of a context work against the service', async () => {
  const config_home = tempFolder('groundplane-cli-')
  const login = await runCli(['login', lab.url, '--token-stdin'], { program, config_home, stdin: lab.token })
  assert.equal(login.code, 0, login.stderr)
  const status = await runCli(['status', '--json'], { program, config_home })
  const { signed_in, role, server_version } = JSON.parse(status.stdout) as Record<string, unknown>
  assert.deepEqual([signed_in, role], [true, 'admin'])
  assert.match(String(server_version), /^\d+\.\d+/)
})

test('all pages together are the whole list, each row once', async () => {
  const [paged, whole] = await Promise.all([
    run('vm', 'list', '--all', '--page-size', '7', '--quiet'),
    run('vm', 'list', '--page-size', '500', '--quiet'),
  ])
  const lines = (result: CliResult): string[] => result.stdout.trimEnd().split('\n').sort()
  assert.ok(lines(whole).length > 7)
  assert.deepEqual(lines(paged), lines(whole))
})
