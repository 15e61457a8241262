import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { linuxHost, type RunResult } from '#src/kernel/host.ts'
import { createJournal, type RunEntry } from './journal.ts'
import { revertScript } from './revert-script.ts'
import { createWatchdog } from './watchdog.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

const ENTRY: RunEntry = {
  run_id: '0f4b3c1e-0000-4000-8000-000000000000',
  boot_id: 'b',
  subject: 'mgmt0',
  started_at: '2026-01-01T00:00:00.000Z',
  window_ms: 120_000,
  undo: [],
  files: [],
}

test('under a service manager the watchdog is a timer of its own, which outlives the killed service', async () => {
  const calls: string[][] = []
  const done: RunResult = { outcome: 'exited', exit_code: 0, stdout: 'inactive\nactive\n', stderr: '' }
  const host = {
    ...linuxHost(),
    list: (path: string) => Promise.resolve(path === '/run/systemd/system' ? [] : null),
    run(tool: string, args: readonly string[]) {
      calls.push([tool, ...args])
      return Promise.resolve(done)
    },
  }
  const watchdog = createWatchdog({ host, journal: createJournal('/srv/state') })
  assert.equal(await watchdog.start(ENTRY), true)
  assert.equal(await watchdog.isAlive(ENTRY), true)
  await watchdog.disarm(ENTRY)
  const unit = 'groundplane-revert-mgmt0-0f4b3c1e'
  assert.deepEqual(calls, [
    [
      'systemd-run',
      `--unit=${unit}`,
      '--on-active=120s',
      '--timer-property=AccuracySec=1s',
      '--collect',
      '/bin/sh',
      '/srv/state/mgmt0.run/revert.sh',
      'wait',
    ],
    ['systemctl', 'is-active', `${unit}.timer`, `${unit}.service`],
    ['systemctl', 'stop', `${unit}.timer`],
  ])
})

test('the script is valid for a POSIX shell whatever stands in a path, and runs nothing by a bare name', async () => {
  const folder = tempFolder('gp-script-')
  const tools = {
    sh: '/bin/sh',
    ip: '/x/ip',
    mv: '/x/mv',
    cp: '/x/cp',
    rm: '/x/rm',
    sleep: '/x/sleep',
    sync: '/x/sync',
  }
  const path = `/etc/it's $(touch ${folder}/harm) \`x\`.conf`
  const script = revertScript({
    run_folder: folder,
    tools,
    undo: [{ device: 'mgmt0', args: ['link', 'set', 'dev', "it's $(touch x)", 'mtu', '1500'] }],
    files: [{ path, temporary: `${path}.t`, copy: 'old/0' }],
  })
  const file = join(folder, 'revert.sh')
  await writeFile(file, script)
  execFileSync('/bin/sh', ['-n', file])
  await writeFile(join(folder, 'reverting'), '')
  assert.throws(() => execFileSync('/bin/sh', [file, 'now'], { env: { PATH: '/nonexistent' } }))
  assert.throws(() => execFileSync('/bin/ls', [join(folder, 'harm')], { stdio: 'ignore' }))
})
