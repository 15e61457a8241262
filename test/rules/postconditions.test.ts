// Every change of the compute platform is read back, or says why the platform shows no trace of it: a new one cannot forget.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { RouteSpec } from '#src/contract/route.ts'
import { unverified } from '#src/drivers/cloudstack/postcondition.ts'
import type { PlatformCall, JobRowSpec, SyncRow } from '#src/modules/platform-rows.ts'

const files = globSync('src/modules/**/*.ts', { exclude: (name) => name.endsWith('.test.ts') }).map((file) => ({
  file,
  text: readFileSync(file, 'utf8'),
}))

test('the compiler refuses a row and a call without a postcondition or a reason', () => {
  const subject = { resource_id: null, description: 'x' }
  const call = { command: 'x', args: {}, resource_type: 'VM', subject }
  const row = { command: 'x', args: () => ({}), about: () => subject }
  // @ts-expect-error a job of the platform without a postcondition
  const job: JobRowSpec<RouteSpec> = { ...row, mode: 'job' }
  // @ts-expect-error a call that answers at once without a postcondition
  const at_once: SyncRow<RouteSpec> = { ...row, mode: 'sync', reply: () => undefined }
  // @ts-expect-error a handler that submits a call without a postcondition
  const submitted: PlatformCall = call
  const reasoned: PlatformCall = { ...call, postcondition: unverified('Nothing shows it, and this is why.') }
  assert.ok(job && at_once && submitted && reasoned)
})

test('every row has a postcondition or a reason, and every reason is a sentence', () => {
  const rows = files.filter(({ file }) => !file.endsWith('platform-rows.ts'))
  let seen = 0
  for (const { file, text } of rows) {
    for (const row of text.split(/(?=\bmode: '(?:job|create|sync|read)',)/).slice(1)) {
      if (row.startsWith("mode: 'read'")) continue
      seen += 1
      assert.match(row, /^ +postcondition: /m, `${file}: ${row.slice(0, 80)}`)
    }
    for (const [, reason = ''] of text.matchAll(/unverified\(\s*['"`]([^)]*)['"`]/g)) {
      assert.ok(reason.split(' ').length >= 6 && reason.endsWith('.'), `${file}: ${reason}`)
    }
  }
  assert.ok(seen >= 20, `${seen} rows were found`)
})

/** Changes that are sent without a row, and what reads them back where neither `verify`, one of those that end with it, `findMismatch`, `submitOnce` nor `holds` stands in the file. */
const OTHERWISE: Record<string, string> = {
  'src/modules/compute/hook-registration.ts': 'our own registration at the platform; the next poll corrects it',
  'src/modules/compute/settings-write.ts': 'compares the whole map with what was meant',
  'src/modules/compute/guests.ts': 'a console changes nothing that stays',
  'src/modules/cam/instance/template.ts': 'reads the template again, and answers what it reads',
  'src/modules/lifecycle/setup/host.ts': 'the steps that call it ask the list of hosts afterwards (setup.job.ts)',
  'src/modules/lifecycle/setup/gpus.ts': 'lists the devices of the host again',
  'src/modules/alerts/archive.ts': 'looks through all open alerts at once',
  'src/modules/gpu/change-steps.ts': 'each act is a step of a job with a goal',
  'src/modules/tenants/admin-credentials.ts': 'the platform shows no passwords, and answers with the new keys',
  'src/modules/tenants/limits.ts': 'reads all limits again',
  'src/modules/tenants/network.ts': 'reads the range again',
  'src/modules/tenants/status.job.ts': 'reads all accounts again before the status is recorded',
}

test('a change that is sent without a row is read back where it is sent', () => {
  const changing = files.filter(({ text }) => /\.call\(\s*'(?!list|find|query|get)[a-z]/.test(text))
  assert.ok(changing.length >= 10)
  const silent = changing.filter(
    ({ file, text }) =>
      OTHERWISE[file] === undefined &&
      !/\b(?:verify|changeAndVerify|makeAndVerify|findMismatch|submitOnce)\(|\bholds\b/.test(text),
  )
  assert.deepEqual(
    silent.map(({ file }) => file),
    [],
  )
  const stale = Object.keys(OTHERWISE).filter((name) => !changing.some(({ file }) => file === name))
  assert.deepEqual(stale, [], 'the table names files that change nothing')
})
